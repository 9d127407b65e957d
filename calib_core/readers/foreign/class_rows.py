"""Long tables: one row for each row of predictions and each of its classes, as melt and pivot_longer write them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from calib_core._base.arrays import frozen
from calib_core.readers.foreign.pipelines import CONFIDENCE, PREDICTED, fields_of_scores, with_matrix
from calib_core.readers.messages import quoted
from calib_core.readers.proposal.class_columns import is_share, risk_columns
from calib_core.readers.proposal.column_roles import role
from calib_core.readers.proposal.label_codes import label_texts, plain
from calib_core.readers.reading import Fields, Reading
from calib_core.readers.table import Array, Table
from calib_core.readers.table_findings import Finding
from calib_core.readers.text_encoding import looks_numeric
from calib_core.readers.tool_shapes import ShapeOfColumns, shape_of_columns

_MOST_CLASSES = 1000
_FEWEST = 3
_FEWEST_SUMS = 0.9
"""Minimum share of rows of predictions whose scores sum to 1."""
_LABEL = "label"


class _Long(NamedTuple):
    """Columns of a long table, and the truth: a column of true classes, or of marks of the true class."""

    key: str
    classes: str
    score: str
    truth: str
    marks: bool


@shape_of_columns
class LongTable(ShapeOfColumns):
    """Table with a row for every class: an identifier, a class, its probability, and the true class or a mark of it."""

    key = "class-rows"
    title = "a long table, with one row for each class"

    def recognises(self, table: Table) -> bool:
        return not table.matrices and table.n_rows >= 2 * _FEWEST and _long(table) is not None

    def table(self, table: Table) -> Table:
        found = _long(table)
        assert found is not None
        codes, first = _rows(table, found.key)
        names, scores = label_texts(table.columns[found.classes]), table.numeric(found.score)
        rows: list[dict[str, float]] = [{} for _ in first]
        for row, name, score in zip(codes.tolist(), names.tolist(), scores.tolist(), strict=True):
            rows[row][name] = score
        kept = table.take(first)
        same = {name: column for name, column in table.columns.items() if _constant(table, name, codes, first)}
        columns = {name: kept.columns[name] for name in same if name not in (found.classes, found.score)}
        if found.marks:
            true = np.flatnonzero(_marked(table.columns[found.truth]))
            columns[_LABEL if _LABEL not in columns else found.truth] = frozen(names[true[np.argsort(codes[true])]])
        top = [max(row, key=row.__getitem__) for row in rows]
        columns[CONFIDENCE] = frozen(np.array([row[name] for row, name in zip(rows, top, strict=True)]))
        columns[PREDICTED] = frozen(np.array(top, dtype=object))
        return with_matrix(replace(kept, columns=columns), rows)

    def fields(self, table: Table, chosen: Fields) -> Fields:
        return fields_of_scores(table, chosen)

    def findings(self, table: Table, reading: Reading) -> Iterator[Finding]:
        yield Finding("note", "foreign", f"The rows of each {quoted(next(iter(table.columns)))} are read as one row.")


def _long(table: Table) -> _Long | None:
    """Return the columns of a long table; None for other tables."""
    n, columns = table.n_rows, table.columns
    if any(len(column) != n for column in columns.values()):
        return None
    texts = {
        name: len(pd.unique(column)) for name, column in columns.items()
        if column.dtype == object and not looks_numeric(column) and role(name) != "correct"
    }  # fmt: skip
    classes = [name for name, k in texts.items() if 2 <= k <= min(_MOST_CLASSES, n // _FEWEST) and n % k == 0]
    scores = risk_columns(table, [name for name, column in columns.items() if column.dtype.kind == "f"])
    if len(scores) != 1 or not is_share(table, scores[0]):
        return None
    for name in classes:
        for key in (each for each in columns if each not in (name, scores[0])):
            if not _whole(table, key, name, texts[name]) or not _sums(table, key, scores[0]):
                continue
            if (truth := _truth(table, key, name, {key, name, scores[0]})) is not None:
                return _Long(key, name, scores[0], *truth)
    return None


def _rows(table: Table, key: str) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the row of predictions that each row belongs to, and the first row of each."""
    codes = np.asarray(pd.factorize(label_texts(table.columns[key]))[0])
    return codes, np.unique(codes, return_index=True)[1]


def _whole(table: Table, key: str, classes: str, k: int) -> bool:
    """True if every key has every class once."""
    codes = _rows(table, key)[0]
    counts = np.bincount(codes)
    pairs = pd.DataFrame({"row": codes, "class": label_texts(table.columns[classes])})
    return bool((counts == k).all() and len(counts) >= _FEWEST and not pairs.duplicated().any())


def _sums(table: Table, key: str, score: str) -> bool:
    sums = np.bincount(_rows(table, key)[0], weights=table.numeric(score))
    return bool(np.mean(np.abs(sums - 1) < 0.05) >= _FEWEST_SUMS)


def _truth(table: Table, key: str, classes: str, taken: set[str]) -> tuple[str, bool] | None:
    """Return the column of the true class, and whether it marks the class; None unless there is exactly one."""
    codes, first = _rows(table, key)
    known = {plain(str(value)) for value in pd.unique(label_texts(table.columns[classes]))}
    found: list[tuple[str, bool]] = []
    for name, column in table.columns.items():
        if name in taken or role(name) == "predicted":
            continue
        if _constant(table, name, codes, first):
            values = {plain(str(value)) for value in pd.unique(label_texts(column))}
            found += [(name, False)] if len(values) > 1 and values <= known else []
        elif (np.bincount(codes, weights=_marked(column)) == 1).all() and len(pd.unique(column)) == 2:
            found += [(name, True)]
    return found[0] if len(found) == 1 else None


def _constant(table: Table, name: str, codes: NDArray[np.intp], first: NDArray[np.intp]) -> bool:
    values = table.columns[name]
    return bool((values == values[first][codes]).all())


def _marked(column: Array) -> NDArray[np.bool_]:
    return np.array([plain(str(value)) in _MARKS for value in label_texts(column)], dtype=bool)


_MARKS = frozenset({"1", "true", "yes"})
