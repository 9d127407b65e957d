"""The mean gap: its ends against scipy's folded normal, and its invariance to rows or copies."""

import numpy as np
import pytest
from scipy.stats import foldnorm, norm

import calib_core as cc
from calib_core import NotAnswerable, Predictions
from calib_core.inference import mean_gap
from calib_core.inference.intervals.mean_gap import GapSums, MeanGap


def sums(gap, deviation, n=1000):
    return GapSums(n, 0.7, 0.7 + gap, deviation, 1 / n, deviation)


@pytest.mark.parametrize("tail", [0.05, 0.02])
@pytest.mark.parametrize("theta", [0.005, 0.02, 0.1])
def test_the_lower_end_is_the_size_of_which_the_observed_one_is_the_upper_tail_point(theta, tail):
    sd = 0.01
    seen = foldnorm.isf(tail, theta / sd, scale=sd)
    assert sums(seen, sd).least(tail) == pytest.approx(theta, abs=1e-7)
    assert sums(-seen, sd).least(tail) == pytest.approx(theta, abs=1e-7)
    middle = foldnorm.median(theta / sd, scale=sd)
    assert sums(middle, sd).middle == pytest.approx(theta, abs=1e-7)


def test_nothing_is_shown_up_to_the_two_sided_point_and_something_beyond():
    sd, tail = 0.01, 0.03
    point = float(norm.isf(tail / 2)) * sd
    assert sums(point * 0.999, sd).least(tail) == 0
    assert sums(point * 1.001, sd).least(tail) > 0


def test_the_upper_end_of_no_noise_is_what_a_hundred_of_a_hundred_allow():
    found = mean_gap(Predictions.from_confidence(np.ones(100), np.ones(100, dtype=bool)))
    assert found.most == pytest.approx(1 - 0.05 ** (1 / 100))
    assert (found.least, found.gap, found.high) == (0, 0, 0), "nothing comes true more often than always"
    assert found.low == -found.most


def test_ten_certain_rows_that_are_all_wrong_do_not_show_that_all_are():
    """With a chance of .05^(1/10) = .74, ten of ten occur in 5 % of cases."""
    found = mean_gap(Predictions.from_confidence(np.ones(10), np.zeros(10, dtype=bool)))
    assert 0.3 < found.least < 0.05**0.1
    assert found.most == 1


def test_the_signed_ends_leave_0_out_exactly_where_the_size_does():
    for gap in (-0.05, -0.018, -0.001, 0.0, 0.002, 0.019, 0.08):
        found = MeanGap.of(sums(gap, 0.01), 0.9, 0.03, 1.0)
        assert found.low <= found.gap <= found.high
        assert (found.low > 0 or found.high < 0) == (found.least > 0)
        assert found.least <= found.point <= found.most
        assert max(abs(found.low), abs(found.high)) == pytest.approx(found.most)


def test_it_is_the_mean_of_outcomes_less_scores():
    rng = np.random.default_rng(0)
    h, w = rng.uniform(0.5, 1, 60), rng.integers(1, 4, 60)
    right = rng.random(60) < h - 0.2
    copied = Predictions.from_confidence(h, right, weights=w.astype(float))
    rows = Predictions.from_confidence(np.repeat(h, w), np.repeat(right, w))
    assert mean_gap(rows).gap == pytest.approx(float(np.average(right - h, weights=w)))
    first, second = mean_gap(copied), mean_gap(rows)
    assert (first.low, first.high, first.tail) == pytest.approx((second.low, second.high, second.tail), abs=1e-12)
    same = mean_gap(Predictions.from_confidence(h, right, weights=np.full(60, 0.37)))
    alone = mean_gap(Predictions.from_confidence(h, right))
    assert (same.low, same.high, same.p_value) == pytest.approx((alone.low, alone.high, alone.p_value))


@pytest.mark.parametrize("more", [{}, {"weights": 0.4 + np.arange(90) % 3}])
def test_of_two_classes_the_gap_of_each_is_that_of_the_other_turned(more):
    rng = np.random.default_rng(5)
    risk = rng.beta(2, 5, 90)
    p = Predictions(np.column_stack([1 - risk, risk]), (rng.random(90) < 0.5 * risk).astype(int), **more)
    one, other = (mean_gap(p, cc.REDUCTIONS.make("class-specific", cls=c)) for c in (0, 1))
    assert other.low < other.gap < other.high
    assert (one.low, one.gap, one.high) == pytest.approx((-other.high, -other.gap, -other.low))
    assert (one.claimed, one.came_true) == pytest.approx((1 - other.claimed, 1 - other.came_true))
    for name in ("least", "point", "most", "p_value"):
        assert getattr(one, name) == pytest.approx(getattr(other, name))


def test_one_of_many_classes_has_the_ends_of_its_residuals():
    rng = np.random.default_rng(0)
    probs, w = rng.dirichlet(np.ones(3), 60), rng.integers(1, 4, 60)
    labels = np.where(rng.random(60) < 0.3, 0, rng.integers(3, size=60))
    p = Predictions(probs, labels, weights=w * 0.37)
    weighted = mean_gap(p, cc.REDUCTIONS.make("class-specific", cls=0))
    s, y = probs[:, 0], labels == 0
    residual = (y - s) * w / w.sum()
    seen = np.sqrt(max(np.square(residual).sum() - np.square(w / w.sum()).sum() * weighted.gap**2,
                       (np.square(w / w.sum()) * s * (1 - s)).sum()))  # fmt: skip
    by_hand = GapSums(w.sum(), 0, weighted.gap, seen, w.max() / w.sum(), float(np.sqrt(np.square(residual).sum())))
    assert weighted.least == pytest.approx(by_hand.least(weighted.tail), abs=1e-6)


@pytest.mark.parametrize("notion", ["confidence", "event", "class-specific"])
def test_p_is_the_least_level_at_which_the_lower_end_is_above_zero(notion):
    """The slow twin of p recomputes the interval at every level."""
    rng, shown = np.random.default_rng(4), 0
    for k, factor in [(2, 0.9), (2, 0.6), (4, 0.9), (4, 0.7), (4, 0.4)]:
        if notion == "event" and k > 2:
            continue
        probs = rng.dirichlet(np.full(k, 0.7), 80)
        claimed = probs[:, 1] if notion == "event" else probs.max(axis=1)
        said = np.full(80, 1) if notion == "event" else probs.argmax(axis=1)
        labels = np.where(rng.random(80) < factor * claimed, said, (said + 1) % k)
        p, of = Predictions(probs, labels), cc.REDUCTIONS.make(notion)
        found = mean_gap(p, of)
        for tail in np.linspace(0.003, 0.6, 40):
            at = mean_gap(p, of, 1 - 2 * tail) if tail < 0.5 else None
            if at is not None and abs(found.p_value - tail) > 1e-3:
                assert (at.least > 0) == (found.p_value < tail)
                shown += at.least > 0
    assert shown


def test_it_is_refused_where_it_means_nothing():
    p = Predictions([[0.7, 0.2, 0.1]] * 6, [0, 1, 2] * 2, groups=list("aabbcc"))
    with pytest.raises(NotAnswerable, match="one claim per row"):
        mean_gap(cc.Predictions([[0.7, 0.2, 0.1]] * 6, [0, 1, 2] * 2), "class-wise")
    with pytest.raises(NotAnswerable):
        mean_gap(p)


def test_the_class_that_is_not_the_event_has_the_events_gap_with_the_other_sign():
    rng = np.random.default_rng(3)
    risk = rng.beta(2, 5, 500)
    died = rng.random(500) < 0.7 * risk
    rows = cc.Predictions(np.column_stack([1 - risk, risk]), died.astype(int))
    event, other = (cc.inference.mean_gap(rows, cc.reductions.ClassSpecific(code)) for code in (1, 0))
    assert event.low < event.gap < event.high < 0
    assert (other.gap, other.low, other.high) == pytest.approx((-event.gap, -event.high, -event.low))


def test_a_file_with_swapped_columns_has_the_same_gap_but_for_draws_of_the_near_end():
    rng = np.random.default_rng(0)
    risk = rng.beta(2, 5, 900).round(3)
    died = rng.random(900) < risk / 1.2
    one = cc.Predictions(np.column_stack([1 - risk, risk]), died.astype(int)).with_event(1)
    swapped = cc.Predictions(np.column_stack([risk, 1 - risk]), (~died).astype(int)).with_event(0)
    a, b = cc.inference.mean_gap(one), cc.inference.mean_gap(swapped)
    assert (a.claimed, a.came_true, a.p_value) == (b.claimed, b.came_true, b.p_value)
    assert a.claimed == pytest.approx(risk.mean())
    assert a.came_true == pytest.approx(died.mean())
    assert a.most == pytest.approx(b.most, rel=1e-12)
    assert a.least == pytest.approx(b.least, abs=0.02 * (a.most - a.least))
