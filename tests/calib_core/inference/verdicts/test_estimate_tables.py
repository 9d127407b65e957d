"""Tables of lines equal the estimates, primary lines, tests and bounds computed one by one."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import calib_core as cc
from calib_core import NotAnswerable, Predictions, inference
from calib_core.estimators import takes_bins
from calib_core.evaluation.study import error_keys
from calib_core.inference.verdicts.estimate_tables import NOT_MADE

RNG = np.random.default_rng(0)
P = RNG.dirichlet((1, 1, 1), 400)
FULL = Predictions(P, (RNG.random(400)[:, None] > (P**1.4 / (P**1.4).sum(1, keepdims=True)).cumsum(1)[:, :2]).sum(1))
BARE = Predictions.from_confidence(P.max(1), RNG.random(400) < P.max(1))


def record(line: dict[str, object]) -> dict[str, object]:
    """Return a line of a frame as the fields of an EstimateLine."""
    plain = {name: value for name, value in line.items() if name not in ("model", "mark")}
    return {name: None if isinstance(value, float) and np.isnan(value) else value for name, value in plain.items()}


@pytest.mark.parametrize("slow", [False, True])
def test_lines_are_those_of_each_estimate_alone(slow: bool) -> None:
    few = FULL.take(range(80))
    keys = ("ece", "debiased-l2", "smece", "ece-adaptive") if slow else ("ece", "smece")
    questions = [("confidence", key) for key in keys] + [(None, "brier")]
    table = inference.estimate_lines(inference.estimates({"m": few}, questions, 10, slow=slow), 0.05)
    assert table["model"].tolist() == ["m"] * len(questions)
    for (notion, key), line in zip(questions, table.to_dict("records"), strict=True):
        bins = 10 if takes_bins(key, 10) else None
        expected = inference.estimate_line(cc.estimate(few, notion, key, bins), 0.05)
        if key == "smece" and not slow:
            assert (line["value"], line["note"]) == (expected.value, NOT_MADE)
            assert np.isnan([line["low"], line["floor"], line["p"]]).all()
        else:
            assert record(line) == expected.record()


def test_a_tolerance_and_a_level_judge_the_same_estimates() -> None:
    found = inference.estimates({"m": FULL}, [("confidence", "ece")], level=0.99)
    (line,) = inference.estimate_lines(found, 0.5, 0.99).to_dict("records")
    made = cc.estimate(FULL, "confidence")
    assert (line["low"], line["high"], line["level"]) == (made.interval(0.99).low, made.interval(0.99).high, 0.99)
    assert line["verdict"] == "within"


def test_refusals_are_notes_each_once_and_a_whole_one_is_raised() -> None:
    questions = [(notion, key) for notion in ("confidence", "class-wise") for key in ("ece", "mce")] + [(None, "brier")]
    table = inference.estimate_lines(inference.estimates({"full": FULL, "bare": BARE}, questions))
    bare = table[table["model"] == "bare"]
    assert bare["title"].tolist() == ["Confidence ECE", "Confidence MCE", "Class-wise", "Brier score"]
    assert bare["note"].astype(bool).tolist() == [False, False, True, True]
    assert bare["value"].isna().tolist() == [False, False, True, True]
    assert len(table) == 9
    with pytest.raises(NotAnswerable, match=r"^these predictions have only \(confidence, correct\)"):
        inference.estimates({"bare": BARE}, [("class-wise", "ece"), ("class-wise", "mce")])


def test_lines_of_models_stand_side_by_side_question_by_question() -> None:
    models = {"full": FULL, "bare": BARE}
    questions = [(notion, key) for notion in ("confidence", "class-wise") for key in ("ece", "ece-adaptive")]
    apart, beside = (
        inference.estimate_lines(inference.estimates(models, questions, 7, by_model=by_model), 0.05)
        for by_model in (True, False)
    )
    assert beside[["notion", "estimator", "model"]].to_numpy().tolist() == [
        *(["confidence", key, name] for key in ("ece", "ece-adaptive") for name in models),
        ["class-wise", "ece", "full"],
        ["class-wise", "", "bare"],
        ["class-wise", "ece-adaptive", "full"],
    ]
    for name in models:
        pd.testing.assert_frame_equal(
            *(table[table["model"] == name].reset_index(drop=True) for table in (apart, beside)), check_exact=True
        )


def test_progress_is_told_and_stops_the_work() -> None:
    parts: list[int] = []
    inference.estimates({"m": FULL}, [("confidence", key) for key in error_keys()[:3]], progress=parts.append)
    assert parts[-1] == 100

    def stop(percent: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        inference.estimates({"m": FULL}, [("confidence", "ece")], progress=stop)


def test_verdicts_are_the_primary_lines_for_any_tolerance() -> None:
    first = inference.primaries({"full": FULL, "bare": BARE})
    for eps in (0.01, 0.3):
        table = inference.verdicts(first, eps)
        for name, line in inference.primaries({"full": FULL, "bare": BARE}, eps).items():
            row = table[table["model"] == name].to_dict("records")[0]
            words = {"sentence": line.sentence, "headline": line.headline, "reason": line.reason}
            expected = line.line.record() | words | {"p_of_any_error": line.shown.p_value}
            assert record(row) == expected
    assert set(inference.verdicts(first, 0.3)["verdict"]) == {"within"}


def test_headlines_say_why_there_is_no_verdict() -> None:
    line = inference.PrimaryLine("confidence", "As requested.", cc.estimate(FULL, "confidence", "brier"), 0.02, 0.9)
    assert line.headline.startswith("not available (Brier score is a score, not a calibration error")


def test_unbinned_tests_and_bounds_are_those_of_the_functions() -> None:
    table = inference.unbinned_tests({"full": FULL, "bare": BARE}).set_index(["model", "test"])
    beside = inference.shown_at_all(FULL)
    assert beside.law, "the table names how p was found"
    for name, made, line in (
        ("Kuiper's cumulative differences", inference.kuiper(FULL), "Kuiper's cumulative differences"),
        ("Spiegelhalter's Z, Brier score of whole predictions", beside, f"{beside.name} (p by {beside.law})"),
        ("Spiegelhalter's Z (log loss)", inference.spiegelhalter(FULL, "log-loss"), "Spiegelhalter's Z (log loss)"),
    ):
        assert made.name == name
        assert table.loc[("full", line), ["statistic", "p"]].tolist() == [made.statistic, made.p_value]
    assert table.loc["bare", "note"].astype(bool).tolist() == [False, False, True]
    claimed = inference.primary(BARE).shown
    found = table.loc[("bare", f"{claimed.name} (p by {claimed.law})")]
    assert (found["statistic"], found["p"]) == (claimed.statistic, claimed.p_value), "one number here and at a verdict"
    bounds = inference.unbinned_bounds(inference.primaries({"full": FULL}))
    for line in bounds.to_dict("records"):
        bound = inference.unbinned_bound(FULL, line["notion"], line["assumption"], 1.0, level=0.95)
        assert (line["value"], line["binned"], line["added"]) == (bound.value, bound.binned, bound.added)
        assert line["sentence"].startswith(bound.sentence)


def test_what_is_asked_for_decides_else_the_primary_line() -> None:
    first = inference.deciding(FULL, eps=0.03)
    assert (first.notion, first.eps) == (inference.primary(FULL, 0.03).notion, 0.03)
    line = inference.deciding(FULL, "class-wise", "rmsce", bins=7)
    assert line.estimate.value == cc.estimate(FULL, "class-wise", "rmsce", 7).value
    assert line.reason == "The verdict is on the class-wise error, as requested."


def test_points_of_models_are_two_estimates_and_refusals_notes() -> None:
    points = cc.diagrams.trade_points({"full": FULL, "bare": BARE}, "class-wise", 10)
    error, mse = (cc.estimate(FULL, "class-wise", key, *b).value for key, b in (("debiased-l2", [10]), ("brier", [])))
    assert points.points == {"full": (error, mse)}
    assert points.frame()["note"].astype(bool).tolist() == [False, True]
    figure = cc.figures.draw(points)
    assert [(trace.name, trace.x[0], trace.y[0]) for trace in figure.data] == [("full", error, mse)]
    with pytest.raises(NotAnswerable):
        cc.diagrams.trade_points({"bare": BARE}, "class-wise")


def test_validity_against_is_the_pair_or_each_on_its_own_bins() -> None:
    after = cc.CALIBRATORS.make("temperature").fit_on(FULL).apply(FULL)
    pair, same = cc.diagrams.validity_against(FULL, after, "top-label", 5), cc.diagrams.validity_pair
    pd.testing.assert_frame_equal(pair.frame(), same(FULL, after, "top-label", 5).frame(), check_exact=True)
    other = Predictions(FULL.probs[:, ::-1], FULL.labels)
    apart = cc.diagrams.validity_against(FULL, other, "top-label", 5)
    assert (pair.shared, apart.shared) == (True, False)
    own = cc.diagrams.validity_of(other, "top-label", 5)
    pd.testing.assert_frame_equal(apart.after.frame(), own.frame(), check_exact=True)


@pytest.mark.parametrize("key", ["log-loss", "brier", "accuracy"])
def test_two_scores_of_one_name_are_one_number(key: str) -> None:
    notions = (None, "confidence", "top-label", "class-wise")
    table = inference.estimate_lines(inference.estimates({"m": FULL}, [(notion, key) for notion in notions], slow=True))
    values = table.groupby("title")["value"]
    assert (values.max() - values.min()).max() < 1e-12
    # Of the whole prediction, of the claim to be right and of one class after the other: accuracy has the first twice.
    assert len(values) == (2 if key == "accuracy" else 3)
    assert table["verdict"].isna().all()
