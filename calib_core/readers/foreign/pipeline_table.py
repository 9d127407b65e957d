"""Output of Hugging Face pipelines as a table: label is what was predicted, score how surely, the truth stands beside.

The same two names elsewhere are a true label and the probability of one class; the values tell them apart.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from calib_core.predictions.predictions import InputError
from calib_core.readers.checks.finding import Finding
from calib_core.readers.foreign.level_columns import texts_of
from calib_core.readers.foreign.recognition import ShapeOfColumns, shape_of_columns
from calib_core.readers.messages import listed, quoted
from calib_core.readers.number_texts import looks_numeric
from calib_core.readers.proposal.column_roles import named
from calib_core.readers.reading import Layout, Reading
from calib_core.readers.table import Array, Table

_LABEL, _SCORE = "label", "score"
_ROWS = 10
"""Rows of two labels at least, all with a score of 1/2 or more, before a table without a truth is taken for output."""


@shape_of_columns
class PipelineTable(ShapeOfColumns):
    """pandas.DataFrame(pipeline(texts)): no score is below 1 / K, as no largest of K probabilities is."""

    key = "transformers-table"
    title = "a table of a Hugging Face pipeline's labels and scores"
    layout: ClassVar[Layout] = "top-label"

    def recognises(self, table: Table) -> bool:
        if not {_LABEL, _SCORE} <= table.columns.keys() or table.matrices or named(table.columns, "predicted"):
            return False
        labels, scores = table.columns[_LABEL], table.columns[_SCORE]
        if scores.dtype.kind != "f" or not _is_text(labels):
            return False
        predicted, truths = texts_of(table, _LABEL), _truths(table)
        classes = predicted.union(*(texts_of(table, name) for name in truths))
        if not (len(classes) > 1 and scores.max() <= 1 and scores.min() >= 1 / len(classes)):
            return False
        return bool(truths) or (len(scores) >= _ROWS and len(predicted) > 1)

    def fields(self, table: Table, chosen: Mapping[str, Any]) -> Mapping[str, Any]:
        if chosen.get("layout", self.layout) != self.layout:
            return {}
        truths = _truths(table)
        if not truths:
            least = f"no score is below 1 / {len(texts_of(table, _LABEL))}, whatever the label"
            raise InputError(
                f"{table.name} is {self.title}, the predicted ones ({least}); add a column of the true labels, spelled "
                f"alike, or choose layout=wide if {quoted(_LABEL)} is the true one"
            )
        called = named(truths, "label") or truths
        if len(called) > 1 and "label" not in chosen:
            raise InputError(f"{table.name}: {listed(called)} could all be the true label; choose label")
        return {"layout": self.layout, "kind": "probabilities", "confidence": _SCORE, "predicted": _LABEL,
                "label": (called[0],)}  # fmt: skip

    def findings(self, table: Table, reading: Reading) -> Iterator[Finding]:
        if reading.predicted == _LABEL and reading.label:
            yield Finding(
                "note",
                "foreign",
                f"{quoted(_LABEL)} is read as the class that the pipeline predicted, {quoted(_SCORE)} as its "
                f"probability and {quoted(reading.label[0])} as the true class.",
            )


def _is_text(column: Array) -> bool:
    return column.dtype == object and not looks_numeric(column)


def _truths(table: Table) -> list[str]:
    """Columns of classes that are predicted too, and of few others."""
    predicted = texts_of(table, _LABEL)
    found = {
        name: texts_of(table, name)
        for name, column in table.columns.items()
        if name not in (_LABEL, _SCORE) and len(column) == table.n_rows and _is_text(column)
    }
    return [name for name, texts in found.items() if predicted & texts and len(texts - predicted) <= len(predicted)]
