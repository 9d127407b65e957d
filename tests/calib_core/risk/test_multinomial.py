"""Slopes of classes: a general minimizer, logistic recalibration as a special case, simulated misses, refusals."""

import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import chi2

from calib_core import InputError, NotAnswerable, Predictions
from calib_core.risk import multinomial_slopes

sys.path.insert(0, str(Path(__file__).parents[2] / "simulations"))
import class_slopes as simulated


def rows(slope=1.0, n=600, classes=4, seed=0, **more):
    """Return classes whose log-odds are the true ones divided by ``slope``."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, classes)) + np.linspace(0.6, 0.0, classes)
    label = (x + rng.gumbel(size=x.shape)).argmax(axis=1)
    stated = np.exp(x / slope)
    return Predictions(stated / stated.sum(axis=1, keepdims=True), label, **more)


def heights(data, reference):
    """Return the maximum of the log-likelihood without a fit, with intercepts, and with both, and their numbers."""
    x = np.log(data.probs)
    x = np.delete(x - x[:, [reference]], reference, axis=1)
    m = x.shape[1]
    place = np.where(data.labels == reference, 0, data.labels + (data.labels < reference))

    def loss(v):
        line = np.column_stack([np.zeros(len(x)), v[:m] + (v[m:] if len(v) > m else 1.0) * x])
        return float(np.sum(np.logaddexp.reduce(line, axis=1) - line[np.arange(len(x)), place]))

    shift = minimize(loss, np.zeros(m), method="BFGS")
    both = minimize(loss, np.concatenate([np.zeros(m), np.ones(m)]), method="BFGS")
    return (-loss(np.zeros(m)), -shift.fun, -both.fun), shift.x, both.x[m:]


@pytest.mark.parametrize("reference", [0, 2])
def test_every_number_is_that_of_a_general_minimizer(reference):
    data = rows(0.6)
    found = multinomial_slopes(data, reference)
    (plain, shifted, fitted), shift, slope = heights(data, reference)
    frame = found.frame()
    np.testing.assert_allclose(frame["intercept"], shift, atol=1e-4)
    np.testing.assert_allclose(frame["slope"], slope, atol=1e-4)
    assert found.p_value == pytest.approx(chi2.sf(2 * (fitted - plain), 6), rel=1e-3)
    assert found.p_slopes == pytest.approx(chi2.sf(2 * (fitted - shifted), 3), rel=1e-3)
    assert frame["class"].tolist() == [str(c) for c in range(4) if c != reference]
    assert frame["rows"].tolist() == [sum(data.labels == c) for c in range(4) if c != reference]
    assert found.reference == str(reference)


def test_the_most_frequent_class_is_the_reference():
    data = rows()
    assert multinomial_slopes(data).reference == str(np.bincount(data.labels).argmax())


def test_overconfident_classes_are_named_and_calibrated_ones_are_not():
    off, right = multinomial_slopes(rows(0.4, 2000)), multinomial_slopes(rows(1.0, 2000))
    assert off.frame()["off"].all()
    assert off.sentence.startswith("Intercepts and slopes differ significantly from 0 and 1 (p < 0.0001). Slopes that")
    assert (off.frame()["slope_high"] < 0.6).all()
    assert right.p_value > 0.05
    assert right.sentence.startswith("Intercepts and slopes do not differ significantly from 0 and 1 (p = 0.")


def test_an_intercept_is_the_shift_of_one_class():
    data = rows(n=6000)
    logits = np.log(data.probs)
    logits[:, 2] += 0.5
    shifted = np.exp(logits)
    found = multinomial_slopes(data.with_probs(shifted / shifted.sum(axis=1, keepdims=True)), 0)
    assert found.frame()["intercept"].tolist() == pytest.approx([0, -0.5, 0], abs=0.15)
    assert found.p_slopes > 0.05 > found.p_value
    assert "The slopes do not differ" in found.sentence


def test_weights_that_copy_rows_are_copies_and_others_count_by_their_effective_number():
    data = rows(n=300)
    twice = np.where(np.arange(300) % 3 == 0, 2, 1)
    one, other = (
        multinomial_slopes(each, 0).frame().drop(columns="class").astype(float)
        for each in (data.replace(weights=twice), data.take(np.repeat(np.arange(300), twice)))
    )
    np.testing.assert_allclose(one, other, rtol=1e-6)
    np.testing.assert_allclose(
        multinomial_slopes(data.replace(weights=np.full(300, 0.4)), 0).frame().drop(columns="class").astype(float),
        multinomial_slopes(data, 0).frame().drop(columns="class").astype(float),
        rtol=1e-6,
    )


def test_the_stored_simulation_keeps_its_levels_and_its_twin_does_not():
    table = simulated.frame()
    assert len(table) == len(simulated.CASES)
    chance = 3 * np.sqrt(0.05 * 0.95 / 1000)
    assert table[["low_misses", "high_misses"]].max().max() <= 0.05 + chance
    assert table["half"].min() > 0.3
    calibrated = table[table["slope"] == 1]
    assert calibrated["intercept_misses"].max() <= 0.1 + 3 * np.sqrt(0.09 / 1000)
    assert calibrated["any"].max() <= 0.05 + chance
    # The joint tests are by chi-square: in few rows they reject a little too often, as their docstring states.
    few = calibrated["rows"] <= 200
    assert calibrated.loc[~few, ["all", "slopes"]].max().max() <= 0.05 + chance
    assert calibrated.loc[few, ["all", "slopes"]].max().max() <= 0.07 + chance
    assert table.loc[table["slope"] != 1, "slopes"].min() > 0.5
    again = simulated.line(200, 3, 1.0, 60)
    (stored,) = table[(table["rows"] == 200) & (table["slope"] == 1)].to_dict("records")
    for name in ("low_misses", "high_misses", "half", "all"):
        spread = np.sqrt(max(stored[name] * (1 - stored[name]), 0.02) / 60)
        assert abs(again[name] - stored[name]) <= 4 * spread


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (lambda: rows(classes=2), "3 to 10 classes, and there are 2: see calibration intercept"),
        (lambda: rows(classes=12, n=2000), "there are 12"),
        (lambda: rows(n=30), "at least 10 rows of every class"),
        (lambda: rows(groups=np.arange(600) // 2), "independent rows"),
        (lambda: Predictions(np.full((90, 3), 1 / 3), [0, 1, 2] * 30), "all equal"),
        (lambda: Predictions.from_confidence([0.7] * 90, [True] * 90), "a probability for every class"),
        (lambda: Predictions(np.tile(np.eye(3) * 0.7 + 0.1, (30, 1)), [0, 1, 2] * 30), "separate the classes"),
    ],
)
def test_other_rows_are_refused_in_a_sentence(data, why):
    with pytest.raises(NotAnswerable, match=why):
        multinomial_slopes(data())


def test_a_reference_that_is_no_class_is_refused():
    with pytest.raises(InputError, match="reference"):
        multinomial_slopes(rows(), 4)
