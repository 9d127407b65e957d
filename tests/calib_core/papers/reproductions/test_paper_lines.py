"""A published number next to ours: tolerances by hand, relations that can fail, and simulated error rates."""

import numpy as np
import pytest

from calib_core.papers.reproductions import ComputedNumber, mean, printed, ratio, share, stated


def test_a_tolerance_is_four_standard_errors_of_both_and_half_a_digit():
    # Ours: mean 0.41 of two runs .40 and .42, standard error .01. Theirs: (.05 + .005) / sqrt(25) = .011.
    line = printed("TL-ECE", "Table 1", "0.40", mean([0.40, 0.42]), spread=0.05, runs=25)
    assert line.ours == pytest.approx(0.41)
    assert line.apart == pytest.approx(0.01)
    assert line.tolerance == pytest.approx(4 * np.hypot(0.01, 0.011) + 0.005)
    # A 90 % interval of +- .0329 is a standard error of .02.
    assert printed("r", "Fig. 8", "2.0", 2.0, plus_minus=0.0329).tolerance == pytest.approx(4 * 0.02 + 0.05)


def test_nothing_random_leaves_the_printed_digits_alone():
    assert [printed("x", "T 1", "0.056", x).within for x in (0.0555, 0.0565, 0.0554, 0.0566)] == [
        True,
        True,
        False,
        False,
    ]
    assert [printed("x", "T 1", "0.4", x, exact=True).within for x in (0.4, 0.41)] == [True, False]
    assert printed("x", "T 1", "0.4", 0.4, exact=True).basis == "nothing is random"


def test_a_limit_has_to_be_kept_beyond_noise():
    ours = ComputedNumber(0.09, 0.002, 100)
    assert stated("x", "Thm 1", ours, "at most", 0.1).within  # .09 + 4 * .002 <= .1
    assert not stated("x", "Thm 1", ComputedNumber(0.09, 0.003, 100), "at most", 0.1).within
    assert stated("x", "Thm 1", ours, "at least", 0.08).within  # .09 - .008 >= .08
    assert not stated("x", "Thm 1", ours, "at least", 0.085).within
    assert stated("x", "Prop. 4", 0.0, "at least", 0.0).within
    assert not stated("x", "Prop. 4", -1e-6, "at least", 0.0).within
    assert printed("x", "Ex. 3.2", "0.49", 0.491, relation="at least").tolerance == 0


def test_shares_are_never_without_doubt():
    assert share([False] * 50).error == pytest.approx(1 / 50)
    assert share([True, False] * 50).error == pytest.approx(0.05)


@pytest.mark.parametrize("paired", [True, False])
def test_a_ratio_has_the_standard_error_that_its_repetitions_show(paired):
    rng = np.random.default_rng(0)
    found, errors = [], []
    for _ in range(1500):
        common = rng.normal(0, 0.5, 80) * paired
        a, b = 4 + common + rng.normal(0, 0.3, 80), 2 + common + rng.normal(0, 0.3, 80)
        got = ratio(a, b, paired)
        found.append(got.value)
        errors.append(got.error)
    # A standard deviation over 1,500 repetitions is known to 2 %.
    assert np.std(found) == pytest.approx(np.mean(errors), rel=0.08)


def test_agreeing_numbers_agree_and_others_do_not():
    """The printed value is a mean of 100 runs, ours of 20 such: nearly all repetitions agree, none that is far off."""

    def agrees(seed, shift):
        rng = np.random.default_rng(seed)
        theirs = f"{rng.normal(0.5, 0.02, 100).mean():.3f}"
        return printed("x", "Table 1", theirs, mean(rng.normal(0.5 + shift, 0.02, 20)), spread=0.02, runs=100).within

    assert np.mean([agrees(seed, 0.0) for seed in range(400)]) > 0.98
    assert np.mean([agrees(seed, 0.05) for seed in range(400)]) == 0
