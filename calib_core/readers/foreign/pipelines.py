"""Output of Hugging Face pipelines: lists of labels with their scores, or a table of labels and scores.

In other files these two names mean a true label and the probability of one class; the values distinguish the cases.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from calib_core.predictions.predictions import InputError
from calib_core.readers.column_store import Columns, number
from calib_core.readers.foreign.choice_rows import CLASSES
from calib_core.readers.foreign.level_columns import texts_of
from calib_core.readers.messages import listed, quoted
from calib_core.readers.proposal.column_roles import named
from calib_core.readers.reading import Fields, Layout, Reading
from calib_core.readers.table import Array, Table
from calib_core.readers.table_findings import Finding
from calib_core.readers.text_encoding import looks_numeric
from calib_core.readers.tool_shapes import (
    JsonDocument,
    Record,
    ShapeOfColumns,
    ShapeOfRecords,
    shape_of_columns,
    shape_of_records,
)
from calib_core.text import count

_SCORES, _CONFIDENCE, _PREDICTED = "scores", "confidence", "predicted"
_PLACES = re.compile(r"LABEL_(\d+)")


@shape_of_records
class PipelineOutput(ShapeOfRecords):
    """Records with a list of {label, score} under some key, or with parallel labels and scores (zero-shot)."""

    key = "transformers-pipeline"
    title = "output of a Hugging Face pipeline"

    def recognises(self, document: JsonDocument) -> bool:
        first = document.first
        return all(set(each) == {"label", "score"} for each in first) or all(_where(each) is not None for each in first)

    def table(self, document: JsonDocument) -> Table:
        columns, whole = Columns(document.name), []
        for place, record in document.records:
            scores, rest = _pairs(record)
            if not scores or any(map(np.isnan, scores.values())):
                columns.leave_out(place, "no labels with scores")
                continue
            top = max(scores, key=scores.__getitem__)
            columns.add({**rest, _CONFIDENCE: scores[top], _PREDICTED: top}, place)
            whole.append(scores)
        table = columns.table(by_line=document.by_line)
        names = _ordered({name for each in whole for name in each})
        if len(names) < 2 or any(each.keys() != set(names) for each in whole):
            return table
        matrix = np.array([[each[name] for name in names] for each in whole], dtype=np.float64)
        spelled = {CLASSES: np.array(names, dtype=object)}
        return replace(table, columns={**table.columns, **spelled}, matrices={_SCORES: matrix})

    def fields(self, table: Table, chosen: Fields) -> Fields:
        beside = [name for name in table.columns if name not in (_CONFIDENCE, _PREDICTED, CLASSES)]
        if not beside:
            raise InputError(
                f"{table.name} is {self.title}, which has predicted labels and scores but no true labels. Add the true "
                'label to each record: {"true": "POS", "scores": [{"label": "POS", "score": 0.9}, …]}'
            )
        layout = chosen.get("layout") or ("wide" if _SCORES in table.matrices else "top-label")
        shared: Fields = {"layout": layout, "kind": "probabilities"}
        if layout != "wide":
            return {**shared, "confidence": _CONFIDENCE, "predicted": _PREDICTED}
        labels = {*named(beside, "label"), *chosen.get("label", ())}
        along = tuple(name for name in beside if name not in labels)
        if "label_coding" not in chosen:
            _check_names(table, labels)
        return {**shared, "scores": (_SCORES,), "metadata": along, **_classes(table)}

    def findings(self, table: Table, reading: Reading) -> Iterator[Finding]:
        if _SCORES not in table.matrices:
            message = "Each record has only its largest scores, so confidences and predicted classes are evaluated."
            yield Finding("note", "foreign", message)
            return
        off = np.abs(table.matrices[_SCORES].sum(axis=1) - 1) > 0.05
        if off.any() and reading.layout == "wide":
            yield Finding(
                "warning",
                "foreign",
                f"The scores of {count(int(off.sum()))} rows do not sum to 1. The pipeline may have used one sigmoid "
                "per label (multi-label), so only the largest score is read, as a confidence.",
                {"layout": "top-label", _CONFIDENCE: _CONFIDENCE, _PREDICTED: _PREDICTED},
                "Read the largest score",
            )


def _check_names(table: Table, labels: Collection[str]) -> None:
    """InputError if labels are numbers but scores have names: only the model's id2label maps one to the other."""
    names = [str(name) for name in table.columns[CLASSES]]
    numbered = [name for name in labels if looks_numeric(table.columns[name])]
    called = looks_numeric(table.columns[CLASSES]) or all(map(_PLACES.fullmatch, names))
    if len(labels) != 1 or not numbered or called:
        return
    raise InputError(
        f"{table.name}: {quoted(numbered[0])} has numbers but the scores have names. Only the model's id2label defines "
        "which number is which name. Write names as true labels, or choose label_coding=0-based if they are "
        f"{listed([f'{k} {name}' for k, name in enumerate(names)], 4)}"
    )


def _classes(table: Table) -> Fields:
    """Classes for LABEL_0, LABEL_1, …, which are positions: named by numbers, as labels are."""
    names = [str(name) for name in table.columns[CLASSES]]
    places = [_PLACES.fullmatch(name) for name in names]
    labels = [column for name, column in table.columns.items() if name not in (_CONFIDENCE, _PREDICTED, CLASSES)]
    spelled = any(set(map(str, column)) <= set(names) for column in labels)
    if spelled or not all(places):
        return {"classes": tuple(names)}
    return {"classes": tuple(place[1] for place in places if place)}


def _ordered(names: set[str]) -> list[str]:
    """Sort LABEL_2 before LABEL_10, and other names alphabetically."""
    return sorted(names, key=lambda name: (int(found[1]) if (found := _PLACES.fullmatch(name)) else -1, name))


def _where(record: Record) -> str | None:
    """Key whose value contains the scores."""
    for key, value in record.items():
        inner = value[0] if isinstance(value, list) and value and isinstance(value[0], list) else value
        if isinstance(inner, list) and inner and all(_is_pair(each) for each in inner):
            return key
        if isinstance(value, dict) and _is_zero_shot(value):
            return key
    return "" if _is_zero_shot(record) else None


def _is_pair(value: Any) -> bool:
    return isinstance(value, dict) and {"label", "score"} <= value.keys()


def _is_zero_shot(record: Any) -> bool:
    labels, scores = record.get("labels"), record.get(_SCORES)
    return (
        isinstance(labels, list) and isinstance(scores, list) and len(labels) == len(scores) > 0
        and all(isinstance(each, str) for each in labels)
    )  # fmt: skip


def _pairs(record: Record) -> tuple[dict[str, float], dict[str, Any]]:
    """Return the score of every label, and the other values of the record."""
    if set(record) == {"label", "score"}:
        return {str(record["label"]): number(record["score"])}, {}
    key = _where(record)
    if key is None:
        return {}, {}
    if key == "":
        rest = {name: value for name, value in record.items() if name not in ("labels", _SCORES, "sequence")}
        return _zero_shot(record), _plain(rest)
    value, rest = record[key], {name: each for name, each in record.items() if name != key}
    if isinstance(value, dict):
        return _zero_shot(value), _plain(rest)
    inner = value[0] if isinstance(value[0], list) else value
    return {str(each["label"]): number(each["score"]) for each in inner}, _plain(rest)


def _zero_shot(record: Record) -> dict[str, float]:
    return dict(zip(record["labels"], map(number, record[_SCORES]), strict=True))


def _plain(rest: Record) -> dict[str, Any]:
    return {key: value for key, value in rest.items() if isinstance(value, str | int | float | bool)}


_LABEL, _SCORE = "label", "score"
_ROWS = 10
"""Minimum rows of at least two labels, all scored 1/2 or more, for a table without true labels to be output."""


@shape_of_columns
class PipelineTable(ShapeOfColumns):
    """Table from pandas.DataFrame(pipeline(texts)): no score is below 1 / K, as the largest of K probabilities."""

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

    def fields(self, table: Table, chosen: Fields) -> Fields:
        if chosen.get("layout", self.layout) != self.layout:
            return {}
        truths = _truths(table)
        if not truths:
            least = f"no score is below 1 / {len(texts_of(table, _LABEL))}"
            raise InputError(
                f"{table.name} is {self.title}, and the labels are predictions ({least}). Add a column of true labels "
                f"in the same spelling, or choose layout=wide if {quoted(_LABEL)} is the true label"
            )
        called = named(truths, "label") or truths
        if len(called) > 1 and "label" not in chosen:
            raise InputError(f"{table.name}: {listed(called)} could each be the true label; choose label")
        return {"layout": self.layout, "kind": "probabilities", "confidence": _SCORE, "predicted": _LABEL,
                "label": (called[0],)}  # fmt: skip

    def findings(self, table: Table, reading: Reading) -> Iterator[Finding]:
        if reading.predicted == _LABEL and reading.label:
            yield Finding(
                "note",
                "foreign",
                f"{quoted(_LABEL)} is read as the predicted class, {quoted(_SCORE)} as its probability, and "
                f"{quoted(reading.label[0])} as the true class.",
            )


def _is_text(column: Array) -> bool:
    return column.dtype == object and not looks_numeric(column)


def _truths(table: Table) -> list[str]:
    """Columns whose values are predicted classes, up to a few others."""
    predicted = texts_of(table, _LABEL)
    found = {
        name: texts_of(table, name)
        for name, column in table.columns.items()
        if name not in (_LABEL, _SCORE) and len(column) == table.n_rows and _is_text(column)
    }
    return [name for name, texts in found.items() if predicted & texts and len(texts - predicted) <= len(predicted)]
