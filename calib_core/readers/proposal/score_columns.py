"""The score columns of a reading, as a matrix; their missing values and values out of range."""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

from calib_core.predictions.predictions import InputError
from calib_core.predictions.validation import RESCALED
from calib_core.readers.messages import affected, listed, quoted
from calib_core.readers.proposal.answer_words import confidences, ratings, shares_of
from calib_core.readers.proposal.column_roles import class_of, role
from calib_core.readers.proposal.label_codes import coded_labels, label_texts
from calib_core.readers.proposal.score_survey import evidence, survey
from calib_core.readers.reading import Reading
from calib_core.readers.table import Array, Table
from calib_core.readers.text_encoding import missing_text, numbers

Kept = NDArray[np.intp] | None
"""Rows in use; None for all."""

_BLOCK_VALUES = 1 << 18
_NOTHING = -1
"""A confidence that some tools write if none was given."""
_RANGES: dict[str, tuple[float, float]] = {
    "probabilities": (0.0, 1.0),
    "percentages": (0.0, 100.0),
    "log-probabilities": (-np.inf, 0.0),
    "logits": (-np.inf, np.finfo(np.float64).max),
    "words": (0.0, 1.0),
}
_SLACK = 1e-6
"""Tolerance for float32 rounding in sums and maxima; Predictions handles such values."""


def score_matrix(table: Table, reading: Reading) -> Array:
    """Return the score columns as one matrix, as stored."""
    scores = table.matrix(reading.scores)
    return scores[:, None] if scores.ndim == 1 else scores


def score_names(reading: Reading, k: int) -> tuple[str, ...]:
    """Return a name for each score column: its own, or "matrix[:, j]"."""
    if len(reading.scores) == k:
        return reading.scores
    return tuple(f"{reading.scores[0]}[:, {j}]" for j in range(k))


def missing_values(table: Table, reading: Reading) -> dict[str, NDArray[np.bool_]]:
    """Return the rows with missing values, for every column that has any."""
    gaps: dict[str, NDArray[np.bool_]] = {}
    if reading.layout == "wide":
        gaps |= _score_gaps(table, reading)
    if reading.layout == "samples":
        named = (*reading.question, str(reading.predicted), reading.label[0])
        gaps |= {name: label_texts(table.column(name)) == "" for name in named}
    elif reading.label:
        gaps[reading.label[0]] = coded_labels(table, reading).missing
    if reading.confidence is not None:
        gaps[reading.confidence] = np.isnan(numbers(confidences(table, reading)[:, 0]))
    if reading.weights is not None:
        gaps[reading.weights] = np.isnan(numbers(table.numeric(reading.weights)))
    joined = reading.question if reading.models is not None else ()
    for name in (reading.predicted, reading.group, reading.models, *joined):
        if name is not None:
            gaps[name] = label_texts(table.column(name)) == ""
    if reading.correct is not None:
        gaps[reading.correct] = missing_text(label_texts(table.column(reading.correct)))
    return {name: gap for name, gap in gaps.items() if gap.any()}


def kept_rows(table: Table, reading: Reading) -> Kept:
    """Return the rows without missing values, or None for all; InputError if missing values are not allowed."""
    gaps = missing_values(table, reading)
    if not gaps:
        return None
    rows = np.logical_or.reduce(list(gaps.values()))
    first = next(iter(gaps))
    if reading.missing == "exclude":
        if rows.all():
            raise InputError(f"{table.name}: every row has a missing value; the first is in column {quoted(first)}")
        return np.flatnonzero(~rows)
    row = int(np.flatnonzero(gaps[first])[0])
    raise InputError(
        f"{table.name}, column {quoted(first)}, {table.place(row)}: the value is missing; "
        f'{affected(int(rows.sum()), len(rows))}. Fill it in, or choose missing "exclude" to leave out these rows.'
    )


def _score_gaps(table: Table, reading: Reading) -> dict[str, NDArray[np.bool_]]:
    scores = score_matrix(table, reading)
    if scores.dtype.kind != "f" or not any(np.isnan(block.sum()) for block in _blocks(scores)):
        return {}
    names = score_names(reading, scores.shape[1])
    return {name: np.isnan(scores[:, j]) for j, name in enumerate(names)}


def _blocks(scores: Array) -> list[Array]:
    step = max(1, _BLOCK_VALUES // max(1, scores.shape[1]))
    return [scores[i : i + step] for i in range(0, len(scores), step)]


def check_scores(table: Table, reading: Reading, scores: Array, kept: Kept = None) -> None:
    """InputError for the first score outside the range of its type: place, value, number of rows and remedy."""
    low, high = _RANGES[reading.kind]
    slack = _SLACK * (100 if reading.kind == "percentages" else 1)
    wrong: list[NDArray[np.intp]] = []
    start = 0
    for block in _blocks(scores):
        # Two passes without temporaries settle almost every block; NaN passes both comparisons and is handled
        # elsewhere.
        if np.nanmin(block, initial=0.0) < low or np.nanmax(block, initial=0.0) > high + slack:
            wrong.append(start + np.flatnonzero(((block < low) | (block > high + slack)).any(axis=1)))
        start += len(block)
    rows = np.concatenate(wrong) if wrong else np.empty(0, dtype=np.intp)
    rows = rows if kept is None else np.intersect1d(rows, kept)
    if len(rows):
        raise InputError(_outside(table, reading, scores, rows, low, high + slack))


def _outside(table: Table, reading: Reading, scores: Array, rows: NDArray[np.intp], low: float, high: float) -> str:
    row = int(rows[0])
    j = int(np.flatnonzero((scores[row] < low) | (scores[row] > high))[0])
    value = float(scores[row, j])
    names = (str(reading.confidence),) if reading.layout != "wide" else score_names(reading, scores.shape[1])
    bound = (
        f"below {low:g}" if value < low else "infinite" if np.isinf(value) else f"above {_RANGES[reading.kind][1]:g}"
    )
    advice = {
        "probabilities": ' If these are percentages, choose kind "percentages". If they are logits, choose kind '
        '"logits". If they are probabilities, divide each row by its sum.',
        "percentages": ' For probabilities, choose kind "probabilities"; for raw scores, choose kind "logits".',
        "log-probabilities": ' For raw scores, choose kind "logits".',
        "logits": " Correct the value: logits are finite, or -inf for an impossible class.",
    }[reading.kind]
    if value < low:  # no division makes it positive
        advice = advice.replace("divide each row by its sum", "correct the value")
    if 2 * len(rows) > len(scores):  # most values of a column of probabilities are not wrong
        advice = advice.partition(" If they are probabilities,")[0]
    if reading.kind == "probabilities" and np.nanmax(scores[rows]) > 100:  # no percentages
        advice = (
            ' For a rate per 1,000 or basis points, divide the values in the file. For logits, choose kind "logits".'
        )
    if reading.layout != "wide":
        advice = advice.replace(", divide each row by its sum", ", correct the value")
    if reading.layout != "wide" and value == _NOTHING:
        advice = ' If -1 means no answer, leave it empty, and choose missing "exclude" to leave out these rows.'
    elif reading.layout != "wide" and (steps := ratings(scores[:, 0])):
        words = shares_of(steps)
        advice = f' For ratings up to {steps[-1]}, choose kind "words" and words {listed(words, 2)}, or your own.'
    elif np.isposinf(value) and reading.kind != "logits":
        advice = " Correct the value, or remove its row from the file."
    sums = _of_sums(scores, len(rows)) if reading.kind == "probabilities" and value > high else ""
    return (
        f"{table.name}, column {quoted(names[j])}, {table.place(row)}: {value:.6g} is {bound}; "
        f"{affected(len(rows), len(scores))}.{sums}{advice}"
    )


def _of_sums(scores: Array, beyond: int) -> str:
    """Sentence on rows that do not sum to 1, if these are more than the ``beyond`` rows with a score above 1."""
    sums = survey(scores).sums
    off = sums[np.isfinite(sums) & (np.abs(sums - 1) > RESCALED)]
    if scores.shape[1] == 1 or len(off) <= beyond:
        return ""
    low, high = f"{off.min():.4g}", f"{off.max():.4g}"
    ends = f"each sums to {low}" if low == high else f"their sums are {low} to {high}"
    return f" {len(off):,} of {len(sums):,} rows do not sum to 1: {ends}."


def sums_off(table: Table, probs: Array, kept: Kept) -> str:
    """Return the message about rows that do not sum to 1: the worst place, the number, and the likely type."""
    found = survey(probs)
    off = np.abs(found.sums - 1)
    worst = int(off.argmax())
    kind, seen = evidence(probs, found)
    advice = (
        "Check for a missing or an additional class column, or divide each row by its sum. For raw scores, choose kind "
        '"logits".'
    )
    if kind not in (None, "probabilities"):
        advice = f'The scores look like {kind} ({seen}): choose kind "{kind}".'
    return (
        f"{table.name}, {table.place(worst if kept is None else int(kept[worst]))}: the scores sum to "
        f"{found.sums[worst]:.6g} instead of 1; {affected(int((off > RESCALED).sum()), len(off))}. "
        f"{advice}"
    )


_SCORES = ("probabilities", "logits", "log-probabilities")
_PREFIX = re.compile(r"(y_)?(pred_)?p(rob|roba|robability)?s?|logits?|z|softmax|log_?(probs?|softmax)")


def check_for_scores(table: Table) -> None:
    """InputError if scores are not numbers, or if the table has only one column; returns if only names are unusual.

    >>> check_for_scores(Table("a.csv", "csv", {"p y": np.array(["0.7 1"], dtype=object)}))
    Traceback (most recent call last):
    ...
    calib_core._base.errors.InputError: a.csv has only one column. Separate the score columns and the labels \
by commas, semicolons or tabs, below one header line
    """
    if table.format == "csv" and len(table.names) == 1:
        raise InputError(
            f"{table.name} has only one column. Separate the score columns and the labels by "
            "commas, semicolons or tabs, below one header line"
        )
    for name in table.columns:
        found = class_of(name)
        called = role(name) in _SCORES or (found is not None and _PREFIX.fullmatch(found[0]))
        if called and np.isnan(numbers(table.numeric(name))).all():
            raise InputError(f"{table.name}, column {quoted(name)} contains no number; fill in the scores")
