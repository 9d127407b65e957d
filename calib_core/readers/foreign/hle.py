"""Judged answers, as of Humanity's Last Exam: a judge's yes or no, and the confidence it found in the answer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from calib_core.readers.checks.finding import Finding
from calib_core.readers.foreign.growing_columns import Columns, lacking, number
from calib_core.readers.foreign.recognition import JsonDocument, Record, ShapeOfRecords, shape_of_records
from calib_core.readers.proposal.verdict_words import judged as verdict
from calib_core.readers.reading import Reading
from calib_core.readers.table import Table
from calib_core.text import count, percent

_CONFIDENCE, _BELOW, _CORRECT = "confidence", "confidence below 100", "correct"
_SILENT = -1
"""The confidence that some judges are told to write where the answer gives none."""


@shape_of_records
class HleAnswers(ShapeOfRecords):
    """judged_{predictions}.json: an object of answers by the ids of their questions."""

    key = "hle-judged"
    title = "judged answers, as of Humanity's Last Exam (judged_….json)"

    def recognises(self, document: JsonDocument) -> bool:
        return any("correct" in judged and "confidence" in judged for judged in map(_response, document.first))

    def table(self, document: JsonDocument) -> Table:
        columns, unjudged, silent = Columns(document.name), [], []
        for place, record in document.records:
            judged = _response(record)
            correct, confidence = verdict(judged.get("correct")), _confidence(judged.get("confidence"))
            if correct is None:
                unjudged.append(record.get("id", place))
            elif np.isnan(confidence):
                silent.append(record.get("id", place))
            else:
                row = {"id": record.get("id"), "model": record.get("model"), "answer": judged.get("model_answer")}
                known = {key: value for key, value in row.items() if isinstance(value, str | int)}
                columns.add({**known, _CONFIDENCE: confidence, _CORRECT: correct}, place)
        notes = [lacking(unjudged, "no yes or no of the judge")] if unjudged else []
        notes += [lacking(silent, "no confidence")] if silent else []
        table = columns.table(by_line=document.by_line, notes=notes)
        values = table.columns[_CONFIDENCE].astype(np.float64)
        return replace(table, columns={**table.columns, _BELOW: np.where(values < 100, values, np.nan)})

    def fields(self, table: Table, chosen: Mapping[str, Any]) -> Mapping[str, Any]:
        along = tuple(name for name in table.columns if name not in (_CONFIDENCE, _BELOW, _CORRECT))
        return {
            "layout": "confidence",
            "kind": "probabilities" if _shares(table) else "percentages",
            "confidence": _CONFIDENCE,
            "correct": _CORRECT,
            "metadata": along,
        }

    def findings(self, table: Table, reading: Reading) -> Iterator[Finding]:
        values = table.columns[_CONFIDENCE]
        if _shares(table):
            other = "percentages" if reading.kind == "probabilities" else "probabilities"
            yield Finding(
                "warning",
                "foreign",
                f"Confidences are from {values.min():.4g} to {values.max():.4g}, where this judge writes percentages: "
                f"they are read as {reading.kind}.",
                {"kind": other},
                f"Read as {other}",
            )
        elif small := int(((values > 0) & (values < 1)).sum()):
            yield Finding(
                "warning",
                "foreign",
                f"{count(small)} of {count(len(values))} confidences lie between 0 and 1 and others above: all are "
                "read as percentages, 0.9 as 0.9 %; write them on one scale.",
            )
        full = values >= 100
        if not full.any() or reading.confidence != _CONFIDENCE:
            return
        right = percent(float(table.columns[_CORRECT][full].mean()))
        yield Finding(
            "warning",
            "foreign",
            f"{count(int(full.sum()))} of {count(len(full))} answers have confidence 100, of which {right} are right: "
            "the judge writes 100 where an answer gave no confidence too, so that certain and missing look the same.",
            {"confidence": _BELOW, "missing": "exclude"},
            "Leave answers at 100 out",
        )


def _shares(table: Table) -> bool:
    """Do confidences run up to 1 and no further?"""
    return bool(table.columns[_CONFIDENCE].max() <= 1)


def _response(record: Record) -> Record:
    judged = record.get("judge_response")
    return judged if isinstance(judged, dict) else {}


def _confidence(value: Any) -> float:
    """The number, which may be written with a percent sign; NaN where there is none."""
    found = number(value.strip().removesuffix("%") if isinstance(value, str) else value)
    return np.nan if found == _SILENT else found
