"""The kernel reliability curve: how often claims of each score come true, with a bootstrap band (P5 Fig. 1)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from calib_core._arrays import Float64s
from calib_core.claims import Claims, Stratum
from calib_core.estimators.kernel import Grid, KernelECE, local_calibration
from calib_core.estimators.kernel.kernels import response
from calib_core.estimators.kernel.resampling import occupied, resampled
from calib_core.predictions import Predictions
from calib_core.reductions import Reduction, as_reduction

_STEPS_TO_RESOLVE = 3


@dataclass(frozen=True, eq=False)
class KernelCurve:
    """P(z = 1 | s) of one stratum at scores (m,), with the density of the scores and a pointwise bootstrap band.

    ``curve`` is NaN where no data lie: a gap. ``median``, ``lower`` and ``upper`` are over the resamples, NaN without
    any; ``level`` is the share of resamples between the two. ``bandwidth``, the grid's ``step`` and what the density
    is per are in ``unit`` (score or log-odds), ``error`` is the stratum's ECE_KDE, ``rows`` its number (or weight) of
    claims.
    """

    stratum: str
    score: Float64s
    curve: Float64s
    density: Float64s
    median: Float64s
    lower: Float64s
    upper: Float64s
    level: float
    resamples: int
    bandwidth: float
    step: float
    error: float
    rows: float
    unit: str = "score"

    @property
    def warning(self) -> str:
        """What is wrong with the bandwidth, in a sentence; empty when nothing is."""
        finest = _STEPS_TO_RESOLVE * self.step
        if not self.rows > 0 or self.bandwidth >= finest:
            return ""
        smooth = "smooth the log-odds, or take" if self.unit == "score" else "take"
        return (
            f"The bandwidth {self.bandwidth:.2g} is under {_STEPS_TO_RESOLVE} grid steps ({finest:.2g}): the curve "
            f"follows single scores and its error is mostly noise; {smooth} silverman-std or a fixed bandwidth."
        )

    def at(self, score: float) -> float:
        """P(z = 1 | s) at any score, read off between the points; NaN in a gap and outside the range."""
        return float(np.interp(score, self.score, self.curve, left=np.nan, right=np.nan))

    def local_error(self, score: float) -> float:
        """Local calibration error |P(z = 1 | s) - s| at a score; NaN where no data lie."""
        return abs(self.at(score) - score)

    def frame(self) -> pd.DataFrame:
        """One line per point, exactly the numbers drawn; NaN is a gap."""
        names = ("score", "curve", "density", "median", "lower", "upper")
        return pd.DataFrame({name: getattr(self, name) for name in names})


def kernel_curve(
    predictions: Predictions,
    reduction: str | Reduction = "confidence",
    stratum: int = 0,
    method: KernelECE | None = None,
    resamples: int = 1000,
    level: float = 0.9,
    random_state: int = 0,
) -> KernelCurve:
    """Kernel reliability curve of one stratum: of the confidence, of one class, of one rank.

    The curve is f(s|z=1) P(z=1) / f(s) as in ``KernelECE``, which also says what its kernel and bandwidth mislead
    about. For the band the stratum's rows are drawn again with replacement ``resamples`` times, as counts of (grid
    cell, outcome) pairs; at each score the resamples with data there give the median and the middle ``level`` share.
    The bandwidth stays that of all scores. What can mislead: the band shows the curve's own variation, not its bias
    from smoothing, and it holds score by score, not for the whole curve at once.

    References: P5 §4.4, eq. (2) and Fig. 1.

    >>> p = Predictions.from_confidence([0.25, 0.75, 0.75], [False, True, True])
    >>> curve = kernel_curve(p, resamples=0)
    >>> round(curve.at(0.75), 3), round(curve.local_error(0.75), 3)
    (1.0, 0.25)
    """
    claims = as_reduction(reduction).split(predictions)
    return _curve(claims, stratum, method or KernelECE(), resamples, level, random_state)


def kernel_curves(
    predictions: Predictions,
    reduction: str | Reduction = "class-wise",
    method: KernelECE | None = None,
    resamples: int = 0,
    level: float = 0.9,
    random_state: int = 0,
) -> tuple[KernelCurve, ...]:
    """Kernel reliability curves of all strata of a notion, each with its own bandwidth; without bands unless asked.

    Each is what ``kernel_curve`` gives for its stratum, band included.

    >>> [c.stratum for c in kernel_curves(Predictions([[0.7, 0.3], [0.2, 0.8]], [0, 1]))]
    ['0', '1']
    """
    claims = as_reduction(reduction).split(predictions)
    made = method or KernelECE()
    return tuple(_curve(claims, s, made, resamples, level, random_state) for s in range(len(claims.strata)))


def _curve(claims: Claims, s: int, method: KernelECE, resamples: int, level: float, random_state: int) -> KernelCurve:
    stratum, grid = claims.stratum(s), method.grid(claims.floor)
    width = method.width(stratum) if stratum.total > 0 else 0.0
    damping = response(method.kernel, width, grid)
    whole = local_calibration(stratum, damping, grid)
    stride = grid.stride(width)
    curve = whole.curve[::stride]
    bounds = ((1 - level) / 2, 0.5, (1 + level) / 2)
    shown = grid.every(stride)
    band = _band(stratum, response(method.kernel, width, shown), shown, resamples, random_state, bounds)
    lower, median, upper = (np.where(np.isnan(curve), np.nan, quantile) for quantile in band)
    return KernelCurve(
        claims.strata[s],
        whole.scores[::stride],
        curve,
        whole.all[::stride],
        median,
        lower,
        upper,
        level,
        resamples,
        width,
        grid.step,
        float(whole.error) if stratum.total > 0 else float("nan"),
        stratum.total,
        grid.scale.unit,
    )


def _band(
    stratum: Stratum, damping: Float64s, grid: Grid, resamples: int, random_state: int, levels: tuple[float, ...]
) -> list[Float64s]:
    """Quantiles over the resamples at every shown score, the nodes of ``grid``; NaN without resamples or claims.

    Resamples live on the shown nodes: four of them to a bandwidth widen the kernel by half a percent, and cost an
    eighth of the full grid.
    """
    points = grid.cells + 1
    if resamples < 1 or not stratum.total > 0:
        return [np.full(points, np.nan)] * len(levels)
    cells = occupied(stratum, grid)
    curves = np.empty((points, resamples))
    done = 0
    for batch in resampled(cells, damping, resamples, random_state):
        drawn = batch.curve
        curves[:, done : done + len(drawn)] = drawn.T
        done += len(drawn)
    return _quantiles(curves, levels)


def _quantiles(values: Float64s, levels: tuple[float, ...]) -> list[Float64s]:
    """Linearly interpolated quantiles of each line without its NaNs; NaN for a line of NaNs."""
    values.sort(axis=1)  # NaNs go last
    known = (~np.isnan(values)).sum(axis=1)
    lines = np.arange(len(values))
    found = []
    for level in levels:
        position = np.maximum(known - 1, 0) * level
        below = position.astype(np.intp)
        above = np.minimum(below + 1, np.maximum(known - 1, 0))
        low = values[lines, below]
        found.append(low + (position - below) * (values[lines, above] - low))
    return found
