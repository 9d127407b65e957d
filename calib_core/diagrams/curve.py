"""The kernel reliability curve: how often claims of each score come true, with a band (P5 Fig. 1)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pandas as pd

from calib_core._base.arrays import Float64s
from calib_core._base.diagram import Diagram
from calib_core.claims.binary_claims import Claims, Stratum
from calib_core.defaults import LEVEL
from calib_core.estimators.base import judged_notion
from calib_core.estimators.kernel_ece import KernelECE, effective_rows_at, limits
from calib_core.predictions.predictions import Predictions
from calib_core.predictions.row_groups import refuse_groups
from calib_core.reductions.base import Reduction, claims_of
from calib_core.smoothing.bandwidths import CutDeviation
from calib_core.smoothing.score_grid import LogOdds
from calib_core.text import at_level

_STEPS_TO_RESOLVE = 3
_NO_SPREAD = 1e-9
_HALF = 0.5
_FEWEST, _QUARTER = 20, 0.25
"""Effective rows below which a curve is broken, and the part of all rows that suffices for few rows."""
BANDS = {"pointwise": "pointwise {} band", "whole-curve": "{} band for the whole curve", "none": "no band"}
"""Kinds of band around a curve, and what each is called at a level."""

KERNEL_CURVE = KernelECE(bandwidth=CutDeviation(), scale=LogOdds(), smoothed="gaps")
"""Default smoothing of a curve; ``KernelECE()`` is the paper's."""


def band_title(band: str, level: float) -> str:
    """Title of a band.

    >>> band_title("whole-curve", 0.9)
    '90 % band for the whole curve'
    """
    return BANDS[band].format(at_level(level))


@dataclass(frozen=True, eq=False, repr=False)
class KernelCurve(Diagram):
    """P(z = 1 | s) of one stratum at scores (m,), with the density of the scores and a band.

    ``curve`` is NaN beyond the smallest and the largest score, and in gaps. A gap has fewer than 20 effective rows (a
    quarter of the rows if there are fewer than 80). Their number is (sum w)^2 / sum w^2 for the weights w of the rows
    at the place. It is also a gap if they weigh less than half of one row. ``lower`` to ``upper`` is the
    ``band`` at ``level``, "pointwise" or for the "whole-curve". It is NaN where the curve is, and where the band is
    "none". ``unit`` (score or log-odds) is the unit of ``bandwidth``, of the grid's ``step`` and of the density.
    ``error`` is the mean distance of the curve from the diagonal. ``rows`` is the stratum's number (or weight) of
    claims. ``smoothed`` is "outcomes" or "gaps".
    """

    formula: ClassVar[str] = (
        r"\hat P(z = 1 \mid s) = s + \frac{\sum_i K_h(x - x_i)\,(z_i - s_i)}{\sum_i K_h(x - x_i)},"
        r"\quad x = \log\frac{s}{1 - s}"
    )

    stratum: str
    score: Float64s
    curve: Float64s
    density: Float64s
    lower: Float64s
    upper: Float64s
    band: str
    level: float
    bandwidth: float
    step: float
    error: float
    rows: float
    unit: str = "score"
    smoothed: str = "outcomes"

    @property
    def band_title(self) -> str:
        """Title of the band."""
        return band_title(self.band, self.level)

    @property
    def about(self) -> str:
        """Coverage of the band, in a sentence; empty without a band."""
        if self.band == "none":
            return ""
        where = "At any one score" if self.band == "pointwise" else "At all scores at once"
        sentence = (
            f"{where}, about {at_level(self.level)} or more of such bands contain the curve without chance: the kernel "
            "curve with every outcome replaced by its true probability."
        )
        if self.smoothed == "gaps":
            smooth = "Errors finer than the bandwidth are smoothed away."
            return f"{sentence} For a calibrated model, this curve is the diagonal. {smooth}"
        return f"{sentence} Near 0 and 1, this curve bends away from the diagonal, even for a calibrated model."

    @property
    def warning(self) -> str:
        """Warning about the bandwidth, in a sentence; empty if there is none."""
        finest = _STEPS_TO_RESOLVE * self.step
        if not self.rows > 0 or self.bandwidth >= finest:
            return ""
        smooth = "Smooth the log-odds, or use" if self.unit == "score" else "Take"
        return (
            f"The bandwidth {self.bandwidth:.2g} is under {_STEPS_TO_RESOLVE} grid steps ({finest:.2g}): the curve "
            f"follows single scores and its error is mostly noise. {smooth} Silverman's rule on the standard deviation "
            "or a fixed bandwidth."
        )

    @property
    def ranges(self) -> Float64s:
        """Ranges of scores over which the curve is drawn, (ranges, 2). Curves without a kernel use them too."""
        known = np.flatnonzero(~np.isnan(self.curve))
        runs = np.split(known, np.flatnonzero(np.diff(known) > 1) + 1) if len(known) else []
        return self.score[[[run[0], run[-1]] for run in runs]] if runs else np.zeros((0, 2))

    def value(self, score: float) -> float:
        """P(z = 1 | s) at any score, read off between the points; NaN in a gap and outside the range."""
        return float(np.interp(score, self.score, self.curve, left=np.nan, right=np.nan))

    def local_error(self, score: float) -> float:
        """Local calibration error |P(z = 1 | s) - s| at a score; NaN where no data lie."""
        return abs(self.value(score) - score)

    def frame(self) -> pd.DataFrame:
        """One line per point, exactly the numbers drawn; NaN is a gap."""
        names = ("score", "curve", "density", "lower", "upper")
        return pd.DataFrame({name: getattr(self, name) for name in names})


def kernel_curve(
    predictions: Predictions,
    reduction: str | Reduction | None = None,
    stratum: int = 0,
    method: KernelECE = KERNEL_CURVE,
    band: str = "pointwise",
    level: float = LEVEL,
) -> KernelCurve:
    """Kernel reliability curve of one stratum: of the event, of the confidence, of one class, of one rank.

    By default the claims are of the event of two classes, else of the confidence.

    By default the curve is s + sum_i K((x - x_i) / h) (z_i - s_i) / sum_i K((x - x_i) / h). Here x is the log-odds of
    s, and h = 0.6 (3n/4)^(-1/5) sd(x cut at -5 and 5), chosen from scores only: scores of 0 and 1 do not widen it. The
    curve is drawn between the smallest and the largest score. It is broken where fewer than 20 effective rows count (a
    quarter of the rows if there are fewer than 80).

    The paper's is ``method=KernelECE()``: f(s|z=1) P(z=1) / f(s) on scores, with Silverman's bandwidth. It scribbles
    where confidences crowd near 1. Ten distributions were simulated. Confidences are near 1 (overconfident and
    calibrated), a third exactly 1, rounded, or all .999. Others are of one class of a hundred, spread out, with a jump,
    or in a wave. With the full standard deviation as bandwidth and n = 10 to 10,000, the mean absolute error at the
    scores was .035 (outcomes smoothed .043; gaps on scores .042; the paper's .050). The narrower default has .020 at
    n = 1,000 and .008 at 10,000. Its pointwise bands of level .9 contained the smoothed curve at .93 to 1 of the places
    drawn, and the true one at .92 to 1 (40 to 100 runs each). At the worst place they contained the smoothed curve in
    .82 of the runs or more. The true one was contained in .53 of the runs of a wave, and never at a jump. Bands for the
    whole curve contained it in .93 to 1 of the runs (tests/simulations/kernel_curves.py). Bands: ``limits`` describes
    the method; they are about the smoothed curve.

    What can mislead: the smoothed curve is not the true one. The default leaves a calibrated model on the diagonal at
    every bandwidth, but flattens errors that are finer than h. It is off 0 or 1 where all outcomes are 0 or 1, as far
    as scores vary within h. Whole-number weights are copies; rows in groups have a curve and no band.

    References: P5 §4.4, eq. (2) and Fig. 1; Hjort & Glad 1995 (smoothing what a parametric start leaves over).

    >>> p = Predictions.from_confidence([0.25, 0.75, 0.75], [False, True, True])
    >>> curve = kernel_curve(p, method=KernelECE())
    >>> round(curve.value(0.75), 3), round(curve.local_error(0.75), 3)
    (1.0, 0.25)
    """
    _check_band(predictions, band)
    claims = claims_of(predictions.written_out(), judged_notion(reduction, predictions))
    return _curve(claims, stratum, method, band, level)


def kernel_curves(
    predictions: Predictions,
    reduction: str | Reduction = "class-wise",
    method: KernelECE = KERNEL_CURVE,
    band: str = "none",
    level: float = LEVEL,
) -> tuple[KernelCurve, ...]:
    """Kernel reliability curves of all strata of a notion, each with its own bandwidth; bands on request.

    Each is what ``kernel_curve`` gives for its stratum, band included.

    >>> [c.stratum for c in kernel_curves(Predictions([[0.7, 0.3], [0.2, 0.8]], [0, 1]))]
    ['0', '1']
    """
    _check_band(predictions, band)
    claims = claims_of(predictions.written_out(), reduction)
    return tuple(_curve(claims, s, method, band, level) for s in range(len(claims.strata)))


def _check_band(predictions: Predictions, band: str) -> None:
    if band != "none":
        refuse_groups(predictions, "the band of a kernel curve", "choose no band")


def _curve(claims: Claims, s: int, method: KernelECE, band: str, level: float) -> KernelCurve:
    if band not in BANDS:
        raise ValueError(f"band is {band!r}; it must be one of {', '.join(BANDS)}")
    stratum, grid = claims.stratum(s), method.grid(claims.floor)
    some = stratum.total > 0
    width = method.width(stratum) if some else 0.0
    if some and width < _NO_SPREAD * grid.step:
        width = _STEPS_TO_RESOLVE * grid.step  # scores that are all equal: as wide as can be seen
    spread = method.kernel.on(grid, width)
    stride = spread.stride
    points = grid.cells // stride + 1
    scores = grid.scores[::stride].copy()
    curve, density, lower, upper = (np.full(points, np.nan) for _ in range(4))
    error = float("nan")
    if some:
        local = method.local(stratum, grid, width)
        curve, density, error = local.curve[::stride].copy(), local.all[::stride].copy(), float(local.error)
        # On the points drawn: four of them to a bandwidth widen the kernel by half a percent.
        shown, rows = grid.every(stride), _equal_rows(stratum)
        few = effective_rows_at(stratum, method.kernel, width, shown) < min(_FEWEST, _QUARTER * rows)
        first, last = _ends(stratum, scores)
        curve[few | (density < _HALF * spread.height / rows)] = np.nan
        curve[:first], curve[last + 1 :] = np.nan, np.nan
        if band != "none":
            lower, upper = limits(stratum, method.kernel, width, shown, curve, level, band == "whole-curve")
        for node, end in ((first, stratum.scores.min()), (last, stratum.scores.max())):
            for values in (curve, density, lower, upper):
                values[node] = np.interp(end, scores, values)
        scores[[first, last]] = stratum.scores.min(), stratum.scores.max()
    return KernelCurve(
        claims.strata[s],
        scores,
        curve,
        density,
        lower,
        upper,
        band,
        level,
        width,
        grid.step,
        error,
        stratum.total,
        grid.scale.unit,
        method.smoothed,
    )


def _ends(stratum: Stratum, scores: Float64s) -> tuple[int, int]:
    """Places of the points at or just beyond the smallest and the largest score."""
    first = int(np.searchsorted(scores, stratum.scores.min() + _NO_SPREAD, side="right")) - 1
    return max(first, 0), min(int(np.searchsorted(scores, stratum.scores.max() - _NO_SPREAD)), len(scores) - 1)


def _equal_rows(stratum: Stratum) -> float:
    """Effective sample size of these rows (Kish 1965)."""
    v = stratum.weights
    return float(len(stratum.scores) if v is None else v.sum() ** 2 / np.square(v).sum())
