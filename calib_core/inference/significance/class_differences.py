"""Differences of the predicted classes of a bin, compared with noise."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy

from calib_core._base.arrays import Bools, Float64s
from calib_core._base.distributions import norm
from calib_core.binning.base import BinningScheme
from calib_core.binning.bin_table import tabulate
from calib_core.binning.interval_schemes import bins_of
from calib_core.defaults import SIGNIFICANCE
from calib_core.inference.significance.count_tests import FEWEST
from calib_core.predictions.predictions import Predictions
from calib_core.predictions.validation import whole as whole_weights
from calib_core.reductions.top import TopLabel


@dataclass(frozen=True, eq=False)
class ClassDifferences:
    """Differences of the classes in each bin, as arrays (bins,); NaN where a bin is not tested.

    ``difference`` is the mean over rows of the distance between the class's error and the bin's. Above ``edge`` it is
    significant, and ``p`` is its p-value. Both are corrected for the number of bins. The range from ``low`` to
    ``high`` contains ``delta``, the mean error of the classes, if they do not differ. ``p_joint`` is the p-value of the
    differences of all bins together.
    """

    difference: Float64s
    edge: Float64s
    p: Float64s
    low: Float64s
    high: Float64s
    p_joint: float


def class_differences(count: Float64s, score: Float64s, outcome: Float64s, rows: Float64s) -> ClassDifferences:
    """Compare the classes of each bin with a model that has the bin's own error and no differences between classes.

    Arguments are (classes, bins): number (or weight) of rows n, sums of their scores S and outcomes O, and effective
    sample sizes. With the bin's error g = sum (O - S) / sum n, this model has O ~ Binomial(n, q), q = S / n + g. Then

        difference = sum |O - S - n g| / sum n
        expected = sum E|O - n q| / sum n,  variance = sum Var|O - n q| / (sum n)^2

    ``delta`` = sum |O - S| / sum n has the same moments about S.

    Both are compared with the normal law. The p-values are Bonferroni's over the tested bins. These have two classes
    or more, and an effective sample size of at least ``FEWEST``. Their summed differences have the p-value ``p_joint``.

    The test is not exact. In simulations, any bin had a false alarm in at most .060 of the runs, for calibrated and
    for evenly overconfident models (tests/simulations/class_differences.py).

    References: De Moivre 1730 and Diaconis & Zabell 1991 (mean absolute deviation of a binomial); Bonferroni 1936.

    >>> n = np.full((2, 1), 100.0)
    >>> found = class_differences(n, 0.8 * n, np.array([[90.0], [70.0]]), n)
    >>> found.difference.round(3).tolist(), found.edge.round(3).tolist(), (found.p < 0.001).tolist()
    ([0.1], [0.06], [True])
    """
    whole = count.sum(axis=0)
    gap = _shares((outcome - score).sum(axis=0), whole)
    says = np.clip(_shares(score, count), 0.0, 1.0)
    true = np.clip(says + gap, 0.0, 1.0)
    tested = ((count > 0).sum(axis=0) > 1) & (rows.sum(axis=0) >= FEWEST)
    beyond = norm.isf(SIGNIFICANCE / max(int(tested.sum()), 1))

    def law(about: Float64s) -> tuple[Float64s, Float64s]:
        mean, variance = distance_law(rows, true, rows * about)
        part = _shares(count, rows)
        return _shares((part * mean).sum(axis=0), whole), _shares(np.sqrt((part**2 * variance).sum(axis=0)), whole)

    mean, spread = law(true)
    tested &= spread > 0
    difference = _shares(np.abs(outcome - score - count * gap).sum(axis=0), whole)
    p = np.minimum(norm.sf(_shares(difference - mean, spread)) * tested.sum(), 1.0)
    middle, width = law(says)
    low, high = np.maximum(middle - beyond * width, 0.0), middle + beyond * width
    weight = np.where(tested, whole, 0.0)
    excess, noise = weight @ (difference - mean), np.sqrt(np.square(weight) @ np.square(spread))
    joint = float(norm.sf(excess / noise)) if noise > 0 else float("nan")
    difference, edge, p, low, high = (
        np.where(tested, part, np.nan) for part in (difference, mean + beyond * spread, p, low, high)
    )
    return ClassDifferences(difference, edge, p, low, high, joint)


def jointly_off(predictions: Predictions, bins: int | str | BinningScheme | None = None) -> float:
    """Test the predicted classes jointly: the p-value of the sum of all classes' errors in all bins.

    T = sum |O - S| over classes and bins of the confidence. O are numbers of correct rows, S sums of confidences. T is
    compared with the normal law of its mean and variance under calibration, O ~ Binomial(n, S / n). NaN for rows in
    groups, of weights that are not whole numbers, and without classes. What can mislead: many small errors can be
    jointly significant, although no class is significant by itself. An error of all rows is one of all classes.

    References: De Moivre 1730 (mean absolute deviation of a binomial).

    >>> p = Predictions.from_confidence([0.9] * 80, predicted=[0, 1] * 40, labels=[0] * 80)
    >>> jointly_off(p, 1) < 0.001
    True
    """
    if predictions.kind == "confidence" or predictions.row_groups is not None or not whole_weights(predictions.weights):
        return float("nan")
    table = tabulate(TopLabel().split(predictions), [bins_of(predictions, bins)])[0]
    count, score, outcome = table.count, table.tally.score, table.tally.outcome
    mean, variance = distance_law(count, _shares(score, count), score)
    noise = float(np.sqrt(variance.sum()))
    return float(norm.sf((np.abs(outcome - score).sum() - mean.sum()) / noise)) if noise > 0 else float("nan")


def distance_law(n: Float64s, q: Float64s, c: Float64s) -> tuple[Float64s, Float64s]:
    """Mean and variance of |X - c| of binomial numbers X of n with probability q; n need not be whole.

    With j the whole part of c, E|X - c| = c - n q + 2 (n q P(X' >= j) - c P(X > j)), X' of n - 1.

    >>> [part.round(3).tolist() for part in distance_law(np.array([2.0]), np.array([0.5]), np.array([1.0]))]
    [[0.5], [0.25]]
    """
    j = np.floor(c)
    inside = (n > j) & (q > 0) & (q < 1)
    left = np.where(inside, n - j, 1.0)
    more = np.where(inside, scipy.special.betainc(j + 1.0, left, q), (n * q > j).astype(np.float64))
    least = np.where(
        inside & (j > 0), scipy.special.betainc(np.maximum(j, 1.0), left, q), (n * q >= j).astype(np.float64)
    )
    mean = c - n * q + 2.0 * (n * q * least - c * more)
    return mean, np.maximum(n * q * (1.0 - q) + np.square(n * q - c) - np.square(mean), 0.0)


def _shares(part: Float64s, whole: Float64s) -> Float64s:
    return np.divide(part, whole, out=np.zeros(np.broadcast(part, whole).shape), where=whole > 0)


def differ(p: Float64s) -> Bools:
    """Bins whose classes differ significantly, by corrected p-values.

    >>> differ(np.array([0.01, 0.2, np.nan])).tolist()
    [True, False, False]
    """
    return np.asarray(np.nan_to_num(p, nan=1.0) <= SIGNIFICANCE)
