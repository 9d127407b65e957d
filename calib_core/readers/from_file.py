"""Read files as Predictions in one call, with the assumptions in their notes, or joined with labels of another file."""

from __future__ import annotations

import io
import os
import re
import warnings
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from calib_core._base.arrays import frozen
from calib_core.predictions.plausibility import Doubt, doubts
from calib_core.predictions.predictions import InputError, Predictions
from calib_core.readers.checks.examination import examine
from calib_core.readers.checks.model_checks import unchosen_model
from calib_core.readers.conversion import predictions, rows_of_part
from calib_core.readers.formats.delimited import ARRAY
from calib_core.readers.formats.detection import read_table
from calib_core.readers.messages import affected, listed, quoted
from calib_core.readers.proposal.class_columns import class_side
from calib_core.readers.proposal.column_roles import named, role
from calib_core.readers.proposal.label_codes import label_texts
from calib_core.readers.proposal.long_form import model_names
from calib_core.readers.proposal.proposed_reading import propose
from calib_core.readers.reading import Reading
from calib_core.readers.table import Array, LabelJoin, Table
from calib_core.readers.table_findings import Finding
from calib_core.readers.tool_shapes import joined_by_shape
from calib_core.text import inert, several

LABEL = "label"
"""Name for the column of labels if the predictions have a column of its name, or if the name is uninformative."""
_UNDERSCORES = ["_" * n for n in range(1, 1000)]
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", re.IGNORECASE)
_TRUTHS = frozenset({"label", "correct"})
_NO_KEY = frozenset({"label", "predicted", "confidence", "correct", "weights", "probabilities", "logits"})


class NothingJoined(InputError):
    """Predictions of which none has a label in the other file: the keys differ, or no outcome is known yet."""


def with_labels(table: Table, labels: Table, key: str | Sequence[str] | None = None) -> Table:
    """Join predictions with the columns of a file of labels by a key.

    Parameters
    ----------
    table : the predictions; several rows may have the same key, for example one for each model.
    labels : the file of labels, in which every key occurs once.
    key : the column or columns that both files have and that identify rows; by default, the one whose values do. ``()``
        joins row i with row i.

    Predictions without a label are left out, and labels without a prediction are not used; ``joined`` and findings give
    their numbers and places. Predictions that are bare numbers, such as an NPY matrix, are joined by row number,
    because they have no key. Both files can have a column of the same name in addition to the key. Labels then come
    from the labels' file and other columns from the predictions; the other column is renamed after its file. A single
    column of labels without an informative name becomes ``label``. Detections in COCO's format are joined with an
    annotations file without a key, by overlap. InputError if no key or several would do, or if a key occurs twice in
    the labels. What can mislead: a join by row number is right only if both files have the same order, which cannot be
    checked.

    >>> scores = Table("p.csv", "csv", {"id": np.array([7, 8, 9]), "p": np.array([0.7, 0.2, 0.4])})
    >>> truth = Table("y.csv", "csv", {"id": np.array([9, 7]), "y": np.array([0, 1])})
    >>> both = with_labels(scores, truth)
    >>> both.columns["p"].tolist(), both.columns["y"].tolist(), both.joined.left_out_places
    ([0.7, 0.4], [1, 0], 'row 1')
    """
    if (found := joined_by_shape(table, labels)) is not None:
        if key is not None:
            raise InputError(
                f"{table.name} and {labels.name} are joined by their contents, without a key; leave it out"
            )
        return replace(found, joined=LabelJoin(table.name, labels.name, None, table.n_rows))
    labels = _of_data(labels)
    columns = (key,) if isinstance(key, str) else _found_key(table, labels) if key is None else tuple(key)
    where, rows = _by_key(table, labels, columns) if columns else _by_place(table, labels)
    met = _met(table, labels, columns, where, rows)
    if not len(rows):
        raise NothingJoined(
            f"no row of {table.name} has a label in {labels.name}; check the values of {listed(columns)}"
        )
    kept, others = table.take(rows), _others(table, labels, columns, where)
    return replace(
        kept,
        columns={**_own(kept, others), **others},
        matrices={**kept.matrices, **{name: frozen(m[where]) for name, m in _one_hot(table, labels).items()}},
        notes=(*table.notes, *labels.notes),
        joined=met,
    )


def as_csv(table: Table) -> bytes:
    """Write the table as CSV with full precision; column j of a matrix becomes "matrix_j", or "matrix__j" if taken.

    Text that a spreadsheet would compute gets an apostrophe in front, which is removed when the file is read again.

    >>> as_csv(Table("a.npy", "npy", {"y": np.array([1])}, {"p": np.array([[0.25, 0.75]])})).decode()
    'p_0,p_1,y\\n0.25,0.75,1\\n'
    """
    whole = {name: c for name, c in table.columns.items() if len(c) == table.n_rows}
    spread: dict[str, Array] = {}
    for name, m in table.matrices.items():
        # All columns of a matrix get the same separator, so that they remain columns of one matrix.
        apart = next(u for u in _UNDERSCORES if not {f"{name}{u}{j}" for j in range(m.shape[1])} & {*whole, *spread})
        spread |= {f"{name}{apart}{j}": m[:, j] for j in range(m.shape[1])}
    out = io.BytesIO()
    frame = pd.DataFrame({inert(name): _inert_texts(column) for name, column in {**spread, **whole}.items()})
    frame.to_csv(out, index=False, lineterminator="\n")
    return out.getvalue()


def _inert_texts(column: Array) -> Array:
    """Protect text columns from being read as formulas; numbers in text, such as "+1", are not formulas."""
    if column.dtype.kind not in "OUS" or not any(inert(text) != text for text in column):
        return column
    return np.array([text if _NUMBER.fullmatch(str(text)) else inert(text) for text in column], dtype=object)


def _of_data(labels: Table) -> Table:
    """Return the labels of a LightGBM data file, the first of its unnamed columns; other tables unchanged.

    The columns after the labels are features; labels with one column per class contain only 0 and 1.
    """
    matrix = labels.matrices.get(ARRAY) if labels.format == "csv" and labels.names == (ARRAY,) else None
    if matrix is None or ((matrix == 0) | (matrix == 1)).all():
        return labels
    first = matrix[:, 0]
    if not ((first >= 0) & (first == np.floor(first))).all():
        return labels
    note = f"Labels are the first of {matrix.shape[1]:,} columns of {labels.name}, as in LightGBM data files."
    return replace(labels, columns={LABEL: frozen(first.astype(np.int64))}, matrices={}, notes=(*labels.notes, note))


def _found_key(table: Table, labels: Table) -> tuple[str, ...]:
    if not table.columns or table.names == (ARRAY,):
        return ()
    both = [name for name in labels.columns if name in table.columns and role(name) not in _NO_KEY]
    once = [name for name in both if pd.Index(label_texts(labels.columns[name])).is_unique]
    called = [*named(once, "index"), *named(once, "question")] or once
    if len(called) == 1:
        return (called[0],)
    if called:
        what = f"{listed(called)} could each be the key"
    else:
        what = "no column of both files has unique values in the labels file, as a key needs"
    raise InputError(
        f"{table.name} and {labels.name}: {what}. Give the key, or join by row number (key=(), --by-place). "
        f"{table.name} has {table.contents()}; {labels.name} has {labels.contents()}"
    )


def _by_key(table: Table, labels: Table, columns: tuple[str, ...]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the label row of each prediction that has a label, and the rows of these predictions."""
    keys = [[label_texts(each.column(name)) for name in columns] for each in (table, labels)]
    here, there = map(pd.MultiIndex.from_arrays, keys)
    if len(here) != table.n_rows or len(there) != labels.n_rows:
        raise InputError(f"the key {listed(columns)} needs one value for every row of both files; choose another key")
    twice = there.duplicated(keep=False)
    if twice.any():
        first = int(twice.argmax())
        raise InputError(
            f"{labels.name}, {labels.place(first)}: {listed(there[first])} occurs more than once in the key "
            f"{listed(columns)}; {affected(int(twice.sum()), len(there))}: give every key one label"
        )
    found = there.get_indexer(here)
    rows = np.flatnonzero(found >= 0)
    return found[rows], rows


def _by_place(table: Table, labels: Table) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    if table.n_rows != labels.n_rows:
        raise InputError(
            f"{table.name} has {table.n_rows:,} rows but {labels.name} has {labels.n_rows:,}. A join by row number "
            f"needs equal numbers; {_header_read(table, labels)}give the key that both files have"
        )
    rows = np.arange(table.n_rows)
    return rows, rows


def _header_read(table: Table, labels: Table) -> str:
    """Hint that a column of numbers may begin with its header, as pandas writes the name of a series; else empty."""
    column = labels.columns.get(ARRAY)
    if column is None or labels.n_rows != table.n_rows + 1 or column[0] != 0:
        return ""
    return f"if the first line of {labels.name}, 0, is a header, remove it; otherwise "


def _own(kept: Table, others: Mapping[str, Array]) -> dict[str, Array]:
    """Columns of the predictions; those that the labels also have are renamed after the file."""
    return {f"{kept.name}: {name}" if name in others else name: column for name, column in kept.columns.items()}


def _others(table: Table, labels: Table, key: tuple[str, ...], where: NDArray[np.intp]) -> dict[str, Array]:
    """Columns of the labels, in the row order of the predictions."""
    n = labels.n_rows
    beside = {name: column[where] for name, column in labels.columns.items() if name not in key and len(column) == n}
    if not beside and not _one_hot(table, labels):
        raise InputError(f"{labels.name} has only the key {listed(key)}; it also needs a column of labels")
    if len(beside) == 1 and not _informative(next(iter(beside))) and LABEL not in table.columns:
        return {LABEL: next(iter(beside.values()))}
    if len(beside) == 1:  # the truth: a score of its name is renamed
        return beside
    return {f"{labels.name}: {name}" if _is_theirs(name, table) else name: each for name, each in beside.items()}


def _informative(name: str) -> bool:
    """True if the only column beside a key is called a label, or like an event or its absence, such as "survived"."""
    return role(name) == "label" or class_side(name) != 0


def _is_theirs(name: str, table: Table) -> bool:
    """True if a column of the labels' file duplicates one of the predictions, such as scores."""
    return name in {*table.columns, *table.matrices} and role(name) not in _TRUTHS


def _one_hot(table: Table, labels: Table) -> dict[str, Array]:
    """Matrices of one-hot labels, one column per class."""
    taken = {*table.columns, *table.matrices}
    for name, matrix in labels.matrices.items():
        if not ((matrix == 0) | (matrix == 1)).all():
            raise InputError(
                f"{labels.name}: {quoted(name)} has {matrix.shape[1]:,} columns with numbers other than 0 and 1, so "
                "they do not mark classes; save only the column of labels"
            )
    return {
        f"{LABEL}s" if name in taken else name: matrix
        for name, matrix in labels.matrices.items()
        if len(matrix) == labels.n_rows
    }


def _met(
    table: Table, labels: Table, key: tuple[str, ...], where: NDArray[np.intp], rows: NDArray[np.intp]
) -> LabelJoin:
    """Summary of the join: the rows without a partner on both sides, and the first of their places."""
    left_out, unused = np.setdiff1d(np.arange(table.n_rows), rows), np.setdiff1d(np.arange(labels.n_rows), where)
    places = (table.places(left_out, 3), labels.places(unused, 3))
    return LabelJoin(table.name, labels.name, key, table.n_rows, len(left_out), len(unused), *places)


BY_CHOICE = frozenset({"missing"})
"""Codes of warnings about choices that the user makes, such as leaving out rows; they remain notes."""


def read_predictions(
    source: str | os.PathLike[str] | bytes,
    name: str | None = None,
    *,
    labels: str | os.PathLike[str] | None = None,
    key: str | Sequence[str] | None = None,
    rows: str | None = None,
    **changes: Any,
) -> Predictions:
    """Read predictions from a CSV, Parquet, NPZ, NPY or JSON Lines file; names and values determine how.

    Parameters
    ----------
    source : a path, or the bytes of a file together with its ``name``; in a folder, files of one shape are one table.
    labels, key : path of a file with the labels, and the key column or columns that both files have; ``key=()`` joins
        row i with row i (``readers.with_labels``).
    rows : "all", those that a split column marks as "test" or "calibration", or "auto": the test rows if any are
        marked, else all. By default all, with a UserWarning if a column marks them.
    changes : fields of Reading to set instead of the proposed ones, such as ``kind="logits"`` or ``label="y"``.

    ``notes`` contains a sentence for each ambiguous assumption, and for rows that were left out. Probable mistakes also
    cause a UserWarning. ``readers.examine`` returns the same as findings, with the change that would resolve each.

    >>> p = read_predictions(b"p_cat,p_dog,label\\n0.7,0.3,cat\\n0.4,0.6,cat\\n", name="preds.csv")
    >>> p.class_names, p.correct.tolist()
    (('cat', 'dog'), [True, False])
    """
    table = _whole(source, name, labels, key)
    reading = propose(table, **changes)
    return _handed_over(_rows_of(table, reading, rows), table, reading, changes, pooled=rows is None)


def read_blocked(source: str | os.PathLike[str], changes: Mapping[str, Any]) -> tuple[Predictions, tuple[Finding, ...]]:
    """Return the predictions in a file, and the warnings about it with which a gate passes nothing.

    ``changes`` are the fields of Reading that are set, as in ``read_predictions``; they settle the warnings about them.
    Where a split column marks test rows, the predictions are these.
    """
    table = read_table(source)
    reading = propose(table, **changes)
    found = _rows_of(table, reading, "auto")
    every = unrestated(findings_about(table, reading, changes), doubts(found))
    return found, blocking_findings(every, changes)


def read_models(
    source: str | os.PathLike[str] | bytes,
    name: str | None = None,
    *,
    models: str | None = None,
    labels: str | os.PathLike[str] | None = None,
    key: str | Sequence[str] | None = None,
    rows: str | None = None,
    **changes: Any,
) -> dict[str, Predictions]:
    """Read the predictions of every model from one file that has several, on the same questions.

    Parameters
    ----------
    source, name, labels, key, rows, changes : as in ``read_predictions``; ``question`` lists the columns that identify
        questions.
    models : the column of model names; the result has them in order of appearance. Without it, models come from
        ``score_sets`` (adjacent columns of several models such as risk_old and risk_new). Otherwise they come from the
        file's known shape, or from the column ``model``.

    Row i is the same question for every model, so models can be compared in pairs. Questions that some model did not
    answer are left out; ``readers.examine`` reports their number. Without a column of questions, or with
    ``question=()``, row i of each model is question i. InputError if a model has two rows for a question, or if models
    differ in its label.

    >>> answers = b"model,id,confidence,correct\\nold,1,.7,1\\nold,2,.6,0\\nnew,2,.9,1\\nnew,1,.8,1\\n"
    >>> {name: p.confidence.tolist() for name, p in read_models(answers, "answers.csv").items()}
    {'old': [0.7, 0.6], 'new': [0.8, 0.9]}
    """
    table = _whole(source, name, labels, key)
    reading = propose(table, **({} if models is None else {"models": models}), **changes)
    if not reading.several:
        reading = propose(table, models="model", **changes)
    each = {model: reading.replace(model=model) for model in model_names(table, reading)}
    chosen = {*changes, "models", "model"}
    return {
        model: _handed_over(_rows_of(table, how, rows), table, how, chosen, pooled=rows is None)
        for model, how in each.items()
    }


def _whole(
    source: str | os.PathLike[str] | bytes,
    name: str | None,
    labels: str | os.PathLike[str] | None,
    key: str | Sequence[str] | None,
) -> Table:
    """Return the table of a file, with the labels of another file if there is one."""
    if labels is not None:
        return with_labels(read_table(source, name), read_table(labels), key)
    if key is not None:
        raise InputError("a key joins the predictions with a file of labels; also give labels=")
    return read_table(source, name)


def _rows_of(table: Table, reading: Reading, rows: str | None) -> Predictions:
    found = predictions(table, reading)
    kept = rows_of_part(table, reading, rows or "all")
    return found if kept is None else found.take(kept)


def _handed_over(
    found: Predictions, table: Table, reading: Reading, chosen: Collection[str], *, pooled: bool
) -> Predictions:
    """Return predictions with the assumptions in their notes, and warn of probable mistakes."""
    if reading.layout == "summary":
        return found
    worth = assumptions(table, reading, chosen)
    messages, doubtful = [each.message for each in worth], warnings_of(worth)
    if pooled and reading.split is not None and not any(each.code == "split" for each in worth):
        doubtful.append(_POOLED.format(quoted(reading.split), several(found.n_rows)))
        messages.append(doubtful[-1])
    for message in doubtful:
        warnings.warn(f"{table.name}: {message}", stacklevel=3)
    return found._with({"notes": tuple(dict.fromkeys((*found.notes, *messages)))})


def assumptions(table: Table, reading: Reading, chosen: Collection[str]) -> tuple[Finding, ...]:
    """Return what is worth saying about a file of which the user set only the ``chosen`` fields of the reading."""
    return tuple(each for each in findings_about(table, reading, chosen) if each.worth_saying(chosen))


def warnings_of(worth: Iterable[Finding]) -> list[str]:
    """Return the sentences of which Python warns."""
    return [each.message for each in worth if each.severity == "warning" and each.code not in BY_CHOICE]


_POOLED = (
    'The column {} marks calibration and test rows, but all {} are read. To choose, give rows="test", '
    'rows="calibration" or rows="all".'
)


def findings_about(
    table: Table, reading: Reading, chosen: Collection[str], examined: Iterable[Finding] | None = None
) -> tuple[Finding, ...]:
    """Return the findings about a file, after one about models that are not read.

    ``chosen`` are the fields of the reading that the user set; ``examined`` is the result of ``examine``, if known.
    """
    alone = unchosen_model(table, reading, chosen)
    beside = () if alone is None else (alone.noted(reading.accepted),)
    return (*beside, *(examine(table, reading) if examined is None else examined))


def blocking_findings(found: Iterable[Finding], chosen: Collection[str] = ()) -> tuple[Finding, ...]:
    """Return the warnings about a file with which a gate passes nothing.

    >>> seen = [Finding("warning", "perfect", "is always right"), Finding("note", "ties", "has ties")]
    >>> [each.code for each in blocking_findings(seen)]
    ['perfect']
    """
    return tuple(each for each in found if each.blocks(chosen))


def unrestated(found: Iterable[Finding], doubted: Iterable[Doubt]) -> tuple[Finding, ...]:
    """Return the findings without those that a doubt about the rows states more precisely."""
    precise = bool(_PRECISE & {doubt.key for doubt in doubted})
    return tuple(each for each in found if not (precise and each.code == "perfect"))


_PRECISE = frozenset({"labels-equal", "one-class"})
"""Doubts that say more than the finding that every prediction is right."""
