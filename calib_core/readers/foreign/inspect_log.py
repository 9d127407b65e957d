"""Logs of inspect_ai and frames of their samples: the scorers' grades of answers, and the confidence."""

from __future__ import annotations

import json
import math
import string
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from calib_core._base.arrays import Float64s
from calib_core.predictions.predictions import InputError
from calib_core.readers.column_store import Columns, number
from calib_core.readers.foreign.level_columns import values_of
from calib_core.readers.messages import listed, quoted
from calib_core.readers.proposal.answer_words import FALSE, TRUE, in_words
from calib_core.readers.proposal.label_codes import label_texts
from calib_core.readers.reading import Fields, Reading
from calib_core.readers.table import Array, Table
from calib_core.readers.table_findings import Finding
from calib_core.readers.text_encoding import MISSING_TEXT, numbers
from calib_core.readers.tool_shapes import (
    JsonDocument,
    Record,
    ShapeOfColumns,
    ShapeOfRecords,
    shape_of_columns,
    shape_of_records,
)
from calib_core.text import percent, several

SCORE, CORRECT, CONFIDENCE, METADATA = "score_", "correct_", "confidence_", "metadata_"
FROM_LOGPROBS, OF_SAMPLE, OF_STORE = "confidence_from_logprobs", "metadata_confidence", "store_confidence"
_PARTIAL = {"": math.nan, ", partly right as right": 1.0, ", partly right as wrong": 0.0}
_ABSTAINED = {"": math.nan, ", no answer as wrong": 0.0}
_DETAILS = ("_answer", "_explanation", "_metadata", "_value_history")
"""Suffixes of columns with details of a score in a frame of samples."""
_BESIDE = ("id", "epoch", "task", "model", "eval_id")
"""Columns retained as metadata, in addition to the samples' own metadata."""


@dataclass(frozen=True, eq=False)
class Grades:
    """Grades of one scorer, (n,): 1 right, 0 wrong, between for partly right, NaN for none; and who abstained."""

    values: Float64s
    abstained: NDArray[np.bool_]

    def columns(self, scorer: str) -> dict[str, Array]:
        """Return a column of unambiguous grades, and columns that count the others as right or wrong."""
        partial = (self.values > 0) & (self.values < 1)
        found = {}
        for some, as_partial in _PARTIAL.items() if partial.any() else (("", math.nan),):
            for none, as_abstained in _ABSTAINED.items() if self.abstained.any() else (("", math.nan),):
                values = np.where(partial, as_partial, self.values)
                found[f"{CORRECT}{scorer}{some}{none}"] = np.where(self.abstained, as_abstained, values)
        return found


def grades(values: Iterable[object]) -> Grades | None:
    """Return the grades of a scorer's values, such as C, I, P, N, 1 or 0; None if they are not grades.

    >>> found = grades(["C", "I", "P", "N", None, 1, True])
    >>> found.values.tolist(), found.abstained.tolist().index(True)
    ([1.0, 0.0, 0.5, nan, nan, 1.0, 1.0], 3)
    >>> grades([7, 3]), grades(["a text"]), grades([0.2, 0.7])
    (None, None, None)
    """
    each = list(values)
    abstained = np.array([isinstance(value, str) and value.strip() == "N" for value in each], dtype=bool)
    found = [math.nan if none else _grade(value) for value, none in zip(each, abstained, strict=True)]
    if any(grade is None for grade in found):
        return None
    graded = np.array(found, dtype=np.float64)
    # Numbers that are never 0 or 1 are some measurement, not grades.
    return Grades(graded, abstained) if np.isin(graded, (0.0, 1.0)).any() else None


def graded(table: Table) -> Table:
    """Add columns of each scorer's grades, computed from columns such as "score_choice"."""
    found: dict[str, Array] = {}
    for name, column in table.columns.items():
        if not name.startswith(SCORE) or name.endswith(_DETAILS) or "confidence" in name.casefold():
            continue
        if (each := grades(column.tolist())) is not None:
            found |= each.columns(name.removeprefix(SCORE))
    return replace(table, columns={**table.columns, **found})


def _grade(value: Any) -> float | None:
    """Return a single grade; None if the value is not a grade."""
    if value is None:
        return math.nan
    if isinstance(value, str):
        word = value.strip()
        if word in ("C", "I", "P"):
            return {"C": 1.0, "I": 0.0, "P": 0.5}[word]
        if word.casefold() in MISSING_TEXT:
            return math.nan
        if word.casefold() in TRUE | FALSE:
            return float(word.casefold() in TRUE)
        try:
            value = float(word)
        except ValueError:
            return None
    if not isinstance(value, bool | int | float):
        return None
    return float(value) if math.isnan(value) or 0 <= value <= 1 else None


# -- roles of the columns --------------------------------------------------------------------------------------


def scorers(table: Table) -> list[str]:
    """Names of the scorers that grade answers as right or wrong."""
    names = [name.removeprefix(CORRECT) for name in table.columns if name.startswith(CORRECT)]
    return [name for name in names if not name.endswith((*list(_PARTIAL)[1:], *list(_ABSTAINED)[1:]))]


def confidences(table: Table, scorer: str = "") -> list[str]:
    """Columns of confidences: the scorer's own, confidence scorers, the sample's, others', from log-probabilities."""
    own = [f"{CONFIDENCE}{scorer}", f"{CONFIDENCE}{scorer}_metadata"]
    others = [name for name in table.columns if name.startswith(CONFIDENCE) and name != FROM_LOGPROBS]
    scored = [name for name in table.columns if name.startswith(SCORE) and "confidence" in name.casefold()]
    ordered = dict.fromkeys([*own, *scored, OF_SAMPLE, OF_STORE, *others, FROM_LOGPROBS])
    return [name for name in ordered if name in table.columns and _confident(table.columns[name])]


def _confident(column: Array) -> bool:
    return bool(np.isfinite(numbers(column)).any()) or in_words(column)


def fields(table: Table, chosen: Fields) -> Fields:
    """Return fields for confidence, correctness and attempts as groups; InputError if the scorer is ambiguous."""
    if chosen.get("layout", "confidence") != "confidence":
        return {}
    names = scorers(table)
    correct = chosen.get("correct")
    if correct is None and len(names) != 1:
        raise InputError(_which(table, names))
    correct = correct or f"{CORRECT}{names[0]}"
    scorer = next((name for name in names if str(correct).startswith(f"{CORRECT}{name}")), "")
    known = confidences(table, scorer)
    if not known and "confidence" not in chosen:
        raise InputError(
            f"{table.name} contains which answers are right, but no confidence. Let the scorer write confidence to its "
            "metadata (0 to 1, or 0 to 100), or log the log-probabilities of the answer"
        )
    beside = [n for n in table.columns if n in _BESIDE or (n.startswith(METADATA) and n != OF_SAMPLE)]
    found: Fields = {"layout": "confidence", "correct": correct, "metadata": tuple(beside)}
    if known:
        found["confidence"] = known[0]
    if "missing" not in chosen and _gaps(table, str(correct), str(chosen.get("confidence") or found["confidence"])):
        found["missing"] = "exclude"
    if _attempts(table):
        found["group"] = "id"
    return found


def _gaps(table: Table, *names: str) -> bool:
    return any((label_texts(table.columns[name]) == "").any() for name in names if name in table.columns)


def _which(table: Table, names: list[str]) -> str:
    if not names:
        return (
            f"{table.name} has no scorer with right or wrong (C and I, or 1 and 0). Log one, or choose a column of 1 "
            "and 0 as correct"
        )
    columns = [f"{CORRECT}{name}" for name in names]
    return (
        f"{table.name} has {len(names)} scorers with right or wrong: {listed(names, 5)}. Choose one as correct, such "
        f"as {quoted(columns[0])}"
    )


def _attempts(table: Table) -> bool:
    """True if there are several questions, some with more than one row."""
    ids = label_texts(table.columns["id"])
    return 1 < len(set(ids.tolist())) < len(ids)


# -- findings --------------------------------------------------------------------------------------------------


def findings(table: Table, reading: Reading) -> Iterator[Finding]:
    """Yield what remains ambiguous after a scorer is chosen."""
    correct = str(reading.correct)
    scorer = next((name for name in scorers(table) if correct.startswith(f"{CORRECT}{name}")), None)
    if scorer is not None:
        yield from _about_grades(table, correct, scorer)
    yield from _about_confidence(table, reading, scorer or "")
    yield from _about_copies(table)
    if _attempts(table):
        each = label_texts(table.columns["id"])
        if reading.models is not None and reading.model is not None:
            each = each[label_texts(table.columns[reading.models]) == reading.model]
        n, ids = len(each), len(set(each.tolist()))
        if reading.group is None:
            yield Finding(
                "warning",
                "group",
                f"The {n:,} rows are repeated attempts at {ids:,} questions but are treated as independent, so "
                "intervals are too narrow.",
                {"group": "id"},
                "Group the attempts at each question",
            )
        else:
            yield Finding(
                "note",
                "foreign",
                f"The {n:,} rows are repeated attempts at {ids:,} questions. Attempts at a question are a group; they "
                "are not averaged.",
            )


def _about_copies(table: Table) -> Iterator[Finding]:
    named = [name for name in ("eval_id", "id", "epoch") if name in table.columns]
    copies = int(pd.DataFrame({name: label_texts(table.columns[name]) for name in named}).duplicated().sum())
    if copies and "epoch" in named:
        yield Finding(
            "warning",
            "foreign",
            f"{several(copies)} repeat a sample and epoch of the same run. If the run is in the file twice, remove "
            "one copy; its rows are not new attempts.",
        )


def _about_grades(table: Table, correct: str, scorer: str) -> Iterator[Finding]:
    plain = table.columns[f"{CORRECT}{scorer}"]
    rest = correct.removeprefix(f"{CORRECT}{scorer}")
    none = next((ending for ending in list(_ABSTAINED)[1:] if rest.endswith(ending)), "")
    some = rest.removesuffix(none)
    for ending in list(_PARTIAL)[1:]:
        name = f"{CORRECT}{scorer}{ending}"
        if name not in table.columns or ending == some:
            continue
        partial = int((np.isnan(plain) & ~np.isnan(table.columns[name])).sum())
        as_what = ending.removeprefix(", partly right as ")
        now = "left out" if not some else f"counted as {some.removeprefix(', partly right as ')}"
        message = f"{quoted(scorer)} grades {several(partial, 'answers')} as partly right (P), {now}."
        yield Finding(
            "note" if some or as_what == "wrong" else "warning",
            "foreign",
            message if some or as_what == "right" else "Or should partly right answers count as wrong?",
            {"correct": f"{CORRECT}{scorer}{ending}{none}"},
            f"Count partly right as {as_what}",
        )
    for ending in list(_ABSTAINED)[1:]:
        name = f"{CORRECT}{scorer}{ending}"
        if name not in table.columns or ending == none:
            continue
        abstained = int((np.isnan(plain) & ~np.isnan(table.columns[name])).sum())
        yield Finding(
            "warning",
            "foreign",
            f"{quoted(scorer)} found no answer (N) in {several(abstained)}; they are left out rather than counted as "
            "wrong.",
            {"correct": f"{CORRECT}{scorer}{some}{ending}"},
            "Count no answer as wrong",
        )


def _about_confidence(table: Table, reading: Reading, scorer: str) -> Iterator[Finding]:
    used = reading.confidence
    for other in confidences(table, scorer):
        if other != used:
            middle = numbers(table.columns[other])
            about = f", mean {np.nanmean(middle):.3g}" if np.isfinite(middle).any() else ""
            yield Finding(
                "note",
                "foreign",
                f"Confidence is taken from {quoted(used)}; {quoted(other)} is also available{about}.",
                {"confidence": other},
                f"Use {other}",
            )
    if used == FROM_LOGPROBS:
        known = numbers(table.columns[used])
        yield Finding(
            "note",
            "foreign",
            "Confidence is the probability of the answer's letter relative to all option letters, from the "
            f"log-probabilities of its token ({percent(float(np.isfinite(known).mean()))} of rows have them). Letters "
            "that are not listed count as 0, so it is slightly too high.",
        )


_VERDICTS = ("score", "correct", "accuracy", "grade", "value")
"""Keys under which a score with several parts stores its grade."""


@shape_of_records
class InspectLog(ShapeOfRecords):
    """Log of inspect_ai: a row for each sample and epoch that was scored."""

    key = "inspect-log"
    title = "a log of inspect_ai"
    layout = "confidence"

    def recognises(self, document: JsonDocument) -> bool:
        if not all("id" in record and "epoch" in record for record in document.first):
            return False
        return isinstance(document.about.get("eval"), dict) or any(map(_scores, document.first))

    def table(self, document: JsonDocument) -> Table:
        columns = Columns(document.name)
        for place, record in document.records:
            scores = _scores(record)
            if not scores:
                columns.leave_out(str(record.get("id")), "no score")
                continue
            values = {f"{SCORE}{scorer}": value for scorer, value in _verdicts(scores)}
            columns.add({**_beside(record, document.about), **_confidences(record, scores), **values}, place)
        return graded(columns.table(notes=_unfinished(document.about), by_line=document.by_line))

    def fields(self, table: Table, chosen: Fields) -> Fields:
        return fields(table, chosen)

    def findings(self, table: Table, reading: Reading) -> Iterator[Finding]:
        yield from findings(table, reading)


def _unfinished(about: Mapping[str, Any]) -> list[str]:
    status = about.get("status", "started" if "eval" in about else "success")
    if status == "success":
        return []
    return [f"The run did not finish (status {quoted(str(status))}). Missing samples may be the harder ones."]


def _scores(record: Record) -> Mapping[str, Mapping[str, Any]]:
    """Scores of a sample by scorer; empty for a sample that was not scored."""
    scores = record.get("scores")
    if not isinstance(scores, dict):
        return {}
    return {name: each for name, each in scores.items() if isinstance(each, dict) and "value" in each}


def _verdicts(scores: Mapping[str, Mapping[str, Any]]) -> Iterator[tuple[str, Any]]:
    """Yield each scorer's value; parts of a composite value get their own names."""
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
    own = {f"{METADATA}{key}": value for key, value in kept if _single(value)}
    return {"id": str(record["id"]), "epoch": record["epoch"], **named, **own}


def _single(value: Any) -> bool:
    return isinstance(value, str | int | float | bool)


def _confidences(record: Record, scores: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return every confidence of a sample, by column name."""
    found: dict[str, Any] = {}
    for scorer, score in scores.items():
        value, metadata = score["value"], score.get("metadata")
        name = f"{CONFIDENCE}{scorer}"
        if isinstance(value, dict):
            parts = [part for key, part in value.items() if "confidence" in key.casefold() and _single(part)]
            if parts:
                found[name] = parts[0]
        if isinstance(metadata, dict) and _single(metadata.get("confidence")):
            found[f"{name}_metadata"] = metadata["confidence"]
    store = record.get("store")
    for key, value in store.items() if isinstance(store, dict) else ():
        if (key == "confidence" or key.endswith(":confidence")) and _single(value):
            found[OF_STORE] = value
    if (share := letter_share(record, scores)) is not None:
        found[FROM_LOGPROBS] = share
    return found


def has_confidence(record: Record) -> bool:
    """True if a sample, or its summary, has a confidence separate from log-probabilities.

    >>> has_confidence({"metadata": {"confidence": 0.7}}), has_confidence({"scores": {"choice": {"value": "C"}}})
    (True, False)
    """
    metadata = record.get("metadata")
    return bool(_confidences(record, _scores(record))) or (isinstance(metadata, dict) and "confidence" in metadata)


def letter_share(record: Record, scores: Mapping[str, Mapping[str, object]]) -> float | None:
    """Probability of the answer's letter relative to all option letters, from log-probabilities of its token.

    The token is the last one equal to the letter that a scorer reads as the answer. Without such a letter, it is the
    last one equal to any option's letter.
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
        # The letter alone determines nothing about the others: the remaining probability may be theirs.
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


_KEYS = {"sample_id", "eval_id", "id", "epoch"}
_DETAIL = "_metadata"


@shape_of_columns
class SamplesFrame(ShapeOfColumns):
    """Frame of samples, a row per sample and epoch; its column target is the right answer, not an outcome."""

    key = "inspect-samples"
    title = "a frame of samples of inspect_ai (samples_df)"
    layout = "confidence"

    def recognises(self, table: Table) -> bool:
        return table.columns.keys() >= _KEYS and any(name.startswith(SCORE) for name in table.columns)

    def table(self, table: Table) -> Table:
        details = {
            f"{CONFIDENCE}{name.removeprefix(SCORE)}": _of_metadata(column)
            for name, column in table.columns.items()
            if name.startswith(SCORE) and name.endswith(_DETAIL) and column.dtype == object
        }
        return graded(replace(table, columns={**table.columns, **details}))

    def fields(self, table: Table, chosen: Fields) -> Fields:
        found = fields(table, chosen)
        runs = values_of(table, "eval_id")
        if not found or len(runs) < 2 or not _same_questions(table):
            return found
        return {**found, "models": "eval_id", "model": runs[0], "question": ("id", "epoch")}

    def findings(self, table: Table, reading: Reading) -> Iterator[Finding]:
        runs = values_of(table, "eval_id")
        if len(runs) > 1 and reading.models is not None:
            message = f"The frame has {len(runs)} runs on the same questions. They are read as {len(runs)} models."
            yield Finding("note", "foreign", message)
        yield from findings(table, reading)


def _of_metadata(column: Array) -> Array:
    """Confidence from the JSON metadata of each score; missing if there is none."""
    return pd.Series([number(_metadata(text).get("confidence")) for text in column], dtype="float64").to_numpy()


def _metadata(text: str) -> Mapping[str, Any]:
    try:
        found = json.loads(text) if text.startswith("{") else {}
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _same_questions(table: Table) -> bool:
    """True if all runs answer the same questions, each question once per epoch."""
    rows = pd.DataFrame({name: label_texts(table.columns[name]) for name in ("eval_id", "id", "epoch")})
    return bool(rows.duplicated(["id", "epoch"]).any() and not rows.duplicated().any())
