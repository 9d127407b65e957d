"""The closed testing procedure: refits by a general minimizer, its level, its power, and what it refuses."""

import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import chi2

import calib_core as cc
from calib_core import NotAnswerable, Predictions
from calib_core.evaluation.update_test import INTERCEPT, LOGISTIC, NO_UPDATE, update_test

sys.path.insert(0, str(Path(__file__).parents[2] / "simulations"))
import update_tests as simulated


def rows(stated, seed=0, n=800, **more):
    """Return a risk whose log-odds are ``stated`` of the true ones."""
    rng = np.random.default_rng(seed)
    x = rng.normal(-1.5, 1.0, n)
    died = (rng.random(n) < 1 / (1 + np.exp(-x))).astype(int)
    p = 1 / (1 + np.exp(-stated(x)))
    return Predictions(np.column_stack([1 - p, p]), died, **more)


CASES = {NO_UPDATE: lambda x: x, INTERCEPT: lambda x: x + 0.6, LOGISTIC: lambda x: 1.6 * x + 0.4}


@pytest.mark.parametrize("update", CASES)
def test_every_number_is_that_of_a_general_minimizer(update):
    data = rows(CASES[update])
    found = update_test(data)
    p, y = data.probs[:, 1], data.labels
    x = np.log(p / (1 - p))

    def loss(a, b):
        line = a + b * x
        return float(np.sum(np.logaddexp(0, line) - y * line))

    fits = [
        (0.0, 1.0),
        (minimize(lambda v: loss(v[0], 1.0), [0.0]).x[0], 1.0),
        tuple(minimize(lambda v: loss(*v), [0.0, 1.0]).x),
    ]
    frame = found.frame()
    np.testing.assert_allclose(frame[["intercept", "slope"]], fits, atol=1e-4)
    statistic = [2 * (loss(*fit) - loss(*fits[2])) for fit in fits[:2]]
    np.testing.assert_allclose(frame["statistic"][:2], statistic, atol=1e-6)
    np.testing.assert_allclose(frame["p"][:2], chi2.sf(statistic, [2, 1]), rtol=1e-5)
    assert found.update == update
    assert frame.loc[frame["chosen"], "update"].tolist() == [update]
    assert "closed testing procedure" in found.sentence


def test_the_fitted_updates_are_those_of_the_calibrators():
    data = rows(CASES[LOGISTIC])
    frame = update_test(data).frame().set_index("update")
    for key, line in (("intercept", INTERCEPT), ("logistic-recalibration", LOGISTIC)):
        after = cc.CALIBRATORS.make(key).fit_on(data).apply(data).probs[:, 1]
        x = np.log(data.probs[:, 1] / data.probs[:, 0])
        updated = 1 / (1 + np.exp(-(frame.loc[line, "intercept"] + frame.loc[line, "slope"] * x)))
        np.testing.assert_allclose(after, updated, atol=1e-4)


def test_copies_of_rows_count_as_rows_and_other_weights_by_their_effective_number():
    data = rows(CASES[INTERCEPT], n=300)
    twice = np.where(np.arange(300) % 3 == 0, 2, 1)
    copied = data.take(np.repeat(np.arange(300), twice))
    one, other = update_test(data.replace(weights=twice)).frame(), update_test(copied).frame()
    np.testing.assert_allclose(one.drop(columns="update").astype(float), other.drop(columns="update").astype(float))
    same = update_test(data.replace(weights=np.full(300, 0.37)))
    assert same.p_any == pytest.approx(update_test(data).p_any)
    uneven = update_test(data.replace(weights=np.random.default_rng(1).gamma(1.0, 1.0, 300)))
    assert np.isfinite(uneven.p_any)
    assert uneven.table["log_likelihood"][0] > update_test(data).table["log_likelihood"][0] * 0.75


def forward(table):
    """The falsified twin: tests of one number each, one after the other, which add up their errors."""
    height = table["log_likelihood"]
    if chi2.sf(2 * (height[2] - height[1]), 1) <= 0.05:
        return LOGISTIC
    return INTERCEPT if chi2.sf(2 * (height[1] - height[0]), 1) <= 0.05 else NO_UPDATE


def test_a_calibrated_risk_is_updated_in_at_most_five_percent_of_samples():
    draws = 300
    found = [update_test(rows(CASES[NO_UPDATE], seed, 250)) for seed in range(draws)]
    assert np.mean([each.update != NO_UPDATE for each in found]) <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / draws)
    # Two tests at 5 % each find an unneeded update in nearly 10 %.
    assert np.mean([forward(each.frame()) != NO_UPDATE for each in found]) > 0.068


def test_the_stored_simulation_keeps_the_level_and_finds_what_there_is():
    table = simulated.frame()
    known = table[table["answered"] >= 0.5]
    assert set(table["rows"]) == set(simulated.ROWS)
    assert set(table["rate"]) == set(simulated.RATES)
    assert len(known) >= 14
    assert known[["too_far_none", "too_far_intercept"]].max().max() <= simulated.MOST
    many = table[(table["rows"] == 5000) & (table["rate"] == 0.2)].iloc[0]
    assert min(many["found_intercept"], many["found_slope"]) > 0.99
    again = simulated.line(200, 0.2, 60)
    stored = table[(table["rows"] == 200) & (table["rate"] == 0.2)].iloc[0]
    for name in ("too_far_none", "too_far_intercept", "found_intercept", "found_slope"):
        spread = np.sqrt(max(stored[name] * (1 - stored[name]), 0.02) * (1 / 60 + 1 / 1000))
        assert abs(again[name] - stored[name]) <= 3.5 * spread


def test_rows_without_enough_events_are_refused_in_a_sentence():
    with pytest.raises(NotAnswerable, match="at least 10 events; there are 3"):
        update_test(Predictions([[0.9, 0.1], [0.8, 0.2]] * 30, [1, 1, 1] + [0] * 57))
    with pytest.raises(NotAnswerable, match="at least 10 rows without the event; there are 2"):
        update_test(Predictions([[0.9, 0.1], [0.8, 0.2]] * 30, [0, 0] + [1] * 58))
    with pytest.raises(NotAnswerable, match="all predicted risks are equal"):
        update_test(Predictions([[0.9, 0.1]] * 60, [0, 1] * 30))
    with pytest.raises(NotAnswerable, match="independent rows"):
        update_test(rows(CASES[NO_UPDATE], groups=np.arange(800) // 4))
    with pytest.raises(NotAnswerable, match="separate events"):
        update_test(Predictions([[0.9, 0.1]] * 30 + [[0.2, 0.8]] * 30, [0] * 30 + [1] * 30))
    with pytest.raises(NotAnswerable):
        update_test(Predictions(np.full((60, 3), 1 / 3), [0, 1, 2] * 20))
