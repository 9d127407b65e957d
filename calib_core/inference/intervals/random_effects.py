"""Random-effects meta-analysis: mean, spread between places, and a prediction interval for a new place."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import chdtrc, chdtri

from calib_core._base.arrays import Float64s
from calib_core._base.distributions import t
from calib_core._base.errors import InputError, NotAnswerable, as_share
from calib_core._base.notebook_display import OneLine
from calib_core.defaults import LEVEL, SEED
from calib_core.text import short_percent

__all__ = ["RandomEffects", "random_effects"]

_STEPS, _CLOSE = 200, 1e-12
_DRAWS, _GRID = 4000, 300


@dataclass(frozen=True, repr=False)
class RandomEffects(OneLine):
    """Mean of ``places`` places, and the standard deviation ``tau`` of their true values, with intervals.

    ``low`` and ``high`` are the ends for the mean, ``tau_low`` and ``tau_high`` for tau; ``new_low`` and ``new_high``
    contain the true value of a new place. ``i2`` is the share of the variance of the estimates that is between places.
    ``p_value`` is of the test that all true values are equal (Cochran's Q).
    """

    places: int
    mean: float
    low: float
    high: float
    error: float
    tau: float
    tau_low: float
    tau_high: float
    i2: float
    p_value: float
    new_low: float
    new_high: float
    level: float

    def _line(self) -> str:
        return (
            f"mean {self.mean:.3g} ({self.low:.3g} to {self.high:.3g}), tau {self.tau:.3g}, "
            f"I2 {short_percent(self.i2)}, new place {self.new_low:.3g} to {self.new_high:.3g}"
        )


def random_effects(
    values: ArrayLike,
    errors: ArrayLike,
    level: float = LEVEL,
    method: Literal["reml", "dl"] = "reml",
) -> RandomEffects:
    """Pool estimates of several places that differ by more than chance.

    Estimate y_i with standard error s_i is of theta_i ~ N(mu, tau^2). With w_i = 1 / (s_i^2 + tau^2), mu = sum w y /
    sum w. Its interval is Hartung and Knapp's: Student's with k - 1 degrees of freedom and se^2 = max(1, q) / sum w,
    q = sum w (y - mu)^2 / (k - 1). Ends of tau are those of the Q profile. The true value of a new place is predicted
    as mu(u) + tau(u) z + se t, with z normal and t Student's. Here tau(u) is from the distribution of
    the Q profile, by 8,000 draws of a fixed seed. The usual mu -+ t sqrt(tau^2 + se^2) takes tau as known. Simulated at
    90 %, it includes only 79 % of new places for 10 places whose tau is half of their errors.

    Parameters
    ----------
    values, errors : estimates and their standard errors, (k,), of at least 2 places.
    level : of all intervals.
    method : of tau: restricted maximum likelihood ("reml"), or DerSimonian and Laird's moments ("dl").

    What can mislead: with few places tau is hardly known, and a tau of 0 does not show that places agree; look at its
    upper end. The prediction interval assumes normal true values and has no ends for fewer than 3 places.

    References: DerSimonian & Laird 1986; Hartung & Knapp 2001; Viechtbauer 2005, 2007 (REML, Q profile); Higgins et al.
    2009; Röver et al. 2015 (max(1, q)); Nagashima, Noma & Furukawa 2019 (prediction interval).

    >>> found = random_effects([0.0, 0.4, 0.8], [0.1, 0.1, 0.1])
    >>> round(found.mean, 3), round(found.tau**2, 3)  # variance of the estimates .16, less .01
    (0.4, 0.15)
    """
    as_share(level, "level")
    if method not in ("reml", "dl"):
        raise InputError(f'method is {method!r:.80}; it must be "reml" or "dl"')
    y, s = (np.asarray(part, dtype=np.float64) for part in (values, errors))
    if y.ndim != 1 or y.shape != s.shape or not np.isfinite(y).all() or not (np.isfinite(s) & (s > 0)).all():
        raise InputError("values and errors must be equally many finite numbers, errors above 0")
    k = len(y)
    if k < 2:
        raise NotAnswerable("differences between places need at least 2 places")
    v = np.square(s)
    tau2 = _moments(y, v) if method == "dl" else _reml(y, v)
    w = 1 / (v + tau2)
    mean = float(w @ y / w.sum())
    error = math.sqrt(max(1.0, float(w @ np.square(y - mean)) / (k - 1)) / float(w.sum()))
    half = float(t.isf((1 - level) / 2, k - 1)) * error
    new_low, new_high = _of_a_new_place(y, v, error, level) if k > 2 else (-math.inf, math.inf)
    fixed = 1 / v
    typical = (k - 1) * fixed.sum() / (fixed.sum() ** 2 - np.square(fixed).sum())
    least, most = _profile(y, v, level)
    return RandomEffects(
        places=k,
        mean=mean,
        low=mean - half,
        high=mean + half,
        error=error,
        tau=math.sqrt(tau2),
        tau_low=math.sqrt(least),
        tau_high=math.sqrt(most),
        i2=tau2 / (tau2 + float(typical)),
        p_value=float(chdtrc(k - 1, _q(y, v, 0.0))),
        new_low=min(new_low, mean - half),
        new_high=max(new_high, mean + half),
        level=level,
    )


def _q(y: Float64s, v: Float64s, tau2: float) -> float:
    """Weighted sum of squared distances from the weighted mean; it falls as tau^2 rises."""
    w = 1 / (v + tau2)
    return float(w @ np.square(y - w @ y / w.sum()))


def _moments(y: Float64s, v: Float64s) -> float:
    w = 1 / v
    scale = float(w.sum() - np.square(w).sum() / w.sum())
    return max(0.0, (_q(y, v, 0.0) - (len(y) - 1)) / scale)


def _reml(y: Float64s, v: Float64s) -> float:
    """Restricted maximum likelihood, by Fisher's scoring from the moments, never below 0."""
    tau2 = _moments(y, v)
    for _ in range(_STEPS):
        w = 1 / (v + tau2)
        away = y - w @ y / w.sum()
        squares, cubes = np.square(w), w**3
        # Score and information of the restricted likelihood.
        score = float(squares @ np.square(away) - w.sum() + squares.sum() / w.sum())
        known = float(squares.sum() - 2 * cubes.sum() / w.sum() + (squares.sum() / w.sum()) ** 2)
        new = max(0.0, tau2 + score / known)
        if abs(new - tau2) <= _CLOSE * max(1e-6, tau2):
            return new
        tau2 = new
    return tau2


def _of_a_new_place(y: Float64s, v: Float64s, error: float, level: float) -> tuple[float, float]:
    """Ends of the predicted value, with tau^2 where Q has each of the drawn values of chi-square."""
    rng, k = np.random.default_rng(SEED), len(y)
    drawn = rng.chisquare(k - 1, _DRAWS)
    most = _crossing(y, v, float(drawn.min()))
    grid = np.append(0.0, np.geomspace(1e-6 * float(v.max()), max(most, float(v.max())), _GRID))
    weights = 1 / (v + grid[:, None])
    q = np.sum(weights * np.square(y - (weights @ y / weights.sum(axis=1))[:, None]), axis=1)
    tau2 = np.interp(drawn, q[::-1], grid[::-1])
    w = 1 / (v + tau2[:, None])
    mean = w @ y / w.sum(axis=1)
    away = np.sqrt(tau2) * rng.standard_normal(_DRAWS) + error * rng.standard_t(k - 1, _DRAWS)
    low, high = np.quantile(np.concatenate([mean - away, mean + away]), [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def _profile(y: Float64s, v: Float64s, level: float) -> tuple[float, float]:
    """Ends of tau^2: where Q has the upper and the lower (1 - level)/2 point of chi-square."""
    ends = []
    for tail in ((1 - level) / 2, (1 + level) / 2):
        target = float(chdtri(len(y) - 1, tail))
        ends.append(_crossing(y, v, target))
    return ends[0], ends[1]


def _crossing(y: Float64s, v: Float64s, target: float) -> float:
    if _q(y, v, 0.0) <= target:
        return 0.0
    low, high = 0.0, float(v.max())
    while _q(y, v, high) > target:
        low, high = high, 2 * high
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if _q(y, v, middle) > target else (low, middle)
    return (low + high) / 2
