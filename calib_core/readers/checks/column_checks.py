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
from calib_core.readers.checks.model_checks import names_models, outcome_column
from calib_core.readers.checks.subject import Subject
from calib_core.readers.messages import listed, quoted, shown
from calib_core.readers.proposal.answer_words import marks_some, verdicts
from calib_core.readers.proposal.class_columns import (
    called_covariate,
    called_outcome,
    is_share,
    one_subject,
    outcome_columns,
    two_values,
)
from calib_core.readers.proposal.column_roles import called_log, named, named_last, role
from calib_core.readers.proposal.column_values import (
    always_equal,
    called_count,
    called_number,
    called_weight,
    counts_rows,
    identifiers,
    numbers_rows,
    parts_in,
    surely_weights,
)
from calib_core.readers.proposal.label_codes import label_texts, plain
from calib_core.readers.proposal.named_blocks import called_prediction, called_score, results_of_scorers, told_apart
from calib_core.readers.reading import Reading
from calib_core.readers.table import Table
from calib_core.readers.table_findings import Finding, Severity
from calib_core.readers.text_encoding import looks_numeric, numbers
from calib_core.readers.tool_shapes import proposed_fields, question_of
from calib_core.text import several


def unused_split(subject: Subject) -> Iterator[Finding]:
    """Find a column that marks rows as training, calibration or test rows by its values, but is not used.

    A column that is used cannot have training rows only, or both training and calibration rows.
    """
    table, reading = subject.table, subject.reading
    for name in table.columns if reading.split is None else (reading.split,):
        if (name in reading.used and name != reading.split) or len(table.columns[name]) != table.n_rows:
            continue
        parts = parts_in(table, name)
        by_part = {part: value for value, part in parts.items()}
        if not parts or set(by_part) in ({"test"}, {"fit"}):
            continue
        texts = label_texts(table.columns[name])
        seen = ", ".join(f"{several(int((texts == value).sum()))} of {quoted(value)}" for value in parts)
        sentence = f"The column {quoted(name)} marks parts of the file ({seen}), but all rows are judged together."
        if {"fit", "train"} <= set(by_part):
            part = shown(f"{name}={by_part.get('test', by_part['fit'])}")
            sentence += (
                " A model looks too good on training rows. Remove them, or judge one part, such as the slice "
                f"{part} (--where)."
            )
            yield Finding("warning", "split", sentence)
        elif len(by_part) == 1:
            sentence = f"By the column {quoted(name)}, all rows are training rows, on which a model looks too good."
            yield Finding("warning", "split", sentence)
        elif reading.split is None:
            sentence += " Which rows are to be judged?"
            yield Finding("warning", "split", sentence, {"split": name}, f"Judge the test rows of {quoted(name)}")
        return


def _row_counts(subject: Subject) -> Iterator[Finding]:
    """Find a column of whole numbers that is named like counts of equal rows."""
    for name, values in _numeric_beside(subject):
        if not called_count(name) or not counts_rows(values):
            continue
        yield Finding(
            "warning",
            "weights",
            f"By the column {quoted(name)} ({values.min():,.0f} to {values.max():,.0f}), {len(values):,} rows may "
            f"represent {values.sum():,.0f}. It is not used, so every row counts once.",
            {"weights": name, "weighting": "copies"},
            f"Count each row as often as {quoted(name)} states",
        )
        return


def _numeric_beside(subject: Subject) -> Iterator[tuple[str, NDArray[np.float64]]]:
    """Yield the columns of numbers, one per row, that have no role."""
    table = subject.table
    for name, column in table.columns.items():
        if name in subject.reading.used or len(column) != table.n_rows or not looks_numeric(column):
            continue
        try:
            yield name, numbers(table.numeric(name))
        except InputError:
            continue


def unused_weights(subject: Subject) -> Iterator[Finding]:
    """Find a numeric column that is called weights or counts but is not used; body weights have such names, too."""
    if subject.reading.weights is not None:
        return
    if counted := list(_row_counts(subject)):
        yield from counted
        return
    for name, values in _numeric_beside(subject):
        known = values[np.isfinite(values) & (values >= 0)]
        if not called_weight(name) or not known.any() or known.min() == known.max():
            continue
        severity: Severity = "warning" if surely_weights(name, known) else "note"
        message = (
            f"The column {quoted(name)} ({known.min():.4g} to {known.max():.4g}) is not used, so every row counts "
            f"once. If it contains {'sampling' if _copies(known) else 'row'} weights, the effective sample size of the "
            f"{len(values):,} rows is about {effective_rows(len(known), sampling_weights(known)):,.0f}."
        )
        if not _copies(known):
            yield Finding(severity, "weights", message, {"weights": name}, f"Use {quoted(name)} as row weights")
            return
        message += (
            f" If it counts identical independent rows, they are {known.sum():,.0f} rows: choose it as weights, and as "
            "weighting choose copies."
        )
        change = {"weights": name, "weighting": "sampling"}
        yield Finding(severity, "weights", message, change, f"Use {quoted(name)} as sampling weights")
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
    for name in (*named(table.columns, "group"), *table.columns):
        if name in reading.used or role(name) in _NO_GROUP or len(table.columns[name]) != table.n_rows:
            continue
        codes = identifiers(table.columns[name], name)
        if codes is None or _once_per_model(table, name):
            continue
        n, groups = len(codes), int(codes.max()) + 1
        if numbers_rows(name) and n - groups <= _FEW_TWICE * n:
            yield _id_twice(table, name, codes, groups)
            return
        outcome = outcome_column(table, reading)
        same = outcome is not None and always_equal(codes, table.columns[outcome])
        why = (
            f"Rows with the same value always have the same {quoted(str(outcome))}: use"
            if same
            else ("If rows with the same value are related, use")
        )
        yield Finding(
            "warning" if same else "note",
            "group",
            f"The column {quoted(name)} has {groups:,} values in {n:,} rows. {why} it as the group. Intervals then "
            "allow for it, and each group is on one side of a split.",
            {"group": name},
            "Group rows with the same value",
        )
        return


_NO_GROUP = ("split", "weights", "class names", "correct", "question")
_FEW_TWICE = 0.1
"""Maximum share of repeated identifiers for which a row's own identifier is one that is used twice by mistake."""


def _once_per_model(table: Table, name: str) -> bool:
    """True if a column of models distinguishes the rows with the same value."""
    models = [each for each in table.columns if names_models(table, each) and len(table.columns[each]) == table.n_rows]
    rows = pd.DataFrame({each: label_texts(table.columns[each]) for each in (name, *models)})
    return bool(models) and not rows.duplicated().any()


def _id_twice(table: Table, name: str, codes: NDArray[np.intp], groups: int) -> Finding:
    first = int(np.flatnonzero(pd.Series(codes).duplicated(keep=False))[0])
    rows = np.flatnonzero(codes == codes[first])
    n, value = len(codes) - groups, label_texts(table.columns[name])[first]
    return Finding(
        "warning",
        "id-twice",
        f"{n:,} of {len(codes):,} rows {'has' if n == 1 else 'have'} the {quoted(name)} of an earlier row: "
        f"{quoted(str(value))} occurs in {table.places(rows, 3)}. Was a row exported twice?",
        {"group": name},
        "Group rows with the same identifier",
    )


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
        if not _once_per_model(table, name):
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
    """Find a column that is read as the outcome of a single risk because of its values, not its name.

    A note if the name of the outcome decides, by itself or because the risk's name has a word of it. Also a note if no
    other column can be the outcome.
    """
    table, reading = subject.table, subject.reading
    if subject.scores.shape[1] > 1 or len(reading.label) != 1 or table.joined is not None:
        return
    label = reading.label[0]
    if label not in table.columns or role(label) == "label" or "label" in proposed_fields(table, {}):
        return
    if (answers := told_apart(table)) is not None and answers.label == label:
        return
    alike = one_subject(reading.scores[0], label, two_values(table.columns[label]))
    free = outcome_columns(table, set(reading.used))
    others = tuple(name for name in free if len(two_values(table.columns[name])) == 2)
    # A name such as "died" decides, unless another column is named so, too.
    named_so = called_outcome(label) and not any(map(called_outcome, others))
    covariates = tuple(
        name for name, column in table.columns.items()
        if name not in reading.used and called_covariate(name) and len(two_values(column)) == 2
    )  # fmt: skip
    others = others or covariates
    severity: Severity = "note" if alike or named_so or not others else "warning"
    if called_number(label):
        yield Finding(
            "warning",
            "outcome",
            f"{quoted(label)} is named like a number of events. It has only 0 and 1, so it is read as the outcome. "
            f"If {quoted(reading.scores[0])} is an expected number or a rate, it is not the probability of an event.",
        )
        return
    yield Finding(severity, "outcome", *_told(table, reading, label, others))


def answers_by_values(subject: Subject) -> Iterator[Finding]:
    """Find columns of answers and labels that are recognized by their values rather than their usual names."""
    table, reading = subject.table, subject.reading
    if reading.layout == "confidence" and reading.correct in results_of_scorers(table):
        message = f"{quoted(reading.correct)} is a scorer's result and is read as whether the answer is right."
        settled = role(str(reading.correct).rpartition(".")[2]) == "correct"
        yield Finding("note" if settled else "warning", "scorer", message)
    confidence = str(reading.confidence)
    if reading.layout == "confidence" and not table.origin and not _called_confidence(confidence):
        yield Finding(
            "warning",
            "only-number",
            f"{quoted(confidence)} is read as the confidence only because no other column can be one.",
        )
    elif reading.layout == "confidence" and not table.origin and role(confidence) is None:
        yield from _other_confidence(table, reading, confidence)
    if (
        reading.layout == "top-label"
        and reading.predicted
        and not called_prediction(reading.predicted)
        and not table.origin
    ):
        answer, truth = reading.predicted, reading.label[0]
        if told_apart(table) == (answer, truth):
            sentence = f"{quoted(answer)} is read as the model's answer, and {quoted(truth)} as the true one."
            swapped = {"predicted": truth, "label": (answer,)}
            yield Finding("note", "answers", sentence, swapped, f"Use {quoted(truth)} as the model's answer")
            return
        yield Finding(
            "warning",
            "answers",
            f"{quoted(reading.predicted)} often agrees with {quoted(reading.label[0])}, so it is read as the predicted "
            f"class, and {quoted(str(reading.confidence))} as its probability.",
        )


def _other_confidence(table: Table, reading: Reading, confidence: str) -> Iterator[Finding]:
    """Report another column that could be the confidence just as well: the mean and the minimum over tokens."""
    if named_last([confidence], "confidence"):
        return
    free = [name for name in table.columns if name not in reading.used and len(table.columns[name]) == table.n_rows]
    for name in free:
        if looks_numeric(table.columns[name]) and called_score(name) and is_share(table, name):
            yield Finding(
                "warning",
                "only-number",
                f"{quoted(confidence)} is read as the confidence, but {quoted(name)} could be it, too.",
                {"confidence": name},
                f"Use {quoted(name)} as the confidence",
            )
            return


def _called_confidence(name: str) -> bool:
    return called_score(name) or called_log(name) or role(name) is not None or bool(named_last([name], "confidence"))


def _told(
    table: Table, reading: Reading, label: str, others: tuple[str, ...]
) -> tuple[str, dict[str, tuple[str, ...]] | None, str | None]:
    """Return the message, the change and its label; the change selects another two-valued column, if there is one."""
    values = two_values(table.columns[label])
    if set(values) <= set(_DIGITS):
        seen = f"contains only {' and '.join(values)}"
    else:
        seen = f"has the values {listed(values)}"
    sentence = f"{quoted(label)} {seen}, so it is read as the outcome."
    if {plain(value) for value in values} == {"1", "2"}:
        sentence += f" The event is assumed to be {quoted(reading.event or reading.classes[-1])}."
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
