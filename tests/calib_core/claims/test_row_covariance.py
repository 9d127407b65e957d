"""Sums over pairs of cells: against single rows, split anywhere, and in coarser cells."""

from itertools import pairwise

import numpy as np
import pytest
from generated import full_predictions
from hypothesis import given, settings
from hypothesis import strategies as st

from calib_core import Predictions, estimate
from calib_core.binning import EqualMass, EqualWidth, Groups, tabulate
from calib_core.claims.binary_claims import ColumnClaims
from calib_core.claims.row_covariance import FEW_CLASSES, SMALL
from calib_core.inference.intervals.wild_bootstrap import reach

NOTIONS = ("class-wise", "top-k-confidence", "top-k-label")
SCHEMES = (EqualWidth(4), EqualMass(3), Groups(rows=5, bins=6))


def question(p, notion):
    return estimate(p, notion, "ece", 5).question


def shared(q, table):
    return q.claims.shared(table.edge_sets(q.claims.dtype), table.joined, q.ranks)


def row_by_row(q, table):
    """Return every row's contributions to pairs of cells from its claims, cells, scores and outcomes: the slow twin."""
    claims, size = q.claims, table.count.size
    if isinstance(claims, ColumnClaims):
        n, k = claims.rows.shape
        scores, codes = claims.rows.array(), np.broadcast_to(np.arange(k), (n, k))
        hits = claims.hit[:, None] == np.arange(k)
    else:
        n = len(claims.scores) // q.ranks
        scores, codes, hits = (a.reshape(q.ranks, n).T for a in (claims.scores, claims.codes, claims.outcomes))
    residual, claimed, sizes = np.zeros((size, size)), np.zeros((size, size)), 0.0
    for s, c, z in zip(scores, codes, hits, strict=True):
        cell, s = table.cells(s, c), s.astype(float)
        kept = (s >= SMALL) | z if len(s) > FEW_CLASSES else np.ones(len(s), dtype=bool)
        r = np.bincount(cell[kept], (z - s)[kept], size)
        some = np.bincount(cell[kept], s[kept], size)
        residual += np.outer(r, r)
        claimed += np.diag(np.bincount(cell, s, size)) - np.outer(some, some)
        sizes = sizes + np.outer(abs(z - s), abs(z - s))
    return residual, claimed, sizes


@pytest.mark.parametrize("notion", NOTIONS)
@pytest.mark.parametrize("scheme", SCHEMES, ids=repr)
@settings(max_examples=6)
@given(predictions=full_predictions(max_rows=30))
def test_they_are_what_rows_add_one_by_one(notion, scheme, predictions):
    q = question(predictions.replace(weights=None), notion)
    table = tabulate(q.claims, [scheme])[0]
    made, (residual, claimed, sizes) = shared(q, table), row_by_row(q, table)
    np.testing.assert_allclose(made.residual.value, residual, atol=1e-9)
    np.testing.assert_allclose(made.claimed.value, claimed, atol=1e-9)
    each = np.linspace(0.5, 1.0, made.lines)
    assert made.squared_reach(each) == pytest.approx(each @ sizes @ each, abs=1e-9)
    assert made.rows == len(predictions.labels)


def test_what_rows_can_move_is_what_rows_say():
    p = Predictions(np.random.default_rng(0).dirichlet(np.ones(6), 200), [0, 1, 2, 3] * 50)
    for notion in NOTIONS:
        q = question(p, notion)
        made = shared(q, tabulate(q.claims, [EqualWidth(5)])[0])
        each = np.full(made.lines, 1.0 / made.lines / 200)
        assert made.squared_reach(each) == pytest.approx(np.square(q.claims.influence(q.ranks)).sum(), rel=1e-9)
        assert made.reach(each) == pytest.approx(reach(q.claims, q.ranks), rel=1e-9)


def test_of_many_classes_small_scores_are_left_out_and_their_variance_is_not():
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.full(30, 0.05), 60).astype(np.float32)
    q = question(Predictions(p, rng.integers(0, 30, 60)), "class-wise")
    table = tabulate(q.claims, [EqualWidth(3)])[0]
    made, (residual, claimed, _) = shared(q, table), row_by_row(q, table)
    np.testing.assert_allclose(made.residual.value, residual, atol=1e-9)
    np.testing.assert_allclose(made.claimed.value, claimed, atol=1e-9)
    every = np.einsum("ij,ij->j", p.astype(float), 1.0 - p).sum()
    assert np.trace(made.claimed.value) == pytest.approx(every, rel=1e-3)


@settings(max_examples=10)
@given(cuts=st.lists(st.integers(1, 39), max_size=3, unique=True).map(sorted), order=st.randoms(use_true_random=False))
def test_parts_added_in_any_order_are_the_whole_to_the_bit(cuts, order):
    rng = np.random.default_rng(1)
    p = Predictions(rng.dirichlet(np.ones(4), 40), rng.integers(0, 4, 40))
    edges = [np.array([0.2, 0.5])]

    def of(rows):
        return question(rows, "class-wise").claims.shared(edges)

    ends = [0, *cuts, 40]
    parts = [of(p.take(np.arange(a, b))) for a, b in pairwise(ends)]
    order.shuffle(parts)
    whole, total = of(p), parts[0]
    for part in parts[1:]:
        total = total + part
    for name in ("residual", "claimed", "sizes"):
        there, here = getattr(whole, name), getattr(total, name)
        assert np.array_equal(there.whole, here.whole)
        assert np.array_equal(there.part, here.part)
    assert (whole.rows, whole.most) == (total.rows, total.most)


def test_coarser_cells_are_sums_of_finer_ones_to_the_bit():
    rng = np.random.default_rng(2)
    claims = question(Predictions(rng.dirichlet(np.ones(3), 500), rng.integers(0, 3, 500)), "class-wise").claims
    fine, coarse = (claims.shared([np.array(edges)]) for edges in ([0.1, 0.25, 0.5, 0.8], [0.25, 0.8]))
    codes = (3 * np.arange(3)[:, None] + np.array([0, 0, 1, 1, 2])).ravel()
    made = fine.grouped(codes, 9)
    assert np.array_equal(made.residual.value, coarse.residual.value)
    assert np.array_equal(made.claimed.value, coarse.claimed.value)


def test_rows_that_hardly_move_anything_move_no_less_than_nothing():
    p = Predictions([[1.0 - 1e-13, 1e-13]] * 40, [0] * 40)
    made = question(p, "class-wise").claims.shared([np.array([0.5])])
    assert made.squared_reach(np.full(2, 1 / 80)) >= 0.0
