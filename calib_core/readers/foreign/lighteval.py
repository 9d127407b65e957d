"""Details of lighteval: log-likelihoods of the choices of multiple-choice tasks, in nested Parquet columns."""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Iterator
from dataclasses import replace
from typing import Any

from calib_core.predictions.predictions import InputError
from calib_core.readers.column_store import Columns, number
from calib_core.readers.foreign.choice_rows import CLASSES, GOLD, SCORES, ChoiceRows, fields_of_choices, places_among
from calib_core.readers.formats.decoders import RECORDS
from calib_core.readers.reading import Fields, Reading
from calib_core.readers.table import Table
from calib_core.readers.table_findings import Finding
from calib_core.readers.tool_shapes import ShapeOfColumns, shape_of_columns


@shape_of_columns
class Details(ShapeOfColumns):
    """Details files (details_{task}_{date}.parquet from --save-details) and details data sets on the Hub."""

    key = "lighteval"
    title = "details of lighteval (--save-details)"

    def recognises(self, table: Table) -> bool:
        return table.names == (RECORDS,)

    def table(self, table: Table) -> Table:
        rows, along = ChoiceRows(("",)), Columns(table.name)
        for place, text in enumerate(table.columns[RECORDS]):
            doc, answer, metric = _parts(text)
            choices, values = doc.get("choices") or [], [number(v) for v in answer.get("logprobs") or []]
            gold = _gold(doc.get("gold_index"), len(choices))
            if len(values) != len(choices) or len(values) < 2 or not all(map(math.isfinite, values)) or not gold:
                along.leave_out(place, "no log-likelihood for every choice, or no right choice")
                continue
            rows.add([values], gold, None, [str(choice).strip() for choice in choices])
            known = {name: number(value) for name, value in metric.items() if isinstance(value, int | float)}
            along.add({"id": str(doc.get("id")), "task": str(doc.get("task_name")), **known}, place)
        if not along.rows:
            raise InputError(
                f"{table.name} contains {self.title} without a log-likelihood for every choice. Generated answers and "
                "perplexities have no confidence; save the details of a multiple-choice task"
            )
        columns, matrices = rows.finished()
        found = along.table(format=table.format, notes=table.notes, matrices=matrices)
        return replace(found, columns={**found.columns, **columns})

    def fields(self, table: Table, chosen: Fields) -> Fields:
        classes = CLASSES in table.columns and not (table.columns[GOLD] == "").any() and not _places(table)
        layout = chosen.get("layout") or ("wide" if classes else "confidence")
        scores = fields_of_choices(table.columns, layout == "wide" and SCORES in table.matrices)
        return {**scores, "metadata": ("id", "task")}

    def findings(self, table: Table, reading: Reading) -> Iterator[Finding]:
        if reading.layout == "confidence" and SCORES in table.matrices and not (table.columns[GOLD] == "").any():
            yield Finding(
                "note",
                "foreign",
                "The texts of the choices differ from row to row. “choice 1” is a position rather than a class, so "
                "only confidences are evaluated.",
                fields_of_choices(table.columns, True),
                "Evaluate positions as classes",
            )


def _places(table: Table) -> bool:
    return bool(str(table.columns[CLASSES][0]) == "choice 1")


def _parts(text: str) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    record = json.loads(text)
    doc, answer, metric = (record.get(name) or {} for name in ("doc", "model_response", "metric"))
    return doc, answer, metric


def _gold(value: Any, k: int) -> Collection[int]:
    return places_among(value if isinstance(value, list) else [value], k)
