"""Agreement of estimators on a model's verdict, in a sentence that claims no more than their verdicts."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pandas as pd

from calib_core.defaults import TOLERANCE
from calib_core.inference.verdicts.primary_measure import ESTIMATOR
from calib_core.predictions.predictions import NotAnswerable
from calib_core.reductions.base import REDUCTIONS
from calib_core.results.verdict_table import MISCALIBRATED, VERDICTS, WITHIN
from calib_core.text import at_level, in_points, listed

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
        return f"{'Both' if agree == 2 else f'All {agree}'} estimators with an interval agree."
    parts = []
    for other, written in VERDICTS.items():
        titles = judged.loc[judged["verdict"] == other, "title"].tolist()
        if other != word and titles:
            parts.append(f"for {_listed(judged, titles)} {written.clause}")
    # The first always agrees with itself.
    count = f"{agree} of {every}" if agree > 1 else f"None of the {every - 1} other"
    return f"{count} estimators with an interval agree: {', '.join(parts)}."


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
