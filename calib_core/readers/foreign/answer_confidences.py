"""Answers with one confidence each: HAL, HELM, judged answers (Humanity's Last Exam) and scorers of uqlm."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from calib_core.predictions.predictions import InputError
from calib_core.readers.column_store import Columns, identifier, number
from calib_core.readers.messages import listed
from calib_core.readers.proposal.answer_words import judged as verdict
from calib_core.readers.proposal.column_roles import named, named_last
from calib_core.readers.reading import Fields, Reading
from calib_core.readers.table import Table
from calib_core.readers.table_findings import Finding
from calib_core.readers.text_encoding import looks_numeric
from calib_core.readers.tool_shapes import (
    JsonDocument,
    Record,
    ShapeOfColumns,
    ShapeOfRecords,
    shape_of_columns,
    shape_of_records,
)
from calib_core.text import count, percent

_FIELDS: Fields = {"layout": "confidence", "kind": "probabilities", "confidence": "confidence", "correct": "correct"}
_SILENT, _PARTIAL = "no confidence", "a reward that is neither 0 nor 1"
_BARE, _TIED = "no max_prob or exact_match", "several choices with the largest probability"
_UNJUDGED = "no yes or no from the judge"
"""Reasons for leaving records out."""


@shape_of_records
class AgentTasks(ShapeOfRecords):
    """Object of tasks by name, each with its reward and its confidence."""

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
        columns = Columns(document.name, _SILENT, _PARTIAL)
        for place, record in document.records:
            task = next((record[key] for key in ("task_id", "id", "key") if key in record), place)
            value = record.get("reward")
            reward = float(value) if isinstance(value, bool) else number(value)
            confidence = number(record.get("confidence"))
            if np.isnan(confidence):
                columns.leave_out(task, _SILENT)
            elif reward not in (0.0, 1.0):
                columns.leave_out(task, _PARTIAL)
            else:
                row = {"task": str(task), "confidence": confidence, "correct": int(reward)}
                columns.add(row | ({"cost": number(record["cost"])} if "cost" in record else {}), place)
        return columns.table(by_line=document.by_line)

    def fields(self, table: Table, chosen: Fields) -> Fields:
        return _FIELDS


_ID = "instance_id"


@shape_of_records
class HelmRun(ShapeOfRecords):
    """Per-instance results (per_instance_stats.json, display_predictions.json); scenario_state.json is refused."""

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
                f"{document.name} contains the requests of a HELM run. Open per_instance_stats.json from the same "
                "folder, which has max_prob and exact_match for every instance"
            )
        columns = Columns(document.name, _BARE, _TIED)
        for place, record in document.records:
            stats = _stats(record.get("stats"))
            confidence, correct = stats.get("max_prob", np.nan), stats.get("exact_match", np.nan)
            instance = identifier(record.get(_ID))
            if np.isnan(confidence) or np.isnan(correct):
                columns.leave_out(instance, _BARE)
            elif correct not in (0.0, 1.0):
                columns.leave_out(instance, _TIED)
            else:
                columns.add({**_about(record), "confidence": confidence, "correct": int(correct)}, place)
        if not columns.rows and columns.left_out(_BARE):
            raise InputError(
                f"{document.name} has no instance with max_prob and exact_match, so this run has no confidence. HELM "
                "writes them if every choice is a separate request (separate adapters)"
            )
        return columns.table(by_line=document.by_line)

    def fields(self, table: Table, chosen: Fields) -> Fields:
        return _FIELDS


def _about(record: Record) -> dict[str, Any]:
    perturbation = record.get("perturbation")
    name = perturbation.get("name") if isinstance(perturbation, dict) else perturbation
    return {
        _ID: identifier(record.get(_ID)),
        "trial": identifier(record.get("train_trial_index")),
        "perturbation": "none" if name is None else str(name),
    }


def _stats(stats: Any) -> dict[str, float]:
    """Means by name, from a list of statistics or an object of numbers."""
    if isinstance(stats, dict):
        return {name: number(value) for name, value in stats.items()}
    found: dict[str, float] = {}
    for each in stats if isinstance(stats, list) else []:
        name = each.get("name") if isinstance(each, dict) else None
        if isinstance(name, dict) and "mean" in each:
            found.setdefault(str(name.get("name")), number(each["mean"]))
    return found


_CONFIDENCE, _BELOW, _CORRECT = "confidence", "confidence below 100", "correct"
_NO_CONFIDENCE = -1
"""The value that some judges are instructed to write if an answer gives no confidence."""


@shape_of_records
class HleAnswers(ShapeOfRecords):
    """Object of answers by question id (judged_{predictions}.json)."""

    key = "hle-judged"
    title = "judged answers, as of Humanity's Last Exam (judged_….json)"

    def recognises(self, document: JsonDocument) -> bool:
        return any("correct" in judged and "confidence" in judged for judged in map(_response, document.first))

    def table(self, document: JsonDocument) -> Table:
        columns = Columns(document.name, _UNJUDGED, _SILENT)
        for place, record in document.records:
            judged = _response(record)
            correct, confidence = verdict(judged.get("correct")), _confidence(judged.get("confidence"))
            if correct is None:
                columns.leave_out(record.get("id", place), _UNJUDGED)
            elif np.isnan(confidence):
                columns.leave_out(record.get("id", place), _SILENT)
            else:
                row = {"id": record.get("id"), "model": record.get("model"), "answer": judged.get("model_answer")}
                known = {key: value for key, value in row.items() if isinstance(value, str | int)}
                columns.add({**known, _CONFIDENCE: confidence, _CORRECT: correct}, place)
        table = columns.table(by_line=document.by_line)
        values = table.columns[_CONFIDENCE].astype(np.float64)
        return replace(table, columns={**table.columns, _BELOW: np.where(values < 100, values, np.nan)})

    def fields(self, table: Table, chosen: Fields) -> Fields:
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
                f"Confidences range from {values.min():.4g} to {values.max():.4g}, although this judge writes "
                f"percentages. They are read as {reading.kind}.",
                {"kind": other},
                f"Read as {other}",
            )
        elif small := int(((values > 0) & (values < 1)).sum()):
            yield Finding(
                "warning",
                "foreign",
                f"{count(small)} of {count(len(values))} confidences are between 0 and 1, and others are higher. All "
                "are read as percentages (0.9 as 0.9 %); use one scale.",
            )
        full = values >= 100
        if not full.any() or reading.confidence != _CONFIDENCE:
            return
        right = percent(float(table.columns[_CORRECT][full].mean()))
        yield Finding(
            "warning",
            "foreign",
            f"{count(int(full.sum()))} of {count(len(full))} answers have confidence 100; {right} are right. The "
            "judge also writes 100 if an answer gave no confidence, so the two cases cannot be distinguished.",
            {"confidence": _BELOW, "missing": "exclude"},
            "Leave out answers with 100",
        )


def _shares(table: Table) -> bool:
    """True if confidences go up to 1 but no further."""
    return bool(table.columns[_CONFIDENCE].max() <= 1)


def _response(record: Record) -> Record:
    judged = record.get("judge_response")
    return judged if isinstance(judged, dict) else {}


def _confidence(value: Any) -> float:
    """Confidence as a number; it may be written with a percent sign. NaN if there is none."""
    found = number(value.strip().removesuffix("%") if isinstance(value, str) else value)
    return np.nan if found == _NO_CONFIDENCE else found


_SCORERS = frozenset(
    [
        "semantic_negentropy",
        "noncontradiction",
        "entailment",
        "bert_score",
        "bleurt",
        "cosine_sim",
        "semantic_sets_confidence",
        "min_probability",
        "normalized_probability",
        "sequence_probability",
        "mean_token_negentropy",
        "min_token_negentropy",
        "probability_margin",
        "monte_carlo_probability",
        "consistency_and_confidence",
        "semantic_density",
        "p_true",
        "ensemble_score",
        "ensemble_scores",
        "judge_1",
        "judge_2",
        "judge_3",
        "judge_4",
        "judge_5",
    ]
)
"""Names that only this tool uses; exact_match, which elsewhere is the outcome, occurs next to sampled responses."""


@shape_of_columns
class UncertaintyTable(ShapeOfColumns):
    """Scorer table (UQResult.to_df()) as CSV or Parquet: one column per scorer; the user adds the outcomes."""

    key = "uqlm"
    title = "results of uqlm (to_df)"

    def recognises(self, table: Table) -> bool:
        names = set(table.columns)
        return {"prompt", "response"} <= names and bool(_SCORERS & names) and not named(names, "confidence")

    def fields(self, table: Table, chosen: Fields) -> Fields:
        scorers = _scorers(table)
        if "confidence" not in chosen and len(scorers) > 1:
            raise InputError(
                f"{table.name} has several confidences for each response, one from each scorer of uqlm. Choose "
                f"confidence from {listed(scorers)}"
            )
        marks = named_last(table.columns, "correct")
        marks = [name for name in marks if name not in scorers] or marks
        correct = chosen.get("correct") or next(iter(marks), None)
        if correct is None:
            raise InputError(
                f"{table.name} has scores of uqlm, but not which responses are right. Add a column correct with 1 or "
                "0, and open the file again"
            )
        return {"layout": "confidence", "kind": "probabilities", "confidence": scorers[0], "correct": correct}


def _scorers(table: Table) -> list[str]:
    known = _SCORERS | ({"exact_match"} if "sampled_responses" in table.columns else set())
    return [name for name, column in table.columns.items() if name in known and looks_numeric(column)]
