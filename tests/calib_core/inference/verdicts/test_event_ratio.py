"""Observed to expected events: coverage of ends, required events, and the verdict of an event on two scales."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats

import calib_core as cc
from calib_core import NotAnswerable
from calib_core.inference import EventRatio, event_ratio, primaries, primary
from calib_core.inference.verdicts.verdict import _of_event, _with_p
from calib_core.results.uncertainty import Verdict
from calib_core.risk import events_needed, in_the_large
from calib_core.risk import ratio_ends as ends
from calib_core.text import points


def risks(rng, n, rate=0.2, spread=1.5):
    """Return risks whose log-odds are normal."""
    return 1 / (1 + np.exp(-(math.log(rate / (1 - rate)) + spread * rng.standard_normal(n))))


def ratio_ends(scores, outcomes, weights, tail):
    """Return ``ends`` for lists."""
    return ends(np.asarray(scores), np.asarray(outcomes, dtype=bool), weights, tail)


def predictions(scores, outcomes, **more):
    return cc.Predictions(np.column_stack([1 - scores, scores]), outcomes.astype(int), **more)


def test_equal_scores_have_the_exact_ends_of_a_binomial_number():
    low, high = ratio_ends([0.2] * 50, [True] * 12 + [False] * 38, None, 0.05)
    exact = stats.beta.ppf(0.05, 12, 39) / 0.2, stats.beta.ppf(0.95, 13, 38) / 0.2
    # The scores are uninformative: the effective number is about that of the rows.
    assert (low, high) == pytest.approx(exact, rel=0.02)


@pytest.mark.parametrize(("events", "low", "high"), [(0, 0.0, 1 - 0.05**0.02), (50, 0.05**0.02, 1.0)])
def test_no_event_and_all_events_have_one_end_each(events, low, high):
    found = ratio_ends([0.5] * 50, np.arange(50) < events, None, 0.05)
    assert found == pytest.approx((2 * low, 2 * high))


def test_rows_and_counts_of_them_have_the_same_bits():
    rng = np.random.default_rng(2)
    s = risks(rng, 3000).astype(np.float32)
    rows = predictions(s, rng.random(3000) < s)
    made = [
        event_ratio(cc.estimate(of, "event").question)
        for of in (rows, cc.Summary.of(rows), cc.summaries.tally(rows, "event"))
    ]
    assert made[0] == made[1]
    # A tally of the event knows of no other error: its p allows for two lines, not for five.
    assert replace(made[2], p_value=made[0].p_value) == made[0]
    assert made[0].p_value / 5 <= made[2].p_value <= made[0].p_value


def test_copies_are_weights():
    rng = np.random.default_rng(3)
    s, w = risks(rng, 200), rng.integers(0, 4, 200)
    y = rng.random(200) < s
    written_out = ratio_ends(np.repeat(s, w), np.repeat(y, w), None, 0.05)
    assert ratio_ends(s, y, w, 0.05) == pytest.approx(written_out, rel=1e-12)
    low, high = ratio_ends(s, y, rng.uniform(0.5, 2, 200), 0.05)
    assert low < 1 < high


@pytest.mark.wide
@pytest.mark.parametrize("slope", [1.0, 0.6, 0.0])
def test_each_end_misses_in_at_most_its_share(slope):
    """The twin takes the effective number from the scores themselves and misses if these are overconfident."""
    rng = np.random.default_rng(4)
    below = above = raw = 0
    runs = 600
    for _ in range(runs):
        s = risks(rng, 300, 0.3, 2.5)
        p = 1 / (1 + np.exp(-(math.log(0.3 / 0.7) + slope * np.log(s / (1 - s)))))
        y, truth = rng.random(300) < p, p.sum() / s.sum()
        low, high = ratio_ends(s, y, None, 0.05)
        below, above = below + (high < truth), above + (low > truth)
        n = y.sum() / (np.square(s).sum() / s.sum())
        ends = n * stats.beta.ppf([0.05, 0.95], [y.sum(), y.sum() + 1], [n - y.sum() + 1, n - y.sum()]) / s.sum()
        raw += not ends[0] <= truth <= ends[1]
    most = runs * 0.05 + 3 * math.sqrt(runs * 0.05 * 0.95)
    assert max(below, above) <= most
    if slope == 0.0:
        assert raw > runs * 0.1 + 3 * math.sqrt(runs * 0.1 * 0.9)


def test_events_needed_show_a_calibrated_model_to_be_within_in_eight_of_ten_samples():
    """The rows are drawn, and the exact ends use another formula."""
    rng, needed = np.random.default_rng(6), events_needed().events

    def shown(expected):
        o = rng.poisson(expected, 20_000)
        low, high = stats.chi2.ppf(0.05, 2 * o) / 2, stats.chi2.ppf(0.95, 2 * o + 2) / 2
        return np.mean((low > expected / 1.25) & (high < expected * 1.25))

    assert shown(needed) == pytest.approx(0.8, abs=0.025)
    assert shown(needed / 2) < 0.4
    assert events_needed(ratio=1.5).events < needed < events_needed(ratio=1.1).events


# -- the verdict ------------------------------------------------------------------------------------------------


def test_a_rare_event_is_not_within_because_its_tolerance_says_nothing():
    rng = np.random.default_rng(7)
    s = 0.004 * rng.uniform(0.5, 1.5, 20_000)
    p = predictions(s, rng.random(20_000) < 4 * s)
    found = cc.estimate(p, "event").verdict()
    assert found.high < found.eps
    assert found.word == "miscalibrated"
    assert "so the ratio determines the verdict" in found.sentence
    assert cc.estimate(p, "event").verdict(ratio=math.inf).word == "within"
    assert cc.inference.gate_check(p, 0.05).word == "miscalibrated"
    assert cc.inference.gate_check(p, 0.05, ratio=8.0).word == "within"


def test_a_very_small_tolerance_of_the_ratio_is_judged_too():
    """80,000 rows show an error below 5 %, and no ratio within 0.5 % of 1: 340,000 events are too many for that."""
    p = predictions(np.full(80_000, 0.5), np.arange(80_000) % 2 == 0)
    found = cc.estimate(p, "event").verdict(0.05, ratio=1.005)
    assert (found.word, found.ratio.word, found.ratio.enough) == ("too few rows to tell", "undecided", False)
    assert cc.estimate(p, "event").verdict(0.05, ratio=1.05).word == "within"
    assert found.rows_needed == pytest.approx(((norm_z(0.95) + norm_z(0.9)) / math.log(1.005)) ** 2, rel=0.01)
    assert cc.inference.gate_check(p, 0.05, ratio=1.005).word == "too few rows to tell"
    with pytest.raises(NotAnswerable, match="too close to the tolerance"):
        cc.estimate(p, "event").verdict(0.05, ratio=1 + 1e-9)


def norm_z(share):
    return float(stats.norm.ppf(share))


def test_too_few_events_are_named():
    rng = np.random.default_rng(8)
    s = 0.01 * rng.uniform(0.5, 1.5, 4000)
    found = cc.estimate(predictions(s, rng.random(4000) < s), "event").verdict()
    assert found.word == "too few rows to tell"
    needed = found.ratio.needed
    assert 170 < needed < 180
    assert f"about {needed:.0f} expected events are needed; there are 40." in found.sentence
    assert found.rows_needed == pytest.approx(17_700, rel=0.02)


@pytest.mark.parametrize("low", [0.7, 0.79, 0.81, 1.0])
@pytest.mark.parametrize("high", [1.1, 1.24, 1.26, 2.0])
def test_within_only_where_the_whole_interval_is(low, high):
    found = EventRatio(100, 100, 1000, low, high, 0.05, 1.25, 177)
    assert (found.word == "within") == (low > 0.8 and high < 1.25)
    assert (
        EventRatio(1, 1, 9, 1.3, 2, 0.05, 1.25, 177).word
        == EventRatio(1, 1, 9, 0.1, 0.7, 0.05, 1.25, 1).word
        == "outside"
    )


@pytest.mark.wide
def test_both_tolerances_hold_in_a_verdict_of_within():
    """Within means: the error's end is below its tolerance and both of the ratio's ends within theirs."""
    rng = np.random.default_rng(9)
    words = set()
    for n in (300, 3000, 30_000):
        for factor in (1.0, 1.1, 1.6):
            s = risks(rng, n, 0.1, 1.0)
            found = cc.estimate(predictions(s, rng.random(n) < np.minimum(factor * s, 1)), "event").verdict()
            words.add(found.word)
            assert (found.word == "within") == (found.high < 0.02 and found.ratio.word == "within")
            assert (found.word == "miscalibrated") == (found.low > 0.02 or found.ratio.word == "outside")
    assert {"within", "miscalibrated"} <= words


@pytest.mark.wide
def test_false_words_are_rare_at_the_edge_of_both_tolerances():
    """The truth is at the ratio's limit: hardly ever within, hardly ever outside."""
    rng = np.random.default_rng(10)
    runs, words = 120, []
    for _ in range(runs):
        s = risks(rng, 1500, 0.06, 0.5)
        words.append(cc.estimate(predictions(s, rng.random(1500) < 1.25 * s), "event").verdict().word)
    most = runs * 0.05 + 3 * math.sqrt(runs * 0.05 * 0.95)
    assert words.count("within") <= most
    assert words.count("miscalibrated") <= most


def test_two_classes_are_judged_by_their_event():
    rng = np.random.default_rng(11)
    s = risks(rng, 500)
    p = predictions(s, rng.random(500) < s, class_names=["survived", "died"])
    line = primary(p)
    assert (line.notion, line.reason) == ("event", "With two classes, the verdict is on the predicted risk of “died”.")
    assert line.line.value == cc.estimate(p, cc.REDUCTIONS.make("class-specific", cls=1)).value
    assert "class 1" not in line.sentence
    assert primary(p.with_event("survived")).line.ratio == pytest.approx((500 - p.labels.sum()) / (500 - s.sum()))
    three = cc.Predictions(rng.dirichlet(np.ones(3), 500), rng.integers(3, size=500))
    assert {name: one.notion for name, one in primaries({"a": p, "b": p}).items()} == {"a": "event", "b": "event"}
    assert primary(three).notion != "event"
    assert primary(three).line.ratio is None


def test_risks_of_zero_have_no_ratio_and_a_verdict_all_the_same():
    p = predictions(np.zeros(50), np.zeros(50))
    assert cc.estimate(p, "event").verdict().ratio is None
    with pytest.raises(cc.NotAnswerable, match="no event is expected"):
        event_ratio(cc.estimate(p, "event").question)


def test_the_verdict_and_the_panel_have_one_ratio_with_the_same_ends():
    rng = np.random.default_rng(11)
    s = risks(rng, 700)
    for weights in (None, rng.integers(1, 4, 700), rng.uniform(0.5, 2, 700)):
        p = predictions(s, rng.random(700) < s**1.3, weights=weights)
        there, here = in_the_large(p), event_ratio(cc.estimate(p, "event").question)
        assert (here.value, here.low, here.high) == pytest.approx(
            (there.ratio, there.ratio_low, there.ratio_high), rel=1e-12
        )


def test_risks_of_zero_and_one_alone_have_a_verdict():
    s = np.tile([0.0, 1.0], 40)
    found = cc.estimate(predictions(s, s), "event").verdict()
    assert found.ratio.value == 1
    assert found.ratio.needed <= 1


def test_events_are_enough_where_as_many_are_expected_as_are_needed():
    """The outcomes play no part: the sufficiency of the rows is known beforehand."""
    ratio = EventRatio(observed=90, expected=30, rows=1000, low=2, high=4, tail=0.05, tolerance=1.25, needed=60)
    assert not ratio.enough
    assert replace(ratio, observed=30, expected=90).enough


@pytest.mark.parametrize(("p", "decides"), [(0.02, "error"), (0.07, "ratio"), (0.2, "ratio")])
def test_the_p_value_is_that_of_the_error_where_it_is_shown_at_one_side_of_the_level(p, decides):
    ratio = EventRatio(90, 30, 1000, low=2, high=4, tail=0.05, tolerance=1.25, needed=20, p_value=0.001)
    found = Verdict("miscalibrated", 0.02, "", low=0.03, point=0.06, high=0.09, ratio=ratio)
    estimate = SimpleNamespace(p_value_at=lambda level: p)
    assert _with_p(found, estimate, 0.9).p_value == {"error": p, "ratio": 0.001}[decides]


@pytest.mark.parametrize("eps", [0.02, 0.035, 0.06])
def test_the_ratio_is_called_stricter_where_its_tolerance_is_of_fewer_events(eps):
    """1.25 times the expected events are a quarter too many, for any number observed."""
    rng = np.random.default_rng(7)
    risk = np.full(3000, 0.2)
    found = cc.estimate(predictions(risk, rng.random(3000) < 0.1), "event").verdict(eps)
    assert 0.02 < 0.25 * found.ratio.observed / 3000 < 0.035 < 0.25 * found.ratio.expected / 3000 < 0.06
    assert ("the stricter tolerance" in found.sentence) == (eps == 0.06)
    allowed = re.search(r"allows a mean gap of (\S+) to (\S+ points)", found.sentence)
    mean = found.ratio.expected / 3000
    ends = points(-0.2 * mean).removesuffix(" points"), points(0.25 * mean)  # 1/1.25 is a fifth too few
    assert (allowed and allowed.groups()) == (ends if eps == 0.06 else None)


def test_the_ratio_is_said_to_determine_a_verdict_only_where_it_does():
    """Its tolerance can be the stricter one for the mean gap while the error, of gaps in both directions, decides."""
    said = []
    for n in (400, 6000):
        rng = np.random.default_rng(1)
        risk = rng.uniform(0.0, 0.4, n)
        found = cc.estimate(predictions(risk, rng.random(n) < risk), "event").verdict(0.06)
        assert found.ratio.word == "within" or n == 400
        assert "the stricter tolerance" in found.sentence
        decides = found.word == "within" or found.ratio.word != "within"
        assert ("determines the verdict" in found.sentence) == decides
        said.append(decides)
    error = Verdict("too close to call", 0.06, "Too close to call: the error.", low=0.0, point=0.05, high=0.07)
    ratio = EventRatio(200, 200, 1000, low=0.9, high=1.1, tail=0.05, tolerance=1.25, needed=20, p_value=0.5)
    assert "determines the verdict" not in _of_event(error, ratio, "died", 0.9).sentence


def test_every_model_is_judged_by_the_tolerance_of_ratios_that_is_chosen():
    rng = np.random.default_rng(8)
    risk = rng.beta(2, 5, 900)
    died = rng.random(900) < risk / 1.4
    models = {name: predictions(risk**power, died) for name, power in (("one", 1.0), ("two", 1.05))}
    for limit in (1.25, 3.0, math.inf):
        lines = [line.line for line in primaries(models, ratio=limit).values()]
        assert [line.ratio_limit for line in lines] == [None if limit == math.inf else limit] * 2
