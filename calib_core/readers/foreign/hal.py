"""Agents' tasks of the HAL harness: the reward of each task, and the confidence the agent gave."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from calib_core.readers.foreign.growing_columns import Columns, lacking, number
from calib_core.readers.foreign.recognition import JsonDocument, ShapeOfRecords, shape_of_records
from calib_core.readers.table import Table


@shape_of_records
class AgentTasks(ShapeOfRecords):
    """An object of tasks by their names, each with its reward and its confidence."""

    key = "hal-harness"
    title = "agents' tasks of the HAL harness"
    question = "task"

    def recognises(self, document: JsonDocument) -> bool:
        first = document.first
        return all("reward" in each for each in first) and any(
            "confidence" in each and ("confidence_details" in each or "abstention" in each or "cost" in each)
            for each in first
        )

    def table(self, document: JsonDocument) -> Table:
        columns, silent, partial = Columns(document.name), [], []
        for place, record in document.records:
            task = next((record[key] for key in ("task_id", "id", "key") if key in record), place)
            value = record.get("reward")
            reward = float(value) if isinstance(value, bool) else number(value)
            confidence = number(record.get("confidence"))
            if np.isnan(confidence):
                silent.append(task)
            elif reward not in (0.0, 1.0):
                partial.append(task)
            else:
                row = {"task": str(task), "confidence": confidence, "correct": int(reward)}
                columns.add(row | ({"cost": number(record["cost"])} if "cost" in record else {}), place)
        notes = [lacking(silent, "no confidence")] if silent else []
        notes += [lacking(partial, "a reward that is neither 0 nor 1")] if partial else []
        return columns.table(by_line=document.by_line, notes=notes)

    def fields(self, table: Table, chosen: Mapping[str, Any]) -> Mapping[str, Any]:
        return {"layout": "confidence", "kind": "probabilities", "confidence": "confidence", "correct": "correct"}
