"""Library version of P3 §4.1, Table 1, for any of its methods and any number of test rows."""

import numpy as np

from calib_core import datasets
from calib_core.papers.reproductions.valk_kull import METRICS, TABLE_1, TRUE, method, metrics

__all__ = ["METHODS", "METRICS", "PAPER", "TRUE", "experiment"]

METHODS = [name for name in TABLE_1 if name != TRUE]
PAPER = {name: tuple(tuple(map(float, part.split())) for part in printed) for name, printed in TABLE_1.items()}
"""Mean and standard deviation over the paper's 100 seeds, METRICS in order."""


def experiment(names, seed, fit_rows=5000, test_rows=100_000):
    """Return the five numbers of every named method for one seed, (len(names), 5)."""
    rng = np.random.default_rng(seed)
    fit, test = datasets.valk_kull(fit_rows, rng), datasets.valk_kull(test_rows, rng)
    rows = [
        test.true_probs if name == TRUE else method(name).fit_on(fit.predictions).apply(test.predictions).probs
        for name in names
    ]
    return np.array([metrics(q, test.true_probs, test.predictions.labels) for q in rows])
