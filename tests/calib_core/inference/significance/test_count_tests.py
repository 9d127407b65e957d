"""Tests of counts given each row's score: against slow twins, on calibrated models, and their power."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import calib_core as cc
from calib_core.inference import share_test
from calib_core.inference.significance.count_tests import count_test, counts_in_cells, node_counts, score_nodes

LAWS = {
    "spread": lambda rng, n: rng.beta(5, 1.3, n),
    "uniform": lambda rng, n: rng.random(n),
    "rare": lambda rng, n: rng.beta(0.3, 20, n),
    "near 1": lambda rng, n: np.where(rng.random(n) < 0.3, 1.0, rng.beta(200, 1, n)),
    "ratings": lambda rng, n: rng.choice([0.55, 0.7, 0.98], n),
}


def law_of(scores):
    """Return the distribution of the sum, built row by row."""
    law = np.ones(1)
    for s in scores:
        law = np.convolve(law, [1 - s, s])
    return law


def by_convolution(scores, positives):
    law = law_of(scores)
    return min(1.0, 2 * min(law[: positives + 1].sum(), law[positives:].sum()))


def p_of(scores, positives, nodes):
    counts = counts_in_cells(nodes, scores, np.zeros(len(scores), dtype=np.intp), 1)
    every = np.repeat(counts, len(positives), axis=0)
    return count_test(nodes, every, np.asarray(positives, dtype=np.float64))


@pytest.mark.parametrize("name", LAWS)
@pytest.mark.parametrize("n", [1, 10, 60, 700])
def test_p_is_that_of_the_law_built_row_by_row(name, n):
    scores = LAWS[name](np.random.default_rng(n), n)
    mean, sd = scores.sum(), np.sqrt((scores * (1 - scores)).sum())
    positives = np.unique(np.clip(np.rint(mean + sd * np.arange(-5, 6)), 0, n)).astype(int)
    slow = np.array([by_convolution(scores, k) for k in positives])
    rough = p_of(scores, positives, score_nodes())
    known = slow > 1e-9
    # Nodes that are not the scores' own: a hair off, most in the far tail of few rows.
    np.testing.assert_allclose(rough[known], slow[known], rtol=0.05)
    np.testing.assert_allclose(rough[slow > 1e-4], slow[slow > 1e-4], rtol=0.002)
    own = score_nodes(scores)
    np.testing.assert_allclose(p_of(scores, positives, own)[known], slow[known], rtol=0.01)
    if name == "ratings":
        np.testing.assert_allclose(p_of(scores, positives, own)[known], slow[known], rtol=1e-5)


@pytest.mark.parametrize("name", LAWS)
def test_of_calibrated_models_p_is_at_most_t_in_a_share_t_of_all_outcomes(name):
    """The full distribution, without draws, at every level, and the small conservatism at large counts."""
    scores = LAWS[name](np.random.default_rng(1), 400)
    p, law = p_of(scores, np.arange(401), score_nodes(scores)), law_of(scores)
    for t in (0.001, 0.01, 0.05, 0.2, 0.5):
        assert law[p <= t].sum() <= t * 1.002
    if name in ("spread", "uniform", "ratings"):
        assert law[p <= 0.05].sum() >= 0.03


def test_mean_scores_are_kept_and_variance_falls_by_a_hair():
    scores = np.random.default_rng(2).beta(2, 1, 5000)
    nodes = score_nodes()
    counts = counts_in_cells(nodes, scores, np.zeros(5000, dtype=np.intp), 1)[0]
    assert counts.sum() == pytest.approx(5000)
    assert counts @ nodes == pytest.approx(scores.sum())
    variance = (scores * (1 - scores)).sum()
    assert variance * (1 - 4e-5) <= counts @ (nodes * (1 - nodes)) <= variance * (1 + 1e-12)


def test_copies_count_and_cells_are_judged_apart():
    rng = np.random.default_rng(3)
    scores, cell, times = rng.random(300), rng.integers(0, 4, 300), rng.integers(0, 4, 300)
    nodes = score_nodes(scores)
    weighed = counts_in_cells(nodes, scores, cell, 5, times.astype(float))
    np.testing.assert_allclose(weighed, counts_in_cells(nodes, np.repeat(scores, times), np.repeat(cell, times), 5))
    assert np.isnan(count_test(nodes, weighed, np.zeros(5))[4])
    between = np.histogram(scores, nodes)[0].astype(float), np.histogram(scores, nodes, weights=scores)[0]
    np.testing.assert_allclose(node_counts(nodes, *between), counts_in_cells(nodes, scores, 0 * cell, 1)[0])


# ---- findings: false discoveries and power, simulated -------------------------------------------------------

RUNS, SLICES, EACH = 60, 20, 250


def sample(seed, off=0.0, level_of=lambda rng, n: rng.beta(0.9, 0.25, n)):
    """Return rows of many slices, calibrated except for the first, whose rows come true less often."""
    rng = np.random.default_rng(seed)
    n = SLICES * EACH
    score, site = level_of(rng, n), np.arange(n) % SLICES
    true = np.where(site == 0, np.maximum(score - off, 0), score)
    names = pd.DataFrame({"site": [f"s{i}" for i in site]})
    return cc.Predictions.from_confidence(score, rng.random(n) < true, metadata=names)


def by_both(p):
    table = cc.slices.table(p, "site").set_index("slice")
    old = share_test(*(table[c].to_numpy() for c in ("right", "claimed", "rows")), True)
    return table, pd.Series(cc.inference.benjamini_hochberg(old), table.index)


@pytest.mark.wide
def test_places_of_calibrated_rows_are_rarely_called_off():
    tables = [cc.findings(sample(seed)).query("kind != 'direction'") for seed in range(RUNS)]
    assert np.mean([table["stands_out"].any() for table in tables]) <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / RUNS)


def test_one_slice_that_is_off_is_found_where_the_law_of_the_mean_alone_misses_it():
    found, missed = [], []
    for seed in range(RUNS):
        table, old = by_both(sample(seed, off=0.085))
        found.append(bool(table.loc["site = s0", "stands_out"]))
        missed.append(old["site = s0"] > 0.05)
    assert np.mean(found) > 0.7
    assert np.mean(missed) > 0.4
