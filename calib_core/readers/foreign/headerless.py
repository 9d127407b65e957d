"""Predictions as LightGBM and XGBoost write them to text: numbers without a header, a column a class, no labels."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from calib_core.predictions.predictions import InputError
from calib_core.readers.checks.finding import Finding
from calib_core.readers.foreign.recognition import ShapeOfColumns, shape_of_columns
from calib_core.readers.formats.bare_numbers import ARRAY
from calib_core.readers.messages import quoted
from calib_core.readers.proposal.label_codes import label_inside
from calib_core.readers.reading import Reading
from calib_core.readers.table import Table


@shape_of_columns
class NumberText(ShapeOfColumns):
    """LightGBM_predict_result.txt, or numpy.savetxt of what predict gives; labels come from another file."""

    key, title = "number-text", "numbers without a header (LightGBM, XGBoost, numpy.savetxt)"

    def recognises(self, table: Table) -> bool:
        return table.format == "csv" and table.names == (ARRAY,)

    def fields(self, table: Table, chosen: Mapping[str, Any]) -> Mapping[str, Any]:
        column = table.columns.get(ARRAY)
        if column is not None and column.dtype.kind == "i" and not {"scores", "label"} & chosen.keys():
            raise InputError(
                f"{table.name} holds whole numbers, which are classes or labels and no probabilities; save what "
                "predict_proba gives (of XGBoost the objective multi:softprob)"
            )
        if table.names == (ARRAY,) and "label" not in chosen and not _has_labels(table):
            raise InputError(
                f"{table.name} holds {self.title} and no labels; give the file of labels too, whose row i is of row i "
                "(labels=, --labels FILE)"
            )
        return {}

    def findings(self, table: Table, reading: Reading) -> Iterator[Finding]:
        if ARRAY in table.matrices and reading.classes:
            yield Finding(
                "note",
                "foreign",
                f"Columns have no names: the first is read as class {quoted(reading.classes[0])}, the last as class "
                f"{quoted(reading.classes[-1])}.",
            )


def _has_labels(table: Table) -> bool:
    """Is one of the columns of labels?"""
    matrix = table.matrices.get(ARRAY)
    return matrix is not None and label_inside(np.asarray(matrix)) is not None
