"""ECE_KDE: the calibration error from kernel densities (P5 §4.5)."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Annotated, Any, cast

import numpy as np

from calib_core._base.arrays import Float64s
from calib_core._base.parallel import chunks
from calib_core.claims.binary_claims import Claims, Stratum
from calib_core.claims.stacked_samples import Samples
from calib_core.estimators.base import ESTIMATORS, Estimated, by_stratum
from calib_core.estimators.residuals import NORM, Image
from calib_core.registry.registry import Choice, Part
from calib_core.smoothing.bandwidths import BANDWIDTHS, Bandwidth, Silverman
from calib_core.smoothing.kernels import KERNELS, Kernel, Triweight
from calib_core.smoothing.local import Smoothed, local_calibration, smoothed
from calib_core.smoothing.score_grid import Linear, Scale, ScoreGrid

SMOOTHED = ("outcomes", "gaps")
_LINES = 8
"""Lines of samples smoothed together, so that their grids fit the processor's cache."""


@ESTIMATORS.register(
    "ece-kde",
    "ECE by kernel densities",
    reference="P5 §4.4-4.5",
    flags=replace(NORM, curve=True, together=lambda e: KERNELS.flags(e.kernel) and BANDWIDTHS.flags(e.bandwidth)),
    elsewhere=(
        "Posocco and Bonnefoy's published code, but for its coarser grid and, class-wise, the first class's bandwidth "
        "used for all of them."
    ),
    formula=(
        r"\sum_l w_l \int \Bigl|\,\hat P_l(z = 1 \mid s) - s\,\Bigr|\,\hat f_l(s)\,ds,\quad"
        r"\hat P_l(z = 1 \mid s) = \frac{\hat f_l(s \mid z = 1)\,\hat P_l(z = 1)}{\hat f_l(s)}"
    ),
)
@dataclass(frozen=True)
class KernelECE:
    """Mean distance between the score and a smooth curve of how often claims of that score come true.

    Integral of |P(z=1|s) - s| f(s) over the range of the scores, with P(z=1|s) = f(s|z=1) P(z=1) / f(s): density f of
    all scores and f(.|1) of those that came true by the same kernel and bandwidth, the bandwidth chosen from all scores
    of the stratum. Scores are binned linearly on 4,097 nodes (a step of at most 0.00025) and mirrored at 0 (at 1/K
    where the score is the largest of K probabilities) and at 1, or smoothed by their log-odds (``scale``); the beta
    kernel needs no mirrors. Strata are averaged by their weights: class-wise this is the plain mean over classes, each
    with its own bandwidth. In [0, 1]. With ``smoothed`` = "gaps" the curve is s plus the smoothed z - s instead, which
    leaves a calibrated model on the diagonal but for noise whatever the bandwidth, at the ends too; the paper's formula
    smooths outcomes. What can mislead: on confident networks Silverman's bandwidth falls below the grid's step and the
    value is noise far above the ECE; a wide fixed bandwidth adds error at the ends. Compare bandwidths before believing
    either. Of outcomes that are all 0 the paper's curve is 0 and the error the mean score.

    References: P5 §4.4-4.5, Definition 6.

    >>> from calib_core.predictions.predictions import Predictions
    >>> from calib_core.reductions import Confidence
    >>> round(KernelECE()(Confidence().split(Predictions([[0.75, 0.25]], [0]))).value, 3)
    0.25
    """

    kernel: Annotated[Kernel, Part("KERNELS"), "Shape of the smoothing", "shape of the smoothing"] = field(
        default_factory=Triweight
    )
    bandwidth: Annotated[Bandwidth, Part("BANDWIDTHS"), "Width of the smoothing", "how wide the smoothing is"] = field(
        default_factory=Silverman
    )
    scale: Annotated[Scale, Part("SCALES"), "Scale of the scores", "smooth scores, or their log-odds"] = field(
        default_factory=Linear
    )
    smoothed: Annotated[
        str,
        Choice(SMOOTHED, titles=("Outcomes", "Outcomes less scores")),
        "What is smoothed",
        "smooth outcomes, or outcomes less scores (gaps)",
    ] = "outcomes"

    def __call__(self, claims: Claims) -> Estimated:
        return by_stratum(claims, [self._error(claims, s) for s in range(len(claims.strata))])

    def _error(self, claims: Claims, s: int) -> float:
        stratum = claims.stratum(s)
        if not stratum.total > 0:
            return float("nan")
        return float(self.local(stratum, self.grid(claims.floor), self.width(stratum)).error)

    def of_samples(self, samples: Samples) -> Float64s:
        """The estimates (samples,) of many samples of one size."""
        kernel, bandwidth = cast(Any, self.kernel), cast(Any, self.bandwidth)
        grid, errors = self.grid(samples.floor), np.empty(len(samples.lines))
        came = samples.outcomes.reshape(samples.lines.shape).astype(np.float64)
        widths = np.minimum(bandwidth.of_lines(self.scale.there(samples.lines)), self._widest)
        for lines in chunks(len(errors), _LINES):
            scores = samples.lines[lines]
            masses = grid.of_lines(scores), grid.of_lines(scores, came[lines])
            errors[lines] = smoothed(kernel.on_each(grid, widths[lines]), masses, self.smoothed == "gaps").error
        return samples.mean(errors)

    def image(self, claims: Claims, estimated: Estimated, s: int, stratum: Stratum) -> Image:
        """Residuals on the nodes of the grid, smoothed as wide as the estimate is."""
        grid, width = self.grid(claims.floor), self.width(stratum)
        spread = self.kernel.on(grid, width)
        cell, into = grid.places(stratum.scores)

        def errors(masses: Float64s) -> Float64s:
            return grid.integral(np.abs(spread.density(masses, spread.stride)))

        return Image(cell, into, grid.cells + 1, errors)

    def redrawn(self, claims: Claims, s: int, stratum: Stratum) -> Image:
        """Outcomes on the nodes of the grid, beside all claims there."""
        grid = self.grid(claims.floor)
        cell, into = grid.places(stratum.scores)
        spread, every = self.kernel.on(grid, self.width(stratum)), grid.shared(cell, into, stratum.weights)

        def errors(masses: Float64s) -> Float64s:
            return smoothed(spread, (every, masses), self.smoothed == "gaps").error

        return Image(cell, into, grid.cells + 1, errors)

    def local(self, stratum: Stratum, grid: ScoreGrid, width: float) -> Smoothed:
        """Densities and curve of a stratum with claims, smoothed this wide."""
        return local_calibration(stratum, self.kernel.on(grid, width), self.smoothed == "gaps")

    def grid(self, floor: float) -> ScoreGrid:
        """The grid for scores of at least ``floor``."""
        return ScoreGrid(floor, self.kernel.cells, self.scale)

    def width(self, stratum: Stratum) -> float:
        """The bandwidth for these claims, in units of the scale and at most all of it."""
        # Fractional weights of little more than 1 in all make the unbiased variance as large as one likes.
        return min(self.bandwidth(self.scale.there(stratum.scores), stratum.weights), self._widest)

    @property
    def _widest(self) -> float:
        low, high = self.grid(0.0).ends
        return high - low
