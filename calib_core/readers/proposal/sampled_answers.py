"""Several samples of one question: the share that gives the most frequent answer is the confidence in it."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from calib_core.predictions.predictions import InputError
from calib_core.readers.messages import listed, quoted, shown
from calib_core.readers.proposal.label_codes import label_texts, plain
from calib_core.readers.proposal.score_columns import kept_rows
from calib_core.readers.reading import Reading
from calib_core.readers.table import Array, Table

CONFIDENCE, CORRECT, ANSWER, SAMPLES = "confidence", "correct", "most frequent answer", "samples"
"""Columns of the table by questions; where the file has one of the name, it is called "confidence, counted"."""


def by_question(table: Table, reading: Reading) -> tuple[Table, Reading]:
    """A table of samples as one of questions, a line each, and its reading; others as they are.

    The confidence is the share of a question's samples that give its most frequent answer, and it is correct where that
    answer is the label. Answers that differ in capitals and spaces only are the same; of several as frequent the
    alphabetically first counts. Columns that are the same in all samples of a question come along, questions are in the
    order in which they first appear. InputError where samples of a question have different labels, split marks,
    weights or groups.

    >>> from calib_core.readers.formats.detection import read_table
    >>> table = read_table(b"question,answer,truth\\n1,A,A\\n1,B,A\\n1,A,A\\n2,C,B\\n", "m.csv")
    >>> how = Reading("samples", question=("question",), predicted="answer", label=("truth",))
    >>> table, how = by_question(table, how)
    >>> how.layout, table.columns["confidence"].round(2).tolist(), table.columns["correct"].tolist()
    ('confidence', [0.67, 1.0], [1, 0])
    """
    if reading.layout != "samples":
        return table, reading
    kept = kept_rows(table, reading)
    rows = np.arange(table.n_rows) if kept is None else kept
    question, first = grouped([_texts(table, name)[rows] for name in reading.question])
    _check(table, reading, rows, question, first)
    answer, spelled = _keys(_texts(table, str(reading.predicted))[rows])
    truth = pd.Series(_texts(table, reading.label[0])[rows][first], dtype=object).map(plain).to_numpy()
    modal, most, ties = _most_frequent(question, answer, len(first))
    samples = np.bincount(question, minlength=len(first))
    beside = [name for name in (*reading.metadata, reading.split, reading.weights, reading.group) if name]
    along = [name for name in beside if _varies(_texts(table, name)[rows], question, first) is None]
    columns = {name: table.column(name)[rows][first] for name in (*reading.question, *along)}
    counted = {
        ANSWER: spelled[modal],
        SAMPLES: samples,
        CONFIDENCE: most / samples,
        CORRECT: (spelled[modal] == truth).astype(np.int64),
    }
    names = {name: _free(name, columns) for name in counted}
    columns |= {names[name]: values for name, values in counted.items()}
    special = (names[CONFIDENCE], names[CORRECT], reading.split, reading.weights)
    how = Reading(
        "confidence",
        confidence=names[CONFIDENCE],
        correct=names[CORRECT],
        split=reading.split,
        weights=reading.weights,
        group=reading.group,
        metadata=tuple(name for name in columns if name not in special),
    )
    notes = (*table.notes, _note(len(rows), len(first), int(ties.sum()), [n for n in beside if n not in along]))
    return dataclasses.replace(table.take(rows[first]), columns=columns, matrices={}, notes=notes), how


def _free(name: str, taken: Collection[str]) -> str:
    """A name that no column of the file has."""
    while name in taken:
        name = f"{name}, counted"
    return name


def _texts(table: Table, name: str) -> NDArray[np.object_]:
    return label_texts(table.column(name))


def grouped(columns: list[NDArray[np.object_]]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """The group of every row, counted from 0 as they first appear, and the first row of each."""
    codes, _ = pd.factorize(pd.MultiIndex.from_arrays(columns))
    return codes, np.unique(codes, return_index=True)[1]


def _keys(texts: NDArray[np.object_]) -> tuple[NDArray[np.intp], NDArray[np.object_]]:
    """The code of every answer, in alphabetical order, and what answers are without capitals and spaces around."""
    codes, keys = pd.factorize(pd.Series(texts, dtype=object).map(plain).to_numpy(), sort=True)
    return codes, np.asarray(keys, dtype=object)


def _most_frequent(
    question: NDArray[np.intp], answer: NDArray[np.intp], n: int
) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.bool_]]:
    """Each question's most frequent answer, how many samples give it, and whether others are as frequent."""
    width = int(answer.max()) + 1
    pairs, times = np.unique(question * width + answer, return_counts=True)
    group, given = pairs // width, pairs % width
    # By question, the most frequent first, of those the alphabetically first.
    order = np.lexsort((given, -times, group))
    best = order[np.unique(group[order], return_index=True)[1]]
    ties = np.bincount(group, times == times[best][group], minlength=n) > 1
    return given[best], times[best], ties


def _varies(values: Array, question: NDArray[np.intp], first: NDArray[np.intp]) -> int | None:
    """The first row whose value is not that of its question's first row; None where there is none."""
    apart = np.flatnonzero(values != values[first][question])
    return int(apart[0]) if len(apart) else None


def _check(
    table: Table, reading: Reading, rows: NDArray[np.intp], question: NDArray[np.intp], first: NDArray[np.intp]
) -> None:
    """InputError where samples of a question do not agree in what belongs to the question."""
    for name in (*reading.label, reading.split, reading.weights, reading.group):
        if name is None:
            continue
        values = _texts(table, name)[rows]
        row = _varies(np.array([plain(str(text)) for text in values], dtype=object), question, first)
        if row is not None:
            here = ", ".join(shown(_texts(table, column)[rows[row]]) for column in reading.question)
            raise InputError(
                f"{table.name}, column {quoted(name)}, {table.place(int(rows[row]))}: {quoted(values[row])}, where "
                f"another sample of question {quoted(here)} has {quoted(values[first[question[row]]])}; the samples of "
                "a question need the same: choose the columns that tell questions apart"
            )


def _note(samples: int, questions: int, ties: int, left: list[str]) -> str:
    """What was done, for the findings of the table."""
    tied = f" In {ties:,} of them several answers are as frequent: the alphabetically first counts." if ties else ""
    out = f" Left out, since it differs between samples: {listed(left, 5)}." if left else ""
    return (
        f"{samples:,} samples of {questions:,} questions: the confidence is the share of a question's samples that "
        f"give its most frequent answer.{tied}{out}"
    )
