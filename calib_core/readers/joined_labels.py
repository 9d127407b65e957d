"""Labels that are in another file than the predictions: joined by a key that both have, or by place where asked."""

from __future__ import annotations

import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from calib_core._base.arrays import frozen
from calib_core.predictions.predictions import InputError
from calib_core.readers.formats.delimited import ARRAY
from calib_core.readers.messages import affected, listed, quoted
from calib_core.readers.proposal.column_roles import named, role
from calib_core.readers.proposal.label_codes import label_texts
from calib_core.readers.table import Array, LabelJoin, Table
from calib_core.readers.tool_shapes import joined_by_shape
from calib_core.text import inert

LABEL = "label"
"""What the column of labels is called where the predictions have one of its name, or its name says nothing."""
_UNDERSCORES = ["_" * n for n in range(1, 1000)]
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", re.IGNORECASE)
_TRUTHS = frozenset({"label", "correct"})
_NO_KEY = frozenset({"label", "predicted", "confidence", "correct", "weights", "probabilities", "logits"})


def with_labels(table: Table, labels: Table, key: str | Sequence[str] | None = None) -> Table:
    """Predictions with the columns of a file of labels, row by row by a key.

    Parameters
    ----------
    table : the predictions; several rows may have the same key, as those of several models do.
    labels : the file of labels, in which every key is there once.
    key : the column or columns that both have and that tell rows apart; by default the one whose values do. ``()``
        joins row i with row i.

    Predictions without a label are left out, and labels without a prediction not used: ``joined`` and findings say how
    many, and where. Of predictions that are bare numbers, as an NPY matrix, row i is joined with row i: nothing else is
    there to tell rows apart. Of a column that both have beside the key, labels are those of the labels' file, and all
    else that of the predictions'; the other is called after its file. A lone column of labels without a telling name is
    ``label``. Detections in COCO's format take the true boxes of its annotations
    file and no key: each is matched by how much it overlaps. InputError where no key, or more than one, would do, or a
    key is twice in the labels. What can mislead: rows joined by place are right only if both files have the same order,
    which nothing in them shows.

    >>> scores = Table("p.csv", "csv", {"id": np.array([7, 8, 9]), "p": np.array([0.7, 0.2, 0.4])})
    >>> truth = Table("y.csv", "csv", {"id": np.array([9, 7]), "y": np.array([0, 1])})
    >>> both = with_labels(scores, truth)
    >>> both.columns["p"].tolist(), both.columns["y"].tolist(), both.joined.left_out_places
    ([0.7, 0.4], [1, 0], 'row 1')
    """
    if (found := joined_by_shape(table, labels)) is not None:
        if key is not None:
            raise InputError(f"{table.name} is joined with {labels.name} by what both hold, and no key: leave it out")
        return replace(found, joined=LabelJoin(table.name, labels.name, None, table.n_rows))
    labels = _of_data(labels)
    columns = (key,) if isinstance(key, str) else _found_key(table, labels) if key is None else tuple(key)
    where, rows = _by_key(table, labels, columns) if columns else _by_place(table, labels)
    met = _met(table, labels, columns, where, rows)
    if not len(rows):
        raise InputError(f"no row of {table.name} has a label in {labels.name}: the values of {listed(columns)} differ")
    kept, others = table.take(rows), _others(table, labels, columns, where)
    return replace(
        kept,
        columns={**_own(kept, others), **others},
        matrices={**kept.matrices, **{name: frozen(m[where]) for name, m in _one_hot(table, labels).items()}},
        notes=(*table.notes, *labels.notes),
        joined=met,
    )


def as_csv(table: Table) -> bytes:
    """The table as CSV, numbers in full; column j of a matrix is called "matrix_j", or "matrix__j" where one is there.

    Text that a spreadsheet would compute has an apostrophe before it, which is left out where the file is read again.

    >>> as_csv(Table("a.npy", "npy", {"y": np.array([1])}, {"p": np.array([[0.25, 0.75]])})).decode()
    'p_0,p_1,y\\n0.25,0.75,1\\n'
    """
    whole = {name: c for name, c in table.columns.items() if len(c) == table.n_rows}
    spread: dict[str, Array] = {}
    for name, m in table.matrices.items():
        # All columns of a matrix part with their name alike, so that they stay columns of one thing.
        apart = next(u for u in _UNDERSCORES if not {f"{name}{u}{j}" for j in range(m.shape[1])} & {*whole, *spread})
        spread |= {f"{name}{apart}{j}": m[:, j] for j in range(m.shape[1])}
    out = io.BytesIO()
    frame = pd.DataFrame({inert(name): _inert_texts(column) for name, column in {**spread, **whole}.items()})
    frame.to_csv(out, index=False, lineterminator="\n")
    return out.getvalue()


def _inert_texts(column: Array) -> Array:
    """Texts that are numbers, such as "+1" as a label, are no formula."""
    if column.dtype.kind not in "OUS" or not any(inert(text) != text for text in column):
        return column
    return np.array([text if _NUMBER.fullmatch(str(text)) else inert(text) for text in column], dtype=object)


def _of_data(labels: Table) -> Table:
    """The labels of a data file of LightGBM, numbers without a header whose first column they are; others as they are.

    What follows the labels are features, by which it is told from a column a class.
    """
    matrix = labels.matrices.get(ARRAY) if labels.format == "csv" and labels.names == (ARRAY,) else None
    if matrix is None or ((matrix == 0) | (matrix == 1)).all():
        return labels
    first = matrix[:, 0]
    if not ((first >= 0) & (first == np.floor(first))).all():
        return labels
    note = f"Labels are the first of {matrix.shape[1]:,} columns of {labels.name}, as in data files of LightGBM."
    return replace(labels, columns={LABEL: frozen(first.astype(np.int64))}, matrices={}, notes=(*labels.notes, note))


def _found_key(table: Table, labels: Table) -> tuple[str, ...]:
    if not table.columns or table.names == (ARRAY,):
        return ()
    both = [name for name in labels.columns if name in table.columns and role(name) not in _NO_KEY]
    once = [name for name in both if pd.Index(label_texts(labels.columns[name])).is_unique]
    called = [*named(once, "index"), *named(once, "question")] or once
    if len(called) == 1:
        return (called[0],)
    what = f"{listed(called)} could all be" if called else "no column of both, each value once in the labels, is"
    raise InputError(
        f"{table.name} and {labels.name}: {what} the key that joins them; give the key, or join row i with row i "
        f"(key=(), --by-place). {table.name} has {table.contents()}; {labels.name} has {labels.contents()}"
    )


def _by_key(table: Table, labels: Table, columns: tuple[str, ...]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """For the rows of the predictions that have a label, its row in the labels; and these rows."""
    keys = [[label_texts(each.column(name)) for name in columns] for each in (table, labels)]
    here, there = map(pd.MultiIndex.from_arrays, keys)
    if len(here) != table.n_rows or len(there) != labels.n_rows:
        raise InputError(f"the key {listed(columns)} is not as long as the rows that it tells apart; choose another")
    twice = there.duplicated(keep=False)
    if twice.any():
        first = int(twice.argmax())
        raise InputError(
            f"{labels.name}, {labels.place(first)}: {listed(there[first])} stands there more than once as "
            f"{listed(columns)}; {affected(int(twice.sum()), len(there))}: give every key one label"
        )
    found = there.get_indexer(here)
    rows = np.flatnonzero(found >= 0)
    return found[rows], rows


def _by_place(table: Table, labels: Table) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    if table.n_rows != labels.n_rows:
        raise InputError(
            f"{table.name} has {table.n_rows:,} rows and {labels.name} {labels.n_rows:,}: rows can be joined by place "
            f"only where there are as many; {_header_read(table, labels)}give the key that both have"
        )
    rows = np.arange(table.n_rows)
    return rows, rows


def _header_read(table: Table, labels: Table) -> str:
    """Whether a column of numbers without a header may begin with one, as pandas writes the name of a series."""
    column = labels.columns.get(ARRAY)
    if column is None or labels.n_rows != table.n_rows + 1 or column[0] != 0:
        return ""
    return f"if the first line of {labels.name}, 0, is a header, take it out; else "


def _own(kept: Table, others: Mapping[str, Array]) -> dict[str, Array]:
    """The columns of the predictions; one that the labels have too is called after its file."""
    return {f"{kept.name}: {name}" if name in others else name: column for name, column in kept.columns.items()}


def _others(table: Table, labels: Table, key: tuple[str, ...], where: NDArray[np.intp]) -> dict[str, Array]:
    """The columns of the labels by the rows of the predictions."""
    n = labels.n_rows
    beside = {name: column[where] for name, column in labels.columns.items() if name not in key and len(column) == n}
    if not beside and not _one_hot(table, labels):
        raise InputError(f"{labels.name} has nothing but the key {listed(key)}; it needs a column of labels")
    if len(beside) == 1 and role(next(iter(beside))) != "label" and LABEL not in table.columns:
        return {LABEL: next(iter(beside.values()))}
    return {f"{labels.name}: {name}" if _is_theirs(name, table) else name: each for name, each in beside.items()}


def _is_theirs(name: str, table: Table) -> bool:
    """Whether a column of the labels' file says again what the predictions say themselves, such as their scores."""
    return name in {*table.columns, *table.matrices} and role(name) not in _TRUTHS


def _one_hot(table: Table, labels: Table) -> dict[str, Array]:
    """Matrices of the labels, a column a class."""
    taken = {*table.columns, *table.matrices}
    for name, matrix in labels.matrices.items():
        if not ((matrix == 0) | (matrix == 1)).all():
            raise InputError(
                f"{labels.name}: {quoted(name)} has {matrix.shape[1]:,} columns of other numbers than 0 and 1, which "
                "are no marks of classes; save the column of labels alone"
            )
    return {
        f"{LABEL}s" if name in taken else name: matrix
        for name, matrix in labels.matrices.items()
        if len(matrix) == labels.n_rows
    }


def _met(
    table: Table, labels: Table, key: tuple[str, ...], where: NDArray[np.intp], rows: NDArray[np.intp]
) -> LabelJoin:
    """Who has no partner, and where the first of them are."""
    left_out, unused = np.setdiff1d(np.arange(table.n_rows), rows), np.setdiff1d(np.arange(labels.n_rows), where)
    places = (table.places(left_out, 3), labels.places(unused, 3))
    return LabelJoin(table.name, labels.name, key, table.n_rows, len(left_out), len(unused), *places)
