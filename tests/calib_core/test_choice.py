"""The choice of a calibrator: nested, as its slow definition says; never blind to doing nothing; said in words."""

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm
from scipy.stats import t as student

import calib_core as cc
from calib_core import CALIBRATORS, InputError, NotAnswerable, Predictions, choose
from calib_core._arrays import LOG_FLOOR
from calib_core.calibrators import Calibrator, Contract
from calib_core.candidates import COLUMNS, Trial, candidates_for
from calib_core.estimators import LogLoss
from calib_core.inference.joint_cells import Difference
from calib_core.inference.mean_gain import mean_gain
from calib_core.registry import Recipe, RegistryError

FAST = ("temperature", "vector")
TABLE = Path(__file__).parents[1] / "simulations" / "calibrator_choice.csv"


def rows(n=400, k=3, sharp=2.0, seed=0, **extras):
    """Rows whose logits are ``sharp`` times those the labels are drawn by: 1 is calibrated."""
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(n, k)) * 2
    y = (z + rng.gumbel(size=(n, k))).argmax(axis=1)
    return Predictions(Predictions.from_logits(sharp * z, y).probs, y, **extras)


def losses(p):
    return -np.log(p.probs[np.arange(p.n_rows), p.true_labels])


def test_it_is_nested_cross_validation_as_a_slow_loop_does_it():
    p, keys = rows(900, seed=3), ("identity", *FAST, "dirichlet")
    fold = p.folds(4, random_state=9)
    apart, picks, after = np.zeros(p.n_rows), [], p.probs.copy()
    for outer in range(4):
        scores = []
        for key in keys:
            total = 0.0
            for inner in set(range(4)) - {outer}:
                seen = p.take(np.flatnonzero((fold != outer) & (fold != inner)))
                total += losses(CALIBRATORS.make(key).fit_on(seen).apply(p.take(np.flatnonzero(fold == inner)))).sum()
            scores.append(total)
        picks.append(keys[int(np.argmin(scores))])
        mine = np.flatnonzero(fold == outer)
        fitted = CALIBRATORS.make(picks[-1]).fit_on(p.take(np.flatnonzero(fold != outer)))
        after[mine] = fitted.apply(p.take(mine)).probs
        apart[mine] = losses(p.take(mine)) - losses(fitted.apply(p.take(mine)))
    half = apart.std(ddof=1) / np.sqrt(900) * student.ppf(0.95, 899)
    interval = mean_gain(p, p.with_probs(after), apart, LogLoss().label_terms, 0.9)
    found = choose(p, keys[1:], folds=4, random_state=9)
    assert [pick.key for pick in found.picks] == picks
    assert found.gain.point == pytest.approx(apart.mean(), abs=1e-12)
    assert (found.gain.low, found.gain.high) == pytest.approx((interval.low, interval.high))
    assert found.gain.high - found.gain.low == pytest.approx(2 * half, rel=0.2), "about Student's"
    plain = {key: losses(cc.cross_fitted(p, key, 4, 9)).mean() for key in keys}
    assert found.frame()["score"].tolist() == pytest.approx(list(plain.values()))
    assert found.winner.key == min(plain, key=plain.get)
    assert tuple(found.frame().columns) == COLUMNS


def test_what_it_gains_on_two_values_is_known_by_hand():
    p = Predictions([[0.99, 0.01]] * 200, [0] * 150 + [1] * 50)
    before = -(0.75 * np.log(0.99) + 0.25 * np.log(0.01))
    entropy = -(0.75 * np.log(0.75) + 0.25 * np.log(0.25))
    found = choose(p, ["temperature"])
    assert found.recalibrate
    assert found.before == pytest.approx(before)
    assert found.gain.point == pytest.approx(before - entropy, abs=1e-3)
    assert choose(p, ["temperature"], score="brier").before == pytest.approx(0.75 * 2 * 0.01**2 + 0.25 * 2 * 0.99**2)


class Leaking(Trial):
    """What it is not: maps fitted on all rows but those judged, so that the fold left out has a say in its own pick."""

    def inside(self, recipe):
        gains = np.zeros(self.folds)
        for outer in range(self.folds):
            for inner in set(range(self.folds)) - {outer}:
                where = np.flatnonzero(self.fold == inner)
                fitted = CALIBRATORS.make(recipe.key).fit_on(self.rows.take(np.flatnonzero(self.fold != inner)))
                gains[outer] += self.gains(fitted.apply(self.rows.take(where)), where).sum()
        return gains


@pytest.mark.parametrize(("kind", "blind"), [(Trial, True), (Leaking, False)])
def test_the_fold_that_judges_has_no_say_in_what_is_picked(kind, blind):
    p, recipe = rows(120), Recipe("CALIBRATORS", "vector")
    fold = p.folds(4)
    other = p.relabelled(np.where(fold == 2, np.roll(p.true_labels, 1), p.true_labels))
    first, second = (kind(each, fold, 4, "log-loss", 0.9).inside(recipe) for each in (p, other))
    assert (first[2] == second[2]) == blind
    assert (first[[0, 1, 3]] != second[[0, 1, 3]]).all()


def test_a_map_that_knows_its_rows_by_heart_gains_nothing():
    flags = Contract("full", keeps_argmax=False, sums_to_one=True)

    @CALIBRATORS.register("by-heart", "By heart", flags=flags)
    @dataclass(eq=False, repr=False)
    class ByHeart(Calibrator):
        """Knows what came true in the rows it was fitted on."""

        def _fit(self, predictions):
            self.known_ = dict(zip(predictions.probs[:, 0].tolist(), predictions.true_labels, strict=True))

        def _apply(self, predictions):
            sure = np.eye(3) * 0.97 + 0.01
            known = [self.known_.get(p) for p in predictions.probs[:, 0].tolist()]
            new = [row if y is None else sure[y] for row, y in zip(predictions.probs, known, strict=True)]
            return predictions.with_probs(np.array(new))

    try:
        p = rows(90)
        found = choose(p, ["by-heart"])
        seen = losses(CALIBRATORS.make("by-heart").fit_on(p).apply(p)).mean()
    finally:
        CALIBRATORS.remove("by-heart")
    assert seen < 0.1 < found.before
    assert found.frame()["gain"].tolist() == [0.0, 0.0]
    assert not found.recalibrate


def _shares(runs, candidates, n, k, folds=5):
    found = [choose(rows(n, k, sharp=1.0, seed=seed), candidates, folds=folds) for seed in range(runs)]
    return np.mean([each.recalibrate for each in found]), np.mean([each.winner.key != "identity" for each in found])


def test_calibrated_predictions_are_left_as_they_are():
    """Of 40 at 5 %: more than 6 happen in under 1 % of such tests. Plain cross-validation recalibrates often."""
    shown, plain = _shares(40, FAST, 120, 3, folds=3)
    assert shown <= 6 / 40
    assert plain > 0.2


@pytest.mark.wide
@pytest.mark.parametrize(("n", "k"), [(200, 3), (600, 4)])
def test_calibrated_predictions_are_left_as_they_are_whatever_is_tried(n, k):
    shown, plain = _shares(200, None, n, k)
    assert shown <= 17 / 200  # 5 % and 2.3 standard errors
    assert plain > 0.2


@pytest.mark.parametrize("kind", ["full", "top-label", "confidence", "per-class"])
def test_every_kind_of_predictions_has_its_candidates(kind):
    p = rows(1500)
    of_kind = {
        "full": p,
        "top-label": Predictions.from_confidence(p.confidence, predicted=p.predicted, labels=p.true_labels),
        "confidence": Predictions.from_confidence(p.confidence, p.correct),
        "per-class": Predictions.from_scores(p.probs, p.true_labels),
    }[kind]
    score = "brier" if kind == "per-class" else "log-loss"
    found = choose(of_kind, score=score)
    assert found.recalibrate, found.sentence
    assert found.recipes == candidates_for(of_kind)
    assert len(found.recipes) >= 3
    assert (found.frame()["note"] == "").sum() >= 3
    for recipe in found.recipes:
        assert not CALIBRATORS[recipe.key].flags.unfit(kind)


def test_dirichlet_is_not_tried_with_many_classes():
    few, many = (Predictions(np.full((40, k), 1 / k), np.arange(40) % k) for k in (20, 21))
    assert {r.key for r in candidates_for(few)} - {r.key for r in candidates_for(many)} == {"dirichlet"}


def test_claims_are_scored_as_right_and_wrong():
    p = rows(300)
    claims = Predictions.from_confidence(p.confidence, p.correct)
    h = p.confidence
    assert choose(claims, ["confidence-hb"]).before == pytest.approx(-np.log(np.where(p.correct, h, 1 - h)).mean())


def test_a_single_claim_leaves_the_rest_to_the_other_classes_in_the_old_proportions():
    p = Predictions([[0.5, 0.3, 0.2], [1.0, 0.0, 0.0]] * 5, [0, 1] * 5)
    trial = Trial(p, p.folds(2), 2, "brier", 0.9)
    claim = Predictions.from_confidence([0.6, 0.9] * 5, predicted=[0, 0] * 5, labels=[0, 1] * 5)
    np.testing.assert_allclose(trial.seen(claim, None).probs[:2], [[0.6, 0.24, 0.16], [0.9, 0.05, 0.05]])


def test_a_new_zero_loses_and_the_models_own_zeros_count_against_a_gain():
    p = rows(300, seed=1)
    chosen = choose(p, ["isotonic-ovr"])
    assert (chosen.recalibrate, chosen.winner.key) == (False, "identity")
    found = chosen.frame().iloc[1]
    assert np.isnan(found[["score", "gain", "low", "high", "p"]].astype(float)).all()
    assert found["note"].startswith("gives some class a probability of 0 in ")
    zero = Predictions([[1.0, 0.0]] * 200, [0] * 180 + [1] * 20)
    found = choose(zero, ["temperature"])
    assert found.floored == 20
    assert found.before == pytest.approx(0.1 * -np.log(np.finfo(float).eps))
    assert "In 20 rows the model gives what happened a probability of 0" in " ".join(found.notes)


def test_an_infinite_loss_is_mended_by_whatever_is_finite():
    """Two rows of probability 0 among few: the interval holds 0, the gain is without end all the same."""
    p = Predictions([[1.0, 0.0]] * 22 + [[0.8, 0.2]] * 40, [1] * 2 + [0] * 20 + [0] * 32 + [1] * 8)
    found = choose(p, ["temperature"], level=0.999)
    assert found.gain.low <= 0 < found.gain.point
    assert (found.floored, found.recipe.key) == (2, "temperature")
    assert found.sentence.startswith(
        "Recalibrate with temperature scaling: the model gives what happened a probability of 0 in 2 rows, so that its "
        "log loss is infinite; with each of them counted as 36, the log loss goes from "
    )
    assert not choose(p, ["temperature"], score="brier").recalibrate


def test_weights_count_as_they_do_elsewhere():
    p, w = rows(200), np.random.default_rng(1).integers(1, 4, size=200)
    plain, ones = (choose(each, FAST) for each in (p, p.replace(weights=np.ones(200))))
    assert plain.gain == ones.gain
    scaled, fractions = (choose(p.replace(weights=each), FAST) for each in (w * 0.3, w * 0.7))
    assert scaled.gain.point == pytest.approx(fractions.gain.point)
    fold = p.folds(5)
    copies = choose(p.replace(weights=w), ["temperature"], folds=5)
    after = Trial(p.replace(weights=w), fold, 5, "log-loss", 0.9)
    twin = cc.cross_fitted(p.replace(weights=w), "temperature")
    assert copies.frame()["gain"][1] == pytest.approx(np.average(losses(p) - losses(twin), weights=w))
    assert copies.before == pytest.approx(after.mean(losses(p)))
    narrow, wide = copies.gain, choose(p.replace(weights=w / w.mean()), ["temperature"]).gain
    assert narrow.high - narrow.low < wide.high - wide.low


def test_rows_that_belong_together_are_counted_together():
    again = rows(400, seed=2).take(np.tile(np.arange(400), 9))
    alone, together = choose(again, FAST), choose(again.replace(groups=np.tile(np.arange(400), 9)), FAST)
    assert together.gain.high - together.gain.low > 2 * (alone.gain.high - alone.gain.low)
    few = choose(p := rows(600, sharp=3.0).replace(groups=np.arange(600) % 60), FAST)
    assert few.recalibrate, few.sentence
    assert not few.tested
    assert few.gain.low < choose(p.replace(groups=None), FAST).gain.low * 1.2
    none = choose(again.replace(groups=np.tile(np.arange(400) // 80, 9)), FAST)
    assert not none.recalibrate
    assert none.sentence.startswith("Leave the model as it is: no gain can be shown, since rows belong to 5 groups")


def test_what_cannot_be_tried_says_why_and_the_rest_is_chosen_from():
    flagged = choose(rows(400), ["temperature", "metacal-miscoverage"])
    assert flagged.winner.key == "temperature"
    assert "leaves rows unanswered" in flagged.frame()["note"][2]
    assert any(note.startswith(f"{flagged.recipes[2].title}: it leaves rows unanswered") for note in flagged.notes)
    bare = choose(Predictions.from_confidence([0.9, 0.6] * 40, [True, False] * 40), ["vector"])
    assert bare.frame()["note"][1] != ""
    assert not bare.recalibrate


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"score": "ece"}, InputError, "score is 'ece'; it must be one of log-loss, brier"),
        ({"folds": 2}, InputError, "folds is 2; it must be a whole number of at least 3"),
        ({"folds": 3.5}, InputError, "folds is 3.5; it must be a whole number of at least 3"),
        ({"random_state": -1}, InputError, "random_state is -1; it must be a whole number of at least 0"),
        ({"level": 1.0}, RegistryError, "level is 1.0"),
        ({"candidates": ["temperatur"]}, RegistryError, "did you mean 'temperature'"),
    ],
)
def test_what_makes_no_sense_is_refused(change, error, words):
    with pytest.raises(error, match=words):
        choose(rows(60), **change)


@pytest.mark.parametrize("groups", [2, 3, 4])
def test_as_many_folds_as_there_are_groups_or_rows_can_be_taken(groups):
    p = rows(40, groups=np.arange(40) % groups)
    for few, named in ((p, "groups"), (rows(groups), "rows")):
        if groups < 3:
            with pytest.raises(NotAnswerable, match=f"needs 3 folds with something in each, and there are 2 {named}"):
                choose(few, FAST)
        else:
            with pytest.raises(InputError, match=f"folds is 5, but there are {groups} {named}: take fewer folds, from"):
                choose(few, FAST, folds=5)
            assert len(choose(few, FAST).picks) == groups


def _two(claims):
    return Predictions(np.column_stack([1 - claims.confidence, claims.confidence]), claims.correct.astype(int))


def test_the_brier_score_of_claims_is_the_mean_square_of_what_they_miss():
    p = rows(300)
    claims = Predictions.from_confidence(p.confidence, p.correct)
    found, whole = (
        choose(each, [key], score="brier", folds=5) for each, key in ((claims, "confidence-hb"), (p, "temperature"))
    )
    assert found.before == pytest.approx(np.mean((p.confidence - p.correct) ** 2))
    after = cc.cross_fitted(claims, "confidence-hb")
    line = found.frame().iloc[1]
    assert line["score"] == pytest.approx(np.mean((after.confidence - p.correct) ** 2))
    apart = (p.confidence - p.correct) ** 2 - (after.confidence - p.correct) ** 2
    half = apart.std(ddof=1) / np.sqrt(300) * student.ppf(0.95, 299)
    assert line["low"] == pytest.approx(apart.mean() - half, abs=0.4 * half)
    few, sure = (
        Predictions.from_confidence([0.99] * 20, [True] * 20),
        Predictions.from_confidence([0.9] * 20, [True] * 20),
    )
    one, two = Trial(few, few.folds(3), 3, "brier", 0.9), Trial(_two(few), few.folds(3), 3, "brier", 0.9)
    ends, twice = (
        each.test(each.seen(s, None), each.gains(s, None))[0] for each, s in ((one, sure), (two, _two(sure)))
    )
    assert (2 * ends.low, 2 * ends.high) == pytest.approx((twice.low, twice.high)), "bounds know the size of a step"
    assert whole.before == pytest.approx(cc.scores.brier_scores(p).mean()), "whole rows are summed over classes"


def test_rows_that_need_not_sum_to_one_have_no_log_loss():
    with pytest.raises(NotAnswerable, match="choose by the Brier score"):
        choose(Predictions.from_scores([[0.4, 0.4]] * 20, [0, 1] * 10))


def test_ten_rows_and_certain_ones_are_left_as_they_are():
    assert not choose(rows(10)).recalibrate
    certain = choose(Predictions(np.eye(2)[[0, 1] * 20], [0, 1] * 20))
    assert not certain.recalibrate
    assert np.isfinite(certain.gain.point)


def test_of_many_numbers_some_rows_are_drawn_and_it_says_so(monkeypatch):
    monkeypatch.setattr(cc.choice, "MOST_NUMBERS", 300)
    found = choose(rows(400), FAST)
    assert (found.rows, found.among) == (100, 400)
    assert "100 of 400 rows were drawn, class by class, to keep this short." in found.notes
    assert found.notes[1].endswith("say; with few rows, and a truth unlike both, it can be more often.")


def test_it_tells_how_far_it_is_and_can_be_stopped():
    told = []
    choose(rows(60), FAST, progress=told.append)
    assert told == sorted(told)
    assert told[0] == 0 <= told[-1] < 100


def test_it_says_what_to_do_what_that_gains_and_what_it_costs():
    found = choose(rows(800), FAST)
    assert found.sentence == (
        f"Recalibrate with temperature scaling: on rows that no fit has seen the log loss goes from "
        f"{cc.inference.number_words.score(found.before)} to "
        f"{cc.inference.number_words.score(found.before - found.gain.point)}, a gain of "
        f"{cc.inference.number_words.score(found.gain.point)} (90 % interval "
        f"{cc.inference.number_words.score(found.gain.low)} to {cc.inference.number_words.score(found.gain.high)})."
    )
    price = " ".join(found.price)
    assert "No predicted class changes." in price
    assert "Every row is still answered." in price
    assert "It needs about 50 rows to be fitted on; 800 are here." in price
    vector = choose(rows(2000, seed=4).replace(labels=(rows(2000, seed=4).true_labels + 1) % 3), ["vector"])
    assert "Accuracy changes by +" in " ".join(vector.price)


def test_where_no_gain_is_shown_it_says_how_many_rows_would_show_one():
    found = next(c for c in (choose(rows(60, sharp=1.3, seed=s), ["temperature"]) for s in range(20))
                 if not c.recalibrate and c.gain.point > 0.005)  # fmt: skip
    assert found.sentence.startswith("Leave the model as it is: with the best of the one calibrator tried the log loss")
    assert found.sentence.endswith("no gain is shown.")
    assert found.price[0].endswith("rows would show a gain of this size four times in five.")


@pytest.mark.parametrize("level", [0.5, 0.9, 0.99])
def test_as_many_rows_as_are_said_would_show_the_gain_four_times_in_five(level):
    """Of gains that are normal, whatever the level and however far away the upper end is, which decides nothing."""
    z, error = norm.isf((1 - level) / 2), 2.0
    gain = Difference(1.0, 1.0 - z * error, 1.0 + 30 * error, 2 * norm.sf(1 / error))
    found = replace(choose(rows(60), ["temperature"]), recipe=Recipe("CALIBRATORS", "identity"), gain=gain, level=level)
    if gain.low > 0:
        assert not found.price, "what is shown needs no further rows"
    else:
        said = float(found.price[0].split()[1].replace(",", ""))
        assert norm.sf(z - 1.0 / (error * np.sqrt(60 / said))) == pytest.approx(0.8, abs=0.03)
    assert not replace(found, gain=replace(gain, p_value=0.99)).price, "of what may be all noise nothing is foretold"


def test_on_the_cells_of_the_committed_table_it_is_rarely_worse_than_nothing():
    """Fixed cells, 72 of them held back (tests/simulations/calibrator_choice.py): what is wanted of both halves.

    Worse than the model as it is in at most 5 %, and 80 % of plain cross-validation's gain, which is worse more often.
    """
    cells = pd.read_csv(TABLE)
    gain, plain = (cells["identity"] - cells[f"{name}_loss"] for name in ("recommended", "winner"))
    for part in (cells["half"] == half for half in ("develop", "held-back")):
        assert part.sum() >= 60
        assert (gain[part] < 0).mean() <= 0.05
        assert (gain[part] < 0).sum() < (plain[part] < 0).sum()
        assert gain[part].mean() >= 0.8 * plain[part].mean()
        assert gain[part].median() >= 0.8 * plain[part].median()


def test_a_zero_of_what_was_picked_costs_what_it_costs_everywhere():
    """Not infinitely much: one row would then hide any gain of the others."""
    rows = Predictions([[0.9, 0.1]] * 20, [0] * 15 + [1] * 5)
    trial = Trial(rows, rows.folds(4), 4, "log-loss", 0.9)
    after = rows.with_probs([[1.0, 0.0]] * 20)
    assert np.isneginf(trial.gains(after, None)).all(), "a candidate that never says 'perhaps' is none"
    judged = trial.gains(after, None, judged=True)
    assert judged[:15] == pytest.approx(-np.log(0.9))
    assert judged[15:] == pytest.approx(np.log(LOG_FLOOR) - np.log(0.1))


def test_what_needs_far_more_rows_is_tried_only_where_it_is_named():
    rng = np.random.default_rng(3)
    probs = rng.dirichlet(np.full(60, 0.1), 90)
    rows = Predictions(probs, probs.argmax(axis=1))
    unasked = choose(rows).table.set_index("calibrator")["note"]
    assert unasked["vector"].startswith("not tried, as it needs about 6,000 rows")
    assert unasked["temperature"] == ""
    assert "not tried" not in choose(rows, ["vector"]).table.set_index("calibrator")["note"]["vector"]
