"""Checks of files with several models, and of labels that come from another file."""

from __future__ import annotations

from collections.abc import Collection, Iterator

import numpy as np
import pandas as pd

from calib_core.predictions.predictions import InputError
from calib_core.readers.checks.subject import Subject
from calib_core.readers.formats.folder import FILE
from calib_core.readers.messages import listed, quoted
from calib_core.readers.proposal.label_codes import label_texts, plain
from calib_core.readers.proposal.long_form import JoinedRows, joined, model_names, question_columns
from calib_core.readers.reading import Reading
from calib_core.readers.table import LabelJoin, Table
from calib_core.readers.table_findings import Finding
from calib_core.text import count, percent, several

MOST = 8
"""Values of a column up to which it is offered as the one that names models: more are not told apart in a picture."""
_NAMES = frozenset({"model", "models", "model name", "model id", "llm", "system", "engine", "classifier"})


def unchosen_model(table: Table, reading: Reading, chosen: Collection[str]) -> Finding | None:
    """That a file holds several models and the first is read alone; None where one is chosen, or there is one."""
    if "model" in chosen or not reading.several or reading.model is None:
        return None
    names = model_names(table, reading)
    others = [name for name in names if name != reading.model]
    return Finding(
        "warning",
        "models",
        f"The file holds {len(names)} models, and {quoted(reading.model)} alone is judged, not {listed(others, 5)}; "
        "choose the model, or read all of them.",
        {"model": others[0]},
        f"Judge {quoted(others[0])}",
    )


def names_models(table: Table, name: str) -> bool:
    """Is a column called as those that name models are, or the one that names the files of a folder?"""
    known = _NAMES if table.files is None else _NAMES | {FILE}
    return plain(name.replace("_", " ").replace("-", " ")) in known


def several_models(table: Table, reading: Reading) -> Iterator[Finding]:
    """How the models of a file are joined; where none is named, the column that would name them."""
    if reading.score_sets:
        if not table.origin:  # a shape says itself why it has several
            yield Finding("note", "models", _side_by_side(reading))
        return
    if reading.models is not None:
        yield from _how_joined(table, reading)
        return
    for name in table.columns:
        if not names_models(table, name) or name in reading.used:
            continue
        texts = label_texts(table.columns[name])
        if len(texts) != table.n_rows or not 2 <= len(pd.unique(texts)) <= MOST:
            continue
        question = reading.question if reading.layout == "samples" else question_columns(table, name)
        try:
            found = joined(table, reading.replace(models=name, question=question))
        except InputError as why:
            if question:  # else the column may name anything, as models of cars
                yield Finding(
                    "warning",
                    "models",
                    f"The column {quoted(name)} names several models, whose rows are mixed as they are read now. They "
                    f"cannot be compared pair by pair yet: {why}.",
                )
            continue
        models, questions = len(found.names), int(found.common.sum())
        each = f"with {count(questions)} rows each" if not question else f"over the same {count(questions)} questions"
        yield Finding(
            "note",
            "models",
            f"The column {quoted(name)} names {models} models {each}: read as {models} models, they are compared pair "
            f"by pair{_left_out(found)}; read as one, their rows are mixed.",
            {"models": name, "question": question},
            f"Read as {models} models",
        )
        return


def _side_by_side(reading: Reading) -> str:
    """Which columns are which model's."""
    sets = reading.score_sets
    own = reading.scores == sets
    each = "each column is" if len(reading.scores) == len(sets) else f"{len(reading.scores) // len(sets)} columns are"
    what = f"of class {quoted(reading.classes[-1])}" if own and reading.classes else "of every class"
    return (
        f"{listed(sets)} are read as {len(sets)} models side by side, since as classes of one model they would not sum "
        f"to 1: {each} one model's probability {what}."
    )


def _how_joined(table: Table, reading: Reading) -> Iterator[Finding]:
    try:
        found = joined(table, reading)
    except InputError:
        return  # the finding that the file cannot be read says why
    names, models = quoted(reading.models), len(found.names)
    if reading.question:
        by = f"rows with the same {listed(reading.question)} belong to one question"
    else:
        by = "no column tells questions apart, so that their rows are joined by place: the first of each, and so on"
    kept = f"{count(int(found.common.sum()))} questions are answered by all of them"
    checked = reading.question or reading.label
    yield Finding(
        "warning" if _left_out(found) or not checked else "note",
        "models",
        f"The column {names} names {models} models; {by}: {kept}{_left_out(found)}.",
    )


def _left_out(found: JoinedRows) -> str:
    """What is left out where models are joined, in brackets; nothing where all questions are common."""
    left = len(found.common) - int(found.common.sum())
    what = "question is" if left == 1 else "questions are"
    return f" ({count(left)} more {what} answered by some of them only, and left out)" if left else ""


def labels_elsewhere(subject: Subject) -> Iterator[Finding]:
    """What the join left over on both sides; of rows joined by place also how well labels fit."""
    if (met := subject.table.joined) is not None:
        yield from join_findings(met, "" if met.key else _fit(subject), _sharing(subject) if met.key else 0)


def join_findings(met: LabelJoin, fit: str = "", shared: int = 0) -> Iterator[Finding]:
    """What is to be known of a join; ``fit`` says how well the labels fit rows that were joined by place.

    ``shared``: how many rows have a key, and so a label, that others have too.

    >>> met = LabelJoin("p.csv", "y.csv", ("id",), 7, left_out=2, left_out_places="row 3")
    >>> [each.code for each in join_findings(met)]
    ['joined', 'unlabelled']
    """
    if met.key is None:
        return  # findings of the shape say what was joined
    if met.key:
        joined = f"{count(met.rows - met.left_out)} of {several(met.rows)} of {met.scores} have a label in {met.labels}"
        yield Finding("note", "joined", f"{joined}, joined by {listed(met.key)}.")
        if shared:
            share = f"{several(shared)} of {met.scores} share {listed(met.key)}, and so a label, with others: are they "
            which = "of several models, attempts at one question, or different rows whose keys were rounded?"
            yield Finding("warning", "shared-labels", share + which)
    else:
        by_place = f"Row i of {met.scores} is joined with row i of {met.labels} by its place alone; both have "
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
            f"{met.scores}: {met.unused_places}. If the model was asked about them, what it left out is not judged.",
        )


def _sharing(subject: Subject) -> int:
    """Rows of one model that share their key with others, where nothing says yet that they belong together."""
    if subject.reading.group is not None or (met := subject.table.joined) is None:
        return 0
    keys = [label_texts(subject.table.columns[name]) for name in met.key or () if name in subject.table.columns]
    return int(pd.MultiIndex.from_arrays(keys).duplicated(keep=False).sum()) if keys else 0


def _fit(subject: Subject) -> str:
    """How often predictions are right beside these labels, and beside labels in any order."""
    if subject.reading.layout != "wide" or subject.refused or not (known := subject.labels.codes >= 0).any():
        return ""
    predicted, truth = subject.predicted[known], subject.labels.codes[known]
    shuffled = float(np.bincount(predicted, minlength=subject.k) @ np.bincount(truth, minlength=subject.k))
    right, by_chance = percent(subject.accuracy(subject.labels.codes)), percent(shuffled / len(truth) ** 2)
    return f" So joined, {right} of predictions are right; labels in any order would make {by_chance} right."
