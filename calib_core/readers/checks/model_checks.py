"""Checks of files with several models, and of labels that come from another file."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from calib_core.predictions.predictions import InputError
from calib_core.readers.checks.subject import Subject
from calib_core.readers.formats.folder import FILE
from calib_core.readers.messages import listed, quoted, shown
from calib_core.readers.proposal.column_values import always_equal, identifiers
from calib_core.readers.proposal.label_codes import label_texts, plain
from calib_core.readers.proposal.long_form import JoinedRows, joined, model_names, question_columns
from calib_core.readers.reading import Reading
from calib_core.readers.table import LabelJoin, Table
from calib_core.readers.table_findings import Finding
from calib_core.readers.text_encoding import looks_numeric
from calib_core.text import count, percent, several

MOST = 8
"""A column with more values is not offered as the column of models: a chart could not distinguish them."""
_SURELY_MODELS = frozenset(
    {"model name", "model id", "model version", "llm", "classifier", "checkpoint", "version", "release"}
)
"""Names of columns of models even if each model has its own rows; a column "model" may name cars."""
_NAMES = frozenset({"model", "models", "system", "engine", "seed"}) | _SURELY_MODELS
_REPEATS = frozenset({"run", "run id", "replicate", "replication", "repeat", "repetition", "trial", "random seed"})
"""Names of columns that may number repeated runs."""


def unchosen_model(table: Table, reading: Reading, chosen: Collection[str]) -> Finding | None:
    """Report that a file has several models and only the first is read; None if one was chosen or there is one."""
    if "model" in chosen or not reading.several or reading.model is None:
        return None
    names = model_names(table, reading)
    others = [name for name in names if name != reading.model]
    return Finding(
        "warning",
        "models",
        f"The file has {len(names)} models. Only {quoted(reading.model)} is evaluated, not {listed(others, 5)}. "
        "Choose a model, or read all of them.",
        {"model": others[0]} if reading.models is None else {"models": reading.models, "model": others[0]},
        f"Evaluate {quoted(others[0])}",
    )


def names_models(table: Table, name: str) -> bool:
    """True if the column is named as columns of models are, or names the files of a folder."""
    return _plain(name) in (_NAMES if table.files is None else _NAMES | {FILE})


def _plain(name: str) -> str:
    return plain(name.replace("_", " ").replace("-", " "))


def several_models(table: Table, reading: Reading) -> Iterator[Finding]:
    """Report how the models of a file are joined; if no column of models is set, suggest one."""
    if reading.score_sets:
        if not table.origin:  # the findings of a known shape explain its models
            yield Finding("note", "models", _side_by_side(reading))
        return
    if reading.models is not None:
        yield from _how_joined(table, reading)
        return
    for name in table.columns:
        repeats = _plain(name) in _REPEATS
        if not (names_models(table, name) or repeats) or name in reading.used:
            continue
        texts = label_texts(table.columns[name])
        if len(texts) != table.n_rows or not 2 <= len(pd.unique(texts)) <= MOST:
            continue
        question = reading.question if reading.layout == "samples" else question_columns(table, name)
        try:
            found = joined(table, reading.replace(models=name, question=question))
        except InputError as why:
            if question:  # otherwise the column may name anything, such as car models
                yield Finding(
                    "warning",
                    "models",
                    f"The column {quoted(name)} names several models, and their rows are read as if they were one "
                    f"model's. They cannot be compared on the same questions yet: {why}.",
                )
                continue
            if _plain(name) in _SURELY_MODELS:
                yield _pooled(name, [str(text) for text in pd.unique(texts)])
            continue
        models, questions = len(found.names), int(found.common.sum())
        places = [np.flatnonzero(texts == run) for run in pd.unique(texts)]
        sure = not repeats or bool(question) or _same_outcomes(table, reading, places)
        if not sure and (reading.label or len({len(rows) for rows in places}) > 1):
            continue  # other rows, or runs of something else
        each = f"with {count(questions)} rows each" if not question else f"over the same {count(questions)} questions"
        yield Finding(
            "warning" if sure else "note",
            "models",
            f"The column {quoted(name)} names {models} models {each}. They are now read as one model. If they are read "
            f"as {models} models, they are compared question by question{_left_out(found)}.",
            {"models": name, "question": question},
            f"Read as {models} models",
        )
        return
    yield from _unnamed_models(table, reading)


def _pooled(name: str, models: Sequence[str]) -> Finding:
    slice_ = shown(f"{name}={models[-1]}")
    return Finding(
        "warning",
        "models",
        f"The column {quoted(name)} names {len(models)} models, and all rows are judged together, so that their errors "
        f"can cancel. Judge one of them, such as the slice {slice_} (--where).",
    )


def _same_outcomes(table: Table, reading: Reading, places: Sequence[NDArray[np.intp]]) -> bool:
    """True if the rows of all runs have the same two or more outcomes in the same order."""
    if (name := outcome_column(table, reading)) is None:
        return False
    first, *others = (label_texts(table.columns[name])[rows] for rows in places)
    return len(set(first)) > 1 and all(np.array_equal(first, each) for each in others)


def outcome_column(table: Table, reading: Reading) -> str | None:
    """Return the column of labels, or of right and wrong; None unless it is one column with a value per row."""
    name = reading.label[0] if len(reading.label) == 1 else reading.correct
    return name if name is not None and name in table.columns and len(table.columns[name]) == table.n_rows else None


def _unnamed_models(table: Table, reading: Reading) -> Iterator[Finding]:
    """Find a column of words that has one row for each value and each identifier, always with the same outcome."""
    outcome = outcome_column(table, reading)
    if outcome is None or reading.group is not None:
        return
    beside = [
        name for name, column in table.columns.items() if name not in reading.used and len(column) == table.n_rows
    ]
    for question in beside:
        codes = identifiers(table.columns[question], question)
        if codes is None or table.n_rows > MOST * (codes.max() + 1) or not always_equal(codes, table.columns[outcome]):
            continue
        for name in beside:
            texts = label_texts(table.columns[name])
            values = pd.unique(texts).tolist()
            if (
                name == question
                or len(values) * (codes.max() + 1) != table.n_rows
                or looks_numeric(table.columns[name])
                or pd.DataFrame({"question": codes, "model": texts}).duplicated().any()
            ):
                continue
            yield Finding(
                "warning",
                "models",
                f"Each {quoted(question)} has one row for each of the {len(values)} values of {quoted(name)}, always "
                f"with the same {quoted(outcome)}. Are {listed(values)} different models? They are now read as one, so "
                "that their errors can cancel.",
                {"models": name, "question": (question,)},
                f"Read as {len(values)} models",
            )
            return


def _side_by_side(reading: Reading) -> str:
    """Return the message about which columns belong to which model."""
    sets = reading.score_sets
    own = reading.scores == sets
    if len(reading.scores) == len(sets):
        each = "each column contains one model's probability"
    else:
        each = f"each model has {len(reading.scores) // len(sets)} columns, with probabilities"
    what = f"of class {quoted(reading.classes[-1])}" if own and reading.classes else "of every class"
    return (
        f"{listed(sets)} are read as {len(sets)} models side by side, because as classes of one model they would not "
        f"sum to 1: {each} {what}."
    )


def _how_joined(table: Table, reading: Reading) -> Iterator[Finding]:
    try:
        found = joined(table, reading)
    except InputError:
        return  # another finding explains why the file cannot be read
    names, models = quoted(reading.models), len(found.names)
    if reading.question:
        by = f"Rows with the same {listed(reading.question)} belong to the same question"
    else:
        by = "No column identifies questions, so row i of each model is matched with row i of the others"
    shared = f"{count(int(found.common.sum()))} questions are answered by all models"
    checked = reading.question or reading.label
    yield Finding(
        "warning" if _left_out(found) or not checked else "note",
        "models",
        f"The column {names} names {models} models. {by}; {shared}{_left_out(found)}.",
    )


def _left_out(found: JoinedRows) -> str:
    """Return the number of questions left out by a join of models, in parentheses; empty if there are none."""
    left = len(found.common) - int(found.common.sum())
    what = "question is" if left == 1 else "questions are"
    return f" ({count(left)} more {what} left out because some models did not answer)" if left else ""


def labels_elsewhere(subject: Subject) -> Iterator[Finding]:
    """Report rows without a label and labels without a row; for joins by row number, also the accuracy."""
    if (met := subject.table.joined) is not None:
        yield from join_findings(met, "" if met.key else _fit(subject), _sharing(subject) if met.key else 0)


def join_findings(met: LabelJoin, fit: str = "", shared: int = 0) -> Iterator[Finding]:
    """Yield the findings about a join of predictions and labels.

    ``fit``: the sentence about accuracy, for joins by row number; ``shared``: the number of rows whose key, and thus
    label, other rows also have.

    >>> met = LabelJoin("p.csv", "y.csv", ("id",), 7, left_out=2, left_out_places="row 3")
    >>> [each.code for each in join_findings(met)]
    ['joined', 'unlabelled']
    """
    if met.key is None:
        return  # the findings of a known shape explain the join
    if met.key:
        joined = f"{count(met.rows - met.left_out)} of {several(met.rows)} of {met.scores} have a label in {met.labels}"
        yield Finding("note", "joined", f"{joined} (key: {listed(met.key)}).")
        if shared:
            share = f"{several(shared)} of {met.scores} share {listed(met.key)}, and thus a label, with other rows. "
            which = (
                "Are they from several models, repeated attempts at one question, or different rows with rounded keys?"
            )
            yield Finding("warning", "shared-labels", share + which)
    else:
        by_place = f"Row i of {met.scores} is joined with row i of {met.labels}, by row number only; both have "
        yield Finding("warning", "joined-by-place", f"{by_place}{several(met.rows)}.{fit}")
    if met.left_out:
        has, are = ("has", "is") if met.left_out == 1 else ("have", "are")
        yield Finding(
            "warning",
            "unlabelled",
            f"{several(met.left_out)} of {met.scores} {has} no label in {met.labels} and {are} left out: "
            f"{met.left_out_places}.",
        )
    if met.unused:
        yield Finding(
            "warning",
            "unpredicted",
            f"{several(met.unused, 'labels')} of {met.labels} {'has' if met.unused == 1 else 'have'} no prediction in "
            f"{met.scores}: {met.unused_places}. Questions that the model left unanswered are not evaluated.",
        )


def _sharing(subject: Subject) -> int:
    """Count the rows of one model that share their key with others and are not yet in a group."""
    if subject.reading.group is not None or (met := subject.table.joined) is None:
        return 0
    keys = [label_texts(subject.table.columns[name]) for name in met.key or () if name in subject.table.columns]
    return int(pd.MultiIndex.from_arrays(keys).duplicated(keep=False).sum()) if keys else 0


def _fit(subject: Subject) -> str:
    """Return the sentence that compares accuracy with these labels to accuracy with shuffled labels."""
    if subject.reading.layout != "wide" or subject.refused or not (known := subject.labels.codes >= 0).any():
        return ""
    predicted, truth = subject.predicted[known], subject.labels.codes[known]
    shuffled = float(np.bincount(predicted, minlength=subject.k) @ np.bincount(truth, minlength=subject.k))
    right, by_chance = percent(subject.accuracy(subject.labels.codes)), percent(shuffled / len(truth) ** 2)
    return f" With this join, accuracy is {right}; shuffled labels would give {by_chance}."
