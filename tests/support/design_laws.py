"""Samples of known designs from calibrated risks, and how often intervals of a risk's measures miss the truth."""

import functools

import numpy as np
from scipy.special import expit
from scipy.stats import norm

from calib_core import Predictions, risk
from calib_core.diagrams import decision_curve

SPREAD, THRESHOLDS = 1.0, (0.5, 1.0, 2.0)
"""Standard deviation of the log-odds, and thresholds as multiples of the event rate."""
NAMES = ("gap", "ratio", "intercept", "slope", "auroc", "benefit")
NODES, MASSES = np.polynomial.hermite_e.hermegauss(15)


@functools.cache
def middle(rate):
    """Return the mean of the log-odds at which the event has this rate."""
    x = np.linspace(-6, 6, 2001)
    density = np.exp(-x * x / 2) / np.exp(-x * x / 2).sum()
    low, high = -15.0, 15.0
    for _ in range(60):
        m = (low + high) / 2
        low, high = (m, high) if density @ expit(m + SPREAD * x) < rate else (low, m)
    return m


BETWEEN = 0.4
"""Standard deviation of the hospitals' log-odds in clustered designs."""


def averaged(x):
    """Return the risks over all hospitals of log-odds in one of them."""
    grid = np.linspace(x.min(), x.max(), 400)
    return np.interp(x, grid, expit(grid[:, None] + BETWEEN * NODES) @ MASSES / MASSES.sum())


@functools.cache
def truths(rate, clustered=False):
    """Return the AUROC and the net benefits of the calibrated risks at the thresholds."""
    z = norm.ppf((np.arange(200_000) + 0.5) / 200_000)
    spread = np.sqrt(SPREAD**2 - BETWEEN**2) if clustered else SPREAD
    x = middle(rate) + spread * z
    s = averaged(x) if clustered else expit(x)
    below = (np.cumsum(1 - s) - (1 - s) / 2) / (1 - s).sum()
    benefits = {}
    for times in THRESHOLDS:
        t = min(times * rate, 0.9)
        benefits[t] = float(np.where(s > t, s - (1 - s) * t / (1 - t), 0).mean())
    return float(s @ below / s.sum()), benefits


def population(rng, n, rate):
    s = expit(rng.normal(middle(rate), SPREAD, n))
    return s, rng.random(n) < s


def survey(rng, n, rate):
    """Weights that have nothing to do with the outcome."""
    s, y = population(rng, n, rate)
    return s, y, np.where(rng.random(n) < 0.3, 3.7, 0.9) * rng.uniform(0.8, 1.2, n), None


def case_cohort(rng, n, rate):
    """All events, and one in f other rows of a cohort: about n in all, half of them events if they are rare."""
    fraction = max(rate / (1 - rate), 0.05) * 0.97
    s, y = population(rng, int(n / (rate + (1 - rate) * fraction)), rate)
    kept = y | (rng.random(len(y)) < fraction)
    return s[kept], y[kept], np.where(y, 1, 1 / fraction)[kept], None


def nested(rng, n, rate):
    """All events, and two other rows for each from the same quarter of the risks."""
    s, y = population(rng, int(n / min(3 * rate, 1)), rate)
    quarter = np.searchsorted(np.quantile(s, [0.25, 0.5, 0.75]), s)
    kept, weights = y.copy(), np.ones(len(y))
    for part in range(4):
        others, events = np.flatnonzero((quarter == part) & ~y), int((y & (quarter == part)).sum())
        chosen = rng.choice(others, min(2 * events, len(others)), replace=False)
        kept[chosen], weights[chosen] = True, len(others) / max(len(chosen), 1)
    return s[kept], y[kept], weights[kept], None


def few_events(rng, n, rate):
    """One in five events, and all other rows."""
    s, y = population(rng, int(n / (1 - 0.8 * rate)), rate)
    kept = ~y | (rng.random(len(y)) < 0.2)
    return s[kept], y[kept], np.where(y, 4.9, 1.0)[kept], None


def _clustered(rng, n, rate, groups=40):
    """Return risks that are calibrated over hospitals, outcomes that depend on the hospital, and the hospitals."""
    shift = rng.normal(0, BETWEEN, groups)
    g = rng.integers(0, groups, n)
    x = rng.normal(middle(rate), np.sqrt(SPREAD**2 - BETWEEN**2), n)
    s = averaged(x)
    return s, rng.random(n) < expit(x + shift[g]), g


def clustered(rng, n, rate):
    """Rows of 40 hospitals whose event rates differ, without weights."""
    s, y, g = _clustered(rng, n, rate)
    return s, y, None, g


def clustered_cohort(rng, n, rate):
    """The same, all events and a part of the other rows."""
    fraction = max(rate / (1 - rate), 0.05) * 0.97
    s, y, g = _clustered(rng, int(n / (rate + (1 - rate) * fraction)), rate)
    kept = y | (rng.random(len(y)) < fraction)
    return s[kept], y[kept], np.where(y, 1, 1 / fraction)[kept], g[kept]


DESIGNS = {each.__name__: each for each in (survey, case_cohort, nested, few_events, clustered, clustered_cohort)}


def drawn(design, n, rate, seed, naive=False):
    """Return a sample; ``naive``: its groups are forgotten, and its weights read as those of as many rows."""
    s, y, w, g = DESIGNS[design](np.random.default_rng(seed), n, rate)
    if naive:
        # Whole-number weights are copies, so that each row is rounded to its nearest number of them.
        w, g = None if w is None else np.maximum(np.round(w), 1), None
    elif w is not None:
        w = w / w.mean() * (1 + 1e-7)
    return Predictions(np.column_stack([1 - s, s]), y.astype(int), weights=w, groups=g)


def misses(design, n, rate, runs, seed=0, naive=False, level=0.9):
    """Return by measure the shares of runs with low above the truth, high below it, no interval, and the mean width."""
    area, benefits = truths(rate, design.startswith("clustered"))
    found = {name: np.zeros(4) for name in NAMES}
    for run in range(runs):
        rows = drawn(design, n, rate, [seed, run, n], naive)
        large = risk.in_the_large(rows, level)
        ends = {name: (getattr(large, f"{name}_low"), getattr(large, f"{name}_high")) for name in NAMES[:4]}
        scored = risk.scores(rows, level).set_index("measure").loc["auroc"]
        ends["auroc"] = scored["low"], scored["high"]
        truth = {"gap": 0.0, "ratio": 1.0, "intercept": 0.0, "slope": 1.0, "auroc": area}
        for name, (low, high) in ends.items():
            found[name] += _one(low, high, truth[name])
        curve = decision_curve(rows, thresholds=tuple(benefits), level=level)
        for low, high, benefit in zip(curve.low, curve.high, benefits.values(), strict=True):
            found["benefit"] += _one(low, high, benefit) / len(benefits)
    return {name: counts / runs for name, counts in found.items()}


def _one(low, high, truth):
    none = not np.isfinite(high - low)
    return np.array([not none and low > truth, not none and high < truth, none, 0.0 if none else high - low])
