"""Laws of summaries: results from counts equal those from rows to the bit, or a message says that rows are needed."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import calib_core as cc
from calib_core import ESTIMATORS, NotAnswerable, Summary
from calib_core.binning.interval_schemes import moves_edges
from calib_core.inference import estimate_line
from calib_core.inference.significance.calibration_tests import shown_at_all, spiegelhalter
from calib_core.summaries import write_summary
from dashboard import session
from dashboard.exhibits import EXHIBITS, Exhibit
from dashboard.selection import Selection, Source
from tests.calib_core.summaries.test_summary import drawn

pytestmark = pytest.mark.law
COUNTING = [key for key in ESTIMATORS if ESTIMATORS[key].flags.counts != "never"]
DISJOINT = ("confidence", "top-label", "class-specific")


@pytest.fixture(scope="module")
def pair():
    rows = drawn(11, 1200, dtype=np.float32)
    return rows, Summary.of(rows)


@pytest.mark.parametrize("key", ESTIMATORS)
@pytest.mark.parametrize("notion", [*DISJOINT, "class-wise"])
def test_estimators_that_count_give_the_bits_of_the_rows(pair, key, notion):
    rows, counts = pair
    if key not in COUNTING:
        with pytest.raises(NotAnswerable, match="needs rows"):
            cc.estimate(counts, notion, key)
        return
    there, here = (cc.estimate(of, notion, key, bins=10) for of in (rows, counts))
    if moves_edges(here.question.estimator.binning):
        assert here.value == pytest.approx(there.value, abs=0.01)
        return
    assert here.value == there.value
    if notion == "class-wise":  # lower ends and points of few rows are drawn: row by row, or from cells
        assert here.interval().high == there.interval().high
        assert here.interval().low == pytest.approx(there.interval().low, abs=0.005)
        assert here.noise_floor.mean == pytest.approx(there.noise_floor.mean, rel=0.03, abs=1e-3)
        return
    assert here.interval() == there.interval()


def test_bins_of_which_pairs_are_not_kept_are_refused_in_words(pair):
    _, counts = pair
    made = cc.estimate(counts, "class-wise", "ece", bins=12)
    for ask in (made.interval, made.verdict, lambda: made.noise_floor):
        with pytest.raises(NotAnswerable, match="10 or 15 or 20 bins of equal width"):
            ask()
    assert cc.estimate(counts, "class-wise", "mce", bins=12).interval().high > 0, "bounded bin by bin"
    older = dataclasses.replace(counts, class_pairs=None)
    with pytest.raises(NotAnswerable, match="older version"):
        cc.estimate(older, "class-wise").interval()
    assert older.merge(counts).class_pairs is None


@pytest.mark.parametrize("key", ["accuracy", "brier", "log-loss"])
def test_scores_of_whole_predictions_are_those_of_the_rows(pair, key):
    there, here = (estimate_line(cc.estimate(of, None, key)) for of in pair)
    for name in ("value", "low", "high"):
        assert getattr(here, name) == pytest.approx(getattr(there, name), abs=1e-9)
    assert here.floor == pytest.approx(there.floor, abs=0.02)
    assert here.about == there.about


def test_the_tests_of_whole_predictions_are_those_of_the_rows():
    rows = drawn(12, 3000, dtype=np.float64)
    rows = rows.with_probs(0.9 * rows.probs + 0.1 / 3)
    counts = Summary.of(rows)
    for test in (shown_at_all, spiegelhalter, lambda of: spiegelhalter(of, "log-loss")):
        there, here = test(rows), test(counts)
        assert here.statistic == pytest.approx(there.statistic, abs=1e-6)
        assert here.p_value == pytest.approx(there.p_value, abs=1e-6)


def test_a_p_value_that_cannot_be_drawn_is_careful():
    few = cc.Predictions.from_confidence([0.99] * 20, [True] * 18 + [False] * 2)
    assert shown_at_all(Summary.of(few)).p_value >= shown_at_all(few).p_value
    assert "conservative" in shown_at_all(Summary.of(few)).name


@pytest.mark.parametrize("bins", ["equal-mass", "points-per-bin"])
def test_edges_that_scores_place_are_moved_to_the_grid_and_that_is_said(pair, bins):
    rows, counts = pair
    there, here = (cc.estimate(of, "confidence", "ece", bins=bins) for of in (rows, counts))
    assert here.in_bins == f"{there.in_bins}, edges moved to the summary's grid"
    assert here.bins.count.sum() == rows.n_rows
    with pytest.raises(NotAnswerable, match="one bin per value"):
        cc.estimate(counts, "confidence", "ece", bins="distinct")


def test_what_the_first_page_says_is_what_the_rows_say(pair):
    rows, counts = pair
    assert cc.diagrams.overall_gap(counts).headline == cc.diagrams.overall_gap(rows).headline
    there, here = (cc.diagrams.local_accuracy(of) for of in pair)
    close = np.abs(there.rows - here.rows) <= 0.02 * there.rows + 5
    assert close.mean() > 0.95
    assert cc.inference.primary(counts).notion == cc.inference.primary(rows).notion


@pytest.fixture(params=["full", "per-class", "confidence"])
def scene(request, tmp_path_factory, monkeypatch):
    monkeypatch.setattr("calib_core.readers.formats.parquet._HAS_LIMITS", False)
    path = tmp_path_factory.mktemp("counts") / f"{request.param}.parquet"
    write_summary(Summary.of(drawn(13, 600, kind=request.param)), path)
    key = session.hold(path.read_bytes(), path.name).key
    return session.scene_of(Selection(source=Source(data=key), calibrators=(), code=1, bin=12))


ALWAYS = {"reliability", "verdict", "hero", "overall"}
ANSWERED = ALWAYS | {"estimators", "notions", "tests", "scores"}
SLOW = {"arena", "arena-ranks", "lab-curve", "lab-errors", "plans", "papers", "reproduction", "coverage", "rejection"}
"""Exhibits that do not depend on data."""


def test_every_exhibit_of_a_summary_answers_or_says_that_it_needs_rows(scene):
    answered = set()
    for key in set(EXHIBITS) - SLOW:
        exhibit: Exhibit = EXHIBITS.make(key)
        try:
            frame = scene.get(exhibit.table(scene))
            exhibit.columns(frame)
            if (figure := exhibit.figure(scene)) is not None:
                scene.get(figure)
            exhibit.words(scene)
        except NotAnswerable:
            continue
        answered.add(key)
    assert answered >= (ANSWERED if scene.get(scene.model.predictions).kind == "full" else ALWAYS)
