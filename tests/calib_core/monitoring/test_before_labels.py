"""Scores before their labels: drift valid at every look, and expectations under stated assumptions."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import binom

from calib_core import InputError, Predictions
from calib_core.monitoring import before_labels, score_drift
from calib_core.monitoring.before_labels import EDGES, _counts, _share_ends


def test_bins_are_in_order_and_symmetric() -> None:
    assert (np.diff(EDGES) > 0).all()
    assert pytest.approx(1 - EDGES[::-1]) == EDGES
    assert _counts([0.0, 0.0005, 1.0], "x")[[0, -1]].tolist() == [2, 1]


@pytest.mark.parametrize("share", [0.0, 0.01, 0.3, 0.999])
def test_ends_of_a_share_miss_no_more_often_than_their_bound(share: float) -> None:
    """P(share outside) <= 2 exp(-bound), summed over the binomial law; and the ends are not far wider than needed."""
    n, bound = 200, math.log(2 / 0.05)
    missed = 0.0
    for count in range(n + 1):
        low, high = _share_ends(np.array([count, n - count], dtype=float), bound)
        missed += float(binom.pmf(count, n, share)) * (not low[0] <= share <= high[0])
    assert missed <= 0.05
    low, high = _share_ends(np.array([60.0, 140.0]), bound)
    assert 0.19 < low[0] < 0.3 < high[0] < 0.41


def test_equal_laws_rarely_alarm_and_a_two_sample_test_at_each_look_does() -> None:
    """60 years of 30 looks. The twin, Kolmogorov and Smirnov at 5 % of each look, alarms in most of them."""
    from scipy.stats import ks_2samp

    alarms = twin = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        reference = rng.beta(1, 20, 300)
        weeks = {str(week): rng.beta(1, 20, 60) for week in range(1, 31)}
        alarms += score_drift(reference, weeks).alarm_period is not None
        twin += any(ks_2samp(reference, week).pvalue <= 0.05 for week in weeks.values())
    assert alarms <= 3
    assert twin >= 40


def test_a_change_is_found_in_any_order_of_the_periods() -> None:
    rng = np.random.default_rng(1)
    weeks = {f"2026-{month}": rng.beta(2, 5 if month < 9 else 2, 400) for month in range(5, 13)}
    found = score_drift(rng.beta(2, 5, 2000), weeks)
    assert found.since == "2026-9"
    assert found.alarm_period in ("2026-9", "2026-10")
    backwards = score_drift(np.random.default_rng(1).beta(2, 5, 2000), dict(reversed(weeks.items())))
    assert backwards.periods == found.periods
    assert "Since about 2026-9" in found.sentence
    # Looks at fewer periods have the same evidence.
    rng = np.random.default_rng(1)
    fewer = {f"2026-{month}": rng.beta(2, 5 if month < 9 else 2, 400) for month in range(5, 13)}
    shorter = score_drift(rng.beta(2, 5, 2000), {label: fewer[label] for label in list(fewer)[:5]})
    assert shorter.log_e == pytest.approx(found.log_e[:5])


@pytest.mark.parametrize("event", [True, False])
def test_expectations_are_means_under_their_assumptions(event: bool) -> None:
    rng = np.random.default_rng(2)
    probs = rng.dirichlet([1.0, 1.0] if event else [1.0, 1.0, 2.0], 3000)
    labels = (rng.random(3000)[:, None] > probs.cumsum(axis=1)).sum(axis=1).clip(max=probs.shape[1] - 1)
    labeled = Predictions(probs[:2000], labels[:2000])
    found = before_labels(labeled, {"1": probs[2000:2500], "2": probs[2500:]}, level=0.9)
    scores = probs[2000:, 1] if event else probs[2000:].max(axis=1)
    assert found.expected == pytest.approx(scores.mean())
    half = 1.6448536 * math.sqrt((scores * (1 - scores)).sum()) / 1000
    assert (found.low, found.high) == (pytest.approx(scores.mean() - half), pytest.approx(scores.mean() + half))
    assert found.shift is not None
    assert np.abs(found.shift.target - probs[2000:].mean(axis=0)).max() < 0.05
    assert found.drift.alarm_period is None
    assert found.sentences[0].startswith("If the predictions are still calibrated,")
    assert ("the event happens" in found.sentences[0]) == event
    assert "Only outcomes show" in found.sentences[-1]


def test_shares_that_cannot_be_estimated_are_told() -> None:
    labeled = Predictions([[0.9, 0.1]] * 20, [0] * 20)
    found = before_labels(labeled, {"1": [[0.9, 0.1]] * 5})
    assert found.shift is None
    assert "cannot be estimated" in found.sentences[1]


@pytest.mark.parametrize(
    ("reference", "later", "said"),
    [
        ([0.5, 1.5], {"1": [0.5]}, "the reference have to be"),
        ([0.5], {"1": []}, "period 1 have to be"),
        ([0.5], {"1": [math.nan]}, "period 1 have to be"),
        ([0.5], {str(k): [0.5] for k in range(53)}, "a year has 52"),
        ([0.5], {"12.10.2026": [0.5]}, "write dates"),
    ],
)
def test_other_scores_are_refused(reference: list[float], later: dict[str, list[float]], said: str) -> None:
    with pytest.raises(InputError, match=said):
        score_drift(reference, later)


def test_other_shapes_are_refused() -> None:
    labeled = Predictions([[0.9, 0.1], [0.2, 0.8]], [0, 1])
    for later in ({"1": [0.5]}, {"1": [[0.2, 0.3, 0.5]]}, {}):
        with pytest.raises(InputError, match=r"probabilities of 2 classes|at least one period"):
            before_labels(labeled, later)
