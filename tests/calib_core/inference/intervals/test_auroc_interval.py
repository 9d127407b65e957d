"""Intervals of an AUROC have their nominal miss rate with few events, where DeLong's misses far more often."""

import sys
from pathlib import Path

import numpy as np
import pytest
from auroc_laws import delong, misses
from verdict_shares import more_than

from calib_core import Predictions, risk
from calib_core.inference.intervals.influence_functions import FEWEST_ROWS, ConfidenceRows, auroc, auroc_ends

sys.path.insert(0, str(Path(__file__).parents[3] / "simulations"))
import aurocs


def answers(high, low):
    return ConfidenceRows(np.r_[high, low], np.arange(len(high) + len(low)) < len(high), np.ones(len(high) + len(low)))


@pytest.mark.parametrize(
    ("law", "wanted", "events", "others"),
    [("binormal", 0.98, 12, 1988), ("events three times as wide", 0.95, 20, 380), ("minus exponential", 0.99, 50, 50)],
)
def test_ends_hold_where_delongs_do_not(law, wanted, events, others):
    runs = 200
    _, above, below, plain, *_ = misses(law, wanted, events, others, runs, seed=11)
    assert not more_than(above, runs)
    assert not more_than(below, runs)
    assert more_than(plain, runs), "the falsified twin keeps the promise: these cases show nothing"


@pytest.mark.wide
def test_the_table_of_the_simulation_keeps_the_promise():
    table = aurocs.TABLE.frame(aurocs.FILE)
    assert len(table) == len(aurocs.cases())
    assert aurocs.faults(table) == []


def test_a_table_of_delongs_intervals_breaks_it():
    table = aurocs.TABLE.frame(aurocs.FILE)
    plain = table.assign(above=table["delong_above"], below=table["delong_below"], width=table["delong_width"])
    assert any(fault.startswith("above") for fault in aurocs.faults(plain))


def test_the_interval_is_near_delongs_where_rows_are_many():
    rng = np.random.default_rng(0)
    rows = answers(rng.normal(1, 1, 400), rng.normal(0, 1, 600))
    measure = auroc(rows)
    for ours, plain in zip(auroc_ends(measure, rows, 0.9), delong(measure, 0.9), strict=True):
        assert ours == pytest.approx(plain, abs=0.05 * measure.error)


def test_ends_are_mirrored_when_scores_are():
    rng = np.random.default_rng(1)
    high, low = rng.normal(1, 1, 8), rng.normal(0, 1, 30)
    first, turned = answers(high, low), answers(-high, -low)
    ends, mirrored = (auroc_ends(auroc(rows), rows, 0.9) for rows in (first, turned))
    assert ends == pytest.approx((1 - mirrored[1], 1 - mirrored[0]))


def test_rows_that_are_all_apart_have_a_lower_end_alone():
    rows = answers(np.linspace(2, 3, 6), np.linspace(0, 1, 50))
    low, high = auroc_ends(auroc(rows), rows, 0.9)
    assert 0.6 < low < 0.9
    assert high == 1


def test_weights_that_are_copies_count_as_rows():
    rng = np.random.default_rng(2)
    s, y, w = rng.random(60).round(2), rng.random(60) < 0.4, rng.integers(1, 4, 60)
    weighted = Predictions(np.column_stack([1 - s, s]), y.astype(int), weights=w.astype(float))
    copied = Predictions(np.repeat(np.column_stack([1 - s, s]), w, axis=0), np.repeat(y.astype(int), w))
    first, second = (
        risk.scores(p).set_index("measure").loc["auroc", ["value", "low", "high"]] for p in (weighted, copied)
    )
    assert first.tolist() == pytest.approx(second.tolist())


def test_below_the_tested_number_of_events_there_is_no_interval():
    s = np.linspace(0.05, 0.95, 40)
    for events in (FEWEST_ROWS - 1, FEWEST_ROWS):
        y = np.zeros(40, dtype=int)
        y[np.arange(events) * 6 + 5] = 1
        line = risk.scores(Predictions(np.column_stack([1 - s, s]), y)).set_index("measure").loc["auroc"]
        assert np.isfinite(line["low"]) == np.isfinite(line["high"]) == (events >= FEWEST_ROWS)
        assert ("no interval" in line["note"]) == (events < FEWEST_ROWS)
