"""Runs of HELM: the largest probability of an instance and whether it was right, as its own calibration error has."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from calib_core.predictions.predictions import InputError
from calib_core.readers.foreign.growing_columns import Columns, identifier, lacking, number
from calib_core.readers.foreign.recognition import JsonDocument, Record, ShapeOfRecords, shape_of_records
from calib_core.readers.table import Table

_ID = "instance_id"


@shape_of_records
class HelmRun(ShapeOfRecords):
    """per_instance_stats.json or display_predictions.json; scenario_state.json is sent there."""

    key = "helm"
    title = "instances of a HELM run (per_instance_stats.json or display_predictions.json)"
    question = _ID

    def recognises(self, document: JsonDocument) -> bool:
        record = document.first[0]
        return ("request_states" in record and "adapter_spec" in record) or all(
            _ID in each and isinstance(each.get("stats"), list | dict) for each in document.first
        )

    def table(self, document: JsonDocument) -> Table:
        if "request_states" in document.first[0]:
            raise InputError(
                f"{document.name} holds the requests of a HELM run; open per_instance_stats.json of the same folder, "
                "which has max_prob and exact_match of every instance"
            )
        columns, bare, tied = Columns(document.name), [], []
        for place, record in document.records:
            stats = _stats(record.get("stats"))
            confidence, correct = stats.get("max_prob", np.nan), stats.get("exact_match", np.nan)
            instance = identifier(record.get(_ID))
            if np.isnan(confidence) or np.isnan(correct):
                bare.append(instance)
            elif correct not in (0.0, 1.0):
                tied.append(instance)
            else:
                columns.add({**_about(record), "confidence": confidence, "correct": int(correct)}, place)
        if bare and not columns.rows:
            raise InputError(
                f"{document.name}: no instance has max_prob and exact_match, which HELM gives where every choice is "
                "asked by itself (separate adapters); there is no confidence in this run"
            )
        notes = [lacking(bare, "no max_prob or exact_match")] if bare else []
        notes += [lacking(tied, "several choices with the largest probability")] if tied else []
        return columns.table(by_line=document.by_line, notes=notes)

    def fields(self, table: Table, chosen: Mapping[str, Any]) -> Mapping[str, Any]:
        return {"layout": "confidence", "kind": "probabilities", "confidence": "confidence", "correct": "correct"}


def _about(record: Record) -> dict[str, Any]:
    perturbation = record.get("perturbation")
    name = perturbation.get("name") if isinstance(perturbation, dict) else perturbation
    return {
        _ID: identifier(record.get(_ID)),
        "trial": identifier(record.get("train_trial_index")),
        "perturbation": "none" if name is None else str(name),
    }


def _stats(stats: Any) -> dict[str, float]:
    """Means by name: of a list of statistics, or of an object of numbers."""
    if isinstance(stats, dict):
        return {name: number(value) for name, value in stats.items()}
    found: dict[str, float] = {}
    for each in stats if isinstance(stats, list) else []:
        name = each.get("name") if isinstance(each, dict) else None
        if isinstance(name, dict) and "mean" in each:
            found.setdefault(str(name.get("name")), number(each["mean"]))
    return found
