"""Decompositions of a score: by a slow loop, by hand, the cost of a planted fault, and coverage of intervals."""

import numpy as np
import pytest

import calib_core as cc
from calib_core import CALIBRATORS, InputError, NotAnswerable
from calib_core.evaluation.score_decomposition import parts_of_scores
from tests.calib_core.evaluation.test_prediction_sets import drawn


def lines(table, score):
    return table[table["score"] == score].set_index("part")


@pytest.mark.parametrize("sharp", [2.5, 1.0])
def test_with_one_map_it_is_the_score_less_that_of_cross_fitting(sharp):
    p = drawn(600, 3, [sharp])[0]
    table = parts_of_scores({"t": p}, {"t": p}, ["temperature"], folds=4, random_state=3)
    fair = cc.cross_fitted(p, "temperature", 4, 3)
    labels = np.arange(600), p.true_labels
    lost = -np.log(p.probs[labels]), -np.log(fair.probs[labels])
    fold, better = p.folds(4, random_state=3), np.zeros(600, dtype=bool)
    for outer in range(4):
        gain = 0.0
        for inner in set(range(4)) - {outer}:
            seen = p.take(np.flatnonzero((fold != outer) & (fold != inner)))
            judged = p.take(np.flatnonzero(fold == inner))
            after = CALIBRATORS.make("temperature").fit_on(seen).apply(judged)
            where = np.arange(judged.n_rows), judged.true_labels
            gain += np.log(after.probs[where]).sum() - np.log(judged.probs[where]).sum()
        better[fold == outer] = gain > 0
    rest = np.where(better, lost[1], lost[0])
    found = lines(table, "log-loss")
    assert found["before"].tolist() == pytest.approx([lost[0].mean(), (lost[0] - rest).mean(), rest.mean()])
    assert found["change"].tolist() == pytest.approx([0, 0, 0], abs=1e-12)
    assert better.any() == (sharp == 2.5)


@pytest.mark.parametrize("score", ["log-loss", "brier"])
def test_a_gain_has_one_interval_in_the_choice_between_pairs_and_in_the_parts(score):
    fit, test = (drawn(n, 3, [2.5], seed=n)[0] for n in (300, 120))
    after = CALIBRATORS.make("temperature").fit_on(fit).apply(test)
    chosen = cc.choose(fit, ["temperature"], score=score, held_out=test).frame().set_index("calibrator")
    gain = tuple(chosen.loc["temperature", ["gain", "low", "high"]])
    found = cc.inference.paired_difference(test, after, None, score)
    assert (found.point, found.low, found.high) == pytest.approx(gain, rel=1e-12)
    part = lines(parts_of_scores({"t": test}, {"t": after}), score).loc["score"]
    assert (-part["change"], -part["high"], -part["low"]) == pytest.approx(gain, rel=1e-12)


def test_recalibration_takes_the_calibration_loss_and_leaves_the_rest():
    before, after = drawn(3000, 3, (3.0, 1.0), 1)
    table = parts_of_scores({"t": before}, {"t": after})
    for score in ("log-loss", "brier"):
        found = lines(table, score)
        assert found.loc["calibration", "before_low"] > 0.01
        assert found.loc["calibration", "high"] < 0
        assert found.loc["refinement", "low"] <= 0 <= found.loc["refinement", "high"]
        total = found.loc[["calibration", "refinement"], ["before", "after", "change"]].sum()
        assert total.tolist() == pytest.approx(found.loc["score", ["before", "after", "change"]].tolist())


@pytest.mark.wide
def test_a_planted_calibration_loss_lies_in_its_interval():
    # The best map of these is the temperature itself, so that the loss is that of the sharpened less the true one.
    big = drawn(300_000, 3, (2.0, 1.0), 99)
    losses = [-np.log(p.probs[np.arange(p.n_rows), p.true_labels]).mean() for p in big]
    runs, inside = 150, 0
    for seed in range(runs):
        p = drawn(800, 3, [2.0], seed)[0]
        line = lines(parts_of_scores({"t": p}, {"t": p}, ["temperature"]), "log-loss").loc["calibration"]
        inside += line["before_low"] <= losses[0] - losses[1] <= line["before_high"]
    assert inside / runs >= 0.82


def test_claims_of_the_predicted_class_alone_are_right_or_wrong():
    p = drawn(600, 3, [2.5])[0]
    top = CALIBRATORS.make("top-label-hb").fit_on(p).apply(p)
    found = lines(parts_of_scores({"hb": p}, {"hb": top}, ["confidence"]), "brier")
    apart = np.square(p.confidence - p.correct).mean()
    assert found.loc["score", "before"] == pytest.approx(apart)


@pytest.mark.parametrize("kind", ["full", "confidence"])
def test_the_interval_of_a_whole_score_is_that_of_its_estimate(kind):
    before, after = drawn(600, 3, (3.0, 1.0), 1)
    if kind == "confidence":
        before, after = (cc.Predictions.from_confidence(p.confidence, p.correct) for p in (before, after))
    table = parts_of_scores({"t": before}, {"t": after})
    for score in ("log-loss", "brier"):
        line = lines(table, score).loc["score"]
        for name, rows in (("before", before), ("after", after)):
            alone = cc.estimate(rows, None if kind == "full" else "confidence", score)
            span = alone.interval()
            assert line[name] == pytest.approx(alone.value, rel=1e-12)
            assert (line[f"{name}_low"], line[f"{name}_high"]) == (span.low, span.high)


def test_what_cannot_be_told_says_why():
    p = drawn(12, 3, [2.5])[0]
    table = parts_of_scores({"t": p}, {"t": p}, ["temperature"], folds=3)
    assert table["low"].isna().all()
    assert table["note"].str.startswith("fewer than 10 predictions are correct, or fewer than 10 are wrong").all()
    with pytest.raises(InputError, match="folds is 2"):
        parts_of_scores({"t": p}, {"t": p}, folds=2)
    with pytest.raises(NotAnswerable, match="no recalibrated model"):
        parts_of_scores({}, {})
