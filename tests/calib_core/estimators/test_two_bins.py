"""The averaged two-bin error: by hand, by slow twins over thresholds and over pairs, truthful, with valid intervals."""

import itertools

import numpy as np
import pytest
from generated import full_predictions
from hypothesis import given

from calib_core import ESTIMATORS, REDUCTIONS, Predictions, estimate
from calib_core.estimators import TwoBin
from calib_core.inference import noise_floor
from calib_core.predictions.predictions import NotAnswerable

NOTIONS = ["confidence", "top-label", "class-wise", "top-k-label"]


def flat(scores, outcomes, weights=None):
    return Predictions.from_confidence(np.asarray(scores), np.asarray(outcomes, dtype=bool), weights=weights)


def by_thresholds(scores, outcomes, weights):
    """Sum the two squared sums of every threshold between neighboring scores, times the distance of the neighbors."""
    ends, total = sorted({0.0, 1.0, *scores}), 0.0
    rows = list(zip(scores, outcomes, weights, strict=True))
    for low, high in itertools.pairwise(ends):
        below = sum(w * (float(z) - s) for s, z, w in rows if s <= low)
        above = sum(w * (float(z) - s) for s, z, w in rows if s > low)
        total += (high - low) * (below**2 + above**2)
    return total / sum(weights) ** 2


def by_pairs(scores, outcomes, weights):
    """Return the same number as a sum over all pairs, including each row with itself."""
    s, r = np.asarray(scores), np.asarray(weights) * (np.asarray(outcomes, dtype=float) - scores)
    return float(r @ (1 - np.abs(s[:, None] - s)) @ r) / sum(weights) ** 2


def test_by_hand():
    """Residuals .8, -.4, .1: v up to .2: .5^2; up to .4: .8^2 + .3^2; up to .9: .4^2 + .1^2; then .5^2; over 9."""
    p = flat([0.2, 0.4, 0.9], [1, 0, 1])
    wanted = (0.2 * 0.25 + 0.2 * (0.64 + 0.09) + 0.5 * (0.16 + 0.01) + 0.1 * 0.25) / 9
    assert estimate(p, "confidence", "two-bin").value == pytest.approx(wanted, abs=1e-15)


@pytest.mark.parametrize("notion", NOTIONS)
@given(predictions=full_predictions(max_rows=25))
def test_it_equals_its_slow_twins(notion, predictions):
    claims = REDUCTIONS.make(notion).split(predictions)
    found = TwoBin()(claims).per_stratum
    for s in range(len(claims.strata)):
        stratum = claims.stratum(s)
        if stratum.total <= 0:
            assert np.isnan(found[s])
            continue
        weights = np.ones(len(stratum.scores)) if stratum.weights is None else stratum.weights
        rows = stratum.scores.astype(float).tolist(), stratum.outcomes.tolist(), weights.tolist()
        for twin in (by_thresholds, by_pairs):
            assert found[s] == pytest.approx(twin(*rows), abs=1e-12)


@given(predictions=full_predictions())
def test_its_root_lies_between_the_distance_of_the_means_and_the_finest_ece(predictions):
    keys = (("two-bin", None), ("ece", 1), ("ece", "distinct"), ("max-deviation", None))
    square, mean, finest, cutoff = (estimate(predictions, "confidence", key, bins).value for key, bins in keys)
    root = np.sqrt(square)
    assert mean / np.sqrt(2) <= root + 1e-9
    assert root <= min(finest, np.sqrt(2) * cutoff) + 1e-9


def expected(scores, chances, key, bins=None):
    """Return the mean over all outcomes of an error, each set of outcomes weighted by its chance."""
    n, total = len(scores), 0.0
    for code in range(2**n):
        came = np.array([code >> i & 1 for i in range(n)], dtype=bool)
        chance = np.prod(np.where(came, chances, 1 - chances))
        total += chance * estimate(flat(scores, came), "confidence", key, bins).value
    return total


def test_no_other_scores_have_a_smaller_mean_than_the_true_chances():
    """All 32 outcomes of five rows are enumerated. The falsified twin: an ECE in bins rewards untrue scores."""
    chances = np.array([0.15, 0.3, 0.45, 0.6, 0.9])
    noise = float((chances * (1 - chances)).sum()) / 25
    honest = expected(chances, chances, "two-bin")
    assert honest == pytest.approx(noise, abs=1e-12)
    lies = [np.full(5, chances.mean()), np.round(chances), np.sqrt(chances), [0.14, 0.3, 0.45, 0.6, 0.9]]
    for scores in lies:
        gap = chances - scores
        true = by_pairs(scores, np.asarray(scores) + gap, np.ones(5))
        assert expected(scores, chances, "two-bin") == pytest.approx(noise + true, abs=1e-12)
        assert true >= -1e-15, "and 0 for one score, the mean of the chances: a calibrated one"
    assert expected(lies[0], chances, "ece", 10) < expected(chances, chances, "ece", 10) - 0.05


def test_the_floor_has_the_mean_that_the_docstring_says():
    rng = np.random.default_rng(0)
    scores = rng.beta(5, 1.3, 400)
    floor = noise_floor(estimate(flat(scores, rng.random(400) < scores), "confidence", "two-bin").question, 1000)
    assert floor.mean == pytest.approx(float((scores * (1 - scores)).mean()) / 400, rel=0.1)


WIDE = pytest.param("network", marks=pytest.mark.wide)


@pytest.mark.parametrize("law", [WIDE, "certain", "ten rows"])
def test_calibrated_models_are_rejected_no_more_often_than_stated(law):
    rng, n = np.random.default_rng(3), 10 if law == "ten rows" else 60
    runs, found = 80, []
    for run in range(runs):
        scores = {"network": 1 - rng.beta(0.4, 4, n), "certain": np.ones(n)}.get(law, rng.random(n))
        p = flat(scores, rng.random(n) < scores)
        found.append(noise_floor(estimate(p, "confidence", "two-bin").question, 199, run).p_value)
    assert np.mean(np.array(found) <= 0.1) <= 0.1 + 3 * np.sqrt(0.09 / runs)


@pytest.mark.parametrize("truth", ["shifted", "calibrated"])
@pytest.mark.parametrize("law", [WIDE, "exactly 1", "ten rows"])
def test_the_interval_holds_the_true_error(law, truth):
    """The scores are not in the coverage table; half the interval, the falsified twin, fails if there is an error."""
    rng, n = np.random.default_rng(11), 10 if law == "ten rows" else 80
    scores = {"network": 1 - rng.beta(0.4, 4, n), "exactly 1": np.where(np.arange(n) % 3, 1.0, 0.9)}.get(law)
    scores = np.sort(rng.random(n)) if scores is None else scores
    chances = scores if truth == "calibrated" else np.maximum(scores - 0.12, 0)
    aim, held, half, runs = by_pairs(scores, chances, np.ones(n)), 0, 0, 60
    for _ in range(runs):
        got = estimate(flat(scores, rng.random(n) < chances), "confidence", "two-bin").interval()
        assert got.low < got.high
        held += got.low - 1e-12 <= aim <= got.high
        inner = [(end + got.point) / 2 for end in (got.low, got.high)]
        half += inner[0] - 1e-12 <= aim <= inner[1]
    assert held / runs >= 0.9 - 3 * np.sqrt(0.09 / runs)
    if truth == "calibrated":
        assert half / runs < 0.5


def test_rows_that_belong_together_are_refused_an_interval():
    p = Predictions([[0.8, 0.2]] * 60, [0, 1, 0] * 20, groups=np.arange(60) // 3)
    with pytest.raises(NotAnswerable, match="rows belong to 20 groups"):
        estimate(p, "confidence", "two-bin").interval()


def test_it_is_a_square_and_says_so():
    assert ESTIMATORS["two-bin"].flags.scale(TwoBin()).squared
    assert "squared" in ESTIMATORS["two-bin"].title
