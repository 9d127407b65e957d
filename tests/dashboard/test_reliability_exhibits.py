"""Printed output of the exhibits of reliability, compared with the library."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import calib_core as cc
from calib_core import CALIBRATORS, Predictions, Recipe
from calib_core import text as number_words
from calib_core.inference.significance.count_tests import kinds_of_places
from calib_core.slices.findings import BIN, CELL
from calib_core.text import percent
from calib_core.text import short_percent as spelt
from dashboard import session
from dashboard.exhibits import EXHIBITS, stars
from dashboard.exhibits.columns import share, span, written
from dashboard.selection import Selection, Source
from dashboard.session import Scene
from dashboard.views.calibrators import looked_at
from dashboard.views.place_detail import place

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
    """Return the cells of a table by heading."""
    exhibit: Any = EXHIBITS.make(key)
    frame = scene.get(exhibit.table(scene))
    columns = exhibit.columns(frame)
    cells = zip(*written(frame, columns), strict=True)
    return {column.heading: list(values) for column, values in zip(columns, cells, strict=True)}


def each(write: Callable[[float], str], values: Any) -> list[str]:
    return [write(value) for value in values]


def zoom_bin(diagram: Any, zoom: Any) -> int:
    """Return the bin shown in detail."""
    return next(b for b in range(diagram.n_bins) if diagram.label(b) == zoom.label)


def test_bins_are_printed_with_their_own_intervals_and_bands(scene: Scene, after: Predictions) -> None:
    cells, bands = printed(scene, "bins"), cc.diagrams.reliability_bands(after).frame()
    diagram = cc.diagrams.reliability(after).frame()
    for heading, low, high in (
        ("bin", "lower", "upper"),
        ("interval of observed", "accuracy_low", "accuracy_high"),
        ("calibrated models", "band_low", "band_high"),
    ):
        assert cells[heading] == [span(*ends) for ends in zip(bands[low], bands[high], strict=True)], heading
    whole = {"100.0 %": "100 %", "0.0 %": "0 %"}
    for heading, name in (("predicted", "confidence"), ("observed", "accuracy")):
        assert cells[heading] == [whole.get(text, text) for text in each(percent, diagram[name])], heading
    assert cells["error by predicted class"] == each(number_words.short_percent, diagram["delta"])
    words = EXHIBITS.make("bins").words(scene)
    assert f"{cc.diagrams.reliability_bands(after).outside} of {len(bands)} stars" in words.caption


def test_every_models_brier_score_is_taken_apart(scene: Scene) -> None:
    cells = printed(scene, "corp")
    assert tuple(cells["model"]) == scene.titles
    curves = [cc.diagrams.corp(scene.get(model.predictions)) for model in scene.models.shown]
    assert cells["Brier score"] == each(number_words.score, (curve.score for curve in curves))
    for part in ("miscalibration", "discrimination", "uncertainty"):
        assert cells[part] == each(number_words.score, (getattr(curve, part) for curve in curves)), part


def test_a_bin_lists_its_classes_with_intervals_and_says_how_many_stand_out(scene: Scene, after: Predictions) -> None:
    diagram = cc.diagrams.reliability(after)
    b = int(diagram.frame()["bin"].iloc[0])
    for chosen, why in ((None, "the bin that contributes most to the error"), (b, ""), (99, "contributes most")):
        focused = scene.focused(bin=chosen)
        cells, zoom = printed(focused, "bin"), cc.diagrams.zoom(after, diagram, b if chosen == b else None)
        assert cells["class"] == list(zoom.names)
        assert cells["confidence"] == each(share("confidence").write, zoom.confidence)
        assert cells["accuracy"] == each(share("accuracy").write, zoom.accuracy)
        assert cells["interval excludes confidence"] == ["yes" if off else "no" for off in zoom.stands_out]
        words = EXHIBITS.make("bin").words(focused)
        assert why in words.caption
        assert ("contributes most" in words.caption) == bool(why)
        n = int(zoom.stands_out.sum())
        (found,) = words.headline
        assert found.startswith(f"In this bin, {n or 'none'} of {len(zoom.names)} predicted classes ha")
        ends = cc.diagrams.edges_said(
            *(float(edge[zoom_bin(diagram, zoom)]) for edge in (diagram.lower, diagram.upper))
        )
        rows = EXHIBITS.make("bin-rows").words(focused).caption
        assert ends in words.caption
        assert ends in rows
        assert f"{spelt(after.correct[zoom.rows].mean())} right" in rows


def test_the_curve_without_bins_says_how_far_off_it_is_at_the_score_chosen(scene: Scene, after: Predictions) -> None:
    curve = cc.diagrams.kernel_curve(after)
    places = [score for score in np.arange(1, 100) / 100 if np.isfinite(curve.local_error(score))]
    for score in (places[0], places[-1]):
        exhibit = EXHIBITS.make("kernel-curve", score=score)
        local = number_words.short_percent(curve.local_error(score))
        assert f"at {number_words.short_percent(score)} is {local}." in exhibit.words(scene).notes[0]
    empty = next(score for score in (0.0, 0.01, 0.02) if np.isnan(curve.local_error(score)))
    assert "too few rows" in EXHIBITS.make("kernel-curve", score=empty).words(scene).notes[0]


def test_the_summary_says_what_was_set_aside_and_what_is_not_answered(scene: Scene) -> None:
    notes = EXHIBITS.make("summary").words(scene).notes
    silent = scene.get(scene.abstaining[0].predictions)
    assert silent.abstained is not None
    assert f"{scene.abstaining[0].title} abstains on {percent(1 - silent.coverage)} of the held-out rows." in notes
    pooling = scene.models.recalibrated[1]
    (remark,) = scene.get(pooling.fitted).remarks(8)
    assert remark.startswith("too few rows, pooled")
    assert f"{pooling.title}: {remark}" in notes
    assert "rows that all models answer" in EXHIBITS.make("summary").words(scene).caption
    marks = EXHIBITS.make("reliability").words(scene).notes
    answered, n = int((~silent.abstained).sum()), silent.n_rows
    assert any(f"{answered:,} of {n:,} held-out rows" in note for note in marks)


def test_the_picture_in_words_names_the_bin_furthest_off_of_every_model(scene: Scene) -> None:
    alt = EXHIBITS.make("reliability").words(scene).alt
    for model in scene.models.shown:
        frame = cc.diagrams.reliability(scene.get(model.predictions)).frame()
        largest = (frame["accuracy"] - frame["confidence"]).abs().max()
        assert f"{model.title}: largest distance of a bin from the diagonal {number_words.points(largest)[1:]}" in alt


def test_of_many_models_a_bin_says_the_range_and_of_few_each(scene: Scene) -> None:
    low, high = stars.ends(scene.focused(between=(0.9, 1.0)))
    assert (low, high) == (0.9, 1.0)
    words = EXHIBITS.make("bin-models").words(scene.focused(between=(0.9, 1.0)))
    frame = scene.get(EXHIBITS.make("bin-models").table(scene.focused(between=(0.9, 1.0)))).set_index("model")
    rights = frame["right"].iloc[1:]
    ends = f"{percent(rights.min(), 0).removesuffix(' %')} to {percent(rights.max(), 0)}"
    assert f"other 3 models here is {ends}." in words.caption


def test_without_a_choice_the_range_is_that_of_the_bin_that_adds_most(scene: Scene, after: Predictions) -> None:
    diagram = cc.diagrams.reliability(after)
    assert stars.ends(scene) == (diagram.lower[diagram.worst], diagram.upper[diagram.worst])
    for b in diagram.frame()["bin"]:
        assert stars.ends(scene.focused(bin=int(b))) == (diagram.lower[b], min(1, diagram.upper[b]))


def test_what_has_an_answer_is_not_in_the_notes(scene: Scene) -> None:
    """A note explains why a model has no point; a model that has one gets none."""
    notes = EXHIBITS.make("trade").words(scene).notes
    frame = scene.get(EXHIBITS.make("trade").table(scene))
    known = set(frame.loc[frame["error"].notna(), "model"])
    assert known
    assert not [note for note in notes if note.partition(":")[0] in known]


def test_a_file_is_named_in_its_table_where_there_are_several(scene: Scene) -> None:
    assert list(printed(scene, "file")) == ["property", "value"]


def test_classes_that_stand_out_are_named(scene: Scene, after: Predictions) -> None:
    exhibit: Any = EXHIBITS.make("class-errors")
    tests = cc.inference.per_class_tests(
        scene.get(scene.model.predictions),
        exhibit.notion,
        families=kinds_of_places(scene.get(scene.model.predictions)),
        fewest=10,
    )
    names = [str(tests["class"][code]) for code in cc.inference.standing_out(tests)[:3]]
    assert names
    assert exhibit.outstanding(scene).partition(": ")[2].startswith(f"class {names[0]}")
    assert all(name in exhibit.outstanding(scene).partition(": ")[2] for name in names)


def test_a_frame_looked_at_is_of_a_recalibrated_model_where_that_is_asked(scene: Scene) -> None:
    second = scene.models.recalibrated[1]
    assert looked_at(scene.focused(model=second.title)) == second
    assert looked_at(scene.focused(model=scene.models.shown[0].title)) == scene.models.recalibrated[0]


def test_the_sentence_above_the_diagram_is_about_the_bins_that_are_drawn() -> None:
    found = []
    for bins in (4, 15):
        selection = Selection(source=Source(data="demo:digits-naive-bayes"), calibrators=(), binning="equal-width")
        seen = session.scene_of(selection.replace(bins=bins))
        rows = {seen.model.title: seen.get(seen.model.predictions)}
        claim = cc.diagrams.bins_standing_out(rows, bins=bins, notion=seen.claims)
        found.append(EXHIBITS.make("reliability").words(seen).headline)
        assert found[-1] == cc.diagrams.headline(claim, {seen.model.title: "the original model"})
    assert found[0] != found[1]


def test_a_finding_of_a_value_that_no_bin_of_the_diagram_has_alone_leads_to_no_bin() -> None:
    """Histogram binning gives few values, one bin each in the findings; the diagram has its own bins."""
    binned = (Recipe("CALIBRATORS", "top-label-hb"),)
    chosen = Selection(source=Source(data="demo:digits-naive-bayes"), calibrators=binned)
    of_values = session.scene_of(chosen.replace(model="Top-label histogram binning"))
    assert of_values.get(of_values.model.predictions).discrete
    line = {"kind": CELL, "bin": 3, "code": 2}
    assert place(line, of_values)["bin"] is None
    assert place(line | {"kind": BIN}, of_values)["bin"] == 3
    alike = session.scene_of(chosen.replace(model="Original model"))
    assert place(line, alike)["bin"] == 3
