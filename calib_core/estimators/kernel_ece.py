"""ECE_KDE: the calibration error from kernel densities (P5 §4.5), and limits of a kernel curve."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Annotated, Any

import numpy as np
import scipy

from calib_core._base.arrays import Float64s
from calib_core._base.distributions import gamma, norm
from calib_core._base.parallel import chunks
from calib_core.claims.binary_claims import Claims, Stratum
from calib_core.claims.stacked_samples import Samples
from calib_core.estimators.base import ESTIMATORS, Estimated, by_stratum
from calib_core.estimators.residuals import NORM, Image
from calib_core.registry.registry import Choice, Part
from calib_core.smoothing.bandwidths import BANDWIDTHS, Bandwidth, Silverman
from calib_core.smoothing.kernels import KERNELS, Kernel, Smoothed, Triweight, local_calibration, smoothed
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
        "Posocco and Bonnefoy's published code, except for a coarser grid and, class-wise, the first class's bandwidth "
        "used for all of them."
    ),
    formula=(
        r"\sum_l w_l \int \Bigl|\,\hat P_l(z = 1 \mid s) - s\,\Bigr|\,\hat f_l(s)\,ds,\quad"
        r"\hat P_l(z = 1 \mid s) = \frac{\hat f_l(s \mid z = 1)\,\hat P_l(z = 1)}{\hat f_l(s)}"
    ),
)
@dataclass(frozen=True)
class KernelECE:
    """Mean distance between the score and a smooth curve of the observed frequency.

    Integral of |P(z=1|s) - s| f(s) over the range of the scores, with P(z=1|s) = f(s|z=1) P(z=1) / f(s). The density f
    is that of all scores and f(.|1) that of those that came true, by the same kernel and bandwidth. The bandwidth is
    chosen from all scores of the stratum. Scores are binned linearly on 4,097 nodes (a step of at most 0.00025). They
    are mirrored at 0 (at 1/K where the score is the largest of K probabilities) and at 1, or smoothed by their log-odds
    (``scale``). The beta kernel needs no mirrors. Strata are averaged by their weights: class-wise this is the plain
    mean over classes, each with its own bandwidth. In [0, 1]. With ``smoothed`` = "gaps" the curve is s plus the
    smoothed z - s instead. It leaves a calibrated model on the diagonal except for noise, whatever the bandwidth, and
    at the ends too. The paper's formula smooths outcomes. What can mislead: on confident networks Silverman's bandwidth
    falls below the grid's step. The value is then noise far above the ECE. A wide fixed bandwidth adds error at the
    ends. Compare bandwidths before believing either. For outcomes that are all 0 the paper's curve is 0 and the error
    is the mean score.

    References: P5 §4.4-4.5, Definition 6.

    >>> from calib_core.predictions.predictions import Predictions
    >>> from calib_core.reductions import Confidence
    >>> round(KernelECE()(Confidence().split(Predictions([[0.75, 0.25]], [0]))).value, 3)
    0.25
    """

    kernel: Annotated[Kernel, Part("KERNELS"), "Shape of the smoothing", "shape of the smoothing"] = field(
        default_factory=Triweight
    )
    bandwidth: Annotated[Bandwidth, Part("BANDWIDTHS"), "Bandwidth", "how wide the smoothing is"] = field(
        default_factory=Silverman
    )
    scale: Annotated[Scale, Part("SCALES"), "Scale", "smooth scores, or their log-odds"] = field(default_factory=Linear)
    smoothed: Annotated[
        str,
        Choice(SMOOTHED, titles=("Outcomes", "Outcome minus score")),
        "Smoothed",
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
        kernel: Any = self.kernel
        bandwidth: Any = self.bandwidth
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
        """Outcomes on the nodes of the grid, and all claims there."""
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


_TRACE = 1e-6
"""Share of a row that rounding puts on the next node: log-odds near 16 are known to about 1e-9."""


def limits(
    stratum: Stratum, kernel: Kernel, width: float, grid: ScoreGrid, curve: Float64s, level: float, whole: bool
) -> tuple[Float64s, Float64s]:
    """Lower and upper ends (cells + 1,) around the curve at the nodes of a grid; NaN where the curve is.

    They are about the noiseless curve: its value were every outcome replaced by its probability, given the scores. At
    node x the curve is s + sum_i w_i (z_i - s_i), or sum_i w_i z_i, with weights w_i that depend on scores only. Its
    noise is therefore sum_i w_i (z_i - r_i) either way. Let W = max w_i and B = sum_i (w_i e_i / W)^2, with e_i the
    outcome less the curve fitted without it (at most 1). The ends are curve -+ W X(B), X(B) = G(B + 1) - B, with G(a)
    the upper tail-point of the gamma law of shape a. This is exact for one weight and rare outcomes of one kind. It is
    log(1/tail) W wide where all outcomes agree, and normal where many do not. The tail is (1 - level) / 2, or, for the
    ``whole`` curve, that of the normal point c at which

        m 2 (1 - Phi(c)) + k / pi exp(-c^2 / 2) = 1 - level,

    k the length of the path that w / |w| walks on the sphere along the m pieces of the curve. Not a proof for finite
    rows: simulated in tests/simulations/kernel_curves.py. A row of weight v counts as v in the curve and as one
    row in its noise.

    References: Fay & Feuer 1997, Confidence intervals for directly standardized rates; Sun & Loader 1994,
    Simultaneous confidence bands for linear regression and smoothing, eq. (1).
    """
    v = np.ones(len(stratum.scores)) if stratum.weights is None else stratum.weights
    rows, hits = stratum.scores, stratum.outcomes
    mass, squared, true = grid.masses(rows, v), grid.masses(rows, v**2), grid.masses(rows[hits], v[hits] ** 2)
    cell, into = grid.places(rows)
    heaviest = np.zeros(grid.cells + 1)
    np.maximum.at(heaviest, cell, np.where(into < 1.0 - _TRACE, v, 0.0))
    np.maximum.at(heaviest, cell + 1, np.where(into > _TRACE, v, 0.0))

    n, spread = grid.cells + 1, kernel.on(grid, width)
    blocks = list(spread.weights())
    total, largest, count, length, along = (np.zeros(n) for _ in range(5))
    for nodes, seen, w in blocks:
        total[nodes] = w @ mass[seen]
        largest[nodes] = (w * heaviest[seen]).max(axis=1)
    known = ~np.isnan(curve) & (total > 0)
    own = np.divide(heaviest * spread.own, total, out=np.zeros(n), where=known)
    fitted = np.clip(np.nan_to_num(curve), 0.0, 1.0)
    miss, hit = (np.minimum(e / np.maximum(1.0 - own, 1e-9), 1.0) ** 2 for e in (fitted, 1.0 - fitted))
    noise = np.maximum(squared - true, 0.0) * miss + true * hit
    for nodes, seen, w in blocks:
        count[nodes] = (w * w) @ noise[seen]
        length[nodes] = (w * w) @ squared[seen]
        along[nodes][1:] = (w[1:] * w[:-1]) @ squared[seen]

    tail = (1.0 - level) / 2
    if whole and known.any():
        joined = known[1:] & known[:-1]
        cosine = along[1:][joined] / np.sqrt(length[1:][joined] * length[:-1][joined])
        pieces = int(known.sum() - joined.sum())
        tail = _tail(float(np.arccos(np.clip(cosine, -1.0, 1.0)).sum()), pieces, level)
    half = np.full(n, np.nan)
    b = count[known] / largest[known] ** 2
    half[known] = largest[known] / total[known] * (gamma.isf(tail, b + 1.0) - b)
    return np.clip(curve - half, 0.0, 1.0), np.clip(curve + half, 0.0, 1.0)


def effective_rows_at(stratum: Stratum, kernel: Kernel, width: float, grid: ScoreGrid) -> Float64s:
    """Effective sample size (sum w)^2 / sum w^2 of the rows at each node of a grid, with their weights w there."""
    v = np.ones(len(stratum.scores)) if stratum.weights is None else stratum.weights
    mass, squared = grid.masses(stratum.scores, v), grid.masses(stratum.scores, v**2)
    total, squares = np.zeros(grid.cells + 1), np.zeros(grid.cells + 1)
    for nodes, seen, w in kernel.on(grid, width).weights():
        total[nodes], squares[nodes] = w @ mass[seen], (w * w) @ squared[seen]
    return np.divide(total**2, squares, out=np.zeros(grid.cells + 1), where=squares > 0)


def _tail(path: float, pieces: int, level: float) -> float:
    """Tail probability on each side that a normal process of this path length on the sphere passes in 1 - level."""

    def beyond(c: float) -> float:
        return float(2 * pieces * norm.sf(c) + path / np.pi * np.exp(-(c**2) / 2)) - (1.0 - level)

    return float(norm.sf(scipy.optimize.brentq(beyond, 0.0, 20.0)))
