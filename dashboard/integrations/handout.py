"""A handout: verdicts and scores of the models on show as a table, as JSON, as numbers by name, and as a model card."""

from __future__ import annotations

import json
import logging
import math
import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import pandas as pd

from calib_core import InputError, Predictions
from calib_core.text import begun
from dashboard import session
from dashboard.exhibits import EXHIBITS, Exhibit
from dashboard.export import finite
from dashboard.integrations import model_cards
from dashboard.integrations.in_memory import selection_of
from dashboard.report import Options, Report, build
from dashboard.report.recipe import versions
from dashboard.selection import Selection
from dashboard.session import Scene

SCHEMA = 1
"""The version of the JSON record."""
SHOWN = ("verdict", "scores")
"""The exhibits it hands on."""


@dataclass(frozen=True)
class Handout:
    """What is handed on of one selection; nothing is computed before it is wanted, and nothing twice."""

    selection: Selection

    @classmethod
    def of(cls, data: Predictions | str | Path, **choices: Any) -> Self:
        """A handout of a path, demo:KEY, or predictions; ``choices`` are calibrators and fields of a Selection."""
        # Its caches are used outside a running app, which it would remark on.
        logging.getLogger("streamlit").setLevel(logging.ERROR)
        return cls(selection_of(data, **choices))

    @cached_property
    def scene(self) -> Scene:
        """The models it is about; InputError where none can be shown."""
        scene = session.scene_of(self.selection)
        if not scene.models.shown:
            raise InputError(scene.models.refused[0][1])
        return scene

    def exhibit(self, key: str) -> tuple[Exhibit, pd.DataFrame]:
        """One of its exhibits and its numbers."""
        shown: Exhibit = EXHIBITS.make(key)
        return shown, self.scene.get(shown.table(self.scene))

    @cached_property
    def table(self) -> pd.DataFrame:
        """A line for each model's verdict, and one for each of its scores."""
        frames = [self.exhibit(key)[1] for key in SHOWN]
        return pd.concat([frame.dropna(axis=1, how="all") for frame in frames], ignore_index=True)

    @property
    def rule(self) -> str:
        """Which rows are judged, as a sentence; empty where all are, and nothing is fitted."""
        division = session.parts(self.selection.source)
        if division.undivided or (division.folds is not None and not self.selection.calibrators):
            return ""
        among = f", where {division.where}" if division.where else ""
        return f"{begun(division.rule)}{among}. {division.note}".strip()

    def report(self, options: Options | None = None) -> Report:
        """The report of the same choices."""
        return build(self.selection, options)

    def record(self) -> dict[str, Any]:
        """Everything in plain values: what was judged, the lines, what is to be known of them, and the versions."""
        file = session.file(self.selection.source.data)
        shown = {key: self.exhibit(key) for key in SHOWN}
        return {
            "schema": SCHEMA,
            "file": {"name": file.table.name, "sha256": file.digest},
            "rows": self.rule,
            "choices": self.selection.to_query(),
            "lines": [finite(line) for _, frame in shown.values() for line in frame.to_dict("records")],
            "notes": [text for exhibit, _ in shown.values() for text in exhibit.words(self.scene).notes],
            "versions": dict(versions()),
        }

    def json(self) -> str:
        """The record as JSON."""
        return json.dumps(self.record(), indent=1, sort_keys=True, allow_nan=False) + "\n"

    def numbers(self) -> dict[str, float]:
        """Estimates, ends of intervals, values and noise floors by names that trackers take."""
        found = {}
        for line in self.table.to_dict("records"):
            name = "/".join(_key(text) for text in ("calib", line["model"], line["estimator"]))
            for part in ("point", "low", "high", "value", "floor"):
                if isinstance(line[part], float) and math.isfinite(line[part]):
                    found[name if part == "point" else f"{name}_{part}"] = line[part]
        return found

    def model_card(self, task: str = "other") -> str:
        """A section of a model card as Markdown, below the metadata (``model-index``) that Hugging Face reads.

        ``task`` is one of the names its pages know, such as "text-classification".
        """
        file = session.file(self.selection.source.data)
        found = {key: self.exhibit(key) for key in SHOWN}
        sections = [
            model_cards.CardSection(shown.columns(frame), frame, shown.words(self.scene).notes)
            for shown, frame in found.values()
        ]
        names = {
            model.title: file.title if model.is_base and not model.name else f"{file.title}, {model.title}"
            for model in self.scene.models.shown
        }
        judged = model_cards.CardSubject(file.table.name, file.digest, names, self.rule, self.scene.tolerance, task)
        return model_cards.written(judged, sections, dict(versions())["calib"])


def _key(text: str) -> str:
    return re.sub(r"[^\w .-]", "_", text)[:80]
