"""The interval of a mean gain: each end covers, also if rare heavy losses have not been observed."""

from itertools import product

import numpy as np
import pytest
from scipy.special import log_softmax, softmax
from scipy.stats import norm
from scipy.stats import t as student

from calib_core import NotAnswerable, Predictions
from calib_core.estimators import LogLoss
from calib_core.inference.comparison.score_differences import Outcomes, mean_gain

TERMS = LogLoss().label_losses


def pair(a, b, n, rng, k=3, spread=2.0):
    """Return two models, the logits of the truth times a and times b, and the gain of the second."""
    z = rng.normal(size=(n, k)) * spread
    y, i = (z + rng.gumbel(size=z.shape)).argmax(axis=1), np.arange(n)
    first, second = log_softmax(a * z, axis=1), log_softmax(b * z, axis=1)
    return Predictions(np.exp(first), y), Predictions(np.exp(second), y), second[i, y] - first[i, y]


def outcomes(base, after):
    return Outcomes.of(base, after, TERMS, np.ones(base.n_rows))


def test_surprises_are_counted_as_a_loop_over_rows_and_labels_does_it():
    base, after, _ = pair(2.0, 1.0, 40, np.random.default_rng(0))
    steps = [[], []]
    for p, q in zip(base.probs, after.probs, strict=True):
        gain, chance = np.log(q) - np.log(p), (p + q) / 2
        for side, sign in enumerate((-1, 1)):
            steps[side] += [(max(sign * (g - chance @ gain), 0.0), c) for g, c in zip(gain, chance, strict=True)]
    for side, found in zip(steps, outcomes(base, after).surprises(), strict=True):
        second, fourth = (sum(c * s**power for s, c in side) for power in (2, 4))
        assert found == pytest.approx(second**2 / fourth)


def test_ends_are_where_every_possible_outcome_added_up_says():
    """Eight rows of three labels have 6,561 outcomes, each with its chance under the t of an end."""
    base, after, gains = pair(2.5, 0.8, 8, np.random.default_rng(4))
    family, found = outcomes(base, after), mean_gain(base, after, gains, TERMS, 0.9)
    sums = np.array([sum(each) for each in product(*family.gains)])
    for end, sign in ((found.low, 1), (found.high, -1)):
        t = family.tilted_to(8 * end).t
        drawn = np.exp(family.logs + t * family.gains)
        chances = np.array([np.prod(each) for each in product(*(drawn / drawn.sum(axis=1, keepdims=True)))])
        assert chances @ sums == pytest.approx(8 * end, abs=1e-6)
        as_far = chances[sign * (sums - 8 * found.point) >= -1e-9].sum()
        wanted = norm.sf(student.isf(0.05, 7))
        assert 0.6 * wanted < as_far < 1.3 * wanted


def test_what_can_go_no_better_is_no_surer_than_its_chance():
    """All of 100 rows are right: at the lower end that happens once in twenty, and its mean is known by hand."""
    base, after = (Predictions([[p, 1 - p]] * 100, [0] * 100) for p in (0.9, 0.99))
    found = mean_gain(base, after, np.full(100, np.log(0.99 / 0.9)), TERMS, 0.9)
    right = norm.sf(student.isf(0.05, 99)) ** (1 / 100)
    assert found.low == pytest.approx(right * np.log(0.99 / 0.9) + (1 - right) * np.log(0.01 / 0.1), abs=1e-6)
    assert found.low < found.point == pytest.approx(found.high)


def test_a_gain_of_nothing_is_shown_as_rarely_as_it_says():
    """Both models have equal mean losses; at 5 % per end, 27 of 300 misses have a chance below 1 %.

    Student's lower end misses more, as gains are skewed: rows that were surer and are wrong are few.
    """
    rng, runs = np.random.default_rng(1), 300
    drawn = [pair(0.686, 1.4, 150, rng) for _ in range(runs)]
    found = [mean_gain(*each, TERMS, 0.9) for each in drawn]
    assert sum(each.low > 0 for each in found) <= 27
    assert sum(each.high < 0 for each in found) <= 27
    assert all(each.low <= each.point <= each.high for each in found)
    assert all((each.p_value < 0.1) == (each.low > 0 or each.high < 0) for each in found)
    ends = [g.mean() - student.ppf(0.95, 149) * g.std(ddof=1) / np.sqrt(150) for *_, g in drawn]
    assert sum(end > 0 for end in ends) > sum(each.low > 0 for each in found) + 3


@pytest.mark.wide
@pytest.mark.parametrize(("a", "b", "halves"), [(4, 2, (1, 1)), (2, 4, (1, 1)), (1.1, 0.9, (0.5, 1.5))])
def test_ends_hold_where_the_truth_lies_beyond_both_models(a, b, halves):
    """Both are overconfident, or half of the rows are under- and half overconfident: the true mean is missed rarely."""
    rng, runs, n = np.random.default_rng(5), 600, 100
    above = below = 0
    for _ in range(runs):
        z = rng.normal(size=(n, 3)) * 2
        truth = softmax(np.where(np.arange(n) % 2, *halves)[:, None] * z, axis=1)
        y, gain = (
            (np.log(truth) + rng.gumbel(size=z.shape)).argmax(axis=1),
            log_softmax(b * z, 1) - log_softmax(a * z, 1),
        )
        models = (Predictions(softmax(s * z, axis=1), y) for s in (a, b))
        found = mean_gain(*models, gain[np.arange(n), y], TERMS, 0.9)
        wanted = (truth * gain).sum(axis=1).mean()
        above, below = above + (found.low > wanted), below + (found.high < wanted)
    assert max(above, below) <= 44, "5 % of 600 and 2.6 standard errors"


def test_what_has_not_been_seen_is_feared():
    """.9999 replaces .95 with .8 % wrong rows, which is no gain; Student's would show one in two of five."""
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
    """Student's ends and bounds are equal to the digit; ungrouped copies would count as too much evidence."""
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
    with pytest.raises(NotAnswerable, match=r"9 groups.*fewer than 10 groups"):
        mean_gain(*few, gains, TERMS, 0.9)
    found, alone = mean_gain(*many, gains, TERMS, 0.9), mean_gain(base, after, gains, TERMS, 0.9)
    assert found.low == pytest.approx(alone.low, rel=0.2)
    assert found.low > 0
    assert found.high > 1.4 * alone.high, "a whole group could gain what one row gained"


def test_models_that_are_alike_differ_by_nothing():
    p = Predictions([[0.7, 0.3]] * 20, [0, 1] * 10)
    found = mean_gain(p, p, np.zeros(20), TERMS, 0.9)
    assert (found.point, found.low, found.high, found.p_value) == (0.0, 0.0, 0.0, 1.0)
