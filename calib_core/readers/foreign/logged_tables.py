"""Evaluation tables of MLflow and Weights & Biases: columns and rows as JSON, often only with predicted classes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from calib_core.predictions.predictions import InputError
from calib_core.readers.formats.jsonl import flattened
from calib_core.readers.proposal.column_roles import class_of, named
from calib_core.readers.reading import Fields
from calib_core.readers.table import Table
from calib_core.readers.tool_shapes import (
    JsonDocument,
    ShapeOfColumns,
    ShapeOfRecords,
    shape_of_columns,
    shape_of_records,
)

_SCORES = ("probabilities", "logits", "log-probabilities", "confidence")
_FILE = "eval_results_table.json"
_MEASURED = ("/score", "/justification")


@shape_of_records
class LoggedTable(ShapeOfRecords):
    """Table of a run (NAME.table.json); media cells become their file paths."""

    key, title = "wandb-table", "a table of Weights & Biases"

    def recognises(self, document: JsonDocument) -> bool:
        return document.about.get("_type") == "table" or document.name.lower().endswith(".table.json")

    def table(self, document: JsonDocument) -> Table:
        records = ((number, {key: _cell(value) for key, value in each.items()}) for number, each in document.records)
        return flattened(replace(document, records=records))

    def fields(self, table: Table, chosen: Fields) -> Fields:
        if not has_scores(table.names, chosen):
            raise InputError(
                f"{table.name} is {self.title} with predicted classes but no scores. Log the class probabilities as "
                "columns, too, such as score_cat, score_dog"
            )
        return {}


@shape_of_columns
class EvaluationTable(ShapeOfColumns):
    """Evaluation table (eval_results_table.json): inputs, target, outputs (the predicted class) and METRIC/score."""

    key, title = "mlflow-table", "a table of an evaluation of MLflow"

    def recognises(self, table: Table) -> bool:
        return table.name.lower() == "eval_results_table.json" or any(
            name.endswith(_MEASURED) for name in table.columns
        )

    def fields(self, table: Table, chosen: Fields) -> Fields:
        if not has_scores((name for name in table.names if not name.endswith(_MEASURED)), chosen):
            raise InputError(
                f"{table.name} is {self.title} with predicted classes but no probabilities. Log them with "
                "mlflow.log_table, one column per class next to the labels"
            )
        return {}


def has_scores(names: Iterable[str], chosen: Fields) -> bool:
    """True if a column is named as scores are, or was chosen as scores."""
    every = tuple(names)
    if {"scores", "confidence"} & chosen.keys():
        return True
    return sum(class_of(name) is not None for name in every) > 1 or any(named(every, each) for each in _SCORES)


def _cell(value: Any) -> Any:
    """Return the path of a media object; other values unchanged."""
    return value.get("path", "") if isinstance(value, dict) and "_type" in value else value
