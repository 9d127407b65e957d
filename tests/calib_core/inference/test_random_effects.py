"""Random-effects meta-analysis: values of R's metafor, hand arithmetic, and the stored simulation of coverage."""

import math
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import t

from calib_core import InputError, NotAnswerable
from calib_core.inference import random_effects

sys.path.insert(0, str(Path(__file__).parents[2] / "simulations"))
import random_effects as simulated

Y = [-0.35, 0.10, 0.22, -0.05, 0.41, -0.62, 0.03]
S = [0.10, 0.15, 0.20, 0.08, 0.25, 0.18, 0.12]
# R 4.2.2, metafor 3.8-1:
# r <- rma(Y, sei=S, method="REML", test="adhoc", control=list(threshold=1e-13, maxiter=1000))
# c(r$beta, r$ci.lb, r$ci.ub, r$tau2, r$I2/100, r$QEp, r$se); sqrt(confint(r)$random["tau^2", 2:3])
METAFOR = {
    "reml": {
        "mean": -0.060116006101565,
        "low": -0.363983967870997,
        "high": 0.243751955667867,
        "tau": math.sqrt(0.074553138700576),
        "i2": 0.81067888614805725,
        "p_value": 0.000395040868213,
        "error": 0.124184269910354,
        "tau_low": 0.1303411951882,
        "tau_high": 0.741659995182,
    },
    # the same with method="DL"
    "dl": {
        "mean": -0.064669607494090,
        "low": -0.363777090731149,
        "high": 0.234437875742969,
        "tau": math.sqrt(0.054140581320791),
        "i2": 0.75666827627837478,
        "p_value": 0.000395040868213,
        "error": 0.122238765199939,
    },
}


@pytest.mark.parametrize("method", METAFOR)
def test_every_number_is_that_of_metafor(method):
    found = random_effects(Y, S, 0.95, method)
    for name, value in METAFOR[method].items():
        # metafor searches the ends of tau to 1e-4.
        assert getattr(found, name) == pytest.approx(value, rel=1e-5 if name.startswith("tau_") else 1e-8), name
    assert found.places == 7


def test_the_prediction_is_that_of_draws_made_one_by_one():
    found, rng, k = random_effects(Y, S, 0.9), np.random.default_rng(7), len(Y)
    y, v = np.array(Y), np.square(S)

    def q(tau2):
        w = 1 / (v + tau2)
        return float(w @ np.square(y - w @ y / w.sum()))

    drawn = []
    for _ in range(3000):
        target = rng.chisquare(k - 1)
        tau2 = 0.0 if q(0.0) <= target else brentq(lambda tau2, target=target: q(tau2) - target, 0, 1e3)
        w = 1 / (v + tau2)
        drawn.append(w @ y / w.sum() + math.sqrt(tau2) * rng.normal() + found.error * rng.standard_t(k - 1))
    width = found.new_high - found.new_low
    assert np.quantile(drawn, [0.05, 0.95]) == pytest.approx((found.new_low, found.new_high), abs=0.05 * width)
    # Tau taken as known, as is usual, gives a narrower interval.
    assert width > 1.05 * 2 * t.isf(0.05, k - 2) * math.hypot(found.tau, found.error)


def test_places_that_agree_too_well_have_the_interval_of_a_fixed_effect():
    # rma(c(.1,.12,.09), sei=c(.2,.3,.25), method="REML", test="adhoc"): without max(1, q), the interval would be tiny.
    found = random_effects([0.1, 0.12, 0.09], [0.2, 0.3, 0.25], 0.95)
    assert (found.mean, found.low, found.high) == pytest.approx((0.101194029851, -0.494840099721, 0.697228159423))
    assert (found.tau, found.tau_low, found.tau_high, found.i2) == (0, 0, 0, 0)


def test_equal_errors_are_hand_arithmetic():
    y = np.array([0.0, 0.3, 0.9, 0.4])
    found = random_effects(y, [0.1] * 4, 0.9)
    variance = y.var(ddof=1)
    assert found.mean == pytest.approx(y.mean())
    assert found.tau**2 == pytest.approx(variance - 0.01)
    assert found.high - found.mean == pytest.approx(t.isf(0.05, 3) * math.sqrt(variance / 4))
    assert found.i2 == pytest.approx((variance - 0.01) / variance)


def test_two_places_have_a_mean_and_no_prediction():
    found = random_effects([0.0, 1.0], [0.1, 0.1])
    assert found.mean == pytest.approx(0.5)
    assert (found.new_low, found.new_high) == (-math.inf, math.inf)


@pytest.mark.parametrize(
    ("values", "errors", "options", "why"),
    [
        ([0.1], [0.1], {}, "at least 2 places"),
        ([0.1, 0.2], [0.1], {}, "equally many finite numbers"),
        ([0.1, 0.2], [0.1, 0.0], {}, "errors above 0"),
        ([0.1, math.inf], [0.1, 0.1], {}, "finite"),
        ([0.1, 0.2], [0.1, 0.1], {"method": "ml"}, "method is 'ml'"),
    ],
)
def test_other_numbers_are_refused_in_a_sentence(values, errors, options, why):
    with pytest.raises((InputError, NotAnswerable), match=why):
        random_effects(values, errors, **options)


def test_the_stored_simulation_covers_and_its_twin_does_not():
    table = simulated.frame()
    pooled = table[table["kind"] == "pooled"]
    assert len(pooled) == 3 * len(simulated.PLACES) * len(simulated.TAUS)
    # Three standard errors of 1,000 samples below 90 %.
    assert pooled["coverage"].min() >= 0.9 - 3 * math.sqrt(0.09 / 1000)
    many = pooled[(pooled["tau"] > 0) & (pooled["places"] >= 5)]
    assert many["half"].max() < 0.8
    sites = table[table["kind"] == "sites"]
    assert len(sites) == 3 * len(simulated.SITES)
    joint = sites[sites["measure"] != "pooled intercept"]
    assert joint["coverage"].min() >= 0.9 - 3 * math.sqrt(0.09 / 400)
    assert joint["half"].max() < 0.75
    assert sites.loc[sites["measure"] == "pooled intercept", "coverage"].min() >= 0.9 - 3 * math.sqrt(0.09 / 400)


def test_lines_made_again_are_those_of_the_table():
    table = simulated.frame()
    made = simulated.pooled(5, 0.3, 150)
    stored = table[(table["places"] == 5) & (table["tau"] == 0.3) & (table["kind"] == "pooled")]
    for line in made:
        share = float(stored.loc[stored["measure"] == line["measure"], "coverage"].iloc[0])
        assert abs(line["coverage"] - share) <= 4 * math.sqrt(max(share * (1 - share), 0.02) / 150)
