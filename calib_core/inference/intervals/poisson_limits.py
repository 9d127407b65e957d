"""What few outcomes can hide: the Poisson limits that stand in for the normal one where outcomes are rare."""

from __future__ import annotations

import numpy as np

from calib_core._base.distributions import gamma, norm


def beyond(count: float, tail: float) -> float:
    """How far the mean of a Poisson count may lie above the count: the exact upper limit less the count.

    X(B) = G(B + 1; 1 - tail) - B with G the gamma quantile of shape B + 1: log(1/tail) at B = 0, about
    z sqrt(B) + (z^2 + 2)/3 for many. ``count`` may be any number from 0 on: a sum of squared residuals in [0, 1] takes
    the place of the count, as the variance of a weighted Poisson sum does.

    References: Garwood 1936; for weighted sums Fay & Feuer 1997.

    >>> round(beyond(0.0, 0.05), 3), round(float(np.log(20)), 3)
    (2.996, 2.996)
    """
    return float(gamma.isf(tail, count + 1.0) - count)


def surplus(count: float, tail: float) -> float:
    """What the Poisson limit adds to the normal one, D(B) = X(B) - z sqrt(B): log(1/tail) at 0, 1 to 2 for many.

    >>> round(surplus(0.0, 0.05), 2), 1.2 < surplus(1e4, 0.05) < 1.7
    (3.0, True)
    """
    return beyond(count, tail) - float(norm.isf(tail)) * float(np.sqrt(count))
