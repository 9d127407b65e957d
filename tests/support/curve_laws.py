"""Distributions of scores and truth like those of networks, with errors of curves and coverage of bands."""

from dataclasses import replace

import numpy as np
from scipy.special import expit, logit

from calib_core import Predictions
from calib_core.claims.binary_claims import Stratum
from calib_core.diagrams import KERNEL_CURVE, corp_band, kernel_curve


def _odds(mean, deviation):
    return lambda n, rng: expit(np.abs(rng.normal(mean, deviation, n)))


def _atoms(n, rng):
    s = _odds(4, 2)(n, rng)
    s[rng.random(n) < 0.3] = 1.0
    return s


def _cooled(s):
    return expit(0.6 * logit(np.clip(s, 1e-9, 1 - 1e-9)))


LAWS = {
    "network, over-confident": (_odds(6, 3), _cooled),
    "network, calibrated": (_odds(6, 3), lambda s: s),
    "a third of scores 1, .985 right there": (_atoms, lambda s: 0.5 + 0.97 * (s - 0.5)),
    "rounded to two decimals": (lambda n, rng: _odds(4, 2.5)(n, rng).round(2), lambda s: s**1.6),
    "spread, over-confident": (lambda n, rng: rng.beta(5, 1.3, n), lambda s: s - 0.25 * s * (1 - s)),
    "near 1, a jump": (lambda n, rng: rng.beta(8, 1, n), lambda s: np.where(s > 0.97, 0.97, 0.75 * s)),
    "all .999, .97 right": (lambda n, rng: np.full(n, 0.999), lambda s: np.full(np.shape(s), 0.97)),
    "one class of a hundred": (lambda n, rng: expit(rng.normal(-6, 2.5, n)), _cooled),
    "uniform, a wave": (
        lambda n, rng: rng.random(n),
        lambda s: s + 0.24 * np.sin(4 * np.pi * s) * np.sqrt(s * (1 - s)),
    ),
    "uniform, calibrated": (lambda n, rng: rng.random(n), lambda s: s),
}
"""Scores (n, rng) and the true frequency at each."""
RISING = [name for name in LAWS if name != "uniform, a wave"]


def drawn(law, n, seed):
    """Return scores and their chances: the same for every run of a case."""
    scores, truth = LAWS[law]
    s = scores(n, np.random.default_rng([seed, n]))
    return s, truth(s)


def noiseless(s, chance, method=KERNEL_CURVE):
    """Return the curve with every outcome replaced by its probability, with NaN where the rows' own curve has it.

    At the bandwidth of the rows themselves. Each row is there twice, weighted by both outcomes.
    """
    plain = kernel_curve(Predictions.from_confidence(s, chance > 0.5), method=method, band="none")
    rows = np.tile(np.asarray(s, dtype=float), 2)
    known = np.concatenate([np.ones(len(s), bool), np.zeros(len(s), bool)])
    both = Stratum(rows, known, np.concatenate([chance, 1 - chance]))
    grid = method.grid(0.0)
    smooth = method.local(both, grid, plain.bandwidth).curve
    at = np.interp(plain.score, grid.scores, smooth)
    return replace(plain, curve=np.where(np.isnan(plain.curve), np.nan, at))


def kernel_coverage(law, n, runs, band, seed=0, narrowed=1.0, true=False, **how):
    """Return (runs, scores): True if the band contains the smoothed curve, or the ``true`` one, where it is drawn."""
    s, chance = drawn(law, n, seed)
    target, rng, inside = noiseless(s, chance, **how), np.random.default_rng(seed + 1), []
    wanted = LAWS[law][1](target.score) if true else target.curve
    for _ in range(runs):
        made = kernel_curve(Predictions.from_confidence(s, rng.random(n) < chance), band=band, **how)
        low, high = (made.curve + narrowed * (end - made.curve) for end in (made.lower, made.upper))
        # The scores with a curve depend on scores only: they are the same in every run.
        judged = ~np.isnan(made.curve)
        inside.append(((low <= wanted + 1e-9) & (wanted <= high + 1e-9))[judged])
    return np.array(inside)


def corp_coverage(law, n, runs, band, seed=0, narrowed=1.0):
    """Return (runs, scores): True if the band contains the true curve."""
    s, chance = drawn(law, n, seed)
    rng, truth, inside = np.random.default_rng(seed + 1), LAWS[law][1], []
    for _ in range(runs):
        made = corp_band(Predictions.from_confidence(s, rng.random(n) < chance), band=band)
        middle, half = (made.lower + made.upper) / 2, narrowed * (made.upper - made.lower) / 2
        inside.append(np.abs(truth(made.score) - middle) <= half + 1e-9)
    return np.array(inside)


def off(law, n, runs, seed=0, **how):
    """Return the mean absolute error of the curve at the scores, and its total variation in excess of the truth."""
    found = []
    for run in range(runs):
        s, chance = drawn(law, n, seed + run)
        z = np.random.default_rng([seed + run, n, 1]).random(n) < chance
        curve = kernel_curve(Predictions.from_confidence(s, z), band="none", **how)
        error = np.abs(np.interp(s, curve.score, curve.curve) - chance)
        known = ~np.isnan(curve.curve) & (curve.score >= np.quantile(s, 0.01)) & (curve.score <= s.max())
        true = LAWS[law][1](curve.score[known])
        found.append((np.nanmean(error), np.abs(np.diff(curve.curve[known])).sum() - np.abs(np.diff(true)).sum()))
    return np.mean(found, axis=0)
