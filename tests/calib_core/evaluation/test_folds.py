"""Rows divided by folds: every row is evaluated after a map fitted on the other folds, in every analysis."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import calib_core as cc
from calib_core import CALIBRATORS, InputError, NotAnswerable, Predictions, evaluate
from calib_core.calls import divide, fitted, recalibrated, within
from calib_core.evaluation.splitting import FEW, Division, Marked, three_corners, usual_folds

RNG = np.random.default_rng(8)
N, K = 240, 4
Z = RNG.normal(size=(N, K)) * 2
Y = (Z + RNG.gumbel(size=(N, K))).argmax(axis=1)
ROWS = Predictions.from_logits(
    1.7 * Z,
    Y,
    weights=RNG.uniform(0.5, 2.0, size=N),
    metadata=pd.DataFrame({"site": np.where(np.arange(N) % 3, "Kiel", "Bonn")}),
    groups=np.arange(N) // 3,
)


def twin(division: Division, key: str) -> np.ndarray:
    """Return the confidence of each evaluated row, one by one, with a map fitted without its fold."""
    found = []
    for place, row in enumerate(division.test_rows):
        others = np.flatnonzero(division.folds[division.fit_rows] != division.folds[row])
        calibrator = CALIBRATORS.make(key).fit_on(division.fit.take(others))
        found.append(calibrator.apply(division.test.take([place])).confidence[0])
    return np.array(found)


DIVISIONS = {
    "all rows": lambda rows: rows,
    "a slice": lambda rows: within(rows, "site=Bonn"),
    "three corners": lambda rows: three_corners(rows, (2, 0, 3), "condition"),
    "a second model": lambda rows: divide(ROWS.with_probs(np.roll(ROWS.probs, 1, axis=1)), like=rows),
    "a slice of a second model": lambda rows: divide(ROWS, like=within(rows, "site=Bonn")),
}


@pytest.mark.parametrize("case", DIVISIONS)
@pytest.mark.parametrize("key", ["temperature", "top-label-hb"])
def test_every_row_is_what_a_map_of_the_other_folds_makes_of_it(case, key):
    rows = DIVISIONS[case](divide(ROWS.take(np.arange(60)) if "second" not in case else ROWS, folds=3, random_state=4))
    if "second" in case:
        rows = Division(**vars(rows) | {"test": rows.test.take(np.arange(20)), "test_rows": rows.test_rows[:20]})
    found = recalibrated(rows, fitted(rows, key))
    np.testing.assert_array_equal(found.confidence, twin(rows, key))
    np.testing.assert_array_equal(found.correct, recalibrated(rows, CALIBRATORS.make(key)).correct)


def test_a_map_that_knows_its_own_fold_is_caught_by_the_twin():
    rows = divide(ROWS.take(np.arange(60)), folds=3)
    assert not np.array_equal(fitted(rows, "temperature").apply(rows.test).confidence, twin(rows, "temperature"))


@settings(max_examples=6)
@given(seed=st.integers(0, 30), folds=st.integers(2, 6))
def test_what_came_true_in_a_fold_has_no_say_in_what_is_said_of_it(seed, folds):
    rows = divide(ROWS, folds=folds, random_state=seed)
    mine = rows.folds == seed % folds
    labels = np.where(mine, np.random.default_rng(seed).permutation(Y), Y)
    other = divide(ROWS.relabelled(labels), like=divide(ROWS.relabelled(labels), folds=folds))
    other = Division(**vars(other) | {"folds": rows.folds})
    here, there = (recalibrated(each, fitted(each, "temperature")).probs for each in (rows, other))
    np.testing.assert_array_equal(here[mine], there[mine])
    assert not np.array_equal(here[~mine], there[~mine])


def test_a_slice_is_the_same_rows_of_what_all_rows_became():
    rows = divide(ROWS, folds=4)
    every, bonn = recalibrated(rows, fitted(rows, "vector")), within(rows, "site=Bonn")
    np.testing.assert_array_equal(recalibrated(bonn, fitted(bonn, "vector")).probs, every.take(bonn.test_rows).probs)
    assert cc.slices.part(every, "site=Bonn").probs.tolist() == every.take(bonn.test_rows).probs.tolist()


def test_groups_stay_whole_and_the_rule_says_so():
    rows = divide(ROWS, folds=4, random_state=2)
    assert all(len(set(rows.folds[ROWS.groups == group])) == 1 for group in set(ROWS.groups))
    assert rows.rule == "cross-fitted in 4 random folds, each group in one fold"
    assert rows.warning == ""
    assert divide(ROWS, like=rows).rule == f"{rows.rule}, like the first file"
    assert rows.fit is rows.test is rows.whole


def test_the_frame_has_a_line_for_each_fold_and_one_for_what_is_judged():
    rows = within(divide(ROWS, folds=3), "site=Bonn")
    frame = rows.frame()
    assert frame["part"].tolist() == ["fold 1", "fold 2", "fold 3", "judged"]
    assert frame["rows"].tolist() == [*np.bincount(rows.folds), 80]
    first = ROWS.take(np.flatnonzero(rows.folds == 0))
    assert frame["accuracy"][0] == pytest.approx(np.average(first.correct, weights=first.weights))


def test_what_needs_rows_apart_is_refused_in_a_sentence():
    rows = divide(ROWS, folds=3)
    for learn in (lambda: rows.apart, lambda: recalibrated(rows, fitted(rows, "temperature"), "fit")):
        with pytest.raises(NotAnswerable, match=r"rows are cross-fitted, .* divide the rows in two"):
            learn()
    with pytest.raises(InputError, match="fit and test are the same rows"):
        evaluate(rows.fit, rows.test)
    assert evaluate(rows.fit, rows.test, ["identity"], ["confidence"], ["ece"])["rows"].eq(N).all()


@pytest.mark.parametrize(
    "beside", [{"share": 0.5}, {"test": ROWS}, {"like": divide(ROWS)}, {"marked": Marked([0], [1], "part")}]
)
def test_folds_stand_alone(beside):
    with pytest.raises(InputError, match="folds already divide the rows"):
        divide(ROWS, folds=3, **beside)


def test_more_folds_than_groups_are_refused():
    with pytest.raises(InputError, match="folds is 81; it must be a whole number from 2 to 80: there are 80 groups"):
        divide(ROWS, folds=81)


@pytest.mark.wide
def test_the_interval_of_a_score_covers_what_these_maps_lose():
    """Coverage is at least 80 of 100 draws of 60 rows or more; not so for isotonic maps on their fitting rows."""
    covered = {"cross-fitted": 0, "fitted rows": 0}
    for draw in range(100):
        rng = np.random.default_rng([7, draw])
        says = rng.uniform(0.5, 1, size=60)
        true = np.column_stack([says - 0.1, 1.1 - says])
        rows = divide(Predictions(np.column_stack([says, 1 - says]), (rng.random(60) > true[:, 0]) * 1), folds=5)
        ready = fitted(rows, "isotonic-ovr")
        models = {"cross-fitted": recalibrated(rows, ready), "fitted rows": ready.apply(rows.test)}
        lines = cc.inference.estimate_lines(cc.inference.estimates(models, [(None, "brier")]), 0.02, 0.9)
        for line in lines.itertuples():
            q = models[line.model].probs
            lost = (true * (1 - q) ** 2 + (1 - true) * q**2).sum(axis=1).mean()
            covered[line.model] += line.low <= lost <= line.high
    # Of 90 expected 3.3 standard errors less; of isotonic maps on their own rows about 75 were seen.
    assert covered["cross-fitted"] >= 80 > covered["fitted rows"], covered


def test_up_to_a_thousand_rows_are_cross_fitted_where_nothing_else_is_chosen():
    rows = Predictions.from_confidence(np.full(1001, 0.8), np.arange(1001) % 5 > 0)
    assert usual_folds(rows.take(np.arange(FEW)))
    assert usual_folds(rows) is None
