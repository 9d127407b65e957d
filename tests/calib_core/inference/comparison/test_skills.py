"""Measures of confidences: each against its definition, their rows' terms against derivatives, and their guarantees."""

from itertools import pairwise, permutations

import numpy as np
import pytest
from generated import of_kind
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

from calib_core import InputError, NotAnswerable, Predictions
from calib_core.inference import skill_differences, skills
from calib_core.inference.comparison.skills import DIFFERENCES, FEWEST, PERFECT, TOO_FEW, _ends
from calib_core.inference.intervals.influence_functions import MEASURES, ConfidenceRows, Influence

LEVELS = np.array([0.5, 0.6, 0.7, 0.8, 0.9, 0.95])
INTERVALS = ("skill", "auroc", "risk_area", "excess_area")


def answers(h: np.ndarray, right: np.ndarray, weights: np.ndarray | None = None) -> ConfidenceRows:
    return ConfidenceRows(np.asarray(h, float), np.asarray(right), np.ones(len(h)) if weights is None else weights)


def one_order(wrong: list[bool]) -> float:
    """Return the mean of the error rates of the first 1, 2, ... rows."""
    return float(np.mean([sum(wrong[:k]) / k for k in range(1, len(wrong) + 1)]))


def area_slowly(h: list[float], right: list[bool]) -> float:
    """Return the mean over all orders by descending confidence."""
    orders = [o for o in permutations(range(len(h))) if all(h[i] >= h[j] for i, j in pairwise(o))]
    return float(np.mean([one_order([not right[i] for i in order]) for order in orders]))


rows = st.lists(st.tuples(st.sampled_from([0.5, 0.7, 0.9]), st.booleans()), min_size=1, max_size=6)


@given(rows)
def test_areas_are_means_over_all_orders_of_tied_rows(drawn: list[tuple[float, bool]]) -> None:
    h, right = map(list, zip(*drawn, strict=True))
    own = answers(h, np.array(right))
    assert MEASURES["risk_area"](own).value == pytest.approx(area_slowly(h, right))
    least = min(one_order([not right[i] for i in order]) for order in permutations(range(len(h))))
    assert MEASURES["excess_area"](own).value == pytest.approx(area_slowly(h, right) - least)


@given(rows)
def test_ranking_and_skill_are_their_definitions(drawn: list[tuple[float, bool]]) -> None:
    h, right = (np.array(part) for part in zip(*drawn, strict=True))
    own, a = answers(h, right), right.mean()
    assert MEASURES["overconfidence"](own).value == pytest.approx(h.mean() - a)
    if a in (0, 1):
        assert np.isnan([MEASURES[name](own).value for name in ("auroc", "skill")]).all()
        return
    assert MEASURES["auroc"](own).value == pytest.approx(roc_auc_score(right, h))
    brier = ((h - right) ** 2).mean()
    assert MEASURES["skill"](own).value == pytest.approx(1 - brier / ((a - right) ** 2).mean())


def test_the_error_of_the_ranking_is_delongs() -> None:
    rng = np.random.default_rng(0)
    h, right = rng.choice(LEVELS, 80), rng.random(80) < 0.6
    above = (h[right][:, None] > h[~right]) + 0.5 * (h[right][:, None] == h[~right])
    variance = above.mean(1).var() / right.sum() + above.mean(0).var() / (~right).sum()
    assert MEASURES["auroc"](answers(h, right)).error == pytest.approx(np.sqrt(variance * 80 / 79))


@pytest.mark.parametrize("name", MEASURES)
def test_terms_are_derivatives_by_the_weight_of_a_row(name: str) -> None:
    """Derivatives of the smooth measure: rows are counted in thousands, where harmonic numbers are logarithms."""
    rng = np.random.default_rng(1)
    h, right = np.repeat(LEVELS, 2), np.tile([True, False], len(LEVELS))
    many = rng.uniform(2000, 9000, len(h))
    found, step = MEASURES[name](answers(h, right, many)), 20.0
    for i in range(len(h)):
        more, less = (MEASURES[name](answers(h, right, many + sign * step * np.eye(len(h))[i])) for sign in (1, -1))
        slope = (more.value - less.value) / (2 * step) * many.sum()
        assert found.terms[i] == pytest.approx(slope, abs=3e-3)
    assert many @ found.terms / many.sum() == pytest.approx(0, abs=1e-9)


def truths(right_at: np.ndarray, share: np.ndarray) -> dict[str, float]:
    """Return the measures of the population: ten million rows, as weights."""
    h, right = np.repeat(LEVELS, 2), np.tile([True, False], len(LEVELS))
    return {
        name: measure(
            answers(h, right, 1e7 * np.ravel(np.column_stack([share * right_at, share * (1 - right_at)])))
        ).value
        for name, measure in MEASURES.items()
    }


@pytest.mark.parametrize("right_at", [0.2 + 0.45 * LEVELS, LEVELS, np.full(6, 0.6)], ids=["too sure", "right", "blind"])
def test_intervals_hold_and_half_of_them_do_not(right_at: np.ndarray) -> None:
    rng, runs, n = np.random.default_rng(2), 300, 120
    share = np.array([0.05, 0.1, 0.15, 0.3, 0.3, 0.1])
    truth = truths(right_at, share)
    inside, halved = dict.fromkeys(INTERVALS, 0), dict.fromkeys(INTERVALS, 0)
    for _ in range(runs):
        which = rng.choice(6, n, p=share)
        own = answers(LEVELS[which], rng.random(n) < right_at[which])
        for name in INTERVALS:
            measure = MEASURES[name](own)
            low, high = _ends(name, measure, own, 0.9)
            inside[name] += low <= truth[name] <= high
            halved[name] += abs(truth[name] - measure.value) <= (high - low) / 4
    margin = 3 * np.sqrt(0.09 * runs)
    assert min(inside.values()) > 0.88 * runs - margin
    assert max(halved.values()) < 0.88 * runs - margin


@pytest.mark.wide
@pytest.mark.parametrize("n", [60, 400])
@pytest.mark.parametrize("power", [0.1, 0.5, 2.0, 4.0])
def test_intervals_hold_for_accurate_and_poor_models(n: int, power: float) -> None:
    """Applies to 10 right and 10 wrong rows or more, as tables require."""
    rng, runs, share = np.random.default_rng(5), 500, np.array([0.05, 0.1, 0.15, 0.3, 0.3, 0.1])
    right_at = LEVELS**power
    truth, inside, runs_used = truths(right_at, share), dict.fromkeys(INTERVALS, 0), 0
    for _ in range(runs):
        which = rng.choice(6, n, p=share)
        own = answers(LEVELS[which], rng.random(n) < right_at[which])
        if not min(own.right.sum(), (~own.right).sum()) >= FEWEST:
            continue
        runs_used += 1
        for name in INTERVALS:
            low, high = _ends(name, MEASURES[name](own), own, 0.9)
            inside[name] += low <= truth[name] <= high
    # If most draws are not reported, the reported ones are selected by their outcomes.
    assert runs_used < runs / 2 or min(inside.values()) > 0.87 * runs_used - 3 * np.sqrt(0.09 * runs_used)


def test_differences_of_pairs_hold_and_use_that_rows_are_the_same() -> None:
    rng, runs, n = np.random.default_rng(3), 250, 150
    share = np.full(6, 1 / 6)
    inside, halved, narrower = dict.fromkeys(DIFFERENCES, 0), dict.fromkeys(DIFFERENCES, 0), 0
    # Both have equal answers; the first has confidences 0.5 to 0.95, the second one step more.
    h, shifted, right_at = LEVELS, np.append(LEVELS[1:], 0.99), LEVELS - 0.1
    every = np.repeat(LEVELS, 2), np.repeat(shifted, 2), np.tile([True, False], 6)
    many = 1e7 * np.ravel(np.column_stack([share * right_at, share * (1 - right_at)]))
    for _ in range(runs):
        which = rng.integers(6, size=n)
        right = rng.random(n) < right_at[which]
        pair = [answers(said[which], right) for said in (h, shifted)]
        for name in DIFFERENCES:
            first, second = (MEASURES[name](own) for own in pair)
            truth = MEASURES[name](answers(every[0], every[2], many)).value
            truth -= MEASURES[name](answers(every[1], every[2], many)).value
            apart = first - second
            low, high = apart.ends(0.9)
            inside[name] += low - 1e-12 <= truth <= high + 1e-12
            halved[name] += abs(truth - apart.value) <= (high - low) / 4
            if name == "brier":
                narrower += apart.error < np.hypot(first.error, second.error)
    margin = 3 * np.sqrt(0.09 * runs)
    assert min(inside.values()) > 0.88 * runs - margin
    # Ranks are the same, so that AUROC and areas do not differ at all.
    assert max(halved[name] for name in ("brier", "skill")) < 0.88 * runs - margin
    assert narrower == runs


def test_the_table_by_hand() -> None:
    p = Predictions.from_confidence([0.9] * 60 + [0.5] * 40, [True] * 50 + [False] * 10 + [True] * 20 + [False] * 20)
    line = skills({"net": p}, 0.5).iloc[0]
    assert line["mean_confidence"] == pytest.approx(0.74)
    assert line["overconfidence"] == pytest.approx(0.04)
    assert (line["answered"], line["accuracy_answered"]) == pytest.approx((0.6, 5 / 6))
    assert line["overconfidence_low"] == pytest.approx(0.74 - line["accuracy_high"])
    # 50 * 20 + half of 50 * 10 and 20 * 20 of 70 * 30 pairs
    assert line["auroc"] == pytest.approx((1000 + 250 + 200) / 2100)
    assert line["skill"] == pytest.approx(1 - (0.5 * 0.01 + 0.1 * 0.81 + 0.4 * 0.25) / 0.21)
    assert line["note"] == ""
    low, high = line["risk_area_low"], line["risk_area_high"]
    assert low < line["risk_area"] < high


def test_kinds_weights_and_rows_that_are_not_answered() -> None:
    rng = np.random.default_rng(4)
    probs = rng.dirichlet([1, 1, 1], 90).round(2)
    probs[:, 2] = 1 - probs[:, 0] - probs[:, 1]
    p = Predictions(probs, rng.integers(3, size=90), weights=rng.integers(0, 3, 90))
    table = skills({kind: of_kind(p, kind) for kind in ("full", "top-label", "confidence")}).drop(columns="model")
    assert table.iloc[0].equals(table.iloc[1])
    assert table.iloc[0].equals(table.iloc[2])
    assert table.iloc[0].equals(skills({"all": p.written_out()}).drop(columns="model").iloc[0])
    withheld = p.replace(probs=p.probs, abstained=np.arange(90) < 45)
    assert skills({"x": withheld}).equals(skills({"x": p.take(np.arange(45, 90))}))
    # Fractional weights: Kish's number of rows, and wider intervals than for as many equal ones.
    uneven = skills({"x": p.replace(weights=rng.uniform(0.1, 3, 90))}).iloc[0]
    assert uneven["rows"] < 90
    assert np.isfinite(uneven["risk_area_high"])


def test_what_cannot_be_told_is_not() -> None:
    few = Predictions.from_confidence([0.9, 0.5] * 50, [True] * 91 + [False] * 9)
    line = skills({"x": few}).iloc[0]
    assert line["note"] == TOO_FEW
    assert np.isnan(line[["skill_low", "auroc_low", "risk_area_low", "excess_area_low"]].astype(float)).all()
    assert np.isfinite(line[["overconfidence_low", "accuracy_answered_low"]].astype(float)).all()
    alike = Predictions.from_confidence([1.0] * 100, [True] * 80 + [False] * 20)
    line = skills({"x": alike}).iloc[0]
    assert (line["auroc"], line["note"]) == (0.5, PERFECT)
    assert np.isnan(line[["auroc_low", "auroc_high"]].astype(float)).all()
    with pytest.raises(InputError, match="coverage is 0; it must be a number between 0 and 1"):
        skills({"x": few}, 0)
    with pytest.raises(NotAnswerable, match="there is no model to show"):
        skills({})
    with pytest.raises(NotAnswerable, match="only one model"):
        skill_differences({"x": few})
    with pytest.raises(NotAnswerable, match="fewer than 10 predictions are correct, or fewer than 10 are wrong"):
        skill_differences({"x": few, "y": few})
    with pytest.raises(InputError, match="one file has 100 rows and the other 50"):
        skill_differences({"x": few, "y": few.take(range(50))})


def test_a_pair_that_cannot_be_compared_has_a_line_for_every_measure() -> None:
    rng = np.random.default_rng(0)
    h = rng.uniform(0.5, 1, 200)
    probs, labels = np.column_stack([1 - h, h]), (rng.random(200) < h).astype(int)
    rows, silent = Predictions(probs, labels), Predictions(probs, labels, abstained=np.arange(200) < 50)
    frame = skill_differences({"a": rows, "b": rows, "c": silent})
    for _, pair in frame.groupby(["first", "second"]):
        assert pair["measure"].tolist() == list(DIFFERENCES)
    assert (frame["note"] != "").groupby(frame["second"]).all().to_dict() == {"b": False, "c": True}


def test_a_model_does_not_differ_from_itself() -> None:
    p = Predictions.from_confidence([0.9, 0.5, 0.7] * 40, [True, True, False, False] * 30)
    frame = skill_differences({"a": p, "b": p})
    assert frame["measure"].tolist() == list(DIFFERENCES)
    assert (frame[["difference", "low", "high"]] == 0).all(axis=None)
    assert (frame[["p", "p_holm"]] == 1).all(axis=None)


def test_a_difference_without_spread_is_certain() -> None:
    assert Influence(0.1, np.zeros(5), np.ones(5)).p_value == 0


def test_rows_that_belong_together_are_taken_together() -> None:
    """The twin that treats them as independent fails: forty questions, each asked five times with one outcome."""
    rng, runs = np.random.default_rng(6), 80
    share, right_at = np.full(6, 1 / 6), LEVELS
    truth = truths(right_at, share)
    inside, alone = dict.fromkeys(INTERVALS, 0), dict.fromkeys(INTERVALS, 0)
    for _ in range(runs):
        which = rng.integers(6, size=60)
        p = Predictions.from_confidence(LEVELS[which], rng.random(60) < right_at[which]).take(
            np.repeat(np.arange(60), 5)
        )
        for count, rows in ((alone, p), (inside, p.replace(groups=np.repeat(np.arange(60), 5)))):
            line = skills({"x": rows}).iloc[0]
            for name in INTERVALS:
                count[name] += line[f"{name}_low"] <= truth[name] <= line[f"{name}_high"]
    margin = 3 * np.sqrt(0.09 * runs)
    assert min(inside.values()) > 0.87 * runs - margin > max(alone.values())


@pytest.mark.parametrize(
    ("groups", "runs"),
    [(False, 80), pytest.param(False, 600, marks=pytest.mark.wide), pytest.param(True, 300, marks=pytest.mark.wide)],
)
def test_intervals_hold_where_rows_weigh_differently(groups: bool, runs: int) -> None:
    """A few rows are heavy, those of low confidence more often; the twin that treats weights as copies fails."""
    rng, share, right_at = np.random.default_rng(8), np.full(6, 1 / 6), LEVELS - 0.1
    heavy = np.linspace(0.4, 0.1, 6)
    weight_of = share * (heavy * 9.5 + (1 - heavy) * 0.5)
    truth = truths(right_at, weight_of / weight_of.sum())
    truth |= {"accuracy": right_at @ weight_of / weight_of.sum()}
    names = (*INTERVALS, "accuracy")
    inside, copies = dict.fromkeys(names, 0), dict.fromkeys(names, 0)
    for _ in range(runs):
        which = rng.integers(6, size=240)
        weights = np.where(rng.random(240) < heavy[which], 9.5, 0.5)
        p = Predictions.from_confidence(LEVELS[which], rng.random(240) < right_at[which], weights=weights)
        p = p.take(np.repeat(np.arange(240), 3)).replace(groups=np.repeat(np.arange(240), 3)) if groups else p
        for count, rows in ((inside, p), (copies, p.replace(weights=np.ceil(p.weights), groups=None))):
            line = skills({"x": rows}).iloc[0]
            for name in names:
                count[name] += line[f"{name}_low"] <= truth[name] <= line[f"{name}_high"]
    margin = 3 * np.sqrt(0.09 * runs)
    assert min(inside.values()) > 0.87 * runs - margin > max(copies.values()), (inside, copies)
