"""A file of each format that is written, kept for good: later versions must read it as this one does.

Usage: python -m tests.release.keep_formats. Files that are kept already stay as they are: only a format of a new
version, or a new calibrator, adds some. `answers.json` has what each was read as when it was kept.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from click.testing import CliRunner

import calib_core as cc
from calib.__main__ import main
from calib_core.calibrators import saving
from calib_core.inference import gate_baselines
from calib_core.monitoring import read_watch, state_file
from calib_core.summaries import on_disk
from dashboard.report import recipe

FOLDER = Path(__file__).with_name("formats")
ANSWERS = FOLDER / "answers.json"
ROWS = np.random.default_rng(0).dirichlet(np.ones(3), 60)
LABELS = np.random.default_rng(1).integers(3, size=60)
TWO = ROWS[:, :2] / ROWS[:, :2].sum(axis=1, keepdims=True)
DATA = "demo:wine-logistic"


# ---- what each file says -------------------------------------------------------------------------------------


def of_calibrator(path: Path) -> Any:
    """Return the probabilities that a calibrator gives for four rows."""
    classes = json.loads(path.read_bytes())["classes"]
    return cc.load_calibrator(path).predict_proba(ROWS[:4] if classes == 3 else TWO[:4]).round(9).tolist()


def of_summary(path: Path) -> Any:
    found = cc.read_summary(path)
    return [found.n_rows, round(cc.estimate(found, "confidence", "ece").value, 9)]


def of_gate(path: Path) -> Any:
    found = gate_baselines.read_baselines(path.read_bytes(), path.name)
    return {name: [each.notion, each.rows, each.low, each.high] for name, each in found.items()}


def of_watch(path: Path) -> Any:
    watch = read_watch(path)
    rows = {label: each.rows for label, each in watch.counts.items()}
    return [list(watch.periods), watch.tolerance, rows, sorted(watch.batches.values())]


def of_report(path: Path) -> Any:
    found = recipe.read(path.read_bytes())
    return [found.selection.to_query(), found.options.title, list(found.options.left_out), sorted(found.files.items())]


READERS: dict[str, Callable[[Path], Any]] = {
    "calibrator": of_calibrator,
    "summary": of_summary,
    "gate": of_gate,
    "watch": of_watch,
    "report": of_report,
}
"""Reader of each format, by the first word of a kept file's name."""


def answer(path: Path) -> Any:
    """Return what a kept file is read as."""
    return READERS[path.name.split("-")[0]](path)


# ---- files of the present versions -----------------------------------------------------------------------------


def calibrators() -> dict[str, bytes]:
    """Return a fitted calibrator of every registered key, of three classes if it can have them."""
    found = {}
    for key in cc.CALIBRATORS:
        try:
            fitted = cc.CALIBRATORS.make(key).fit(ROWS, LABELS)
        except cc.NotAnswerable:
            fitted = cc.CALIBRATORS.make(key).fit(TWO, LABELS > 0)
        found[f"calibrator-{saving.VERSION}-{key}.json"] = fitted.to_json().encode()
    return found


def others() -> dict[str, bytes]:
    """Return a file of each other format."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rows = cc.Predictions(ROWS, LABELS)
        on_disk.write_summary(cc.Summary.of(rows), folder / "summary")
        state_file.write_watch(cc.Watch().add(rows, "2026-10-12"), folder / "watch")
        said = CliRunner().invoke(main, ["gate", DATA, "--max-ece", "0.3", "--format", "json"]).stdout
        report = CliRunner().invoke(main, ["report", DATA, "-o", str(folder / "report"), "--title", "Kept"])
        assert report.exit_code == 0, report.output
        block = recipe._BLOCK.search((folder / "report").read_text("utf-8"))
        assert block is not None
        return {
            f"summary-{on_disk.VERSION}.parquet": (folder / "summary").read_bytes(),
            f"watch-{state_file.SCHEMA.partition('/')[2]}.json": (folder / "watch").read_bytes(),
            f"gate-{gate_baselines.SCHEMA.partition('/')[2]}.json": said.encode(),
            f"report-{recipe.FORMAT}.html": f"<!doctype html>\n{block[0]}\n".encode(),
        }


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    answers = json.loads(ANSWERS.read_text("utf-8")) if ANSWERS.exists() else {}
    for name, content in {**calibrators(), **others()}.items():
        if name not in answers:
            (FOLDER / name).write_bytes(content)
            answers[name] = answer(FOLDER / name)
    ANSWERS.write_text(json.dumps(answers, indent=1, sort_keys=True) + "\n", encoding="utf-8")
