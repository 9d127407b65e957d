"""Frames of samples that inspect_ai.analysis writes: samples_df() saved as CSV or Parquet."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import pandas as pd

from calib_core.readers.checks.finding import Finding
from calib_core.readers.foreign import inspect_grades
from calib_core.readers.foreign.growing_columns import number
from calib_core.readers.foreign.level_columns import values_of
from calib_core.readers.foreign.recognition import ShapeOfColumns, shape_of_columns
from calib_core.readers.proposal.label_codes import label_texts
from calib_core.readers.reading import Reading
from calib_core.readers.table import Array, Table

_KEYS = {"sample_id", "eval_id", "id", "epoch"}
_DETAIL = "_metadata"


@shape_of_columns
class SamplesFrame(ShapeOfColumns):
    """A row for each sample and epoch; the column target is the right answer, not whether it was given."""

    key = "inspect-samples"
    title = "a frame of samples of inspect_ai (samples_df)"
    layout = "confidence"

    def recognises(self, table: Table) -> bool:
        return table.columns.keys() >= _KEYS and any(name.startswith(inspect_grades.SCORE) for name in table.columns)

    def table(self, table: Table) -> Table:
        details = {
            f"{inspect_grades.CONFIDENCE}{name.removeprefix(inspect_grades.SCORE)}": _confidences(column)
            for name, column in table.columns.items()
            if name.startswith(inspect_grades.SCORE) and name.endswith(_DETAIL) and column.dtype == object
        }
        return inspect_grades.graded(replace(table, columns={**table.columns, **details}))

    def fields(self, table: Table, chosen: Mapping[str, Any]) -> Mapping[str, Any]:
        found = inspect_grades.fields(table, chosen)
        runs = values_of(table, "eval_id")
        if not found or len(runs) < 2 or not _same_questions(table):
            return found
        return {**found, "models": "eval_id", "model": runs[0], "question": ("id", "epoch")}

    def findings(self, table: Table, reading: Reading) -> Iterator[Finding]:
        runs = values_of(table, "eval_id")
        if len(runs) > 1 and reading.models is not None:
            message = f"The frame has {len(runs)} runs over the same questions, read as {len(runs)} models."
            yield Finding("note", "foreign", message)
        yield from inspect_grades.findings(table, reading)


def _confidences(column: Array) -> Array:
    """The confidence in the metadata of each score, which are JSON; missing where there is none."""
    return pd.Series([number(_metadata(text).get("confidence")) for text in column], dtype="float64").to_numpy()


def _metadata(text: str) -> Mapping[str, Any]:
    try:
        found = json.loads(text) if text.startswith("{") else {}
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _same_questions(table: Table) -> bool:
    """Do runs answer the same questions, and each of them once an epoch?"""
    rows = pd.DataFrame({name: label_texts(table.columns[name]) for name in ("eval_id", "id", "epoch")})
    return bool(rows.duplicated(["id", "epoch"]).any() and not rows.duplicated().any())
