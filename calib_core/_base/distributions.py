"""Normal, Student's, beta, gamma, binomial and hypergeometric distributions, computed with ``scipy.special``.

Loading ``scipy.stats`` takes half a second. Names and arguments are the same; only the functions used here exist.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.special import (
    betainc,
    betaincc,
    betainccinv,
    betaincinv,
    betaln,
    gammainccinv,
    ndtr,
    ndtri,
    stdtr,
    stdtrit,
)

Numbers = Any
"""A number or an array of numbers; results have the broadcast shape."""


class _Normal:
    def cdf(self, x: Numbers) -> Numbers:
        return ndtr(x)

    def sf(self, x: Numbers) -> Numbers:
        return ndtr(-x)

    def ppf(self, q: Numbers) -> Numbers:
        return ndtri(q)

    def isf(self, q: Numbers) -> Numbers:
        return -ndtri(q)


class _Student:
    def sf(self, x: Numbers, df: Numbers) -> Numbers:
        return stdtr(df, -x)

    def ppf(self, q: Numbers, df: Numbers) -> Numbers:
        return stdtrit(df, q)

    def isf(self, q: Numbers, df: Numbers) -> Numbers:
        return -stdtrit(df, q)


class _Beta:
    def cdf(self, x: Numbers, a: Numbers, b: Numbers) -> Numbers:
        return betainc(a, b, x)

    def sf(self, x: Numbers, a: Numbers, b: Numbers) -> Numbers:
        return betaincc(a, b, x)

    def ppf(self, q: Numbers, a: Numbers, b: Numbers) -> Numbers:
        return betaincinv(a, b, q)

    def isf(self, q: Numbers, a: Numbers, b: Numbers) -> Numbers:
        return betainccinv(a, b, q)


class _Gamma:
    def isf(self, q: Numbers, a: Numbers) -> Numbers:
        return gammainccinv(a, q)


class _Binomial:
    """Binomial distribution; P(X <= k) is a tail of a beta distribution: 1 - I_p(k + 1, n - k)."""

    def cdf(self, k: Numbers, n: Numbers, p: Numbers) -> Numbers:
        return np.where(k < 0, 0.0, np.where(k >= n, 1.0, betaincc(*_shapes(k, n), p)))

    def sf(self, k: Numbers, n: Numbers, p: Numbers) -> Numbers:
        return np.where(k < 0, 1.0, np.where(k >= n, 0.0, betainc(*_shapes(k, n), p)))

    def ppf(self, q: Numbers, n: Numbers, p: Numbers) -> Numbers:
        """Smallest k with P(X <= k) >= q."""
        return _least(lambda k: self.cdf(k, n, p) >= q, n, q, p)

    def isf(self, q: Numbers, n: Numbers, p: Numbers) -> Numbers:
        """Smallest k with P(X > k) <= q."""
        return _least(lambda k: self.sf(k, n, p) <= q, n, q, p)


class _Hypergeometric:
    """Number of marked items among N drawn without replacement from M, of which n are marked; only for scalars."""

    def cdf(self, k: float, M: int, n: int, N: int) -> float:
        support, masses = self._masses(M, n, N)
        return min(1.0, float(masses[support <= k].sum()))

    def sf(self, k: float, M: int, n: int, N: int) -> float:
        support, masses = self._masses(M, n, N)
        return min(1.0, float(masses[support > k].sum()))

    def _masses(self, M: int, n: int, N: int) -> tuple[Any, Any]:
        support = np.arange(max(0, N + n - M), min(n, N) + 1)
        logs = _log_binomial(n, support) + _log_binomial(M - n, N - support) - _log_binomial(M, N)
        return support, np.exp(logs)


def _log_binomial(n: Numbers, k: Numbers) -> Numbers:
    """Logarithm of the binomial coefficient n over k."""
    return -betaln(1 + n - k, 1 + k) - np.log(n + 1)


def _least(enough: Callable[[Any], Any], n: Numbers, *others: Numbers) -> Numbers:
    """Smallest integer from 0 to n that satisfies a monotone condition, by bisection."""
    high = np.broadcast_arrays(np.asarray(n, dtype=float), *others)[0].copy()
    low = np.full_like(high, -1.0)
    while (high - low > 1).any():
        middle = np.floor((low + high) / 2)
        found = enough(middle)
        low, high = np.where(found, low, middle), np.where(found, middle, high)
    return high


def _shapes(k: Numbers, n: Numbers) -> tuple[Any, Any]:
    """Shapes of the beta distribution, for k from 0 to n - 1."""
    whole = np.floor(k)
    return np.maximum(whole + 1, 1), np.maximum(n - whole, 1)


norm, t, beta, gamma, binom = _Normal(), _Student(), _Beta(), _Gamma(), _Binomial()
hypergeom = _Hypergeometric()
