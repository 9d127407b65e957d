"""Logging of a report, its numbers as JSON and a table, to a run of MLflow or Weights & Biases in one call."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from calib_core import InputError, Predictions
from dashboard import session
from dashboard.integrations.handout import Handout
from dashboard.report import Options

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
