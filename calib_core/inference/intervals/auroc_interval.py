"""Interval of an AUROC that is valid with few events too: DeLong's, and a score interval for unseen misses."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy
from scipy.special import expit, gammaincinv, logit

from calib_core._base.arrays import Bools
from calib_core._base.distributions import t as student
from calib_core.inference.intervals.clustered_rows import of_like_size
from calib_core.inference.intervals.influence_functions import ConfidenceRows, Influence

FEWEST_ROWS = 5
"""Rows of each kind, or groups with such rows, from which on the interval was simulated (``aurocs.csv``)."""
_MISSES = 4.0
"""Number of misses from which on the observed rows show how placements spread."""
_EDGE = 1e-9


def auroc_ends(measure: Influence, rows: ConfidenceRows, level: float) -> tuple[float, float]:
    """Ends of the interval for an AUROC: the widest of DeLong's on log-odds, a score interval and a gamma limit.

    A placement is the share of rows of the other kind on the right side of a row. The area A is the mean of the
    placements of either kind. With few rows, or an A near 1, all observed placements are often high, and DeLong's
    variance misses the few that are not. The score interval inverts (A - theta)^2 = t^2 V(theta) with

        V(theta) = theta (1 - theta) (D / (A (1 - A)) + sum_g w_g max(0, h - r_g) / n_g).

    Here D is DeLong's variance and n_g is the number of rows of kind g. The variance of the placements of kind g, as a
    share of A (1 - A), is r_g. The value h = max(theta / (1 + theta), (1 - theta) / (2 - theta)) is that for
    exponential scores on their wide side (Hanley & McNeil). The weight w_g = min(1, 4 / (n_g min(theta, 1 - theta))) is
    near 1 if few misses are expected, near 0 if many are.

    The gamma limit is the upper end if few rows account for d, the distance of A from 1. It is 1 - d G(B) / B with B
    = d^2 / D, the number of such rows. G(B) is the point that a gamma variable of mean and variance B exceeds with
    probability (1 + level)/2 (a count's exact limit). The lower end near 0 is analogous. t is Student's point with
    Satterthwaite's degrees of freedom of the two kinds. Weighted rows count as Kish's number, grouped rows as groups
    of similar size.

    What can mislead: it is wide if events are few, since a few events of another sort would not have been seen. It
    needs ``FEWEST_ROWS`` of each kind.

    References: DeLong et al. 1988; Hanley & McNeil 1982, Radiology 143, p. 32; Newcombe 2006, Statistics in Medicine
    25, method 5 (score intervals of an AUROC); Fay & Feuer 1997 (gamma limits); Satterthwaite 1946.
    """
    value = measure.value
    worth = [_worth(rows, part) for part in (rows.right, ~rows.right)]
    scale = value * (1.0 - value)
    inside = scale > _EDGE
    error = measure.error if inside else 0.0
    spread = [_spread(measure, rows, part) / scale if inside else 0.0 for part in (rows.right, ~rows.right)]
    point = float(student.ppf((1 + level) / 2, _freedom(spread, worth)))
    seen = error**2 / scale if inside else 0.0

    def beyond(theta: float) -> float:
        widest = max(theta / (1 + theta), (1 - theta) / (2 - theta))
        misses = min(theta, 1 - theta)
        unseen = sum(
            min(1.0, _MISSES / (n * misses)) * max(0.0, widest - r) / n for r, n in zip(spread, worth, strict=True)
        )
        return float((value - theta) ** 2 - point**2 * theta * (1 - theta) * (seen + unseen))

    low = 0.0 if value <= _EDGE else _root(beyond, _EDGE, min(value, 1.0 - _EDGE))
    high = 1.0 if value >= 1.0 - _EDGE else _root(beyond, max(value, _EDGE), 1.0 - _EDGE)
    if error > 0:
        half = point * error / scale
        low = min(low, float(expit(logit(value) - half)), _of_few(value, error, level))
        high = max(high, float(expit(logit(value) + half)), 1.0 - _of_few(1.0 - value, error, level))
    return low, high


def _of_few(mean: float, error: float, level: float) -> float:
    """The lower limit of a mean that few rows make up, by the gamma law that has its mean and variance."""
    number = (mean / error) ** 2
    return float(mean * gammaincinv(number, (1 - level) / 2) / number)


def enough_rows(rows: ConfidenceRows) -> bool:
    """True if there are ``FEWEST_ROWS`` rows of each kind."""
    return min(_worth(rows, part) for part in (rows.right, ~rows.right)) >= FEWEST_ROWS - 1e-9


def _worth(rows: ConfidenceRows, part: Bools) -> float:
    """Effective sample size of these rows."""
    if rows.groups is not None:
        groups = len(np.unique(rows.groups.codes[part]))
        return float(min(groups, of_like_size(rows.groups, rows.weights)))
    weights = rows.weights[part]
    return float(weights.sum() ** 2 / np.square(weights).sum()) if len(weights) else 0.0


def _spread(measure: Influence, rows: ConfidenceRows, part: Bools) -> float:
    """The variance of the placements of these rows; terms are placements less their mean, over the rows' share."""
    share = float(rows.weights[part].sum() / rows.total)
    return float(rows.weights[part] @ np.square(measure.terms[part] * share) / rows.weights[part].sum())


def _freedom(spread: list[float], worth: list[float]) -> float:
    """Satterthwaite's degrees of freedom; where no placement varies, those of the fewer rows."""
    parts = [r / n for r, n in zip(spread, worth, strict=True)]
    if not sum(parts) > 0:
        return max(min(worth) - 1.0, 1.0)
    below = sum(part**2 / max(n - 1.0, 1.0) for part, n in zip(parts, worth, strict=True))
    return max(sum(parts) ** 2 / below, 1.0)


def _root(beyond: Callable[[float], float], low: float, high: float) -> float:
    """Root of the function."""
    return float(scipy.optimize.brentq(beyond, low, high, xtol=1e-12))
