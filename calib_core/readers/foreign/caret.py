"""Predictions saved by caret in R (savePredictions, classProbs = TRUE): pred, obs, one column per level, rowIndex."""

from __future__ import annotations

from dataclasses import replace
from itertools import takewhile

import pandas as pd

from calib_core.readers.foreign.level_columns import as_classes, known_fields, repeats, several, texts_of, tuned
from calib_core.readers.proposal.label_codes import label_texts
from calib_core.readers.reading import Fields
from calib_core.readers.table import Table
from calib_core.readers.tool_shapes import ShapeOfColumns, shape_of_columns

PREDICTED, LABEL, ROW, RESAMPLE, TUNING = "pred", "obs", "rowIndex", "Resample", "tuning"
_BESIDE = frozenset({PREDICTED, LABEL, ROW, RESAMPLE, TUNING, "weights"})


@shape_of_columns
class Caret(ShapeOfColumns):
    """Saved predictions; each set of tuning parameters is a model, repeated resamples of a row are grouped."""

    key, title = "caret", "predictions that caret saved"

    def recognises(self, table: Table) -> bool:
        return {PREDICTED, LABEL, ROW} <= table.columns.keys() and len(_levels(table)) > 1

    def table(self, table: Table) -> Table:
        """Add a column that names the combination of tuning parameters, if there are several."""
        parameters = _parameters(table)
        if TUNING in table.columns or not any(several(table, name) for name in parameters):
            return table
        return replace(table, columns={**table.columns, TUNING: tuned(table, parameters)})

    def fields(self, table: Table, chosen: Fields) -> Fields:
        del chosen
        levels = _levels(table)
        question = tuple(name for name in (ROW, RESAMPLE) if name in table.columns)
        candidates = several(table, TUNING)
        rows = (ROW, TUNING) if candidates else (ROW,)
        return known_fields(
            layout="wide",
            scores=levels,
            label=(LABEL,),
            label_coding="names",
            classes=levels,
            models=TUNING if candidates else None,
            question=question if candidates else (),
            group=ROW if repeats(table, rows) else None,
        )


def _levels(table: Table) -> tuple[str, ...]:
    """Return columns named like labels or predictions, with adjacent columns that complete a row sum of 1."""
    called = {name for name in texts_of(table, LABEL) | texts_of(table, PREDICTED) if _is_number(table, name)}
    names = list(table.columns)
    first = next((i for i, name in enumerate(names) if name in called), len(names))
    block = tuple(takewhile(lambda name: _is_number(table, name) and name not in _BESIDE, names[first:]))
    if len(block) > 1 and called <= set(block):
        return as_classes(table, block, called)
    return tuple(name for name in names if name in called)


def _is_number(table: Table, name: str) -> bool:
    return name in table.columns and table.columns[name].dtype.kind in "fiu"


def _parameters(table: Table) -> list[str]:
    """Return columns in which a row of one resample differs, as tuning parameters do; not row numbers."""
    beside = {*_BESIDE, *_levels(table)}
    rows = [label_texts(table.columns[name]) for name in (ROW, RESAMPLE) if name in table.columns]
    cells = pd.DataFrame({str(i): texts for i, texts in enumerate(rows)})
    of_row = cells.groupby(list(cells.columns)).ngroup()
    found = []
    for name in (name for name in table.columns if name not in beside):
        values = pd.Series(label_texts(table.columns[name]))
        if values.nunique() < len(values) and (values.groupby(of_row.to_numpy()).nunique() > 1).any():
            found.append(name)
    return found
