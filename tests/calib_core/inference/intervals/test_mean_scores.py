"""Intervals of scores: their formulas, exact ends, and coverage if heavy losses are rare."""

import numpy as np
import pytest
from scipy import stats

from calib_core import Predictions, estimate
from calib_core.estimators import Brier, LogLoss
from calib_core.inference.intervals import mean_scores
from calib_core.inference.intervals.elementary import beyond

FLOOR = np.finfo(float).eps


def network_like(n, k, rng):
    """Return rows with most of the mass above .95, some of them spread."""
    z = rng.standard_normal((n, k))
    z[np.arange(n), rng.integers(k, size=n)] += 2.7 * rng.gamma(3, 1, n)
    p = np.exp(z - z.max(1, keepdims=True))
    return p / p.sum(1, keepdims=True)


def one_sure(n, k, rng, confidence=0.999):
    p = np.full((n, k), (1 - confidence) / (k - 1))
    p[np.arange(n), rng.integers(k, size=n)] = confidence
    return p


def moved(p, error):
    """Return a truth with a chance of the top class lower by ``error``, of the next class higher."""
    q, line, top = p.copy(), np.arange(len(p)), p.argmax(1)
    less = np.minimum(error, q[line, top])
    q[line, top] -= less
    q[line, (top + 1) % p.shape[1]] += less
    return q


def drawn(p, rng):
    return np.minimum((rng.random(len(p))[:, None] > np.cumsum(p, 1)).sum(1), p.shape[1] - 1)


def losses(p, key):
    return np.square(p).sum(1, keepdims=True) - 2 * p + 1 if key == "brier" else -np.log(np.maximum(p, FLOOR))


@pytest.mark.parametrize("key", ["brier", "log-loss"])
def test_the_ends_are_their_formula_row_by_row(key):
    rng = np.random.default_rng(0)
    p = network_like(30, 4, rng)
    y, w = drawn(p, rng), rng.random(30) + 0.5
    lost, w = losses(p, key), w / w.sum()
    reach = max(w[i] * (max(lost[i]) - min(lost[i])) for i in range(30))
    seen = sum((w[i] * (lost[i, y[i]] - p[i] @ lost[i]) / reach) ** 2 for i in range(30))
    mean = sum(w[i] * lost[i, y[i]] for i in range(30))
    span = estimate(Predictions(p, y, weights=w), None, key).interval()
    assert span.low == pytest.approx(max(mean - stats.norm.isf(0.05) * reach * seen**0.5, w @ lost.min(1)))
    assert span.high == pytest.approx(min(mean + reach * (stats.gamma.isf(0.05, seen + 1) - seen), w @ lost.max(1)))
    assert (span.about, span.tested) == (mean_scores.GIVEN, False)


@pytest.mark.parametrize("key", ["brier", "log-loss"])
def test_claims_of_two_classes_are_judged_as_the_rows_they_are(key):
    rng = np.random.default_rng(1)
    h = 0.5 + rng.random(40) / 2
    right = rng.random(40) < h
    claims = estimate(Predictions.from_confidence(h, right), "confidence", key).interval()
    rows = estimate(Predictions(np.column_stack([h, 1 - h]), 1 - right.astype(int)), None, key).interval()
    scale = 2 if key == "brier" else 1  # summed over two classes
    assert (rows.low, rows.high) == (pytest.approx(scale * claims.low), pytest.approx(scale * claims.high))
    assert claims.tested


@pytest.mark.sampled(4)
@pytest.mark.parametrize("k", [2, 3, 10, 100])
@pytest.mark.parametrize("law", [network_like, one_sure])
def test_expected_scores_are_inside_where_heavy_losses_are_rare(law, k):
    """The truth is as predicted, .02 and .1 below, 10 to 300 rows; the twin has an upper end half as far away."""
    rng, runs, fails = np.random.default_rng(k), 80, {"above": [], "below": [], "half": []}
    for n in (10, 30, 300):
        p = law(n, k, rng)
        for truth in (p, moved(p, 0.02), moved(p, 0.1)):
            for score, key in ((Brier(), "brier"), (LogLoss(), "log-loss")):
                lost, found = losses(p, key), []
                aim = float((truth * lost).sum() / n)
                for _ in range(runs):
                    made = mean_scores._of_rows(score, Predictions(p, drawn(truth, rng)))
                    low, high = made.bounds(0.9)
                    half = (made.seen.mean() + high) / 2
                    found.append((low > aim + 1e-12, high < aim - 1e-12, half < aim - 1e-12))
                for name, share in zip(("above", "below", "half"), np.mean(found, axis=0), strict=True):
                    fails[name].append(share)
    # 18 cases of 80 runs each end: the largest share of a true .05 is below .05 + 3.2 deviations.
    limit = 0.05 + 3.2 * (0.05 * 0.95 / runs) ** 0.5
    assert max(fails["above"]) <= limit
    assert max(fails["below"]) <= limit
    assert max(fails["half"]) > limit


def test_weighted_rows_keep_the_ends_of_a_mean_and_of_a_norm():
    rng, runs, n = np.random.default_rng(9), 150, 60
    h, w = np.sort(np.where(rng.random(n) < 0.5, 0.999, rng.beta(5, 1.3, n))), rng.exponential(size=n)
    w /= w.sum()
    true = np.maximum(h - 0.05, 0)
    aims = {"brier": w @ (true * (1 - h) ** 2 + (1 - true) * h**2), "max-deviation": w @ (h - true)}
    below = dict.fromkeys(aims, 0)
    for _ in range(runs):
        p = Predictions.from_confidence(h, rng.random(n) < true, weights=w)
        for key in aims:
            below[key] += estimate(p, "confidence", key).interval().high < aims[key]
    assert max(below.values()) / runs <= 0.05 + 3 * (0.05 * 0.95 / runs) ** 0.5


def test_accuracy_has_exact_ends_for_rows_alike():
    """Each end misses at most a twentieth: exact sums over the outcomes of 30 rows; Wilson's end does not."""
    n, k = 30, np.arange(31)
    ends = [
        estimate(Predictions.from_confidence(np.full(n, 0.9), np.arange(n) < right), None, "accuracy").interval()
        for right in k
    ]
    assert all(span.tested and span.about == mean_scores.RIGHT for span in ends)
    worst, wilson = 0.0, 0.0
    from calib_core.inference import wilson as score_interval

    twin = score_interval(k.astype(float), np.full(31, float(n)))
    for p in (0.5, 0.8, 0.95, 0.99, 0.999):
        chance = stats.binom.pmf(k, n, p)
        worst = max(worst, chance[[s.high < p for s in ends]].sum(), chance[[s.low > p for s in ends]].sum())
        wilson = max(wilson, chance[twin[0] > p].sum(), chance[twin[1] < p].sum())
    assert worst <= 0.05 < wilson


def test_weighted_accuracy_counts_kishs_rows_and_copies_are_rows():
    h, right = np.array([0.9, 0.8, 0.7, 0.6]), np.array([True, True, False, True])
    uneven = estimate(Predictions.from_confidence(h, right, weights=[0.5, 1.5, 1, 1]), None, "accuracy").interval()
    share, rows = 0.75, 16 / (0.25 + 2.25 + 2)
    assert uneven.low == pytest.approx(stats.beta.ppf(0.05, share * rows, rows - share * rows + 1))
    assert not uneven.tested
    assert "Kish" in uneven.method
    copied = estimate(Predictions.from_confidence(h, right, weights=[3, 1, 2, 1]), None, "accuracy").interval()
    at = np.repeat(np.arange(4), [3, 1, 2, 1])
    assert copied == estimate(Predictions.from_confidence(h[at], right[at]), None, "accuracy").interval()


def test_a_log_loss_with_impossible_classes_is_bounded_as_it_is_counted_and_says_so():
    p = Predictions(np.repeat([[1.0, 0.0]], 20, axis=0), np.zeros(20, int))
    span = estimate(p, None, "log-loss").interval()
    assert span.low == 0
    assert span.high == pytest.approx(-np.log(FLOOR) * beyond(0, 0.05) / 20)
    assert "otherwise there is no upper end" in span.sentence
    likely = estimate(Predictions([[0.7, 0.3]] * 20, [0] * 20), None, "log-loss").interval()
    assert "no upper end" not in likely.sentence
    assert likely.high <= -np.log(0.3)


def test_rows_that_lose_the_same_whatever_happens_leave_nothing_open():
    span = estimate(Predictions([[0.5, 0.5]] * 3, [0, 1, 1]), None, "brier").interval()
    assert (span.low, span.high) == (0.5, 0.5)
