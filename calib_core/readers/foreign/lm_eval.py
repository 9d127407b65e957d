"""Samples of the Language Model Evaluation Harness: log-likelihoods of the choices of multiple-choice tasks.

Its own Brier score takes the softmax of the log-likelihoods; acc_norm divides them by the characters of each choice.
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

from calib_core.predictions.predictions import InputError
from calib_core.readers.checks.finding import Finding
from calib_core.readers.foreign import lm_eval_findings as about
from calib_core.readers.foreign.choice_rows import (
    CLASSES,
    GOLD,
    PREDICTED,
    SCORES,
    ChoiceRows,
    fields_of_choices,
    places_among,
)
from calib_core.readers.foreign.growing_columns import Columns, identifier, lacking, number
from calib_core.readers.foreign.recognition import JsonDocument, Record, ShapeOfRecords, shape_of_records
from calib_core.readers.reading import Reading
from calib_core.readers.table import Table

_NAME = re.compile(r"samples_(?P<task>.+?)(_\d{4}-\d\d-\d\dT[\d\-:.]+)?\.jsonl?", re.DOTALL)


@shape_of_records
class HarnessSamples(ShapeOfRecords):
    """samples_{task}_{date}.jsonl, written with --log_samples; strings or numbers, whatever the version."""

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
        return rows.scored(about.with_columns(table, columns, rows.measures))

    def fields(self, table: Table, chosen: Mapping[str, Any]) -> Mapping[str, Any]:
        return {**about.shared_fields(table), **_layout(table, chosen)}

    def findings(self, table: Table, reading: Reading) -> Iterator[Finding]:
        yield from about.findings(table, reading)


def _layout(table: Table, chosen: Mapping[str, Any]) -> Mapping[str, Any]:
    measure = about.measure_of_task(table)
    layout = chosen.get("layout") or about.best_layout(table)
    if layout == "top-label":
        bare = fields_of_choices(table.columns, False, measure)
        return {**bare, "layout": layout, "predicted": PREDICTED + measure, "label": (GOLD,)}
    return fields_of_choices(table.columns, layout == "wide" and SCORES in table.matrices, measure)


class _Rows:
    """The records that can be used, and why others cannot."""

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
        """Whether the record was taken."""
        pairs = _pairs(record.get("filtered_resps"))
        if pairs is None or len(pairs) < 2:
            self._generated += pairs is None
            self._single += pairs is not None
            return self._leave("not two log-likelihoods or more", place)
        mutual = "acc_mutual_info" in record and len(pairs) % 2 == 0 and len(pairs) > 2
        contexts, texts = _requests(record.get("arguments"), len(pairs))
        if not all(map(math.isfinite, pairs)):
            return self._leave("a log-likelihood that is no finite number", place)
        k = len(pairs) // 2 if mutual else len(pairs)
        values, without = pairs[:k], pairs[k:]
        texts, contexts = texts[:k], contexts[:k]
        if not self.measures:
            self.measures = ("", *(["_per_character"] if texts else []), *(["_mutual_info"] if mutual else []))
            self.choices = ChoiceRows(self.measures)
        scores = [values]
        for measure in self.measures[1:]:
            if not (texts if measure == "_per_character" else mutual):
                return self._leave("no texts of the choices", place)
            if measure == "_per_character":
                scores.append([*map(truediv, values, [len(text) or 1 for text in _spelled(record.get("doc"), texts)])])
            else:
                scores.append([*map(sub, values, without)])
        reported = _yes_or_no(record.get("acc"))
        if texts and texts.count(texts[0]) == k and len(set(contexts)) == k:
            # The choices are contexts, as of winogrande: the target is the text behind them, and no place of a choice.
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
        """Without rows whose target is no choice, where acc is 0 in all of them: the harness counts them as wrong.

        Where one of them is right, acc is the task's own, which knows more than the target.
        """
        if self._own_scoring or not 0 < len(self._unknown) < self._taken:
            return table
        note = f"{len(self._unknown):,} of {self._taken:,} rows have a target that is none of their choices: left out."
        kept = np.delete(np.arange(self._taken), self._unknown)
        found = table.take(kept)
        whole = {CLASSES: table.columns[CLASSES]} if CLASSES in table.columns else {}  # as many as rows, perhaps
        return replace(found, columns={**found.columns, **whole}, notes=(*table.notes, note))

    def check(self, taken: int) -> None:
        """InputError where no record has what a confidence can be taken from."""
        if taken:
            return
        if self._generated:
            raise InputError(
                f"{self.name} holds generated answers (generate_until), which come without any confidence; log a "
                "multiple-choice task, or write confidence and correct for each answer"
            )
        if self._single:
            raise InputError(
                f"{self.name} holds one log-likelihood a row (loglikelihood), the probability of the right text and no "
                "confidence in an answer; log a multiple-choice task instead"
            )
        raise InputError(f"{self.name} has 0 rows that can be read; {self.notes()[0]}")

    def notes(self) -> list[str]:
        """Sentences about what was done with the records."""
        notes = [lacking(places, what) for what, places in self._left.items()]
        if self._from_acc:
            notes.append(
                f"The target of {self._from_acc:,} rows is a text that all choices share (as in winogrande): the right "
                "one of two choices is taken from acc."
            )
        return notes


def _beside(record: Record, task: str | None) -> dict[str, Any]:
    """What goes along with the scores."""
    kept: dict[str, Any] = {"doc_id": identifier(record.get("doc_id")), "filter": str(record.get("filter") or "none")}
    if task is not None:
        kept["task"] = task
    doc = record.get("doc")
    if isinstance(doc, dict):
        for key in about.ABOUT:
            if isinstance(value := doc.get(key), str):
                kept[key] = value
    for key in ("acc", "acc_norm", "acc_mutual_info"):
        if key in record:
            kept[key] = number(record[key])
    return kept


def _pairs(answers: Any) -> list[float] | None:
    """The log-likelihoods of [log-likelihood, is greedy] pairs; None of generated texts."""
    if not isinstance(answers, list) or not answers:
        return None
    if not isinstance(answers[0], list):
        # One request, or the pair itself: ["-3.2", "True"].
        return [number(answers[0])] if len(answers) == 2 and str(answers[1]).casefold() in ("true", "false") else None
    values = []
    for pair in answers:  # a loop, and no function a pair: a million lines have four million
        if not isinstance(pair, list) or not pair:
            return None
        first = pair[0]
        try:
            values.append(float(first) if type(first) is str else number(first))
        except ValueError:
            values.append(math.nan)
    return None if all(map(math.isnan, values)) else values


def _requests(arguments: Any, k: int) -> tuple[list[str], list[str]]:
    """Contexts and continuations of a row's requests; empty where they are not there."""
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
    """Keys of a row's requests, the same for every row of as many."""
    return tuple(f"gen_args_{i}" for i in range(k))


def _spelled(doc: Any, texts: Sequence[str]) -> Sequence[str]:
    """The choices as the task has them, by whose characters acc_norm divides: without what it puts before them.

    A list of the document that spells them tells; else the space or line end before them is the task's.
    """
    inside = list(doc.values()) if isinstance(doc, dict) else []
    inside += [each for value in inside if isinstance(value, dict) for each in value.values()]
    for each in inside:
        if isinstance(each, list) and len(each) == len(texts) and all(map(_spells, each, texts)):
            return each
    return [text.removeprefix(" ").lstrip("\n") for text in texts]


def _spells(choice: Any, text: str) -> bool:
    """Is the text a choice, but for space before it?"""
    return isinstance(choice, str) and text.endswith(choice) and not text.removesuffix(choice).strip()


def _gold(target: Any, texts: Sequence[str], k: int) -> Collection[int]:
    """The places of the right choices, which the harness writes as a number, a list of them or the text of a choice."""
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
