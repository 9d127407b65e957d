"""LECE and LECD against an obvious twin, with ties, zeros, weights, thresholds and cross-validation."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calib_core import CALIBRATORS, InputError, Predictions
from calib_core.calibrators import Lecd, Lece
from calib_core.calibrators import neighbours as nearest_module
from calib_core.calibrators.neighbours import (
    SHARES,
    THRESHOLDS,
    Euclidean,
    KullbackLeibler,
    Nearest,
    _count,
    best_cell,
    fold_codes,
)


def kl(p, q):
    """Return the Kullback-Leibler divergence of two rows, without the entropy of p, which does not affect ranks."""
    total = 0.0
    for a, b in zip(p, q, strict=True):
        if a > 0 and b == 0:
            return np.inf
        total -= a * np.log(b) if a > 0 else 0.0
    return total


def euclidean(p, q):
    return float(np.sqrt(sum((a - b) ** 2 for a, b in zip(p, q, strict=True))))


def memberships(distances, weights, k):
    """Return the weight of each row: nearest first, rows at the same distance together, the last group in part."""
    share, left = np.zeros(len(distances)), float(k)
    for d in sorted(set(distances)):
        group = np.flatnonzero([other == d for other in distances])
        used = min(left, weights[group].sum())
        share[group] = weights[group] * used / weights[group].sum()
        left -= used
        if left <= 0:
            break
    return share


def slow(method, points, labels, new, k, threshold, distance=kl, weights=None):
    """Return P3 Algorithm 1, one row at a time, in plain loops."""
    weights = np.ones(len(points)) if weights is None else weights
    out = []
    for p in new:
        # To 11 digits, so that rows at the same distance in exact arithmetic are so here.
        far = [float(f"{distance(p, q):.11g}") for q in points]
        share = memberships(far, weights, min(k, weights.sum()))
        mean_p = sum(s * q for s, q in zip(share, points, strict=True)) / share.sum()
        mean_y = np.bincount(labels, share, len(p)) / share.sum()
        made = p - (mean_p - mean_y) if method == "lece" else mean_y
        made = [a if a <= threshold or b <= threshold + 1e-12 else b for a, b in zip(p, made, strict=True)]
        out.append(np.array(made) / sum(made))
    return np.array(out)


def data(seed, style, n=40, m=12, classes=3):
    rng = np.random.default_rng(seed)
    rows = {
        "spread": lambda size: rng.dirichlet(np.full(classes, 0.5), size),
        "grid": lambda size: rng.multinomial(10, np.full(classes, 1 / classes), size) / 10,
        "one-hot": lambda size: np.eye(classes)[rng.integers(classes, size=size)],
        "confident": lambda size: np.exp(z := 15 * rng.standard_normal((size, classes))) / np.exp(z).sum(1)[:, None],
    }[style]
    return rows(n), rng.integers(classes, size=n), rows(m)


@pytest.mark.parametrize("style", ["spread", "grid", "one-hot", "confident"])
@pytest.mark.parametrize("distance", ["kl", "euclidean"])
@pytest.mark.parametrize("method", ["lece", "lecd"])
def test_the_slow_twin_agrees(method, distance, style):
    for seed, (k, t) in enumerate([(1, 0.0), (7, 0.0), (7, 0.05), (20, 0.2), (40, 0.0), (39, 0.01), (100, 0.0)]):
        points, labels, new = data(seed, style)
        cal = CALIBRATORS.make(method, neighbours=k, threshold=t, distance=distance).fit(points, labels)
        expected = slow(method, points, labels, new, k, t, kl if distance == "kl" else euclidean)
        np.testing.assert_allclose(cal.predict_proba(new), expected, atol=1e-10)


@pytest.mark.parametrize("method", ["lece", "lecd"])
@pytest.mark.parametrize("style", ["spread", "grid"])
def test_the_slow_twin_agrees_on_weighted_rows(method, style):
    for seed in range(5):
        points, labels, new = data(seed, style)
        weights = np.random.default_rng(seed).integers(0, 4, len(points)) * 0.5
        cal = CALIBRATORS.make(method, neighbours=6).fit(points, labels, sample_weight=weights)
        used, held = weights > 0, Predictions(points, labels, weights=weights).weights  # with mean 1
        expected = slow(method, points[used], labels[used], new, 6, 0.0, weights=held[used])
        np.testing.assert_allclose(cal.predict_proba(new), expected, atol=1e-10)


def test_lece_by_hand():
    # Neighbors of (.9, .1) among four: the two .8 and the .7. mean p = 2.3/3, mean y = 2/3: CE = .1.
    points, labels = [[0.8, 0.2], [0.8, 0.2], [0.7, 0.3], [0.1, 0.9]], [0, 1, 0, 1]
    assert Lece(neighbours=3).fit(points, labels).predict_proba([[0.9, 0.1]]) == pytest.approx(np.array([[0.8, 0.2]]))
    # t = .15: the second entry, .1, is unchanged: (.8, .1) / .9.
    made = Lece(neighbours=3, threshold=0.15).fit(points, labels).predict_proba([[0.9, 0.1]])
    assert made == pytest.approx(np.array([[0.8, 0.1]]) / 0.9)


def test_rows_as_far_as_the_last_neighbour_share_its_place():
    # One place, three rows equally far: frequencies of all three.
    points, labels = [[0.5, 0.5]] * 3 + [[0.1, 0.9]], [0, 0, 1, 1]
    assert Lecd(neighbours=1).fit(points, labels).predict_proba([[0.6, 0.4]]) == pytest.approx(
        np.array([[2 / 3, 1 / 3]])
    )


def test_a_zero_where_the_row_has_none_is_infinitely_far():
    # (1, 0) is infinitely far from (.9, .1), though nearer in Euclidean distance than (.2, .8).
    points, labels = [[1.0, 0.0], [0.2, 0.8]], [0, 1]
    assert Lecd(neighbours=1, threshold=0.0).fit(points, labels).predict_proba([[0.9, 0.1]])[0, 1] > 0.5
    near = Lecd(neighbours=1, distance="euclidean").fit(points, labels).predict_proba([[0.9, 0.1]])
    assert near[0, 0] > 0.5
    # From (1, 0) itself it is 0 log 0 = 0 away.
    assert Lecd(neighbours=1).fit(points, labels).predict_proba([[1.0, 0.0]])[0, 0] == 1


def test_a_share_is_rounded_down_and_at_least_one():
    assert [_count(5000, q) for q in (0.01, 0.02, 0.07, 1.0)] == [50, 100, 350, 5000]
    assert _count(5000, 0.0999) == 499
    assert _count(7, 0.05) == 1
    points, labels, _ = data(0, "spread")
    assert Lece(share=0.3).fit(points, labels).neighbours_ == 12


@settings(max_examples=25)
@given(seed=st.integers(0, 10**6), k=st.integers(1, 60), style=st.sampled_from(["spread", "grid", "one-hot"]))
def test_memberships_sum_to_k_and_hold_the_nearest(seed, k, style):
    points, _, new = data(seed, style, n=60)
    (share,) = Nearest(KullbackLeibler(points), None, 1e-11).of(new, [k])
    share = share.toarray()
    np.testing.assert_allclose(share.sum(1), k, atol=1e-9)
    assert share.min() >= 0
    assert share.max() <= 1 + 1e-12
    far = np.array([[kl(p, q) for q in points] for p in new])
    for i in range(len(new)):
        used, unused = far[i][share[i] > 1e-12], far[i][share[i] < 1 - 1e-12]
        assert not len(unused) or used[np.isfinite(used)].max(initial=0) <= unused.min() + 1e-9


def test_single_precision_distances_are_checked_in_double():
    # Points whose distances differ by less than float32 precision, without being ties.
    base = np.array([0.5, 0.3, 0.2])
    points = base + np.linspace(0, 3e-7, 40)[:, None] * [1, -1, 0]
    new = np.array([[0.2, 0.5, 0.3]])
    for k in (1, 5, 20, 39):
        (share,) = Nearest(KullbackLeibler(points), None, 1e-15).of(new, [k])
        far = np.array([kl(new[0], q) for q in points])
        assert set(np.flatnonzero(share.toarray()[0])) == set(np.argsort(far)[:k])
    distance = KullbackLeibler(points)
    # The mutant that trusts float32 takes rows for ties that are none.
    distance.exact = lambda block, rough, rows, at: rough[rows, at].astype(float)
    (share,) = Nearest(distance, None, 0.0).of(new, [5])
    assert set(np.flatnonzero(share.toarray()[0])) != set(np.argsort(far)[:5])


def test_blocks_do_not_change_a_bit(monkeypatch):
    points, labels, new = data(3, "spread", n=300, m=200, classes=7)
    whole = Lece(neighbours=30).fit(points, labels).predict_proba(new)
    monkeypatch.setattr("calib_core.calibrators.neighbours.BLOCK_ENTRIES", 1000)
    np.testing.assert_array_equal(Lece(neighbours=30).fit(points, labels).predict_proba(new), whole)
    monkeypatch.setattr(nearest_module, "_MANY_TIES", 0)
    np.testing.assert_allclose(Lece(neighbours=30).fit(points, labels).predict_proba(new), whole, atol=1e-14)


def test_memory_is_bounded(monkeypatch):
    seen = []
    rough = KullbackLeibler.rough
    monkeypatch.setattr(KullbackLeibler, "rough", lambda self, b: seen.append(made := rough(self, b)) or made)
    points, labels, new = data(0, "spread", n=2000, m=3000)
    Lece().fit(points, labels).predict_proba(new)
    assert max(made.size for made in seen) <= nearest_module.BLOCK_ENTRIES
    assert sum(len(made) for made in seen) == 3000


def slow_losses(method, points, labels, fold, shares, thresholds):
    """Return cross-validated log losses, with a separate fit for every cell."""
    made = np.zeros((len(shares), len(thresholds)))
    for a, q in enumerate(shares):
        for b, t in enumerate(thresholds):
            for f in range(10):
                train, held = fold != f, fold == f
                k = max(1, int(train.sum() * q + 1e-9))
                cal = CALIBRATORS.make(method, neighbours=k, threshold=t).fit(points[train], labels[train])
                out = cal.predict_proba(points[held])[np.arange(held.sum()), labels[held]]
                made[a, b] -= np.log(np.maximum(out, np.finfo(float).eps)).sum()
    return made / len(points)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("method", ["lece", "lecd"])
def test_cross_validation_is_fitting_every_cell_on_every_fold(method):
    rng = np.random.default_rng(5)
    points = rng.dirichlet(np.full(3, 0.6), 150)
    labels = (rng.random(150)[:, None] > points[:, [1, 2, 0]].cumsum(1)[:, :-1]).sum(1)
    cal = CALIBRATORS.make(method, cross_validate=True, random_state=3).fit(points, labels)
    fold = fold_codes(points, labels, None, 10, 3)
    assert np.bincount(fold).tolist() == [15] * 10
    expected = slow_losses(method, points, labels, fold, SHARES, THRESHOLDS)
    np.testing.assert_allclose(cal.losses_, expected, atol=1e-12)
    q, cal_t = best_cell(expected, SHARES, THRESHOLDS)
    assert (cal.neighbours_, cal.threshold_) == (_count(150, q), cal_t)


def test_cross_validation_ignores_row_order_and_obeys_its_seed():
    points, labels, new = data(1, "grid", n=120)
    order = np.random.default_rng(0).permutation(120)
    one, two = (Lece(cross_validate=True).fit(*rows) for rows in ((points, labels), (points[order], labels[order])))
    np.testing.assert_allclose(one.losses_, two.losses_, atol=1e-12)
    np.testing.assert_allclose(one.predict_proba(new), two.predict_proba(new), atol=1e-12)
    assert (Lece(cross_validate=True, random_state=1).fit(points, labels).losses_ != one.losses_).any()


def test_cross_validation_needs_ten_rows():
    with pytest.raises(InputError) as why:
        Lece(cross_validate=True).fit([[0.5, 0.5]] * 9, [0] * 9)
    assert "at least 10 calibration rows; got 9" in str(why.value)


def test_equal_cells_give_the_first():
    assert best_cell(np.array([[2.0, 1.0], [1.0, 1.0]]), (0.1, 0.2), (0.0, 0.5)) == (0.1, 0.5)


def test_lece_learns_a_shift_that_temperature_cannot():
    """Every row predicts .6 for class 0 and is right .3 of the time, for any values of the other classes."""
    rng = np.random.default_rng(0)
    rest = rng.dirichlet(np.ones(2), 4000) * 0.4
    probs = np.column_stack([np.full(4000, 0.6), rest])
    truth = np.column_stack([np.full(4000, 0.3), rest + 0.15])
    labels = (rng.random(4000)[:, None] > truth.cumsum(1)[:, :-1]).sum(1)
    made = Lece(neighbours=400).fit(probs[:2000], labels[:2000]).apply(Predictions(probs[2000:], labels[2000:]))
    assert np.abs(made.probs - truth[2000:]).mean() < 0.03
    assert np.abs(probs - truth).mean() > 0.15


def test_euclidean_distances_of_nearly_equal_rows_do_not_cancel():
    points = np.array([[0.5, 0.5], [0.5 + 1e-9, 0.5 - 1e-9], [0.5 + 3e-9, 0.5 - 3e-9]])
    (share,) = Nearest(Euclidean(points), None, 1e-11).of(points[:1], [2])
    assert share.toarray()[0].tolist() == [1, 1, 0]


def test_an_unlucky_sample_of_points_is_noticed():
    """All near points are at positions that the sample contains (and, in reverse, none of them)."""
    rng = np.random.default_rng(0)
    for near_at in (np.arange(0, 800, 8), np.arange(3, 800, 8)):
        points = rng.dirichlet([1, 1, 50], 800)
        points[near_at] = rng.dirichlet([50, 30, 20], 100)
        new = np.array([[0.5, 0.3, 0.2]])
        far = np.array([kl(new[0], q) for q in points])
        (share,) = Nearest(KullbackLeibler(points), None, 1e-11).of(new, [60])
        assert set(np.flatnonzero(share.toarray()[0])) == set(np.argsort(far)[:60])
