"""The data card of page one: which rows, which model, what it is measured by."""

from __future__ import annotations

from collections.abc import Generator

import pandas as pd

from calib_core import NotAnswerable, Recipe
from calib_core.evaluation.splitting import Division
from calib_core.text import short_percent
from dashboard import session
from dashboard.exhibits import line_words
from dashboard.report.document import FactList
from dashboard.report.request import Request
from dashboard.report.sections import for_event

LISTED = 3
"""Models whose scores are told one by one."""


def card(request: Request) -> Generator[None, None, FactList]:
    """Names and facts, each a line or two."""
    scene = request.scene
    source = scene.sources[0]
    file, rows = session.file(source.data), session.parts(source)
    classes = f", {rows.test.n_classes:,} classes" if rows.test.n_classes and not request.of_event else ""
    items = [
        *(for_event.event_facts(scene) if request.of_event else [("Predictions", f"{file.title}{classes}")]),
        ("File", f"{file.table.name}, SHA-256 {file.digest[:8]}"),
        ("Rows", _rows(rows)),
        ("Split", _split(request)),
        *([("Only rows with", rows.where)] if rows.where else []),
    ]
    yield None
    if not request.of_event:  # whose scores stand with calibration in the large
        items += [(title, text) for title, text in (_score(request, "accuracy"), _score(request, "log-loss")) if text]
    return FactList((*items, *_measure(request)))


def _rows(rows: Division) -> str:
    if rows.undivided:
        return f"{rows.test.n_rows:,} to judge"
    if rows.note:
        return f"{rows.test.n_rows:,} to judge{rows.test.worth_note}, each after maps fitted on others"
    return f"{rows.fit.n_rows:,} to fit, {rows.test.n_rows:,} to judge{rows.test.worth_note}"


def _split(request: Request) -> str:
    source = request.scene.sources[0]
    seeded = f", seed {source.seed}" if session.split_by(source) in ("share", "folds") else ""
    return f"{session.parts(source).rule}{seeded}".removeprefix("split ")


def _score(request: Request, key: str) -> tuple[str, str]:
    """A score of every model by its name, or once where it is the same for all."""
    scene = request.scene
    try:
        frame: pd.DataFrame = scene.get(Recipe("EXHIBITS", "scores").build().table(scene))
    except NotAnswerable:
        return "", ""
    lines = frame[(frame["estimator"] == key) & frame["point"].notna()].head(LISTED)
    if not len(lines):
        return "", ""
    texts = [_written(key, value) for value in lines["value"]]
    title = str(lines["title"].iloc[0])
    if len(set(texts)) == 1:
        return title, texts[0] + (", the same before and after" if len(texts) > 1 else "")
    return title, "; ".join(f"{model}: {text}" for model, text in zip(lines["model"], texts, strict=True))


def _written(key: str, value: float) -> str:
    return short_percent(value) if key == "accuracy" else f"{value:.3f}"


def _measure(request: Request) -> list[tuple[str, str]]:
    """The line that decides, which was chosen before outcomes were looked at, and the tolerance."""
    scene = request.scene
    if request.of_event:
        return for_event.measures(scene)
    within = f"tolerance {short_percent(scene.tolerance)}"
    try:
        line = next(iter(scene.get(line_words.primaries(scene)).values())).line
    except NotAnswerable:
        return [("Measure", within)]
    return [("Measure", f"{line.title} ({line.cells}), chosen before outcomes are looked at; {within}")]
