"""Predictions of OpenCompass: probabilities of choices (CLP), perplexities of labels (PPL), or generated answers."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from calib_core.predictions.predictions import InputError
from calib_core.readers.column_store import Columns, identifier, number
from calib_core.readers.foreign.choice_rows import CLASSES, GOLD
from calib_core.readers.reading import Fields, Reading
from calib_core.readers.table import Table
from calib_core.readers.table_findings import Finding
from calib_core.readers.tool_shapes import JsonDocument, Record, ShapeOfRecords, shape_of_records
from calib_core.text import count

_UNSCORED, _UNLABELLED = "no scores of the first record's choices", "no gold that is one of the choices"
"""Reasons for leaving records out."""
_MARK = "label: "
_WRITTEN = "gold is written"
_AS_TEXT, _AS_PLACE = "gold as text", "gold as place"
_PROBABILITY, _MINUS, _LOGARITHM = "probability", "minus PPL", "minus log of PPL"


@shape_of_records
class OpenCompass(ShapeOfRecords):
    """Object of records by number (predictions/{model}/{dataset}.json)."""

    key = "opencompass"
    title = "predictions of OpenCompass"

    def recognises(self, document: JsonDocument) -> bool:
        return all(_scores(each) or _generated(each) for each in document.first)

    def table(self, document: JsonDocument) -> Table:
        records = list(document.records)
        names = next((list(found) for _, record in records if (found := _scores(record))), [])
        if not names:
            raise InputError(
                f"{document.name} contains answers generated with OpenCompass, which have no confidence. Evaluate with "
                "a CLP or PPL inferencer, or write confidence and correct for each answer"
            )
        golds = [record.get(GOLD) for _, record in records]
        zeros, codings = _zeros_left_out(golds), _codings(golds, names)
        columns = Columns(document.name, _UNSCORED, _UNLABELLED)
        for place, record in records:
            scores, value = _scores(record), record.get(GOLD)
            gold = {key: _CODINGS[key](value, names, zeros) for key in codings}
            if scores.keys() != set(names) or not all(map(math.isfinite, scores.values())):
                columns.leave_out(record.get("id", place), _UNSCORED)
            elif set(gold.values()) == {None}:
                columns.leave_out(record.get("id", place), _UNLABELLED)
            else:
                measured = _measures([scores[name] for name in names], "choices" in record)
                beside = {_WRITTEN: value is not None} if zeros and _AS_PLACE in codings else {}
                named = gold if len(gold) > 1 else {GOLD: next(iter(gold.values()))}
                columns.add({"id": identifier(record.get("id")), **named, **beside, **measured}, place)
        table = columns.table(by_line=document.by_line)
        return replace(table, columns={**table.columns, CLASSES: np.array(names, dtype=object)})

    def fields(self, table: Table, chosen: Fields) -> Fields:
        if GOLD not in table.columns and "label" not in chosen:
            raise InputError(
                f"{table.name}: the golds are numbers that could be choices or positions of choices, counted from 0. "
                f'Choose label from "{_AS_TEXT}" and "{_AS_PLACE}"'
            )
        shared: Fields = {
            "layout": "wide",
            "label": (GOLD,),
            "label_coding": "names",
            "classes": tuple(str(name) for name in table.columns[CLASSES]),
        }
        if _PROBABILITY in table.matrices:
            return {**shared, "kind": "probabilities", "scores": (_PROBABILITY,)}
        if "scores" in chosen:
            return {**shared, "kind": "logits"}
        raise InputError(
            f"{table.name}: PPL may be a perplexity or a mean negative log-likelihood per token. Choose scores: "
            f'"{_MINUS}" if it is a mean, "{_LOGARITHM}" if it is a perplexity'
        )

    def findings(self, table: Table, reading: Reading) -> Iterator[Finding]:
        if _WRITTEN in table.columns and reading.label != (_AS_TEXT,):
            silent = int((table.columns[_WRITTEN] == "false").sum())
            yield Finding(
                "warning",
                "foreign",
                f"{count(silent)} of {count(table.n_rows)} records have no gold, and no record has gold 0. "
                "OpenCompass omits zeros, so these records are read as the first choice.",
            )


def _scores(record: Record) -> dict[str, float]:
    """Value of every choice: its probability (CLP) or PPL; empty if there is none."""
    choices, values = record.get("choices"), record.get("prediction")
    if isinstance(choices, list) and isinstance(values, list):
        return (
            dict(zip(map(str, choices), map(number, values), strict=False)) if len(choices) == len(values) > 1 else {}
        )
    found = {key.removeprefix(_MARK): value for key, value in record.items() if key.startswith(_MARK)}
    return {
        name: number(value.get("PPL")) for name, value in found.items() if isinstance(value, dict) and "PPL" in value
    }


def _generated(record: Record) -> bool:
    return "origin_prompt" in record and isinstance(record.get("prediction"), str | list)


def _measures(values: Sequence[float], probabilities: bool) -> dict[str, list[float]]:
    if probabilities:
        return {_PROBABILITY: list(values)}
    return {_MINUS: [-v for v in values], _LOGARITHM: [-math.log(v) if v > 0 else math.nan for v in values]}


def _zeros_left_out(golds: list[Any]) -> bool:
    """True if golds are numbers from 1 or missing, because golds of 0 were omitted."""
    known = [gold for gold in golds if gold is not None]
    return len(known) < len(golds) and bool(known) and all(type(gold) is int and gold > 0 for gold in known)


def _codings(golds: list[Any], names: Sequence[str]) -> tuple[str, ...]:
    """Return how golds name choices, for the whole file: the coding that fits more of them, or both on a tie."""
    known = [gold for gold in golds if gold is not None]
    found = {key: [coded(gold, names, False) for gold in known] for key, coded in _CODINGS.items()}
    fits = {key: sum(each is not None for each in names_of) for key, names_of in found.items()}
    if found[_AS_TEXT] == found[_AS_PLACE] or fits[_AS_TEXT] != fits[_AS_PLACE]:
        return (_AS_PLACE if fits[_AS_PLACE] > fits[_AS_TEXT] or _zeros_left_out(golds) else _AS_TEXT,)
    return (_AS_TEXT, _AS_PLACE)


def _named(value: Any, names: Sequence[str], zeros: bool) -> str | None:
    """Choice whose text is the gold."""
    del zeros
    return None if value is None else next((name for name in names if name.strip() == str(value).strip()), None)


def _placed(value: Any, names: Sequence[str], zeros: bool) -> str | None:
    """Choice at the position given by the gold; with ``zeros`` omitted, a missing gold is the first choice."""
    value = 0 if zeros and value is None else value
    return names[value] if type(value) is int and 0 <= value < len(names) else None


_CODINGS = {_AS_TEXT: _named, _AS_PLACE: _placed}
"""Codings of golds: among choices "1", "2" and "3", a gold of 1 is the first by text, the second by position."""
