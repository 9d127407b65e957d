"""Errors in other notions where the primary measure shows none."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from calib_core.defaults import LEVEL, RATIO, TOLERANCE
from calib_core.inference.verdicts.cached_estimates import recalled
from calib_core.inference.verdicts.class_count_cost import interval_takes_long
from calib_core.inference.verdicts.primary_measure import PrimaryLine
from calib_core.predictions.predictions import NotAnswerable
from calib_core.reductions.base import REDUCTIONS
from calib_core.results.verdict_table import MISCALIBRATED

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
    >>> from calib_core.inference import primary
    >>> cancelling = Predictions([[0.7, 0.3, 0], [0.3, 0.7, 0]] * 200, ([0, 1] * 5 + [1, 1] * 4 + [1, 0]) * 20)
    >>> line = primary(cancelling)  # class 0 is right in 5 of 10 rows, class 1 in 9 of 10: on average as predicted
    >>> line.notion, line.line.verdict, other_errors(line)
    ('confidence', 'too few rows to tell', ('top-label', 'class-wise'))
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
        return not interval_takes_long(estimate) and estimate.verdict(line.eps, line.level).word == MISCALIBRATED
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
    lines = {name: line.held_against(eps, level, ratio) for name, line in first.items()}
    found = [(name, ", ".join(other_errors(line)), other_errors_said(line)) for name, line in lines.items()]
    return pd.DataFrame([line for line in found if line[2]], columns=["model", "notions", "sentence"])
