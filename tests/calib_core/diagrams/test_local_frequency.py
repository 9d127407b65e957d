"""Observed frequency near a risk, the default position of a headline, and marks corrected for all places."""

from __future__ import annotations

import math

import numpy as np
import pytest

import calib_core as cc
from calib_core.diagrams import EventWords, local_accuracy, local_frequency, opening, updated_frequency
from calib_core.estimators.base import claimed_rows


def two(scores, outcomes, names=("survived", "died"), **more):
    scores = np.asarray(scores, dtype=float)
    return cc.Predictions(
        np.column_stack([1 - scores, scores]), np.asarray(outcomes).astype(int), class_names=names, **more
    )


def risks(rng, n, rate=0.2, spread=1.2):
    return 1 / (1 + np.exp(-(math.log(rate / (1 - rate)) + spread * rng.standard_normal(n))))


def test_a_window_holds_the_rows_near_the_risk_whichever_class_is_predicted():
    rng = np.random.default_rng(0)
    s = risks(rng, 4000)
    y = rng.random(4000) < s / 2
    found = local_frequency(two(s, y)).answer(0.3)
    here = (s >= found.lower) & (s <= found.upper)
    assert (found.rows, found.right) == (here.sum(), pytest.approx(y[here].mean()))
    assert 0.3 - 0.026 <= found.lower < found.upper <= 0.3 + 0.026
    assert found.headline == f"Of rows given a risk of about 30 %, {100 * found.right:.0f} % died."
    assert found.difference.endswith("too high")


@pytest.mark.parametrize("rate", [0.002, 0.01])
def test_windows_of_a_rare_event_follow_its_scale(rate):
    rng = np.random.default_rng(1)
    s = risks(rng, 20_000, rate, 0.8)
    found = local_frequency(two(s, rng.random(20_000) < s))
    assert np.diff(found.confidence).max() < s.max() / 20
    answer = found.answer(rate)
    assert answer.rows >= 100
    assert answer.upper - answer.lower < rate
    assert abs(answer.claimed - rate) < 0.13 * rate


def test_words_are_those_given():
    p = two([0.3] * 100, [1] * 14 + [0] * 86)
    assert local_frequency(p, [0.3], words=EventWords("patients", "died")).answer(0.3).headline == (
        "Of patients given a risk of about 30 %, 14 % died."
    )
    assert local_frequency(p, [0.6]).answer(0.6).headline == (
        "No risk is near 60 %. Of rows given a risk of about 30 %, 14 % died."
    )
    few = two([0.3] * 4, [1, 0, 0, 0])
    assert local_frequency(few, [0.3]).answer(0.3).headline == "Only 4 rows have a risk about 30 %: too few to tell."


def test_the_other_event_is_the_other_side():
    rng = np.random.default_rng(2)
    s = risks(rng, 1000)
    p = two(s, rng.random(1000) < s)
    here, there = local_frequency(p, [0.2]), local_frequency(p.with_event("survived"), [0.8])
    assert here.right[0] == pytest.approx(1 - there.right[0])
    assert there.answer(0.8).headline.endswith("% survived.")


def test_counts_answer_as_rows_do():
    rng = np.random.default_rng(3)
    s = rng.integers(1, 100, 5000) / 100
    p = two(s, rng.random(5000) < s)
    rows, counts = local_frequency(p), local_frequency(cc.Summary.of(p))
    np.testing.assert_allclose(rows.right, counts.right, atol=1e-12)
    np.testing.assert_allclose(rows.rows, counts.rows)
    assert claimed_rows(cc.Summary.of(p)).accuracy == pytest.approx(claimed_rows(p).accuracy)


def test_three_classes_have_no_event():
    with pytest.raises(cc.NotAnswerable, match="event"):
        local_frequency(cc.Predictions(np.full((9, 3), 1 / 3), np.arange(9) % 3))


def test_weights_groups_and_columns_come_along():
    w, g = np.arange(1.0, 41), np.repeat(np.arange(10), 4)
    made = claimed_rows(two([0.3] * 40, [1, 0] * 20, weights=w, groups=g))
    assert made.weights.mean() == pytest.approx(1) or made.weights.tolist() == w.tolist()
    assert made.groups.tolist() == g.tolist()


@pytest.mark.parametrize(
    ("scores", "where"),
    [
        (np.linspace(0.01, 0.4, 1000), np.linspace(0.01, 0.4, 1000)[900:].mean()),
        ([0.2] * 90 + [0.7] * 10, 0.7),
        ([0.2] * 5, 0.2),
    ],
)
def test_a_headline_of_an_event_opens_at_the_highest_tenth(scores, where):
    assert opening(two(scores, np.zeros(len(scores)))) == pytest.approx(where, abs=1e-9)


@pytest.mark.parametrize(
    ("confidences", "where"), [([0.9] * 5 + [0.99] * 95, 0.9), ([0.9] * 4 + [0.99] * 96, 0.99), ([0.61] * 10, 0.61)]
)
def test_a_headline_of_confidences_opens_where_they_are(confidences, where):
    assert opening(cc.Predictions.from_confidence(confidences, [True] * len(confidences))) == where


@pytest.mark.wide
@pytest.mark.parametrize("rate", [0.02, 0.3])
def test_a_gap_is_shown_somewhere_in_at_most_5_percent_of_calibrated_models(rate):
    """The falsified twin, the places' own intervals, shows one somewhere in most of them."""
    rng = np.random.default_rng(4)
    runs, anywhere, alone = 100, 0, 0
    for _ in range(runs):
        s = risks(rng, 2000, rate)
        found = local_frequency(two(s, rng.random(2000) < s))
        anywhere += found.shown.any()
        alone += ((found.rows >= 10) & ((found.low > found.claimed) | (found.high < found.claimed))).any()
    most = runs * 0.05 + 3 * math.sqrt(runs * 0.05 * 0.95)
    assert anywhere <= most < alone


@pytest.mark.wide
def test_a_confidence_s_marks_hold_for_all_places_too():
    rng = np.random.default_rng(5)
    runs, anywhere = 60, 0
    for _ in range(runs):
        h = 0.5 + 0.5 * rng.beta(2, 1.5, 3000)
        anywhere += local_accuracy(cc.Predictions.from_confidence(h, rng.random(3000) < h)).shown.any()
    assert anywhere <= runs * 0.05 + 3 * math.sqrt(runs * 0.05 * 0.95)


def test_a_gap_that_is_there_is_shown():
    rng = np.random.default_rng(6)
    s = risks(rng, 400, 0.3)
    found = local_frequency(two(s, rng.random(400) < s / 2))
    assert found.shown[np.abs(found.confidence - opening(two(s, s > 1))).argmin()] or found.shown.any()
    assert all(answer.gap is None for answer, shown in zip(found.answers, found.shown, strict=True) if not shown)


@pytest.mark.parametrize("rate", [0.01, 0.3])
def test_intervals_of_windows_hold_the_mean_chance_of_their_rows(rate):
    rng = np.random.default_rng(7)
    runs, missed = 200, np.zeros(2)
    for _ in range(runs):
        s = risks(rng, 1500, rate)
        truth = np.minimum(1.4 * s, 1)
        found = local_frequency(two(s, rng.random(1500) < truth), [rate, 2 * rate])
        for i in range(2):
            here = (s >= found.lower[i]) & (s <= found.upper[i])
            missed[i] += not found.low[i] <= truth[here].mean() <= found.high[i]
    assert (missed <= runs * 0.1 + 3 * math.sqrt(runs * 0.1 * 0.9)).all()


def test_groups_and_weights_have_marks_of_corrected_intervals():
    rng = np.random.default_rng(8)
    s = risks(rng, 600, 0.3)
    y = rng.random(600) < s
    for more in ({"groups": np.arange(600) // 3}, {"weights": rng.uniform(0.5, 2, 600)}):
        calm, off = local_frequency(two(s, y, **more)), local_frequency(two(s, np.ones(600), **more))
        assert not calm.shown.any()
        assert off.shown.any()


def test_after_an_update_the_same_rows_are_asked_about():
    """The window is that of the original risk: a halved risk has none of these rows near the requested place."""
    rng = np.random.default_rng(8)
    s = risks(rng, 3000)
    died = rng.random(3000) < s / 2
    before, after = two(s, died), two(s / 2, died)
    was, now = local_frequency(before), updated_frequency(before, after)
    for name in ("rows", "right", "low", "high", "lower", "upper", "near"):
        np.testing.assert_array_equal(getattr(was, name), getattr(now, name))
    np.testing.assert_allclose(now.claimed, was.claimed / 2)
    answer = now.answer(0.4)
    assert answer.brief == f"{50 * was.answer(0.4).claimed:.0f} %"
    assert answer.difference == "no clear gap"
    assert local_frequency(after).answer(0.4).rows < answer.rows
    assert was.answer(0.4).gap is not None


def test_an_update_of_rows_in_any_order_keeps_rows_together():
    rng = np.random.default_rng(9)
    s, weights = risks(rng, 400), rng.integers(0, 3, 400).astype(float)
    other = rng.random(400) * 0.5
    died = rng.random(400) < s
    found = updated_frequency(two(s, died, weights=weights), two(other, died, weights=weights), [0.2])
    inside = (s >= found.lower[0] - 1e-9) & (s <= found.upper[0] + 1e-9) & (weights > 0)
    assert found.claimed[0] == pytest.approx(np.average(other[inside], weights=weights[inside]))


def test_a_headline_states_the_mean_risk_of_its_own_rows():
    s = np.r_[np.full(50, 0.44), np.full(70, 0.47), np.linspace(0.02, 0.3, 400)]
    answer = local_frequency(two(s, np.arange(520) % 3 == 0), [0.48]).answer(0.48)
    assert answer.near
    assert answer.stated in answer.headline
    assert answer.stated == f"{100 * answer.claimed:.0f} %" != "48 %"


@pytest.mark.parametrize("digits", [2, 4, 12])
def test_the_range_printed_holds_the_rows_counted_and_no_other(digits):
    rng = np.random.default_rng(3)
    for low, high in ((0.01, 0.99), (0.0, 0.05), (0.85, 1.0)):
        s = np.round(rng.uniform(low, high, 500), digits)
        for answer in local_frequency(two(s, rng.random(500) < s)).answers:
            ends = [float(end) / 100 for end in answer.range.removesuffix(" %").split(" to ")]
            if len(ends) == 1:
                inside = np.abs(s - answer.claimed) < 1e-6
                printed = abs(ends[0] - answer.claimed)
                assert (np.abs(s[~inside] - ends[0]) > printed).all()
            else:
                inside = (s >= ends[0] - 1e-12) & (s <= ends[1] + 1e-12)
            assert inside.sum() == answer.rows, answer.range
            assert len(answer.range) < 20


def test_words_do_not_contradict_the_interval_drawn():
    """A gap shown by one interval, and not by the slider as a whole, is not called none."""
    rng = np.random.default_rng(10)
    s = rng.uniform(0.05, 0.6, 600)
    found = [local_frequency(two(s, rng.random(600) < s)).answers for _ in range(20)]
    every = [answer for answers in found for answer in answers if answer.enough and answer.gap is None]
    outside = [answer for answer in every if not answer.low <= answer.claimed <= answer.high]
    assert outside
    assert {answer.difference for answer in outside} == {"not significant here"}
    assert all(a.difference == "no clear gap" for a in every if a.low <= a.claimed <= a.high)
    assert all("correction" in a.doubt for a in outside if a.doubt), "the interval beside it is of one place"
    assert not any("correction" in a.doubt for a in every if a not in outside)
    assert any(a.doubt for a in outside)
