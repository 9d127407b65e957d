"""Confusion biases of every pair of classes: by a loop, by hand, at a thousand classes, and with false alarm rates."""

import math

import numpy as np
import pytest
from generated import full_predictions, of_kind
from hypothesis import given
from scipy.stats import binomtest

import calib_core as cc
from calib_core import InputError, NotAnswerable, Predictions
from calib_core.diagrams.class_bias import LISTED
from calib_core.inference import holm, per_class_tests
from calib_core.inference.intervals.clustered_rows import shares_in_cells
from calib_core.text import at_level, of_rows, share_range, told_apart
from tests.calib_core.slices.test_findings import drawn, networks


def confusing(n, k, rng, share=0.3):
    """Return calibrated rows, except that some of those predicted as class 0 are of class 1 instead."""
    p = networks(n, k, rng)
    y = drawn(p, rng)
    moved = (p.argmax(1) == 0) & (y == 0) & (rng.random(n) < share)
    return Predictions(p, np.where(moved, 1, y))


@pytest.mark.parametrize("weighted", [False, True])
def test_every_pair_by_a_loop(weighted):
    rng = np.random.default_rng(0)
    p = confusing(1500, 5, rng)
    if weighted:
        p = p.replace(weights=rng.integers(0, 3, 1500).astype(float))
    found = cc.diagrams.class_bias(p).frame().set_index(["code", "label_code"])
    w = np.ones(1500) if p.weights is None else p.weights
    alone = {}
    for c in range(5):
        here = p.predicted == c
        n = w[here].sum()
        for label in range(5):
            line = found.loc[(c, label)]
            says, k = w[here] @ p.probs[here, label] / n, w[here] @ (p.true_labels[here] == label)
            assert (line["rows"], line["says"], line["right"]) == pytest.approx((n, says, k / n))
            assert line["gap"] == pytest.approx(k / n - says)
            tails = [binomtest(int(k), int(n), says, alternative=a).pvalue for a in ("less", "greater")]
            alone[c, label] = min(1.0, 2 * min(tails))
            if c == label:
                alone[c, label] = per_class_tests(p, "top-label")["p"][c]
            assert line["p"] == pytest.approx(alone[c, label], rel=1e-6, abs=2e-12)
            assert line["level"] == 0.9
            ends = binomtest(int(k), int(n)).proportion_ci(0.9, "exact")
            assert (line["low"], line["high"]) == pytest.approx((ends.low, ends.high))
    for own in (True, False):
        mine = [pair for pair in alone if (pair[0] == pair[1]) == own]
        corrected = np.minimum(4 * holm([alone[pair] for pair in mine]), 1)  # bins and three kinds of classes
        np.testing.assert_allclose(found.loc[mine, "p_corrected"], corrected, rtol=1e-6, atol=1e-10)
        assert found.loc[mine, "stands_out"].tolist() == (corrected <= 0.05).tolist()
    assert found.loc[(0, 1), "stands_out"]
    assert found.loc[(0, 0), "stands_out"]
    assert found.index[0] in ((0, 0), (0, 1))


def test_by_hand():
    p = Predictions([[0.8, 0.1, 0.1]] * 100, [0] * 80 + [1] * 20, class_names=["cat", "dog", "7"])
    found = cc.diagrams.class_bias(p)
    frame = found.frame().set_index("label")
    assert (found.pairs, found.unsure) == (3, 0)
    # 2 * 0.9^100 for none of a hundred at a chance of 0.1; two pairs, four kinds of places.
    assert frame.loc["7", "p"] == pytest.approx(2 * 0.9**100)
    assert frame.loc["7", "p_corrected"] == pytest.approx(2 * 4 * 2 * 0.9**100)
    assert frame.loc["7", "level"] == 0.9
    assert frame["finding"].tolist() == [
        "Class 7 has a mean probability of 10 % where “cat” is predicted, and the observed frequency is 0 % (0 of 100 "
        "rows; 90 % interval 0 to 3 %).",
        "“dog” has a mean probability of 10 % where “cat” is predicted, and the observed frequency is 20 % (20 "
        "of 100 rows; 90 % interval 14 to 28 %).",
        "Where “cat” is predicted, the mean confidence is 80 % and the accuracy 80 % (80 of 100 rows; 90 % "
        "interval 72 to 86 %). This gap is not significant.",
    ]
    assert found.headline == (
        frame["finding"].iloc[0],
        "For each predicted class, the probability of every class is compared with the labels. "
        "Of these 3 gaps, 2 are significantly off (corrected for multiple testing).",
    )


@given(full_predictions(max_rows=120))
def test_every_sentence_is_made_of_its_line_and_intervals_exclude_what_is_said(predictions):
    found = cc.diagrams.class_bias(predictions, fewest=3)
    for line in found.frame().to_dict("records"):
        says, right = told_apart(line["says"], line["right"])
        rows = of_rows(line["rows"], line["worth"])
        if line["worth"] < 3:
            assert line["finding"] == f"Too few rows to tell where class {line['class']} is predicted: {rows}."
            continue
        of = f"{round(line['rows'] * line['right']):,} of {rows}" if found.counted else rows
        numbers = f"({of}; {at_level(line['level'])} interval {share_range(line['low'], line['high'])})."
        assert line["finding"].removesuffix(" This gap is not significant.").endswith(f"{numbers}")
        assert line["finding"].endswith("not significant.") == (not line["stands_out"])
        assert says in line["finding"]
        assert right in line["finding"]
        if line["code"] != line["label_code"]:
            assert not line["stands_out"] or not line["low"] <= line["says"] <= line["high"]


def test_a_thousand_classes_list_what_stands_out():
    rng = np.random.default_rng(1)
    p = confusing(8000, 1000, rng)
    p = p.relabelled(np.where(p.predicted < 150, 0, p.true_labels))
    found = cc.diagrams.class_bias(p)
    frame = found.frame()
    assert len(frame) == max(LISTED, frame["stands_out"].sum())
    assert found.pairs == 1000 * (np.bincount(p.predicted, minlength=1000) >= 10).sum()
    assert (frame.loc[frame["stands_out"], "code"] < 150).all()
    assert frame["stands_out"].sum() > 20
    calm = cc.diagrams.class_bias(Predictions(p.probs, drawn(p.probs, rng)))
    assert calm.headline[0] == "No pair is significantly off."
    assert len(calm.rows) == LISTED


@pytest.mark.wide
def test_false_alarms_stay_few_and_p_alone_makes_many():
    rng, runs, false, uncorrected = np.random.default_rng(5), 60, 0, 0
    for _ in range(runs):
        p = networks(1500, 6, rng)
        found = cc.diagrams.class_bias(Predictions(p, drawn(p, rng)))
        false += bool(found.stands_out.any())
        uncorrected += bool((found.p <= 0.05).any())
    assert false <= 0.05 * runs + 2 * math.sqrt(0.05 * 0.95 * runs)
    assert uncorrected > 0.3 * runs


def test_what_is_abstained_on_counts_for_nothing_and_others_are_refused():
    rng = np.random.default_rng(2)
    p = confusing(600, 4, rng)
    quiet = np.arange(600) % 2 == 0
    abstaining = cc.diagrams.class_bias(Predictions(p.probs, p.true_labels, abstained=quiet)).frame()
    taken = cc.diagrams.class_bias(p.take(np.flatnonzero(~quiet))).frame()
    assert abstaining.equals(taken)
    for kind in ("top-label", "confidence"):
        with pytest.raises(NotAnswerable, match="do not contain a probability for every class"):
            cc.diagrams.class_bias(of_kind(p, kind))
    with pytest.raises(InputError, match="must be a number between 0 and 1"):
        cc.diagrams.class_bias(p, level=2)


def test_rows_of_a_group_count_together():
    p = confusing(400, 3, np.random.default_rng(4))
    groups = np.arange(400) // 4
    found = cc.diagrams.class_bias(p.replace(groups=groups)).frame()
    line = found[(found["code"] == 1) & (found["label_code"] == 1)].iloc[0]
    here = p.predicted == 1
    worth = here.sum() ** 2 / (np.bincount(groups[here]) ** 2).sum()
    assert line[["rows", "groups", "worth"]].tolist() == pytest.approx(
        [here.sum(), len(np.unique(groups[here])), worth]
    )
    every, own = np.flatnonzero(here), np.zeros(int(here.sum()), dtype=int)
    rows = p.replace(groups=groups)
    low, _, _ = shares_in_cells(rows, own, p.labels[every] == 1, every, 1, line["level"])
    assert line["low"] == pytest.approx(low[0])
