"""Logistic regression on few parameters: maximum likelihood, Firth's penalized likelihood, and its profile."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy
from scipy.special import expit

from calib_core._base.arrays import Float64s
from calib_core._base.distributions import norm
from calib_core.predictions.predictions import NotAnswerable

ONE_RISK = "all predicted risks are equal: a slope needs at least two different ones"
_STEPS, _HALVINGS, _CLOSE = 100, 40, 1e-9
_FARTHEST = 100.0
"""Log-odds beyond which a fit is taken to have left for infinity: there the likelihood has no maximum."""


@dataclass(frozen=True, eq=False)
class LogisticFit:
    """Coefficients (q,), the inverse of their information as ``covariance`` (q, q), and the likelihood's ``height``."""

    coefficients: Float64s
    covariance: Float64s
    height: float = np.nan


def maximum_likelihood(design: Float64s, rows: Float64s, events: Float64s) -> LogisticFit | None:
    """Fit ``events`` of ``rows`` (n,) on the columns of ``design`` (n, q); None where no maximum exists.

    >>> fit = maximum_likelihood(np.ones((1, 1)), np.array([4.0]), np.array([1.0]))
    >>> fit.coefficients.round(4).tolist()  # log(1 / 3)
    [-1.0986]
    """
    beta = np.zeros(design.shape[1])
    height, line = -np.inf, design @ beta
    for _ in range(_STEPS):
        chance = expit(line)
        curvature = information(design, rows, chance)
        # Columns that depend on each other, or a fit that has left for infinity.
        if np.linalg.cond(curvature) > 1e13 or np.abs(line).max() > _FARTHEST:
            return None
        step = np.linalg.solve(curvature, design.T @ (events - rows * chance))
        reach = float(np.abs(design @ step).max())
        if reach < _CLOSE:
            return LogisticFit(beta, np.asarray(np.linalg.inv(curvature), dtype=np.float64))
        step *= min(1.0, 5.0 / reach)
        for _ in range(_HALVINGS):
            line = design @ (beta + step)
            higher = float(events @ line - rows @ np.logaddexp(0.0, line))
            if higher >= height - 1e-12 * abs(height):
                break
            step = step / 2
        beta, height = beta + step, higher
    return None


def information(design: Float64s, rows: Float64s, chance: Float64s) -> Float64s:
    """X' diag(rows p (1 - p)) X, (q, q)."""
    return np.asarray(design.T @ (design * (rows * chance * (1 - chance))[:, None]))


@dataclass(frozen=True, eq=False)
class FirthLine:
    """Firth's logistic regression of ``events`` of ``rows`` on an intercept and ``x``, all (n,).

    Maximises l + log det I / 2, finite under separation too, by the equations sum x (y - p + h (1/2 - p)) = 0, h the
    hat values; l alone where ``penalty`` is 0. Best with x of mean 0 and spread 1 (``of``).

    References: Firth 1993, Biometrika 80, eq. (3.1); Heinze & Schemper 2002, Statistics in Medicine 21.
    """

    x: Float64s
    rows: Float64s
    events: Float64s
    middle: float = 0.0
    spread: float = 1.0
    penalty: float = 1.0

    @classmethod
    def of(cls, x: Float64s, rows: Float64s, events: Float64s, penalty: float = 1.0) -> FirthLine:
        """The same fit with x moved to mean 0 and spread 1; NotAnswerable where all x are equal."""
        if not np.ptp(x) > 0:
            raise NotAnswerable(ONE_RISK)
        middle = float(rows @ x / rows.sum())
        spread = float(np.sqrt(rows @ np.square(x - middle) / rows.sum()))
        return cls((x - middle) / spread, rows, events, middle, spread, penalty)

    def evaluated(self, a: float, b: float) -> tuple[float, Float64s, Float64s]:
        """The penalized log-likelihood, its equations (2,) and the information (2, 2) at intercept a and slope b."""
        x, line = self.x, a + b * self.x
        chance = expit(line)
        weight = self.rows * chance * (1 - chance)
        wx = weight * x
        i00, i01, i11 = float(weight.sum()), float(wx.sum()), float(wx @ x)
        determinant = i00 * i11 - i01 * i01
        if not determinant > 0:
            return -np.inf, np.zeros(2), np.eye(2)
        hat = (weight * i11 - 2 * i01 * wx + i00 * wx * x) / determinant
        left = self.events - self.rows * chance + self.penalty * hat * (0.5 - chance)
        # log(1 + e^line) = line - log p where p is not too small, and log1p(e^line) anywhere.
        height = float(self.events @ line - self.rows @ np.logaddexp(0.0, line))
        height += 0.5 * self.penalty * np.log(determinant)
        return height, np.array([left.sum(), left @ x]), np.array([[i00, i01], [i01, i11]])

    def fit(self) -> LogisticFit:
        """Intercept and slope for these x, by Newton's steps.

        >>> y = np.array([0.0, 1.0, 0.0, 1.0])
        >>> FirthLine(np.array([-1.0, -1.0, 1.0, 1.0]), np.ones(4), y).fit().coefficients.round(6).tolist()
        [0.0, 0.0]
        """
        where = np.zeros(2)
        height, pull, curvature = self.evaluated(0.0, 0.0)
        for _ in range(_STEPS):
            step = np.linalg.solve(curvature, pull)
            step *= min(1.0, 2.0 / max(float(np.abs(step).max()), 1e-300))
            if np.abs(step).max() < _CLOSE:
                break
            for _ in range(_HALVINGS):
                found = self.evaluated(*(where + step))
                if found[0] >= height - 1e-12 * abs(height):
                    break
                step = step / 2
            where, (height, pull, curvature) = where + step, found
        return LogisticFit(where, np.asarray(np.linalg.inv(curvature), dtype=np.float64), height)

    def highest(self, b: float, start: float) -> tuple[float, float]:
        """The intercept that is best with this slope, and the penalized log-likelihood there."""
        a = start
        height, pull, curvature = self.evaluated(a, b)
        for _ in range(_STEPS):
            step = float(np.clip(pull[0] / curvature[0, 0], -2.0, 2.0))
            if abs(step) < 1e-7:
                break
            for _ in range(_HALVINGS):
                found = self.evaluated(a + step, b)
                if found[0] >= height - 1e-12 * abs(height):
                    break
                step /= 2
            a, (height, pull, curvature) = a + step, found
        return a, height

    def slope_ends(self, fit: LogisticFit, level: float) -> tuple[float, float]:
        """Ends of the slope: where twice the drop of the profile is the square of the normal (1 + level)/2 point."""
        allowed = float(norm.isf((1 - level) / 2)) ** 2
        step = float(np.sqrt(allowed * fit.covariance[1, 1]))
        low, high = (self._end(fit, allowed, side * step) for side in (-1.0, 1.0))
        return low, high

    def _end(self, fit: LogisticFit, allowed: float, step: float) -> float:
        a, b = (float(each) for each in fit.coefficients)
        # The best intercept moves almost in a line with the slope: a start from which few steps are left.
        drift = float(fit.covariance[0, 1] / fit.covariance[1, 1])

        def beyond(slope: float) -> float:
            return 2 * (fit.height - self.highest(slope, a + drift * (slope - b))[1]) - allowed

        near, far = b, b + step
        while beyond(far) < 0:
            near, step = far, 2 * step
            far = b + step
            if not abs(step) < 1e8:
                return float(np.sign(step) * np.inf)
        return root(beyond, near, far)


def slope_profile(
    x: Float64s, rows: Float64s, events: Float64s, level: float, penalty: float = 1.0
) -> tuple[float, float, float]:
    """Return Firth's slope of the events on x (n,) and the ends of its profile interval at ``level``.

    With ``penalty`` 0 the slope and ends by maximum likelihood, for events and other rows that overlap. NotAnswerable
    where all x are equal.

    References: Firth 1993; Heinze & Schemper 2002 (profile).

    >>> x, events = np.array([-1.0, 0.0, 1.0]), np.array([1.0, 2.0, 3.0])
    >>> [round(number, 3) for number in slope_profile(x, np.full(3, 4.0), events, 0.9)]
    [0.885, -0.22, 2.207]
    """
    line = FirthLine.of(x, rows, events, penalty)
    fit = line.fit()
    low, high = line.slope_ends(fit, level)
    return float(fit.coefficients[1] / line.spread), low / line.spread, high / line.spread


def root(function: Callable[[float], float], low: float, high: float) -> float:
    """Where a function changes its sign between two places."""
    return float(scipy.optimize.brentq(function, low, high, xtol=1e-9, rtol=1e-11))
