"""E-processes of a watched model: evidence against calibration that may be looked at any number of times.

An e-process starts at 1. If the model is calibrated within the tolerance, its chance of ever reaching 1 / alpha is at
most alpha (Ville's inequality; Ramdas et al. 2023). All of them are functions of sums over rows by period. So neither
the order of batches nor the moments of looking matter.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from calib_core._base.arrays import Bools, Float64s
from calib_core._base.notebook_display import OneLine

SHIFTS = np.concatenate([sign * np.geomspace(0.05, 2.5, 12) for sign in (1.0, -1.0)])
"""Alternatives of the test in the large: shifts of every score on the logit scale, both directions."""
_ODDS = 1 / (1 + np.log(np.abs(SHIFTS) / 0.25) ** 2)
SHIFT_WEIGHTS = _ODDS / _ODDS.sum()
"""Weights of the shifts: most for those around a quarter, which are 6 points at 50 %, and heavy tails for others."""
LARGEST_LOG_FACTOR = float(SHIFTS.max())
"""A shift by t changes the logarithm of a probability by at most t."""
_BETS = np.geomspace(0.005, 0.5, 14)
"""Bets of the bounded processes: small ones for small errors of many rows."""
_COUNT_BETS = np.geomspace(0.01, 2.5, 16)
IN_ONE_DIRECTION = 0.75
"""Weight of the process for errors in one direction, which are the most usual ones, beside that for errors in bins."""
_AT_FIRST = 0.25
"""Weight of an error from the first period on, which is the most likely one, beside those of all starts."""
_STEPS = 60
"""Bisections of [-1, 1]: to the last bit."""


def log_factors(scores: Float64s, outcomes: Bools, low: Float64s, high: Float64s) -> Float64s:
    """Log likelihood ratios of shifted scores to the nearest tolerated ones, (n, shifts).

    The tolerated probabilities of a row are [low, high]. The factor of a shift upwards is (q/high)^y
    ((1-q)/(1-high))^(1-y), with q = expit(logit high + shift). Downwards it has low in place of high. Its mean is at
    most 1 for every tolerated probability. A row whose nearest tolerated probability is 0 or 1 has no factor.
    """
    found = np.zeros((len(scores), len(SHIFTS)))
    for upwards, base in ((True, high), (False, low)):
        columns = np.flatnonzero((SHIFTS > 0) == upwards)
        inside = np.flatnonzero((base > 0) & (base < 1))
        p, y = base[inside, np.newaxis], outcomes[inside, np.newaxis]
        shifted = logit(p) + SHIFTS[columns]
        found[np.ix_(inside, columns)] = np.where(
            y, np.log(expit(shifted)) - np.log(p), np.log(expit(-shifted)) - np.log1p(-p)
        )
    return found


def _psi(bets: Float64s) -> Float64s:
    """The cumulant bound of a bounded variable: -log(1 - b) - b (Howard et al. 2021, exponential)."""
    return -np.log1p(-bets) - bets


@dataclass(frozen=True, eq=False, repr=False)
class PeriodSums(OneLine):
    """Sums of T periods, each over its independent units (rows, or groups of rows by their means).

    ``units`` (T,) are their numbers. ``expected`` and ``observed`` (T,) are the sums of scores and outcomes.
    ``squared`` (T,) are those of the largest squared difference of a unit. ``differences`` (T, bins) are observed less
    predicted.
    ``log_factors`` (T, shifts) are those of ``log_factors``.
    """

    units: Float64s
    expected: Float64s
    observed: Float64s
    squared: Float64s
    differences: Float64s
    log_factors: Float64s

    def added(self, places: NDArray[np.intp]) -> PeriodSums:
        """Return the sums of runs of periods, which begin at these places."""
        parts = (self.units, self.expected, self.observed, self.squared, self.differences, self.log_factors)
        return PeriodSums(*(np.add.reduceat(part, places, axis=0) for part in parts))


def start_weights(n: int, horizon: int) -> Float64s:
    """Weights (n,) of the periods at which an error may start: a quarter now, the rest uniform over the horizon.

    >>> start_weights(4, 4).tolist()
    [0.4375, 0.1875, 0.1875, 0.1875]
    """
    weights = np.full(n, (1 - _AT_FIRST) / horizon)
    weights[:1] += _AT_FIRST
    return weights


def alpha_of_start(start: int, horizon: int, alpha: float) -> float:
    """Part of ``alpha`` of an interval since a start that the evidence chose: the weight of this start."""
    return alpha * float(start_weights(start + 1, horizon)[start])


@dataclass(frozen=True, eq=False, repr=False)
class EvidenceByPeriod(OneLine):
    """Logarithm of the evidence after each look, (looks,), and the start (a period's place) that explains it best."""

    log_e: Float64s
    starts: NDArray[np.intp]


def evidence(sums: PeriodSums, tolerance: float | None, horizon: int, *, last: bool = False) -> EvidenceByPeriod:
    """EvidenceByPeriod against calibration after each of T <= ``horizon`` periods, or after the ``last`` one only.

    It is the weighted mean of two e-processes, each a mixture over the period k at which an error may start.
    In the large, with weight 3/4: mean over shifts, with their weights, of sum_k g_k prod_{P = k..t} e_P + 1 - sum_k
    g_k. In bins: the same mixture of the mean over bets b of exp(-b n eps - psi(b) V) prod_bins cosh(b S_bin).
    Here eps is the ``tolerance`` of the binned error, and n, V and S are sums since start k. The product allows for all
    signs of the bins' errors. Without a tolerance there is only the first. Sums without log factors have another first
    part, for errors in one direction: the mean over b of exp(-b n eps - psi(b) V) cosh(b S).
    """
    periods, shifted = sums.log_factors.shape
    # Several columns of a shift, such as one per bin, have equal parts of its weight.
    of_shift = np.repeat(SHIFT_WEIGHTS, shifted // len(SHIFTS)) / max(shifted // len(SHIFTS), 1)
    weights = start_weights(periods, horizon)
    log_weights, left = np.log(weights), 1 - np.cumsum(weights)
    shifts, bins, units, squared = (
        np.concatenate([np.zeros((1, *each.shape[1:])), np.cumsum(each, axis=0)])
        for each in (sums.log_factors, sums.differences, sums.units, sums.squared)
    )
    looks = range(periods if last else 1, periods + 1)
    log_e, starts = np.zeros(len(looks)), np.zeros(len(looks), dtype=np.intp)
    for place, t in enumerate(looks):
        since = [_log_sum(shifts[t] - shifts[:t], of_shift)] if shifted else []
        if tolerance is not None:
            of_bins = bins[t] - bins[:t]
            for errors in (*([] if shifted else [of_bins.sum(axis=1, keepdims=True)]), of_bins):
                since.append(_in_bins(units[t] - units[:t], squared[t] - squared[:t], errors, tolerance))
        parts = [IN_ONE_DIRECTION, 1 - IN_ONE_DIRECTION] if len(since) > 1 else [1.0]
        by_start = log_weights[:t] + _log_sum(np.stack(since, axis=-1), np.array(parts))
        # Starts that are still to come have not bet yet: each has 1.
        rest = max(left[t - 1], 0.0)
        log_e[place] = _log_sum(np.append(by_start, math.log(rest) if rest else -np.inf))
        starts[place] = int(by_start.argmax())
    return EvidenceByPeriod(log_e, starts)


def rejected(log_e: Float64s, alpha: float) -> Bools:
    """Rejections of K null hypotheses by e-BH: the k largest e-values, if the k-th is at least K / (alpha k).

    The expected share of true ones among them is at most ``alpha``, for e-values that depend on each other in any way
    (Wang & Ramdas 2022).

    >>> rejected(np.log([100.0, 30.0, 1.0]), 0.05).tolist()
    [True, True, False]
    """
    ordered = np.sort(log_e)[::-1]
    enough = ordered >= math.log(len(log_e) / alpha) - np.log(np.arange(1, len(log_e) + 1))
    return np.asarray(log_e >= (ordered[np.flatnonzero(enough)[-1]] if enough.any() else np.inf))


def _log_sum(logs: Float64s, weights: Float64s | float = 1.0) -> Float64s:
    """Logarithm of the weighted sum along the last axis.

    A look takes several of small arrays, for which SciPy's function spends most of its time on their types.
    """
    most = logs.max(axis=-1, keepdims=True)
    most = np.where(np.isfinite(most), most, 0.0)
    with np.errstate(divide="ignore"):
        return np.asarray(most[..., 0] + np.log((weights * np.exp(logs - most)).sum(axis=-1)))


def _log_mean(logs: Float64s) -> Float64s:
    return _log_sum(logs) - math.log(logs.shape[-1])


def _in_bins(units: Float64s, squared: Float64s, differences: Float64s, tolerance: float) -> Float64s:
    """Log of the process in bins for each start, (starts,)."""
    bets = _BETS[:, np.newaxis]
    # log cosh x = |x| + log1p(exp(-2 |x|)) - log 2, without overflow.
    size = np.abs(_BETS[:, np.newaxis, np.newaxis] * differences)
    cosh = (size + np.log1p(np.exp(-2 * size)) - math.log(2)).sum(axis=-1)
    return _log_mean((cosh - bets * units * tolerance - _psi(bets) * squared).T)


def gap_ends(sums: PeriodSums, alpha: float) -> tuple[float, float]:
    """Ends of the mean gap, observed less predicted, over all periods given, at all times with chance 1 - ``alpha``."""
    units, expected, observed, squared = (part.sum(keepdims=True) for part in _totals(sums))
    low, high = gap_ends_of(units, expected, observed, squared, alpha)
    return float(low[0]), float(high[0])


def gaps_so_far(sums: PeriodSums, alpha: float) -> Float64s:
    """Mean gap of the periods up to each one, and its ends at all times with chance 1 - ``alpha``, (T, 3)."""
    units, expected, observed, squared = (np.cumsum(part) for part in _totals(sums))
    return np.column_stack([(observed - expected) / units, *gap_ends_of(units, expected, observed, squared, alpha)])


def _totals(sums: PeriodSums) -> tuple[Float64s, Float64s, Float64s, Float64s]:
    return sums.units, sums.expected, sums.observed, sums.squared


def gap_ends_of(
    units: Float64s, expected: Float64s, observed: Float64s, squared: Float64s, alpha: float
) -> tuple[Float64s, Float64s]:
    """Ends of several mean gaps, observed less predicted, each from its sums, (T,).

    For each end, the mean of three e-processes is inverted at 2 / alpha. One is of differences (Howard et al. 2021).
    The others are of the counts of events and of non-events: they are narrower where either is rare. The gap may vary
    from row to row. Without units the ends are -1 and 1.
    """
    limit, known = math.log(2 / alpha), units > 0

    def log_e(gap: Float64s, sign: float) -> Float64s:
        """Evidence that the gap is further in the direction of ``sign`` than this."""
        difference = sign * (observed - expected - units * gap)
        true = np.clip(expected + units * gap, 0.0, units)
        parts = [_BETS * difference[:, np.newaxis] - _psi(_BETS) * squared[:, np.newaxis]]
        # Many events show that the gap is larger, and many non-events that it is smaller; few ones the reverse.
        for count, mean, up in ((observed, true, sign), (units - observed, units - true, -sign)):
            parts.append(up * _COUNT_BETS * count[:, np.newaxis] - np.expm1(up * _COUNT_BETS) * mean[:, np.newaxis])
        return np.asarray(np.logaddexp.reduce([_log_mean(part) for part in parts])) - math.log(3)

    ends = []
    for sign in (1.0, -1.0):
        inside = np.divide(observed - expected, units, out=np.zeros(len(units)), where=known)
        outside = np.full(len(units), -sign)
        for _ in range(_STEPS):
            middle = (inside + outside) / 2
            beyond = log_e(middle, sign) >= limit
            inside, outside = np.where(beyond, inside, middle), np.where(beyond, middle, outside)
        ends.append(np.where(known, outside, -sign))
    return ends[0], ends[1]
