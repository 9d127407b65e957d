"""Columns called like their classes, and those side by side with them: classes that never came true, or no classes."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from calib_core.readers.checks.finding import Finding
from calib_core.readers.checks.subject import Subject
from calib_core.readers.messages import listed
from calib_core.readers.number_texts import looks_numeric, numbers_as_written
from calib_core.readers.proposal.column_roles import class_of, one_hot_class, role
from calib_core.readers.proposal.label_codes import label_texts, plain
from calib_core.readers.proposal.model_columns import is_share
from calib_core.readers.table import Table

_LOOKED_AT = 500
_NEAR, _MOST = 0.05, 0.9
"""How near to 1 sums have to be, and in which share of the rows."""
_SLACK = 1e-6
_MOST_BESIDE = 64
"""Columns on each side of the classes of which every number is tried."""
_BETTER = 0.5
"""How near 1 sums have to come, in shares of how near they are without a column, for it to be a class."""

Block = tuple[str, ...]


def called_alike(table: Table, names: Iterable[str], label: str) -> Block:
    """Those of the names that are values of the label."""
    texts = {plain(str(value)) for value in pd.unique(label_texts(table.columns[label]))}
    return tuple(name for name in names if plain(name) in texts)


def block_of(table: Table, alike: Sequence[str], free: Collection[str]) -> Block:
    """The score columns: those called ``alike`` with a class, and of the ``free`` ones beside them those that go along.

    What tells is whether probabilities sum to 1 with them or without. Numbers that nothing sums go along where they
    have the range of the others: logits of a class that no label names, and not an age.

    >>> rows = {"cat": np.array([0.6, 0.2]), "dog": np.array([0.3, 0.5]), "bird": np.array([0.1, 0.3])}
    >>> block_of(Table("a.csv", "csv", {**rows, "age": np.array([31.0, 52.0])}), ("cat", "dog"), [*rows, "age"])
    ('cat', 'dog', 'bird')
    """
    run = _run(table, alike, free)
    if len(run) == len(alike):
        return tuple(alike)
    if (summed := _summed(table, alike, run)) is not None:
        return summed
    known = _values(table, alike)
    low, high = np.nanmin(known, initial=np.inf), np.nanmax(known, initial=-np.inf)
    return tuple(name for name in run if name in alike or _goes_along(table, name, alike, low, high))


def _run(table: Table, alike: Sequence[str], free: Collection[str]) -> Block:
    """All free columns that stand side by side with one that is called like a class."""
    runs: list[list[str]] = [[]]
    for name in table.columns:
        if name in free or name in alike:
            runs[-1].append(name)
        elif runs[-1]:
            runs.append([])
    return tuple(name for run in runs if set(run) & set(alike) for name in run)


def _values(table: Table, names: Sequence[str]) -> NDArray[np.float64]:
    return np.column_stack([numbers_as_written(table.columns[name][:_LOOKED_AT]) for name in names])


def _summed(table: Table, alike: Sequence[str], run: Block) -> Block | None:
    """The part of a run, all that are called alike in it, whose rows sum to 1 or 100; None where no part does."""
    first, last = run.index(alike[0]), run.index(alike[-1])
    begin, end = max(0, first - _MOST_BESIDE), min(len(run), last + 1 + _MOST_BESIDE)
    window, known = _values(table, run[begin:end]), _values(table, alike)
    whole = ~np.isnan(known).any(axis=1)
    if not whole.any():
        return None
    window, known = window[whole], known[whole]
    found: dict[Block, float] = {}
    for shares in (lambda values: values, lambda values: values / 100, _exponentials):
        part, own = shares(window), shares(known).sum(axis=1)
        if (off := _off(own[:, None, None])).item() < np.inf:
            found[tuple(alike)] = off.item()
        inner = part[:, first - begin : last + 1 - begin].sum(axis=1)
        before, behind = part[:, : first - begin][:, ::-1], part[:, last + 1 - begin :]
        sums = inner[:, None, None] + _growing(before)[:, :, None] + _growing(behind)[:, None, :]
        for (i, j), each in np.ndenumerate(_off(sums)):
            if each < np.inf:
                found.setdefault(run[first - i : last + 1 + j], float(each))
    best: Block | None = None
    for names in sorted(found, key=len):  # the shortest first, and longer ones where they come much nearer
        if best is None or found[names] < _BETTER * found[best] - 1e-9:
            best = names
    return best


def _exponentials(values: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.exp(np.where(values > _SLACK, np.inf, values))


def _growing(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Sums of no column, of the first, of the first two and so on, (n, K + 1)."""
    return np.concatenate([np.zeros((len(values), 1)), np.cumsum(values, axis=1)], axis=1)


def _off(sums: NDArray[np.float64]) -> NDArray[np.float64]:
    """How far sums (n, ...) are from 1 in the mean; infinite where they are not near in nearly every row."""
    with np.errstate(invalid="ignore"):
        off = np.abs(sums - 1)
        off = np.where(np.isnan(off), np.nan, np.minimum(off, 1.0))
        near = np.mean(off < _NEAR, axis=0) > _MOST
    return np.where(near, np.nanmean(np.where(near, off, 0.0), axis=0), np.inf)


def _goes_along(table: Table, name: str, alike: Sequence[str], low: float, high: float) -> bool:
    if all(each.isdigit() for each in alike):
        return name.isdigit()
    if table.columns[name].dtype.kind != table.columns[alike[0]].dtype.kind:
        return False
    if any(plain(each) in plain(name) for each in alike):
        return False  # "cat_new" is of another model
    if is_share(table, name) and not any(is_share(table, each) for each in alike):
        return False  # a probability beside logits
    values, room = numbers_as_written(table.columns[name][:_LOOKED_AT]), high - low
    if np.isnan(values).all():
        return False
    return bool(np.nanmin(values, initial=low) >= low - room and np.nanmax(values, initial=high) <= high + room)


def beside_classes(subject: Subject) -> Iterator[Finding]:
    """Columns beside those called like the labels' classes: which are read as classes too, and which are not."""
    table, reading = subject.table, subject.reading
    if len(reading.label) != 1 or reading.label[0] not in table.columns or len(reading.classes) != len(reading.scores):
        return
    if any(name not in table.columns or class_of(name) for name in reading.scores):
        return
    alike = called_alike(table, reading.scores, reading.label[0])
    if len(alike) < 2:
        return
    spelled = dict(zip(reading.scores, reading.classes, strict=True))
    if more := [name for name in reading.scores if name not in alike]:
        summed = reading.kind != "logits"
        if summed and len(_summed(table, alike, alike) or ()) != len(alike):
            return  # without them rows would not sum to 1
        why = "with them rows sum to 1 better" if summed else f"their numbers are like those of {listed(alike, 3)}"
        be, stand = ("is", "stands") if len(more) == 1 else ("are", "stand")
        yield Finding(
            "note" if summed else "warning",
            "classes-beside",
            f"No label is called {listed(more, 5)}, which {stand} side by side with columns of classes and {be} read "
            f"as {_class(more)} that never came true: {why}.",
            _change(alike, spelled),
            f"Leave {listed(more, 3)} out",
        )
    elif reading.kind == "logits":
        free = [name for name in table.columns if name not in reading.used and _free(table, name)]
        every = _run(table, alike, free)
        if left := [name for name in every if name not in alike]:
            be, stand = ("is", "stands") if len(left) == 1 else ("are", "stand")
            yield Finding(
                "note",
                "classes-beside",
                f"No label is called {listed(left, 5)}, which {stand} side by side with columns of classes and {be} "
                "read as none.",
                _change(every, spelled),
                f"Read {listed(left, 3)} as {_class(left)}",
            )


def _class(names: Sequence[str]) -> str:
    return "a class" if len(names) == 1 else "classes"


def _change(names: Sequence[str], spelled: dict[str, str]) -> dict[str, Any]:
    return {
        "scores": tuple(names),
        "classes": tuple(spelled.get(name, name) for name in names),
        "label_coding": "names",
    }


def _free(table: Table, name: str) -> bool:
    column = table.columns[name]
    return looks_numeric(column) and len(column) == table.n_rows and role(name) is None and not one_hot_class(name)
