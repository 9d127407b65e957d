"""Every pair of several models on the same rows: the table of their differences."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import combinations

import pandas as pd

from calib_core.binning.base import BinningScheme
from calib_core.defaults import LEVEL, SEED
from calib_core.estimators.base import Estimator
from calib_core.inference.comparison.model_differences import DEFAULT
from calib_core.inference.comparison.non_inferiority import MARGIN, MarginVerdict, not_worse
from calib_core.inference.significance.multiple_testing import holm
from calib_core.predictions.predictions import InputError, NotAnswerable, Predictions
from calib_core.reductions.base import Reduction


def compare(
    models: Mapping[str, Predictions],
    reduction: str | Reduction | None = "confidence",
    estimator: str | Estimator = DEFAULT,
    bins: int | str | BinningScheme | None = None,
    *,
    level: float = LEVEL,
    random_state: int = SEED,
    margin: float = MARGIN,
    progress: Callable[[int], object] | None = None,
) -> pd.DataFrame:
    """Every pair of models on the same rows: their errors, the paired difference, its interval, and tests.

    One line a pair: first, second, first_value, second_value, difference, low, high, p, p_holm, verdict, method,
    tested, about, note. ``difference`` is the one that lies in the interval, which that of two plug-in values need not
    be. p_holm is corrected for the number of pairs that have a difference; the intervals, and the verdicts made of
    them, are each at ``level``, not all at once. ``verdict`` is the word for the first beside the second with this
    ``margin`` (``not_worse``). A pair that has no difference, as where the two answer different rows, says why in
    ``note``; NotAnswerable where no pair has.

    >>> p = Predictions([[0.7, 0.3]] * 10, [0] * 7 + [1] * 3)
    >>> compare({"one": p, "same": p}, None, "log-loss")[["difference", "p", "p_holm"]].values.tolist()
    [[0.0, 1.0, 1.0]]
    """
    if len(models) < 2:
        raise InputError("one model alone has nothing to be compared with; give two or more")
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
