"""What samples of the harness leave open: by which measure choices are compared, and what their places mean."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from calib_core.readers.checks.finding import Finding
from calib_core.readers.foreign.choice_rows import CLASSES, CONFIDENCE, CORRECT, GOLD, SCORES, fields_of_choices
from calib_core.readers.foreign.level_columns import several, values_of
from calib_core.readers.messages import quoted
from calib_core.readers.proposal.label_codes import label_texts
from calib_core.readers.reading import Layout, Reading
from calib_core.readers.table import Array, Table
from calib_core.text import count, percent

ABOUT = ("subject", "category", "topic", "difficulty")
"""Keys of a document that say what its question is about."""
TASK = "task"
ALONG = ("doc_id", TASK, *ABOUT)
_MEASURES = {"": "acc", "_per_character": "acc_norm", "_mutual_info": "acc_mutual_info"}
"""Endings of columns, and which of the harness' own numbers each goes with."""
_HOW = {
    "": "The confidence is the softmax of the choices' log-likelihoods",
    "_per_character": "The confidence is the softmax of the choices' log-likelihoods divided by their characters",
    "_mutual_info": "The confidence is the softmax of log-likelihoods with the question less those without it",
}
_OTHER = {
    "": ("as they are", "Take log-likelihoods as they are"),
    "_per_character": ("divided by the characters of each choice", "Divide by the characters of each choice"),
    "_mutual_info": ("less those without the question", "Subtract log-likelihoods without the question"),
}


def with_columns(table: Table, columns: Mapping[str, Array], measures: tuple[str, ...]) -> Table:
    """The table with columns of choices; measures that say the same as the first are left out."""
    same = [m for m in measures[1:] if np.allclose(columns[CONFIDENCE + m], columns[CONFIDENCE], atol=1e-12)]
    drop = {name + m for m in same for name in (CONFIDENCE, CORRECT, "predicted", SCORES)}
    every = {**table.columns, **columns}
    return replace(
        table,
        columns={name: column for name, column in every.items() if name not in drop},
        matrices={name: matrix for name, matrix in table.matrices.items() if name not in drop},
    )


def measure_of_task(table: Table) -> str:
    """The measure whose answers the file itself counts: that of acc, where it has one and agrees with it."""
    agreed = {m: _agreement(table, m) for m, name in _MEASURES.items() if CORRECT + m in table.columns}
    for measure in ("", "_per_character"):
        if agreed.get(measure, 0.0) == 1:
            return measure
    return ""


def _agreement(table: Table, measure: str) -> float:
    """The share of rows whose answer is right or wrong as the file says; 0 where it does not say."""
    reported = table.columns.get(_MEASURES[measure])
    if reported is None or reported.dtype == object:
        return 0.0
    return float(np.mean(reported == table.columns[CORRECT + measure]))


def best_layout(table: Table) -> Layout:
    """All choices where they are classes; else the choice that is favoured, or whether it is right."""
    gold = table.columns[GOLD]
    if (gold == "").any() or len(pd.unique(gold)) < 2:
        return "confidence"
    if several(table, TASK) and SCORES not in table.matrices:
        return "confidence"  # choices of one task are none of another's
    return "wide" if SCORES in table.matrices else "top-label"


def shared_fields(table: Table) -> dict[str, Any]:
    """What goes along, no outcome among it; several filters are several models over the same questions."""
    filters = values_of(table, "filter")
    along = {"metadata": tuple(name for name in ALONG if name in table.columns)}
    if len(filters) < 2:
        return along
    return {**along, "models": "filter", "model": filters[0], "question": _question(table)}


def _question(table: Table) -> tuple[str, ...]:
    """What tells questions apart: their number, which starts again for each task."""
    return (TASK, "doc_id") if several(table, TASK) else ("doc_id",)


def findings(table: Table, reading: Reading) -> Iterator[Finding]:
    """Everything that the file does not say by itself."""
    yield from _about_measure(table, reading)
    yield from _about_acc(table, reading)
    yield from _about_places(table, reading)
    yield from _about_repeats(table, reading)
    if len(filters := values_of(table, "filter")) > 1:
        message = f"The file has {len(filters)} filters of the same answers, read as {len(filters)} models."
        yield Finding("note", "foreign", message)


def _measure(table: Table, reading: Reading) -> str:
    """The measure in use."""
    name = (
        reading.scores[0].removeprefix(SCORES) if reading.scores else str(reading.confidence).removeprefix(CONFIDENCE)
    )
    return name if CORRECT + name in table.columns else ""


def _about_measure(table: Table, reading: Reading) -> Iterator[Finding]:
    used = _measure(table, reading)
    for other, (how, label) in _OTHER.items():
        if other == used or CORRECT + other not in table.columns:
            continue
        yield Finding(
            "note",
            "foreign",
            f"{_HOW[used]}, as {_MEASURES[used]} takes them (accuracy {_accuracy(table, used)}); {how}, as "
            f"{_MEASURES[other]} takes them, confidences are others (accuracy {_accuracy(table, other)}).",
            _change(table, reading, other),
            label,
        )


def _change(table: Table, reading: Reading, measure: str) -> dict[str, Any]:
    if reading.layout == "wide":
        return {"scores": (SCORES + measure,)}
    change: dict[str, Any] = {"confidence": CONFIDENCE + measure}
    return change | (
        {"predicted": "predicted" + measure} if reading.layout == "top-label" else {"correct": CORRECT + measure}
    )


def _accuracy(table: Table, measure: str) -> str:
    return percent(float(np.nanmean(table.columns[CORRECT + measure])))


def _about_acc(table: Table, reading: Reading) -> Iterator[Finding]:
    used = _measure(table, reading)
    reported = table.columns.get(_MEASURES[used])
    if reported is None or reported.dtype == object:
        return
    parts = int(((reported != 0) & (reported != 1) & ~np.isnan(reported)).sum())
    if parts:
        yield Finding(
            "warning",
            "foreign",
            f"{_MEASURES[used]} is neither 0 nor 1 in {count(parts)} rows: the task counts several right choices a "
            "question (as truthfulqa_mc2 does), so that one right choice a question is not what it asks for.",
        )
        return
    apart = int(((reported != table.columns[CORRECT + used]) & ~np.isnan(reported)).sum())
    if apart:
        yield Finding(
            "warning",
            "foreign",
            f"In {count(apart)} of {count(len(reported))} rows the choice that log-likelihoods favour is right where "
            f"{_MEASURES[used]} says it is wrong, or the other way round: the task is scored by something else.",
        )


def _about_places(table: Table, reading: Reading) -> Iterator[Finding]:
    gold, bare = table.columns[GOLD], fields_of_choices(table.columns, False, _measure(table, reading))
    known = gold[gold != ""]
    unclear = len(gold) - len(known)
    if unclear and reading.layout == "confidence":
        yield Finding(
            "note",
            "foreign",
            f"In {count(unclear)} of {count(len(gold))} rows the target is not one of the choices alone: whether the "
            "answer is right is still known, so that confidences are judged, and classes are not.",
        )
    if len(known) and len(pd.unique(known)) == 1 and len(known) > 1:
        yield Finding(
            "note" if reading.layout == "confidence" else "warning",
            "foreign",
            f"The right choice is {quoted(known[0])} in every row (as in truthfulqa_mc1): its place says nothing of "
            "the answer, so that confidences are judged and classes are not.",
            None if reading.layout == "confidence" else bare,
            None if reading.layout == "confidence" else "Judge confidences alone",
        )
    elif reading.layout != "confidence" and str(known[0] if len(known) else "").startswith("choice "):
        why = "have other texts" if CLASSES in table.columns else "are not as many"
        yield Finding(
            "note",
            "foreign",
            f"Choices {why} from row to row: “choice 1” is a place and no class, and what is said class by class is "
            "said of places.",
            bare,
            "Judge confidences alone",
        )


def _about_repeats(table: Table, reading: Reading) -> Iterator[Finding]:
    named = (*_question(table), "filter")
    again = int(pd.DataFrame({name: label_texts(table.columns[name]) for name in named}).duplicated().sum())
    if again and reading.group is None:
        alone = len(named) == 2
        yield Finding(
            "warning",
            "foreign",
            f"{count(again)} rows repeat a document of the same filter (the harness appends to its file when it runs "
            f"again{'' if alone else ', and writes another of the same task'}): "
            f"{'name doc_id the group if they are meant, or ' if alone else ''}remove the first run.",
            {"group": "doc_id"} if alone else None,
            "Rows of a document belong together" if alone else None,
        )
