"""Laws of fits on summaries and parts: declared ones equal the fit on rows, all others report that they need rows."""

import numpy as np
import pytest

import calib_core as cc
from calib_core import BINARY_CALIBRATORS, CALIBRATORS, NotAnswerable, Summary
from calib_core.calibrators.calibration_rows import claims_of, summary_of_parts
from calib_core.summaries.cells import EDGES, cells_of, lowest
from tests.calib_core.summaries.test_summary import drawn

NEW = np.array([0.0, 0.001, 0.2, 0.3, 0.5, 0.777, 0.95, 1.0])


def claims(seed, n, dtype=np.float64):
    """Return scores away from 0 and 1, a third of them tied on edges of the grid, and their outcomes."""
    rng = np.random.default_rng(seed)
    s = rng.uniform(0.01, 0.99, n)
    s = np.where(rng.random(n) < 0.3, rng.choice(EDGES[20:-20], n), s).astype(dtype)
    return s, rng.random(n) < s**1.5


def counted(s, y):
    return cc.reductions.Confidence().split(Summary.of(cc.Predictions.from_confidence(s, y))).stratum(0)


def stand_in(s, y, how):
    """Return the representative of each claim, one by one: a slow twin."""
    cell = cells_of(s)
    if how == "edges":
        return lowest(cell, s.dtype)
    same = lambda i: cell == cell[i] if how == "cells" else (cell == cell[i]) & (y == y[i])  # noqa: E731
    return np.array([s[same(i)].mean(dtype=float) for i in range(len(s))])


@pytest.mark.parametrize("key", BINARY_CALIBRATORS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_map_fitted_on_counts_is_that_of_the_claims_that_stand_for_them(key, dtype):
    s, y = claims(1, 600, dtype)
    how = BINARY_CALIBRATORS[key].flags.counts
    if how == "never":
        with pytest.raises(NotAnswerable, match="needs rows"):
            BINARY_CALIBRATORS.make(key).fit_counts(counted(s, y))
        return
    here = BINARY_CALIBRATORS.make(key).fit_counts(counted(s, y)).transform(NEW)
    there = BINARY_CALIBRATORS.make(key).fit(stand_in(s, y, how), y).transform(NEW)
    np.testing.assert_allclose(here, there, atol=1e-7)
    rows = BINARY_CALIBRATORS.make(key).fit(s, y).transform(NEW)
    assert np.abs(here - rows).max() < {"edges": 0.15, "cells": 0.1, "outcomes": 1e-3}[how]


@pytest.mark.parametrize("bins", [1, 7, 15, 100])
def test_bins_of_equal_width_on_the_grid_are_those_of_the_rows_to_the_bit(bins):
    s, y = claims(2, 500, np.float32)
    make = lambda: BINARY_CALIBRATORS.make("equal-width-histogram", bins=bins)  # noqa: E731
    here, there = make().fit_counts(counted(s, y)), make().fit(s, y)
    np.testing.assert_array_equal(here.values_, there.values_)
    np.testing.assert_array_equal(here.counts_, there.counts_)
    with pytest.raises(NotAnswerable, match="bin edges"):
        BINARY_CALIBRATORS.make("equal-width-histogram", bins=29).fit_counts(counted(s, y))


def test_claims_keep_their_number_and_their_means():
    s, y = claims(3, 5000)
    listed = claims_of(counted(s, y), "outcomes")
    for outcome in (True, False):
        mine = listed.outcomes == outcome
        assert listed.weights[mine].sum() == (y == outcome).sum()
        assert listed.weights[mine] @ listed.scores[mine] == pytest.approx(s[y == outcome].sum(), abs=1e-8)


def test_log_odds_that_the_grid_does_not_tell_apart_are_refused():
    rng = np.random.default_rng(4)
    s = 1 - 10 ** -rng.uniform(1, 8, 2000)
    y = rng.random(2000) < 0.9
    for key in BINARY_CALIBRATORS:
        how = BINARY_CALIBRATORS[key].flags.counts
        if how == "outcomes":
            with pytest.raises(NotAnswerable, match="does not distinguish log-odds"):
                BINARY_CALIBRATORS.make(key).fit_counts(counted(s, y))
        elif how != "never":
            BINARY_CALIBRATORS.make(key).fit_counts(counted(s, y))


def made(key):
    names = {param.name for param in CALIBRATORS[key].params}
    return CALIBRATORS.make(key, **{"points_per_bin": 20} if "points_per_bin" in names else {})


@pytest.fixture(scope="module")
def rows():
    found = drawn(21, 900, dtype=np.float64)
    return found.with_probs(0.9 * found.probs + 0.1 / 3)


@pytest.mark.parametrize("key", CALIBRATORS)
def test_what_does_not_read_counts_says_so_and_the_rest_is_fitted(key, rows, monkeypatch):
    monkeypatch.setattr("calib_core.calibrators.fitting.softmax_loss._SAMPLE_VALUES", 500)  # of 2,700: a rough start
    cal = made(key)
    counts = Summary.of(rows)
    if not cal.reads_counts:
        with pytest.raises(NotAnswerable, match="needs rows, but a summary contains only counts"):
            cal.fit_on(counts)
    else:
        assert cal.fit_on(counts).apply(rows).n_rows == rows.n_rows
        with pytest.raises(NotAnswerable, match="needs rows"):
            cal.apply(counts)
    parts = [rows.take(np.arange(i, min(i + 250, 900))) for i in range(0, 900, 250)]
    if not (cal.by_sums or cal.reads_counts):
        with pytest.raises(NotAnswerable, match="needs all calibration rows at once"):
            made(key).fit_parts(parts)
        return
    here = made(key).fit_parts(parts)
    there = made(key).fit_on(rows if cal.by_sums else counts)
    new = rows.take(np.arange(50))
    one, other = here.apply(new), there.apply(new)
    np.testing.assert_allclose(one.confidence, other.confidence, atol=1e-9, rtol=0)
    assert here.remarks() == there.remarks()


def test_the_summary_of_parts_is_that_of_the_rows(rows):
    parts = [rows.take(np.arange(i, i + 45)) for i in range(0, 900, 45)]
    assert summary_of_parts(parts).same_as(Summary.of(rows))


def test_with_too_many_classes_for_a_hessian_a_sample_is_no_start(monkeypatch):
    """Starting from the optimum of a few rows, which they separate, the search ended elsewhere."""
    monkeypatch.setattr("calib_core.calibrators.fitting.softmax_loss._SAMPLE_VALUES", 20_000)
    rng = np.random.default_rng(5)
    z = 4 * rng.standard_normal((800, 130))
    p = cc.Predictions.from_logits(z, (z / 3 + rng.gumbel(size=z.shape)).argmax(axis=1))
    there = CALIBRATORS.make("vector").fit_on(p)
    here = CALIBRATORS.make("vector").fit_parts([p.take(np.arange(0, 500)), p.take(np.arange(500, 800))])
    assert here.status_ == there.status_ != "not converged"
    losses = [cc.estimate(cal.apply(p), None, "log-loss").value for cal in (here, there)]
    assert losses[0] == pytest.approx(losses[1], abs=1e-6)
