"""Other measures than the primary one: their cost, their errors in other notions, and the agreement of estimators."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import pandas as pd

from calib_core.defaults import LEVEL, RATIO, TOLERANCE
from calib_core.estimators.base import ESTIMATORS, Estimate, reads_bins
from calib_core.inference.verdicts.estimate_line import recalled
from calib_core.inference.verdicts.primary_measure import ESTIMATOR, PrimaryLine, held_against
from calib_core.inference.verdicts.verdict import error_is_above
from calib_core.predictions.predictions import NotAnswerable, Predictions
from calib_core.reductions.base import REDUCTIONS, Reduction, as_reduction, scope
from calib_core.results.verdict_table import MISCALIBRATED, VERDICTS, WITHIN
from calib_core.text import at_level, in_points, listed

LEFT_OUT = "is slow for so many classes and was not computed (slow)"
"""Reason for a missing value."""
MANY_CLASSES = 200
"""Number of strata above which estimators by stratum take seconds."""
MANY_CLAIMS, MOST_CLAIMS = 2_000_000, 5_000_000
"""Numbers of claims beyond which few intervals take only seconds, and none does."""


def value_takes_long(predictions: Predictions, notion: str, estimator: str) -> bool:
    """True if even the value takes seconds: estimators of many classes that do not use shared bins.

    >>> p = Predictions([[0.7, 0.3]], [0])
    >>> value_takes_long(p, "class-wise", "smece")
    False
    """
    takes = ESTIMATORS[estimator].flags.takes
    if reads_bins(estimator) or "predictions" in takes or scope(as_reduction(notion)).of == "vector":
        return False
    strata, claims = _size(predictions, notion)
    return strata > MANY_CLASSES or claims > MANY_CLAIMS


def interval_takes_long(estimate: Estimate) -> bool:
    """True if interval and noise floor take seconds; for the primary estimator only with very many claims."""
    question = estimate.question
    assert question is not None
    assert question.reduction is not None
    if question.whole:
        return False
    strata, claims = _size(question.predictions, question.reduction)
    if estimate.recipe[1].key == ESTIMATOR:
        return claims > MOST_CLAIMS
    return strata > MANY_CLASSES or claims > MANY_CLAIMS


def _size(predictions: Predictions, notion: str | Reduction) -> tuple[int, int]:
    """Strata and claims of a notion."""
    reduction = as_reduction(notion)
    strata = len(reduction.split(predictions).strata)
    return strata, predictions.n_rows * (strata if scope(reduction).of == "classes" else 1)


NOTIONS = ("confidence", "top-label", "class-wise")
"""Notions about all rows: the primary notion is one of these or the event's."""
_SAME_FOR_TWO = "class-wise"
"""For two classes, this notion adds nothing to the event."""


def other_errors(line: PrimaryLine) -> tuple[str, ...]:
    """Notions that are miscalibrated although the primary measure is not, at its tolerance and level.

    Estimator and bins are the same. A notion that does not apply to these predictions, or would take minutes
    (``interval_takes_long``), is omitted. What can mislead: lines are not corrected for multiple testing, so among
    several one can be wrong more often than its level. The verdict stays that of the measure fixed in advance.

    >>> from calib_core import Predictions
    >>> from calib_core.inference import deciding
    >>> cancelling = Predictions([[0.7, 0.3, 0], [0.3, 0.7, 0]] * 200, ([0, 1] * 5 + [1, 1] * 4 + [1, 0]) * 20)
    >>> line = deciding(cancelling, "confidence")  # class 0 is right in 5 of 10 rows, class 1 in 9 of 10
    >>> line.line.verdict, other_errors(line)
    ('too few rows to tell', ('top-label', 'class-wise'))
    """
    if line.line.verdict in (None, MISCALIBRATED):
        return ()
    same = {line.notion} | ({_SAME_FOR_TWO} if line.notion == "event" else set())
    return tuple(notion for notion in NOTIONS if notion not in same and _shows_an_error(line, notion))


def _shows_an_error(line: PrimaryLine, notion: str) -> bool:
    question = line.estimate.question
    assert question is not None
    bins = None if question.free else question.estimator.binning
    try:
        estimate = recalled(question.predictions, notion, line.estimate.recipe[1].key, bins)
        return not interval_takes_long(estimate) and error_is_above(estimate, line.eps, line.level)
    except NotAnswerable:
        return False


def other_errors_said(line: PrimaryLine) -> str:
    """Sentence with the notions of ``other_errors``; empty if there are none."""
    titles = [REDUCTIONS[notion].title.lower() for notion in other_errors(line)]
    if not titles:
        return ""
    return (
        f"Other measures show an error: {', '.join(titles)}. They do not affect the verdict and are not corrected "
        "for multiple testing."
    )


def other_errors_of(
    first: Mapping[str, PrimaryLine], eps: float = TOLERANCE, level: float = LEVEL, ratio: float = RATIO
) -> pd.DataFrame:
    """A line per model that has such errors: model, notions, and the sentence (``other_errors_said``).

    >>> from calib_core import Predictions
    >>> from calib_core.inference import primaries
    >>> other_errors_of(primaries({"one": Predictions([[0.9, 0.1]] * 100, [0] * 60 + [1] * 40)})).shape
    (0, 3)
    """
    lines = held_against(first, eps, level, ratio)
    found = [(name, ", ".join(other_errors(line)), other_errors_said(line)) for name, line in lines.items()]
    return pd.DataFrame([line for line in found if line[2]], columns=["model", "notions", "sentence"])


_NAMED = 2
"""At most this many estimators with a different verdict are named."""


def agreement(lines: pd.DataFrame, first: str = ESTIMATOR, eps: float = TOLERANCE) -> str:
    """Describe the verdict of one estimator, and how many of the others agree, in a sentence or two.

    ``lines`` are those of one model in one notion (``estimate_lines``), judged by the tolerance ``eps``. ``first`` is
    the estimator that was chosen before they were seen. Only verdicts are counted, so estimators without an interval
    are ignored. What can mislead: estimators use the same rows, and most of them the same bins, so their agreement is
    not independent evidence.

    >>> from calib_core import Predictions
    >>> from calib_core.inference import estimate_lines, estimates
    >>> p = Predictions([[0.9, 0.1]] * 100, [0] * 60 + [1] * 40)
    >>> agreement(estimate_lines(estimates({"one": p}, [("confidence", key) for key in ("ece", "rmsce")])))
    'Miscalibrated: error of 30.0 % (18.9 to 41.1 %). Both estimators with an interval agree.'
    """
    return " ".join(verdict_and_others(lines, first, eps))


def verdict_and_others(lines: pd.DataFrame, first: str, eps: float) -> tuple[str, ...]:
    """Return the verdict of one estimator in a sentence, and apart from it how many of the others agree, if any."""
    if lines["model"].nunique() > 1 or lines["notion"].nunique() > 1:
        raise NotAnswerable("agreement is defined for the estimators of one model in one notion")
    chosen = lines[lines["estimator"] == first]
    word = "" if chosen.empty else str(chosen["verdict"].iloc[0])
    if word not in VERDICTS:
        return _without_verdict(chosen)
    line = chosen.iloc[0]
    scale = eps / line["limit"]
    low, point, high = in_points([scale * max(line[end], 0.0) for end in ("low", "point", "high")], apart=eps)
    judged = "" if word in (MISCALIBRATED, WITHIN) else f", and the tolerance is {at_level(eps)}"
    rough = "" if line["tested"] else "This is a rough guide: coverage was not simulated in such cases."
    verdict = f"{VERDICTS[word].title}: error of {point} %{_of_what(scale)} ({low} to {high} %){judged}."
    others = " ".join(filter(None, (rough, _others(lines[lines["verdict"].notna()], word))))
    return (verdict, others) if others else (verdict,)


def _others(judged: pd.DataFrame, word: str) -> str:
    """Describe how many verdicts equal this word, and which differ."""
    agree, every = int((judged["verdict"] == word).sum()), len(judged)
    if every < 2:
        return ""
    if agree == every:
        return f"{'Both' if agree == 2 else f'All {agree}'} estimators with an interval agree{_by_smaller(judged)}."
    parts = []
    for other, written in VERDICTS.items():
        titles = judged.loc[judged["verdict"] == other, "title"].tolist()
        if other != word and titles:
            parts.append(f"for {_listed(judged, titles)} {written.clause}")
    # The first always agrees with itself.
    count = f"{agree} of {every}" if agree > 1 else f"None of the {every - 1} other"
    return f"{count} estimators with an interval agree: {', '.join(parts)}."


def _by_smaller(judged: pd.DataFrame) -> str:
    """Clause on verdicts that rest on a smaller error, since the line's own value is not above its noise floor."""
    rests = (judged["value"] <= judged["floor"]) & (judged["verdict"] == MISCALIBRATED) & (judged["p_of"] != "")
    errors = dict.fromkeys(judged.loc[rests, "p_of"])
    parts = (
        f"for {_listed(judged, judged.loc[rests & (judged['p_of'] == of), 'title'].tolist())}, the evidence is the "
        f"test of the {of}"
        for of in errors
    )
    return f" ({'; '.join(parts)})" if errors else ""


def _listed(judged: pd.DataFrame, titles: Sequence[str]) -> str:
    if len(titles) > _NAMED:
        return f"{len(titles)} of them"
    notion = judged["notion"].iloc[0]
    prefix = f"{REDUCTIONS[notion].title} " if notion in REDUCTIONS else ""
    return listed([title.removeprefix(prefix) for title in titles])


def _without_verdict(chosen: pd.DataFrame) -> tuple[str, ...]:
    """Describe a line without a verdict."""
    if chosen.empty or not math.isfinite(chosen["value"].iloc[0]):
        return ("No verdict in this notion.",)
    return ("No verdict yet: the interval of the primary estimator was not computed.",)


def _of_what(scale: float) -> str:
    return "" if math.isclose(scale, 1.0) else " of its maximum"
