"""The swept ECE and the cumulative deviation: by hand, loops as twins, ties and weights."""

from itertools import pairwise

import numpy as np
import pytest
from generated import asked_of, copies, full_predictions, permuted
from hypothesis import given
from hypothesis import strategies as st

from calib_core import ESTIMATORS, REDUCTIONS, Predictions, estimate
from calib_core.binning import Distinct, EqualMass
from calib_core.estimators import Binned, EceSweep, MaxDeviation
from calib_core.estimators import swept_bins as module
from calib_core.reductions import Confidence

NOTIONS = [key for key in REDUCTIONS if key != "canonical"]


def flat(scores, outcomes, **more):
    return Predictions.from_confidence(np.array(scores, float), np.array(outcomes, bool), **more)


# ---- ECE sweep ------------------------------------------------------------------------------------------------


def test_the_sweep_by_hand():
    """Outcomes 0 0 1 | 1 0 1: two bins 1/3, 2/3; three bins 0, 1, 1/2 fall: two bins are used.

    Scores .1 .2 .3 .5 .6 .7: distances |0.2 - 1/3| and |0.6 - 2/3|, each for half of the rows.
    """
    made = estimate(flat([0.1, 0.2, 0.3, 0.5, 0.6, 0.7], [0, 0, 1, 1, 0, 1]), "confidence", "ece-sweep")
    assert made.bins.count.tolist() == [[3, 3]]
    assert made.value == pytest.approx(((1 / 3 - 0.2) + (2 / 3 - 0.6)) / 2)


def test_the_walk_stops_at_the_first_fall_though_more_bins_would_rise_again():
    """Outcomes 1 0 0 1: two bins 1/2, 1/2 do not fall; three (1 0 | 0 | 1) do. With 1 1 0 1 two bins fall: one."""
    scores = [0.2, 0.4, 0.6, 0.8]
    assert estimate(flat(scores, [1, 0, 0, 1]), "confidence", "ece-sweep").bins.n_bins.tolist() == [2]
    assert estimate(flat(scores, [1, 1, 0, 1]), "confidence", "ece-sweep").bins.n_bins.tolist() == [1]


def test_outcomes_that_never_fall_give_a_bin_per_distinct_score():
    p = flat([0.1, 0.1, 0.5, 0.7, 0.7, 0.9], [0, 0, 0, 1, 1, 1])
    made = estimate(p, "confidence", "ece-sweep")
    assert made.bins.n_bins.tolist() == [4]
    assert made.value == pytest.approx(estimate(p, "confidence", Binned(Distinct())).value)
    assert estimate(flat([0.2, 0.8], [1, 1]), "confidence", "ece-sweep").value == pytest.approx(0.5)


def slowly(scores, outcomes):
    """Return the ECE of the last B before the means fall, with each B from EqualMass and plain means."""
    order = np.argsort(scores, kind="stable")
    scores, outcomes = scores[order], outcomes[order].astype(float)
    kept = None
    for bins in range(1, len(scores) + 1):
        at = np.searchsorted(EqualMass(bins).edges(scores, None), scores, side="right")
        members = [at == b for b in range(at.max() + 1)]
        means = [outcomes[m].mean() for m in members]
        if any(later < earlier - 1e-12 for earlier, later in pairwise(means)):
            break
        kept = sum(m.sum() * abs(outcomes[m].mean() - scores[m].astype(float).mean()) for m in members) / len(scores)
    return kept


@pytest.mark.parametrize("notion", NOTIONS)
@given(predictions=full_predictions(weighted=False))
def test_the_sweep_equals_its_loop_in_every_stratum(notion, predictions):
    predictions = asked_of(notion, predictions)
    claims = REDUCTIONS.make(notion).split(predictions)
    made = EceSweep()(claims)
    for s in range(len(claims.strata)):
        stratum = claims.stratum(s)
        if len(stratum.scores):
            assert made.per_stratum[s] == pytest.approx(slowly(stratum.scores, stratum.outcomes), abs=1e-12)
        else:
            assert np.isnan(made.per_stratum[s])
    known = ~np.isnan(made.per_stratum)
    assert made.value == pytest.approx((claims.shares * made.per_stratum)[known].sum(), abs=1e-12)
    if not np.isnan(made.per_stratum).all():
        of_table = Binned().of_table(made.bins).per_stratum
        np.testing.assert_allclose(of_table[known], made.per_stratum[known], atol=1e-12)


@given(predictions=full_predictions(weighted="whole"))
def test_bins_reached_with_whole_weights_are_those_of_copies(predictions):
    weighed, written = (estimate(p, "top-label", "ece-sweep").bins for p in (predictions, copies(predictions)))
    np.testing.assert_allclose(weighed.count, written.count)


def test_a_table_too_large_is_left_out(monkeypatch):
    p = flat([0.2, 0.4, 0.6], [0, 1, 1])
    with_table = estimate(p, "confidence", "ece-sweep")
    monkeypatch.setattr(module, "_TABLE_CELLS", 2)
    without = estimate(p, "confidence", "ece-sweep")
    assert with_table.bins.n_bins.tolist() == [3]
    assert without.bins is None
    assert without.value == with_table.value
    assert without.table["value"].tolist() == [without.value]


def test_the_sweep_is_nearer_the_truth_than_15_bins():
    """Roelofs et al. 2022: less bias than the ECE of 15 equal-mass bins for small samples of a calibrated model."""
    rng = np.random.default_rng(0)
    swept, fixed = [], []
    for _ in range(100):
        scores = rng.beta(5, 1.3, 300)
        p = flat(scores, rng.random(300) < scores)
        swept.append(estimate(p, "confidence", "ece-sweep").value)
        fixed.append(estimate(p, "confidence", Binned(EqualMass(15))).value)
    assert np.mean(swept) < 0.8 * np.mean(fixed)


# ---- cumulative deviation -------------------------------------------------------------------------------------


def test_the_deviation_by_hand():
    """D after each row, times 4: -0.1, 0.5, 1.1 (0.6 and 0.4 came true), 0.2. Largest less smallest: 1.2 of 4."""
    p = flat([0.1, 0.4, 0.4, 0.9], [0, 1, 1, 0])
    assert estimate(p, "confidence", "max-deviation").value == pytest.approx((1.1 + 0.1) / 4)


def test_equal_scores_are_summed_as_one():
    """Half came true at one score: the deviation is 0 for any order of the rows."""
    for outcomes in ([1, 1, 0, 0], [0, 0, 1, 1], [1, 0, 1, 0]):
        assert estimate(flat([0.5] * 4, outcomes), "confidence", "max-deviation").value == 0


def test_errors_of_opposite_sign_do_not_cancel():
    """Too low below, too high above: the mean difference is 0, the deviation is half of a half each."""
    p = flat([0.25] * 50 + [0.75] * 50, [1] * 50 + [0] * 50)
    assert estimate(p, "confidence", "ece", 1).value == 0
    assert estimate(p, "confidence", "max-deviation").value == pytest.approx(0.375)


def loop(scores, outcomes, weights):
    """Return the largest summed difference over every interval of distinct scores."""
    values = sorted(set(scores))
    steps = [
        sum(w * (float(z) - s) for s, z, w in zip(scores, outcomes, weights, strict=True) if s == v) for v in values
    ]
    ends = np.concatenate([[0.0], np.cumsum(steps)])
    return max(abs(b - a) for i, a in enumerate(ends) for b in ends[i:]) / sum(weights)


@pytest.mark.parametrize("notion", NOTIONS)
@given(predictions=full_predictions(max_rows=30))
def test_the_deviation_equals_its_loop(notion, predictions):
    predictions = asked_of(notion, predictions)
    claims = REDUCTIONS.make(notion).split(predictions)
    made = MaxDeviation()(claims)
    for s in range(len(claims.strata)):
        stratum = claims.stratum(s)
        if stratum.total <= 0:
            assert np.isnan(made.per_stratum[s])
            continue
        weights = np.ones(len(stratum.scores)) if stratum.weights is None else stratum.weights
        found = loop(stratum.scores.astype(float).tolist(), stratum.outcomes.tolist(), weights.tolist())
        assert made.per_stratum[s] == pytest.approx(found, abs=1e-12)


@given(predictions=full_predictions(), seed=st.integers(0, 5))
def test_the_deviation_lies_between_the_distance_of_the_means_and_the_finest_ece(predictions, seed):
    shuffled, _ = permuted(predictions, seed)
    made = estimate(shuffled, "confidence", "max-deviation").value
    assert estimate(predictions, "confidence", "ece", 1).value <= made + 1e-12
    assert made <= estimate(predictions, "confidence", "ece", "distinct").value + 1e-12


def test_the_cutoff_error_is_found_by_its_name():
    """An alias has the same key, which is stored and shown."""
    p = flat([0.25] * 50 + [0.75] * 50, [1] * 50 + [0] * 50)
    made = estimate(p, "confidence", "cutoff")
    assert (made.value, made.recipe[1].key) == (0.375, "max-deviation")
    assert "cutoff" in ESTIMATORS
    assert "cutoff" not in list(ESTIMATORS)


def test_a_calibrated_model_shows_what_the_docstring_says():
    """The range of a Brownian bridge-like walk: mean about 0.6 / sqrt(n) for confidences ~ Beta(5, 1.3)."""
    rng = np.random.default_rng(1)
    n, found = 1000, []
    for _ in range(200):
        scores = rng.beta(5, 1.3, n)
        found.append(MaxDeviation()(Confidence().split(flat(scores, rng.random(n) < scores))).value)
    assert np.mean(found) * np.sqrt(n) == pytest.approx(0.6, abs=0.05)
