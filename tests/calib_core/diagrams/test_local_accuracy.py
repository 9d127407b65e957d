"""Accuracy near a confidence: against a loop that follows the definition, and by hand."""

import re

import numpy as np
import pytest
from generated import full_predictions, of_kind
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from calib_core import InputError, NotAnswerable, Predictions
from calib_core.diagrams import classes_standing_out, local_accuracy, overall_gap
from calib_core.diagrams.local_accuracy import ENOUGH, points
from calib_core.inference import holm, per_class_tests, share_ends
from calib_core.slices.findings import findings
from calib_core.text import in_percent, inside


def said(confidence, right, **more):
    return Predictions.from_confidence(confidence, right, **more)


def slowly(h, right, weight, asked):
    """Return rows, mean confidence and accuracy of the window, row by row."""
    nearest = min(h, key=lambda score: (abs(score - asked), score))
    centre = asked if abs(nearest - asked) <= 0.03 + 1e-6 else nearest
    chosen = None
    for width in range(3, 13):
        inside = [i for i in range(len(h)) if abs(h[i] - centre) <= width / 100 + 1e-6]
        total = sum(weight[i] for i in inside)
        if not inside or abs(sum(weight[i] * h[i] for i in inside) / total - centre) > 0.03 + 1e-6:
            continue
        chosen = inside
        if total >= ENOUGH:
            break
    total = sum(weight[i] for i in chosen)
    mean = [sum(weight[i] * part[i] for i in chosen) / total for part in (h, right)]
    return total, *mean, min(h[i] for i in chosen), max(h[i] for i in chosen)


@given(
    rows=st.lists(st.tuples(st.integers(0, 1000), st.booleans(), st.integers(1, 90)), min_size=1, max_size=40),
    asked=st.integers(0, 100),
)
def test_every_answer_is_its_definition(rows, asked):
    h, right, weight = (np.array(part) for part in zip(*rows, strict=True))
    h = h / 1000
    answer = local_accuracy(said(h, right, weights=weight)).answer(asked / 100)
    total, claimed, share, lower, upper = slowly(h.tolist(), right.tolist(), weight.tolist(), asked / 100)
    assert answer.rows == total
    assert answer.claimed == pytest.approx(claimed)
    assert answer.right == pytest.approx(share)
    assert (answer.lower, answer.upper) == (lower, upper)
    assert answer.share == pytest.approx(total / weight.sum())
    assert answer.near == (min(abs(h - asked / 100)) <= 0.03 + 1e-6)


def test_by_hand():
    """There are 215 rows at 84 to 96 %, 148 of them right: 68.8 %."""
    h = np.concatenate([np.linspace(0.84, 0.845, 100), np.full(15, 0.9), np.linspace(0.955, 0.96, 100)])
    right = np.arange(215) < 148
    answer = local_accuracy(said(h, right)).answer(0.9)
    assert (answer.rows, answer.lower, answer.upper) == (215, 0.84, 0.96)
    assert answer.claimed == pytest.approx((84.25 + 13.5 + 95.75) / 215)
    # Clopper and Pearson: the chances at which 148 or more, 148 or fewer, have 5 %.
    assert binom.sf(147, 215, answer.low) == pytest.approx(0.05, abs=1e-9)
    assert binom.cdf(148, 215, answer.high) == pytest.approx(0.05, abs=1e-9)
    assert answer.headline == "When it says 90 %, it is right 69 % of the time."
    assert "from 215 rows (100 % of all) with a confidence of 84 to 96 %" in answer.basis


def test_where_few_confidences_are_stated_it_speaks_of_one_alone():
    h = np.repeat([0.8, 0.88, 0.9, 1.0], [60, 30, 40, 60])
    right = np.concatenate([np.arange(60) < 50, np.arange(30) < 3, np.arange(40) < 20, np.arange(60) < 59])
    found = local_accuracy(said(h, right))
    at = found.answer(0.9)
    assert (at.rows, at.lower, at.upper, at.right) == (40, 0.9, 0.9, 0.5)
    assert binom.sf(19, 40, at.low) == pytest.approx(0.05, abs=1e-9)
    assert found.answer(0.89).headline == "It never says 89 %. When it says 88 %, it is right 10 % of the time."
    # Many confidences, of few rows each, are put together.
    spread = local_accuracy(said(np.linspace(0.8, 1.0, 190), right)).answer(0.9)
    assert spread.lower < spread.upper


@pytest.mark.parametrize("asked", [0.4, 0.9])
def test_a_sentence_never_speaks_of_rows_that_say_something_else(asked):
    answer = local_accuracy(said([0.6] * 300, [True] * 180 + [False] * 120)).answer(asked)
    assert not answer.near
    assert answer.headline == (f"It never says {100 * asked:.0f} %. When it says 60 %, it is right 60 % of the time.")
    assert answer.basis.endswith("from 300 rows (100 % of all) with a confidence of 60 %")


@given(
    h=st.lists(st.integers(0, 1000), min_size=10, max_size=60),
    asked=st.integers(0, 100),
    copies=st.integers(1, 20),
)
def test_no_sentence_states_a_confidence_that_no_row_has(h, asked, copies):
    answer = local_accuracy(said(np.array(h) / 1000, [True] * len(h), weights=[copies] * len(h))).answer(asked / 100)
    stated = re.search(r"[Ww]hen it says ([\d.]+) %", answer.headline)
    assert (stated is not None) == answer.enough
    if stated is not None:
        assert 100 * answer.lower - 0.51 <= float(stated[1]) <= 100 * answer.upper + 0.51
        assert inside(answer.headline).startswith(answer.brief) or answer.near


def test_rows_beside_a_confidence_are_named_by_their_mean():
    """After recalibration no row is above 93.8 %: near 96 % there are rows, but none says 96 %."""
    found = local_accuracy(said(np.linspace(0.9, 0.938, 200), [True] * 190 + [False] * 10))
    beside, inner = found.answer(0.96), found.answer(0.93)
    assert beside.near
    assert beside.upper < 0.94
    assert beside.stated == in_percent(beside.claimed) != in_percent(0.96)
    assert inner.stated == "93 %" != in_percent(inner.claimed)


def test_a_wide_window_does_not_run_away_to_where_the_rows_are():
    """Nearly all rows are at 99 %: the answer is about the few around 90 %, not about those."""
    h = np.concatenate([np.full(20, 0.9), np.full(1000, 0.99)])
    right = np.concatenate([np.arange(20) < 5, np.ones(1000, bool)])
    answer = local_accuracy(said(h, right)).answer(0.9)
    assert answer.rows == 20
    assert answer.right == 0.25


def test_a_gap_is_to_the_mean_of_what_the_rows_say_and_only_where_shown():
    assert local_accuracy(said([0.9] * 100, [True] * 90 + [False] * 10)).answer(0.9).difference == "no clear gap"
    short = local_accuracy(said([0.87] * 400, [True] * 280 + [False] * 120)).answer(0.9)
    assert short.difference == "17 points lower than 87 %"
    assert local_accuracy(said([0.5] * 400, [True] * 400)).answer(0.5).difference == "50 points higher"


def test_few_rows_are_no_headline():
    answer = local_accuracy(said([0.9] * 4, [True, True, True, False])).answer(0.9)
    assert answer.headline == "Only 4 predictions are near 90 %: too few to tell."
    assert answer.gap is None
    assert answer.brief == "too few rows to tell"


def test_weights_that_are_no_copies_get_the_wider_ends():
    plain = local_accuracy(said([0.9] * 300, [True] * 240 + [False] * 60)).answer(0.9)
    weight = np.where(np.arange(300) % 2, 0.5, 1.5)
    weighed = local_accuracy(said([0.9] * 300, [True] * 240 + [False] * 60, weights=weight))
    answer = weighed.answer(0.9)
    assert answer.rows == pytest.approx(300 / 1.25)  # (sum w)^2 / sum w^2
    assert weighed.method.startswith("Hoeffding")
    assert answer.low < plain.low < plain.high < answer.high
    half = np.sqrt(np.log(20) / (2 * 240))
    assert (answer.low, answer.high) == pytest.approx((answer.right - half, min(answer.right + half, 1)))


def test_copies_are_rows():
    copied = local_accuracy(said([0.9, 0.9], [True, False], weights=[30, 10])).answer(0.9)
    written = local_accuracy(said([0.9] * 40, [True] * 30 + [False] * 10)).answer(0.9)
    assert (copied.rows, copied.low, copied.high) == (written.rows, written.low, written.high)


def test_what_weighs_nothing_and_what_is_abstained_on_says_nothing():
    half = local_accuracy(said([0.9] * 20 + [0.3] * 20, [True] * 40, weights=[1] * 20 + [0] * 20))
    assert half.answer(0.3).claimed == pytest.approx(0.9)
    p = Predictions([[0.9, 0.1]] * 20 + [[0.5, 0.5]] * 5, [0] * 25, abstained=[False] * 20 + [True] * 5)
    assert local_accuracy(p).answer(0.5).rows == 20
    with pytest.raises(NotAnswerable):
        local_accuracy(Predictions([[0.5, 0.5]], [0], abstained=[True]))


@pytest.mark.parametrize("kind", ["full", "top-label", "confidence"])
@given(rows=full_predictions())
def test_every_kind_is_answered_at_every_place(kind, rows):
    found = local_accuracy(of_kind(rows, kind))
    frame = found.frame()
    assert len(frame) == 101
    assert (frame["low"] <= frame["right"] + 1e-12).all()
    assert (frame["right"] <= frame["high"] + 1e-12).all()
    assert (frame["lower"] <= frame["claimed"] + 1e-12).all()
    assert (frame["claimed"] <= frame["upper"] + 1e-12).all()


def test_rows_in_single_precision_are_the_decimals_they_were():
    h = np.full(300, 0.93, dtype=np.float32)
    assert local_accuracy(said(h, [True] * 300)).answer(0.9).rows == 300


def test_what_is_asked_must_be_a_confidence():
    with pytest.raises(InputError, match="from 0 to 1"):
        local_accuracy(said([0.9], [True]), confidences=[1.2])


def test_exact_ends_hold_where_chances_differ():
    """Sums of outcomes with different chances vary less than binomial ones: at least 90 % of intervals cover."""
    rng = np.random.default_rng(0)
    chances = rng.uniform(0.6, 1.0, 60)
    right = (rng.random((4000, 60)) < chances).mean(axis=1)
    low, high = share_ends(right, np.full(4000, 60.0), counted=True)
    assert ((low <= chances.mean()) & (chances.mean() <= high)).mean() >= 0.9


def test_numbers_as_a_headline_gives_them():
    assert [in_percent(x) for x in (0.0, 0.02, 0.5, 0.98, 0.9999)] == ["0 %", "2 %", "50 %", "98 %", "99.99 %"]
    assert points(0.0004) == "0.04 points"


# -- all rows, and by class -----------------------------------------------------------------------------------


def test_the_gap_over_all_rows_is_shown_or_not():
    over = overall_gap(said([0.9, 0.7] * 200, [True] * 240 + [False] * 160))
    assert over.headline == "Overconfident by 20 points"
    assert (over.claimed, over.right) == (pytest.approx(0.8), 0.6)
    assert overall_gap(said([0.5] * 400, [True] * 240 + [False] * 160)).headline == "Underconfident by 10 points"
    none = overall_gap(said([0.9, 0.5] * 200, [False, True] * 60 + [True, True] * 140))
    assert none.headline != "No significant gap on average" or "cancel" in none.basis


def test_classes_are_put_in_order_by_what_they_add_not_by_their_raw_error():
    """A class of two rows, both wrong, has the largest error; one of 400 rows contributes more."""
    predicted = [0] * 400 + [1] * 2 + [2] * 400
    labels = [0] * 280 + [1] * 120 + [0] * 2 + [2] * 360 + [0] * 40
    p = Predictions.from_confidence([0.9] * 802, predicted=predicted, labels=labels)
    found = classes_standing_out(p)
    assert found.names[0] == "0"
    assert found.error[list(found.names).index("1")] == pytest.approx(0.9)
    assert found.headline == "Class 0 contributes most to the error: confidence 90 %, accuracy 70 %"
    assert found.p_holm[list(found.names).index("1")] != found.p_holm[list(found.names).index("1")], "not tested"


def test_the_class_furthest_off_is_named_where_it_is_not_the_one_that_adds_most():
    predicted = [0] * 1000 + [1] * 60
    labels = [0] * 700 + [1] * 300 + [0] * 40 + [1] * 20
    found = classes_standing_out(Predictions.from_confidence([0.9] * 1060, predicted=predicted, labels=labels))
    assert found.headline == "Class 0 contributes most to the error: confidence 90 %, accuracy 70 %"
    assert found.basis.endswith("Largest gap: class 1, confidence 90 %, accuracy 33 % (60 rows).")


def test_the_numbers_of_a_class_are_those_of_its_test():
    """The order is by contribution."""
    predicted = [0] * 400 + [1] * 2 + [2] * 400
    labels = [0] * 280 + [1] * 120 + [0] * 2 + [2] * 360 + [0] * 40
    p = Predictions.from_confidence([0.9] * 802, predicted=predicted, labels=labels)
    found = classes_standing_out(p)
    tests = per_class_tests(p, "top-label").set_index("class")
    frame = found.frame().set_index("class")
    tested = tests["p"].where(tests["rows"] >= 10)
    corrected = tested.where(tested.isna(), np.minimum(3 * holm(tested), 1))  # bins, classes, classes in bins
    np.testing.assert_allclose(frame["p_holm"], corrected[frame.index])
    excess = tests["rows"] / 802 * (tests["error"] - tests["calibrated"])
    np.testing.assert_allclose(frame["excess"], excess[frame.index])


def test_no_class_that_stands_out_is_not_called_good():
    p = Predictions.from_confidence([0.9] * 40, predicted=[0, 1] * 20, labels=[0, 1] * 18 + [1, 0] * 2)
    found = classes_standing_out(p)
    assert found.headline == "No class is significantly off"
    assert "is rarely significant" in found.basis
    assert not found.stands_out.any()


def test_classes_that_are_never_predicted_are_no_tests():
    p = Predictions.from_confidence([0.9] * 40, predicted=[0] * 40, labels=[0] * 10 + [2] * 30)
    found = classes_standing_out(p)
    assert found.names == ("0",)
    assert found.basis == "40 rows. The only predicted class is significantly off."


def test_bare_confidences_have_no_classes():
    with pytest.raises(NotAnswerable):
        classes_standing_out(said([0.9] * 40, [True] * 40))


@pytest.mark.parametrize("events", [55, 20, 70])
def test_a_rare_risk_is_written_with_the_digits_of_its_ratio(events):
    """The ratio of both means of a sentence is right to a quarter of a percent, and an interval to .05 points."""
    risk, died = np.linspace(0.001, 0.068, 1500), np.zeros(1500, dtype=int)
    died[np.linspace(0, 1499, events).astype(int)] = 1
    rows = Predictions(np.column_stack([1 - risk, risk]), died)
    gap = overall_gap(rows)
    claimed, right, low, high = (float(text) for text in re.findall(r"[\d.]+(?= %| to)", gap.basis)[:4])
    assert right / claimed == pytest.approx(gap.right / gap.claimed, rel=0.0025)
    assert [low, high] == pytest.approx([100 * gap.low, 100 * gap.high], abs=0.0501)
    small = findings(rows).query("high < 0.1")
    assert len(small) > 1
    for _, line in small.iterrows():
        ends = re.search(r"interval ([\d.]+) to ([\d.]+) %", line["finding"])
        assert ends is not None
        assert [float(end) for end in ends.groups()] == pytest.approx(
            [100 * line["low"], 100 * line["high"]], abs=0.0501
        )
