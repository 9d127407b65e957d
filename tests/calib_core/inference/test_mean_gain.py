"""The interval of a mean gain: each end holds, also where what would cost much has not been seen."""

import numpy as np
import pytest
from scipy.special import log_softmax
from scipy.stats import t as student

from calib_core import NotAnswerable, Predictions
from calib_core.estimators import LogLoss
from calib_core.inference.mean_gain import mean_gain, surprises

TERMS = LogLoss().label_terms


def pair(a, b, n, rng, k=3, spread=2.0):
    """Two models, the logits of the truth times a and times b, and what the second gains."""
    z = rng.normal(size=(n, k)) * spread
    y, i = (z + rng.gumbel(size=z.shape)).argmax(axis=1), np.arange(n)
    first, second = log_softmax(a * z, axis=1), log_softmax(b * z, axis=1)
    return Predictions(np.exp(first), y), Predictions(np.exp(second), y), second[i, y] - first[i, y]


def test_surprises_are_counted_as_a_loop_over_rows_and_labels_does_it():
    base, after, _ = pair(2.0, 1.0, 40, np.random.default_rng(0))
    steps, seen, third = [[], []], [0.0, 0.0], 0.0
    for p, q, y in zip(base.probs, after.probs, base.true_labels, strict=True):
        gain, chance = np.log(q) - np.log(p), (p + q) / 2
        away = gain - chance @ gain
        third += chance @ away**3
        for side, sign in enumerate((-1, 1)):
            steps[side] += [(max(sign * a, 0.0), c) for a, c in zip(away, chance, strict=True)]
            seen[side] += max(sign * away[y], 0.0) ** 2
    total = sum(c * s**2 for side in steps for s, c in side)
    for side, sign, found in zip((0, 1), (-1, 1), surprises(base, after, TERMS), strict=True):
        largest = max(s for s, _ in steps[side])
        second, fourth = (sum(c * s**power for s, c in steps[side]) for power in (2, 4))
        assert found.largest == pytest.approx(largest)
        assert found.seen == pytest.approx(seen[side] / largest**2)
        assert found.expected == pytest.approx(second**2 / fourth)
        assert found.skew == pytest.approx(max(sign * third / total**1.5, 0.0))


@pytest.mark.parametrize(("a", "b"), [(1.4, 0.686), (0.686, 1.4)])
def test_a_gain_of_nothing_is_shown_as_rarely_as_it_says(a, b):
    """Both models lose the same on average; at 5 % an end, 27 of 300 are missed in under 1 % of such tests."""
    rng, runs = np.random.default_rng(1), 300
    found = [mean_gain(*pair(a, b, 150, rng), TERMS, 0.9) for _ in range(runs)]
    assert sum(each.low > 0 for each in found) <= 27
    assert sum(each.high < 0 for each in found) <= 27
    assert all(each.low <= each.point <= each.high for each in found)
    assert all((each.p_value < 0.1) == (each.low > 0 or each.high < 0) for each in found)


def test_what_has_not_been_seen_is_feared():
    """It says .9999 in place of .95 and is wrong in .8 % of rows: no gain; Student's would show one in two of five."""
    rng, wrong = np.random.default_rng(2), 0.0082
    shown = alone = 0
    for _ in range(100):
        y = (rng.random(100) < wrong).astype(int)
        gains = np.where(y == 0, np.log(0.9999 / 0.95), np.log(0.0001 / 0.05))
        base, after = (Predictions([[p, 1 - p]] * 100, y) for p in (0.95, 0.9999))
        shown += mean_gain(base, after, gains, TERMS, 0.9).low > 0
        alone += gains.mean() - student.ppf(0.95, 99) * gains.std(ddof=1) / 10 > 0
    assert shown <= 5
    assert alone > 25


@pytest.mark.parametrize(("a", "b", "n"), [(1.4, 0.7, 150), (0.7, 1.4, 150), (4.0, 3.0, 30)])
def test_rows_that_stand_three_times_in_a_group_tell_what_they_tell_alone(a, b, n):
    """To the digit, Student's ends as well as bounds; taken for rows of their own they tell too much."""
    base, after, gains = pair(a, b, n, np.random.default_rng(3))
    alone, thrice = mean_gain(base, after, gains, TERMS, 0.9), np.tile(np.arange(n), 3)
    grouped, apart = (
        mean_gain(*(p.take(thrice).replace(groups=g) for p in (base, after)), gains[thrice], TERMS, 0.9)
        for g in (thrice, None)
    )
    for name in ("point", "low", "high", "p_value"):
        assert getattr(grouped, name) == pytest.approx(getattr(alone, name), rel=1e-6, abs=1e-9)
    assert apart.high - apart.low < 0.8 * (alone.high - alone.low)


def test_few_groups_tell_nothing_and_many_with_few_surprises_show_what_they_gain():
    base, after, gains = pair(3.0, 1.0, 600, np.random.default_rng(3), spread=3.0)
    few, many = ([p.replace(groups=np.arange(600) % g) for p in (base, after)] for g in (9, 120))
    with pytest.raises(NotAnswerable, match="fewer than 10 that count"):
        mean_gain(*few, gains, TERMS, 0.9)
    assert surprises(*many, TERMS)[1].expected < 5 < 10 < surprises(*many, TERMS)[0].expected
    found, alone = mean_gain(*many, gains, TERMS, 0.9), mean_gain(base, after, gains, TERMS, 0.9)
    assert found.low == pytest.approx(alone.low, rel=0.2)
    assert found.low > 0
    assert found.high > 1.5 * alone.high, "a whole group could gain what one row gained"


def test_models_that_are_alike_differ_by_nothing():
    p = Predictions([[0.7, 0.3]] * 20, [0, 1] * 10)
    found = mean_gain(p, p, np.zeros(20), TERMS, 0.9)
    assert (found.point, found.low, found.high, found.p_value) == (0.0, 0.0, 0.0, 1.0)
