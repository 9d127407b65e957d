"""Binned estimators: ECE, RMSCE and MCE are one formula with order 1, 2 and max (METHODS §2), also on the simplex.

P5's family of binned estimators: adaptive bins, convex allocation, and both (METHODS §2).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Annotated, Literal

import numpy as np

from calib_core._base.arrays import Float64s
from calib_core.binning.allocation import (
    Convex,
    Hard,
    RootMass,
    RootWidth,
    SplitLines,
    allocated,
    shared_row,
    split_lines,
)
from calib_core.binning.base import BinningScheme, IntervalScheme, as_intervals, cuts, of_interval
from calib_core.binning.bin_table import BinTable, tabulate
from calib_core.binning.interval_schemes import EqualWidth
from calib_core.binning.simplex.cell_table import SimplexTable, simplex_table
from calib_core.claims.binary_claims import Claims, Stratum
from calib_core.claims.probability_vectors import Vectors
from calib_core.claims.stacked_samples import Samples
from calib_core.estimators.base import ESTIMATORS, ErrorScale, Estimated, Traits
from calib_core.estimators.residuals import NORM, Image, absolute, inner_edges
from calib_core.registry.registry import Choice, Flag, Part


def distances(table: SimplexTable, outcomes: Float64s, order: int | str) -> Float64s:
    """Binned canonical errors (replicates,), of outcome sums (replicates, B, K) in place of the table's own.

    With weight w_b, label frequencies f_b and mean prediction h_b of cell b, it is sum_b w_b ||f_b - h_b||_1 for order
    1. It is max_b ||f_b - h_b||_1 for "max", and (sum_b w_b ||f_b - h_b||_2^2)^(1/2) for order 2.
    """
    gap = np.abs(outcomes - table.score) / table.count[:, None]
    if order == 2:
        return np.asarray(np.sqrt(np.square(gap).sum(axis=2) @ table.weight))
    each = gap.sum(axis=2)
    return np.asarray(each.max(axis=1) if order == "max" else each @ table.weight)


def debiased(table: SimplexTable, outcomes: Float64s) -> Float64s:
    """Squared canonical errors less the contribution of noise, (replicates,), of outcome sums (replicates, B, K).

    sum_b w_b [||f_b - h_b||_2^2 - sum_l f_bl (1 - f_bl) / (n_b - 1)]: the binary correction summed over classes, since
    sum_l Var f_bl is the trace of a multinomial's covariance.
    """
    count = table.count[:, None]
    share = outcomes / count
    spread = (share * (1 - share)).sum(axis=2)
    # A cell worth one row has no variance; weights can make that 1 plus a rounding error.
    more = table.worth > 1 + 1e-9
    correction = np.divide(spread, table.worth - 1, out=np.zeros_like(spread), where=more)
    squares = np.square((outcomes - table.score) / count).sum(axis=2)
    return np.asarray((squares - correction) @ table.weight)


_TRAITS = Traits(
    takes=("claims", "vectors"), judged="bins", scale=lambda estimator: ErrorScale(estimator.order), counts="always",
    together=lambda estimator: not cuts(estimator.binning).pools,
)  # fmt: skip


@ESTIMATORS.register(
    "binned",
    "Binned calibration error",
    reference="P1 §2; P2 Def. 2.2",
    flags=_TRAITS,
    formula=r"\Bigl(\sum_l w_l \sum_b \frac{n_{lb}}{n_l}\,\bigl|\bar z_{lb} - \bar s_{lb}\bigr|^p\Bigr)^{1/p}",
)
@dataclass(frozen=True)
class Binned:
    """Weighted mean over bins of |mean outcome - mean score|^p, to the power 1/p; p = max takes the worst bin.

    (sum_s w_s sum_b n_sb/n_s |z_sb - c_sb|^p)^(1/p), over bins b of stratum s with n_sb rows, mean outcome z_sb and
    mean score c_sb. The stratum's aggregate weight is w_s; empty bins are left out. In [0, 1]. What can mislead: it is
    biased upward by noise (a calibrated model of 500 rows shows about 0.04 with 15 bins) and downward by wide bins.

    In the canonical notion ``binning`` is a partition of the simplex. Cell b has the weight w_b, frequencies f_b of the
    classes and the mean prediction h_b. The error is sum_b w_b ||f_b - h_b||_1 for p = 1 and max_b ||f_b - h_b||_1 for
    p = max. Both are in [0, 2] (P1 does not halve the norm: with two classes this is twice the error of one class). For
    p = 2 it is (sum_b w_b ||f_b - h_b||_2^2)^(1/2), in [0, sqrt 2].

    References: P1 §2, eq. (16)-(17) and App. G.4, P2 Def. 2.2, P3 §2.4.

    >>> from calib_core.predictions.predictions import Predictions
    >>> from calib_core.reductions import Confidence
    >>> Binned(EqualWidth(10))(Confidence().split(Predictions([[0.75, 0.25]], [0]))).value
    0.25
    """

    binning: Annotated[BinningScheme, Part("BINNINGS"), "Bins", "where the bins lie"] = field(
        default_factory=EqualWidth
    )
    order: Annotated[
        Literal[1, 2, "max"],
        Choice((1, 2, "max"), titles=("1, the mean distance", "2, the mean square", "The largest distance")),
        "Power of the mean",
        "what power distances are averaged in; or the largest of them",
    ] = 1

    def __call__(self, claims: Claims) -> Estimated:
        return self.of_table(tabulate(claims, [self.binning])[0])

    def of_samples(self, samples: Samples) -> Float64s:
        """The estimates (samples,) of many samples of one size."""
        return self.of_split(samples, split_lines(samples, as_intervals(self.binning), Hard()))

    def of_split(self, samples: Samples, split: SplitLines) -> Float64s:
        """The same of lines that are shared out over bins already."""
        distance = np.abs(split.sums(samples.residuals))
        if self.order == 1:
            return samples.mean(distance.sum(axis=1) / samples.n)
        count = split.sums(np.ones(samples.lines.shape))
        gaps = np.divide(distance, count, out=np.zeros(distance.shape), where=count > 0)
        if self.order == "max":
            return np.asarray(gaps.max(axis=1).reshape(len(samples.scores), -1).max(axis=1))
        power = int(self.order)
        return np.asarray(samples.mean((distance * gaps ** (power - 1)).sum(axis=1) / samples.n) ** (1 / power))

    def of_vectors(self, vectors: Vectors) -> Estimated:
        """The canonical estimate, in cells of the simplex."""
        table = simplex_table(vectors, self.binning)
        value = self.of_labels(table, table.outcome[None])
        return Estimated(float(value[0]), value, cells=table)

    def of_labels(self, table: SimplexTable, outcomes: Float64s) -> Float64s:
        """Canonical values (replicates,) for outcome sums (replicates, B, K) in place of the table's own."""
        return distances(table, outcomes, self.order)

    def of_table(self, table: BinTable) -> Estimated:
        """The estimate of claims already counted into bins."""
        if self.order == "max":
            gaps = np.abs(np.nan_to_num(table.gap))
            return Estimated(float(gaps.max()), np.where(table.count.sum(axis=1) > 0, gaps.max(axis=1), np.nan), table)
        power = int(self.order)
        # n_b |gap|^p is |sum of (outcome - score)| times |gap|^(p - 1): for the ECE no bin needs a division.
        distance = np.abs(table.tally.outcome - table.tally.score)
        if power > 1:
            distance *= np.abs(np.nan_to_num(table.gap)) ** (power - 1)
        rows = table.count.sum(axis=1)
        filled = rows > 0
        per = np.divide(distance.sum(axis=1), rows, out=np.zeros(len(rows)), where=filled)
        total = float((table.shares * per).sum())
        return Estimated(total ** (1 / power), np.where(filled, per ** (1 / power), np.nan), table)

    def of_outcomes(self, table: BinTable, outcomes: Float64s) -> Float64s:
        """The values (replicates,) for outcome sums (replicates, strata, bins) in place of the table's own."""
        distance = np.abs(outcomes - table.tally.score)
        rows = np.where(table.count > 0, table.count, np.inf)
        if self.order == "max":
            return np.asarray((distance / rows).max(axis=(1, 2)))
        power = int(self.order)
        weight = table.weight / rows**power
        return np.asarray(np.einsum("rsb,sb->r", distance**power, weight) ** (1 / power))


ESTIMATORS.preset(
    "ece",
    "ECE",
    "Mean distance between predicted probability and observed frequency, bin by bin (expected calibration error).",
    Binned,
    order=1,
    reference="P1 eq. 3-4",
    elsewhere=(
        "Equal to netcal's ECE and relplot's binnedECE (bins closed on the left, as here). "
        "Uncertainty-calibration's get_ece closes bins on the right, so it differs only for scores exactly on an edge. "
        "Torchmetrics gives a score of 1 its own bin; pycalib replaces mean scores by bin midpoints."
    ),
    formula=r"\sum_l w_l \sum_b \frac{n_{lb}}{n_l}\,\bigl|\bar z_{lb} - \bar s_{lb}\bigr|",
)
ESTIMATORS.preset(
    "rmsce",
    "RMSCE",
    "Root mean squared calibration error: like the ECE, but large distances count more.",
    Binned,
    order=2,
    reference="P2 Def. 2.2",
    elsewhere="uncertainty-calibration's lower_bound_scaling_ce(p=2, debias=False), whose default bins are equal-mass.",
    formula=r"\sqrt{\sum_l w_l \sum_b \frac{n_{lb}}{n_l}\,\bigl(\bar z_{lb} - \bar s_{lb}\bigr)^2}",
)
ESTIMATORS.preset(
    "mce",
    "MCE",
    "Largest distance of any bin (maximum calibration error), often that of a bin with few rows.",
    Binned,
    order="max",
    reference="P1 eq. 16-17",
    elsewhere="netcal's MCE, which includes bins of a single row, as here; in the top-label notion eq. 17 of Gupta and "
    "Ramdas (2022).",
    formula=r"\max_{l,\,b}\,\bigl|\bar z_{lb} - \bar s_{lb}\bigr|",
)


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
    """ECE on any bins, with every row shared between the two bins with the nearest centers.

    1/n sum_b |sum_i w_ib (s_i - z_i)| in each stratum of n claims (s_i, z_i), in [0, 1]. The share of row i that counts
    in bin b is w_ib (``Convex``). Strata are averaged according to the notion. The bins of the result contain sums of
    shares, not whole rows. What can mislead: as a plug-in estimate it has the upward bias of the ECE. Differences of
    opposite sign in neighboring bins partly cancel. It is therefore often below the ECE on the same bins.

    ``attainable`` places bins over the scores' possible range ([1/K, 1] for confidences, as the authors' code does).
    The default is [0, 1], where the bins of every notion and model are the same.

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
        """Sums of the shares of outcomes in each bin, and of the scores."""
        low = claims.floor if self.attainable else 0.0
        edges, tally = shared_row(stratum, self.binning, Convex(), low)
        split = Convex()((stratum.scores.astype(np.float64) - low) / (1.0 - low), edges)
        rows = float(tally.count.sum())
        return Image(split.first, split.beyond, len(edges) + 1, lambda sums: absolute(sums - tally.score) / rows)


ESTIMATORS.preset(
    "ece-adaptive",
    "Adaptive ECE",
    "ECE in bins of equally many rows; by default, their number is the square root of a stratum's rows.",
    Binned,
    lift="binning",
    binning=RootMass(),
    order=1,
    reference="P5 §4.3",
    elsewhere=(
        "uncertainty-calibration's get_ece_em, where scores tied with the last of a bin join it, as here. Netcal and "
        "Meta-Cal's code interpolate quantiles, which moves the third or fourth decimal. Code that splits ties depends "
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
    "ECE in bins of equal width; each row is shared between the two bins whose centers enclose it.",
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
    "ECE in bins of equally many rows; each row is shared between the two bins whose centers enclose it.",
    ConvexBinned,
    lift="binning",
    binning=RootMass(),
    reference="P5 §4.3",
    elsewhere=_CONVEX,
    formula=_SHARED + r",\quad \text{bins of equally many rows}",
)
