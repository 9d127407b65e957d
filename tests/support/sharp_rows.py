"""Rows whose logits are a multiple of the true ones, and the log loss of each."""

import numpy as np

from calib_core import Predictions


def rows(n=400, k=3, sharp=2.0, seed=0, **extras):
    """Return rows whose logits are ``sharp`` times those of the labels: 1 is calibrated."""
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(n, k)) * 2
    y = (z + rng.gumbel(size=(n, k))).argmax(axis=1)
    return Predictions(Predictions.from_logits(sharp * z, y).probs, y, **extras)


def losses(p):
    """Return minus the log probability of what happened in each row, (n,)."""
    return -np.log(p.probs[np.arange(p.n_rows), p.true_labels])
