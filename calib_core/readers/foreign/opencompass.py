"""Predictions of OpenCompass: probabilities of choices (CLP), perplexities of labels (PPL), or generated answers."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from calib_core._text import count
from calib_core.predictions import InputError
from calib_core.readers.finding import Finding
from calib_core.readers.foreign.choice_rows import CLASSES, GOLD
from calib_core.readers.foreign.growing_columns import Columns, lacking, number
from calib_core.readers.foreign.recognition import Document, Record, ShapeOfRecords, shape_of_records
from calib_core.readers.reading import Reading
from calib_core.readers.table import Table

_MARK = "label: "
_WRITTEN = "gold is written"
_PROBABILITY, _MINUS, _LOGARITHM = "probability", "minus PPL", "minus log of PPL"


@shape_of_records
class OpenCompass(ShapeOfRecords):
    """predictions/{model}/{dataset}.json: an object of records by their numbers."""

    key = "opencompass"
    title = "predictions of OpenCompass"

    def recognises(self, document: Document) -> bool:
        return all(_scores(each) or _generated(each) for each in document.first)

    def table(self, document: Document) -> Table:
        records = list(document.records)
        names = next((list(found) for _, record in records if (found := _scores(record))), [])
        if not names:
            raise InputError(
                f"{document.name} holds generated answers of OpenCompass, which come without any confidence; evaluate "
                "with a CLP or PPL inferencer, or write confidence and correct for each answer"
            )
        zeros = _zeros_left_out([record.get(GOLD) for _, record in records])
        columns, unscored, unlabelled = Columns(document.name), [], []
        for place, record in records:
            scores = _scores(record)
            value = 0 if zeros and record.get(GOLD) is None else record.get(GOLD)
            gold = _gold(value, names)
            if scores.keys() != set(names) or not all(map(math.isfinite, scores.values())):
                unscored.append(record.get("id", place))
            elif gold is None:
                unlabelled.append(record.get("id", place))
            else:
                measured = _measures([scores[name] for name in names], "choices" in record)
                beside = {_WRITTEN: record.get(GOLD) is not None} if zeros else {}
                columns.add({"id": record.get("id"), GOLD: gold, **beside, **measured}, place)
        notes = [lacking(unscored, "no scores of the first record's choices")] if unscored else []
        notes += [lacking(unlabelled, "no gold that is one of the choices")] if unlabelled else []
        table = columns.table(by_line=document.by_line, notes=notes)
        return replace(table, columns={**table.columns, CLASSES: np.array(names, dtype=object)})

    def fields(self, table: Table, chosen: Mapping[str, Any]) -> Mapping[str, Any]:
        shared = {
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
            f"{table.name}: PPL may be a perplexity or the mean negative log-likelihood of a token, and both compare "
            f'choices by token; choose scores from "{_MINUS}" (it is a mean) and "{_LOGARITHM}" (it is a perplexity)'
        )

    def findings(self, table: Table, reading: Reading) -> Iterator[Finding]:
        if _WRITTEN in table.columns:
            silent = int((table.columns[_WRITTEN] == "false").sum())
            yield Finding(
                "warning",
                "foreign",
                f"{count(silent)} of {count(table.n_rows)} records have no gold, and no record has gold 0: OpenCompass "
                "does not write a 0, so that they are read as the first choice.",
            )


def _scores(record: Record) -> dict[str, float]:
    """The number of every choice: its probability (CLP), or its PPL; empty where there are none."""
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
    """Golds are numbers from 1 where they are there at all: those of 0 were not written."""
    known = [gold for gold in golds if gold is not None]
    return len(known) < len(golds) and bool(known) and all(type(gold) is int and gold > 0 for gold in known)


def _gold(value: Any, names: Sequence[str]) -> str | None:
    """The name of the right choice, which is written as it is or as its place."""
    if str(value) in names:
        return str(value)
    return names[value] if type(value) is int and 0 <= value < len(names) else None
