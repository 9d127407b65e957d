"""Lists of classes with their scores, in the order of the scores: pipelines, Vertex AI, BigQuery ML, Comprehend, timm.

A table of labels and scores is output of a Hugging Face pipeline or of PyCaret. In other files these two names mean a
true label and the probability of one class; the values distinguish the cases.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, NamedTuple

import numpy as np

from calib_core._base.arrays import frozen
from calib_core.predictions.predictions import InputError
from calib_core.readers.column_store import Columns, number
from calib_core.readers.foreign.choice_rows import CLASSES
from calib_core.readers.foreign.level_columns import texts_of
from calib_core.readers.formats.jsonl import by_path
from calib_core.readers.messages import listed, quoted
from calib_core.readers.proposal.column_roles import named, named_last
from calib_core.readers.proposal.label_codes import label_texts, plain
from calib_core.readers.proposal.named_blocks import label_candidates
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

_SCORES, CONFIDENCE, PREDICTED = "scores", "confidence", "predicted"
_PLACES = re.compile(r"LABEL_(\d+)")


_NAMES = frozenset({"label", "name", "class", "category", "tag", "intent", "classname", "displayname"})
"""Keys of a class in an object with its score."""
_NUMBERS = frozenset({"score", "prob", "probability", "confidence", "proba"})
_DEEPEST = 8
"""Number of nested objects down to which scores are looked for."""
_LISTS_OF_NAMES = frozenset(
    {"labels", "names", "classes", "categories", "tags", "intents", "classnames", "displaynames"}
)
_LISTS_OF_NUMBERS = frozenset({"scores", "probs", "probabilities", "confidences", "probas"})


class _Scores(NamedTuple):
    """Place of the scores in a record: the keys to them, and those of parallel lists of classes and scores."""

    path: tuple[str, ...]
    lists: tuple[str, str] | None = None


@shape_of_records
class ScoresByName(ShapeOfRecords):
    """Records with a list of {label, score} somewhere, or with parallel lists of labels and scores.

    The order of classes may differ from record to record, so that positions mean nothing.
    """

    key = "transformers-pipeline"
    title = "lists of classes with their scores, as pipelines and cloud services write them"

    def recognises(self, document: JsonDocument) -> bool:
        first = document.first
        if all(_is_one(each) for each in first):
            return True
        if not all(_where(each) is not None for each in first):
            return False
        names = by_path(first[0], document.name)
        return not (named_last(names, "confidence") and named_last(names, "correct"))

    def table(self, document: JsonDocument) -> Table:
        columns, whole = Columns(document.name), []
        for place, record in document.records:
            scores, rest = _pairs(record, document.where(place))
            if not scores or any(map(np.isnan, scores.values())):
                columns.leave_out(place, "no labels with scores")
                continue
            top = max(scores, key=scores.__getitem__)
            columns.add({**rest, CONFIDENCE: scores[top], PREDICTED: top}, place)
            whole.append(scores)
        return with_matrix(columns.table(by_line=document.by_line), whole)

    def fields(self, table: Table, chosen: Fields) -> Fields:
        return fields_of_scores(table, chosen)

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
                {"layout": "top-label", CONFIDENCE: CONFIDENCE, PREDICTED: PREDICTED},
                "Read the largest score",
            )


def with_matrix(table: Table, scores: Sequence[Mapping[str, float]]) -> Table:
    """Return the table with the scores of each row as a matrix, if every row has the same classes."""
    names = _ordered({name for each in scores for name in each})
    if len(names) < 2 or any(each.keys() != set(names) for each in scores):
        return table
    matrix = np.array([[each[name] for name in names] for each in scores], dtype=np.float64)
    spelled = {CLASSES: np.array(names, dtype=object)}
    return replace(table, columns={**table.columns, **spelled}, matrices={_SCORES: matrix})


def fields_of_scores(table: Table, chosen: Fields) -> Fields:
    """Return the reading of a table of ``with_matrix``: all classes, or else the largest score of each row."""
    beside = [name for name in table.columns if name not in (CONFIDENCE, PREDICTED, CLASSES)]
    if not beside:
        raise InputError(
            f"{table.name} has predicted labels and scores but no true labels. Add the true "
            'label to each record: {"true": "POS", "scores": [{"label": "POS", "score": 0.9}, …]}'
        )
    layout = chosen.get("layout") or ("wide" if _SCORES in table.matrices else "top-label")
    shared: Fields = {"layout": layout, "kind": "probabilities"}
    labels = {*named(beside, "label"), *chosen.get("label", ())} or {*_true_label(table)}
    if len(labels) == 1 and not named(beside, "label"):
        shared["label"] = tuple(labels)
    if layout != "wide":
        return {**shared, "confidence": CONFIDENCE, "predicted": PREDICTED}
    along = tuple(name for name in beside if name not in labels)
    if "label_coding" not in chosen:
        _check_names(table, labels)
    return {**shared, "scores": (_SCORES,), "metadata": along, **_classes(table)}


def _true_label(table: Table) -> tuple[str, ...]:
    """Return the only column whose values are classes of the scores, and that is no prediction; else empty."""
    places = {
        name: j for j, name in enumerate(sorted(texts_of(table, CLASSES if CLASSES in table.columns else PREDICTED)))
    }
    top = np.array([places[str(name)] for name in table.columns[PREDICTED]], dtype=np.intp)
    found = label_candidates(table, tuple(places), top, {CONFIDENCE, PREDICTED, CLASSES})
    return found if len(found) == 1 else ()


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
    labels = [column for name, column in table.columns.items() if name not in (CONFIDENCE, PREDICTED, CLASSES)]
    spelled = any(set(map(str, column)) <= set(names) for column in labels)
    if spelled or not all(places):
        return {"classes": tuple(names)}
    return {"classes": tuple(place[1] for place in places if place)}


def _ordered(names: set[str]) -> list[str]:
    """Sort LABEL_2 before LABEL_10, and other names alphabetically."""
    return sorted(names, key=lambda name: (int(found[1]) if (found := _PLACES.fullmatch(name)) else -1, name))


def _where(record: Record, depth: int = 0) -> _Scores | None:
    """Return the place of the scores in a record; None without scores. Outer values come first."""
    if (lists := _parallel(record)) is not None:
        return _Scores((), lists)
    for key, value in record.items():
        inner = value[0] if isinstance(value, list) and value and isinstance(value[0], list) else value
        if isinstance(inner, list) and inner and all(_pair(each) is not None for each in inner):
            return _Scores((key,))
    for key, value in record.items():
        if isinstance(value, dict) and depth < _DEEPEST and (found := _where(value, depth + 1)) is not None:
            return _Scores((key, *found.path), found.lists)
    return None


def _pair(value: Any) -> tuple[str, str] | None:
    """Return the keys of the class and of the score of an object; None unless there is one of each."""
    if not isinstance(value, dict):
        return None
    names = [key for key, each in value.items() if _word(key) in _NAMES and isinstance(each, str | int)]
    numbers = [key for key, each in value.items() if _word(key) in _NUMBERS and not np.isnan(number(each))]
    return (names[0], numbers[0]) if len(names) == len(numbers) == 1 else None


def _parallel(record: Record) -> tuple[str, str] | None:
    """Return the keys of a list of different classes and of a list of as many scores; None without exactly one pair."""
    lists = {key: each for key, each in record.items() if isinstance(each, list) and each}
    names = [
        key for key, each in lists.items()
        if _word(key) in _LISTS_OF_NAMES and all(isinstance(name, str) for name in each)
    ]  # fmt: skip
    numbers = [
        key for key, each in lists.items()
        if _word(key) in _LISTS_OF_NUMBERS and not any(np.isnan(number(score)) for score in each)
    ]  # fmt: skip
    if len(names) != 1 or len(numbers) != 1 or len(lists[names[0]]) != len(lists[numbers[0]]):
        return None
    return names[0], numbers[0]


def _word(key: str) -> str:
    return key.casefold().replace("_", "").replace(" ", "")


def _is_one(record: Record) -> bool:
    """True for an object of a class and its score, and nothing else."""
    return len(record) == 2 and _pair(record) == ("label", "score")


def _pairs(record: Record, where: str) -> tuple[dict[str, float], dict[str, Any]]:
    """Return the score of every label, and the other values of the record."""
    if _is_one(record):
        return {str(record["label"]): number(record["score"])}, {}
    found = _where(record)
    if found is None:
        return {}, {}
    inner: Any = record
    for key in found.path:
        inner = inner[key]
    if found.lists is not None:
        names, numbers = (inner[key] for key in found.lists)
    else:
        listed_pairs = inner[0] if isinstance(inner[0], list) else inner
        keys = [_pair(each) for each in listed_pairs]
        names, numbers = zip(
            *((each[k[0]], each[k[1]]) for each, k in zip(listed_pairs, keys, strict=True) if k), strict=True
        )
    texts = [str(name) for name in names]
    if len(set(texts)) < len(texts):
        twice = next(text for text in texts if texts.count(text) > 1)
        raise InputError(
            f"{where}: {quoted(twice)} has two scores, so these are no scores of classes. For detections, write one "
            "row per box with score and correct"
        )
    behind = ".".join(found.path)
    rest = {
        path: value for path, value in by_path(record, where).items()
        if isinstance(value, str | int | float | bool) and path != behind and path != "sequence"
    }  # fmt: skip
    return dict(zip(texts, map(number, numbers), strict=True)), rest


_NUMBERED = re.compile(r"(?P<before>.*?)(?P<number>\d+)(?P<behind>\D*)", re.DOTALL)


@shape_of_columns
class RankedClasses(ShapeOfColumns):
    """Table of each row's classes by rank: index_0, prob_0, index_1, prob_1, …, with the largest score first."""

    key = "ranked-classes"
    title = "a table of classes by rank, as timm writes it"

    def recognises(self, table: Table) -> bool:
        return not table.matrices and _ranks(table) is not None

    def table(self, table: Table) -> Table:
        found = _ranks(table)
        assert found is not None
        names = [label_texts(table.columns[name]) for name in found[0]]
        shares = table.matrix(found[1])
        rows = [
            {str(column[i]): float(score) for column, score in zip(names, shares[i], strict=True)}
            for i in range(table.n_rows)
        ]
        used = {*found[0], *found[1]}
        rest = {name: column for name, column in table.columns.items() if name not in used}
        top: dict[str, Array] = {CONFIDENCE: frozen(shares[:, 0].astype(np.float64)), PREDICTED: names[0]}
        return with_matrix(replace(table, columns={**rest, **top}), rows)

    def fields(self, table: Table, chosen: Fields) -> Fields:
        return fields_of_scores(table, chosen)


def _ranks(table: Table) -> tuple[tuple[str, ...], tuple[str, ...]] | None:
    """Return columns of classes and of their scores by rank; None unless scores fall and classes differ in each row."""
    families: dict[tuple[str, str], dict[int, str]] = {}
    for name, column in table.columns.items():
        if len(column) == table.n_rows and (found := _NUMBERED.fullmatch(name)) is not None:
            families.setdefault((found["before"], found["behind"]), {})[int(found["number"])] = name
    ranked = [
        tuple(names[n] for n in sorted(names)) for names in families.values()
        if len(names) > 1 and sorted(names) in (list(range(len(names))), list(range(1, len(names) + 1)))
    ]  # fmt: skip
    scores = [names for names in ranked if _falls(table, names)]
    classes = [names for names in ranked if len(scores) == 1 and len(names) == len(scores[0]) and _differ(table, names)]
    return (classes[0], scores[0]) if len(classes) == 1 else None


def _falls(table: Table, names: Sequence[str]) -> bool:
    """True for numbers from 0 to 1 that never rise within a row."""
    if not table.n_rows or any(table.columns[name].dtype.kind != "f" for name in names):
        return False
    values = table.matrix(names)
    return bool((values >= 0).all() and (values <= 1).all() and (values[:, 1:] <= values[:, :-1]).all())


def _differ(table: Table, names: Sequence[str]) -> bool:
    """True for columns of classes, none of which occurs twice in a row, and whose first is not always the same."""
    if any(table.columns[name].dtype.kind not in "iuO" for name in names):
        return False
    texts = np.column_stack([label_texts(table.columns[name]) for name in names])
    return len(set(texts[:, 0])) > 1 and all(len(set(row)) == len(row) for row in texts.tolist())


_LABEL, _SCORE = "label", "score"
_ROWS = 10
"""Minimum rows of at least two labels, all scored 1/2 or more, for a table without true labels to be output."""


@shape_of_columns
class PipelineTable(ShapeOfColumns):
    """Table from pandas.DataFrame(pipeline(texts)): no score is below 1 / K, as the largest of K probabilities."""

    key = "transformers-table"
    title = "a table of predicted labels and scores, as of Hugging Face pipelines or PyCaret"
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

    def table(self, table: Table) -> Table:
        """Write true labels as the predicted ones: negative as NEGATIVE, and 0 as LABEL_0."""
        predicted = texts_of(table, _LABEL)
        by_key = {_alike(name): name for name in predicted}
        if len(by_key) < len(predicted) or _truths(table):
            return table
        columns = dict(table.columns)
        for name in [each for each in columns if each not in (_LABEL, _SCORE) and len(columns[each]) == table.n_rows]:
            texts = label_texts(columns[name])
            if len(texts) and {_alike(text) for text in set(texts.tolist())} == by_key.keys():
                columns[name] = frozen(np.array([by_key[_alike(text)] for text in texts], dtype=object))
        return replace(table, columns=columns)

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


def _alike(label: str) -> str:
    place = _PLACES.fullmatch(str(label))
    return place[1] if place else plain(str(label))


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
