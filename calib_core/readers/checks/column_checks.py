"""Checks of the columns next to the scores: weights, groups, human marks, follow-up times, outcomes and names."""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Iterator

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from calib_core.predictions.predictions import InputError
from calib_core.predictions.row_groups import FEWEST_GROUPS
from calib_core.predictions.validation import MOST_COPIES, effective_rows, sampling_weights, whole
from calib_core.readers.checks.model_checks import names_models
from calib_core.readers.checks.subject import Subject
from calib_core.readers.messages import listed, quoted
from calib_core.readers.proposal.answer_words import marks_some, verdicts
from calib_core.readers.proposal.class_columns import called_covariate, outcome_columns, two_values
from calib_core.readers.proposal.column_roles import named, role
from calib_core.readers.proposal.label_codes import label_texts, plain
from calib_core.readers.proposal.named_blocks import called_prediction, results_of_scorers
from calib_core.readers.reading import Reading
from calib_core.readers.table import Table
from calib_core.readers.table_findings import Finding
from calib_core.readers.text_encoding import looks_numeric, numbers
from calib_core.readers.tool_shapes import proposed_fields, question_of


def unused_weights(subject: Subject) -> Iterator[Finding]:
    """Find a numeric column that is called weights but is not used; body weights have such names, too."""
    table, reading = subject.table, subject.reading
    if reading.weights is not None:
        return
    for name in named(table.columns, "weights"):
        if name in reading.used or len(table.columns[name]) != table.n_rows:
            continue
        try:
            values = numbers(table.numeric(name))
        except InputError:
            continue
        known = values[np.isfinite(values) & (values >= 0)]
        if not known.any():
            continue
        message = (
            f"The column {quoted(name)} ({known.min():.4g} to {known.max():.4g}) is not used, so every row counts "
            f"once. If it contains {'sampling' if _copies(known) else 'row'} weights, the effective sample size of the "
            f"{len(values):,} rows is about {effective_rows(len(known), sampling_weights(known)):,.0f}."
        )
        if not _copies(known):
            yield Finding("note", "weights", message, {"weights": name}, f"Use {quoted(name)} as row weights")
            return
        message += (
            f" If it counts identical independent rows, they are {known.sum():,.0f} rows: choose it as weights, and as "
            "weighting choose copies."
        )
        change = {"weights": name, "weighting": "sampling"}
        yield Finding("note", "weights", message, change, f"Use {quoted(name)} as sampling weights")
        return


def counted_copies(subject: Subject) -> Iterator[Finding]:
    """Find weights that count as copies of rows only because they are whole numbers."""
    table, reading = subject.table, subject.reading
    if reading.weights is None or reading.weighting is not None or reading.weights not in table.columns:
        return
    weights = numbers(table.numeric(reading.weights))
    if not np.isfinite(weights).all() or (weights < 0).any() or not _copies(weights):
        return
    worth = effective_rows(len(weights), sampling_weights(weights))
    yield Finding(
        "warning",
        "copies",
        f"The weights in {quoted(reading.weights)} are whole numbers, so each row counts as that many independent rows "
        f"({weights.sum():,.0f} in all). If they are sampling weights, the effective sample size of the "
        f"{len(weights):,} rows is only about {worth:,.0f}: intervals are far too narrow, and p-values far too small.",
        {"weighting": "sampling"},
        "Use them as sampling weights",
    )


def _copies(weights: NDArray[np.float64]) -> bool:
    """True if the weights would count as copies of rows, some of them as more than one."""
    return whole(weights) and 1 < float(weights.max()) <= MOST_COPIES and float(weights.sum()) <= MOST_COPIES


_ATTEMPTS = (
    *("attempt", "attempts", "attempt_id", "epoch", "trial", "repeat", "repetition", "rep", "rollout", "retry"),
    *("generation", "sample_index", "run_index"),
)
"""Names of columns that number the attempts at a question."""


def belonging(subject: Subject) -> Iterator[Finding]:
    """Find a column that groups rows (people, questions, authors: by its name), while the reading has no group.

    A column with fewer values than intervals need groups divides rows by topic instead, and is not reported.
    """
    table, reading = subject.table, subject.reading
    if reading.group is not None:
        return
    if (name := _tried_again(table, reading.used) or _asked_again(table, reading.used)) is not None:
        n, groups = table.n_rows, len(set(label_texts(table.columns[name]).tolist()))
        yield Finding(
            "warning",
            "group",
            f"By the column {quoted(name)}, {n:,} rows are repeated attempts at {groups:,} questions. They are "
            "treated as independent, so intervals are too narrow, and attempts at one question can fall on both "
            "sides of a split.",
            {"group": name},
            "Group the attempts at each question",
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
            f"The column {quoted(name)} has {groups:,} values in {n:,} rows. If rows with the same value are related, "
            "use it as the group. Intervals then allow for it, and splits keep each group on one side.",
            {"group": name},
            "Group rows with the same value",
        )
        return


def _asked_again(table: Table, used: Collection[str]) -> str | None:
    """Return the column of questions if some questions occur more than once, else None.

    The column is found by its name or by the file's shape. Rows of several models for the same question, distinguished
    by a column of models, are not repeated attempts.
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
    """Return the column of questions if another column numbers the attempts at each question, else None.

    Every pair of question and attempt occurs once, and some questions occur more than once.
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


def people_marks(subject: Subject) -> Iterator[Finding]:
    """Find a column that marks some rows right or wrong, next to one that marks all of them."""
    table, reading = subject.table, subject.reading
    if reading.correct is None:
        return
    for name, column in table.columns.items():
        if name in reading.used or len(column) != table.n_rows or not marks_some(column):
            continue
        marked = int((~np.isnan(verdicts(table, name))).sum())
        yield Finding(
            "note",
            "people-marks",
            f"The column {quoted(name)} marks {marked:,} of {table.n_rows:,} rows as right or wrong; the others are "
            f"empty. If people marked a random sample and a judge marked every row in {quoted(reading.correct)}, the "
            "judge's marks can be corrected. See Judged answers in Explore, or run calib judge.",
        )
        return


_EVENTS = frozenset({"event", "status", "died", "death", "dead"})
_FOLLOWED = ("followup", "follow_up", "follow up", "follow-up", "survival", "time_to_event")
_TIMES = frozenset(
    {"time", "times", "futime", "tte", *_FOLLOWED, *(f"{name}_time" for name in (*_FOLLOWED, "os", "pfs"))}
)


def time_to_event(subject: Subject) -> Iterator[Finding]:
    """Find follow-up times next to an event: a row without the event may be censored rather than event-free."""
    table, label = subject.table, subject.reading.label[0]
    if plain(label) not in _EVENTS or subject.scores.shape[1] > 2:
        return
    for name, column in table.columns.items():
        if plain(name) in _TIMES and name not in subject.reading.used and looks_numeric(column):
            yield Finding(
                "warning",
                "time-to-event",
                f"{quoted(name)} looks like the follow-up time of {quoted(label)}. For censored rows, 0 is not an "
                "outcome. Choose one time horizon. Remove the rows whose follow-up ended before it without the event.",
            )
            return


_DIGITS = ("0", "1")


def outcome_by_values(subject: Subject) -> Iterator[Finding]:
    """Find a column that is read as the outcome of a single risk because of its values, not its name."""
    table, reading = subject.table, subject.reading
    if subject.scores.shape[1] > 1 or len(reading.label) != 1 or table.joined is not None:
        return
    label = reading.label[0]
    if label not in table.columns or role(label) == "label" or "label" in proposed_fields(table, {}):
        return
    yield Finding("warning", "outcome", *_told(table, reading, label))


def answers_by_values(subject: Subject) -> Iterator[Finding]:
    """Find columns of answers and labels that are recognized by their values rather than their usual names."""
    table, reading = subject.table, subject.reading
    if reading.layout == "confidence" and reading.correct in results_of_scorers(table):
        message = f"{quoted(reading.correct)} is a scorer's result and is read as whether the answer is right."
        yield Finding("warning", "scorer", message)
    if (
        reading.layout == "top-label"
        and reading.predicted
        and not called_prediction(reading.predicted)
        and not table.origin
    ):
        yield Finding(
            "warning",
            "answers",
            f"{quoted(reading.predicted)} often agrees with {quoted(reading.label[0])}, so it is read as the predicted "
            f"class, and {quoted(str(reading.confidence))} as its probability.",
        )


def _told(table: Table, reading: Reading, label: str) -> tuple[str, dict[str, tuple[str, ...]] | None, str | None]:
    """Return the message, the change and its label; the change selects another two-valued column, if there is one."""
    values = two_values(table.columns[label])
    if set(values) <= set(_DIGITS):
        seen = f"contains only {' and '.join(values)}"
    else:
        seen = f"has the values {listed(values)}"
    sentence = f"{quoted(label)} {seen}, so it is read as the outcome."
    if {plain(value) for value in values} == {"1", "2"}:
        sentence += f" The event is assumed to be {quoted(reading.event or reading.classes[-1])}."
    others = outcome_columns(table, set(reading.used)) or tuple(
        name for name, column in table.columns.items()
        if name not in reading.used and called_covariate(name) and len(two_values(column)) == 2
    )  # fmt: skip
    if not others:
        return sentence, None, None
    return sentence, {"label": others[:1]}, f"Use {quoted(others[0])} as the outcome"


def unused_names(subject: Subject) -> Iterator[Finding]:
    """Find class names that cannot be used: their number differs from the classes, or they repeat, or are not text."""
    columns = subject.table.columns
    k = len(subject.reading.classes)
    for name in named(columns, "class names"):
        column = columns[name]
        texts = [str(value) for value in column[: k + 1]]
        if name in subject.reading.used or len(column) == subject.table.n_rows:
            continue
        if len(column) != k:
            why = f"it has {len(column):,} names for {k:,} classes"
        elif len(set(texts)) < k:
            why = f"{quoted(next(text for text in texts if texts.count(text) > 1))} occurs twice"
        elif column.dtype != object:
            why = "they are numbers, not text"
        else:
            continue
        yield Finding("warning", "unused-names", f"The class names in {quoted(name)} are not used: {why}.")


def look_alikes(subject: Subject) -> Iterator[Finding]:
    """Find names that look alike on screen, or contain invisible characters."""
    table, reading = subject.table, subject.reading
    names = list(dict.fromkeys((*table.names, *reading.classes)))
    reported: list[str] = []
    for name in names:
        if any(name in other for other in reported):
            continue
        hidden = [c for c in name if unicodedata.category(c) in ("Cf", "Cc", "Co", "Zl", "Zp")]
        if hidden:
            reported.append(name)
            points = ", ".join(sorted({f"U+{ord(c):04X}" for c in hidden}))
            yield Finding("warning", "names", f"The name {quoted(name)} contains invisible characters: {points}.")
    alike: dict[str, list[str]] = {}
    for name in reading.classes:
        alike.setdefault(_skeleton(name), []).append(name)
    for same in alike.values():
        if len(same) > 1:
            yield Finding("warning", "names", f"Classes {listed(same)} look alike but are different classes.")


# Cyrillic and Greek letters that look like Latin ones.
_LOOKALIKES = str.maketrans("аеорсухіАВЕКМНОРСТХоαορνΑΒΕΗΙΚΜΝΟΡΤΧ", "aeopcyxiABEKMHOPCTXoaopvABEHIKMNOPTX")


def _skeleton(name: str) -> str:
    seen = "".join(c for c in unicodedata.normalize("NFKC", name) if unicodedata.category(c) != "Cf")
    return plain(seen.translate(_LOOKALIKES))
