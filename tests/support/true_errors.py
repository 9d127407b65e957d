"""Targets of intervals, computed from true probabilities in the simplest way: sums over row-level claims and cells.

``target(estimate, sample)`` is the number that the interval of the estimate should contain. For binned errors it is

    (sum_g W_g |mean true probability in g - mean score in g|^p)^(1/p)

over the cells g of the claims, W_g the cell's share of the claims' weight. For estimators on rows, it is their own
value on rows repeated for every class, weighted by its true probability.
"""

from dataclasses import dataclass

import numpy as np
from scipy.spatial.distance import cdist
from scipy.special import gammaln, softmax

from calib_core import Predictions, estimate
from calib_core.binning import tabulate
from calib_core.estimators.skce import pair_sums
from calib_core.inference.intervals.bins_of_interval import judged_bins
from calib_core.reductions import as_reduction

ORDER = {"ece": 1, "ece-adaptive": 1, "debiased-ece": 1, "rmsce": 2, "debiased-l2": 2, "mce": "max"}


@dataclass(frozen=True, eq=False)
class Listed:
    """Claims of a notion, each (claims,): score, true probability, stratum, weight (these sum to 1)."""

    score: np.ndarray
    true: np.ndarray
    stratum: np.ndarray
    weight: np.ndarray


def listed(sample, notion, k=3):
    """Return the claims of a notion, in the library's order: by rank, then row; class-wise by row, then class."""
    p, truth = sample.predictions, sample.truth
    n = p.n_rows
    row = np.full(n, 1 / n) if p.weights is None else p.weights / p.weights.sum()
    if notion in ("confidence", "top-label"):
        stratum = np.zeros(n, dtype=int) if notion == "confidence" else p.predicted
        return Listed(np.asarray(p.confidence), sample.top_truth, stratum, row)
    classes = p.n_classes
    if notion == "event":
        return Listed(p.probs[:, p.event], truth[:, p.event], np.zeros(n, dtype=int), row)
    if notion == "class-wise":
        every = np.tile(np.arange(classes), n)
        return Listed(p.probs.ravel(), truth.ravel(), every, np.repeat(row, classes) / classes)
    ranked = np.argsort(-p.probs, axis=1, kind="stable")[:, : min(k, classes)]
    rank = np.broadcast_to(np.arange(ranked.shape[1]), ranked.shape)
    stratum = rank if notion == "top-k-confidence" else rank * classes + ranked
    score, true = (np.take_along_axis(part, ranked, 1) for part in (p.probs, truth))
    share = np.tile(row, ranked.shape[1]) / ranked.shape[1]
    return Listed(score.T.ravel(), true.T.ravel(), stratum.T.ravel(), share)


def binned_error(claims, cells, order):
    """Return the formula above for cells given as one whole number per claim."""
    _, cell = np.unique(cells, return_inverse=True)
    weight, moved = np.bincount(cell, claims.weight), np.bincount(cell, claims.weight * (claims.true - claims.score))
    gap = np.abs(np.divide(moved, weight, out=np.zeros_like(moved), where=weight > 0))
    if order == "max":
        return float(gap.max())
    return float((weight @ gap**order) ** (1 / order))


def bin_cells(claims, table):
    """Return the cell of every claim among the bins of a table."""
    bins, found = table.lower.shape[1], np.empty(len(claims.score), dtype=int)
    if np.array_equal(table.lower, np.broadcast_to(table.lower[0], table.lower.shape), equal_nan=True):
        inner = table.lower[0, 1:]
        return np.searchsorted(inner[~np.isnan(inner)], claims.score, side="right") + bins * claims.stratum
    for s in np.unique(claims.stratum):
        inner, mine = table.lower[s, 1:], claims.stratum == s
        found[mine] = np.searchsorted(inner[~np.isnan(inner)], claims.score[mine], side="right") + bins * s
    return found


def grouping(question, claims):
    """Return the cell of every claim if an interval is about groups of enough rows."""
    binning = judged_bins(question).estimator.binning
    return tabulate(question.claims, [binning])[0].cells(claims.score, claims.stratum)


def judged(made, claims):
    """Return the claims of the interval and their cells: the bins of the value unless its words name others."""
    about = made.interval().about
    pooled = "with similar predictions" in about or "one group of all rows" in about
    cells = grouping(made.question, claims) if pooled else bin_cells(claims, made.bins)
    if "two or more rows" not in about:
        return claims, cells
    _, cell, rows = np.unique(cells, return_inverse=True, return_counts=True)
    kept = rows[cell] > 1
    share = claims.weight[kept] / claims.weight[kept].sum()
    return Listed(claims.score[kept], claims.true[kept], claims.stratum[kept], share), cells[kept]


def target(made, sample, notion, key):
    """Return the true value of an estimate ``estimate(sample.predictions, notion, key, ...)``, and rows per cell."""
    n = sample.predictions.n_rows
    if notion == "canonical":
        return _canonical(made, sample, key)
    if ORDER.get(key) == 1 and notion in ("class-wise", "class-specific") and sample.predictions.event is not None:
        bins = None if made.question.free else made.question.estimator.binning
        return target(estimate(sample.predictions, "event", key, bins), sample, "event", key)
    if key in ORDER or key == "ece-sweep":
        claims = listed(sample, notion)
        claims, cells = judged(made, claims) if key in ORDER else (claims, bin_cells(claims, made.bins))
        error = binned_error(claims, cells, ORDER.get(key, 1))
        if "over all classes pooled" in made.interval().about:
            error = max(error, _in(made, sample, "confidence"))
        if "or of the confidence" in made.interval().about:
            error = max(error, _in(made, sample, "confidence"))
        if "or of the event" in made.interval().about:
            error = max(error, _in(made, sample, "event"))
        return error * error if key == "debiased-l2" else error, len(cells) / len(np.unique(cells))
    if key == "skce":
        return _squared(made, sample, listed(sample, notion)), n
    if notion is None and key == "accuracy":
        return float(np.average(sample.top_truth, weights=sample.predictions.weights)), n
    whole = _every_class(sample)
    asked = made.question.estimator
    return (asked.of(whole) if notion is None else asked(as_reduction(notion).split(whole)).value), n


def _in(made, sample, notion):
    """Return the error in another notion, in the requested bins."""
    bins = None if made.question.free else made.question.estimator.binning
    other = estimate(sample.predictions, notion, "ece", bins)
    return binned_error(*judged(other, listed(sample, notion)), 1)


def _every_class(sample):
    """Return rows repeated for every class (predicted and next, if only claims are known), by true probability."""
    p, truth = sample.predictions, sample.truth
    n, k = p.n_rows, p.n_classes
    row = np.ones(n) if p.weights is None else p.weights
    if truth.ndim == 2:
        at, labels = np.repeat(np.arange(n), k), np.tile(np.arange(k), n)
        return Predictions(p.probs[at], labels, weights=_seen((truth * row[:, None]).ravel()))
    labels = np.concatenate([p.predicted, (p.predicted + 1) % k])
    weights = _seen(np.concatenate([truth * row, (1 - truth) * row]))
    return _of_rows(p, np.tile(np.arange(n), 2), labels, weights)


def _seen(weights):
    """Return weights with negligible ones set to 0: predictions refuse weights below 1e-75."""
    return np.where(weights < 1e-60, 0.0, weights)


def _of_rows(p, at, labels, weights):
    """Return claims about other rows, with other labels and weights."""
    return Predictions.from_confidence(
        p.confidence[at], predicted=p.predicted[at], labels=labels, class_names=p.class_names, weights=weights
    )


def _squared(made, sample, claims):
    """Return the squared kernel error of true probabilities: different rows are paired, not a row with itself.

    Leaving out the pairs of a row with itself can make it a hair negative; the error of the model is then 0.
    """
    total, scale = 0.0, made.question.estimator.scale
    for s in np.unique(claims.stratum):
        mine = np.flatnonzero(claims.stratum == s)
        mine = mine[np.argsort(claims.score[mine], kind="stable")]
        pairs = len(mine) * (len(mine) - 1) / 2
        if pairs:
            score = claims.score[mine]
            total += claims.weight[mine].sum() * pair_sums(score, claims.true[mine] - score, scale) / pairs
    return max(0.0, float(total))


def _smoothed(bandwidth, p, gap):
    """Return the mean over rows of ||sum of the other rows' true gaps||_1, weighted by the Dirichlet kernel."""
    sharp = p / bandwidth
    kernel = np.log(p) @ sharp.T - gammaln(sharp + 1).sum(1)
    np.fill_diagonal(kernel, -np.inf)
    return float(np.abs(softmax(kernel, axis=1) @ gap).sum(1).mean())


def _canonical(made, sample, key):
    p, q, n = sample.predictions.probs, sample.truth, sample.predictions.n_rows
    if key == "skce":
        gap = q - p
        pairs = (gap @ gap.T) * np.exp(-0.5 * cdist(p, p, "cityblock"))
        return max(0.0, float(pairs.sum() - np.trace(pairs)) / (n * (n - 1))), n
    if key == "canonical-kde":
        return _smoothed(made.question.estimator.smoother(made.question.claims).bandwidth, p, q - p), n
    cells = made.cells.codes
    frequency = np.array([np.bincount(cells, column) for column in (q - p).T]).T / n
    share = np.bincount(cells) / n
    held = share > 0
    if key == "ece":
        value = np.abs(frequency).sum()
    else:
        value = float((np.square(frequency[held]).sum(1) / share[held]).sum()) ** (1 if key == "debiased-l2" else 0.5)
    return float(value), n / held.sum()
