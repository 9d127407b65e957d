"""The definitions of METHODS, written as slowly and plainly as can be: loops over rows, and no code of the library."""

from __future__ import annotations

import math

import numpy as np
from scipy.stats import beta, binom, norm

LEAST = 1e-12
"""Smaller p-values are reported as this."""


def edges_of(bins=15):
    """The ends of so many bins of equal width."""
    return [b / bins for b in range(bins + 1)]


def bin_of(score, edges):
    """Which bin a score lies in: closed on the left, the last one on both sides."""
    b = 0
    while b < len(edges) - 2 and score >= edges[b + 1]:
        b += 1
    return b


def cells_of(scores, edges):
    """Positions of the rows of each bin that has any."""
    found = {}
    for i, score in enumerate(scores):
        found.setdefault(bin_of(float(score), edges), []).append(i)
    return dict(sorted(found.items()))


def values_of(scores):
    """Positions of the rows of each distinct score, ascending: one bin a value."""
    found = {}
    for i, score in enumerate(scores):
        found.setdefault(float(score), []).append(i)
    return {b: found[value] for b, value in enumerate(sorted(found))}


def gaps(scores, outcomes, cells):
    """(share of the rows, mean outcome less mean score) of each bin."""
    n = sum(map(len, cells.values()))
    return [
        (len(rows) / n, sum(float(outcomes[i]) - float(scores[i]) for i in rows) / len(rows)) for rows in cells.values()
    ]


def lp_error(scores, outcomes, cells, p=1):
    """L_p calibration error in these bins; p = inf: the largest."""
    found = gaps(scores, outcomes, cells)
    if p == math.inf:
        return max(abs(gap) for _, gap in found)
    return sum(share * abs(gap) ** p for share, gap in found) ** (1 / p)


def debiased_square(scores, outcomes, cells):
    """Squared error less what noise adds: sum of n_b/n [gap^2 - z(1 - z)/(n_b - 1)]; one row corrects nothing."""
    n, total = sum(map(len, cells.values())), 0.0
    for rows in cells.values():
        z = sum(float(outcomes[i]) for i in rows) / len(rows)
        gap = z - sum(float(scores[i]) for i in rows) / len(rows)
        noise = z * (1 - z) / (len(rows) - 1) if len(rows) > 1 else 0.0
        total += len(rows) / n * (gap**2 - noise)
    return total


def clopper_pearson(k, n, level=0.9):
    """Exact ends of a share of k in n."""
    miss = (1 - level) / 2
    low = 0.0 if k <= 0 else float(beta.ppf(miss, k, n - k + 1))
    high = 1.0 if k >= n else float(beta.ppf(1 - miss, k + 1, n - k))
    return low, high


def wilson(k, n, level=0.9):
    """Wilson's score interval."""
    z, share = float(norm.ppf((1 + level) / 2)), k / n
    middle = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    return middle - half, middle + half


def law_of_count(chances):
    """P(K = k), k = 0..n, of independent outcomes with these chances."""
    law = np.array([1.0])
    for chance in chances:
        law = np.append(law * (1 - chance), 0.0) + np.append(0.0, law * chance)
    return law


def count_p(chances, k):
    """Two-sided p-value that k came true if each does with its chance."""
    law = law_of_count(chances)
    return min(1.0, max(LEAST, 2 * min(law[: k + 1].sum(), law[k:].sum())))


def share_p(k, n, mean):
    """Two-sided binomial p-value that k of n came true, each with this chance."""
    return min(1.0, 2 * min(float(binom.cdf(k, n, mean)), float(binom.sf(k - 1, n, mean))))


def quantile_of_count(chances, q):
    """The least k that is reached with probability q."""
    return int(np.searchsorted(np.cumsum(law_of_count(chances)), q))


def holm(p):
    """Holm's rule; what is not tested (NaN) is no test."""
    known = sorted((value, i) for i, value in enumerate(p) if not math.isnan(value))
    found, largest = [math.nan] * len(p), 0.0
    for step, (value, i) in enumerate(known):
        largest = max(largest, min(1.0, (len(known) - step) * value))
        found[i] = largest
    return found


def benjamini_hochberg(p):
    """Benjamini and Hochberg's rule."""
    known = sorted((value, i) for i, value in enumerate(p) if not math.isnan(value))
    found, least = [math.nan] * len(p), 1.0
    for step in range(len(known), 0, -1):
        value, i = known[step - 1]
        least = min(least, value * len(known) / step)
        found[i] = least
    return found


def benjamini_yekutieli(p):
    """The same for tests that depend on each other in any way."""
    m = sum(not math.isnan(value) for value in p)
    factor = sum(1 / j for j in range(1, m + 1))
    return [value if math.isnan(value) else min(1.0, factor * value) for value in benjamini_hochberg(p)]


def corrected(p, families):
    """The p-values of one family of places, of which there are so many kinds."""
    return [value if math.isnan(value) else min(1.0, families * value) for value in holm(p)]


def auroc(scores, outcomes):
    """Chance that a row with the outcome has the higher score, ties half."""
    yes = [float(s) for s, z in zip(scores, outcomes, strict=True) if z]
    no = [float(s) for s, z in zip(scores, outcomes, strict=True) if not z]
    wins = sum((a > b) + (a == b) / 2 for a in yes for b in no)
    return wins / (len(yes) * len(no))


def brier(probs, labels):
    """Mean over rows of the sum over classes of squared distances to what was true."""
    n, total = len(labels), 0.0
    for row, label in zip(probs, labels, strict=True):
        total += sum((float(p) - (k == label)) ** 2 for k, p in enumerate(row))
    return total / n


def log_loss(probs, labels):
    """Mean of minus log of the probability of what was true."""
    return sum(-math.log(float(row[label])) for row, label in zip(probs, labels, strict=True)) / len(labels)


def risk_area(confidence, correct):
    """Mean, over all shares of rows answered, of the share wrong among them, ties together, the surest first."""
    order = sorted(set(map(float, confidence)), reverse=True)
    n, total, done, wrong = len(correct), 0.0, 0, 0
    for value in order:
        mine = [not correct[i] for i in range(n) if float(confidence[i]) == value]
        done, wrong = done + len(mine), wrong + sum(mine)
        total += len(mine) / n * wrong / done
    return total


def shares_a_level(own, line, claimed):
    """Is p that of this gap alone, times at most the 5 errors that share its level, and the interval's own answer?"""
    excluded = not line["low"] <= claimed <= line["high"]
    near = own / 3 <= line["p"] <= min(1.0, 6 * own) + 1e-3 or max(own, line["p"]) < 1e-6
    return near and (line["p"] <= 0.05) == excluded
