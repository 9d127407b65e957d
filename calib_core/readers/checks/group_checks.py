"""A finding about rows that belong together: a column that says so and is not used as the group."""

from __future__ import annotations

from collections.abc import Collection, Iterator

import pandas as pd

from calib_core.predictions.row_groups import FEWEST_GROUPS
from calib_core.readers.checks.finding import Finding
from calib_core.readers.checks.model_checks import names_models
from calib_core.readers.checks.subject import Subject
from calib_core.readers.foreign.recognition import question_of
from calib_core.readers.messages import quoted
from calib_core.readers.proposal.column_roles import named
from calib_core.readers.proposal.label_codes import label_texts
from calib_core.readers.table import Table

_ATTEMPTS = (
    *("attempt", "attempts", "attempt_id", "epoch", "trial", "repeat", "repetition", "rep", "rollout", "retry"),
    *("generation", "sample_index", "run_index"),
)
"""Names of columns that number the attempts at a question."""


def belonging(subject: Subject) -> Iterator[Finding]:
    """A column named as people, questions or authors are, whose values repeat, while no column is the group.

    Of fewer values than intervals need groups a column divides rows by topic rather than telling who they are of.
    """
    table, reading = subject.table, subject.reading
    if reading.group is not None:
        return
    if (name := _tried_again(table, reading.used) or _asked_again(table, reading.used)) is not None:
        n, groups = table.n_rows, len(set(label_texts(table.columns[name]).tolist()))
        yield Finding(
            "warning",
            "group",
            f"{n:,} rows are attempts at {groups:,} questions by the column {quoted(name)}, and are taken for "
            "independent: intervals are narrower than they should be, and attempts at one "
            "question stand on both sides of a split.",
            {"group": name},
            "Attempts at a question belong together",
        )
        return
    for name in named(table.columns, "group"):
        texts = label_texts(table.columns[name])
        groups, n = len(set(texts.tolist())), len(texts)
        if name in reading.used or not FEWEST_GROUPS <= groups < n or (texts == "").any():
            continue
        yield Finding(
            "note",
            "group",
            f"The column {quoted(name)} has {groups:,} values in {n:,} rows: if rows with the same value belong "
            "together, naming it the group keeps them on one side of every split and makes intervals honest about it.",
            {"group": name},
            "Rows with the same value belong together",
        )
        return


def _asked_again(table: Table, used: Collection[str]) -> str | None:
    """The column of questions, by its name or the file's shape, with questions that come more than once; else None.

    Rows of several models over the same questions are no attempts: a column that names models tells them apart.
    """
    own = question_of(table)
    for name in (*([own] if own in table.columns else []), *named(table.columns, "question")):
        texts = label_texts(table.columns[name])
        if name in used or len(texts) != table.n_rows or (texts == "").any():
            continue
        fewest = 1 if name == own else FEWEST_GROUPS
        if not fewest <= len(set(texts.tolist())) < len(texts):
            continue
        models = [
            each for each in table.columns if names_models(table, each) and len(table.columns[each]) == len(texts)
        ]
        rows = pd.DataFrame({each: label_texts(table.columns[each]) for each in (name, *models)})
        if rows.duplicated().any():
            return name
    return None


def _tried_again(table: Table, used: Collection[str]) -> str | None:
    """The column of questions, where another numbers the attempts at each; None where there is none.

    Every pair of both stands in one row, and questions come more than once: the same epoch of one row is no attempt.
    """
    numbered = [name for name in table.columns if name.strip().casefold() in _ATTEMPTS]
    for attempt in numbered[:1]:
        for name in (*named(table.columns, "question"), *named(table.columns, "group"), *named(table.columns, "index")):
            if name in used or len(table.columns[name]) != len(table.columns[attempt]):
                continue
            rows = pd.DataFrame(
                {"question": label_texts(table.columns[name]), "attempt": label_texts(table.columns[attempt])}
            )
            questions = rows["question"].nunique()
            if (
                FEWEST_GROUPS <= questions < len(rows)
                and not rows.duplicated().any()
                and (rows["question"] != "").all()
            ):
                return name
    return None
