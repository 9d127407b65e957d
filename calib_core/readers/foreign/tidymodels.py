"""Predictions of R's tidymodels: a column .pred_LEVEL for every level, as predict() and collect_predictions() give."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from calib_core.readers.foreign.level_columns import known_fields, label_among, repeats, several
from calib_core.readers.foreign.recognition import ShapeOfColumns, shape_of_columns
from calib_core.readers.table import Table

PREFIX, PREDICTED, ROW, CONFIG, RESAMPLE = ".pred_", ".pred_class", ".row", ".config", "id"


@shape_of_columns
class Tidymodels(ShapeOfColumns):
    """Probabilities of tidymodels; several candidates of a tuning are several models, never one."""

    key, title = "tidymodels", "predictions of tidymodels"

    def recognises(self, table: Table) -> bool:
        return len(_scores(table)) > 1

    def fields(self, table: Table, chosen: Mapping[str, Any]) -> Mapping[str, Any]:
        del chosen
        scores = _scores(table)
        levels = tuple(name.removeprefix(PREFIX) for name in scores)
        beside = (PREDICTED, ROW, CONFIG, RESAMPLE)
        candidates = several(table, CONFIG)
        question = tuple(name for name in (ROW, RESAMPLE) if name in table.columns)
        rows = (*question, CONFIG) if candidates else question
        # The same row in several resamples, as in repeated cross-validation, is one row judged several times.
        again = ROW in table.columns and not repeats(table, rows) and repeats(table, [n for n in rows if n != RESAMPLE])
        return known_fields(
            layout="wide",
            scores=scores,
            label=label_among(table, levels, beside),
            label_coding="names",
            classes=levels,
            models=CONFIG if candidates else None,
            question=question if candidates else None,
            group=ROW if again else None,
        )


def _scores(table: Table) -> tuple[str, ...]:
    return tuple(
        name
        for name, column in table.columns.items()
        if name.startswith(PREFIX) and name != PREDICTED and column.dtype.kind in "fiu"
    )
