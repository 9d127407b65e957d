"""Findings about a column that names models: that it does, how their rows are joined, what is left out."""

from __future__ import annotations

from collections.abc import Collection, Iterator

import pandas as pd

from calib_core.predictions.predictions import InputError
from calib_core.readers.checks.finding import Finding
from calib_core.readers.formats.folder import FILE
from calib_core.readers.messages import listed, quoted
from calib_core.readers.proposal.label_codes import label_texts, plain
from calib_core.readers.proposal.long_form import JoinedRows, joined, model_names, question_columns
from calib_core.readers.reading import Reading
from calib_core.readers.table import Table
from calib_core.text import count

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
