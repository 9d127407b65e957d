"""Logs of inspect_ai: samples with what scorers say of them, as .json files and in .eval archives."""

from __future__ import annotations

import math
import string
from collections.abc import Iterator, Mapping
from typing import Any

from calib_core.readers.checks.finding import Finding
from calib_core.readers.foreign import inspect_grades
from calib_core.readers.foreign.growing_columns import Columns, lacking, number
from calib_core.readers.foreign.recognition import JsonDocument, Record, ShapeOfRecords, shape_of_records
from calib_core.readers.messages import quoted
from calib_core.readers.reading import Reading
from calib_core.readers.table import Table

_VERDICTS = ("score", "correct", "accuracy", "grade", "value")
"""Keys of a score of several parts under which the verdict stands."""


@shape_of_records
class InspectLog(ShapeOfRecords):
    """A log of inspect_ai: a row for each sample and epoch that was scored."""

    key = "inspect-log"
    title = "a log of inspect_ai"
    layout = "confidence"

    def recognises(self, document: JsonDocument) -> bool:
        if not all("id" in record and "epoch" in record for record in document.first):
            return False
        return isinstance(document.about.get("eval"), dict) or any(map(_scores, document.first))

    def table(self, document: JsonDocument) -> Table:
        columns = Columns(document.name)
        left: list[str] = []
        for place, record in document.records:
            scores = _scores(record)
            if not scores:
                left.append(str(record.get("id")))
                continue
            values = {f"{inspect_grades.SCORE}{scorer}": value for scorer, value in _verdicts(scores)}
            columns.add({**_beside(record, document.about), **_confidences(record, scores), **values}, place)
        notes = [lacking(left, "no score")] if left else []
        notes += _unfinished(document.about)
        return inspect_grades.graded(columns.table(notes=notes, by_line=document.by_line))

    def fields(self, table: Table, chosen: Mapping[str, Any]) -> Mapping[str, Any]:
        return inspect_grades.fields(table, chosen)

    def findings(self, table: Table, reading: Reading) -> Iterator[Finding]:
        yield from inspect_grades.findings(table, reading)


def _unfinished(about: Mapping[str, Any]) -> list[str]:
    status = about.get("status", "started" if "eval" in about else "success")
    if status == "success":
        return []
    return [f"The run did not end well (its status is {quoted(str(status))}): samples it lacks may be the harder ones."]


def _scores(record: Record) -> Mapping[str, Mapping[str, Any]]:
    """What scorers say of a sample, by their names; empty of a sample that was not scored."""
    scores = record.get("scores")
    if not isinstance(scores, dict):
        return {}
    return {name: each for name, each in scores.items() if isinstance(each, dict) and "value" in each}


def _verdicts(scores: Mapping[str, Mapping[str, Any]]) -> Iterator[tuple[str, Any]]:
    """Each scorer's value, and parts of values of several parts, under a name of their own."""
    for scorer, score in scores.items():
        value = score["value"]
        if not isinstance(value, dict):
            yield scorer, value
            continue
        for key, part in value.items():
            if "confidence" not in key.casefold():
                yield (scorer if key in _VERDICTS else f"{scorer}.{key}"), part


def _beside(record: Record, about: Mapping[str, Any]) -> dict[str, Any]:
    run = about.get("eval")
    known = run if isinstance(run, dict) else {}
    named = {key: known[key] for key in ("task", "model") if isinstance(known.get(key), str)}
    metadata = record.get("metadata")
    kept = metadata.items() if isinstance(metadata, dict) else ()
    own = {f"{inspect_grades.METADATA}{key}": value for key, value in kept if _single(value)}
    return {"id": str(record["id"]), "epoch": record["epoch"], **named, **own}


def _single(value: Any) -> bool:
    return isinstance(value, str | int | float | bool)


def _confidences(record: Record, scores: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Every confidence a sample has, by the names of columns."""
    found: dict[str, Any] = {}
    for scorer, score in scores.items():
        value, metadata = score["value"], score.get("metadata")
        name = f"{inspect_grades.CONFIDENCE}{scorer}"
        if isinstance(value, dict):
            parts = [part for key, part in value.items() if "confidence" in key.casefold() and _single(part)]
            if parts:
                found[name] = parts[0]
        if isinstance(metadata, dict) and _single(metadata.get("confidence")):
            found[f"{name}_metadata"] = metadata["confidence"]
    store = record.get("store")
    for key, value in store.items() if isinstance(store, dict) else ():
        if (key == "confidence" or key.endswith(":confidence")) and _single(value):
            found[inspect_grades.OF_STORE] = value
    if (share := letter_share(record, scores)) is not None:
        found[inspect_grades.FROM_LOGPROBS] = share
    return found


def has_confidence(record: Record) -> bool:
    """Whether a sample, or its summary, tells a confidence without log-probabilities.

    >>> has_confidence({"metadata": {"confidence": 0.7}}), has_confidence({"scores": {"choice": {"value": "C"}}})
    (True, False)
    """
    metadata = record.get("metadata")
    return bool(_confidences(record, _scores(record))) or (isinstance(metadata, dict) and "confidence" in metadata)


def letter_share(record: Record, scores: Mapping[str, Mapping[str, Any]]) -> float | None:
    """P(the answer's letter) among the option letters, from log-probabilities of the token that holds it.

    The token is the last that is the letter which a scorer reads as the answer, or any option's letter where none does.
    """
    options = record.get("choices")
    if not isinstance(options, list) or not 2 <= len(options) <= len(string.ascii_uppercase):
        return None
    letters = string.ascii_uppercase[: len(options)]
    read = [str(score.get("answer")).strip() for score in scores.values()]
    answers = [answer for answer in read if len(answer) == 1 and answer in letters] or list(letters)
    for token in reversed(_tokens(record)):
        letter = str(token.get("token")).strip()
        if letter not in answers:
            continue
        listed = token.get("top_logprobs")
        weight = dict.fromkeys(letters, 0.0)
        for each in filter(_is_object, listed if isinstance(listed, list) else ()):
            other, logprob = str(each.get("token")).strip(), number(each.get("logprob"))
            if other in weight and logprob <= 0:
                weight[other] += math.exp(logprob)
        own = number(token.get("logprob"))
        if not weight[letter] and own <= 0:
            weight[letter] = math.exp(own)
        total = sum(weight.values())
        # The letter alone says nothing of the others: what is left may be theirs.
        alone = sum(value > 0 for value in weight.values()) < 2
        return None if not total else weight[letter] if alone else weight[letter] / total
    return None


def _is_object(value: Any) -> bool:
    return isinstance(value, dict)


def _tokens(record: Record) -> list[Mapping[str, Any]]:
    """Tokens of the first completion with their log-probabilities."""
    found: Any = record.get("output")
    for step in ("choices", 0, "logprobs", "content"):
        if isinstance(step, str):
            found = found.get(step) if isinstance(found, dict) else None
        else:
            found = found[step] if isinstance(found, list) and found else None
    return list(filter(_is_object, found)) if isinstance(found, list) else []
