"""Which bins of reliability diagrams are off beyond chance, all looked at together; and what can be claimed of them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from calib_core._checks import worth_of_a_unit
from calib_core._text import begun
from calib_core.binning import BinningScheme, tabulate_at
from calib_core.defaults import LEVEL
from calib_core.diagrams.reliability import reliability
from calib_core.inference import clopper_pearson
from calib_core.inference.clusters import GroupsInCells
from calib_core.inference.number_words import between, percent, told_apart
from calib_core.predictions import NotAnswerable, Predictions
from calib_core.reductions import Confidence

OVER, UNDER = "over-confident", "under-confident"
_WIDE = 0.1
"""Bins in which a calibrated model's interval reaches further than this to a side can tell nothing small."""


def bins_standing_out(
    models: Mapping[str, Predictions], bins: int | str | BinningScheme | None = None, level: float = LEVEL
) -> pd.DataFrame:
    """Every bin of the models' reliability diagrams, with an interval that holds for all of them together.

    A line per non-empty bin: model, bin, lower, upper, count, confidence, accuracy; ``low`` to ``high`` is the exact
    interval of its true accuracy at level 1 - (1 - level) / m, with m bins in all, so that at least ``level`` of such
    tables have no wrong interval at all. ``stands_out``: over-confident where all of it lies below the confidence,
    under-confident where it lies above, else empty. ``too_few``: the interval would reach 10 points to a side for a
    calibrated model with these confidences, which is known before outcomes are seen.

    Rows of unequal weight count as the fewer equal ones they are worth, rows of a group in a bin as one. What can
    mislead: a bin that does not stand out may still be off; the errors of its classes may cancel.

    References: Clopper & Pearson 1934; Bonferroni's inequality.

    >>> p = Predictions.from_confidence([0.9] * 100 + [0.6] * 10, [True] * 70 + [False] * 30 + [True] * 6 + [False] * 4)
    >>> bins_standing_out({"net": p}, 5)[["count", "low", "high", "stands_out"]].round(2).values.tolist()
    [[10.0, 0.26, 0.88, ''], [100.0, 0.6, 0.79, 'over-confident']]
    """
    if not 0 < level < 1:
        raise NotAnswerable(f"the level is {level}; it must lie between 0 and 1")
    frames = []
    for title, predictions in models.items():
        diagram = reliability(predictions, bins)
        frame, groups = diagram.frame(), predictions.answered.row_groups
        frame = frame[["bin", "lower", "upper", "count", "confidence", "accuracy"]]
        frame.insert(0, "model", title)
        rows = frame["count"].to_numpy() * worth_of_a_unit(predictions.written_out().weights)
        if groups is not None:
            claims = Confidence().split(predictions)
            rows = GroupsInCells.of(claims, tabulate_at(claims, diagram.lower[1:]), groups).fewest[frame["bin"]]
        frames.append(frame.assign(rows=rows))
    table = pd.concat(frames, ignore_index=True)
    each = 1 - (1 - level) / max(1, len(table))
    rows = table.pop("rows").to_numpy()
    says, right = table["confidence"].to_numpy(), table["accuracy"].to_numpy()
    low, high = clopper_pearson(right * rows, rows, each)
    calm = clopper_pearson(says * rows, rows, each)
    sides = np.where(high < says, OVER, np.where(low > says, UNDER, ""))
    return table.assign(low=low, high=high, stands_out=sides, too_few=(calm[1] - calm[0]) / 2 > _WIDE)


def headline(table: pd.DataFrame, names: Mapping[str, str] | None = None) -> tuple[str, ...]:
    """What a table of `bins_standing_out` lets one claim, in a sentence or two: of its first model, then of others.

    ``names`` are what models are called in a sentence, by title. Only what the intervals of all bins together show is
    claimed.

    >>> p = Predictions.from_confidence([0.9] * 100 + [0.7] * 100, ([True] * 7 + [False] * 3) * 10 + [True, False] * 50)
    >>> headline(bins_standing_out({"Base model": p}, 5), {"Base model": "the base model"})
    ('The base model is over-confident in every bin.',)
    """
    called = {title: (names or {}).get(title, title) for title in dict.fromkeys(table["model"])}
    first, *others = (_claim(table[table["model"] == title], name) for title, name in called.items())
    if len(others) < 2:
        return (first, *others)
    off = [
        name for title, name in list(called.items())[1:] if (table["stands_out"][table["model"] == title] != "").any()
    ]
    if not off:
        return first, f"No bin of the other {len(others)} models stands out."
    listed = ", ".join(off) if len(off) < 4 else f"{len(off)} of them"
    return first, f"Of the other {len(others)} models, bins stand out in {listed}."


def _claim(table: pd.DataFrame, name: str) -> str:
    """One model's sentence."""
    sides = table["stands_out"].to_numpy()
    n, off = len(table), np.flatnonzero(sides != "")
    if not len(off):
        if table["too_few"].all():
            return f"Too few rows in every bin of {name} to tell."
        return f"No bin of {name} stands out."
    kinds = list(dict.fromkeys(sides[off]))
    if len(kinds) == 1:
        where = _stretch(table, off)
        if where is not None:
            return begun(f"{where}{name} is {kinds[0]} in every bin.")
    counts = " and ".join(f"{kind} in {int((sides == kind).sum())}" for kind in kinds)
    distance = (table["accuracy"] - table["confidence"]).abs().to_numpy()
    worst = table.iloc[off[np.argmax(distance[off])]]
    where = edges_said(float(worst["lower"]), float(worst["upper"]))
    says, right = told_apart(float(worst["confidence"]), float(worst["accuracy"]))
    numbers = f"it says {says} and is right {right}"
    if len(off) == 1:
        return f"At {where}, {name} is {kinds[0]}: {numbers}."
    return begun(f"{name} is {counts} of {n} bins, most at {where}: {numbers}.")


def edges_said(low: float, high: float) -> str:
    """A bin or a range in percent: whole ones where they tell its ends apart well.

    >>> edges_said(14 / 15, 1.0), edges_said(0.985, 0.99)
    ('93 to 100 %', '98.5 to 99 %')
    """
    return between(round(low, 2), round(high, 2)) if high - low >= 0.03 else between(low, high)


def _stretch(table: pd.DataFrame, off: np.ndarray[tuple[int], np.dtype[np.intp]]) -> str | None:
    """From where on, or up to where, every bin stands out and none else does; None where it is not so."""
    n = len(table)
    if len(off) == n and n > 1:
        return ""
    if len(off) > 1 and off[-1] - off[0] == len(off) - 1:
        if off[-1] == n - 1:
            return f"Above {percent(round(float(table['lower'].iloc[off[0]]), 2))}, "
        if off[0] == 0:
            return f"Below {percent(round(float(table['upper'].iloc[off[-1]]), 2))}, "
    return None
