"""Models and calibrators side by side: each cell against the function for one model."""

import numpy as np
import pytest

import calib_core as cc
from calib_core import CALIBRATORS, NotAnswerable, Predictions
from calib_core.diagrams import constraint, wanted_rates
from calib_core.evaluation.model_tables import gains, promises, side_effects, standings, sure_rows
from calib_core.evaluation.study import every_measure, over_same_rows_by_name, summaries
from calib_core.inference import primaries, verdicts

KEYS = ("temperature", "top-label-hb", "class-wise-hb", "metacal-miscoverage")


def rows(n=600, seed=0):
    rng = np.random.default_rng(seed)
    logits = rng.normal(size=(n, 3)) * 2
    truth = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    labels = np.array([rng.choice(3, p=p) for p in truth])
    sharp = np.exp(1.7 * logits)
    return Predictions(sharp / sharp.sum(axis=1, keepdims=True), labels)


@pytest.fixture(scope="module")
def fitted():
    return {"base": CALIBRATORS.make("identity").fit_on(rows())} | {
        key: CALIBRATORS.make(key).fit_on(rows()) for key in KEYS
    }


@pytest.fixture(scope="module")
def models(fitted):
    return {name: calibrator.apply(rows(seed=1)) for name, calibrator in fitted.items()}


def test_standings_are_the_summaries_of_each_model(models, fitted):
    same = over_same_rows_by_name(models)
    told = []
    table = standings(same, 10, fitted, told.append)
    assert told == [0, 20, 40, 60, 80]
    assert table["model"].tolist() == list(models)
    measures = [measure.name for measure in every_measure()]
    for line, p in zip(table.to_dict("records"), same.values(), strict=True):
        expected = summaries(p, [10], every_measure())[0].set_index("measure")["value"]
        np.testing.assert_array_equal([line[name] for name in measures], expected[measures])
        assert line["returns"] == p.kind
    shared = table[measures].dropna(axis="columns")
    assert 2 < shared.shape[1] < len(measures)
    assert not any("rank" in name for name in table.columns)
    assert table["keeps_class"].tolist() == [True, True, True, False, False]
    assert table["sums_to_one"].tolist() == [True, True, False, False, True]
    assert "keeps_class" not in standings(same)


def test_bins_that_differ_are_said_and_given_ones_win(models):
    both = {name: models[name] for name in ("base", "top-label-hb")}
    assert standings(both)["bins"].tolist() == ["15 equal width", "one per value; TL-MCE of bins: 15 equal width"]
    assert standings(both, 7)["bins"].tolist() == ["7 equal width"] * 2


def test_promises_are_those_of_each_calibrator(fitted):
    table = promises(fitted, 0.2)
    assert table["calibrator"].tolist() == list(fitted)
    for line, calibrator in zip(table.to_dict("records"), fitted.values(), strict=True):
        promise = calibrator.guarantee(0.2)
        assert (line["holds"], line["sentence"]) == (promise.holds, promise.sentence)
    assert table["holds"].tolist() == [False, False, True, True, True]
    assert promises(fitted)["sentence"].tolist() != table["sentence"].tolist()


def test_groups_set_aside_are_named_and_so_is_the_note_of_a_fit():
    many = rows(400)
    few = many.take(np.flatnonzero((many.predicted != 2) | (np.cumsum(many.predicted == 2) <= 3)))
    for small, verb in (("pool", "pooled into one calibrator"), ("leave", "not recalibrated")):
        calibrator = CALIBRATORS.make("top-label-hb", small=small).fit_on(few)
        assert promises({"hb": calibrator})["set_aside"].tolist() == [f"too few rows, {verb}: 2."]
    right = Predictions([[0.9, 0.1], [0.2, 0.8]] * 20, [0, 1] * 20)
    calibrator = CALIBRATORS.make("temperature").fit_on(right)
    assert calibrator.note
    assert promises({"t": calibrator})["set_aside"].tolist() == [calibrator.note]


def test_side_effects_are_after_less_before(models, fitted):
    after = {key: models[key] for key in KEYS}
    before = dict.fromkeys(KEYS, models["base"])
    table = side_effects(before, after, fitted)
    for line, (key, p) in zip(table.to_dict("records"), after.items(), strict=True):
        assert line["calibrator"] == key
        assert line["accuracy_change"] == p.accuracy - models["base"].accuracy
        assert line["abstained"] == 1 - p.coverage
        answered = ~p.abstained if p.abstained is not None else np.ones(p.n_rows, dtype=bool)
        assert line["class_changed"] == np.mean((p.predicted != models["base"].predicted) & answered)
        assert line["keeps_class"] == CALIBRATORS[key].flags.keeps_argmax
        assert line["keeps_order"] == CALIBRATORS[key].flags.keeps_order
        assert (line["accuracy"], line["accuracy_before"]) == (p.accuracy, models["base"].accuracy)
        sure = p.answered.confidence >= 0.95
        assert line["sure"] == sure.sum() < line["sure_before"]
        np.testing.assert_equal(line["sure_right"], p.answered.correct[sure].mean() if sure.any() else np.nan)
    assert table["abstained"].iloc[-1] > 0
    bare = Predictions.from_confidence([0.9, 0.6], [True, False])
    assert side_effects({"x": bare}, {"x": bare})["class_changed"].isna().all()


def test_rows_a_model_is_sure_of_are_those_it_answers_and_whole_weights_are_copies():
    p = Predictions.from_confidence([0.95, 0.99, 0.9499, 1.0], [True, False, True, True], weights=[3.0, 1.0, 1.0, 0.0])
    assert (sure_rows(p).count, sure_rows(p).right) == (4, 0.75)
    assert np.isnan(sure_rows(p, 1.1).right)
    silent = Predictions([[0.99, 0.01], [0.98, 0.02]], [0, 1], abstained=[False, True])
    assert (sure_rows(silent).count, sure_rows(silent).right) == (1, 1.0)


def test_gains_are_the_deciding_lines_and_what_stands_beside_them(models, fitted):
    after = {key: models[key] for key in KEYS}
    first = primaries(models)
    table = gains(first, dict.fromkeys(KEYS, models["base"]), after, fitted, 0.1, bases=dict.fromkeys(KEYS, "base"))
    lines = verdicts(first, 0.1).set_index("model")
    assert table["calibrator"].tolist() == list(KEYS)
    for line, (key, p) in zip(table.to_dict("records"), after.items(), strict=True):
        told = lines.loc[key]
        assert [line[name] for name in ("point", "low", "high", "verdict")] == list(
            told[["point", "low", "high", "verdict"]]
        )
        assert line["low"] <= line["point"] <= line["high"]
        assert line["point_before"] == lines.loc["base", "point"]
        assert line["changed"] == (side_effects({key: models["base"]}, {key: p})["class_changed"] * p.n_rows)[0]
        assert line["promised"] == fitted[key].guarantee(0.1).holds
        assert line["fitted"] == fitted[key].insides().short
        assert line["rows"] == p.n_rows
    answered = ~models["metacal-miscoverage"].abstained
    few = table.set_index("calibrator").loc["metacal-miscoverage"]
    assert few["abstained"] == (~answered).sum() > 0
    # Both log losses are of the answered rows: over all rows the original model would look worse.
    base = models["base"].take(np.flatnonzero(answered))
    assert few["log_loss_before"] == cc.estimate(base, None, "log-loss").value
    assert few["log_loss_before"] < table["log_loss_before"][0] == cc.estimate(models["base"], None, "log-loss").value
    assert np.isnan(table.set_index("calibrator").loc["top-label-hb", "log_loss"])


def test_a_gain_is_not_the_difference_of_two_notions(models, fitted):
    first = primaries({"base": models["base"]}) | primaries({"temperature": models["temperature"].answered})
    other = "confidence" if first["base"].notion == "top-label" else "top-label"
    bare = Predictions.from_confidence(models["temperature"].confidence, models["temperature"].correct)
    first["temperature"] = primaries({"t": bare})["t"]
    before, after = {"temperature": models["base"]}, {"temperature": models["temperature"]}
    table = gains(first, before, after, fitted, bases={"temperature": "base"})
    expected = first["base"].line.point if first["temperature"].notion != other else np.nan
    np.testing.assert_equal(table["point_before"][0], expected)
    assert np.isnan(gains({}, before, after, fitted)["point"][0])


def test_pairs_without_a_difference_say_why_and_the_others_are_corrected_for_their_number(models):
    three = {name: models[name] for name in ("base", "temperature", "metacal-miscoverage")}
    told = []
    table = cc.compare(three, None, "brier", progress=told.append)
    assert told == [0, 33, 66]
    assert (table["note"] == "").tolist() == [True, False, False]
    assert "answered by only one" in table["note"][1]
    assert table[["difference", "low", "high", "p", "p_holm"]].notna().all(axis=1).tolist() == [True, False, False]
    assert table["p_holm"][0] == table["p"][0]
    with pytest.raises(NotAnswerable, match="answered by only one"):
        cc.compare({name: three[name] for name in ("base", "metacal-miscoverage")}, None, "brier")


def test_rates_are_tried_between_the_accuracy_there_is_and_one():
    p = rows()
    grid = wanted_rates(p, "metacal-accuracy")
    assert p.accuracy < grid[0]
    assert grid[-1] < 1
    assert list(grid) == sorted(grid)
    told = []
    diagram = constraint(p, "metacal-accuracy", repeats=2, progress=told.append)
    assert tuple(diagram.wanted) == grid
    assert told == [0, 50]
    assert tuple(constraint(p, repeats=1).wanted) == (0.01, 0.02, 0.05, 0.1, 0.2)
