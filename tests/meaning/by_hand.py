"""Definitions of METHODS in the simplest possible form: loops over rows, without code of the library."""

from __future__ import annotations

import math

import numpy as np
from scipy.stats import beta, binom

LEAST = 1e-12
"""Lower limit of reported p-values."""


def edges_of(bins=15):
    """Return the edges of this many bins of equal width."""
    return [b / bins for b in range(bins + 1)]


def bin_of(score, edges):
    """Return the bin of a score: closed on the left, the last one on both sides."""
    b = 0
    while b < len(edges) - 2 and score >= edges[b + 1]:
        b += 1
    return b


def cells_of(scores, edges):
    """Return the positions of the rows of each non-empty bin."""
    found = {}
    for i, score in enumerate(scores):
        found.setdefault(bin_of(float(score), edges), []).append(i)
    return dict(sorted(found.items()))


def values_of(scores):
    """Return the positions of the rows of each distinct score, ascending: one bin per value."""
    found = {}
    for i, score in enumerate(scores):
        found.setdefault(float(score), []).append(i)
    return {b: found[value] for b, value in enumerate(sorted(found))}


def gaps(scores, outcomes, cells):
    """Return (share of the rows, mean outcome less mean score) of each bin."""
    n = sum(map(len, cells.values()))
    return [
        (len(rows) / n, sum(float(outcomes[i]) - float(scores[i]) for i in rows) / len(rows)) for rows in cells.values()
    ]


def lp_error(scores, outcomes, cells, p=1):
    """Return the L_p calibration error in these bins; p = inf: the largest."""
    found = gaps(scores, outcomes, cells)
    if p == math.inf:
        return max(abs(gap) for _, gap in found)
    return sum(share * abs(gap) ** p for share, gap in found) ** (1 / p)


def debiased_square(scores, outcomes, cells):
    """Return the squared error less noise: sum of n_b/n [gap^2 - z(1 - z)/(n_b - 1)]; a single row corrects nothing."""
    n, total = sum(map(len, cells.values())), 0.0
    for rows in cells.values():
        z = sum(float(outcomes[i]) for i in rows) / len(rows)
        gap = z - sum(float(scores[i]) for i in rows) / len(rows)
        noise = z * (1 - z) / (len(rows) - 1) if len(rows) > 1 else 0.0
        total += len(rows) / n * (gap**2 - noise)
    return total


def clopper_pearson(k, n, level=0.9):
    """Return the exact ends of a share of k in n."""
    miss = (1 - level) / 2
    low = 0.0 if k <= 0 else float(beta.ppf(miss, k, n - k + 1))
    high = 1.0 if k >= n else float(beta.ppf(1 - miss, k + 1, n - k))
    return low, high


def law_of_count(chances):
    """Return P(K = k), k = 0..n, of independent outcomes with these chances."""
    law = np.array([1.0])
    for chance in chances:
        law = np.append(law * (1 - chance), 0.0) + np.append(0.0, law * chance)
    return law


def count_p(chances, k):
    """Return the two-sided p-value of k outcomes if each occurs with its chance."""
    law = law_of_count(chances)
    return min(1.0, max(LEAST, 2 * min(law[: k + 1].sum(), law[k:].sum())))


def share_p(k, n, mean):
    """Return the two-sided binomial p-value of k outcomes in n, each with this chance."""
    return min(1.0, 2 * min(float(binom.cdf(k, n, mean)), float(binom.sf(k - 1, n, mean))))


def quantile_of_count(chances, q):
    """Return the least k that is reached with probability q."""
    return int(np.searchsorted(np.cumsum(law_of_count(chances)), q))


def holm(p):
    """Apply Holm's rule; NaN is no test."""
    known = sorted((value, i) for i, value in enumerate(p) if not math.isnan(value))
    found, largest = [math.nan] * len(p), 0.0
    for step, (value, i) in enumerate(known):
        largest = max(largest, min(1.0, (len(known) - step) * value))
        found[i] = largest
    return found


def benjamini_hochberg(p):
    """Apply Benjamini and Hochberg's rule."""
    known = sorted((value, i) for i, value in enumerate(p) if not math.isnan(value))
    found, least = [math.nan] * len(p), 1.0
    for step in range(len(known), 0, -1):
        value, i = known[step - 1]
        least = min(least, value * len(known) / step)
        found[i] = least
    return found


def benjamini_yekutieli(p):
    """Apply the same rule for tests with any dependence."""
    m = sum(not math.isnan(value) for value in p)
    factor = sum(1 / j for j in range(1, m + 1))
    return [value if math.isnan(value) else min(1.0, factor * value) for value in benjamini_hochberg(p)]


def corrected(p, families):
    """Correct the p-values of one family of places, given the number of families."""
    return [value if math.isnan(value) else min(1.0, families * value) for value in holm(p)]


def auroc(scores, outcomes):
    """Return the chance that a row with the outcome has the higher score; ties count half."""
    yes = [float(s) for s, z in zip(scores, outcomes, strict=True) if z]
    no = [float(s) for s, z in zip(scores, outcomes, strict=True) if not z]
    wins = sum((a > b) + (a == b) / 2 for a in yes for b in no)
    return wins / (len(yes) * len(no))


def brier(probs, labels):
    """Return the mean over rows of the summed squared distances to the one-hot label."""
    n, total = len(labels), 0.0
    for row, label in zip(probs, labels, strict=True):
        total += sum((float(p) - (k == label)) ** 2 for k, p in enumerate(row))
    return total / n


def log_loss(probs, labels):
    """Return the mean of minus log of the probability of the true class."""
    return sum(-math.log(float(row[label])) for row, label in zip(probs, labels, strict=True)) / len(labels)


def risk_area(confidence, correct):
    """Return the mean error rate over all shares of answered rows, most confident first, ties together."""
    order = sorted(set(map(float, confidence)), reverse=True)
    n, total, done, wrong = len(correct), 0.0, 0, 0
    for value in order:
        mine = [not correct[i] for i in range(n) if float(confidence[i]) == value]
        done, wrong = done + len(mine), wrong + sum(mine)
        total += len(mine) / n * wrong / done
    return total


def shares_a_level(own, line, claimed):
    """Return True if p is at least this gap's own, at most 5 times it, and agrees with the interval's decision."""
    excluded = not line["low"] <= claimed <= line["high"]
    near = own / 3 <= line["p"] <= min(1.0, 6 * own) + 1e-3 or max(own, line["p"]) < 1e-6
    return near and (line["p"] <= 0.05) == excluded
