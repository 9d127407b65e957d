"""Grouped rows in inference: values by hand, slow twins, and coverage for dependent rows within a group."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm, ttest_1samp
from scipy.stats import t as student

import calib_core as cc
from calib_core import NotAnswerable, Predictions, estimate, inference
from calib_core.binning import EqualWidth, tabulate
from calib_core.diagrams import local_accuracy, overall_gap
from calib_core.inference.intervals.clustered_rows import GroupsInCells
from calib_core.inference.intervals.elementary import clopper_pearson
from calib_core.inference.noise import outcome_draws
from calib_core.predictions.row_groups import as_groups
from calib_core.reductions import REDUCTIONS

LEVEL = 0.9


# -- information in grouped rows --------------------------------------------------------------------------------


def in_one_cell(outcomes, groups):
    n = len(outcomes)
    return GroupsInCells.of_rows(
        np.zeros(n, dtype=np.intp), as_groups(groups, None, n), np.full(n, 0.5), np.asarray(outcomes, bool), None, 1
    )


def test_rows_that_are_all_alike_are_worth_their_groups():
    # 20 pairs, ten right and ten wrong: the variance is twice that of independent rows, and never below groups.
    assert in_one_cell(np.repeat([1, 0] * 10, 2), np.repeat(np.arange(20), 2)).worth(LEVEL) == [20.0]


def test_rows_that_hang_together_in_nothing_are_worth_nearly_their_number():
    # One right and one wrong in each of 20 pairs: no variance between groups; Student's room for 19 degrees is left.
    room = (norm.isf(0.05) / student.isf(0.05, 19)) ** 2
    np.testing.assert_allclose(in_one_cell([1, 0] * 20, np.repeat(np.arange(20), 2)).worth(LEVEL), 40 * room)


def test_few_groups_with_a_surprise_count_as_one_row_each():
    # 30 groups of 4, nine of which have wrong rows: how alike they come out is not estimated.
    outcomes = np.ones((30, 4), dtype=bool)
    outcomes[:9, 0] = False
    assert in_one_cell(outcomes.ravel(), np.repeat(np.arange(30), 4)).worth(LEVEL) == [30.0]
    p = Predictions.from_confidence(np.full(120, 0.9), outcomes.ravel(), groups=np.repeat(np.arange(30), 4))
    found = overall_gap(p)
    low, high = clopper_pearson(np.array([30 * 111 / 120]), np.array([30.0]), LEVEL)
    np.testing.assert_allclose([found.low, found.high], [low[0], high[0]])


def random_rows(seed, n=60, k=3, groups=12):
    rng = np.random.default_rng(seed)
    return Predictions(
        rng.dirichlet(np.ones(k), n), rng.integers(0, k, n), groups=rng.integers(0, groups, n), weights=None
    )


@given(seed=st.integers(0, 999), notion=st.sampled_from(["confidence", "top-label", "class-wise", "top-k-confidence"]))
def test_sums_of_groups_in_cells_add_up_to_the_table(seed, notion):
    p = random_rows(seed)
    claims = REDUCTIONS.make(notion).split(p)
    table = tabulate(claims, [EqualWidth(4)])[0]
    ranks = len(claims.scores) // p.n_rows if hasattr(claims, "scores") else 1
    sums = GroupsInCells.of(claims, table, p.row_groups, ranks)
    for part, whole in (("weight", "count"), ("score", "score"), ("outcome", "outcome")):
        total = np.bincount(sums.cell, getattr(sums, part), sums.cells)
        np.testing.assert_allclose(total, getattr(table.tally, whole).ravel(), atol=1e-9)


@given(seed=st.integers(0, 999))
def test_squares_bound_those_of_every_choice_of_signs(seed):
    p = random_rows(seed)
    claims = REDUCTIONS.make("confidence").split(p)
    table = tabulate(claims, [EqualWidth(4)])[0]
    sums = GroupsInCells.of(claims, table, p.row_groups)
    dense = np.zeros((sums.cells, sums.groups))
    dense[sums.cell, sums.group] = sums.outcome - sums.score
    most = max(float(np.square(np.array(h) @ dense).sum()) for h in product([-1, 1], repeat=sums.cells))
    found = sums.squares(np.ones(sums.cells))
    assert most <= found + 1e-9
    np.testing.assert_allclose(found, np.abs(dense @ dense.T).sum())


def test_one_uniform_a_group_makes_equal_claims_come_out_alike():
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(50), 4)
    claims = REDUCTIONS.make("confidence").split(Predictions.from_confidence(np.full(200, 0.7), np.ones(200)))
    stream = outcome_draws.Alike(groups, rng.random((50, 400)))
    outcomes = np.array([drawn.outcomes for drawn in outcome_draws.outcomes(claims, 1, stream, 400)])
    assert (outcomes.reshape(400, 50, 4).std(axis=2) == 0).all()
    assert abs(outcomes.mean() - 0.7) < 0.02


# -- tests and differences --------------------------------------------------------------------------------------


def test_spiegelhalter_adds_up_each_groups_terms():
    rng = np.random.default_rng(1)
    h, groups = rng.uniform(0.5, 0.95, 300), np.arange(300) // 5
    right = rng.random(300) < h
    p = Predictions(np.column_stack([1 - h, h]), right.astype(int), groups=groups)
    term = 2 * np.square(h - right) - 2 * h * (1 - h)
    alone = (2 * (1 - 2 * h)) ** 2 * h * (1 - h)
    seen = sum(term[groups == g].sum() ** 2 for g in range(60))
    z = term.sum() / np.sqrt(max(seen, alone.sum()))
    found = inference.spiegelhalter(p)
    np.testing.assert_allclose([found.statistic, found.p_value], [z, 2 * student.sf(abs(z), 59)])


def test_paired_scores_of_equal_groups_are_students_test_of_their_means():
    rng = np.random.default_rng(2)
    probs = rng.dirichlet(np.ones(3), 300)
    p = Predictions(probs, rng.integers(0, 3, 300), groups=np.arange(300) // 6)
    q = p.with_probs(np.roll(probs, 1, axis=1))
    found = inference.paired_difference(p, q, None, "accuracy")
    means = (p.correct.astype(float) - q.correct).reshape(50, 6).mean(axis=1)
    twin = ttest_1samp(means, 0.0)
    np.testing.assert_allclose(found.p_value, twin.pvalue)
    np.testing.assert_allclose([found.low, found.high], list(twin.confidence_interval(LEVEL)))


def test_models_in_other_groups_are_not_compared():
    p = random_rows(0)
    with pytest.raises(cc.InputError, match="different groups of rows"):
        inference.paired_difference(p, p.replace(groups=None))


def test_what_is_made_for_independent_rows_says_so_in_one_sentence():
    p = random_rows(0)
    for ask in (
        lambda: estimate(p, "confidence", "debiased-l2").interval(),
        lambda: inference.kuiper(p),
        lambda: inference.per_class_tests(p),
    ):
        with pytest.raises(NotAnswerable, match=r"^rows belong to 12 groups, but .* requires independent rows"):
            ask()
    with pytest.raises(NotAnswerable, match="cannot be estimated from fewer than 10"):
        estimate(random_rows(0, groups=6)).interval()


def test_intervals_say_that_rows_are_taken_together():
    p = random_rows(0).replace(groups=random_rows(0).groups)
    assert estimate(p).interval().about.endswith("clustered by group")
    assert "bins, of rows in 12 groups, is estimated" in estimate(p).verdict().sentence


def test_rows_that_may_hang_together_are_too_few_where_as_many_independent_ones_are():
    scores, right = np.full(100, 0.8), np.arange(100) % 5 > 0
    alone = Predictions.from_confidence(scores, right)
    assert estimate(alone).verdict().word == "too few rows to tell"
    assert estimate(alone.replace(groups=np.arange(100) // 5)).verdict().word == "too few rows to tell"
    many = Predictions.from_confidence(np.tile(scores, 100), np.tile(right, 100), groups=np.arange(10_000) // 500)
    assert estimate(many).verdict().word != "too few rows to tell", "as many independent rows would tell"


# -- coverage ---------------------------------------------------------------------------------------------------


def hanging_together(rng, groups, law, share):
    """Return scores of groups of 2 to 20 rows, and calibrated outcomes, a share of which follow one uniform."""
    g = np.repeat(np.arange(groups), rng.integers(2, 21, groups))
    n = len(g)
    scores = {
        "spread": lambda: rng.uniform(0.5, 1.0, n),
        "near 1": lambda: 1 - 0.5 * rng.beta(1, 30, n),
        "all .99": lambda: np.full(n, 0.99),
        "one a group": lambda: np.clip(rng.uniform(0.5, 1.0, groups)[g] + rng.normal(0, 0.02, n), 0.5, 0.999),
    }[law]()
    uniform = np.where(rng.random(n) < share, rng.random(groups)[g], rng.random(n))
    return g, scores, uniform


def held_what_is_true(groups, law, share, off, runs, seed):
    """Return the coverage of intervals of accuracy, local accuracy and ECE; with groups and without."""
    rng = np.random.default_rng(seed)
    found = np.zeros((runs, 2, 3))
    for r in range(runs):
        g, scores, uniform = hanging_together(rng, groups, law, share)
        chance = np.clip(scores - off, 0.0, 1.0)
        p = Predictions.from_confidence(scores, uniform < chance, groups=g)
        error = np.abs(np.bincount(np.minimum((scores * 15).astype(int), 14), chance - scores)).sum() / len(g)
        for which, rows in enumerate((p, p.replace(groups=None))):
            whole, near = overall_gap(rows), local_accuracy(rows, [0.9]).answers[0]
            window = (scores >= near.lower) & (scores <= near.upper)
            span = estimate(rows, "confidence", "ece", 15).interval()
            found[r, which] = (
                whole.low <= chance.mean() <= whole.high,
                near.low <= chance[window].mean() <= near.high,
                span.low - 1e-9 <= error <= span.high + 1e-9,
            )
    return found.mean(axis=0)


@pytest.mark.wide
def test_intervals_hold_where_rows_of_a_group_come_out_alike_and_independent_ones_do_not():
    runs = 30
    held, independent = held_what_is_true(40, "one a group", 0.8, 0.0, runs, seed=0)
    error = 2 * np.sqrt(0.9 * 0.1 / runs)
    assert (held >= 0.88 - error).all(), held
    assert (independent < 0.75).all(), independent


@pytest.mark.wide
@pytest.mark.parametrize("off", [0.0, 0.1])
@pytest.mark.parametrize(("law", "share"), [("spread", 0.5), ("near 1", 0.5), ("all .99", 0.9), ("one a group", 0.8)])
@pytest.mark.parametrize("groups", [10, 30, 100, 200])
def test_intervals_hold_for_ten_to_two_hundred_groups(groups, law, share, off):
    runs = 150
    held, _ = held_what_is_true(groups, law, share, off, runs, seed=1)
    assert (held >= 0.88 - 2 * np.sqrt(0.9 * 0.1 / runs)).all(), held


@pytest.mark.wide
def test_calibrated_groups_are_rejected_at_most_at_the_level():
    rng = np.random.default_rng(3)
    p_values = []
    for _ in range(30):
        g, scores, uniform = hanging_together(rng, 40, "one a group", 0.8)
        p = Predictions.from_confidence(scores, uniform < scores, groups=g)
        p_values.append((estimate(p).p_value, inference.shown_at_all(p).p_value))
    assert (np.mean(np.array(p_values) <= 0.05, axis=0) <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / 30)).all()


@pytest.mark.parametrize(
    "sizes", [[5] * 40 + [300], [600 // rank for rank in range(1, 81)]], ids=["one group leads", "zipf"]
)
def test_a_group_that_outweighs_the_others_makes_intervals_wide(sizes):
    """The group pulls the share towards itself, so that deviations from the share underestimate the variation."""
    rng, hits, runs = np.random.default_rng(7), 0, 60
    groups = np.repeat(np.arange(len(sizes)), sizes)
    for _ in range(runs):
        right = rng.random(len(groups)) < rng.beta(4, 1, len(sizes))[groups]
        gap = overall_gap(Predictions.from_confidence(np.full(len(groups), 0.8), right, groups=groups))
        hits += gap.low <= 0.8 <= gap.high
    assert hits >= runs * 0.9 - 2 * np.sqrt(runs * 0.09)


@pytest.mark.parametrize("key", ["ece", "mce", "mce-of-bins", "ece-adaptive"])
def test_noise_is_never_more_than_a_share_can_be(key):
    """Twelve groups once had widened distributions of the largest error of up to 150 %."""
    rng = np.random.default_rng(0)
    confidence = rng.uniform(0.3, 0.99, 60)
    rows = Predictions.from_confidence(confidence, rng.random(60) < 0.5, groups=np.arange(60) // 5)
    floor = estimate(rows, "confidence", key, 10).noise_floor
    assert floor.draws.max() <= 1
    assert key[:3] != "mce" or floor.draws.max() == 1
