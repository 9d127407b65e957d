"""Multicalibration: another package's numbers, a slow twin, copies and order of rows, coverage and false alarms."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calib_core import InputError, NotAnswerable, Predictions, RegistryError, Summary, estimate
from calib_core.slices import multicalibration


def rows(scores, outcomes, weights=None, **columns):
    return Predictions.from_confidence(
        np.asarray(scores, dtype=float),
        np.asarray(outcomes, dtype=bool),
        weights=weights,
        metadata=pd.DataFrame(columns) if columns else None,
    )


def example(weighted=False):
    """Return 120 rows by a simple rule: two columns, one crossing of which is off."""
    i = np.arange(120)
    scores = ((i * 37) % 120 + 0.5) / 120
    site, shift = np.array(list("abc"))[i % 3], np.where((i // 10) % 2, "night", "day")
    came = np.where((site == "c") & (shift == "night"), i % 5 == 0, (i * i * 7) % 11 < 11 * scores)
    return rows(scores, came, 1 + (i % 4) / 2 if weighted else None, site=site, shift=shift)


ECCE = {
    "all rows": (0.121631944444, 3.263670891698),
    "site = a": (0.090104166667, 1.395960455863),
    "site = b": (0.0590625, 0.914849381491),
    "site = c": (0.2875, 4.454162841828),
    "shift = day": (0.138888888889, 2.638485690474),
    "shift = night": (0.114166666667, 2.163420097965),
    "site = a, shift = day": (0.159166666667, 1.764758944718),
    "site = a, shift = night": (0.085833333333, 0.929333815807),
    "site = b, shift = day": (0.080625, 0.84583344805),
    "site = b, shift = night": (0.09, 1.033327242709),
    "site = c, shift = day": (0.212708333333, 2.421226614683),
    "site = c, shift = night": (0.362291666667, 3.830173490927),
}
WEIGHED = {
    "all rows": (0.112420634921, 2.873509281808),
    "site = c": (0.27125, 4.008045784404),
    "shift = night": (0.087912912913, 1.596985457483),
    "site = a, shift = night": (0.112443693694, 1.172522317728),
}


@pytest.mark.parametrize("weighted", [False, True])
def test_the_numbers_are_those_of_mcgrad(weighted):
    """The reference is mcgrad 0.1.5, MulticalibrationError(..., max_depth=2, precision_dtype="float64"), run once.

    segments_ecce and segments_ecce_sigma of each segment; mce, and mce_sigma.
    """
    found = multicalibration(example(weighted), crossings=True)
    lines = found.frame().set_index("group")
    for name, (error, deviations) in (WEIGHED if weighted else ECCE).items():
        assert lines.loc[name, ["error", "deviations"]].tolist() == pytest.approx([error, deviations], abs=1e-11)
    mce = (0.15680723731302806, 4.0080457844035156) if weighted else (0.16599973015106956, 4.4541628418282)
    assert (found.rescaled, found.deviations) == (pytest.approx(mce[0], abs=1e-12), pytest.approx(mce[1], abs=1e-12))
    if not weighted:
        assert lines.index.tolist()[0] == "site = c"
        assert len(lines) == len(ECCE)


def twin(scores, moved, weights, inside):
    """Return the largest sum over the group's rows of any interval of scores, relative to the group's weight."""
    values = sorted(set(scores[inside].tolist()))
    sums = [moved[inside & (scores == v)].sum() for v in values]
    largest = max(abs(sum(sums[i:j])) for i in range(len(sums)) for j in range(i + 1, len(sums) + 1))
    return largest / weights[inside].sum()


@given(st.integers(0, 10_000), st.sampled_from([None, "whole", "real"]))
def test_every_group_equals_its_slow_twin_and_overlaps_do_no_harm(seed, weighing):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(6, 40))
    scores = rng.integers(0, 9, n) / 8
    came = rng.random(n) < 0.5
    weights = {"whole": rng.integers(0, 3, n) + (np.arange(n) == 0), "real": rng.uniform(0.2, 2, n), None: None}[
        weighing
    ]
    masks = {f"group {g}": rng.random(n) < 0.6 for g in range(3)}
    found = multicalibration(rows(scores, came, weights), masks, fewest=1)
    p = rows(scores, came, weights)
    held = np.ones(n) if p.weights is None else p.weights
    moved, lines = held * (came - scores), found.frame().set_index("group")
    every = {"all rows": np.ones(n, dtype=bool), **masks}
    for name, inside in every.items():
        if not (held[inside] > 0).any():
            assert name not in lines.index
            continue
        wanted = twin(scores, moved, held, inside & (held > 0))
        assert lines.loc[name, "error"] == pytest.approx(wanted, abs=1e-12)
        assert lines.loc[name, "share"] == pytest.approx(held[inside].sum() / held.sum())
    assert found.value == pytest.approx((lines["share"] * lines["error"]).max())
    assert found.value >= estimate(p, "confidence", "cutoff").value - 1e-12
    assert found.interval.low <= found.value <= found.interval.high <= 1
    assert (lines["low"] <= lines["error"]).all()
    assert (lines["error"] <= lines["high"]).all()


def test_copies_and_the_order_of_rows_decide_nothing():
    p = example()
    p = Predictions.from_confidence(np.round(p.confidence, 1), p.correct, metadata=p.metadata)  # many equal scores
    counts = np.arange(120) % 3
    many = np.repeat(np.arange(120), counts)
    weighed = p.replace(weights=counts.astype(float))
    for one, other in ((p, p.take(np.random.default_rng(0).permutation(120))), (p.take(many), weighed)):
        first, second = multicalibration(one), multicalibration(other)
        pd.testing.assert_frame_equal(first.frame(), second.frame(), rtol=1e-9)
        assert first.value == pytest.approx(second.value)
        assert first.interval.low == pytest.approx(second.interval.low)
        assert first.noise_floor.high == pytest.approx(second.noise_floor.high)


def test_errors_that_cancel_over_all_rows_show_within_groups():
    """Ten in a hundred too many in a, too few in b: all rows are calibrated, each group is off by .1."""
    right = np.r_[np.arange(200) % 10 < 9, np.arange(200) % 10 < 7]
    p = rows(np.full(400, 0.8), right, site=np.repeat(["a", "b"], 200))
    found = multicalibration(p)
    assert estimate(p, "confidence", "cutoff").value == pytest.approx(0, abs=1e-12)
    assert (found.value, found.p_value < 0.01) == (pytest.approx(0.05), True)
    assert found.frame()["stands_out"].tolist() == [True, True, False]
    assert found.interval.low > 0
    assert found.headline.startswith("Most significant group: site = ")


def law(name, n, rng):
    """Return scores that no other simulation uses: near 1 like a network's, exactly 1, and spread."""
    if name == "ten rows":
        return rng.random(n)
    return np.where(np.arange(n) % 3, 1.0, 0.9) if name == "exactly 1" else 1 - rng.beta(0.4, 4, n)


@pytest.mark.parametrize("name", [pytest.param("network", marks=pytest.mark.wide), "exactly 1", "ten rows"])
def test_groups_of_calibrated_models_raise_few_false_alarms(name):
    """Alarms are for any group; without the correction for all of them, the falsified twin, they are many."""
    rng, runs, n = np.random.default_rng(5), 60, 10 if name == "ten rows" else 120
    masks = {f"{g}": rng.random(n) < 0.5 for g in range(12)}
    alarms, floors, covered = 0, 0, 0
    for run in range(runs):
        scores = law(name, n, rng)
        found = multicalibration(rows(scores, rng.random(n) < scores), masks, fewest=1, random_state=run)
        alarms += found.p_value <= 0.1
        floors += found.noise_floor.p_value <= 0.1
        covered += found.interval.low == 0 and (found.frame()["low"] == 0).all()
    slack = 3 * np.sqrt(0.1 * 0.9 / runs)
    assert alarms / runs <= 0.1 + slack
    assert floors / runs <= 0.1 + slack
    assert covered / runs >= 0.9 - slack


def test_intervals_hold_the_errors_of_all_groups_at_once():
    """The truth is off by .15 in one group of twelve; the value's own interval, and every group's."""
    rng, runs, n = np.random.default_rng(6), 50, 200
    site = np.arange(n) % 4
    scores = np.sort(rng.beta(4, 1.5, n))
    chances = np.where(site == 1, np.maximum(scores - 0.15, 0), scores)
    masks = {f"site {g}": site == g for g in range(4)}
    true = {name: twin(scores, chances - scores, np.ones(n), inside) for name, inside in masks.items()}
    true["all rows"] = twin(scores, chances - scores, np.ones(n), np.ones(n, dtype=bool))
    aim = max(true["all rows"], max(true[name] / 4 for name in masks))
    held, all_held, seen, half = 0, 0, 0, 0
    for run in range(runs):
        found = multicalibration(rows(scores, rng.random(n) < chances), masks, random_state=run)
        lines, (low, high) = found.frame().set_index("group"), (found.interval.low, found.interval.high)
        held += low <= aim <= high
        all_held += all(lines.loc[g, "low"] - 1e-12 <= true[g] <= lines.loc[g, "high"] for g in true)
        seen += lines.loc["site 1", "p"] < lines["p"].drop("site 1").min() + 1e-12
        half += all(
            lines.loc[g, "error"] - (lines.loc[g, "error"] - lines.loc[g, "low"]) / 4
            <= true[g]
            <= lines.loc[g, "error"] + (lines.loc[g, "high"] - lines.loc[g, "error"]) / 4
            for g in true
        )
    slack = 3 * np.sqrt(0.1 * 0.9 / runs)
    assert held / runs >= 0.9 - slack
    assert all_held / runs >= 0.9 - slack
    assert seen / runs > 0.5
    assert half / runs < 0.5, "a quarter of the width is the falsified twin"


def clustered(rng, clusters=30, each=4, off=0.0):
    """Return questions with equal outcomes of their attempts, and their membership in four overlapping groups."""
    question = np.repeat(np.arange(clusters), each)
    scores = np.repeat(rng.uniform(0.3, 0.9, clusters), each)
    came = np.repeat(rng.random(clusters), each) < scores - off
    p = rows(scores, came).replace(groups=question)
    return p, {f"{g}": np.repeat(rng.random(clusters) < 0.6, each) for g in range(4)}


@pytest.mark.wide
def test_rows_that_belong_together_raise_few_false_alarms_and_taken_for_alone_many():
    rng, runs, alarms, alone, held = np.random.default_rng(2), 40, 0, 0, 0
    for run in range(runs):
        p, masks = clustered(rng)
        found = multicalibration(p, masks, random_state=run)
        alarms += found.p_value <= 0.05
        held += found.interval.low == 0 and (found.frame()["low"] == 0).all()
        alone += multicalibration(p.replace(groups=None), masks, random_state=run).p_value <= 0.05
    assert alarms / runs <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / runs)
    assert held / runs >= 0.9 - 3 * np.sqrt(0.9 * 0.1 / runs)
    assert alone / runs > 0.3


def test_the_interval_of_rows_that_belong_together_holds_the_error_and_says_what_it_is_about():
    rng, runs, held, above = np.random.default_rng(4), 20, 0, 0
    for run in range(runs):
        p, masks = clustered(rng, off=0.25)
        found = multicalibration(p, masks, random_state=run)
        moved = np.full(120, -0.25)
        aim = max(abs(moved[inside].sum()) / 120 for inside in (np.ones(120, dtype=bool), *masks.values()))
        held += found.interval.low <= aim <= found.interval.high
        above += found.value > found.noise_floor.high
    assert held / runs >= 0.9 - 3 * np.sqrt(0.9 * 0.1 / runs)
    assert above / runs > 0.3
    assert not found.interval.tested
    assert found.interval.about.endswith("clustered by group")


def test_four_copies_of_a_row_are_no_surer_than_the_row():
    rng = np.random.default_rng(8)
    scores = rng.uniform(0.3, 0.9, 60)
    came, site = rng.random(60) < scores - 0.1, rng.integers(0, 2, 60).astype(str)
    once, many = rows(scores, came, site=site), np.repeat(np.arange(60), 4)
    copies = rows(scores[many], came[many], site=site[many]).replace(groups=many)
    alone, together = (multicalibration(p, fewest=5) for p in (once, copies))
    first, other = (found.frame().set_index("group").loc[["all rows", "site = 0"]] for found in (alone, together))
    assert together.value == pytest.approx(alone.value)
    assert together.interval.high >= alone.interval.high - 1e-12
    assert together.interval.low <= alone.interval.low + 0.01
    assert (other["high"] >= first["high"] - 1e-12).all()
    taken_for_alone = multicalibration(copies.replace(groups=None), fewest=5)
    assert taken_for_alone.interval.high < alone.interval.high


def test_a_group_of_few_clusters_is_left_out_by_name():
    p, masks = clustered(np.random.default_rng(0))
    found = multicalibration(p, masks | {"nine questions": np.arange(120) < 36})
    assert found.skipped == ("nine questions",)


def test_the_order_of_rows_and_the_names_of_clusters_decide_nothing():
    p, _ = clustered(np.random.default_rng(1))
    masks = np.random.default_rng(0).random((2, 120)) < 0.7
    order = np.random.default_rng(3).permutation(120)
    first = multicalibration(p, {"a": masks[0], "b": masks[1]})
    shuffled = p.take(order)
    renamed = shuffled.replace(groups=np.array([f"q{99 - code}" for code in p.row_groups.codes[order]]))
    other = multicalibration(renamed, {"a": masks[0][order], "b": masks[1][order]})
    assert other.interval.low == pytest.approx(first.interval.low)
    assert other.interval.high == pytest.approx(first.interval.high)
    np.testing.assert_allclose(
        first.frame()[["error", "low", "high", "p"]], other.frame()[["error", "low", "high", "p"]]
    )


def test_the_sentence_has_value_interval_and_floor():
    found = multicalibration(example())
    assert found.sentence.startswith("The multicalibration error is ")
    assert "above its noise floor of" in found.sentence
    assert "all rows" in found.sentence
    assert "of 6 groups" in found.sentence
    assert "largest" not in multicalibration(example(), {}).sentence
    assert found.interval.tested


@pytest.mark.parametrize("seed", range(4))
def test_the_sentences_name_the_group_of_the_maximum_and_whether_it_is_significant(seed):
    """A small group can exceed its noise most, while a larger one attains the maximum and is not significant."""
    rng = np.random.default_rng(seed)
    scores, site = rng.uniform(0.1, 0.9, 800), np.repeat(list("abcdefgh"), 100)
    found = multicalibration(rows(scores, rng.random(800) < scores - 0.25 * (site == "a"), site=site))
    lines = found.frame()
    worst = lines.iloc[int((lines["share"] * lines["error"]).argmax())]
    assert f"the error of {worst['group']} times" in found.sentence
    if lines["stands_out"].any():
        assert f": {lines['group'].iloc[0]} (" in found.headline
    if worst["group"] != lines["group"].iloc[0] or not worst["stands_out"]:
        assert ("this group is significant" in found.sentence) == worst["stands_out"]
        assert ("this group is not significant" in found.sentence) == (not worst["stands_out"])


def test_asked_as_an_estimator_it_says_where_it_is():
    with pytest.raises(RegistryError, match=r"within groups of rows.*slices\.multicalibration\(predictions, groups\)"):
        estimate(example(), "confidence", "multicalibration")


def test_weights_and_few_rows_make_it_a_rough_guide():
    assert "rough guide" in multicalibration(example(weighted=True)).sentence
    assert not multicalibration(example().take(np.arange(29)), {}, fewest=5).interval.tested
    assert not multicalibration(example(), {}, level=0.999).interval.tested


def test_small_groups_are_left_out_by_name():
    p = rows([0.8] * 45, [1] * 45, site=["a"] * 30 + ["b"] * 15)
    found = multicalibration(p)
    assert found.frame()["group"].tolist() == ["all rows", "site = a"]
    assert found.skipped == ("site = b",)
    assert multicalibration(p, fewest=15).skipped == ()


def test_scores_of_zero_and_one():
    """Without noise and error there are 0 deviations; one contradiction gives infinitely many, and is significant."""
    fine = multicalibration(rows(np.ones(30), np.ones(30)), {})
    assert (fine.value, fine.deviations, fine.p_value, fine.interval.low) == (0, 0, 1, 0)
    assert 0 < fine.interval.high < 0.2
    wrong = multicalibration(rows(np.ones(30), np.arange(30) > 0), {})
    assert (wrong.deviations, wrong.rescaled, wrong.p_value < 0.01) == (np.inf, np.inf, True)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda p: multicalibration(p, {"x": [True]}), "it must be True or False for each of the 120 rows"),
        (lambda p: multicalibration(p, {"x": np.ones(120)}), "type float64"),
        (lambda p: multicalibration(p, {"x": np.zeros(120, dtype=bool)}), "the group 'x' has no rows; leave it out"),
        (
            lambda p: multicalibration(p, {"all rows": np.ones(120, dtype=bool)}),
            "the group 'all rows' is always included; leave it out",
        ),
        (lambda p: multicalibration(p, ["nowhere"]), "have no column 'nowhere'"),
        (lambda p: multicalibration(p, fewest=200), "no group has 200 rows"),
        (lambda p: multicalibration(p.replace(groups=np.arange(120) // 20)), "cannot be estimated from fewer than 10"),
        (lambda p: multicalibration(Summary.of(p)), "needs row-level data; a summary contains only counts"),
        (
            lambda p: multicalibration(Predictions([[0.5, 0.5]] * 30, [0] * 30), {}, "class-wise"),
            "one claim per row, all of one kind",
        ),
        (lambda p: multicalibration(Predictions([[0.5, 0.5]] * 30, [0] * 30), {}, "canonical"), "whole"),
    ],
)
def test_what_cannot_be_told_says_why(make, words):
    with pytest.raises((NotAnswerable, InputError), match=words):
        make(example())


def test_one_class_is_a_notion_and_abstentions_are_left_out():
    probs = np.tile([[0.7, 0.3], [0.4, 0.6]], (40, 1))
    p = Predictions(probs, np.arange(80) % 2, abstained=np.arange(80) < 20)
    mask = np.arange(80) % 2 == 0
    for notion in ("confidence", "class-specific"):
        found = multicalibration(p, {"even": mask}, notion).frame().set_index("group")
        assert found.loc[["all rows", "even"], "rows"].tolist() == [60, 30]
