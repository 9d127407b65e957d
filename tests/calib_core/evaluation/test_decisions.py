"""Decisions by probabilities: their costs against a loop, their guarantees, and the curve of net benefit."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from generated import full_predictions, of_kind
from hypothesis import given
from hypothesis import strategies as st

from calib_core import InputError, NotAnswerable, Predictions, figures
from calib_core.diagrams import decision_curve
from calib_core.evaluation.decisions import (
    ALL,
    NONE,
    cost_matrix,
    cost_threshold,
    cost_words,
    decision_costs,
    decisions,
    impact_words,
    net_benefits,
)
from calib_core.inference import clopper_pearson
from calib_core.predictions.event_names import title_of_event

ASYMMETRIC = "0 5 1; 1 0 1; 2 2 0"


def text(costs: np.ndarray) -> str:
    return "; ".join(" ".join(map(repr, line.tolist())) for line in costs)


@given(full_predictions(min_rows=2), st.integers(0, 2**16))
def test_every_row_is_decided_for_least_expected_cost(p: Predictions, seed: int) -> None:
    k = p.n_classes or 0
    costs = np.random.default_rng(seed).integers(-2, 9, (k, k)).astype(float)
    expected, paid = [], []
    for row, label, decided in zip(p.probs.astype(float), p.true_labels, decisions(p, costs), strict=True):
        each = [sum(row[true] * costs[d, true] for true in range(k)) for d in range(k)]
        assert each[decided] <= min(each) + 1e-9
        assert all(cost > each[decided] + 1e-13 for cost in each[:decided])
        expected.append(min(each))
        paid.append(costs[decided, label])
    line = decision_costs({"x": p}, text(costs)).iloc[0]
    means = [np.average(part, weights=p.weights) for part in (expected, paid)]
    assert line[["expected", "realised"]].tolist() == pytest.approx(means, abs=1e-9)
    assert line["gap"] == pytest.approx(means[1] - means[0], abs=1e-9)
    assert line["realised_low"] - 1e-9 <= line["realised"] <= line["realised_high"] + 1e-9


@given(full_predictions(styles=("spread", "confident")))
def test_where_every_mistake_costs_one_the_predicted_class_is_decided(p: Predictions) -> None:
    assert decisions(p).tolist() == p.predicted.tolist()
    line = decision_costs({"x": p}).iloc[0]
    assert line["realised"] == pytest.approx(1 - p.accuracy)
    assert line["expected"] == pytest.approx(1 - p.mean_confidence, abs=1e-6)


def test_a_threshold_decides_from_it_on() -> None:
    p = Predictions([[0.81, 0.19], [0.8, 0.2], [0.5, 0.5]], [0, 1, 1])
    # At the threshold itself both decisions cost the same, and the first class is taken.
    assert decisions(p, "0.2").tolist() == [0, 0, 1]
    assert decisions(p, "0.195").tolist() == [0, 1, 1]
    assert decisions(Predictions([[0.5, 0.5], [0.4, 0.4 + 0.2]], [0, 0])).tolist() == [0, 1]


def drawn(rng: np.random.Generator, n: int, power: float) -> tuple[Predictions, np.ndarray]:
    """Return rows over three classes, the probabilities stated as their ``power``, and the true ones."""
    truth = rng.dirichlet([0.5] * 3, n).clip(1e-6)
    truth /= truth.sum(1, keepdims=True)
    stated = truth**power
    labels = (rng.random(n)[:, None] > truth.cumsum(1)[:, :-1]).sum(1)
    return Predictions(stated / stated.sum(1, keepdims=True), labels), truth


def test_calibrated_probabilities_expect_what_they_pay_and_others_do_not() -> None:
    """The falsified twin: overconfident rows pay more than they expect, and intervals of a third of the width fail."""
    rng, runs, costs = np.random.default_rng(0), 150, cost_matrix(ASYMMETRIC, 3)
    inside, thirds, alarms, found, changes = 0, 0, 0, 0, 0
    for _ in range(runs):
        p, truth = drawn(rng, 200, 1.0)
        line = decision_costs({"x": p}, ASYMMETRIC).iloc[0]
        real = float((truth * costs[decisions(p, costs)]).sum(1).mean())
        inside += line["realised_low"] <= real <= line["realised_high"]
        thirds += abs(real - line["realised"]) <= (line["realised_high"] - line["realised_low"]) / 6
        alarms += not line["gap_low"] <= 0 <= line["gap_high"]
        sure, truth = drawn(rng, 200, 3.0)
        frame = decision_costs({"a": sure, "b": sure.with_probs(truth)}, ASYMMETRIC, {"b": "a"})
        found += frame["gap_low"].iloc[0] > 0
        better = (
            (truth * (costs[decisions(sure.with_probs(truth), costs)] - costs[decisions(sure, costs)])).sum(1).mean()
        )
        changes += frame["change_low"].iloc[1] - 1e-12 <= better <= frame["change_high"].iloc[1] + 1e-12
    margin = 3 * np.sqrt(0.09 * runs)
    assert min(inside, changes) > 0.9 * runs - margin > thirds
    assert alarms < 0.1 * runs + margin < found


def grouped(rng: np.random.Generator, n: int = 250) -> tuple[Predictions, Predictions, np.ndarray]:
    """Return groups of one to nine rows, most of one class, predicted by two models; and the chances of every row."""
    groups = np.repeat(np.arange(n), rng.integers(1, 10, n))
    truth = rng.dirichlet([0.6] * 3, n)[groups].clip(1e-6)
    truth /= truth.sum(1, keepdims=True)
    shared = np.where(rng.random(n)[groups] < 0.8, rng.random(n)[groups], rng.random(len(groups)))
    labels = (shared[:, None] > truth.cumsum(1)[:, :-1]).sum(1)
    off = truth * [8, 1, 0.3]
    first = Predictions(off / off.sum(1, keepdims=True), labels, groups=groups)
    return first, first.with_probs(truth), truth


@pytest.mark.parametrize("runs", [50, pytest.param(600, marks=pytest.mark.wide)])
def test_ends_of_costs_hold_where_rows_of_a_group_come_out_alike(runs: int) -> None:
    """Intervals that treat the rows as independent do not cover."""
    rng, costs = np.random.default_rng(9), cost_matrix(ASYMMETRIC, 3)
    counts = {"paid": [0, 0], "change": [0, 0]}
    for _ in range(runs):
        a, b, truth = grouped(rng)
        priced = [(truth * costs[decisions(p, costs)]).sum(1).mean() for p in (a, b)]
        for alone in (0, 1):
            pair = {n: p.replace(groups=None) if alone else p for n, p in (("a", a), ("b", b))}
            line = decision_costs(pair, ASYMMETRIC, {"b": "a"}).iloc[1]
            counts["paid"][alone] += line["realised_low"] <= priced[1] <= line["realised_high"]
            counts["change"][alone] += line["change_low"] <= priced[1] - priced[0] <= line["change_high"]
    least = 0.9 * runs - 3 * np.sqrt(0.09 * runs)
    assert min(counts["paid"][0], counts["change"][0]) > least > max(counts["paid"][1], counts["change"][1]), counts


def test_the_change_is_paired_and_of_nothing_is_nothing() -> None:
    p, truth = drawn(np.random.default_rng(1), 300, 2.0)
    frame = decision_costs({"a": p, "b": p.with_probs(truth), "c": p}, ASYMMETRIC, {"b": "a", "c": "a"})
    assert frame["change"].iloc[1] == pytest.approx(frame["realised"].iloc[1] - frame["realised"].iloc[0])
    assert np.isnan(frame["change"].iloc[0])
    again = decision_costs({"a": p, "c": p.with_probs(p.probs)}, ASYMMETRIC, {"c": "a"}).iloc[1]
    assert again[["change", "change_low", "change_high", "changed"]].tolist() == [0, 0, 0, 0]


def test_what_has_no_expected_cost_says_why() -> None:
    p, _ = drawn(np.random.default_rng(2), 50, 1.0)
    frame = decision_costs({"full": p, "top": of_kind(p, "top-label")})
    assert "probabilities of other classes are unknown" in frame["note"].iloc[1]
    for kind in ("top-label", "confidence", "per-class"):
        with pytest.raises(NotAnswerable):
            decision_costs({"x": of_kind(p, kind)})
    for costs, why in (
        ("0 1; 1 0", "costs have 2 x 2 numbers; expected 3 x 3"),
        ("0.2", r"a threshold .* got 0\.2, 3 classes"),
        ("0 1 1; 1 0", "lines of costs differ in length, line 2 has 2 and line 1 has 3: give every decision"),
        ([[0, 1, 1], [1, 0], [1, 1, 0]], "lines of costs differ in length, line 2 has 2"),
        ("0 1 1; 1 a 0", "such as 0 5; 1 0: 'a' in line 2 is not a number"),
        ("abc", "'abc' in line 1 is not a number"),
        ([[0, None]], "'None' in line 1 is not a number"),
        ([[[0]]], "in line 1 is not a number"),
        ("0 1 1; 1 0 nan; 1 1 0", "the cost of decision 1 for true class 2 is nan"),
    ):
        with pytest.raises(InputError, match=why):
            decision_costs({"x": p}, costs)


def test_a_cost_differs_from_the_predicted_one_at_the_level_of_every_test() -> None:
    """A gap of which only the 90 % interval excludes 0 is not significant; with more rows of the same kind it is."""
    for times, differs in ((1, False), (4, True)):
        p = Predictions([[0.88, 0.12]] * 250 * times, ([0] * 210 + [1] * 40) * times)
        for level in (0.5, 0.9, 0.99):
            line = decision_costs({"net": p}, level=level).iloc[0]
            assert line["gap_differs"] == differs
            assert (line["gap_low"] > 0) == (differs or level <= 0.9)
            words = cost_words(decision_costs({"net": p}, level=level), level)[0]
            assert ("more than predicted" in words) == differs
            assert ("not significantly different from the prediction" in words) != differs
        other = Predictions([[0.88, 0.12]] * 250 * times, ([0] * 236 + [1] * 14) * times)
        assert "less than predicted" in cost_words(decision_costs({"net": other}))[0]


def test_the_sentence_claims_what_the_intervals_show() -> None:
    line = {"model": "net", "expected": 0.12, "realised": 0.19, "realised_low": 0.15, "realised_high": 0.24}
    more = {"gap": 0.07, "gap_differs": True, "change": np.nan, "change_low": np.nan, "note": ""}
    start = "net predicts a cost of 120 per 1,000 rows; the actual cost is 190 (90 % interval 150 to 240), "

    def said(**changes: float | str) -> str:
        return cost_words(pd.DataFrame([{**line, **more, **changes}]))[0]

    assert said() == f"{start}more than predicted."
    assert said(gap_differs=False) == f"{start}not significantly different from the prediction."
    assert said(gap=-0.07) == f"{start}less than predicted."
    change = {"change": -0.035, "change_low": -0.05, "change_high": -0.01, "p": 0.01, "changed": 0.1}
    same = {**change, "change": 0, "change_low": 0, "change_high": 0, "changed": 0}
    assert said(**same) == f"{start}more than predicted. It decides every row as before."
    assert said(**change) == f"{start}more than predicted. That is 10 to 50 less than before (90 % interval)."
    assert "more than before" in said(**{**change, "change": 0.03, "change_low": 0.01, "change_high": 0.05})
    unsure = said(**{**change, "p": 0.06})  # although the 90 % interval excludes 0
    assert unsure == f"{start}more than predicted. The change of the cost is not significant."
    assert said(realised_low=np.nan, note="few groups") == (
        "net predicts a cost of 120 per 1,000 rows; the actual cost is 190, no interval: few groups."
    )


def test_a_decision_curve_names_the_class_as_every_other_page_does() -> None:
    risks = np.array([0.3, 0.6, 0.2])
    named = Predictions(np.column_stack([1 - risks, risks]), [0, 1, 0], class_names=["0", "1"]).with_outcome("died")
    assert decision_curve(named).positive == title_of_event(named) == "died"
    assert decision_curve(named, 0).positive == "died = 0"


@given(full_predictions(classes=2, weighted="whole"), st.floats(0.01, 0.99))
def test_net_benefit_is_counted(p: Predictions, t: float) -> None:
    weight = np.ones(p.n_rows) if p.weights is None else p.weights
    acted, true = p.probs[:, 1] > t + 1e-6, p.true_labels == 1
    n = weight.sum()
    benefit = (weight[acted & true].sum() - weight[acted & ~true].sum() * t / (1 - t)) / n
    line = decision_curve(p, thresholds=(t,)).frame().iloc[0]
    assert line["benefit"] == pytest.approx(benefit, abs=1e-9)
    assert line["treat_all"] == pytest.approx((weight[true].sum() - weight[~true].sum() * t / (1 - t)) / n, abs=1e-9)
    assert line["over_all"] == pytest.approx(line["benefit"] - line["treat_all"], abs=1e-9)
    k, rows = weight[acted & true].sum(), weight[acted].sum()
    ends = [rows / n * (s[0] - (1 - s[0]) * t / (1 - t)) for s in clopper_pearson(np.array([k]), np.array([rows]))]
    assert line[["low", "high"]].tolist() == pytest.approx(ends if rows else [0, 0], abs=1e-9)


def test_the_ends_of_the_benefit_hold() -> None:
    """Intervals of half the width do not cover."""
    rng, runs, t = np.random.default_rng(3), 300, np.array([0.1, 0.3, 0.6])
    truth = rng.beta(1, 2, 200)
    stated = truth**1.5
    rise = truth[:, None] - (1 - truth[:, None]) * t / (1 - t)
    real = (rise * (stated[:, None] > t)).mean(0)
    inside, halved, over = np.zeros(3), np.zeros(3), np.zeros(3)
    scaled, scaled_halved, found_rows = np.zeros(3), np.zeros(3), np.zeros(3)
    for _ in range(runs):
        p = Predictions(np.column_stack([1 - stated, stated]), (rng.random(200) < truth).astype(int))
        found = decision_curve(p, thresholds=tuple(t))
        inside += (found.low <= real) & (real <= found.high)
        halved += abs(real - found.benefit) <= (found.high - found.low) / 4
        most, worth = found.standardized_high - found.standardized, real / truth.mean()
        least = found.standardized - found.standardized_low
        scaled += (found.standardized_low <= worth) & (worth <= found.standardized_high)
        scaled_halved += np.where(worth > found.standardized, worth - found.standardized <= most / 2,
                                  found.standardized - worth <= least / 2)  # fmt: skip
        hits = (truth[:, None] * (stated[:, None] > t)).mean(0)
        found_rows += (found.hits_low <= hits) & (hits <= found.hits_high)
        np.testing.assert_allclose(found.avoided * t / (1 - t), found.over_all)
        np.testing.assert_allclose(found.avoided_high * t / (1 - t), found.over_all_high)
        over += (found.over_all_low <= real - rise.mean(0)) & (real - rise.mean(0) <= found.over_all_high)
    margin = 3 * np.sqrt(0.09 * runs)
    assert min(inside.min(), over.min()) > 0.9 * runs - margin > halved.max()
    assert min(scaled.min(), found_rows.min()) > 0.9 * runs - margin > scaled_halved.max()


def test_net_benefit_on_other_scales_by_hand() -> None:
    """8 of 10 acted on have the class, and 2 of the 10 others; at 1/3 a row wrongly acted on costs half."""
    p = Predictions([[0.1, 0.9]] * 10 + [[0.9, 0.1]] * 10, [1] * 8 + [0] * 2 + [1] * 2 + [0] * 8)
    line = decision_curve(p, thresholds=(1 / 3,)).frame().iloc[0]
    benefit, every = 8 / 20 - 2 / 20 / 2, 10 / 20 - 10 / 20 / 2
    assert line["hits"] == pytest.approx(0.4)
    assert line["standardized"] == pytest.approx(benefit / 0.5)
    assert line["avoided"] == pytest.approx((benefit - every) * 2)
    assert line["standardized_low"] < line["standardized"] < line["standardized_high"] <= 1
    none = decision_curve(p.replace(labels=np.zeros(20, int)), thresholds=(1 / 3,)).frame().iloc[0]
    assert np.isnan(none["standardized"])
    table = net_benefits({"net": p}, 1 / 3).set_index("model")
    assert table.loc["acting on all", ["hits", "standardized"]].tolist() == pytest.approx([0.5, 0.5])
    assert table.loc["acting on none", ["hits", "avoided"]].tolist() == pytest.approx([0, -0.5])
    assert table.loc["net", "hits"] == line["hits"]
    (words,) = impact_words(net_benefits({"net": p}, 1 / 3))
    assert words.startswith("net: of 1,000 rows, 500 are acted on, and 400 of these have the class (")


def test_a_figure_has_the_scale_that_is_chosen() -> None:
    rng = np.random.default_rng(0)
    risk = rng.beta(2, 4, 300)
    curve = decision_curve(Predictions(np.column_stack([1 - risk, risk]), (rng.random(300) < risk).astype(int)))
    for scale, name in (("benefit", "net benefit"), ("standardized", "standardized"), ("avoided", "avoided")):
        figure = figures.decision_curve(curve, scale=scale)
        (line,) = (trace for trace in figure.data if trace.hovertext is not None)
        shown, wanted = np.array(line.y, float), getattr(curve, scale)
        assert np.nanmax(abs(shown - wanted)) < 1e-12
        assert name in figure.layout.yaxis.title.text
        references = [np.array(trace.y, float) for trace in figure.data if trace.name in (ALL, NONE)]
        assert len(references) == 2
        flat = references[0] if scale == "avoided" else references[1]
        assert (flat == 0).all()
    with pytest.raises(InputError, match="scale is 'other'"):
        figures.decision_curve(curve, scale="other")  # type: ignore[arg-type]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_curve_costs_and_benefits_decide_alike_at_the_threshold(dtype: type) -> None:
    """Rows at the rounded threshold are not acted on; the next ones above are."""
    for t in (0.01, 0.1, 0.2, 0.3, 0.55, 0.7, 0.9, 0.97):
        score = np.array([t - 1e-4, t, t + 1e-4, 0.5], dtype)
        p = Predictions(np.column_stack([1 - score, score]).astype(dtype), [0, 1, 1, 0])
        acted = decisions(p, str(t))
        assert acted.tolist() == [0, 0, 1, int(t < 0.5)]
        assert decision_curve(p, thresholds=(t,)).acted.tolist() == [acted.mean()]
        odd = p.with_probs(np.flip(p.probs, 1))
        frame = net_benefits({"a": p, "b": odd}, t, bases={"b": "a"})
        gained = [float(a) * (1 if y else -t / (1 - t)) for a, y in zip(acted, p.true_labels, strict=True)]
        other = decisions(odd, str(t))
        lost = [float(a) * (1 if y else -t / (1 - t)) for a, y in zip(other, p.true_labels, strict=True)]
        assert frame["benefit"].iloc[:2].tolist() == pytest.approx([np.mean(gained), np.mean(lost)])
        assert frame["change"].iloc[1] == pytest.approx(np.mean(lost) - np.mean(gained))


@given(full_predictions(classes=2), st.integers(0, 2**16))
def test_costs_of_two_classes_are_a_threshold(p: Predictions, seed: int) -> None:
    costs = np.random.default_rng(seed).integers(-2, 9, (2, 2)).astype(float)
    t = cost_threshold(costs)
    turns = costs[1, 0] > costs[0, 0] and costs[0, 1] > costs[1, 1]
    assert (t is not None) == turns
    if t is not None:
        assert decisions(p, costs).mean() == pytest.approx(
            decision_curve(p.replace(weights=None), thresholds=(t,)).acted[0]
        )


def test_benefits_of_pairs_hold_and_use_that_rows_are_the_same() -> None:
    """Intervals of half the width do not cover; nor do those that treat rows repeated five times as independent."""
    rng, runs, t = np.random.default_rng(7), 60, 0.3
    truth = rng.beta(1, 2, 150)
    stated = [np.column_stack([1 - s, s]) for s in (truth**2, truth)]
    rise = truth - (1 - truth) * t / (1 - t)
    real = float((rise * ((stated[1][:, 1] > t).astype(float) - (stated[0][:, 1] > t))).mean())
    copies = np.repeat(np.arange(150), 5)
    inside, halved, narrower, together, alone = 0, 0, 0, 0, 0
    for _ in range(runs):
        labels = (rng.random(150) < truth).astype(int)
        a, b = (Predictions(s, labels) for s in stated)
        line = net_benefits({"a": a, "b": b}, t, bases={"b": "a"}).iloc[1]
        inside += line["change_low"] <= real <= line["change_high"]
        halved += abs(real - line["change"]) <= (line["change_high"] - line["change_low"]) / 4
        narrower += line["change_high"] - line["change_low"] < line["benefit_high"] - line["benefit_low"]
        for groups in (copies, None):
            many = {name: rows.take(copies).replace(groups=groups) for name, rows in (("a", a), ("b", b))}
            line = net_benefits(many, t, bases={"b": "a"}).iloc[1]
            held = line["change_low"] <= real <= line["change_high"]
            together, alone = together + held * (groups is not None), alone + held * (groups is None)
    margin = 3 * np.sqrt(0.09 * runs)
    assert min(inside, together) > 0.9 * runs - margin > max(halved, alone)
    assert narrower == runs


def test_benefits_name_what_they_are_compared_with_and_what_is_missing() -> None:
    p, _ = drawn(np.random.default_rng(8), 60, 1.0)
    frame = net_benefits({"full": p, "top": of_kind(p, "top-label")}, 0.4, positive=2).set_index("model")
    assert frame.loc["acting on all", "benefit"] == pytest.approx(
        (p.true_labels == 2).mean() - (p.true_labels != 2).mean() * 0.4 / 0.6
    )
    assert frame.loc["acting on none", "benefit"] == 0
    assert frame.loc["acting on none", "over_all"] == -frame.loc["acting on all", "benefit"]
    assert "probabilities of other classes are unknown" in frame.loc["top", "note"]
    assert frame.loc["full", "over_all"] == pytest.approx(
        frame.loc["full", "benefit"] - frame.loc["acting on all", "benefit"]
    )
    with pytest.raises(NotAnswerable, match="choose the one to act on"):
        net_benefits({"x": p})


def test_which_class_and_what_is_refused() -> None:
    p, _ = drawn(np.random.default_rng(4), 60, 1.0)
    assert decision_curve(p, positive=2).positive == "2"
    with pytest.raises(NotAnswerable, match="there are 3: choose the one to act on"):
        decision_curve(p)
    with pytest.raises(NotAnswerable, match="probabilities of other classes are unknown"):
        decision_curve(of_kind(p, "top-label"), positive=0)
    for wrong in ({"positive": 3}, {"positive": 0, "thresholds": (0.0,)}):
        with pytest.raises(InputError):
            decision_curve(p, **wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize("event", [0, 1])
def test_of_two_classes_the_event_is_acted_on_unless_another_class_is_chosen(event: int) -> None:
    rng = np.random.default_rng(2)
    risk = rng.uniform(0.05, 0.6, 300)
    p = Predictions(np.column_stack([1 - risk, risk]), (rng.random(300) < risk).astype(int)).with_event(event)
    pd.testing.assert_frame_equal(decision_curve(p).frame(), decision_curve(p, event).frame())
    pd.testing.assert_frame_equal(net_benefits({"net": p}, 0.2), net_benefits({"net": p}, 0.2, event))
    assert not decision_curve(p).frame().equals(decision_curve(p, 1 - event).frame())


def test_the_figure_draws_the_frame_where_it_can_be_seen() -> None:
    p = Predictions([[0.1, 0.9]] * 40 + [[0.8, 0.2]] * 60, [1] * 30 + [0] * 55 + [1] * 15)
    found = decision_curve(p)
    figure = figures.decision_curve({"a": found}, looks={"a": 1})
    (line,) = [trace for trace in figure.data if trace.name == "a"]
    low = figure.layout.yaxis.range[0]
    seen = found.benefit >= low
    np.testing.assert_array_equal(np.asarray(line.y)[seen], found.benefit[seen])
    assert np.isnan(np.asarray(line.y)[~seen]).all()


@pytest.mark.parametrize("level", [-1, 0, 1, 2, np.nan, "x", True])
def test_a_level_that_is_no_share_is_refused(level: object) -> None:
    p = Predictions([[0.2, 0.8]] * 12, [1] * 12)
    for ask in (decision_costs, net_benefits):
        with pytest.raises(InputError, match=r"level is .*; it must be a number between 0 and 1"):
            ask({"a": p}, level=level)  # type: ignore[operator]
    with pytest.raises(InputError, match="level is"):
        decision_curve(p, level=level)  # type: ignore[arg-type]


@pytest.mark.parametrize("wrong", ["x", None, 0, 1, np.nan, [0.5]])
def test_a_threshold_that_is_no_share_is_refused(wrong: object) -> None:
    p = Predictions([[0.2, 0.8]] * 12, [1] * 12)
    with pytest.raises(InputError, match=r"threshold is .*; it must be a number between 0 and 1"):
        net_benefits({"a": p}, wrong)  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"threshold is .*; it must be a number between 0 and 1"):
        decision_curve(p, thresholds=(0.5, wrong))  # type: ignore[arg-type]
    with pytest.raises(InputError, match="positive is 'x'; it must be a whole number from 0 to 1"):
        net_benefits({"a": p}, positive="x")  # type: ignore[arg-type]


@pytest.mark.parametrize("bases", [{"after": "befor"}, {"aftr": "before"}])
def test_a_base_that_is_not_there_is_refused(bases: dict[str, str]) -> None:
    p = Predictions([[0.2, 0.8]] * 12, [1] * 12)
    for ask in (decision_costs, net_benefits):
        with pytest.raises(InputError, match=r"bases name '.*', which is not one of the models: before, after"):
            ask({"before": p, "after": p.with_probs(p.probs)}, bases=bases)  # type: ignore[operator]


def test_what_acting_on_all_is_worth_does_not_depend_on_the_order_of_models() -> None:
    """Models of other rows are refused; if models answer other rows, each set has its own lines."""
    rng = np.random.default_rng(11)
    score, labels = rng.random(60), rng.integers(0, 2, 60)
    p = Predictions(np.column_stack([1 - score, score]), labels)
    for other, why in (
        (p.take(np.arange(30)), r"60 rows and the other 30|30 rows and the other 60"),
        (p.replace(labels=1 - labels), "has the label"),
        (p.replace(weights=np.arange(1, 61)), "has weight"),
        (p.replace(groups=np.arange(60) // 3), "different groups of rows"),
    ):
        for models in ({"a": other, "b": p}, {"b": p, "a": other}):
            with pytest.raises(InputError, match=why):
                net_benefits(models, 0.3)
    silent = p.replace(probs=p.probs, abstained=np.arange(60) < 20)
    for models in ({"a": silent, "b": p, "c": p}, {"b": p, "a": silent, "c": p}):
        frame = net_benefits(models, 0.3).set_index("model")
        assert len(frame) == 7
        for names, rows in (("a", slice(20, 60)), ("b, c", slice(0, 60))):
            every = frame.loc[f"acting on all, rows answered by {names}"]
            hits = labels[rows].mean()
            assert every["benefit"] == pytest.approx(hits - (1 - hits) * 0.3 / 0.7)
            assert every["benefit_low"] < every["benefit"] < every["benefit_high"]
            none = frame.loc[f"acting on none, rows answered by {names}"]
            assert (none["benefit"], none["over_all"]) == (0, -every["benefit"])
            for name in names.split(", "):
                assert frame.loc[name, "over_all"] == pytest.approx(frame.loc[name, "benefit"] - every["benefit"])
    alone = net_benefits({"a": silent, "b": silent}, 0.3)["model"].tolist()
    assert alone == ["a", "b", "acting on all", "acting on none"]


def test_decisions_that_change_are_counted_by_the_weights_of_their_rows():
    before = np.array([0.6, 0.6, 0.3, 0.2])
    after = np.array([0.4, 0.7, 0.6, 0.1])
    weights = np.array([1.0, 2.5, 4.0, 0.5])
    models = {
        name: Predictions(np.column_stack([1 - risk, risk]), [1, 0, 1, 0], weights=weights)
        for name, risk in (("before", before), ("after", after))
    }
    found = decision_costs(models, bases={"after": "before"}).set_index("model").loc["after", "changed"]
    assert found == pytest.approx((1.0 + 4.0) / weights.sum())
