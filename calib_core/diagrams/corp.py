"""The CORP reliability curve: isotonic, without bins, with a decomposition of the score (Dimitriadis et al. 2021).

One sentence where an answer about one confidence and the verdict about all rows seem to disagree.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pandas as pd
import scipy

from calib_core._base.arrays import Codes, Float64s
from calib_core._base.diagram import Diagram
from calib_core._base.distributions import beta
from calib_core.defaults import LEVEL
from calib_core.diagrams.class_list import StandingOut
from calib_core.diagrams.curve import BANDS, band_title, kernel_curve
from calib_core.diagrams.local_accuracy import LocalAccuracy
from calib_core.estimators.base import judged_notion
from calib_core.inference.verdicts.estimate_line import EstimateLine
from calib_core.predictions.predictions import NotAnswerable, Predictions
from calib_core.predictions.row_groups import refuse_groups
from calib_core.reductions.base import Reduction, claims_of
from calib_core.results.verdict_table import MISCALIBRATED
from calib_core.text import at_level, in_percent


@dataclass(frozen=True, eq=False, repr=False)
class CorpCurve(Diagram):
    """Steps of the isotonic fit, and Brier score = ``miscalibration`` - ``discrimination`` + ``uncertainty``.

    Arrays are (steps,): the fit is ``outcome`` for scores from ``lower`` to ``upper``, which ``count`` rows have.
    ``miscalibration`` (MCB) is the largest possible gain by recalibration. ``discrimination`` (DSC) is the gain of the
    recalibrated scores over the constant mean. ``uncertainty`` (UNC) is the score of that constant. None is negative.
    ``ranges`` of scores have enough rows to draw it, as for ``kernel_curve``.
    """

    formula: ClassVar[str] = (
        r"\hat r = \arg\min_{r \text{ rising}} \sum_i \bigl(z_i - r(s_i)\bigr)^2,\quad"
        r"\overline{(s - z)^2} = \text{miscalibration} - \text{discrimination} + \text{uncertainty}"
    )

    stratum: str
    lower: Float64s
    upper: Float64s
    outcome: Float64s
    count: Float64s
    score: float
    miscalibration: float
    discrimination: float
    uncertainty: float
    ranges: Float64s

    def frame(self) -> pd.DataFrame:
        """One line per step, exactly the numbers drawn."""
        columns = {"lower": self.lower, "upper": self.upper, "outcome": self.outcome, "count": self.count}
        return pd.DataFrame(columns)


def corp(predictions: Predictions, reduction: str | Reduction | None = None, stratum: int = 0) -> CorpCurve:
    """The best non-decreasing curve from scores to outcomes (pool adjacent violators), with Brier score parts.

    MCB = S - S_fit, DSC = S_mean - S_fit, UNC = S_mean. S is the mean (s - z)^2 of the claims, S_fit that of the fitted
    values and S_mean that of the constant mean outcome. What can mislead: a falling curve cannot be fitted, so
    miscalibration that oscillates is missed; see the Kuiper test. With few rows the fit follows noise: MCB of a
    calibrated model is above 0. By default the claims are of the event of two classes, else of the confidence.

    References: Dimitriadis, Gneiting & Jordan 2021, Stable reliability diagrams for probabilistic classifiers.

    >>> curve = corp(Predictions.from_confidence([0.6, 0.7, 0.9], [True, False, True]))
    >>> curve.frame()[["lower", "upper", "outcome"]].values.tolist()
    [[0.6, 0.7, 0.5], [0.9, 0.9, 1.0]]
    """
    claims = claims_of(predictions, judged_notion(reduction, predictions))
    part = claims.stratum(stratum)
    weights = np.ones(len(part.scores)) if part.weights is None else part.weights
    # float64: scikit-learn merges float32 scores closer than 1e-6. Equal scores are one point.
    scores, point = np.unique(part.scores.astype(np.float64), return_inverse=True)
    count = np.bincount(point, weights)
    positive = count > 0
    hits = np.bincount(point, weights * part.outcomes)[positive]
    scores, count = scores[positive], count[positive]
    fit = np.asarray(scipy.optimize.isotonic_regression(hits / count, weights=count).x, dtype=np.float64)
    starts = np.append(0, np.flatnonzero(np.diff(fit)) + 1)
    stops = np.append(starts[1:], len(fit)) - 1
    total, mean = float(count.sum()), float(hits.sum() / count.sum())

    def brier(forecast: Float64s | float) -> float:
        # sum over the rows of one score of (s - z)^2 = c s^2 - 2 s h + h
        return float((count * np.square(forecast) - 2 * forecast * hits + hits).sum() / total)

    score, best, constant = brier(scores), brier(fit), brier(mean)
    return CorpCurve(
        claims.strata[stratum],
        scores[starts],
        scores[stops],
        fit[starts],
        np.add.reduceat(count, starts),
        score,
        max(score - best, 0.0),
        max(constant - best, 0.0),
        constant,
        kernel_curve(predictions, reduction, stratum, band="none").ranges,
    )


def brier_parts(curves: Mapping[str, CorpCurve]) -> pd.DataFrame:
    """Decomposition of the Brier score of models by name, one line per curve, as in ``corp``.

    ``brier`` = ``miscalibration`` - ``discrimination`` + ``uncertainty``. What can mislead: the fit follows noise; a
    calibrated model of few rows has a miscalibration above 0 too.

    References: Dimitriadis, Gneiting & Jordan 2021, Stable reliability diagrams for probabilistic classifiers.

    >>> curve = corp(Predictions.from_confidence([0.6, 0.7, 0.9], [True, False, True]))
    >>> brier_parts({"net": curve}).round(2).values.tolist()
    [['net', 0.22, 0.05, 0.06, 0.22]]
    """
    parts = ("miscalibration", "discrimination", "uncertainty")
    return pd.DataFrame(
        [
            {"model": name, "brier": curve.score, **{part: getattr(curve, part) for part in parts}}
            for name, curve in curves.items()
        ],
        columns=["model", "brier", *parts],
    )


_RANKS, _SCORES = 64, 32
_FEWEST = 8


@dataclass(frozen=True, eq=False, repr=False)
class CorpBand(Diagram):
    """Confidence band of a non-decreasing true curve: ``lower`` to ``upper`` at scores (m,).

    Between two scores, the lower end is that of the score below, and the upper end that of the score above. ``band`` is
    "pointwise" or "whole-curve". ``ranges`` of scores have enough rows to draw it, as for ``kernel_curve``.
    """

    stratum: str
    score: Float64s
    lower: Float64s
    upper: Float64s
    band: str
    level: float
    ranges: Float64s

    @property
    def band_title(self) -> str:
        """Title of the band."""
        return band_title(self.band, self.level)

    @property
    def about(self) -> str:
        """Coverage of the band and its assumption, in a sentence."""
        each = "at any one score" if self.band == "pointwise" else "at all scores at once"
        crossed = (
            (" Here the ends cross, so the true curve must decrease somewhere.")
            if (self.lower > self.upper).any()
            else ""
        )
        return (
            f"Band of the isotonic curve: if the true frequency never decreases with the score, at least "
            f"{at_level(self.level)} of such bands contain the true curve, {each}.{crossed}"
        )

    def frame(self) -> pd.DataFrame:
        """One line per score, exactly the numbers drawn."""
        return pd.DataFrame({"score": self.score, "lower": self.lower, "upper": self.upper})


def corp_band(
    predictions: Predictions,
    reduction: str | Reduction | None = None,
    stratum: int = 0,
    band: str = "pointwise",
    level: float = LEVEL,
) -> CorpBand:
    """A confidence band for the true curve from scores to outcomes, if that curve never falls.

    Over a run of rows that ends at score s, a rising curve r is at most r(s). The number of positive outcomes in the
    run is therefore stochastically at most binomial with r(s). Its lower binomial limit (Clopper and Pearson) is a
    lower limit for r(s). The lower end at s is the largest limit over runs of 8, 16, 32, ... rows and of all rows up to
    s. Each limit is at 1 - (1 - level) / (2 k), with k the number of runs ending at s (pointwise) or at any of the
    band's scores (whole curve). The upper end is the same from above. Runs are chosen from scores only, and equal
    scores are never separated. Coverage is therefore at least ``level`` for every number of rows, by a union bound
    without simulation. The band's scores are up to 64 ranks and 32 steps of the score. This is no consistency band
    (where a calibrated model's curve would lie): it is about the truth. What can mislead: where the true curve falls it
    is no band at all; and it is wide, since nothing but rising is assumed. Whole-number weights are copies;
    NotAnswerable for other unequal ones, and for rows in groups. By default the claims are of the event of two classes,
    else of the confidence.

    References: Dimitriadis, Duembgen, Henzi, Puke & Ziegel 2023, Honest calibration assessment for binary outcome
    predictions (all runs of rows, there).

    >>> curve = corp_band(Predictions.from_confidence([0.9] * 20, [True] * 20))  # 0.05^(1/20)
    >>> curve.frame().round(3).values.tolist()
    [[0.9, 0.861, 1.0]]
    """
    if band not in BANDS or band == "none":
        raise ValueError(f"band is {band!r}; it must be pointwise or whole-curve")
    refuse_groups(predictions, "the band of a CORP curve", "choose no band")
    claims = claims_of(predictions.written_out(), judged_notion(reduction, predictions))
    part = claims.stratum(stratum).counted()
    if part.weights is not None and np.ptp(part.weights) > 0:
        raise NotAnswerable("the band of a CORP curve needs rows of equal or whole-number weights")
    scores, point, count = np.unique(part.scores.astype(np.float64), return_inverse=True, return_counts=True)
    hits = np.bincount(point, part.outcomes, minlength=len(scores)).astype(np.intp)
    rows = np.append(0, np.cumsum(count))
    ranks = np.searchsorted(rows[1:], np.linspace(0, rows[-1], _RANKS + 1)[1:])
    steps = np.searchsorted(scores, np.linspace(0, 1, _SCORES + 1), side="right") - 1
    chosen = np.unique(np.concatenate([ranks, steps[steps >= 0], [0]])) if len(scores) else np.zeros(0, np.intp)
    lower = _rising(count, hits, chosen, band, level)
    # Read from the other end, outcomes that fail rise.
    upper = _rising(count[::-1], (count - hits)[::-1], (len(scores) - 1 - chosen)[::-1], band, level)
    ranges = kernel_curve(predictions, reduction, stratum, band="none").ranges
    return CorpBand(claims.strata[stratum], scores[chosen], lower, 1.0 - upper[::-1], band, level, ranges)


def _rising(count: Codes, hits: Codes, chosen: Codes, band: str, level: float) -> Float64s:
    """Lower ends at the chosen scores, from the rows of each score up to there."""
    if not len(chosen):
        return np.zeros(0)
    rows, right = np.append(0, np.cumsum(count)), np.append(0, np.cumsum(hits))
    sizes = _FEWEST * 2 ** np.arange(max(1, int(rows[-1]).bit_length()))
    stop = rows[chosen + 1][:, None]
    start = np.maximum(np.searchsorted(rows, stop - sizes, side="right") - 1, 0)
    new = np.diff(start, axis=1, prepend=-1) != 0
    looked = new.sum(axis=1, keepdims=True)
    runs = np.full_like(looked, looked.sum()) if band == "whole-curve" else looked
    n, k = stop - rows[start], right[chosen + 1][:, None] - right[start]
    low = np.where(k > 0, beta.ppf((1 - level) / 2 / runs, k, n - k + 1), 0.0).max(axis=1)
    return np.asarray(np.maximum.accumulate(low) if band == "whole-curve" else low)


OF_ALL = "the confidence over all predicted classes"
"""Subject of a verdict about confidence."""


def reconciled(
    local: LocalAccuracy,
    confidence: float,
    line: EstimateLine,
    classes: StandingOut | None = None,
) -> str:
    """Sentence that reconciles the answer near ``confidence`` with the verdict; empty if they agree.

    The answer is about the rows near one confidence. The verdict of ``line`` is about the error over all rows, in the
    top-label notion for each predicted class separately. They seem to disagree in four cases. (1) The verdict is
    miscalibrated and no gap is shown near ``confidence``. The gap is at another one (``LocalAccuracy.elsewhere``), or
    in classes whose gaps cancel. (2) Single ``classes`` are significant and a verdict about confidence is not
    miscalibrated. Their gaps cancel, or are not shown to be large. (3) A gap is shown near ``confidence`` and the
    verdict is "within": few rows, or a small gap. (4) A gap is shown and the verdict is inconclusive. The mean gap over
    all rows needs no such sentence: no verdict contradicts it (``inference.mean_gap``). Nothing is said where rows near
    ``confidence`` are too few to show anything.

    >>> from calib_core import Predictions
    >>> from calib_core.diagrams.local_accuracy import local_accuracy
    >>> from calib_core.inference import primary
    >>> right = [True] * 360 + [False] * 40 + [True] * 80 + [False] * 320
    >>> p = Predictions.from_confidence([0.9] * 400 + [0.6] * 400, right)
    >>> reconciled(local_accuracy(p), 0.9, primary(p).line)
    'There is no significant gap near 90 %, but the verdict is about all rows: at 60 %, the accuracy is 20 %.'
    """
    answer, word = local.answer(confidence), line.verdict
    if word is None:
        return ""
    near = in_percent(answer.confidence if answer.near else answer.claimed)
    standing = 0 if classes is None else int(classes.stands_out.sum())
    if word == MISCALIBRATED:
        if answer.gap is not None or not answer.enough:
            return ""
        other = local.elsewhere(confidence)
        if other is not None:
            right = in_percent(other.right)
            return (
                f"There is no significant gap near {near}, but the verdict is about all rows: at {other.range}, the "
                f"accuracy is {right}."
            )
        by_class = "; single classes have gaps, which cancel" if classes is not None and classes.cancel else ""
        return f"There is no significant gap near {near} over all classes{by_class}. The verdict is about all rows."
    if classes is not None and standing and line.notion == "confidence":
        found = (
            "One class is clearly miscalibrated" if standing == 1 else f"{standing:,} classes are clearly miscalibrated"
        )
        if classes.cancel:
            return f"{found}. The verdict is about {OF_ALL}, where their gaps cancel."
        if word == "within":
            return f"{found}. The verdict is about {OF_ALL}, where the error is within the tolerance."
        return f"{found}. There are too few rows to say whether the overall error exceeds the tolerance."
    if answer.gap is None:
        return ""
    if word == "within":
        return (
            f"The gap near {near} is significant for {in_percent(answer.share)} of the rows; the error over all "
            "rows is within the tolerance."
        )
    return (
        f"The gap near {near} is significant. There are too few rows to compare the overall error with the tolerance."
    )
