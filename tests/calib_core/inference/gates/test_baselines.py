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
from calib_core.inference.gate_baselines import SCHEMA, _ends, baseline_for, level_of_each, seals, signing_key
from calib_core.inference.intervals.interval_methods import typical_high


def sure(n, right, score=0.9):
    """Return rows of one confidence, this many of them right: the error is score - right / n, by hand."""
    return Predictions.from_confidence(np.full(n, score), np.arange(n) < right)


OLD = estimate(sure(4000, 3600), "confidence")
NEW = estimate(sure(4000, 3200), "confidence")


@pytest.mark.parametrize("level", [0.8, 0.9])
def test_the_interval_is_the_extremes_of_two_intervals_that_both_hold(level):
    mine, theirs = NEW.interval((1 + level) / 2), OLD.interval((1 + level) / 2)
    found = increase(NEW, baseline(OLD, level), level=level, overlap="any")
    assert not found.disjoint
    assert "share no rows" not in found.sentence
    assert (found.low, found.high) == pytest.approx((mine.low - theirs.high, mine.high - theirs.low), abs=1e-12)
    assert found.point == pytest.approx(mine.point - theirs.point, abs=1e-12)
    assert found.low < 0.1 < found.high


@pytest.mark.parametrize("level", [0.8, 0.9])
def test_without_shared_rows_two_independent_estimates_are_compared(level):
    """By hand: distances of each estimate to the end that matters, added as squares."""
    mine, theirs = NEW.interval(level), OLD.interval(level)
    before = replace(baseline(OLD, level), low=0.002, point=0.02, high=0.05, own_low=0.008, own_high=0.04)
    found = increase(NEW, before, level=level, overlap="none")
    upper = ((mine.high - mine.point) ** 2 + (0.02 - 0.008) ** 2) ** 0.5
    lower = ((mine.point - mine.low) ** 2 + (0.04 - 0.02) ** 2) ** 0.5
    assert mine.low > 0
    assert found.high == pytest.approx(mine.point - 0.02 + upper, abs=1e-12)
    assert found.low == pytest.approx(mine.point - 0.02 - lower, abs=1e-12)
    assert found.disjoint
    assert found.sentence.endswith("This assumes that the two files share no rows.")
    # An estimate whose interval includes 0 is biased upward: its end counts alone.
    at_zero = replace(before, low=0.0, own_low=0.0)
    assert increase(NEW, at_zero, level=level, overlap="none").high == pytest.approx(mine.high, abs=1e-12)
    assert theirs.low == 0
    found = increase(OLD, before, level=level, overlap="none")
    assert found.low == pytest.approx(-0.04, abs=1e-12)


def rows_of(n, events):
    """Return n rows of a risk of .1, this many with the event."""
    return estimate(Predictions([[0.9, 0.1]] * n, [0] * (n - events) + [1] * events), "confidence")


@pytest.mark.parametrize(
    ("after", "disjoint"),
    [(rows_of(1000, 90), False), (rows_of(1000, 91), True), (rows_of(1001, 90), True)],
)
def test_rows_are_other_rows_if_the_numbers_of_labels_differ(after, disjoint):
    before = baseline(rows_of(1000, 90))
    assert increase(after, before, 0.05).disjoint == disjoint
    assert not increase(after, before, 0.05, overlap="any").disjoint
    assert increase(after, before, 0.05, overlap="none").disjoint


def test_without_labels_of_classes_equal_numbers_of_rows_may_be_the_same_rows():
    before = baseline(OLD)
    assert before.outcomes is None
    assert not increase(NEW, before, 0.05).disjoint
    assert increase(estimate(sure(3999, 3200), "confidence"), before, 0.05).disjoint
    old = replace(before, own_low=None, own_high=None)
    assert not increase(estimate(sure(3999, 3200), "confidence"), old, 0.05).disjoint
    with pytest.raises(InputError, match="create it again"):
        increase(NEW, old, 0.05, overlap="none")
    with pytest.raises(InputError, match="choose one of auto, none, any"):
        increase(NEW, before, 0.05, overlap="some")


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("old", "new"), [(0.9, 0.82), (0.9, 0.87), (0.87, 0.82)])
def test_each_end_misses_the_difference_in_one_of_twenty_samples_at_most(old, new):
    """Exact: every pair of outcomes of two models of confidence .9 with true accuracies ``old`` and ``new``.

    The falsified twin adds squares for estimates at 0 too; it misses in more than one of twenty.
    """
    n, true = 300, (0.9 - new) - (0.9 - old)
    spans = {}
    for accuracy in (old, new):
        numbers = range(int(binom.ppf(1e-4, n, accuracy)), int(binom.ppf(1 - 1e-4, n, accuracy)) + 1)
        for right in numbers:
            spans[right] = spans.get(right) or baseline(estimate(sure(n, right), "confidence"))
    missed, twin = 0.0, 0.0
    for first, before in spans.items():
        for second, after in spans.items():
            chance = binom.pmf(first, n, old) * binom.pmf(second, n, new)
            if chance < 1e-7:
                continue
            low, high = _ends(after, before)
            missed += chance * (high < true - 1e-9)
            assert low <= after.point - before.point <= high
            squares = (after.own_high - after.point) ** 2 + (before.point - before.own_low) ** 2
            twin += chance * (after.point - before.point + squares**0.5 < true - 1e-9)
    assert missed <= 0.05
    if old == 0.9 and new == 0.82:
        assert twin > 0.05, twin


@pytest.mark.wide
def test_equal_models_of_other_rows_can_pass():
    """Errors of .03 on 3,000 rows each: the extremes of two intervals never pass, although the rows could show it."""
    rng, passed = np.random.default_rng(3), {"none": 0, "any": 0}
    for _ in range(20):
        found = []
        for _ in range(2):
            h = 0.5 + rng.beta(12, 1.2, 3000) / 2
            right = rng.random(3000) < np.clip(h - 0.03, 0, 1)
            found.append(estimate(Predictions.from_confidence(h, right), "confidence", "ece", 15))
        for overlap in passed:
            passed[overlap] += increase(found[0], baseline(found[1]), 0.01, overlap=overlap).word == "within"
    assert passed["any"] <= 2
    assert passed["none"] >= 4


def test_roots_of_squared_errors_are_compared():
    old, new = (estimate(one.question.predictions, "confidence", "debiased-l2") for one in (OLD, NEW))
    found = increase(new, baseline(old), overlap="any")
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
    found = increase(after, before, usual - before.low + beyond, overlap="any")
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
        ({"notion": "top-label"}, "top-label, not confidence. Add --notion top-label"),
        ({"estimator": "rmsce"}, "rmsce, not ece. Add --estimator rmsce"),
        ({"bins": "10 equal width"}, "10 equal-width bins, not 15 equal-width bins. Add --bins 10"),
        (
            {"bins": "10 equal mass"},
            "10 equal-mass bins, not 15 equal-width bins. Add the options --binning and --bins",
        ),
        ({"about": "x"}, "another way than the one here: .* and add --bins 15 here"),
        ({"level": 0.9}, "at 80 %, this check at 90 %. Add --level 0.8"),
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
    with pytest.raises(InputError, match="computed in another way"):
        increase(many, replace(baseline(few), about="the error in these bins, given these predictions"))


def test_numbers_of_classes_are_compared_where_both_are_known():
    two, three = (estimate(Predictions(np.full((50, k), 1 / k), [0] * 50), "confidence") for k in (2, 3))
    with pytest.raises(InputError, match="a model with 2 classes, but here there are 3"):
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
    assert "as for the baseline" in check.sentence


# -- reading back ---------------------------------------------------------------------------------------------


def record(*kept, schema=SCHEMA):
    checks = [{"kept": one} | seals({"kept": one}) for one in kept]
    return json.dumps({"schema": schema, "checks": checks}).encode()


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
        ([GOOD | {"low": "0"}], "the value of low is not valid"),
        ([GOOD | {"low": True}], "the value of low is not valid"),
        ([GOOD | {"high": 1e999}], "the value of high is not valid"),
        ([GOOD | {"high": 10**400}], "the value of high is not valid"),
        ([GOOD | {"rows": -1}], "the value of rows is not valid"),
        ([GOOD | {"classes": 2.5}], "the value of classes is not valid"),
        ([GOOD | {"notion": None}], "the value of notion is not valid"),
        ([GOOD | {"name": "x" * 501}], "the value of name is not valid"),
        ([GOOD | {"low": 0.5, "high": 0.1}], "the value of interval is not valid"),
        ([GOOD | {"level": 1}], "the value of interval is not valid"),
        ([{name: value for name, value in GOOD.items() if name != "about"}], "the value of about is not valid"),
        ([GOOD, GOOD], "two errors with the same name"),
        ([None], "contains no error"),
    ],
)
def test_what_was_edited_is_refused(kept, words):
    with pytest.raises(InputError, match=words):
        read_baselines(record(*kept), "old.json")


def sealed(key=None):
    return json.loads(json.dumps(gate_check(NEW.question.predictions, 0.05, "confidence").record("a.csv", key)))


def read(check, key=None):
    return read_baselines(json.dumps({"schema": SCHEMA, "checks": [check]}).encode(), "old.json", key)


@pytest.mark.parametrize(
    ("field", "value"), [("high", 0.9), ("rows", 9_999), ("own_high", "point"), ("outcomes", "x"), ("name", "b.csv")]
)
def test_a_field_that_was_changed_is_refused(field, value):
    check = sealed()
    assert read(check)["a.csv"].rows == 4000
    check["kept"][field] = check["kept"].get(value, value)
    with pytest.raises(InputError, match=r"old\.json was changed after calib gate wrote it"):
        read(check)
    for part in ("digest", "line"):
        del check[part]
        with pytest.raises(InputError, match="was changed after"):
            read(check)


@pytest.mark.parametrize("path", [("line", "point"), ("sentence",), ("verdict",), ("limit",)])
def test_a_record_that_contradicts_its_baseline_is_refused(path):
    check = sealed()
    *above, last = path
    inner = check[above[0]] if above else check
    inner[last] = 0.01 if last in ("point", "limit") else "within"
    with pytest.raises(InputError, match="was changed after"):
        read(check)


def test_a_key_that_is_set_but_empty_is_refused(monkeypatch):
    monkeypatch.delenv("CALIB_GATE_KEY", raising=False)
    assert signing_key() is None
    monkeypatch.setenv("CALIB_GATE_KEY", "secret")
    assert signing_key() == b"secret"
    monkeypatch.setenv("CALIB_GATE_KEY", "")
    with pytest.raises(InputError, match="CALIB_GATE_KEY is set but empty"):
        signing_key()


def test_with_a_key_a_baseline_has_to_be_signed_with_it():
    signed = sealed(b"secret")
    assert read(signed, b"secret")["a.csv"] == read(signed)["a.csv"]
    with pytest.raises(InputError, match="is signed with another key, but a key is set"):
        read(signed, b"other")
    with pytest.raises(InputError, match="is not signed, but a key is set"):
        read(sealed(), b"secret")
    forged = signed | {"kept": signed["kept"] | {"high": 0.9}}
    forged |= seals(forged)  # anybody can write the digest again, but not the signature
    assert read(forged)
    with pytest.raises(InputError, match="is signed with another key"):
        read(forged, b"secret")


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
