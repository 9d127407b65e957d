"""Comparison with a released model whose rows are gone: the increase by hand, refusals, and the simulated level."""

import json
from bisect import bisect_left
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binom
from score_laws import sample
from verdict_shares import more_than

from calib_core import InputError, NotAnswerable, Predictions, estimate
from calib_core.inference import baseline, gate_check, increase, read_baselines
from calib_core.inference.gate_checks import SCHEMA, baseline_for, level_of_each
from calib_core.inference.intervals.interval_methods import typical_high


def sure(n, right, score=0.9):
    """Return rows of one confidence, this many of them right: the error is score - right / n, by hand."""
    return Predictions.from_confidence(np.full(n, score), np.arange(n) < right)


OLD = estimate(sure(4000, 3600), "confidence")
NEW = estimate(sure(4000, 3200), "confidence")


@pytest.mark.parametrize("level", [0.8, 0.9])
def test_the_interval_is_the_extremes_of_two_intervals_that_both_hold(level):
    mine, theirs = NEW.interval((1 + level) / 2), OLD.interval((1 + level) / 2)
    found = increase(NEW, baseline(OLD, level), level=level)
    assert (found.low, found.high) == pytest.approx((mine.low - theirs.high, mine.high - theirs.low), abs=1e-12)
    assert found.point == pytest.approx(mine.point - theirs.point, abs=1e-12)
    assert found.low < 0.1 < found.high


def test_roots_of_squared_errors_are_compared():
    old, new = (estimate(one.question.predictions, "confidence", "debiased-l2") for one in (OLD, NEW))
    found = increase(new, baseline(old))
    assert found.low < 0.1 < found.high
    assert found.high == pytest.approx(new.interval(0.95).high ** 0.5 - max(old.interval(0.95).low, 0) ** 0.5)


@pytest.mark.parametrize(
    ("before", "after", "allowed", "word"),
    [
        (3600, 3600, 0.05, "within"),
        (3200, 3600, 0.0, "within"),
        (3600, 3200, 0.05, "worse"),
        (3600, 3400, 0.05, "too close to call"),
    ],
)
def test_words(before, after, allowed, word):
    kept = baseline(estimate(sure(4000, before), "confidence"))
    assert increase(estimate(sure(4000, after), "confidence"), kept, allowed).word == word


def test_too_few_rows_is_known_before_outcomes_and_says_how_many():
    few = [estimate(sure(40, right), "confidence") for right in (36, 34)]
    found = [increase(one, baseline(OLD), 0.03) for one in few]
    assert [one.word for one in found] == ["too few rows to tell"] * 2
    assert found[0].rows_needed > 40
    assert "rows" in found[0].sentence


@pytest.mark.parametrize("beyond", [-0.002, 0.002])
def test_rows_are_too_few_by_the_smallest_error_that_the_baseline_can_have(beyond):
    """Whether a calibrated model would be shown depends on the lower end of the baseline, not on its point."""
    after = estimate(sure(400, 352), "confidence")
    usual = typical_high(after.question, level_of_each(0.9))
    before = replace(baseline(OLD), low=0.004, point=0.03, high=0.06)
    found = increase(after, before, usual - before.low + beyond)
    assert found.low < found.allowed < found.high
    assert found.word == ("too few rows to tell" if beyond < 0 else "too close to call")


def test_with_as_many_rows_as_are_needed_four_of_five_models_without_error_pass():
    before = replace(baseline(OLD), low=0.004, point=0.03, high=0.06)

    def passes(n, right):
        return increase(estimate(sure(n, right), "confidence"), before, 0.03).word == "within"

    needed = increase(estimate(sure(400, 352), "confidence"), before, 0.03).rows_needed
    for n, least, most in ((round(needed), 0.75, 0.85), (round(0.7 * needed), 0.0, 0.75)):
        middle, far = round(0.9 * n), n // 12  # the upper end of the error grows with the distance from the middle
        fewest = middle - bisect_left(range(far), True, key=lambda k: not passes(n, middle - k)) + 1
        largest = middle + bisect_left(range(far), True, key=lambda k: not passes(n, middle + k)) - 1
        assert least <= binom.cdf(largest, n, 0.9) - binom.cdf(fewest - 1, n, 0.9) <= most


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"notion": "top-label"}, "two notions are not comparable. In the baseline: top-label; here: confidence"),
        ({"estimator": "rmsce"}, "two estimators are not comparable. In the baseline: rmsce"),
        ({"bins": "10 equal width"}, "two bins are not comparable. In the baseline: 10 equal width"),
        ({"about": "x"}, "two intervals are not comparable. In the baseline: x"),
        ({"level": 0.9}, "for intervals of differences at 80 %, not 90 %"),
    ],
)
def test_errors_of_other_things_are_refused(change, words):
    with pytest.raises(InputError, match=words):
        increase(NEW, replace(baseline(OLD), **change))


def test_another_number_of_groups_is_no_other_question():
    """More rows give more groups: both intervals are about groups, chosen from scores by one rule."""
    few, many = (estimate(sample("network", "calibrated", n, 10, 0).predictions, "confidence") for n in (220, 400))
    about = [baseline(one).about for one in (few, many)]
    assert all("groups of at least 20 rows with" in one for one in about)
    assert about[0] != about[1]
    assert increase(many, baseline(few), 0.5).word == "within"
    with pytest.raises(InputError, match="Choose the same bins for both"):
        increase(many, replace(baseline(few), about="the error in these bins, given these predictions"))


def test_numbers_of_classes_are_compared_where_both_are_known():
    two, three = (estimate(Predictions(np.full((50, k), 1 / k), [0] * 50), "confidence") for k in (2, 3))
    with pytest.raises(InputError, match=r"two numbers of classes are not comparable\. In the baseline: 2; here: 3"):
        increase(three, baseline(two))
    assert increase(three, baseline(estimate(sure(50, 50, 0.4), "confidence"))).word


@pytest.mark.parametrize("allowed", [-0.01, 1, float("nan")])
def test_what_is_no_increase_is_refused(allowed):
    with pytest.raises(InputError, match="increase allowed"):
        increase(NEW, baseline(OLD), allowed)


def test_a_score_has_no_verdict_and_nothing_to_hold_against_is_said():
    rows = OLD.question.predictions
    with pytest.raises(InputError, match="the gate needs a limit"):
        gate_check(rows)
    with pytest.raises(InputError, match="must be above 0"):
        gate_check(rows, 0)
    with pytest.raises(NotAnswerable, match="no verdict"):
        gate_check(Predictions([[0.9, 0.1]] * 9, [0] * 9), 0.1, "confidence", "brier")


def test_both_have_to_be_within():
    rows, kept = NEW.question.predictions, baseline(NEW)
    assert gate_check(rows, before=kept, allowed=0.1).passed
    assert gate_check(rows, 0.2, before=kept, allowed=0.1).passed
    for limit, before, word in ((0.05, kept, "miscalibrated"), (0.2, baseline(OLD), "worse")):
        check = gate_check(rows, limit, before=before, allowed=0.05)
        assert (check.passed, check.word) == (False, word)
        assert check.headline.startswith(word)
        assert check.first.line.sentence.replace("the tolerance", "the maximum") in check.sentence
        assert check.growth.sentence in check.sentence
    assert "like the baseline" in check.sentence


# -- reading back ---------------------------------------------------------------------------------------------


def record(*kept, schema=SCHEMA):
    return json.dumps({"schema": schema, "checks": [{"kept": one} for one in kept]}).encode()


def test_a_record_is_read_back_to_the_same_bits():
    kept = replace(baseline(NEW), name="a.csv")
    assert read_baselines(record(kept.record()), "old.json") == {"a.csv": kept}
    other = replace(kept, name="b.csv")
    both = read_baselines(record(kept.record(), other.record()), "old.json")
    assert baseline_for("b.csv", both) == other
    with pytest.raises(InputError, match=r"a.csv, b.csv, but not c.csv"):
        baseline_for("c.csv", both)


GOOD = replace(baseline(NEW), name="a.csv").record()


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b"3", b"\xff", b"[" * 100_000, b'{"schema": "calib-gate/1"}'])
def test_what_is_no_record_is_refused(data):
    with pytest.raises(InputError, match=r"^old\.json is not a baseline; create one"):
        read_baselines(data, "old.json")


@pytest.mark.parametrize(
    ("kept", "words"),
    [
        ([GOOD | {"low": "0"}], "its low is not valid"),
        ([GOOD | {"low": True}], "its low is not valid"),
        ([GOOD | {"high": 1e999}], "its high is not valid"),
        ([GOOD | {"rows": -1}], "its rows is not valid"),
        ([GOOD | {"classes": 2.5}], "its classes is not valid"),
        ([GOOD | {"notion": None}], "its notion is not valid"),
        ([GOOD | {"name": "x" * 501}], "its name is not valid"),
        ([GOOD | {"low": 0.5, "high": 0.1}], "its interval is not valid"),
        ([GOOD | {"level": 1}], "its interval is not valid"),
        ([{name: value for name, value in GOOD.items() if name != "about"}], "its about is not valid"),
        ([GOOD, GOOD], "two errors with the same name"),
        ([None], "contains no error"),
    ],
)
def test_what_was_edited_is_refused(kept, words):
    with pytest.raises(InputError, match=words):
        read_baselines(record(*kept), "old.json")


def test_a_later_form_is_named():
    with pytest.raises(InputError, match="has the form 'calib-gate/2'"):
        read_baselines(record(GOOD, schema="calib-gate/2"), "old.json")


@pytest.mark.wide
@pytest.mark.parametrize(("grows", "wrong"), [(0.05, "within"), (0.05, "worse"), (0.0499, "worse")])
def test_a_word_is_wrong_in_at_most_one_case_of_twenty(grows, wrong):
    """Two models of one confidence each have true errors that differ by the allowed amount, or nearly."""
    rng, n, before, found, times = np.random.default_rng(0), 400, 0.85, {}, 3000
    count = 0
    for old, new in zip(rng.binomial(n, before, times), rng.binomial(n, before - grows, times), strict=True):
        if (old, new) not in found:
            kept = baseline(estimate(sure(n, old), "confidence"))
            found[old, new] = increase(estimate(sure(n, new), "confidence"), kept, 0.05).word
        count += found[old, new] == wrong
    assert not more_than(count / times, times), count / times


def test_two_models_of_an_event_are_compared_whichever_of_two_errors_is_larger():
    """The interval says where the error of the confidence is larger than that of the event; the bins are the same."""
    rng = np.random.default_rng(0)
    said = {}
    for _ in range(40):
        risk = rng.uniform(0.05, 0.95, 600)
        died = (rng.random(600) < risk).astype(int)
        measured = estimate(Predictions(np.column_stack([1 - risk, risk]), died), "event", "ece", 15)
        said["larger here" in measured.interval().about] = measured
    assert set(said) == {True, False}, "both kinds were drawn"
    for before, after in (said.values(), reversed(said.values())):
        assert increase(after, baseline(before), 0.05).word
