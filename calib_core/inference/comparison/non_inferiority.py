"""Is one model not worse than another by more than a margin? One word for it, from the interval of the difference."""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Real
from typing import Literal, TypeAlias

from calib_core._base.notebook_display import OneLine
from calib_core.binning.base import BinningScheme
from calib_core.defaults import LEVEL, SEED
from calib_core.estimators.base import Estimator, as_estimator, estimate, traits
from calib_core.inference.comparison.model_differences import paired_difference
from calib_core.inference.comparison.paired_difference import PairedDifference
from calib_core.inference.verdicts.estimate_line import unit_of
from calib_core.inference.verdicts.verdict import on_scale_of
from calib_core.predictions.predictions import InputError, Predictions
from calib_core.reductions.base import Reduction
from calib_core.text import Unit, at_level, difference, score

MARGIN = 0.01
"""The difference that would not matter: one point of a calibration error, .01 of a score."""

MarginWord: TypeAlias = Literal["better", "equivalent", "not worse", "worse", "cannot tell"]


@dataclass(frozen=True, repr=False)
class MarginVerdict(OneLine):
    """One of five words for a model beside another, and the sentence that says why.

    better, worse: the interval of the difference leaves out 0. equivalent: it lies within the margin on both sides.
    not worse: it leaves out that the model is worse by ``margin`` or more. cannot tell: it does not. A model that is
    shown to be worse, by less than the margin, is called equivalent, and the sentence says so. ``limit`` is the margin
    on the scale of the ``difference``.
    """

    word: MarginWord
    margin: float
    limit: float
    difference: PairedDifference
    sentence: str

    @property
    def not_worse(self) -> bool:
        """Is it shown that the model is not worse by the margin or more?"""
        return self.word in ("better", "equivalent", "not worse")

    def _line(self) -> str:
        return self.sentence

    def _facts(self) -> dict[str, object]:
        return {"verdict": self.word, "margin": f"{self.margin:g}", "why": self.sentence}


def not_worse(
    a: Predictions,
    b: Predictions,
    reduction: str | Reduction | None = "confidence",
    estimator: str | Estimator = "ece",
    bins: int | str | BinningScheme | None = None,
    *,
    margin: float = MARGIN,
    level: float = LEVEL,
    random_state: int = SEED,
) -> MarginVerdict:
    """Is the error of a shown not to exceed that of b by a margin, on the same rows?

    With D the difference of the errors (``paired_difference``; of what is better when high, such as accuracy, with the
    sign turned) and its interval [low, high] at ``level``, each end of which misses in at most (1 - level) / 2:

        high < 0: better;  low > 0 and high >= margin: worse;  -margin < low, high < margin: equivalent
        high < margin: not worse;  else: cannot tell

    ``margin`` is in the units of the error or score: .01 is one point of an ECE, of log loss .01. Squared errors are
    held against its square: e_a^2 - e_b^2 < m^2 implies e_a - e_b < m. Errors over all classes are held against the
    margin as a verdict holds them against a tolerance. InputError where the margin is not above 0. What can mislead: a
    margin chosen after the interval was seen shows nothing; that no difference is shown ("cannot tell") is not that
    there is none; of two models with large errors neither may be worse than the other.

    References: Schuirmann 1987, Journal of Pharmacokinetics and Biopharmaceutics 15; P2 Def. 5.2.

    >>> right = [0] * 180 + [1] * 20
    >>> a, b = Predictions([[0.9, 0.1]] * 200, right), Predictions([[0.89, 0.11]] * 200, right)
    >>> not_worse(a, b, None, "brier", margin=0.02).word, not_worse(b, a, None, "brier", margin=0.02).word
    ('equivalent', 'equivalent')
    """
    check_margin(margin)
    method = as_estimator(estimator, bins)
    found = paired_difference(a, b, reduction, estimator, bins, level=level, random_state=random_state)
    limit = margin if reduction is None else on_scale_of(estimate(a, reduction, method), margin)
    return margin_verdict(found, limit, margin, unit_of(method), higher_is_worse=traits(method).higher_is_worse)


def check_margin(margin: object) -> None:
    """Refuse a margin that is no number above 0."""
    number = isinstance(margin, Real) and not isinstance(margin, bool) and 0 < float(margin) < math.inf
    if not number:
        raise InputError(f"margin is {margin!r:.80}; it must be a number above 0")


def margin_verdict(
    found: PairedDifference, limit: float, margin: float, unit: Unit = "share", *, higher_is_worse: bool = True
) -> MarginVerdict:
    """The word for a difference that was already computed; ``limit`` is the margin on its scale.

    >>> found = PairedDifference(0.05, 0.05, -0.004, 0.006, 0.9, 0.9, "", True, "", 0.001)
    >>> margin_verdict(found, 0.01, 0.01).sentence
    'Equivalent within 1 point: difference −0.4 to +0.6 points, 90 % interval.'
    """
    check_margin(margin)
    low, high = (found.low, found.high) if higher_is_worse else (-found.high, -found.low)
    word: MarginWord = "cannot tell"
    if high < 0:
        word = "better"
    elif low > 0 and high >= limit:
        word = "worse"
    elif high < limit:
        word = "equivalent" if low > -limit else "not worse"
    ends = f"{difference(found.low, unit).removesuffix(' points')} to {difference(found.high, unit)}"
    # Of squares, and of errors that cannot reach 1, the limit is another number than the margin.
    meant = "" if limit == margin else f" (what a margin of {_size(margin, 'share')} is here)"
    text = _WHY[word].format(
        ends=f"difference {ends}, {at_level(found.level)} interval", margin=f"{_size(limit, unit)}{meant}"
    )
    worse = ", though it is shown to be worse by less" if word == "equivalent" and low > 0 else ""
    return MarginVerdict(word, margin, limit, found, f"{text}{worse}.")


def _size(number: float, unit: Unit) -> str:
    if unit != "share":
        return score(number)
    written = f"{100 * number:.2g}"
    return f"{written} {'point' if written == '1' else 'points'}"


_WHY: dict[MarginWord, str] = {
    "better": "Shown to be better: {ends}",
    "equivalent": "Equivalent within {margin}: {ends}",
    "not worse": "Not worse by {margin} or more: {ends}",
    "worse": "Shown to be worse: {ends}",
    "cannot tell": "Cannot tell: it may be worse by {margin} or more: {ends}",
}
