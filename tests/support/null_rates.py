"""Rejection rates of the noise-floor test for calibrated models, with labels drawn by numpy's sampler.

For one set of predictions the null distribution is drawn once; many label vectors are drawn from the probabilities
and each is tested against it. A calibrated model should be rejected at the level.
"""

import numpy as np

from calib_core import ESTIMATORS, Predictions
from calib_core.estimators.base import Question
from calib_core.inference.intervals.joint_intervals import floors
from calib_core.inference.noise.redrawn_errors import of_counts
from calib_core.reductions import as_reduction
from calib_core.results.uncertainty import NoiseFloor

LEVEL = 0.05


def spread_rows(n, k, rng, scale=3.0):
    z = scale * rng.standard_normal((n, k))
    p = np.exp(z - z.max(1, keepdims=True))
    return p / p.sum(1, keepdims=True)


def gumbel_labels(p, rng):
    """Return labels from the rows by the Gumbel trick: independent of an inverse CDF."""
    return (np.log(np.maximum(p, 1e-300)) + rng.gumbel(size=p.shape)).argmax(1)


def many_labels(p, runs, rng):
    """Return label vectors (runs, n), every row's classes drawn by ``Generator.choice``."""
    drawn = np.empty((runs, len(p)), dtype=np.int16)
    for i, row in enumerate(p):
        drawn[:, i] = rng.choice(len(row), size=runs, p=row / row.sum())
    return drawn


def rejection_rate(n, k, notion, estimator, runs, seed, draws=4000):
    return rejection_rates(n, k, [notion], [estimator], runs, seed, draws)[notion, estimator][0]


def rejection_rates(n, k, notions, estimators, runs, seed, draws=4000, draw=spread_rows):
    """Return {(notion, estimator): (rejected by the p-value, by the one whose ties are broken at random)}."""
    rng = np.random.default_rng([seed, n, k])
    p = draw(n, k, rng)
    labels = many_labels(p, runs, rng)
    first = Predictions(p, labels[0].astype(np.intp))
    members = [ESTIMATORS.make(key) for key in estimators]
    found = {}
    for notion in notions:
        made = floors(first, as_reduction(notion), members, draws, seed)
        for key, member, floor in zip(estimators, members, made, strict=True):
            shown = observed(first, labels, notion, member)
            tested = [NoiseFloor(float(t), floor.draws) for t in shown]
            rejected = [np.mean([one.p_value <= LEVEL for one in tested])]
            rejected += [np.mean([one.exact_p_value(r) <= LEVEL for r, one in enumerate(tested)])]
            found[notion, key] = tuple(map(float, rejected))
    return found


def observed(predictions, labels, notion, estimator):
    """Return the estimate for every label vector; from counts computed here, if it uses counts only."""
    question = Question(predictions, as_reduction(notion), estimator)
    counted = of_counts(estimator, question.claims)
    if counted is None:
        each = (predictions.relabelled(one.astype(np.intp)) for one in labels)
        return [question.answer(relabelled).value for relabelled in each]
    cells, right = _cells(predictions.probs, counted.table, notion)
    size = counted.table.count.size
    outcomes = [np.bincount(cells[right(label)], minlength=size) for label in labels]
    return counted.values(np.array(outcomes, dtype=float).reshape(-1, *counted.table.count.shape))


def _cells(p, table, notion):
    """Return the cell of every claim, and which claims come true with given labels."""
    n, k = p.shape
    top, bins = p.argmax(1), table.count.shape[1]
    edges = [line[1:][~np.isnan(line[1:])] for line in table.lower]
    if notion == "class-wise":
        cells = np.array([j * bins + np.searchsorted(edges[j], p[:, j], side="right") for j in range(k)])
        return cells.T.copy(), lambda label: (np.arange(n), label)
    strata = top if notion == "top-label" else np.zeros(n, dtype=int)
    cells = [j * bins + np.searchsorted(edges[j], h, side="right") for j, h in zip(strata, p.max(1), strict=True)]
    return np.array(cells), lambda label: label == top
