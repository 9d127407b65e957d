"""P5's family of binned estimators: adaptive bins, convex allocation, and both (METHODS §2)."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Annotated

import numpy as np

from calib_core._base.arrays import Float64s
from calib_core.binning.allocation import Convex, allocated, shared_row, split_lines
from calib_core.binning.base import IntervalScheme, of_interval
from calib_core.binning.square_root import RootMass, RootWidth
from calib_core.claims.binary_claims import Claims, Stratum
from calib_core.claims.stacked_samples import Samples
from calib_core.estimators.base import ESTIMATORS, Estimated
from calib_core.estimators.binned import Binned
from calib_core.estimators.residuals import NORM, Image, absolute, inner_edges
from calib_core.registry.registry import Flag, Part

_CONVEX = "Posocco and Bonnefoy's published code gives the larger share to the farther bin; here the nearer one has it."


_SHARED = r"\sum_l w_l\,\frac{1}{n_l} \sum_b \Bigl|\sum_{i \in l} a_{ib}\,(z_i - s_i)\Bigr|"


@ESTIMATORS.register(
    "convex-binned",
    "Convex binned calibration error",
    reference="P5 §4.3",
    flags=replace(NORM, together=lambda _: True),
    formula=_SHARED,
)
@dataclass(frozen=True)
class ConvexBinned:
    """ECE on any bins with every row shared by the two of them whose centres it lies between.

    1/n sum_b |sum_i w_ib (s_i - z_i)| in each stratum of n claims (s_i, z_i), w_ib the share of row i that counts in
    bin b (``Convex``); in [0, 1]; strata are averaged as the notion says. The bins of the result hold sums of shares,
    not whole rows. What can mislead: it is a plug-in estimate with the upward bias of the ECE, and differences of
    opposite sign in neighbouring bins partly cancel, so that it is often below the ECE on the same bins.

    ``attainable`` places bins over the scores' possible range ([1/K, 1] for confidences, as the authors' code does)
    instead of [0, 1], where the bins of every notion and model are the same.

    References: P5 §4.3, Def. 4-5 and eq. (1).

    >>> from calib_core.binning import EqualWidth
    >>> from calib_core.predictions.predictions import Predictions
    >>> from calib_core.reductions import Confidence
    >>> claims = Confidence().split(Predictions.from_confidence([0.65], [True]))
    >>> round(ConvexBinned(EqualWidth(2))(claims).value, 2)
    0.35
    """

    binning: Annotated[IntervalScheme, Part("BINNINGS", of_interval), "Bins", "where the bins lie"] = field(
        default_factory=RootWidth
    )
    attainable: Annotated[
        bool, Flag(), "Attainable scores only", "bins over the range a score can have, not over [0, 1]"
    ] = False

    def __call__(self, claims: Claims) -> Estimated:
        low = self._low(claims.floor)
        return Binned().of_table(allocated(claims, self.binning, Convex(), low))

    def of_samples(self, samples: Samples) -> Float64s:
        """The estimates (samples,) of many samples of one size."""
        return Binned().of_split(samples, split_lines(samples, self.binning, Convex(), self._low(samples.floor)))

    def _low(self, floor: float) -> float:
        return floor if self.attainable else 0.0

    def image(self, claims: Claims, estimated: Estimated, s: int, stratum: Stratum) -> Image:
        """Sums of the shares of residuals in each bin."""
        low = self._low(claims.floor)
        edges = (inner_edges(estimated, s) - low) / (1.0 - low)
        split = Convex()((stratum.scores.astype(np.float64) - low) / (1.0 - low), edges)
        return Image(split.first, split.beyond, len(edges) + 1, absolute)

    def redrawn(self, claims: Claims, s: int, stratum: Stratum) -> Image:
        """Sums of the shares of outcomes in each bin, beside those of the scores."""
        low = claims.floor if self.attainable else 0.0
        edges, tally = shared_row(stratum, self.binning, Convex(), low)
        split = Convex()((stratum.scores.astype(np.float64) - low) / (1.0 - low), edges)
        rows = float(tally.count.sum())
        return Image(split.first, split.beyond, len(edges) + 1, lambda sums: absolute(sums - tally.score) / rows)


ESTIMATORS.preset(
    "ece-adaptive",
    "Adaptive ECE",
    "ECE with bins of equally many rows, by default as many bins as the square root of a stratum's rows.",
    Binned,
    lift="binning",
    binning=RootMass(),
    order=1,
    reference="P5 §4.3",
    elsewhere=(
        "uncertainty-calibration's get_ece_em, where scores tied with the last of a bin join it, as here. netcal and "
        "Meta-Cal's code interpolate quantiles, which moves the third or fourth decimal; code that splits ties depends "
        "on the order of the rows."
    ),
    formula=(
        r"\sum_l w_l \sum_{b=1}^{B_l} \frac{n_{lb}}{n_l}\,\bigl|\bar z_{lb} - \bar s_{lb}\bigr|,"
        r"\quad B_l = \bigl\lfloor\sqrt{n_l}\bigr\rfloor,\quad n_{lb} \approx \frac{n_l}{B_l}"
    ),
)
ESTIMATORS.preset(
    "ece-convex",
    "Convex ECE",
    "ECE with every row shared by the two equally wide bins whose centres it lies between.",
    ConvexBinned,
    lift="binning",
    binning=RootWidth(),
    reference="P5 §4.3",
    elsewhere=_CONVEX,
    formula=_SHARED + r",\quad \text{bins equally wide}",
)
ESTIMATORS.preset(
    "ece-adaptive-convex",
    "Adaptive convex ECE",
    "ECE with bins of equally many rows and every row shared by the two bins whose centres it lies between.",
    ConvexBinned,
    lift="binning",
    binning=RootMass(),
    reference="P5 §4.3",
    elsewhere=_CONVEX,
    formula=_SHARED + r",\quad \text{bins of equally many rows}",
)
