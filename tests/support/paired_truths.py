"""Pairs of models on the same rows with a known truth: how often intervals of their difference hold it.

The true probability of the top class is h, drawn from Beta(5, 1.3); a model claims a function of h. The target is the
difference of the binned errors with each bin's mean outcome replaced by the mean of its rows' true probabilities.
"""

import numpy as np
from null_rates import gumbel_labels, spread_rows

from calib_core import Predictions
from calib_core.inference import paired_difference

MODELS = {
    "calibrated": lambda h: h,
    "over-confident": lambda h: h**0.5,
    "a little over-confident": lambda h: h**0.8,
    "up by 0.06": lambda h: np.clip(h + 0.06, 0, 1),
    "rounded": lambda h: np.round(12 * h) / 12,
}


def binned_error(said, truth, group, bins, order):
    cells = np.minimum((said * bins).astype(int), bins - 1) + bins * group
    count, gap = np.bincount(cells), np.abs(np.bincount(cells, truth - said))
    held = count > 0
    return (gap[held] ** order / count[held] ** (order - 1)).sum() / len(said)


def claims(said, right, group, groups):
    """Top-label predictions: class ``group`` said with confidence ``said``, right or else the next class."""
    if groups == 1:
        return Predictions.from_confidence(said, right)
    label = np.where(right, group, (group + 1) % groups)
    names = [str(g) for g in range(groups)]
    return Predictions.from_confidence(said, predicted=group, labels=label, class_names=names)


def held(first, second, estimator, n, groups, runs, resamples, seed, level=0.9, bins=15):
    """Shares of runs whose interval holds the true difference, and whose p-value is at most 5 %."""
    rng = np.random.default_rng([seed, n, groups])
    inside, rejected = [], []
    for _ in range(runs):
        h, group = rng.beta(5, 1.3, n), rng.integers(groups, size=n)
        right = rng.random(n) < h
        said = [np.asarray(MODELS[name](h)) for name in (first, second)]
        order = 1 if estimator == "ece" else 2
        truth = [binned_error(s, h, group, bins, order) for s in said]
        found = paired_difference(
            *(claims(s, right, group, groups) for s in said),
            "confidence" if groups == 1 else "top-label", estimator, bins, level=level, resamples=resamples,
        )  # fmt: skip
        inside.append(found.low - 1e-12 <= truth[0] - truth[1] <= found.high + 1e-12)
        rejected.append(found.p_value <= 0.05)
    return float(np.mean(inside)), float(np.mean(rejected))


def held_class_wise(power, n, classes, runs, resamples, seed, bins=15):
    """The same for the class-wise squared error of a calibrated model and one that claims its rows to a power."""
    rng = np.random.default_rng([seed, n, classes])
    inside = []
    for _ in range(runs):
        p = spread_rows(n, classes, rng, 1.5)
        labels = gumbel_labels(p, rng)
        sharp = p**power / (p**power).sum(1, keepdims=True)
        group = np.broadcast_to(np.arange(classes), p.shape).ravel()
        truth = [binned_error(s.ravel(), p.ravel(), group, bins, 2) for s in (p, sharp)]
        models = (Predictions(p, labels), Predictions(sharp, labels))
        found = paired_difference(*models, "class-wise", "debiased-l2", bins, resamples=resamples)
        inside.append(found.low <= truth[0] - truth[1] <= found.high)
    return float(np.mean(inside))
