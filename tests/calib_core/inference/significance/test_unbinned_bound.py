"""The bin-free error bound: its terms by cell, and its validity under its assumption."""

import numpy as np
import pytest

from calib_core import InputError, Predictions, estimate
from calib_core.binning import EqualMass, EqualWidth
from calib_core.estimators import Binned
from calib_core.inference import unbinned_bound
from calib_core.inference.significance import calibration_tests
from calib_core.inference.significance.calibration_tests import gini_mean_difference
from calib_core.predictions.predictions import NotAnswerable
from calib_core.text import short_percent


def all_pairs(scores, weights, codes, cells):
    """Return the mean difference pair by pair."""
    found = np.zeros(cells)
    for c in range(cells):
        mine = np.flatnonzero(codes == c)
        total = sum(weights[i] * weights[j] for i in mine for j in mine)
        apart = sum(weights[i] * weights[j] * abs(scores[i] - scores[j]) for i in mine for j in mine)
        found[c] = apart / total if total > 0 else 0.0
    return found


@pytest.mark.parametrize("weights", ["none", "real", "some 0"])
def test_the_gini_mean_difference_is_that_of_all_pairs(weights):
    rng = np.random.default_rng(0)
    s, codes = np.round(rng.random(80), 2), rng.integers(5, size=80)
    w = {"none": np.ones(80), "real": rng.exponential(size=80), "some 0": rng.integers(0, 3, 80).astype(float)}[weights]
    codes[codes == 3] = 4  # an empty cell
    np.testing.assert_allclose(gini_mean_difference(s, w, codes, 6), all_pairs(s, w, codes, 6), atol=1e-14)


def test_differences_within_cells_far_from_the_first_keep_their_digits():
    s = np.append(np.full(100_000, 0.3), [0.9, 0.9 + 1e-9])
    codes = np.append(np.zeros(100_000, int), [1, 1])
    assert gini_mean_difference(s, np.ones(len(s)), codes, 2)[1] == pytest.approx(5e-10, rel=1e-5)


def test_the_mean_absolute_deviation_does_not_bound_what_hides_in_a_cell():
    """S = -1, 0, 0, 0, 0, 1 and g = |S| - E|S|: slope 1, mean 0, yet E|g| is above MAD, and not above GMD."""
    s = np.array([-1.0, 0, 0, 0, 0, 1.0])
    g = np.abs(s) - np.abs(s).mean()
    deviation = np.abs(s - s.mean()).mean()
    difference = gini_mean_difference(s, np.ones(6), np.zeros(6, int), 1)[0]
    assert deviation < np.abs(g).mean() <= difference


@pytest.mark.parametrize("notion", ["confidence", "top-label", "class-wise"])
@pytest.mark.parametrize("assumption", ["lipschitz", "monotone"])
def test_the_bound_is_its_parts(notion, assumption):
    rng = np.random.default_rng(1)
    p = rng.dirichlet(np.ones(3), 90)
    made = Predictions(p, rng.integers(3, size=90))
    bound = unbinned_bound(made, notion, assumption, 2.0, bins=4)
    binned = estimate(made, notion, Binned(EqualWidth(4)))
    added, claims = 0.0, binned.question.claims
    for k, share in enumerate(claims.shares):
        s = claims.stratum(k).scores
        cells = [
            s[(s >= low) & (s < high)] for low, high in zip([0, 0.25, 0.5, 0.75], [0.25, 0.5, 0.75, 2], strict=True)
        ]
        weight = np.array([len(c) / len(s) for c in cells])
        if assumption == "lipschitz":
            within = sum(w * 2 * np.abs(c[:, None] - c).mean() for w, c in zip(weight, cells, strict=True) if len(c))
        else:
            within = sum(w * np.abs(c - c.mean()).mean() for w, c in zip(weight, cells, strict=True) if len(c))
            within += weight.max() / 2
        added += share * within
    assert bound.added == pytest.approx(added)
    assert bound.binned == binned.interval(0.9).high
    assert bound.value == min(1.0, bound.binned + bound.added)
    assert f"at most {short_percent(bound.value)}" in bound.sentence
    assert "one-sided 95 % confidence" in bound.sentence


def test_the_level_is_one_sided_and_copies_are_rows():
    rng = np.random.default_rng(2)
    h, w = rng.random(60), rng.integers(0, 3, 60)
    right = rng.random(60) < h
    p = Predictions.from_confidence(h, right, weights=w)
    at = np.repeat(np.arange(60), w)
    assert unbinned_bound(p) == unbinned_bound(Predictions.from_confidence(h[at], right[at]))
    ends = [unbinned_bound(p, level=level) for level in (0.8, 0.95, 0.99)]
    assert ends[0].value < ends[1].value < ends[2].value
    assert ends[0].binned == estimate(p, "confidence", Binned(ends[0].bins)).interval(0.6).high


def test_the_bins_are_placed_from_scores_and_grow_with_the_rows():
    h = np.linspace(0.2, 0.9, 40_000)
    for n, bins in ((100, 10), (900, 20), (40_000, 100)):
        p = Predictions.from_confidence(h[:: 40_000 // n][:n], np.arange(n) % 2 == 0)
        assert unbinned_bound(p, bins=None if n < 40_000 else "equal-mass").bins == EqualMass(
            bins if n < 40_000 else 15
        )
        assert calibration_tests._number(p, estimate(p).question.claims) == bins


SIMULATED = {
    "smooth": (lambda s: 0.12 * np.sin(2 * np.pi * s), 0.75),
    "steps up": (lambda s: np.floor(12 * s) / 12 + 1 / 24 - s, None),
    "waves": (lambda s: 0.08 * np.sin(3 * 2 * np.pi * s), 1.51),
}


def scores_for(law, n, rng):
    return rng.random(n) if law == "uniform" else rng.beta(5, 1.3, n)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("law", ["uniform", "network"])
@pytest.mark.parametrize("curve", list(SIMULATED))
def test_the_bound_holds_where_its_assumption_does(law, curve):
    rng, missed, runs = np.random.default_rng(3), 0, 25
    gap, constant = SIMULATED[curve]
    for _ in range(runs):
        s = scores_for(law, 1500, rng)
        true = np.clip(s + gap(s), 0, 1)
        p = Predictions.from_confidence(s, rng.random(1500) < true)
        assumed = ("monotone", 1.0) if constant is None else ("lipschitz", constant)
        missed += unbinned_bound(p, "confidence", *assumed).value < np.abs(true - s).mean()
    assert missed / runs <= 0.05 + 3 * (0.05 * 0.95 / runs) ** 0.5


def test_where_the_assumption_is_false_the_bound_is_too_low():
    """The falsified twin: 15 cycles of steps, hidden by 15 bins, satisfy neither slope 1 nor a rising curve."""
    rng, low, runs = np.random.default_rng(4), 0, 20
    for _ in range(runs):
        s = rng.random(8000)
        true = np.clip(s + np.where((30 * s) % 2 < 1, 0.1, -0.1), 0, 1)
        p = Predictions.from_confidence(s, rng.random(8000) < true)
        low += unbinned_bound(p, bins=15, constant=0.2).value < np.abs(true - s).mean()
    assert low / runs > 0.9


def test_what_cannot_be_asked_says_why():
    p = Predictions([[0.7, 0.3]] * 4, [0, 1, 0, 0])
    for wrong in ({"assumption": "smooth"}, {"constant": -1.0}, {"constant": np.nan}, {"level": 0.4}, {"level": 1.0}):
        with pytest.raises(InputError):
            unbinned_bound(p, **wrong)
    with pytest.raises(NotAnswerable, match="canonical"):
        unbinned_bound(p, "canonical")
    assert "changes by at most 0.5 times x" in unbinned_bound(p, constant=0.5).sentence
    assert "never decreases" in unbinned_bound(p, assumption="monotone").sentence
    assert unbinned_bound(p, assumption="monotone").constant is None
