"""Verdicts have their stated error rate in the hardest cases: confident models, few rows, errors near the tolerance.

A small part of tests/simulations/verdicts.py. ``more_than`` allows 5 % plus the error of the runs.
"""

from functools import cache

import numpy as np
import pytest
from score_laws import sample
from verdict_shares import WORDS, judge, more_than

from calib_core import Predictions, estimate
from calib_core.inference.intervals.interval_methods import rows_with_error
from calib_core.text import exact_tolerance, rows

SIZES = (30, 100, 400, 2000)
SURE = ("certain", "all .995")
BESIDE = [
    pytest.param(law, n, marks=pytest.mark.wide if (law, n) == ("all .995", 2000) else ())
    for law in SURE
    for n in SIZES
]


@cache
def beside_the_tolerance(law, truth, n):
    """Return verdicts of 1,500 models: few different ones, since all their claims are equal."""
    return judge(law, truth, n, runs=1500, tests=False)


@pytest.mark.wide
@pytest.mark.parametrize(("law", "n"), BESIDE)
def test_an_error_just_above_the_tolerance_is_rarely_called_within(law, n):
    found = beside_the_tolerance(law, "shift .0204", n)
    assert not more_than(found.share("within"), found.runs), found.words
    assert set(found.words) <= set(WORDS)


@pytest.mark.wide
@pytest.mark.parametrize(("law", "n"), BESIDE)
def test_an_error_just_below_the_tolerance_is_rarely_called_miscalibrated(law, n):
    found = beside_the_tolerance(law, "shift .0196", n)
    assert not more_than(found.share("miscalibrated"), found.runs), found.words


@pytest.mark.parametrize("law", [pytest.param(law, marks=() if law == "certain" else pytest.mark.wide) for law in SURE])
def test_an_interval_of_half_the_width_would_break_this(law):
    found = beside_the_tolerance(law, "shift .0204", 2000)
    assert more_than(found.half_within / found.runs, found.runs)


@pytest.mark.wide
@pytest.mark.parametrize(
    ("law", "n", "k", "notion"),
    [
        pytest.param("network", 200, 10, "confidence", marks=pytest.mark.wide),
        pytest.param("two decimals", 150, 5, "top-label", marks=pytest.mark.wide),
        ("network", 60, 3, "class-wise"),
        ("beta 200", 100, 10, "confidence"),
    ],
)
def test_two_hundred_calibrated_models_raise_few_alarms(law, n, k, notion):
    found = judge(law, "calibrated", n, k, notion, runs=200)
    assert not more_than(found.alarms / 200, 200), (found.words, found.rejected)
    assert not more_than(found.spiegelhalter / 200, 200), found.spiegelhalter


def test_an_over_confident_model_raises_them():
    found = judge("network", "over-confident", 1000, 10, runs=20)
    assert found.alarms == found.spiegelhalter == 20


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("law", "n", "notion"),
    [
        ("certain", 30, "confidence"),
        ("all .995", 100, "confidence"),
        ("60 % at 1", 400, "confidence"),
        ("two decimals", 1000, "confidence"),
        ("beta 5", 6000, "confidence"),
        ("beta 200", 400, "top-label"),
    ],
)
def test_whether_rows_are_too_few_is_known_from_the_scores(law, n, notion):
    """For scores with "too few" for one outcome, no other outcome gives "too close to call"."""
    scores = sample(law, "calibrated", n, 5, 0)
    words = set()
    for truth in ("calibrated", "shift .0204", "shift .1"):
        other = sample(law, truth, n, 5, 0).truth if truth == "shift .1" else scores.truth
        for seed in range(6):
            right = np.random.default_rng(seed).random(n) < other
            said = scores.predictions.predicted
            drawn = scores.predictions.relabelled(np.where(right, said, (said + 1) % 5))
            words.add(estimate(drawn, notion).verdict(0.02).word)
    assert words <= set(WORDS)
    assert not {"too few rows to tell", "too close to call"} <= words, words


@pytest.mark.parametrize(("law", "n"), [("certain", 30), ("all .995", 100), ("two decimals", 400)])
def test_of_few_rows_a_calibrated_model_reads_too_few_rows_to_tell(law, n):
    found = judge(law, "calibrated", n, runs=24, tests=False)
    assert found.share("too few rows to tell") + found.share("miscalibrated") == 1, found.words
    assert found.share("too few rows to tell") >= 0.9, found.words


@pytest.mark.parametrize("eps", [0.02, 0.04])
def test_rows_for_an_error_of_half_the_tolerance_are_those_of_that_error(eps):
    """The number is recomputed by the rule that both numbers of rows share, from the error that the sentence names."""
    rng = np.random.default_rng(1)
    stated = rng.uniform(0.6, 0.95, 120)
    measured = estimate(Predictions.from_confidence(stated, rng.random(120) < stated))
    found = measured.verdict(eps)
    assert found.word == "too few rows to tell"
    wanted, none = (rows_with_error(measured.question, eps, share * eps, 0.9) for share in (0.5, 0.0))
    assert found.rows_with_error == wanted > none == found.rows_needed
    assert f"with an error of {exact_tolerance(eps / 2)} needs about {rows(wanted)} rows." in found.sentence


@pytest.mark.parametrize("level", [0.8, 0.9])
def test_an_error_above_the_tolerance_is_called_so_only_where_chance_shows_it_as_rarely_as_the_level_allows(
    level, monkeypatch
):
    rng = np.random.default_rng(3)
    stated = rng.uniform(0.6, 0.95, 1000)
    rows = Predictions.from_confidence(stated, rng.random(1000) < stated - 0.15)
    tail, words = (1 - level) / 2, []
    for p in (tail * 0.99, tail * 1.01, 1.9 * tail):
        measured = estimate(rows)
        monkeypatch.setattr(type(measured), "p_value_at", lambda self, level, p=p: p)
        words.append(measured.verdict(0.02, level).word)
    assert words == ["miscalibrated", "too close to call", "too close to call"]
