"""How often the noise-floor test rejects calibrated models: labels drawn here, by their own code, not the library's.

For one set of predictions the null distribution is drawn once; many label vectors are drawn from the probabilities
and each is tested against it. A calibrated model should be rejected at the level.
"""

import numpy as np

from calib_core import Predictions, estimate
from calib_core.inference import noise_floor

LEVEL = 0.05


def spread_rows(n, k, rng, scale=3.0):
    z = scale * rng.standard_normal((n, k))
    p = np.exp(z - z.max(1, keepdims=True))
    return p / p.sum(1, keepdims=True)


def gumbel_labels(p, rng):
    """Labels from the rows by the Gumbel trick: nothing in common with an inverse CDF."""
    return (np.log(np.maximum(p, 1e-300)) + rng.gumbel(size=p.shape)).argmax(1)


def rejection_rate(n, k, notion, estimator, runs, seed, draws=4000):
    rng = np.random.default_rng([seed, n, k])
    p = spread_rows(n, k, rng)
    first = Predictions(p, gumbel_labels(p, rng))
    null = np.sort(noise_floor(estimate(first, notion, estimator).question, draws, seed).draws)
    shown = [estimate(first.relabelled(gumbel_labels(p, rng)), notion, estimator).value for _ in range(runs)]
    above = len(null) - np.searchsorted(null, np.array(shown) - 1e-12, side="left")
    return float(np.mean((1 + above) / (draws + 1) <= LEVEL))
