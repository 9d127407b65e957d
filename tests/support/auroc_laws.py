"""Distributions of scores of events and other rows with a known AUROC, and miss rates of its intervals."""

from functools import cache

import numpy as np
from scipy.special import expit, logit
from scipy.stats import expon, norm, t

from calib_core.inference.intervals.influence_functions import ConfidenceRows, auroc, auroc_ends

_PLACES = 20_001
"""Number of quantiles of a distribution from which its true AUROC is computed."""
_UNMOVED = 0.15
"""Share of the events of ``mixture`` whose scores are those of other rows."""
_QUANTILES = {
    "normal": norm.ppf,
    "twice as wide": lambda u: 2 * norm.ppf(u),
    "three times as wide": lambda u: 3 * norm.ppf(u),
    "half as wide": lambda u: norm.ppf(u) / 2,
    "t3": lambda u: t.ppf(u, 3),
    "exponential": expon.ppf,
    "minus exponential": lambda u: -expon.ppf(1 - u),
}
LAWS = {
    "binormal": ("normal", "normal", 0.0),
    "events twice as wide": ("twice as wide", "normal", 0.0),
    "events three times as wide": ("three times as wide", "normal", 0.0),
    "events half as wide": ("half as wide", "normal", 0.0),
    "t3": ("t3", "t3", 0.0),
    "exponential": ("exponential", "exponential", 0.0),
    "minus exponential": ("minus exponential", "minus exponential", 0.0),
    "ties": ("normal", "normal", 1.0),
    "mixture": ("normal", "normal", 0.0),
}
"""Distribution of the events before the shift, distribution of other rows, and rounding width of the scores."""


def drawn(law, move, events, others, rng):
    """Return scores of this many events and this many other rows."""
    first, second, width = LAWS[law]
    high = _QUANTILES[first](rng.random(events)) + move * (law != "mixture" or rng.random(events) >= _UNMOVED)
    return _rounded(high, width), _rounded(_QUANTILES[second](rng.random(others)), width)


def _rounded(scores, width):
    return scores if not width else np.clip(np.floor(scores / width), -2, 3)


@cache
def move_for(law, wanted):
    """Return the shift of events for about the wanted AUROC, and the AUROC at that shift."""
    low, high = -8.0, 60.0
    for _ in range(45):
        middle = (low + high) / 2
        low, high = (middle, high) if _true(law, middle) < wanted else (low, middle)
    return high, _true(law, high)


def _true(law, move):
    first, second, width = LAWS[law]
    u = (np.arange(_PLACES) + 0.5) / _PLACES
    others = np.sort(_rounded(_QUANTILES[second](u), width))
    moved = _above(_rounded(_QUANTILES[first](u) + move, width), others)
    if law != "mixture":
        return moved
    return (1 - _UNMOVED) * moved + _UNMOVED * _above(_rounded(_QUANTILES[first](u), width), others)


def _above(scores, others):
    places = np.searchsorted(others, scores, "left") + np.searchsorted(others, scores, "right")
    return float(places.mean() / 2 / len(others))


def misses(law, wanted, events, others, runs, seed, level=0.9):
    """Return the true AUROC, shares of runs that miss above and below (ours and DeLong's), and both mean widths."""
    move, true = move_for(law, wanted)
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(runs):
        high, low = drawn(law, move, events, others, rng)
        rows = ConfidenceRows(np.r_[high, low], np.arange(events + others) < events, np.ones(events + others))
        measure = auroc(rows)
        ends, plain = auroc_ends(measure, rows, level), delong(measure, level)
        found.append(
            [side for each in (ends, plain) for side in (each[0] > true + 1e-12, each[1] < true - 1e-12)]
            + [each[1] - each[0] for each in (ends, plain)]
        )
    return true, *np.mean(np.array(found, dtype=float), axis=0)


def delong(measure, level):
    """Return DeLong's interval on the scale of log-odds only: the version known to fail."""
    if not 0 < measure.value < 1 or not measure.error > 0:
        return measure.value, measure.value
    spread = measure.spread(level, measure.value * (1 - measure.value))
    return tuple(float(expit(logit(measure.value) + end)) for end in spread)
