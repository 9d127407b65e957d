"""Inference on binned errors needs only sums over cells: claims counted on a grid give the same bits."""

from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from generated import full_predictions, permuted
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from calib_core import ESTIMATORS, NotAnswerable, Predictions, estimate
from calib_core.binning import EqualWidth, tabulate
from calib_core.claims.binary_claims import FlatClaims
from calib_core.claims.exact_sums import Moments
from calib_core.estimators import Binned
from calib_core.estimators.base import reads_bins
from calib_core.inference.intervals.event_rows import EventRows
from calib_core.inference.intervals.joint_intervals import floors
from calib_core.inference.intervals.squared_errors import pairs
from calib_core.inference.noise.cell_draws import FineCells, counts_suffice
from calib_core.reductions import as_reduction
from calib_core.results.uncertainty import NoiseFloor

COUNTED = [key for key in ESTIMATORS if ESTIMATORS[key].flags.counts != "never" and reads_bins(key)]


@dataclass(frozen=True, eq=False)
class ByCounts:
    """Claims reduced to moments on a fine grid of edges."""

    strata: tuple[str, ...]
    shares: Any
    dtype: Any
    floor: float
    grid: Any
    fine: Moments
    listed: Any = None
    weights: None = None
    same_rows: bool = False
    grain: str = "counts"

    @classmethod
    def of(cls, claims, grid):
        grid = grid.astype(claims.dtype)
        return cls(claims.strata, claims.shares, claims.dtype, claims.floor, grid, claims.moments([grid]), claims)

    @property
    def n_claims(self):
        return int(self.fine.count.sum())

    def one_a_row(self, ranks=1):
        return ranks == 1

    def tally(self, edges):
        return self.moments([edges])

    def moments(self, edge_sets):
        starts = [np.searchsorted(self.grid, edges) + 1 for edges in edge_sets]
        for edges, start in zip(edge_sets, starts, strict=True):
            np.testing.assert_array_equal(self.grid[start - 1], edges)
        coarse = self.fine.coarsened(starts)
        if len(coarse) == 1:
            return coarse[0]
        cells = 1 + max(map(len, edge_sets))
        codes = np.zeros(self.fine.count.shape, dtype=np.intp)
        for s, start in enumerate(starts):
            codes[s] = s * cells + np.searchsorted(start, np.arange(codes.shape[1]), side="right")
        return self.fine.grouped(codes, (len(self.strata), cells))

    def refined(self, edge_sets):
        return [self.grid] * len(edge_sets)

    def stratum(self, s):
        raise NotAnswerable("rows are not known")


@contextmanager
def counting(notion, grid):
    """Count the claims of the notion as soon as they are computed."""
    kind = type(as_reduction(notion))
    split = kind.split
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kind, "split", lambda self, predictions: ByCounts.of(split(self, predictions), grid))
        # The mean gap is read on the fine grid of summaries, which this one is not: of its own counts (``Summary``).
        of = EventRows.of_claims
        patch.setattr(EventRows, "of_claims", lambda claims, rows: of(getattr(claims, "listed", claims), rows))
        yield


PARTS = np.arange(1, 1024) / 1024
GRID = np.unique(np.concatenate([*(EqualWidth(b).fixed_edges() for b in (3, 15)), PARTS]))


@pytest.mark.parametrize("notion", ["confidence", "top-label", "class-specific"])
@settings(max_examples=8)
@given(
    predictions=full_predictions(max_rows=60),
    key=st.sampled_from(COUNTED),
    bins=st.sampled_from([3, None]),
)
def test_value_and_interval_of_counts_are_those_of_rows_in_any_order(notion, predictions, key, bins):
    assume(predictions.event is None)  # of two classes the lines of other notions share the level
    predictions = predictions.replace(weights=None)

    def told(p):
        made = estimate(p, notion, key, bins)
        try:
            interval = made.interval()
            # The largest error uses the floor of the root mean square, which draws counts cell by cell.
            interval = replace(interval, p_bound=None, p_of="") if key == "mce" else interval
            return made.value, made.per_stratum.tolist(), interval
        except NotAnswerable as why:
            return made.value, str(why)

    rows, shuffled = told(predictions), told(permuted(predictions)[0])
    with counting(notion, GRID):
        assert repr(told(predictions)) == repr(rows) == repr(shuffled)
        assert told(predictions)[2:] == rows[2:] == shuffled[2:]


@pytest.mark.parametrize("sharp", [1.0, 30.0], ids=["rich", "poor"])
@pytest.mark.parametrize("key", ["ece", "debiased-l2"])
def test_floor_and_verdict_of_many_rows_are_those_of_counts(sharp, key):
    """Full bins use the normal distribution, bins near 0 and 1 binomial cells: neither uses rows."""
    rng = np.random.default_rng(0)
    h = rng.beta(sharp * 3, 1.0, 60_000)
    p = Predictions.from_confidence(h, rng.random(60_000) < h)

    def told():
        made = estimate(p, "confidence", key, 15)
        word = made.verdict(0.001)
        return made.value, made.noise_floor.draws.tolist(), made.p_value, word, word.rows_needed

    rows = told()
    with counting("confidence", np.union1d(EqualWidth(15).fixed_edges(), PARTS)):
        assert told() == rows


def test_copies_are_never_written_out_where_counts_suffice(monkeypatch):
    rng = np.random.default_rng(0)
    h = rng.uniform(0.5, 1.0, 80)
    weighed = Predictions.from_confidence(h, rng.random(80) < h, weights=rng.integers(0, 20_000, 80))
    made = estimate(weighed, "confidence", "debiased-l2", 5)
    monkeypatch.setattr(Predictions, "written_out", lambda self: pytest.fail("copies are written out"))
    assert made.interval().low <= made.interval().point <= made.interval().high
    assert 0 < made.p_value <= 1
    assert made.verdict(0.9).word == "within"


def test_sweeps_of_copies_read_counts_and_give_the_floors_of_the_rows(monkeypatch):
    rng = np.random.default_rng(1)
    h = rng.uniform(0.5, 1.0, 400)
    weighed = Predictions.from_confidence(h, rng.random(400) < h, weights=np.tile([100, 200], 200))
    rules = [Binned(EqualWidth(b)) for b in (5, 8)]
    there = floors(weighed.written_out(), as_reduction("confidence"), rules)
    monkeypatch.setattr(Predictions, "written_out", lambda self: pytest.fail("copies are written out"))
    here = floors(weighed, as_reduction("confidence"), rules)
    assert [one.draws.tolist() for one in here] == [one.draws.tolist() for one in there]


# -- slow twin of the pairs of rows ---------------------------------------------------------------------------


@given(
    rows=st.lists(
        st.tuples(st.floats(0, 1), st.booleans(), st.integers(0, 2), st.integers(1, 3)), min_size=1, max_size=25
    ),
    weighted=st.sampled_from(["not", "unequal"]),
)
def test_pairs_from_moments_are_those_of_rows(rows, weighted):
    s, z, cell, w = (np.array([row[i] for row in rows]) for i in range(4))
    weights = w / 1.5 if weighted == "unequal" else np.ones(len(rows))
    claims = FlatClaims(
        s.astype(float), z, cell, ("a", "b", "c"), np.full(3, 1 / 3), weights if weighted == "unequal" else None
    )
    made = pairs(claims.moments([np.empty(0)]))
    x, total, square, moved = weights * (z - s), 0.0, 0.0, 0.0
    for c in range(3):
        mine = np.flatnonzero(cell == c)
        mass = weights[mine].sum()
        free = mass - (weights[mine] ** 2).sum() / mass if len(mine) else 0.0
        if free <= 1e-9 * mass:
            continue
        total += mass
        square += sum(x[i] * x[j] for i in mine for j in mine if i != j) / free
        moved += sum((2 * x[i] * sum(x[j] for j in mine if j != i) / free) ** 2 for i in mine)
    scale = total or 1.0
    assert made.square == pytest.approx(square / scale, abs=1e-10)
    assert made.moved == pytest.approx(moved / scale**2, abs=1e-9)
    assert made.share == pytest.approx(total / weights.sum())


# -- outcomes drawn by cells ----------------------------------------------------------------------------------


@given(st.lists(st.tuples(st.floats(0, 1), st.integers(0, 1)), min_size=1, max_size=50), st.integers(2, 40))
def test_binomial_cells_have_the_mean_of_rows_and_little_more_variance(claims, parts):
    scores, codes = np.array([c[0] for c in claims]), np.array([c[1] for c in claims])
    flat = FlatClaims(scores, scores > 2, codes, ("a", "b"), np.array([0.5, 0.5]))
    grid = np.arange(1, parts) / parts
    counts = ByCounts.of(flat, np.union1d(grid, [0.5]))
    cells = FineCells(counts, tabulate(flat, [EqualWidth(2)])[0])
    binomial = cells._count * cells._score * (1 - cells._score)
    apart, width = (scores * (1 - scores)).sum(), 1 / parts
    assert cells._count.sum() == len(scores)
    assert (cells._count * cells._score).sum() == pytest.approx(scores.sum(), abs=1e-9)
    assert apart - 1e-9 <= binomial.sum() <= min(apart / (1 - width), apart + len(scores) * width**2 / 4) + 1e-9


def test_drawn_sums_and_moments_have_the_mean_and_variance_of_their_cells():
    rng = np.random.default_rng(0)
    scores, codes = rng.uniform(0, 1, 500), rng.integers(0, 2, 500)
    flat = FlatClaims(scores, scores > 2, codes, ("a", "b"), np.array([0.5, 0.5]))
    table = tabulate(flat, [EqualWidth(4)])[0]
    cells = FineCells(flat, table)
    drawn = cells.outcomes(np.random.default_rng(1), 4000)
    spread = table.moments(flat).claim
    np.testing.assert_allclose(drawn.mean(0), table.tally.score, atol=5 * np.sqrt(spread.max() / 4000))
    np.testing.assert_allclose(drawn.var(0), spread, rtol=0.12)
    # Of outcomes drawn from the scores the sum of r^2 has mean sum s (1 - s), that of r^3 sum s (1 - s) (1 - 2 s).
    made = list(cells.moments(np.random.default_rng(2), 2000))
    np.testing.assert_allclose(np.mean([m.second for m in made], axis=0), spread, rtol=0.02)
    at = np.minimum((scores * 4).astype(int), 3) + 4 * codes
    third = np.bincount(at, scores * (1 - scores) * (1 - 2 * scores), 8).reshape(2, 4)
    np.testing.assert_allclose(np.mean([m.third for m in made], axis=0), third, atol=0.5)
    np.testing.assert_allclose(made[0].count, table.count)


def test_a_floor_of_cells_keeps_its_level_and_one_of_half_the_variance_does_not():
    """Bins near 1 with few outcomes, in cells of the coarsest used width; rows draw their outcomes one by one."""
    rng = np.random.default_rng(4)
    scores = rng.beta(8, 0.5, 2000)
    flat = FlatClaims(scores, scores > 2, np.zeros(2000, dtype=int), ("all rows",), np.ones(1))
    table, rule = tabulate(flat, [EqualWidth(15)])[0], Binned(EqualWidth(15))
    counts = ByCounts.of(flat, np.union1d(EqualWidth(15).fixed_edges(), np.arange(1, 32) / 32))
    cells = FineCells(counts, table)
    bins = np.minimum((scores * 15).astype(int), 14)
    found = {"cells": [], "halved": []}
    for _ in range(600):
        truth = np.bincount(bins, rng.random(2000) < scores, 15)[None, None].astype(float)
        observed = float(rule.of_outcomes(table, truth)[0])
        one, other = cells.outcomes(rng, 99), cells.outcomes(rng, 99)
        for name, drawn in (("cells", one), ("halved", (one + other) / 2)):
            found[name].append(NoiseFloor(observed, rule.of_outcomes(table, drawn)).p_value <= 0.05)
    assert np.mean(found["cells"]) <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 600)
    assert np.mean(found["halved"]) > 0.2


def test_which_claims_are_drawn_by_cells():
    many = FlatClaims(np.full(50_001, 0.5), np.zeros(50_001, bool), np.zeros(50_001, int), ("a",), np.ones(1))
    assert counts_suffice(many)
    assert not counts_suffice(many, ranks=3)
    assert not counts_suffice(replace(many, scores=many.scores[1:]))
    assert not counts_suffice(many.reweighed(np.full(50_001, 0.5)))
    few = FlatClaims(np.full(2, 0.5), np.zeros(2, bool), np.zeros(2, int), ("a",), np.ones(1), np.full(2, 30_000.0))
    assert counts_suffice(few)
    assert counts_suffice(ByCounts.of(replace(few, weights=None), np.array([0.5])))
