"""Groups of enough rows: against a slow twin, guaranteed sizes, pooled classes, weights, inference."""

import time

import numpy as np
import pytest
from generated import copies, full_predictions, permuted
from hypothesis import given
from hypothesis import strategies as st

import calib_core as cc
from calib_core import Predictions, estimate
from calib_core.binning import EqualWidth, Groups, group_codes, tabulate, variance_codes
from calib_core.claims.binary_claims import FlatClaims
from calib_core.inference import bootstrap
from calib_core.reductions import ClassWise, TopLabel

NOTIONS = ("confidence", "top-label", "class-wise", "top-k-label")


def slow_groups(amounts, least, claimed):
    """Return the group of each (stratum, bin) by plain loops over summed amounts; the pooled strata's groups last."""
    total = [sum(line) for line in amounts]
    small = [s for s, amount in enumerate(total) if amount < least - 1e-9]
    if sum(claimed) < 2 or not any(claimed[s] for s in small):
        small = []
    rest = sorted((s for s in range(len(total)) if s not in small), key=lambda s: total[s])
    while small and sum(total[s] for s in small) < least - 1e-9 and rest:
        small.append(rest.pop(0))
    lines = [[s] for s in range(len(total)) if s not in small] + ([small] if small else [])
    codes, first = {}, 0
    for members in lines:
        line = [sum(amounts[s][b] for s in members) for b in range(len(amounts[0]))]
        groups, since = [[]], 0.0
        for b, amount in enumerate(line):
            if since >= least - 1e-9:
                groups.append([])
                since = 0.0
            groups[-1].append(b)
            since += amount
        if since < least - 1e-9 and len(groups) > 1:
            left_over = groups.pop()
            groups[-1] += left_over
        for number, bins in enumerate(groups):
            codes.update({(s, b): first + number for s in members for b in bins})
        first += len(groups)
    return [[codes[s, b] for b in range(len(amounts[0]))] for s in range(len(amounts))]


@given(
    p=full_predictions(max_rows=120, max_classes=8, weighted=False),
    rows=st.integers(1, 30),
    bins=st.integers(1, 12),
)
def test_groups_are_those_of_the_slow_twin(p, rows, bins):
    fine = tabulate(TopLabel().split(p), [EqualWidth(bins)])[0]
    assert group_codes(fine, rows).tolist() == slow_groups(fine.count.tolist(), rows, fine.count.any(1))
    fine = tabulate(ClassWise().split(p), [EqualWidth(bins)])[0]
    low, high = fine.lower[0], fine.upper[0]
    least = np.maximum(fine.tally.score * (1 - low - high) + fine.count * low * high, 0)
    assert group_codes(fine, rows, same_rows=True).tolist() == slow_groups(least.tolist(), rows / 4, fine.count.any(1))


@given(p=full_predictions(max_rows=120, max_classes=8), notion=st.sampled_from(NOTIONS), rows=st.integers(1, 30))
def test_a_group_holds_enough_unless_all_classes_together_have_less(p, notion, rows):
    claims = cc.REDUCTIONS.make(notion).split(p)
    table = Groups(rows).table(claims)
    variance = np.zeros(table.count.size)
    weights, squares = variance.copy(), variance.copy()
    for s in range(len(claims.strata)):
        one = claims.stratum(s)
        w = np.ones(len(one.scores)) if one.weights is None else one.weights
        at, said = table.cells(one.scores, np.full(len(w), s)), one.scores.astype(float)
        variance += np.bincount(at, w * said * (1 - said), len(variance))
        weights += np.bincount(at, w, len(variance))
        squares += np.bincount(at, w * w, len(variance))
    np.testing.assert_allclose(weights, table.count.ravel(), rtol=1e-9, atol=1e-12)
    full = weights > 0
    copied = claims.weights is None or (claims.weights == np.floor(claims.weights)).all()
    amount = (variance if claims.same_rows else weights)[full] * (1 if copied else weights[full] / squares[full])
    least = (rows / 4 if claims.same_rows else rows) * (1 - 1e-6)
    assert full.sum() == 1 or (amount >= least).all()


@given(p=full_predictions(max_rows=120, max_classes=8), notion=st.sampled_from(NOTIONS))
def test_joining_never_raises_the_plug_in_error_and_loses_nothing(p, notion):
    claims = cc.REDUCTIONS.make(notion).split(p)
    table = Groups(5).table(claims)
    fine = tabulate(claims, [EqualWidth(15)])[0]
    assert table.weight.sum() == pytest.approx(1)
    for part in ("count", "score", "outcome"):
        assert getattr(table.tally, part).sum() == pytest.approx(getattr(fine.tally, part).sum())
    for order in (1, 2, "max"):
        by = cc.ESTIMATORS.make("binned", order=order)
        assert by.of_table(table).value <= by.of_table(fine).value + 1e-12


@given(p=full_predictions(max_rows=120), notion=st.sampled_from(NOTIONS), seed=st.integers(0, 9))
def test_neither_the_order_of_rows_nor_outcomes_have_a_say(p, notion, seed):
    split = cc.REDUCTIONS.make(notion).split
    table = Groups(5).table(split(p))
    other = p.relabelled((p.labels + 1) % p.n_classes)
    for q in (permuted(p, seed)[0], other, permuted(other, seed)[0]):
        again = Groups(5).table(split(q))
        np.testing.assert_array_equal(again.lower, table.lower)
        np.testing.assert_allclose(again.count, table.count, rtol=1e-12)
        assert again.strata == table.strata


@given(p=full_predictions(max_rows=80, weighted="whole"), notion=st.sampled_from(NOTIONS))
def test_a_whole_weight_is_that_many_copies(p, notion):
    for key in ("ece", "debiased-l2", "debiased-ece"):
        one, other = (estimate(q, notion, key, Groups(5)) for q in (p, copies(p)))
        assert one.value == pytest.approx(other.value, abs=1e-12)
        assert one.strata == other.strata


def few_of_some(n=600, seed=0):
    """Return seven classes of falling size, the last ones with a few rows."""
    rng = np.random.default_rng(seed)
    group = rng.choice(7, n, p=np.array([0.5, 0.3, 0.16, 0.02, 0.01, 0.007, 0.003]))
    said = np.round(rng.beta(5, 1.3, n), 2)
    label = np.where(rng.random(n) < said**1.5, group, (group + 1) % 7)
    return Predictions.from_confidence(said, predicted=group, labels=label, class_names=list("abcdefg"))


@pytest.mark.parametrize("key", ["ece", "rmsce", "mce", "debiased-l2", "debiased-ece"])
def test_estimates_over_pooled_classes_have_the_parts_of_their_groups(key):
    p = few_of_some()
    made = estimate(p, "top-label", key, "groups")
    assert made.strata == ("a", "b", "c", "4 classes pooled")
    assert made.shares.sum() == pytest.approx(1)
    assert len(made.per_stratum) == 4
    # By hand: the same claims with the small classes as one class; their order decides nothing.
    claims = TopLabel().split(p)
    codes = np.minimum(claims.codes, 3)
    shares = np.bincount(codes) / len(codes)
    by_hand = FlatClaims(claims.scores, claims.outcomes, codes, ("a", "b", "c", "rest"), shares)
    assert cc.ESTIMATORS.make(key, binning=Groups())(by_hand).value == pytest.approx(made.value, abs=1e-15)
    assert made.table["count"].min() >= 20


def test_inference_reads_groups_as_it_reads_bins():
    made = estimate(few_of_some(), "top-label", "ece", "groups")
    assert made.noise_floor.observed == pytest.approx(made.value)
    assert made.p_value < 0.01  # confidences to the power 1.5: clearly too sure
    assert abs(bootstrap(made.question, 200).mean() - made.value) < 0.05
    claims, table = made.question.claims, made.bins
    gaps = np.bincount(table.cells(claims.scores, claims.codes), claims.scores**1.5 - claims.scores)
    assert np.abs(gaps).sum() / 600 in made.interval()
    columns = estimate(cc.Predictions(*_rows()), "class-wise", "ece", "groups")
    assert columns.noise_floor.observed == pytest.approx(columns.value)
    assert 0 <= columns.interval().low <= columns.interval().high <= 1


def _rows(n=300, k=20):
    rng = np.random.default_rng(1)
    probs = rng.dirichlet(np.full(k, 0.1), n)
    return probs, (rng.random(n)[:, None] > np.cumsum(probs, 1)[:, :-1]).sum(1)


def test_an_unequal_weight_is_worth_fewer_rows():
    """Twenty rows, one with the weight of all others, have an effective sample size of four, too few for a group."""
    scores = np.concatenate([np.full(20, 0.1), np.full(30, 0.9)])
    for heavy, groups in ((1.5, 2), (19.5, 1)):
        weights = np.full(50, 1.5)
        weights[0] = heavy
        p = Predictions.from_confidence(scores, scores > 0.5, weights=weights)
        assert (estimate(p, "confidence", "ece", Groups(10)).bins.count > 0).sum() == groups


def test_one_small_class_takes_the_next_smallest_with_it():
    predicted = np.repeat([0, 1, 2], [3, 25, 40])
    p = Predictions.from_confidence(np.full(68, 0.5), predicted=predicted, labels=predicted, class_names=list("xyz"))
    table = tabulate(TopLabel().split(p), [Groups()])[0]
    assert table.strata == ("z", "x, y")
    assert table.count[table.count > 0].tolist() == [40, 28]
    assert table.joined.tolist() == [1, 1, 0]


def test_a_thousand_classes_take_no_time():
    rng = np.random.default_rng(0)
    scores, codes = rng.beta(5, 1.3, 20_000), rng.integers(1000, size=20_000)
    shares = np.bincount(codes, minlength=1000) / 20_000
    claims = FlatClaims(scores, scores > 0.5, codes, tuple(map(str, range(1000))), shares)
    fine = tabulate(claims, [EqualWidth(15)])[0]
    start = time.perf_counter()
    codes = group_codes(fine)
    assert time.perf_counter() - start < 0.1
    assert codes.shape == (1000, 15)


def _by_variance_slowly(count, score, variance):
    """Return the rule for variances, class by class and bin by bin: sets of (class, bin)."""
    mass = np.divide(score * (count - score), count, out=np.zeros_like(count), where=count > 0)
    classes = [s for s in range(len(count)) if count[s].sum() > 0]
    own = [s for s in classes if mass[s].sum() >= variance]
    few = sorted((s for s in classes if s not in own), key=lambda s: score[s].sum() / count[s].sum())
    lines, open_one = [[s] for s in own], []
    clusters = []
    for s in few:
        open_one.append(s)
        if mass[open_one].sum() >= variance:
            clusters.append(open_one)
            open_one = []
    if open_one and clusters:
        clusters[-1] += open_one
    elif open_one:
        if own:
            smallest = min(own, key=lambda s: mass[s].sum())
            lines.remove([smallest])
            open_one.append(smallest)
        clusters.append(open_one)
    groups = []
    for line in lines + clusters:
        runs, held = [[]], 0.0
        for b in range(count.shape[1]):
            if held >= variance:
                runs, held = [*runs, []], 0.0
            runs[-1].append(b)
            held += mass[line, b].sum()
        if len(runs) > 1 and held < variance:
            runs[-2:] = [runs[-2] + runs[-1]]
        groups += [frozenset((s, b) for s in line for b in run if count[s, b] > 0) for run in runs]
    return {group for group in groups if group}


@pytest.mark.parametrize("variance", [0.5, 2.0, 8.0, 60.0])
@pytest.mark.parametrize("classes", [1, 3, 12, 40])
def test_groups_by_variance_are_those_of_the_rule_written_out(classes, variance):
    said = np.random.default_rng(classes).integers(classes, size=600) ** 2 // classes
    _follows_the_rule(said, variance)


@pytest.mark.parametrize("sizes", [(5, 300, 90, 200), (90, 5, 200, 300), (300, 200, 90, 2, 3)])
def test_classes_too_few_even_together_take_the_smallest_of_the_others(sizes):
    _follows_the_rule(np.repeat(np.arange(len(sizes)), sizes), 5.0)


def _follows_the_rule(said, variance):
    scores = np.random.default_rng(1).beta(5, 1.3, len(said))
    p = Predictions.from_confidence(scores, predicted=said, labels=np.zeros(len(said), dtype=int))
    fine = tabulate(TopLabel().split(p), [EqualWidth(15)])[0]
    codes = variance_codes(fine, variance)
    held = np.argwhere(fine.count > 0)
    found = {frozenset(map(tuple, held[codes[tuple(held.T)] == g].tolist())) for g in np.unique(codes[tuple(held.T)])}
    assert found == _by_variance_slowly(fine.count, fine.tally.score, variance)
    table = tabulate(TopLabel().split(p), [Groups(variance=variance)])[0]
    assert sorted(table.count[table.count > 0]) == sorted(fine.count[tuple(zip(*g, strict=True))].sum() for g in found)
