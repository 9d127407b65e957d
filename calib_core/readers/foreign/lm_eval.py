"""Samples of the Language Model Evaluation Harness: log-likelihoods of the choices of multiple-choice tasks.

The harness's Brier score uses the softmax of the log-likelihoods; acc_norm divides them by the length of each choice.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from operator import sub, truediv
from typing import Any

import numpy as np
import pandas as pd

from calib_core.predictions.predictions import InputError
from calib_core.readers.column_store import Columns, identifier, lacking, number
from calib_core.readers.foreign.choice_rows import (
    CLASSES,
    CONFIDENCE,
    CORRECT,
    GOLD,
    PREDICTED,
    SCORES,
    ChoiceRows,
    fields_of_choices,
    places_among,
)
from calib_core.readers.foreign.level_columns import several, values_of
from calib_core.readers.messages import quoted
from calib_core.readers.proposal.label_codes import label_texts
from calib_core.readers.reading import Fields, Layout, Reading
from calib_core.readers.table import Array, Table
from calib_core.readers.table_findings import Finding
from calib_core.readers.tool_shapes import JsonDocument, Record, ShapeOfRecords, shape_of_records
from calib_core.text import count, percent

ABOUT = ("subject", "category", "topic", "difficulty")
"""Keys of a document that describe the topic of its question."""
TASK = "task"
ALONG = ("doc_id", TASK, *ABOUT)
_MEASURES = {"": "acc", "_per_character": "acc_norm", "_mutual_info": "acc_mutual_info"}
"""Column suffixes, and the harness's own metric for each."""
_HOW = {
    "": "The confidence is the softmax of the choices' log-likelihoods",
    "_per_character": "The confidence is the softmax of log-likelihoods divided by the length of each choice",
    "_mutual_info": "The confidence is the softmax of log-likelihoods with the question minus those without it",
}
_OTHER = {
    "": ("Unchanged log-likelihoods", "Use unchanged log-likelihoods"),
    "_per_character": ("Dividing by the length of each choice", "Divide by the length of each choice"),
    "_mutual_info": (
        "Subtracting log-likelihoods without the question",
        "Subtract log-likelihoods without the question",
    ),
}


def with_columns(table: Table, columns: Mapping[str, Array], measures: tuple[str, ...]) -> Table:
    """Add columns of the choices; measures that always agree with the first are left out."""
    same = [m for m in measures[1:] if np.allclose(columns[CONFIDENCE + m], columns[CONFIDENCE], atol=1e-12)]
    drop = {name + m for m in same for name in (CONFIDENCE, CORRECT, "predicted", SCORES)}
    every = {**table.columns, **columns}
    return replace(
        table,
        columns={name: column for name, column in every.items() if name not in drop},
        matrices={name: matrix for name, matrix in table.matrices.items() if name not in drop},
    )


def measure_of_task(table: Table) -> str:
    """Return the measure that the file's acc uses, if there is one and it agrees; else the default."""
    agreed = {m: _agreement(table, m) for m, name in _MEASURES.items() if CORRECT + m in table.columns}
    for measure in ("", "_per_character"):
        if agreed.get(measure, 0.0) == 1:
            return measure
    return ""


def _agreement(table: Table, measure: str) -> float:
    """Share of rows whose correctness matches the file's own; 0 if the file has none."""
    reported = table.columns.get(_MEASURES[measure])
    if reported is None or reported.dtype == object:
        return 0.0
    return float(np.mean(reported == table.columns[CORRECT + measure]))


def best_layout(table: Table) -> Layout:
    """Return wide if choices are classes; else the layout for the favored choice, or for correctness."""
    gold = table.columns[GOLD]
    if (gold == "").any() or len(pd.unique(gold)) < 2:
        return "confidence"
    if several(table, TASK) and SCORES not in table.matrices:
        return "confidence"  # choices of one task are not choices of another
    return "wide" if SCORES in table.matrices else "top-label"


def shared_fields(table: Table) -> Fields:
    """Return metadata without outcomes; several filters are several models on the same questions."""
    filters = values_of(table, "filter")
    along: Fields = {"metadata": tuple(name for name in ALONG if name in table.columns)}
    if len(filters) < 2:
        return along
    return {**along, "models": "filter", "model": filters[0], "question": _question(table)}


def _question(table: Table) -> tuple[str, ...]:
    """Columns that identify questions: their number, which restarts in each task."""
    return (TASK, "doc_id") if several(table, TASK) else ("doc_id",)


def findings(table: Table, reading: Reading) -> Iterator[Finding]:
    """Yield everything that the file leaves ambiguous."""
    yield from _about_measure(table, reading)
    yield from _about_acc(table, reading)
    yield from _about_places(table, reading)
    yield from _about_repeats(table, reading)
    if len(filters := values_of(table, "filter")) > 1:
        message = f"The file has {len(filters)} filters for the same answers, read as {len(filters)} models."
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
            f"{_HOW[used]}, as in {_MEASURES[used]} (accuracy {_accuracy(table, used)}). {how}, as in "
            f"{_MEASURES[other]}, gives other confidences (accuracy {_accuracy(table, other)}).",
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
            f"In {count(parts)} rows, {_MEASURES[used]} is neither 0 nor 1. The task allows several right choices per "
            "question (as in truthfulqa_mc2); here, one choice per question is right.",
        )
        return
    apart = int(((reported != table.columns[CORRECT + used]) & ~np.isnan(reported)).sum())
    if apart:
        yield Finding(
            "warning",
            "foreign",
            f"In {count(apart)} of {count(len(reported))} rows, correctness by log-likelihood disagrees with "
            f"{_MEASURES[used]}. The task uses another score.",
        )


def _about_places(table: Table, reading: Reading) -> Iterator[Finding]:
    gold, bare = table.columns[GOLD], fields_of_choices(table.columns, False, _measure(table, reading))
    known = gold[gold != ""]
    unclear = len(gold) - len(known)
    if unclear and reading.layout == "confidence":
        yield Finding(
            "note",
            "foreign",
            f"In {count(unclear)} of {count(len(gold))} rows, the target is not exactly one of the choices. "
            "Correctness is still known, so confidences are evaluated, but classes are not.",
        )
    if len(known) and len(pd.unique(known)) == 1 and len(known) > 1:
        yield Finding(
            "note" if reading.layout == "confidence" else "warning",
            "foreign",
            f"The right choice is {quoted(known[0])} in every row (as in truthfulqa_mc1), so its position is "
            "uninformative. Confidences are evaluated, but classes are not.",
            None if reading.layout == "confidence" else bare,
            None if reading.layout == "confidence" else "Evaluate confidences only",
        )
    elif reading.layout != "confidence" and str(known[0] if len(known) else "").startswith("choice "):
        why = "The texts of the choices" if CLASSES in table.columns else "The numbers of choices"
        yield Finding(
            "note",
            "foreign",
            f"{why} differ from row to row. “choice 1” is a position rather than a class, so class-wise results are "
            "by position.",
            bare,
            "Evaluate confidences only",
        )


def _about_repeats(table: Table, reading: Reading) -> Iterator[Finding]:
    named = (*_question(table), "filter")
    again = int(pd.DataFrame({name: label_texts(table.columns[name]) for name in named}).duplicated().sum())
    if again and reading.group is None:
        alone = len(named) == 2
        yield Finding(
            "warning",
            "foreign",
            f"{count(again)} rows repeat a document of the same filter. The harness appends to its file on every run"
            f"{'' if alone else ', and writes another file for the same task'}. "
            f"{'If the repeats are intended, use doc_id as the group; otherwise r' if alone else 'R'}emove the first "
            "run.",
            {"group": "doc_id"} if alone else None,
            "Group the rows of each document" if alone else None,
        )


_NAME = re.compile(r"samples_(?P<task>.+?)(_\d{4}-\d\d-\d\dT[\d\-:.]+)?\.jsonl?", re.DOTALL)


@shape_of_records
class HarnessSamples(ShapeOfRecords):
    """Samples file (samples_{task}_{date}.jsonl from --log_samples); numbers may be strings."""

    key = "lm-evaluation-harness"
    title = "samples of the Language Model Evaluation Harness (--log_samples)"

    def recognises(self, document: JsonDocument) -> bool:
        return all("filtered_resps" in record and "doc" in record for record in document.first)

    def table(self, document: JsonDocument) -> Table:
        rows, along = _Rows(document.name), Columns(document.name)
        for place, record in document.records:
            if rows.add(record, place):
                along.add(_beside(record, rows.task), place)
        rows.check(along.rows)
        columns, matrices = rows.choices.finished()
        table = along.table(by_line=document.by_line, notes=rows.notes(), matrices=matrices)
        return rows.scored(with_columns(table, columns, rows.measures))

    def fields(self, table: Table, chosen: Fields) -> Fields:
        return {**shared_fields(table), **_layout(table, chosen)}

    def findings(self, table: Table, reading: Reading) -> Iterator[Finding]:
        yield from findings(table, reading)


def _layout(table: Table, chosen: Fields) -> Fields:
    measure = measure_of_task(table)
    layout = chosen.get("layout") or best_layout(table)
    if layout == "top-label":
        bare = fields_of_choices(table.columns, False, measure)
        return {**bare, "layout": layout, "predicted": PREDICTED + measure, "label": (GOLD,)}
    return fields_of_choices(table.columns, layout == "wide" and SCORES in table.matrices, measure)


class _Rows:
    """Usable records, and the reasons for leaving out others."""

    def __init__(self, name: str) -> None:
        self.name = name
        found = _NAME.fullmatch(name)
        self.task = found["task"] if found else None
        self.measures: tuple[str, ...] = ()
        self.choices = ChoiceRows(("",))
        self._left: dict[str, list[int]] = {}
        self._single = self._generated = self._from_acc = self._taken = 0
        self._unknown: list[int] = []
        self._own_scoring = False

    def add(self, record: Record, place: int) -> bool:
        """Add a record; return True if it was used."""
        pairs = _pairs(record.get("filtered_resps"))
        if pairs is None or len(pairs) < 2:
            self._generated += pairs is None
            self._single += pairs is not None
            return self._leave("fewer than two log-likelihoods", place)
        mutual = "acc_mutual_info" in record and len(pairs) % 2 == 0 and len(pairs) > 2
        contexts, texts = _requests(record.get("arguments"), len(pairs))
        if not all(map(math.isfinite, pairs)):
            return self._leave("a log-likelihood that is not a finite number", place)
        k = len(pairs) // 2 if mutual else len(pairs)
        values, without = pairs[:k], pairs[k:]
        texts, contexts = texts[:k], contexts[:k]
        if not self.measures:
            self.measures = ("", *(["_per_character"] if texts else []), *(["_mutual_info"] if mutual else []))
            self.choices = ChoiceRows(self.measures)
        scores = [values]
        for measure in self.measures[1:]:
            if not (texts if measure == "_per_character" else mutual):
                return self._leave("no texts for the choices", place)
            if measure == "_per_character":
                scores.append([*map(truediv, values, [len(text) or 1 for text in _spelled(record.get("doc"), texts)])])
            else:
                scores.append([*map(sub, values, without)])
        reported = _yes_or_no(record.get("acc"))
        if texts and texts.count(texts[0]) == k and len(set(contexts)) == k:
            # The choices are contexts (winogrande): the target is the text after them, not the position of a choice.
            gold: Collection[int] = _from_acc(values, reported)
            self._from_acc += len(gold)
            names = None
        else:
            gold, names = _gold(record.get("target"), texts, k), [text.strip() for text in texts] or None
        if not gold and reported is None:
            return self._leave("no right choice among their choices", place)
        if not gold and names is not None:
            self._unknown.append(self._taken)
            self._own_scoring |= reported == 1
        self._taken += 1
        self.choices.add(scores, gold, reported, names)
        return True

    def _leave(self, what: str, place: int) -> bool:
        self._left.setdefault(what, []).append(place)
        return False

    def scored(self, table: Table) -> Table:
        """Drop rows whose target is not a choice if acc is 0 in all of them: the harness counts them as wrong.

        If one of them is right, acc is the task's own and has more information than the target.
        """
        if self._own_scoring or not 0 < len(self._unknown) < self._taken:
            return table
        note = (
            f"{len(self._unknown):,} of {self._taken:,} rows have a target that is not one of the choices; they are "
            "left out."
        )
        kept = np.delete(np.arange(self._taken), self._unknown)
        found = table.take(kept)
        whole = {CLASSES: table.columns[CLASSES]} if CLASSES in table.columns else {}  # perhaps as long as the rows
        return replace(found, columns={**found.columns, **whole}, notes=(*table.notes, note))

    def check(self, taken: int) -> None:
        """InputError if no record has the values that confidences need."""
        if taken:
            return
        if self._generated:
            raise InputError(
                f"{self.name} contains generated answers (generate_until), which have no confidence. Log a "
                "multiple-choice task, or write confidence and correct for each answer"
            )
        if self._single:
            raise InputError(
                f"{self.name} has one log-likelihood per row (loglikelihood): the probability of the right text, not a "
                "confidence in an answer. Log a multiple-choice task instead"
            )
        raise InputError(f"{self.name} has no readable rows; {self.notes()[0]}")

    def notes(self) -> list[str]:
        """Notes on how the records were handled."""
        notes = [lacking(places, what) for what, places in self._left.items()]
        if self._from_acc:
            notes.append(
                f"In {self._from_acc:,} rows, the target is a text that all choices share (as in winogrande). The "
                "right choice of the two is taken from acc."
            )
        return notes


def _beside(record: Record, task: str | None) -> dict[str, Any]:
    """Return the metadata of a record."""
    kept: dict[str, Any] = {"doc_id": identifier(record.get("doc_id")), "filter": str(record.get("filter") or "none")}
    if task is not None:
        kept["task"] = task
    doc = record.get("doc")
    if isinstance(doc, dict):
        for key in ABOUT:
            if isinstance(value := doc.get(key), str):
                kept[key] = value
    for key in ("acc", "acc_norm", "acc_mutual_info"):
        if key in record:
            kept[key] = number(record[key])
    return kept


def _pairs(answers: Any) -> list[float] | None:
    """Log-likelihoods from pairs of log-likelihood and is_greedy; None for generated texts."""
    if not isinstance(answers, list) or not answers:
        return None
    if not isinstance(answers[0], list):
        # One request, or the pair itself: ["-3.2", "True"].
        return [number(answers[0])] if len(answers) == 2 and str(answers[1]).casefold() in ("true", "false") else None
    values = []
    for pair in answers:  # a loop instead of a function per pair: a million lines have four million pairs
        if not isinstance(pair, list) or not pair:
            return None
        first = pair[0]
        try:
            values.append(float(first) if type(first) is str else number(first))
        except ValueError:
            values.append(math.nan)
    return None if all(map(math.isnan, values)) else values


def _requests(arguments: Any, k: int) -> tuple[list[str], list[str]]:
    """Contexts and continuations of a row's requests; empty if they are missing."""
    contexts: list[str] = []
    texts: list[str] = []
    if isinstance(arguments, dict):
        numbered = [arguments.get(name) for name in _names(k)]
    else:
        numbered = arguments if isinstance(arguments, list) and len(arguments) == k else [None]
    for each in numbered:
        if isinstance(each, dict):
            context, text = each.get("arg_0"), each.get("arg_1")
        else:
            context, text = each[:2] if isinstance(each, list) and len(each) > 1 else (None, None)
        if not isinstance(context, str) or not isinstance(text, str):
            return [], []
        contexts.append(context)
        texts.append(text)
    return contexts, texts


@lru_cache(maxsize=64)
def _names(k: int) -> tuple[str, ...]:
    """Keys of a row's requests, depending only on their number."""
    return tuple(f"gen_args_{i}" for i in range(k))


def _spelled(doc: Any, texts: Sequence[str]) -> Sequence[str]:
    """Return the choices as the task defines them, without leading text: acc_norm divides by their characters.

    If a list in the document matches, it decides; otherwise a leading space or line end belongs to the task.
    """
    inside = list(doc.values()) if isinstance(doc, dict) else []
    inside += [each for value in inside if isinstance(value, dict) for each in value.values()]
    for each in inside:
        if isinstance(each, list) and len(each) == len(texts) and all(map(_spells, each, texts)):
            return each
    return [text.removeprefix(" ").lstrip("\n") for text in texts]


def _spells(choice: Any, text: str) -> bool:
    """True if the text equals the choice up to leading space."""
    return isinstance(choice, str) and text.endswith(choice) and not text.removesuffix(choice).strip()


def _gold(target: Any, texts: Sequence[str], k: int) -> Collection[int]:
    """Positions of the right choices, which the harness writes as a number, a list or the text of a choice."""
    text = str(target).strip()
    if text.isdecimal():
        return (int(text),) if len(text) < 9 and int(text) < k else ()
    if text.startswith("["):
        try:
            several = json.loads(text)
        except (ValueError, RecursionError):
            return ()
        return places_among(several, k)
    spelled = [choice.strip() for choice in texts]
    return (spelled.index(text),) if text in spelled else ()


def _from_acc(values: Sequence[float], reported: float | None) -> Collection[int]:
    if len(values) != 2 or reported is None:
        return ()
    top = int(values[1] > values[0])
    return (top if reported else 1 - top,)


def _yes_or_no(value: Any) -> float | None:
    found = float(value) if isinstance(value, bool) else number(value)
    return found if found in (0.0, 1.0) else None
