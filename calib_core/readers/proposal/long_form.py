"""Files with one row per model, class or sampled answer: match the rows that belong to one question."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from calib_core.predictions.predictions import InputError
from calib_core.readers.messages import affected, listed, quoted, shown
from calib_core.readers.proposal.column_roles import named
from calib_core.readers.proposal.label_codes import label_texts, plain
from calib_core.readers.proposal.score_columns import kept_rows
from calib_core.readers.reading import Reading
from calib_core.readers.table import Array, Table

CONFIDENCE, CORRECT, ANSWER, SAMPLES = "confidence", "correct", "most frequent answer", "samples"
"""Columns of the table by questions; if the file has such a name, the column is called "confidence, counted"."""


def by_question(table: Table, reading: Reading) -> tuple[Table, Reading]:
    """Aggregate a table of samples to one row per question, with its reading; other tables are unchanged.

    The confidence is the share of a question's samples with its most frequent answer, and it is correct if that answer
    is the label. Answers that differ only in capitals and spaces are equal; on a tie, the alphabetically first answer
    counts. Columns that are constant in every question are retained. Questions are in the order of appearance.
    InputError if samples of a question have different labels, split marks, weights or groups.

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
        weighting=reading.weighting,
        group=reading.group,
        metadata=tuple(name for name in columns if name not in special),
    )
    notes = (*table.notes, _note(len(rows), len(first), int(ties.sum()), [n for n in beside if n not in along]))
    return dataclasses.replace(table.take(rows[first]), columns=columns, matrices={}, notes=notes), how


def _free(name: str, taken: Collection[str]) -> str:
    """Return a name that no column of the file has."""
    while name in taken:
        name = f"{name}, counted"
    return name


def _texts(table: Table, name: str) -> NDArray[np.object_]:
    return label_texts(table.column(name))


def grouped(columns: list[NDArray[np.object_]]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the group of every row, numbered from 0 in order of appearance, and the first row of each."""
    codes, _ = pd.factorize(pd.MultiIndex.from_arrays(columns))
    return codes, np.unique(codes, return_index=True)[1]


def _keys(texts: NDArray[np.object_]) -> tuple[NDArray[np.intp], NDArray[np.object_]]:
    """Return the code of every answer, in alphabetical order, and the normalized answers."""
    codes, keys = pd.factorize(pd.Series(texts, dtype=object).map(plain).to_numpy(), sort=True)
    return codes, np.asarray(keys, dtype=object)


def _most_frequent(
    question: NDArray[np.intp], answer: NDArray[np.intp], n: int
) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.bool_]]:
    """Return each question's most frequent answer, its count, and whether there is a tie."""
    width = int(answer.max()) + 1
    pairs, times = np.unique(question * width + answer, return_counts=True)
    group, given = pairs // width, pairs % width
    # Sorted by question, count (descending) and answer (alphabetically).
    order = np.lexsort((given, -times, group))
    best = order[np.unique(group[order], return_index=True)[1]]
    ties = np.bincount(group, times == times[best][group], minlength=n) > 1
    return given[best], times[best], ties


def _varies(values: Array, question: NDArray[np.intp], first: NDArray[np.intp]) -> int | None:
    """Return the first row whose value differs from the first row of its question; None if there is none."""
    apart = np.flatnonzero(values != values[first][question])
    return int(apart[0]) if len(apart) else None


def _check(
    table: Table, reading: Reading, rows: NDArray[np.intp], question: NDArray[np.intp], first: NDArray[np.intp]
) -> None:
    """InputError if samples of a question differ in a property of the question."""
    for name in (*reading.label, reading.split, reading.weights, reading.group):
        if name is None:
            continue
        values = _texts(table, name)[rows]
        row = _varies(np.array([plain(str(text)) for text in values], dtype=object), question, first)
        if row is not None:
            here = ", ".join(shown(_texts(table, column)[rows[row]]) for column in reading.question)
            raise InputError(
                f"{table.name}, column {quoted(name)}, {table.place(int(rows[row]))}: {quoted(values[row])}, but "
                f"another sample of question {quoted(here)} has {quoted(values[first[question[row]]])}. All samples of "
                "a question need the same value; choose the columns that identify questions"
            )


def _note(samples: int, questions: int, ties: int, left: list[str]) -> str:
    """Return the note about the aggregation, for the table's findings."""
    tied = f" In {ties:,} of them, several answers are most frequent; the alphabetically first counts." if ties else ""
    out = f" Columns that differ between samples are left out: {listed(left, 5)}." if left else ""
    return (
        f"{samples:,} samples of {questions:,} questions: the confidence is the share of a question's samples with its "
        f"most frequent answer.{tied}{out}"
    )


Rows = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class JoinedRows:
    """Rows of a table matched by question: the model and the question of each of the ``rows``.

    ``common`` marks the questions that all models in ``names`` answered; questions are numbered in order of appearance.
    """

    names: tuple[str, ...]
    rows: Rows
    model: Rows
    question: Rows
    common: NDArray[np.bool_]

    def rows_of(self, name: str) -> Rows:
        """Rows of one model for the common questions, in their order."""
        mine = (self.model == self.names.index(name)) & self.common[self.question]
        return np.asarray(self.rows[mine][np.argsort(self.question[mine], kind="stable")])


def model_names(table: Table, reading: Reading) -> tuple[str, ...]:
    """Return the models of a file: those of ``score_sets``, or of the column ``models`` in order of appearance.

    InputError if that column names only one.

    >>> from calib_core.readers.formats.detection import read_table
    >>> table = read_table(b"model,confidence,correct\\nold,0.7,1\\nnew,0.8,1\\n", "m.csv")
    >>> model_names(table, Reading("confidence", confidence="confidence", correct="correct", models="model"))
    ('old', 'new')
    """
    if reading.score_sets:
        return reading.score_sets
    column = str(reading.models)
    names = tuple(str(name) for name in pd.unique(label_texts(table.column(column))) if name != "")
    if len(names) < 2:
        raise InputError(
            f"{table.name}: every row of {quoted(column)} has {listed(names) or 'no model'}. A column of models needs "
            "at least two values; choose another column, or none"
        )
    return names


def question_columns(table: Table, models: str) -> tuple[str, ...]:
    """Return the columns that identify questions, by their names; empty if there are none.

    An identifier of rows qualifies if models share its values, even if a model has one twice. A join by it is then
    refused, and a join by row number would pair different questions. A group column, in which a model's rows may
    repeat, qualifies if no row repeats. It also qualifies if rows with the same number are in different groups.
    """
    n = len(table.column(models))
    beside = {name: column for name, column in table.columns.items() if len(column) == n and name != models}
    if found := named(beside, "question"):
        return tuple(found)
    texts = label_texts(table.column(models))
    # Line numbers, which restart for each model in stacked tables, come last.
    rows = sorted(named(beside, "index"), key=lambda name: not plain(name).endswith(("id", "ids")))
    for name in (*rows, *named(beside, "group")):
        pairs = pd.DataFrame({"model": texts, "question": label_texts(beside[name])})
        place = pairs.groupby("model").cumcount()
        known = pairs[(pairs != "").all(axis=1)]
        shared = known.drop_duplicates()["question"].duplicated().any()
        by_place = name not in rows and known.duplicated().any() and not _apart(known, place)
        if shared and not by_place:
            return (name,)
    return ()


def _apart(pairs: pd.DataFrame, place: pd.Series[int]) -> bool:
    """True if rows with the same number among their models' rows differ in the column."""
    return bool((pairs.groupby(place.loc[pairs.index])["question"].nunique() > 1).any())


def prediction_rows(table: Table, reading: Reading) -> tuple[Table, Reading]:
    """Return a table with one row per prediction and its reading: one model's rows, samples aggregated by question."""
    return by_question(*of_one_model(table, reading))


def of_one_model(table: Table, reading: Reading) -> tuple[Table, Reading]:
    """Return the table of the model ``reading.model`` and its reading; unchanged without a column of models.

    It has the rows of that model for the questions that every model answered, in order of appearance. Row i of every
    model is therefore the same question. The columns ``reading.question`` identify questions; without them, row i of
    each model is question i. InputError if models differ in a property of a question, or if a model has two rows for
    one.

    >>> from calib_core.readers.formats.detection import read_table
    >>> content = b"model,id,confidence,correct\\na,1,.7,1\\na,2,.6,0\\nb,2,.9,1\\nb,1,.8,1\\nb,3,1,1\\n"
    >>> table = read_table(content, "m.csv")
    >>> how = Reading("confidence", confidence="confidence", correct="correct", models="model", question="id")
    >>> of_one_model(table, how.replace(model="b"))[0].columns["confidence"].tolist()
    [0.8, 0.9]
    """
    if reading.score_sets:
        return _of_one_set(table, reading)
    if reading.models is None:
        return table, reading
    names = model_names(table, reading)
    if reading.model not in names:
        wrong = "" if reading.model is None else f", but not {quoted(reading.model)}"
        raise InputError(
            f"{table.name}: the column {quoted(reading.models)} names {len(names):,} models, {listed(names)}{wrong}; "
            "choose the model to read"
        )
    samples = reading.layout == "samples"
    how = reading.replace(
        models=None,
        model=None,
        question=reading.question if samples else (),
        metadata=tuple(dict.fromkeys(n for n in (*reading.question, *reading.metadata) if n != reading.models)),
    )
    return table.take(joined(table, reading).rows_of(reading.model)), how


def _of_one_set(table: Table, reading: Reading) -> tuple[Table, Reading]:
    """Return the rows in which all models have scores, and the scores of the chosen model."""
    names = reading.score_sets
    if reading.model is None:
        advice = f"choose the model to read (model={shown(names[0])}), or read all of them with read_models"
        models = f"{table.name} has scores of {len(names)} models, {listed(names)}"
        raise InputError(f"{models}; {advice}", advice, {"model": names[0]})
    kept = [kept_rows(table, reading.replace(model=name).of_set) for name in names]
    rows = [each for each in kept if each is not None]
    if rows:
        table = table.take(np.asarray(functools.reduce(np.intersect1d, rows), dtype=np.intp))
    return table, reading.of_set


def joined(table: Table, reading: Reading) -> JoinedRows:
    """Match the rows of all models by question; InputError if that is impossible."""
    names = model_names(table, reading)
    texts = label_texts(table.column(str(reading.models)))
    _check_lengths(table, reading, len(texts))
    codes = pd.Index(names, dtype=object).get_indexer(pd.Index(texts, dtype=object))
    question = _questions(table, reading, codes, names)
    kept = kept_rows(table, reading)
    rows = np.arange(len(texts)) if kept is None else kept
    # Renumbered in the same order: questions whose rows all lack a value are dropped.
    model, question = codes[rows], np.unique(question[rows], return_inverse=True)[1]
    pairs, first, times = np.unique(question * len(names) + model, return_index=True, return_counts=True)
    if reading.layout != "samples" and len(pairs) < len(rows):
        again = np.setdiff1d(np.arange(len(rows)), first)
        here = ", ".join(shown(label_texts(table.column(name))[rows[again[0]]]) for name in reading.question)
        raise InputError(
            f"{table.name}, {table.place(int(rows[again[0]]))}: model {quoted(names[model[again[0]]])} has another row "
            f"for question {quoted(here)}; {affected(int(times[times > 1].sum()), len(rows))}. A comparison of models "
            "needs one row per question. Choose other columns that identify questions, or none (question empty) to "
            "join by row number, or read the rows as samples"
        )
    common = np.bincount(pairs // len(names)) == len(names)
    found = JoinedRows(names, rows, model, question, common)
    if not common.any():
        raise InputError(
            f"{table.name}: no question is answered by all {len(names):,} models of {quoted(reading.models)}. Choose "
            "the columns that identify questions, or remove some models' rows from the file"
        )
    _check_agreement(table, reading, found)
    return found


def _check_lengths(table: Table, reading: Reading, n: int) -> None:
    for name in reading.used:
        found = len(table.matrices[name] if name in table.matrices else table.column(name))
        if found != n:
            raise InputError(
                f"{table.name}: {found:,} values of {quoted(name)} for {n:,} rows of {quoted(reading.models)}; give "
                "one value per row"
            )


def _questions(table: Table, reading: Reading, codes: Rows, names: tuple[str, ...]) -> Rows:
    """Return the question of every row: by the columns that identify it, else by the row number within its model."""
    if reading.question:
        return grouped([label_texts(table.column(name)) for name in reading.question])[0]
    counts = np.bincount(codes[codes >= 0], minlength=len(names))
    if len(set(counts.tolist())) > 1:
        some = ", ".join(f"{quoted(name)} {rows:,}" for name, rows in list(zip(names, counts, strict=True))[:5])
        raise InputError(
            f"{table.name}: models have different numbers of rows ({some}), and no column identifies questions. Choose "
            "the column of the question, so that rows can be joined"
        )
    return np.asarray(pd.Series(codes).groupby(codes).cumcount(), dtype=np.intp)


def _check_agreement(table: Table, reading: Reading, found: JoinedRows) -> None:
    """InputError if models differ in a property of the question: its label, split mark, weight or group."""
    first = np.unique(found.question, return_index=True)[1]
    for name in (*reading.label, reading.split, reading.weights, reading.group):
        if name is None or name in table.matrices:
            continue
        codes, values = pd.factorize(label_texts(table.column(name))[found.rows])
        codes = pd.factorize(np.array([plain(str(value)) for value in values], dtype=object))[0][codes]
        apart = np.flatnonzero((codes != codes[first][found.question]) & found.common[found.question])
        if len(apart):
            i, j = int(apart[0]), int(first[found.question[apart[0]]])
            value, before = (label_texts(table.column(name))[found.rows[k]] for k in (i, j))
            which = "question" if reading.question else "row number"
            raise InputError(
                f"{table.name}, column {quoted(name)}, {table.place(int(found.rows[i]))}: {quoted(value)}, but model "
                f"{quoted(found.names[found.model[j]])} has {quoted(before)} for the same {which}; "
                f"{affected(len(apart), len(codes))}. Choose the columns that identify questions"
            )
