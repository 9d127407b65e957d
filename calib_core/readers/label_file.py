"""Labels that are in another file than the predictions: joined by a key that both have, or by place where asked."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from calib_core._arrays import frozen
from calib_core._text import inert
from calib_core.predictions import InputError
from calib_core.readers.labels import label_texts
from calib_core.readers.roles import named, role
from calib_core.readers.table import Array, Table
from calib_core.readers.wording import affected, listed

LABEL = "label"
"""What the column of labels is called where the predictions have one of its name, or its name says nothing."""
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", re.IGNORECASE)
_NO_KEY = frozenset({"label", "predicted", "confidence", "correct", "weights", "probabilities", "logits"})


def with_labels(table: Table, labels: Table, key: str | Sequence[str] | None = None) -> Table:
    """Predictions with the columns of a file of labels, row by row by a key.

    Parameters
    ----------
    table : the predictions; several rows may have the same key, as those of several models do.
    labels : the file of labels, in which every key is there once.
    key : the column or columns that both have and that tell rows apart; by default the one whose values do. ``()``
        joins row i with row i.

    Predictions without a label are left out, and labels without a prediction not used: ``notes`` say how many. A column
    that both have beside the key is called after the file it is from; a lone column of labels without a telling name is
    ``label``. InputError where no key, or more than one, would do, or a key is twice in the labels. What can mislead:
    rows joined by place are right only if both files have the same order, which nothing in them shows.

    >>> scores = Table("p.csv", "csv", {"id": np.array([7, 8, 9]), "p": np.array([0.7, 0.2, 0.4])})
    >>> truth = Table("y.csv", "csv", {"id": np.array([9, 7]), "y": np.array([0, 1])})
    >>> both = with_labels(scores, truth)
    >>> both.columns["p"].tolist(), both.columns["y"].tolist(), both.notes[0]
    ([0.7, 0.4], [1, 0], '2 of 3 rows of p.csv have a label in y.csv, joined by "id"; the others are left out.')
    """
    columns = (key,) if isinstance(key, str) else _found_key(table, labels) if key is None else tuple(key)
    where, rows = _by_key(table, labels, columns) if columns else _by_place(table, labels)
    if not len(rows):
        raise InputError(f"no row of {table.name} has a label in {labels.name}: the values of {listed(columns)} differ")
    kept = table.take(rows)
    return replace(
        kept,
        columns={**_own(kept, labels, columns), **_others(table, labels, columns, where)},
        matrices={**kept.matrices, **{name: frozen(m[where]) for name, m in _one_hot(table, labels).items()}},
        notes=(*table.notes, *labels.notes, *_told(table, labels, columns, len(rows))),
    )


def as_csv(table: Table) -> bytes:
    """The table as CSV, numbers in full; column j of a matrix is called "matrix_j".

    Text that a spreadsheet would compute has an apostrophe before it, which is left out where the file is read again.

    >>> as_csv(Table("a.npy", "npy", {"y": np.array([1])}, {"p": np.array([[0.25, 0.75]])})).decode()
    'p_0,p_1,y\\n0.25,0.75,1\\n'
    """
    spread = {f"{name}_{j}": m[:, j] for name, m in table.matrices.items() for j in range(m.shape[1])}
    whole = {name: c for name, c in table.columns.items() if len(c) == table.n_rows}
    out = io.BytesIO()
    frame = pd.DataFrame({inert(name): _inert_texts(column) for name, column in {**spread, **whole}.items()})
    frame.to_csv(out, index=False, lineterminator="\n")
    return out.getvalue()


def _inert_texts(column: Array) -> Array:
    """Texts that are numbers, such as "+1" as a label, are no formula."""
    if column.dtype.kind not in "OUS" or not any(inert(text) != text for text in column):
        return column
    return np.array([text if _NUMBER.fullmatch(str(text)) else inert(text) for text in column], dtype=object)


def _found_key(table: Table, labels: Table) -> tuple[str, ...]:
    both = [name for name in labels.columns if name in table.columns and role(name) not in _NO_KEY]
    once = [name for name in both if pd.Index(label_texts(labels.columns[name])).is_unique]
    called = [*named(once, "index"), *named(once, "question")] or once
    if len(called) == 1:
        return (called[0],)
    what = f"{listed(called)} could all be" if called else "no column of both, each value once in the labels, is"
    raise InputError(
        f"{table.name} and {labels.name}: {what} the key that joins them; give the key, or none (key=()) to join row i "
        f"with row i. {table.name} has {table.contents()}; {labels.name} has {labels.contents()}"
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
            "only where there are as many; give the key that both have"
        )
    rows = np.arange(table.n_rows)
    return rows, rows


def _own(kept: Table, labels: Table, key: tuple[str, ...]) -> dict[str, Array]:
    """The columns of the predictions; one that the labels have too is called after its file."""
    taken = {*labels.columns} - {*key}
    return {f"{kept.name}: {name}" if name in taken else name: column for name, column in kept.columns.items()}


def _others(table: Table, labels: Table, key: tuple[str, ...], where: NDArray[np.intp]) -> dict[str, Array]:
    """The columns of the labels by the rows of the predictions."""
    n = labels.n_rows
    beside = {name: column[where] for name, column in labels.columns.items() if name not in key and len(column) == n}
    if not beside and not _one_hot(table, labels):
        raise InputError(f"{labels.name} has nothing but the key {listed(key)}; it needs a column of labels")
    if len(beside) == 1 and role(next(iter(beside))) != "label" and LABEL not in table.columns:
        return {LABEL: next(iter(beside.values()))}
    return beside


def _one_hot(table: Table, labels: Table) -> dict[str, Array]:
    """Matrices of the labels, a column a class."""
    taken = {*table.columns, *table.matrices}
    return {
        f"{LABEL}s" if name in taken else name: matrix
        for name, matrix in labels.matrices.items()
        if len(matrix) == labels.n_rows
    }


def _told(table: Table, labels: Table, key: tuple[str, ...], rows: int) -> tuple[str, ...]:
    if not key:
        return (f"Row i of {table.name} is joined with row i of {labels.name}, by its place alone.",)
    left = "; the others are left out" if rows < table.n_rows else ""
    return (
        f"{rows:,} of {table.n_rows:,} rows of {table.name} have a label in {labels.name}, joined by "
        f"{listed(key)}{left}.",
    )
