"""The sweep on screen: its controls, its words, and the bins of reliability diagrams."""

import numpy as np
import pandas as pd
import pytest

import calib_core as cc
from calib_core import NotAnswerable, Recipe
from dashboard import session
from dashboard.exhibits import EXHIBITS
from dashboard.selection import Selection, Source

BINS, SCALED = "Top-label histogram binning", "Temperature scaling"


@pytest.fixture(scope="module")
def scene():
    ticked = tuple(Recipe("CALIBRATORS", key) for key in ("temperature", "top-label-hb"))
    return session.scene_of(Selection(source=Source(data="demo:wine-logistic", by="share"), calibrators=ticked))


def table(scene, key, **options):
    return scene.get(EXHIBITS.make(key, **options).table(scene))


def test_calibrators_that_bin_are_fitted_anew_and_the_others_stay(scene):
    plain, anew = table(scene, "sweep"), table(scene, "sweep", refit=True)
    same = (plain["value"] == anew["value"]).groupby(plain["model"]).all()
    assert same.to_dict() == {"Original model": True, SCALED: True, BINS: False}
    division = scene.get(scene.models.shown[0].division)
    rows = cc.CALIBRATORS.make("top-label-hb", bins=7).fit_on(division.fit).apply(division.test)
    here = anew[(anew["model"] == BINS) & (anew["bins"] == 7) & (anew["notion"] == "top-label")]
    assert here["value"].item() == pytest.approx(cc.estimate(rows, "top-label", "ece", 7).value)
    notes = EXHIBITS.make("sweep", refit=True).words(scene).notes
    assert any(note.startswith("Refitted") and note.endswith(f": {BINS}.") for note in notes)


def test_cross_fitted_rows_leave_none_to_fit_anew_on_which_is_said():
    source, ticked = Source(data="demo:wine-logistic", by="folds"), (Recipe("CALIBRATORS", "top-label-hb"),)
    folds = session.scene_of(Selection(source=source, calibrators=ticked))
    anew = table(folds, "sweep", refit=True)
    assert set(anew["model"]) == {"Original model"}
    as_it_is = table(folds, "sweep")
    pd.testing.assert_frame_equal(anew, as_it_is[as_it_is["model"] == "Original model"])
    notes = EXHIBITS.make("sweep", refit=True).words(folds).notes
    assert [note for note in notes if note.startswith(f"{BINS}: rows are cross-fitted")]
    assert not [note for note in notes if "None of the models" in note or "Refitted" in note]


def test_rows_per_bin_and_other_errors_are_said(scene):
    exhibit = EXHIBITS.make("sweep", kind="points-per-bin", estimator="debiased-l2", claims="looked-at")
    looked_at = scene.focused(notion="class-wise")
    words, frame = exhibit.words(looked_at), looked_at.get(exhibit.table(looked_at))
    assert words.caption.startswith("Debiased squared error for 10 to 500 rows in each bin; class-wise.")
    assert any(note.startswith(f"{BINS}: ") for note in words.notes), "single claims are no claims of every class"
    assert set(frame["model"]) == {"Original model", SCALED}
    assert [column.heading for column in exhibit.columns(frame)][2:4] == ["rows per bin", "Debiased squared error"]
    figure = looked_at.get(exhibit.figure(looked_at))
    assert figure.layout.xaxis.title.text == "rows per bin"


def test_intervals_stand_in_the_table_and_behind_the_lines(scene):
    one = session.scene_of(Selection(source=Source(data="demo:wine-logistic"), calibrators=()))
    exhibit = EXHIBITS.make("sweep", intervals=True, claims="looked-at")
    frame = one.get(exhibit.table(one))
    base = one.get(one.models.shown[0].predictions)
    ends = cc.estimate(base, frame["notion"][0], "ece", 5).interval()
    assert (frame["low"][0], frame["high"][0]) == (ends.low, ends.high)
    band = next(trace for trace in one.get(exhibit.figure(one)).data if trace.fill == "toself")
    np.testing.assert_array_equal(band.y, np.r_[frame["high"], frame["low"][::-1]])
    assert any("90 % interval" in note for note in exhibit.words(one).notes)


def test_all_models_are_drawn_in_the_bins_of_the_recalibrated_one_looked_at(scene):
    looked_at = scene.focused(model=BINS)
    frame = table(looked_at, "reliability", bins_of="recalibrated")
    counts = [part["count"].tolist() for _, part in frame.groupby("model", sort=False)]
    assert len(counts) == 3
    assert counts[0] == counts[1] == counts[2]
    exhibit = EXHIBITS.make("reliability", bins_of="recalibrated", overlay="corp")
    assert any(BINS in note for note in exhibit.words(looked_at).notes)
    figure = looked_at.get(exhibit.figure(looked_at))
    records = [mark for trace in figure.data for mark in trace.customdata or () if isinstance(mark, dict)]
    assert records
    assert not any("bin" in mark for mark in records), "a group of rows is no bin that a click could open"
    assert not {"overlay", "chance"} & set(exhibit.used)
    panels = EXHIBITS.make("class-panels", bins_of="recalibrated")
    classes = looked_at.get(panels.table(looked_at))
    per_model = [part["count"].tolist() for _, part in classes.groupby("model", sort=False)]
    assert per_model[0] == per_model[-1]
    bare = session.scene_of(Selection(source=Source(data="demo:wine-logistic"), calibrators=()))
    with pytest.raises(NotAnswerable, match="no recalibrated model"):
        table(bare, "reliability", bins_of="recalibrated")
