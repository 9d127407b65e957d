"""Judged answers, as of Humanity's Last Exam: a judge's yes or no, and the confidence it found in the answer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from calib_core._text import count, percent
from calib_core.readers.finding import Finding
from calib_core.readers.foreign.growing_columns import Columns, lacking, number
from calib_core.readers.foreign.recognition import Document, Record, ShapeOfRecords, shape_of_records
from calib_core.readers.reading import Reading
from calib_core.readers.table import Table

_CONFIDENCE, _BELOW, _CORRECT = "confidence", "confidence below 100", "correct"


@shape_of_records
class JudgedAnswers(ShapeOfRecords):
    """judged_{predictions}.json: an object of answers by the ids of their questions."""

    key = "hle-judged"
    title = "judged answers, as of Humanity's Last Exam (judged_….json)"

    def recognises(self, document: Document) -> bool:
        return any("correct" in judged and "confidence" in judged for judged in map(_judged, document.first))

    def table(self, document: Document) -> Table:
        columns, unjudged, silent = Columns(document.name), [], []
        for place, record in document.records:
            judged = _judged(record)
            correct, confidence = _verdict(judged.get("correct")), number(judged.get("confidence"))
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
            "kind": "percentages",
            "confidence": _CONFIDENCE,
            "correct": _CORRECT,
            "metadata": along,
        }

    def findings(self, table: Table, reading: Reading) -> Iterator[Finding]:
        full = table.columns[_CONFIDENCE] >= 100
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


def _judged(record: Record) -> Record:
    judged = record.get("judge_response")
    return judged if isinstance(judged, dict) else {}


def _verdict(value: Any) -> int | None:
    """1 of yes, 0 of no; None of anything else."""
    if isinstance(value, bool):
        return int(value)
    word = str(value).strip().casefold()
    return 1 if "yes" in word else 0 if word == "no" else None
