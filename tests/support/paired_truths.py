"""Pairs of models on the same rows with a known truth, and coverage of intervals of their difference.

Rows have true probabilities p of K classes. A model claims, of each row, that its predicted class is right with some
confidence. The truth of the claim is the row's p of that class, and its error d is the truth less the confidence. The
ECE of cells is sum_c |sum d| / N. Their squared error is sum_c sum_{i != j} d_i d_j / (n_c - 1) / M over the M rows in
cells of n_c >= 2 rows, the target of estimates from pairs of rows.
"""

from dataclasses import dataclass

import numpy as np

from calib_core import REDUCTIONS, Predictions
from calib_core.binning import EqualWidth, Groups, tabulate
from calib_core.estimators import Binned, DebiasedL2
from calib_core.inference import paired_difference

ESTIMATORS = {"debiased-l2": DebiasedL2, "ece": Binned}


def softmax(z):
    e = np.exp(z - z.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


def network(n, k, rng):
    """Return logits of a network most of whose confidences are above .95."""
    z = 1.5 * rng.standard_normal((n, k))
    z[np.arange(n), rng.integers(k, size=n)] += np.log(k) + rng.normal(6, 3, n)
    return z


def top(p):
    return p.max(1), p.argmax(1)


def over_confident(n, k, rng):
    z = network(n, k, rng)
    return softmax(z), top(softmax(1.6 * z)), top(softmax(1.02 * z))


def mildly(n, k, rng):
    z = network(n, k, rng)
    return softmax(z), top(softmax(1.1 * z)), top(softmax(1.02 * z))


def two_networks(n, k, rng):
    """Return two overconfident models that often predict different classes, with equal errors."""
    z = network(n, k, rng)
    one, other = (z + 1.5 * rng.standard_normal(z.shape) for _ in range(2))
    return softmax(z), top(softmax(1.2 * one)), top(softmax(1.2 * other))


def rounded(n, k, rng):
    """Return scores with two decimals, so that many are tied and many are 1."""
    z = network(n, k, rng)
    (sharp, c), (mild, _) = top(softmax(1.6 * z)), top(softmax(z))
    return softmax(z), (np.round(sharp, 2), c), (np.round(mild, 2), c)


def both_calibrated(n, k, rng):
    """Return the truth, and its mean over ten ranges of confidence: both calibrated up to chance within cells."""
    p = softmax(network(n, k, rng))
    h, c = top(p)
    part = np.argsort(np.argsort(h)) * 10 // n
    return p, (h, c), ((np.bincount(part, h) / np.bincount(part))[part], c)


def near_one(n, k, rng):
    """Return confidences 1 (six in ten rows) or .999 against .97, truth .98."""
    p = np.full((n, k), 0.02 / (k - 1))
    c = rng.integers(k, size=n)
    p[np.arange(n), c] = 0.98
    return p, (np.where(rng.random(n) < 0.6, 1.0, 0.999), c), (np.full(n, 0.97), c)


LAWS = {
    "over-confident": over_confident,
    "mildly over-confident": mildly,
    "two networks": two_networks,
    "rounded": rounded,
    "both calibrated": both_calibrated,
    "near one": near_one,
}


@dataclass(frozen=True)
class Pair:
    """Two models' predictions, and the truth of each one's claims (n,)."""

    models: tuple
    truths: tuple


def drawn(law, n, k, rng):
    p, *claims = LAWS[law](n, k, rng)
    label = np.minimum((rng.random(n)[:, None] > np.cumsum(p, 1)).sum(1), k - 1)
    names = [str(j) for j in range(k)]
    models = tuple(Predictions.from_confidence(s, predicted=c, labels=label, class_names=names) for s, c in claims)
    return Pair(models, tuple(p[np.arange(n), c] for _, c in claims))


def bins_for(notion, key):
    """Return the default bins of this notion and estimator."""
    return EqualWidth() if notion == "confidence" else Groups(20 if key == "debiased-l2" else 50)


def binned_truth(predictions, truth, notion, key):
    claims = REDUCTIONS.make(notion).split(predictions)
    at = tabulate(claims, [bins_for(notion, key)])[0].cells(claims.scores, claims.codes)
    at = np.unique(at, return_inverse=True)[1]
    d = truth - claims.scores
    count, gap = np.bincount(at), np.bincount(at, d)
    if key == "ece":
        return np.abs(gap).sum() / len(at)
    full = count >= 2
    return ((gap**2 - np.bincount(at, d**2))[full] / (count[full] - 1)).sum() / count[full].sum()


def outcome(pair, notion, key, level):
    """Return for a run: low above truth, high below it, half width missing it, p at most 5 %, whether it was tested."""
    first, second = (binned_truth(p, h, notion, key) for p, h in zip(pair.models, pair.truths, strict=True))
    truth = first - second
    made = paired_difference(*pair.models, notion, key, level=level)
    narrow = abs(truth - made.point) > (made.high - made.low) / 4 + 1e-12
    return made.low > truth + 1e-12, made.high < truth - 1e-12, narrow, made.p_value <= 0.05, made.tested


def shares(law, questions, n, k, runs, seed, level=0.9):
    """Return shares of many runs, one line (as ``outcome``) for each (notion, estimator)."""
    rng = np.random.default_rng([seed, n, k, sum(map(ord, law))])
    pairs = (drawn(law, n, k, rng) for _ in range(runs))
    return np.mean([[outcome(pair, *question, level) for question in questions] for pair in pairs], axis=0)
