"""Differences of calibration errors and scores between models on the same rows, with intervals and tests."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import combinations
from numbers import Real
from typing import Any, Literal, TypeAlias

import numpy as np
import pandas as pd

from calib_core._base.errors import InputError, NotAnswerable, as_share
from calib_core._base.notebook_display import OneLine
from calib_core.binning.base import BinningScheme, cuts
from calib_core.binning.groups import Groups
from calib_core.binning.interval_schemes import Distinct
from calib_core.defaults import LEVEL, SEED, SIGNIFICANCE
from calib_core.estimators.base import (
    BY_DEFAULT,
    ESTIMATORS,
    Estimator,
    Question,
    as_estimator,
    counts_of_event,
    estimate,
    is_score,
    judged_notion,
    own_bins,
    traits,
)
from calib_core.inference.comparison.paired_differences import (
    BinsOf,
    PairedDifference,
    in_cells,
    of_cells,
    of_intervals,
)
from calib_core.inference.comparison.score_differences import of_confidences, of_scores
from calib_core.inference.intervals.bins_of_interval import target
from calib_core.inference.significance.multiple_testing import holm
from calib_core.inference.verdicts.estimate_line import unit_of
from calib_core.inference.verdicts.verdict import on_scale_of
from calib_core.predictions.predictions import Predictions, check_same_rows
from calib_core.predictions.row_groups import same_groups
from calib_core.reductions.base import Reduction, as_reduction, scope
from calib_core.registry.registry import RegistryError
from calib_core.text import Unit, at_level, difference, points_of, score, short_percent

DEFAULT = "debiased-l2"
"""The estimator with the narrowest intervals of differences."""

GROUP_ROWS = {1: 50, 2: 20}
"""Smallest number of rows in groups of claims by class if no bins are given, by the order of the error."""

_OF_BOTH_CLASSES = {"brier": 2, "log-loss": 1}
"""Ratio of the score of whole rows to the event's score: both classes contribute equally to the Brier score."""


def paired_difference(
    a: Predictions,
    b: Predictions,
    reduction: str | Reduction | None = BY_DEFAULT,
    estimator: str | Estimator = DEFAULT,
    bins: int | str | BinningScheme | None = None,
    *,
    bins_of: BinsOf = "each",
    level: float = LEVEL,
    random_state: int = SEED,
) -> PairedDifference:
    """Difference of two models' errors on the same rows (a less b), with its interval and a test of no difference.

    By default the error is that of the event's risk if both models have an event, else that of the confidence.
    ``reduction`` None, which is not the default, compares scores of whole predictions.

    The method depends on the estimator.

    - Debiased squared error, if a row makes one claim (confidence, top-label, one class): an unbiased estimate from
      pairs of rows that share a cell. The interval is normal, from rows and pairs under both models
      (``joint_cells.squared_difference``).
    - ECE and debiased ECE of such claims: residuals summed with signs estimated from other rows
      (``joint_cells.absolute_difference``).
    - Both, if the squared residuals sum to fewer than ten outcomes: each model's own interval, as below. In the bins
      of one model: bounds from counts, which never separate the models.
    - Scores of whole predictions (``reduction`` None), and of the risk of an event: the interval of a mean gain
      (``score_differences.of_gains``). It allows for rare heavy losses. Accuracies have a score interval.
    - Scores of the confidence, by predicted class or not, which are the only scores of bare confidences. They are the
      accuracy, and each confidence's loss as a claim to be right. The intervals are the same
      (``score_differences.of_confidences``).
    - All others: each model's own interval at level 1 - (1 - level) / 2. Others are RMSCE, MCE, class-wise and top-k
      errors, kernel and smooth errors, the simplex, and weights that are not whole. The difference is between their
      extremes if both are valid. This is conservative and wide, because errors that the models share do not cancel. The
      p-value is the smallest of ``LADDER`` at which the two intervals separate.
    - Grouped rows always use the last method, or for scores sums of groups, because pairs of rows and folds assume
      independent rows.

    A summary contains no rows, so it is unknown which of them two models share. Each model's own interval decides,
    which is valid in any case. Rows that both models retain can be paired (``kept_together``).

    ``bins_of`` "first" or "second" puts every row in that model's cell for both models; both must then make claims
    about the same outcomes. Without bins, the default is as follows (``declared_bins``). If one of the models is
    declared discrete, both use one bin per value of that model. The base model of a recalibration requires this (P1
    App. F). If both are discrete, each uses one bin per value. For others, claims by class are judged in groups of at
    least 20 rows (ECE: 50), each model in its own. ``about`` describes the choice.

    Models that make the same claims differ by exactly 0. The rows must be the same in the same order; InputError
    names the first row whose labels differ. (Bare confidences have no labels to compare.) What can mislead: bins are
    placed by each model's own scores. Errors therefore also differ because of the bins.

    References: P1 App. F; P2 Def. 5.2.

    >>> a = Predictions([[0.9, 0.1]] * 200, [0] * 180 + [1] * 20)
    >>> b = Predictions([[0.6, 0.4]] * 200, [0] * 180 + [1] * 20)
    >>> gain = paired_difference(a, b, None, "brier")  # 0.18 - 0.36: nine rows of ten gain 0.3, one loses 0.9
    >>> round(gain.value, 2), gain.low < -0.18 < gain.high
    (-0.18, True)
    >>> gain = paired_difference(a, b)  # a is right as often as it says, b says 0.3 too little: 0 - 0.3^2
    >>> round(gain.point, 2), gain.high < 0
    (-0.09, True)
    """
    as_share(level, "level")
    reduction = None if reduction is None else judged_notion(reduction, a, b)
    if "counts" in (a.grain, b.grain):
        return _of_counts(a, b, reduction, estimator, bins, bins_of, level, random_state)
    first, second = same_rows(a, b)
    if reduction is None:
        return _of_scores(first, second, as_estimator(estimator, bins), level)
    notion = as_reduction(reduction)
    key = ESTIMATORS.recipe(as_estimator(estimator)).key
    if scope(notion).of == "event" and key in _OF_BOTH_CLASSES:
        whole = _of_scores(first, second, as_estimator(estimator), level)
        parts = ("first", "second", "low", "high", "point")
        return replace(whole, **{name: getattr(whole, name) / _OF_BOTH_CLASSES[key] for name in parts})
    # A mean over rows is the same whether or not the rows are put together by class.
    if scope(notion).of == "top" and is_score(key):
        known = _of_confidences(first, second, as_estimator(estimator), level)
        if known is not None:
            return known
    if bins is None and bins_of == "each":
        bins, bins_of = declared_bins(first, second, notion, estimator)
    method = _with_groups(estimator, notion.split(first)) if bins is None else as_estimator(estimator, bins)
    questions = (Question(first.answered, notion, method), Question(second.answered, notion, method))
    if all(map(in_cells, questions)) and first.row_groups is None:
        return of_cells(questions, bins_of, level, random_state)
    if bins_of != "each":
        raise NotAnswerable(
            "one model's bins can be used for both only with one claim per row and the ECE or the debiased squared "
            "error"
        )
    return of_intervals(questions, level, random_state)


def _of_counts(
    a: Predictions,
    b: Predictions,
    reduction: str | Reduction | None,
    estimator: str | Estimator,
    bins: int | str | BinningScheme | None,
    bins_of: BinsOf,
    level: float,
    random_state: int,
) -> PairedDifference:
    """The difference where one of the two is a summary, whose rows cannot be paired with others."""
    if bins_of != "each":
        raise NotAnswerable("one model's bins can be used for both only with row-level data; a summary has only counts")
    method, notion = as_estimator(estimator, bins), None if reduction is None else as_reduction(reduction)
    if notion is None and "predictions" not in traits(method).takes:
        raise RegistryError("this estimator needs a notion: give reduction=")
    first, second = (_of_one(p.written_out().answered, notion, method) for p in (a, b))
    return of_intervals((first, second), level, random_state, same_rows=False)


def _of_one(predictions: Predictions, notion: Reduction | None, method: Any) -> Question:
    """The question about one model; a loss of the event of a summary is one of the sums that it has."""
    counted = None if notion is None else counts_of_event(predictions, notion, method)
    return Question(predictions, notion, method) if counted is None else Question(counted, None, method)


def declared_bins(
    a: Predictions, b: Predictions, reduction: str | Reduction, estimator: str | Estimator = DEFAULT
) -> tuple[BinningScheme | None, BinsOf]:
    """Return the default bins for comparing two models, and the model that defines them.

    Outputs declared discrete have one bin per value, used for both models. Wider bins flatter the discrete model, and
    other bins compare bins rather than models. None in three cases: neither model is declared discrete; the estimator
    has its own bins; bins cannot be shared. The last is so if a row makes several claims, or the two models make claims
    about different outcomes.

    References: P1 App. F, Remark 1.

    >>> p = Predictions([[0.7, 0.3]] * 10, [0] * 7 + [1] * 3)
    >>> declared_bins(p, p.as_discrete(), "confidence"), declared_bins(p, p, "confidence")
    ((Distinct(), 'second'), (None, 'each'))
    """
    if not isinstance(estimator, str) or not (a.discrete or b.discrete):
        return None, "each"
    schemes = [own_bins(p, estimator) for p in (a, b)]
    first, second = (scheme is not None and cuts(scheme).one_a_value for scheme in schemes)
    notion, method = as_reduction(reduction), as_estimator(estimator)
    questions = [Question(p.answered, notion, method) for p in (a, b)]
    if not all(map(in_cells, questions)) or not (first or second):
        return None, "each"
    if first and second:
        return Distinct(), "each"
    alike = np.array_equal(questions[0].claims.outcomes, questions[1].claims.outcomes)
    return (Distinct(), "first" if first else "second") if alike else (None, "each")


def check_comparable(a: Predictions, b: Predictions) -> None:
    """InputError unless two models are judged on the same rows, with the same weights and in the same groups."""
    check_same_rows(a, b)
    weights = [np.ones(p.n_rows) if p.weights is None else p.weights for p in (a, b)]
    differ = np.flatnonzero(weights[0] != weights[1])
    if len(differ):
        i = int(differ[0])
        raise InputError(
            f"row {i} has weight {weights[0][i]:g} in one model and {weights[1][i]:g} in the other; to compare "
            "models, use the same rows and weights"
        )
    if not same_groups(a.row_groups, b.row_groups):
        raise InputError("the models have different groups of rows; to compare models, use the same rows and groups")


def same_rows(a: Predictions, b: Predictions) -> tuple[Predictions, Predictions]:
    """Both models' rows, checked to be the same, with the same weights and answered by both or by none."""
    check_comparable(a, b)
    declined = [np.zeros(p.n_rows, dtype=bool) if p.abstained is None else p.abstained for p in (a, b)]
    differ = np.flatnonzero(declined[0] != declined[1])
    if len(differ):
        raise NotAnswerable(
            f"row {int(differ[0])} is answered by only one of the models ({len(differ)} rows in all); compare them "
            "on the rows that both answer"
        )
    return a.written_out(), b.written_out()


def _of_scores(a: Predictions, b: Predictions, score: Any, level: float) -> PairedDifference:
    if "predictions" not in traits(score).takes:
        raise RegistryError("this estimator needs a notion: give reduction=")
    bare = [p.kind == "confidence" or (p.kind == "top-label" and traits(score).judged == "losses") for p in (a, b)]
    if any(bare) and not all(bare):
        raise NotAnswerable(
            "only the confidence is known for one of the models; compare the scores of the confidence (notion "
            "confidence)"
        )
    if all(bare):
        known = _of_confidences(a, b, score, level)
        if known is None:
            first, second = (Question(p.answered, as_reduction("confidence"), score) for p in (a, b))
            return of_intervals((first, second), level, SEED)
        return known
    a, b = a.answered, b.answered
    difference, method, tested = of_scores(a, b, score, level)
    values = (score.of(a), score.of(b))
    return PairedDifference.of(values, difference, level, method, tested, "the difference of expected scores")


def _of_confidences(a: Predictions, b: Predictions, score: Any, level: float) -> PairedDifference | None:
    """The difference of two scores of the confidence; None where rows are too few for a paired one."""
    found = of_confidences(a, b, score, level)
    if found is None:
        return None
    values, difference, method, tested = found
    alike = np.array_equal(a.confidence, b.confidence) and np.array_equal(a.correct, b.correct)
    if alike:
        return PairedDifference.of_same_claims(values, level)
    return PairedDifference.of(values, difference, level, method, tested, "the difference of expected scores")


def _with_groups(estimator: str | Estimator, claims: Any) -> Any:
    """The estimator in groups of enough rows, where it is given by key, reads bins and the claims are by class."""
    method = as_estimator(estimator)
    order = (target(method) or ("max", float))[0]
    by_class = len(claims.strata) > 1 and claims.grain == "rows" and not claims.same_rows
    if isinstance(estimator, str) and by_class and order in GROUP_ROWS:
        return as_estimator(estimator, Groups(GROUP_ROWS[int(order)]))
    return method


MARGIN = 0.01
"""Default margin for an irrelevant difference: one point of a calibration error, .01 of a score."""

MarginWord: TypeAlias = Literal[
    "better", "better, within margin", "equivalent", "not worse", "worse, within margin", "worse", "cannot tell"
]


@dataclass(frozen=True, repr=False)
class MarginVerdict(OneLine):
    """Comparison of a model with another at a margin, in a word, with an explanation.

    - better, worse: the interval of the difference excludes 0, and p is at most 5 %; "within margin" if the interval is
      within the margin on both sides.
    - equivalent: neither, and the interval is within the margin on both sides.
    - not worse: neither, and the interval excludes that the model is worse by ``margin`` or more.
    - cannot tell: the interval includes that.

    Seen from the other model, better and worse change places. ``not_worse`` is true for a model that is worse within
    the margin. ``limit`` is the margin on the scale of the ``difference``.
    """

    word: MarginWord
    margin: float
    limit: float
    difference: PairedDifference
    sentence: str
    not_worse: bool
    """True if the model is shown not to be worse by the margin or more."""

    def _line(self) -> str:
        return self.sentence

    def _facts(self) -> dict[str, object]:
        return {"verdict": self.word, "margin": f"{self.margin:g}", "why": self.sentence}


def not_worse(
    a: Predictions,
    b: Predictions,
    reduction: str | Reduction | None = BY_DEFAULT,
    estimator: str | Estimator = "ece",
    bins: int | str | BinningScheme | None = None,
    *,
    margin: float = MARGIN,
    level: float = LEVEL,
    random_state: int = SEED,
) -> MarginVerdict:
    """Test whether the error of a exceeds that of b by less than a margin, on the same rows.

    D is the difference of the errors (``paired_difference``, which documents the default of ``reduction``). For
    accuracy and others that are better when high, its sign is reversed. D has an interval [low, high] at ``level``;
    each end misses in at most (1 - level) / 2:

        high < 0, p <= .05: better;  low > 0, p <= .05: worse
        else -margin < low, high < margin: equivalent;  high < margin: not worse;  else: cannot tell

    Better and worse are "within margin" if -margin < low and high < margin.

    The two-sided p-value is that of no difference. At level 90 % an interval can exclude 0 with a p of up to 10 %.

    ``margin`` is in the units of the error or score: .01 is one point of an ECE, or .01 of log loss. Squared errors
    are compared with its square: e_a^2 - e_b^2 < m^2 implies e_a - e_b < m. Errors over all classes are compared with
    the margin as a verdict compares them with a tolerance. InputError if the margin is not above 0.

    What can mislead: a margin chosen after the interval was seen is not valid. "Cannot tell" does not mean that the
    models are equal. If both models have large errors, "not worse" can still be a poor model.

    References: Schuirmann 1987, Journal of Pharmacokinetics and Biopharmaceutics 15; P2 Def. 5.2.

    >>> right = [0] * 180 + [1] * 20
    >>> a, b = Predictions([[0.9, 0.1]] * 200, right), Predictions([[0.89, 0.11]] * 200, right)
    >>> not_worse(a, b, None, "brier", margin=0.02).word, not_worse(b, a, None, "brier", margin=0.02).word
    ('equivalent', 'equivalent')
    """
    check_margin(margin)
    reduction = None if reduction is None else judged_notion(reduction, a, b)
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
    significant = found.p_value <= SIGNIFICANCE
    little = -limit < low and high < limit
    if high < 0 and significant:
        word = "better, within margin" if little else "better"
    elif low > 0 and significant:
        word = "worse, within margin" if little else "worse"
    elif high < limit:
        word = "equivalent" if low > -limit else "not worse"
    ends = f"{difference(found.low, unit).removesuffix(' points')} to {difference(found.high, unit)}"
    # Of squares, and of errors that cannot reach 1, the limit is another number than the margin.
    meant = "" if limit == margin else f" (what a margin of {_size(margin, 'share')} is here)"
    size = f"{_size(limit, unit)}{meant}"
    text = _WHY[word].format(ends=ends, level=at_level(found.level), margin=size)
    return MarginVerdict(word, margin, limit, found, f"{text}.", high < limit)


def _size(number: float, unit: Unit) -> str:
    if unit != "share":
        return score(number)
    return points_of(short_percent(number))


_WHY: dict[MarginWord, str] = {
    "better": "Significantly better: difference {ends}, {level} interval",
    "better, within margin": "Significantly better, but by less than {margin}: difference {ends}, {level} interval",
    "equivalent": "Equivalent within {margin}: difference {ends}, {level} interval",
    "not worse": "Not worse by {margin} or more: difference {ends}, {level} interval",
    "worse, within margin": "Significantly worse, but by less than {margin}: difference {ends}, {level} interval",
    "worse": "Significantly worse: difference {ends}, {level} interval",
    "cannot tell": "No conclusion: it may be worse by {margin} or more: difference {ends}, {level} interval",
}


def compare(
    models: Mapping[str, Predictions],
    reduction: str | Reduction | None = BY_DEFAULT,
    estimator: str | Estimator = DEFAULT,
    bins: int | str | BinningScheme | None = None,
    *,
    level: float = LEVEL,
    random_state: int = SEED,
    margin: float = MARGIN,
    progress: Callable[[int], object] | None = None,
) -> pd.DataFrame:
    """Compare every pair of models on the same rows: errors, paired difference, interval and tests.

    There is one line per pair: first, second, first_value, second_value, difference, low, high, p, p_holm, verdict,
    method, tested, about, note. ``difference`` is the estimate inside the interval; it need not equal the difference of
    the two plug-in values. Holm's p-value (p_holm) is corrected for the number of pairs that have a difference. The
    intervals, and the verdicts derived from them, are each at ``level``, not simultaneous.

    ``verdict`` compares the first model with the second at this ``margin`` (``not_worse``). For a pair without a
    difference, for example because the models answer different rows, ``note`` gives the reason. NotAnswerable if no
    pair has a difference. By default errors are of the event's risk if all models have an event, else of the
    confidence. ``reduction`` None, which is not the default, compares scores of whole predictions.

    >>> p = Predictions([[0.7, 0.3]] * 10, [0] * 7 + [1] * 3)
    >>> compare({"one": p, "same": p}, None, "log-loss")[["difference", "p", "p_holm"]].values.tolist()
    [[0.0, 1.0, 1.0]]
    """
    if len(models) < 2:
        raise InputError("only one model was given; a comparison needs two or more")
    reduction = None if reduction is None else judged_notion(reduction, *models.values())
    lines = []
    pairs = list(combinations(models, 2))
    for i, (p, q) in enumerate(pairs):
        if progress is not None:
            progress(100 * i // len(pairs))
        line = {"first": p, "second": q}
        try:
            judged = not_worse(
                models[p], models[q], reduction, estimator, bins, margin=margin, level=level, random_state=random_state
            )
            lines.append({**line, **_record(judged), "note": ""})
        except NotAnswerable as why:
            lines.append({**line, "method": "", "about": "", "note": str(why)})
    frame = pd.DataFrame(lines, columns=list(COLUMNS))
    if frame["note"].all():
        raise NotAnswerable("; ".join(dict.fromkeys(frame["note"])))
    return frame.assign(p_holm=holm(frame["p"]))


COLUMNS = ("first", "second", "first_value", "second_value", "difference", "low", "high", "p", "p_holm", "verdict",
           "method", "tested", "about", "note")  # fmt: skip
"""Columns of a table of pairs."""


def _record(judged: MarginVerdict) -> dict[str, object]:
    found = judged.difference
    return {
        "first_value": found.first,
        "second_value": found.second,
        "difference": found.point,
        "low": found.low,
        "high": found.high,
        "p": found.p_value,
        "verdict": judged.word,
        "method": found.method,
        "tested": found.tested,
        "about": found.about,
    }
