"""Predictions of tidymodels in R: a column .pred_LEVEL for every level, from predict() and collect_predictions()."""

from __future__ import annotations

import re
from dataclasses import replace

from calib_core.readers.foreign.level_columns import (
    known_fields,
    label_among,
    repeats,
    several,
    spelled,
    without_missing,
)
from calib_core.readers.reading import Fields
from calib_core.readers.table import Table
from calib_core.readers.tool_shapes import ShapeOfColumns, shape_of_columns

PREFIX, PREDICTED, ROW, CONFIG, RESAMPLE = ".pred_", ".pred_class", ".row", ".config", "id"
MANGLED = f"X{PREFIX}"
"""The prefix after a conversion by R, which allows no name to begin with a point."""
_ENDS = re.compile(r"(lower|upper)_(.+)", re.DOTALL)
"""Interval limits, which occur next to the probability of their level."""


@shape_of_columns
class Tidymodels(ShapeOfColumns):
    """Class probabilities; several candidates of a tuning are read as several models."""

    key, title = "tidymodels", "predictions of tidymodels"

    def recognises(self, table: Table) -> bool:
        return len(_scores(table)) > 1

    def table(self, table: Table) -> Table:
        """Restore tidymodels' column names, and mark missing outcomes as missing."""
        named = {_given(name): column for name, column in table.columns.items()}
        table = replace(table, columns=named) if len(named) == len(table.columns) else table
        label = _label(table)
        return without_missing(table, label[0]) if label else table

    def fields(self, table: Table, chosen: Fields) -> Fields:
        del chosen
        scores = _scores(table)
        levels = _levels(table)
        candidates = several(table, CONFIG)
        question = tuple(name for name in (ROW, RESAMPLE) if name in table.columns)
        rows = (*question, CONFIG) if candidates else question
        # The same row in several resamples (repeated cross-validation) is one row evaluated several times.
        again = ROW in table.columns and not repeats(table, rows) and repeats(table, [n for n in rows if n != RESAMPLE])
        return known_fields(
            layout="wide",
            scores=scores,
            label=_label(table),
            label_coding="names",
            classes=levels,
            models=CONFIG if candidates else None,
            question=question if candidates else (),
            group=ROW if again else None,
        )


def _given(name: str) -> str:
    return name.removeprefix("X") if name.startswith(MANGLED) else name


def _levels(table: Table) -> tuple[str, ...]:
    return spelled(table, [name.removeprefix(PREFIX) for name in _scores(table)])


def _label(table: Table) -> tuple[str, ...]:
    return label_among(table, _levels(table), (PREDICTED, ROW, CONFIG, RESAMPLE))


def _scores(table: Table) -> tuple[str, ...]:
    found = [
        name
        for name, column in table.columns.items()
        if _given(name).startswith(PREFIX) and _given(name) != PREDICTED and column.dtype.kind in "fiu"
    ]
    levels = {_given(name).removeprefix(PREFIX) for name in found}
    ends = {level for level in levels if (end := _ENDS.fullmatch(level)) and end[2] in levels}
    return tuple(name for name in found if _given(name).removeprefix(PREFIX) not in ends)
