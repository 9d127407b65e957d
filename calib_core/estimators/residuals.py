"""Errors that are the size of what smoothing, sharing out or adding up makes of the residuals: what they look at."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeAlias

import numpy as np
import scipy

from calib_core._base.arrays import Codes, Float64s
from calib_core.claims.binary_claims import Claims, Stratum
from calib_core.estimators.base import Estimated, Traits

Sizes: TypeAlias = Callable[[Float64s], Float64s]

NORM = Traits(judged="residuals", redrawn=True)
"""Traits of such errors: they have an ``image``, and what redrawn outcomes need."""


@dataclass(frozen=True, eq=False)
class Image:
    """Sums of residuals at ``size`` places in one stratum, and the error computed from them.

    Claim i adds its residual to place ``first[i]`` and, where ``beyond`` is given, that share of it to the next place
    instead. ``errors`` maps such sums (draws, size), divided by the stratum's rows, to errors (draws,): a norm. For an
    image of outcomes (``OfOutcomes``) it maps sums of outcomes to the stratum's own values. Where ``times`` (n,) is
    given, claim i counts so many times.
    """

    first: Codes
    beyond: Float64s | None
    size: int
    errors: Sizes
    times: Float64s | None = None

    def amounts(self, weights: Float64s | None) -> Float64s | None:
        """Contribution of each claim's outcome, (n,), None if that is 1."""
        if weights is None or self.times is None:
            return self.times if weights is None else weights
        return weights * self.times

    def map(self, residuals: Float64s, rows: Codes, n: int) -> scipy.sparse.csr_array:
        """Sparse map (size, n) of one number a row to sums at the places."""
        residuals = residuals if self.times is None else residuals * self.times
        if self.beyond is None:
            return scipy.sparse.csr_array((residuals, (self.first, rows)), shape=(self.size, n))
        ahead = residuals * self.beyond
        entries = np.concatenate([residuals - ahead, ahead])
        places = np.concatenate([self.first, np.minimum(self.first + 1, self.size - 1)])
        return scipy.sparse.csr_array((entries, (places, np.tile(rows, 2))), shape=(self.size, n))


class NormOfResiduals(Protocol):
    """An estimator whose error is a norm of the residuals."""

    def image(self, claims: Claims, estimated: Estimated, s: int, stratum: Stratum) -> Image:
        """Image of stratum ``s`` of these claims, from which this estimate was computed."""


class OfPairs(Protocol):
    """An estimator whose strata are means over pairs of claims: r_i r_j k(s_i, s_j), no |k| above 1 and k(s, s) = 1."""

    @property
    def with_self(self) -> bool:
        """True if each claim is a pair with itself, so that the mean is the square of a norm."""

    def paired(self, scores: Float64s, values: Float64s) -> Float64s:
        """The sum over pairs of values (..., n) at ascending scores (n,); a claim with itself is half a pair."""

    def pairs(self, weights: Float64s) -> float:
        """Number of pairs of claims with these weights."""


class OfOutcomes(Protocol):
    """An estimator of claims that is a function of sums of outcomes at places the scores decide."""

    def redrawn(self, claims: Claims, s: int, stratum: Stratum) -> Image:
        """Those places in stratum ``s``, and the stratum's value for any such sums."""


def absolute(sums: Float64s) -> Float64s:
    """The sum of the absolute sums at all places."""
    return np.asarray(np.abs(sums).sum(axis=-1))


def inner_edges(estimated: Estimated, s: int) -> Float64s:
    """The inner edges of one stratum's bins."""
    assert estimated.bins is not None
    return estimated.bins.lower[s, 1 : int(estimated.bins.n_bins[s])]
