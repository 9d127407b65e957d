"""Handout: verdicts and scores of the models on show as a table, JSON, numbers and a card, and logged to trackers.

Predictions in memory as a file that the dashboard reads back to the same bits.
"""

from __future__ import annotations

import io
import json
import logging
import math
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from functools import cached_property
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Self

import numpy as np
import pandas as pd

from calib_core import InputError, NotAnswerable, Predictions, Recipe
from calib_core.readers import file_bytes
from calib_core.text import begun
from dashboard import session
from dashboard.exhibits import EXHIBITS, Exhibit
from dashboard.export import finite
from dashboard.integrations import model_cards
from dashboard.report import Options, Report, build
from dashboard.report.recipe import versions
from dashboard.selection import Selection, Source
from dashboard.session import Scene
from dashboard.session.reading_changes import written_changes

NAME = "predictions.npz"
_CHOICES = {each.name for kind in (Selection, Source) for each in fields(kind)} - {"source", "data", "calibrators"}
_DIVIDING = {"by", "share", "test", "folds"}


def selection_of(data: Predictions | str | Path, calibrators: Iterable[str] = (), **choices: Any) -> Selection:
    """Return the choices that show this data: a path, demo:KEY, or predictions; ``choices`` are fields of a Selection.

    ``tolerance`` is the verdicts'. If nothing is fitted and no division of rows is chosen, all rows are evaluated.
    InputError for predictions that a file cannot represent, and for unknown choices.
    """
    keys = (calibrators,) if isinstance(calibrators, str) else calibrators
    recipes = tuple(Recipe("CALIBRATORS", key) for key in keys)
    if "tolerance" in choices:
        choices["eps"] = choices.pop("tolerance")
    for name in choices:
        if name not in _CHOICES:
            raise InputError(f"there is no choice {name!r}; choices: {', '.join(sorted(_CHOICES))}")
    key, changed = _held(data)
    chosen = Selection().replace(data=key, calibrators=recipes, **choices)
    if changed:
        found = session.file(key)
        chosen = chosen.replace(reading=written_changes(found.proposal, session.proposed(key, changed)))
    if not recipes and not choices.keys() & _DIVIDING and session.split_by(chosen.source) == "share":
        return chosen.replace(by="folds", folds=2)
    return chosen


def _held(data: Predictions | str | Path) -> tuple[str, dict[str, str]]:
    """Return the key of the file, and the changes to how it is read."""
    if isinstance(data, Predictions):
        content, changed = file_of(data)
        return session.hold(content, NAME).key, changed
    if str(data).startswith("demo:"):
        return session.file(str(data)).key, {}
    path = Path(data)
    return session.hold(file_bytes(path), path.name).key, {}


def file_of(predictions: Predictions) -> tuple[bytes, dict[str, str]]:
    """Return the predictions as an NPZ file, and the fields of the reading that differ from the proposal.

    >>> file_of(Predictions([[0.7, 0.3]], [0], weights=[2]))[1]
    {'weights': 'row_weights'}
    """
    why = ""
    if predictions.kind == "per-class":
        why = "whose rows do not sum to one"
    elif predictions.abstained is not None:
        why = "that withhold rows"
    elif predictions.kind == "top-label" and _ranked(predictions):
        why = "with several classes per row"
    if why:
        raise InputError(f"predictions {why} exist only in memory: write them to a file first")
    arrays: dict[str, Any] = {}
    if predictions.kind == "full":
        arrays = {"probs": predictions.probs, "labels": predictions.true_labels}
        arrays["class_names"] = np.array(predictions.class_names)
    elif predictions.kind == "top-label":
        names = np.array(predictions.class_names)
        arrays = {"confidence": predictions.confidence, "predicted": names[predictions.predicted]}
        arrays["label"] = names[predictions.true_labels]
    else:
        arrays = {"confidence": predictions.confidence, "correct": predictions.correct}
    changed = {}
    if predictions.weights is not None:
        arrays["row_weights"] = predictions.weights
        changed["weights"] = "row_weights"
    if predictions.grouping is not None:
        arrays["row_groups"] = np.array(predictions.grouping.values, dtype=str)[predictions.grouping.codes]
        changed["group"] = "row_groups"
    packed = io.BytesIO()
    np.savez_compressed(packed, **arrays)
    return packed.getvalue(), changed


def _ranked(predictions: Predictions) -> bool:
    """Return True if more than the predicted class of a row is known, which the file would lose."""
    try:
        predictions.top(2)
    except NotAnswerable:
        return False
    return True


SCHEMA = 1
"""Version of the JSON record."""
SHOWN = ("verdict", "scores")
"""Exhibits that the handout contains."""


@dataclass(frozen=True)
class Handout:
    """Handout of one selection; everything is computed on demand, and once."""

    selection: Selection

    @classmethod
    def of(cls, data: Predictions | str | Path, **choices: Any) -> Self:
        """Return a handout of a path, demo:KEY or predictions; ``choices`` are calibrators and Selection fields."""
        # Streamlit would warn that its caches are used outside a running app.
        logging.getLogger("streamlit").setLevel(logging.ERROR)
        return cls(selection_of(data, **choices))

    @cached_property
    def scene(self) -> Scene:
        """Return the scene of its models; InputError if none can be shown."""
        scene = session.scene_of(self.selection)
        if not scene.models.shown:
            raise InputError(scene.models.refused[0][1])
        return scene

    def exhibit(self, key: str) -> tuple[Exhibit, pd.DataFrame]:
        """Return one of its exhibits and its numbers."""
        shown: Exhibit = EXHIBITS.make(key)
        return shown, self.scene.get(shown.table(self.scene))

    @cached_property
    def table(self) -> pd.DataFrame:
        """Return one line per verdict of a model, and one per score."""
        frames = [self.exhibit(key)[1] for key in SHOWN]
        return pd.concat([frame.dropna(axis=1, how="all") for frame in frames], ignore_index=True)

    @property
    def rule(self) -> str:
        """Return a sentence on the evaluated rows; empty if these are all rows and nothing is fitted."""
        division = session.parts(self.selection.source)
        if division.undivided or (division.folds is not None and not self.selection.calibrators):
            return ""
        among = f", where {division.where}" if division.where else ""
        return f"{begun(division.rule)}{among}. {division.note}".strip()

    def report(self, options: Options | None = None) -> Report:
        """Return the report of the same choices."""
        return build(self.selection, options)

    def record(self) -> dict[str, Any]:
        """Return everything as plain values: the subject, the lines, the notes, and the versions."""
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
        """Return the record as JSON."""
        return json.dumps(self.record(), indent=1, sort_keys=True, allow_nan=False) + "\n"

    def numbers(self) -> dict[str, float]:
        """Return estimates, interval ends, values and noise floors by names that trackers accept."""
        found = {}
        for line in self.table.to_dict("records"):
            name = "/".join(_key(text) for text in ("calib", line["model"], line["estimator"]))
            for part in ("point", "low", "high", "value", "floor"):
                if isinstance(line[part], float) and math.isfinite(line[part]):
                    found[name if part == "point" else f"{name}_{part}"] = line[part]
        return found

    def model_card(self, task: str = "other") -> str:
        """Return a section of a model card as Markdown, below the metadata (``model-index``) that Hugging Face reads.

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


FOLDER = "calibration"
"""Folder among a run's artifacts."""


def log_to_mlflow(
    data: Predictions | str | Path, run_id: str | None = None, *, options: Options | None = None, **choices: Any
) -> str:
    """Log the report, the numbers as JSON, their table and their metrics to a run of MLflow; return the run's id.

    ``run_id``: None takes the active run, or starts one and ends it. ``choices`` are calibrators and fields of a
    Selection. Artifacts: calibration/report.html, calibration.json, lines.json (an MLflow table with ten digits;
    logging again appends its lines). Metrics are named calib/MODEL/ESTIMATOR (the estimate of the interval), with _low,
    _high, _value and _floor. The call raises InputError if MLflow is not installed, or nothing can be reported.
    """
    mlflow = _package("mlflow", "MLflow")
    with _handed_out(data, choices) as handout:
        page = handout.report(options).html.decode()
        active = mlflow.active_run()
        if run_id is None and active is None:
            with mlflow.start_run() as begun:
                return _logged(mlflow, begun.info.run_id, handout, page)
        return _logged(mlflow, run_id or active.info.run_id, handout, page)


def _logged(mlflow: Any, run_id: str, handout: Handout, page: str) -> str:
    client = mlflow.MlflowClient()
    client.log_text(run_id, page, f"{FOLDER}/report.html")
    client.log_text(run_id, handout.json(), f"{FOLDER}/calibration.json")
    client.log_table(run_id, handout.table, f"{FOLDER}/lines.json")
    for name, number in handout.numbers().items():
        client.log_metric(run_id, name, number)
    return run_id


def log_to_wandb(
    data: Predictions | str | Path, run: Any = None, *, options: Options | None = None, **choices: Any
) -> str:
    """Log the report, the numbers as JSON, their table and their summary to a run of W&B; return the run's id.

    ``run``: None takes the active run, or starts one and finishes it. The report and the table are among the run's
    media (calib/report, calib/lines), and both are in an artifact of type "calibration" with the JSON file. The names
    of numbers in its summary are those of `log_to_mlflow` in MLflow. The call raises InputError if W&B is not
    installed, or nothing can be reported.
    """
    wandb = _package("wandb", "Weights & Biases")
    with _handed_out(data, choices) as handout:
        return _logged_to_wandb(wandb, run, handout, handout.report(options).html.decode())


def _logged_to_wandb(wandb: Any, run: Any, handout: Handout, page: str) -> str:
    begun = wandb.init() if run is None and wandb.run is None else None
    current = run or begun or wandb.run
    try:
        table = wandb.Table(dataframe=handout.table, allow_mixed_types=True)
        current.log({"calib/report": wandb.Html(io.StringIO(page), inject=False), "calib/lines": table})
        artifact = wandb.Artifact(f"calibration-{current.id}", type="calibration")
        for name, text in (("report.html", page), ("calibration.json", handout.json())):
            with artifact.new_file(name, encoding="utf-8") as file:
                file.write(text)
        current.log_artifact(artifact)
        current.summary.update(handout.numbers())
    finally:
        if begun is not None:
            begun.finish()
    return str(current.id)


@contextmanager
def _handed_out(data: Predictions | str | Path, choices: dict[str, Any]) -> Iterator[Handout]:
    """Yield the handout and release its cached data at the end, so that a thousand runs fit into memory."""
    before = session.own_keys()
    handout = Handout.of(data, **choices)
    try:
        yield handout
    finally:
        if handout.selection.source.data not in before:
            session.delete_own(handout.selection.source.data)


def _package(name: str, title: str) -> Any:
    if find_spec(name) is None:
        raise InputError(f"logging to {title} needs {name}; run: pip install calib[{name}]")
    return import_module(name)
