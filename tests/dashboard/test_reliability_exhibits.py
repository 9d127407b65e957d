"""What the exhibits of reliability print and say, against the library."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import calib_core as cc
from calib_core import CALIBRATORS, Predictions, Recipe
from calib_core._text import error, percent
from dashboard import session
from dashboard.exhibits import EXHIBITS
from dashboard.exhibits.columns import span, written
from dashboard.selection import Selection, Source
from dashboard.session import Scene

POOLING = CALIBRATORS.described("top-label-hb", points_per_bin=90)
TICKED = (Recipe("CALIBRATORS", "temperature"), POOLING, Recipe("CALIBRATORS", "metacal-miscoverage"))


@pytest.fixture(scope="module")
def scene() -> Scene:
    chosen = Selection(source=Source(data="demo:digits-naive-bayes"), calibrators=TICKED, model="Temperature scaling")
    return session.scene_of(chosen)


@pytest.fixture(scope="module")
def after(scene: Scene) -> Predictions:
    return scene.get(scene.model.predictions)


def printed(scene: Scene, key: str) -> dict[str, list[str]]:
    """The cells of a table by heading."""
    exhibit: Any = EXHIBITS.make(key)
    frame = scene.get(exhibit.table(scene))
    columns = exhibit.columns(frame)
    cells = zip(*written(frame, columns), strict=True)
    return {column.heading: list(values) for column, values in zip(columns, cells, strict=True)}


def errors(values: Any) -> list[str]:
    return [error(value).replace("-", "−") for value in values]


def test_bins_are_printed_with_their_own_intervals_and_bands(scene: Scene, after: Predictions) -> None:
    cells, bands = printed(scene, "bins"), cc.diagrams.reliability_bands(after).frame()
    diagram = cc.diagrams.reliability(after).frame()
    for heading, low, high in (
        ("bin", "lower", "upper"),
        ("interval of the accuracy", "accuracy_low", "accuracy_high"),
        ("calibrated models", "band_low", "band_high"),
    ):
        assert cells[heading] == [span(*ends) for ends in zip(bands[low], bands[high], strict=True)], heading
    for heading, name in (("confidence",) * 2, ("accuracy",) * 2, ("off by, class by class", "delta")):
        assert cells[heading] == errors(diagram[name]), heading
    words = EXHIBITS.make("bins").words(scene)
    assert f"{cc.diagrams.reliability_bands(after).outside} of {len(bands)} stars" in words.caption


def test_every_models_brier_score_is_taken_apart(scene: Scene) -> None:
    cells = printed(scene, "corp")
    assert tuple(cells["model"]) == scene.titles
    curves = [cc.diagrams.corp(scene.get(model.predictions)) for model in scene.models.shown]
    assert cells["Brier score of the confidence"] == errors(curve.score for curve in curves)
    for part in ("miscalibration", "discrimination", "uncertainty"):
        assert cells[part] == errors(getattr(curve, part) for curve in curves), part


def test_a_bin_lists_its_classes_with_the_gap_below_0_where_they_claim_too_much(
    scene: Scene, after: Predictions
) -> None:
    diagram = cc.diagrams.reliability(after)
    b = int(diagram.frame()["bin"].iloc[0])
    for chosen, why in ((None, "the bin that adds most to the error"), (b, "the bin chosen"), (99, "adds most")):
        focused = scene.focused(bin=chosen)
        cells, zoom = printed(focused, "bin"), cc.diagrams.zoom(after, diagram, b if chosen == b else None)
        assert cells["class"] == list(zoom.names)
        assert cells["gap"] == errors(zoom.accuracy - zoom.confidence)
        words = EXHIBITS.make("bin").words(focused)
        assert why in words.caption
        assert zoom.label in words.caption
        rows = EXHIBITS.make("bin-rows").words(focused).caption
        assert zoom.label in rows
        assert f"{percent(after.correct[zoom.rows].mean())} right" in rows


def test_the_curve_without_bins_says_how_far_off_it_is_at_the_score_chosen(scene: Scene, after: Predictions) -> None:
    curve = cc.diagrams.kernel_curve(after)
    for score in (0.7, 0.95):
        exhibit = EXHIBITS.make("kernel-curve", score=score)
        assert f"at {score:.2f}: {error(curve.local_error(score))}." in exhibit.words(scene).notes[0]
    empty = next(score for score in (0.0, 0.01, 0.02) if np.isnan(curve.local_error(score)))
    assert "no data lie" in EXHIBITS.make("kernel-curve", score=empty).words(scene).notes[0]


def test_the_summary_says_what_was_set_aside_and_what_is_not_answered(scene: Scene) -> None:
    notes = EXHIBITS.make("summary").words(scene).notes
    silent = scene.get(scene.abstaining[0].predictions)
    assert silent.abstained is not None
    assert f"{scene.abstaining[0].title} abstains on {percent(1 - silent.coverage)} of the test rows." in notes
    pooling = scene.models.recalibrated[1]
    (remark,) = scene.get(pooling.fitted).remarks(8)
    assert remark.startswith("too few rows, calibrated together as one: ")
    assert f"{pooling.title}: {remark}" in notes
    assert "rows that all models answer" in EXHIBITS.make("summary").words(scene).caption
    marks = EXHIBITS.make("reliability").words(scene).notes
    answered, n = int((~silent.abstained).sum()), silent.n_rows
    assert any(f"{answered:,} of {n:,} test rows".replace(",", "\u202f") in note for note in marks)
