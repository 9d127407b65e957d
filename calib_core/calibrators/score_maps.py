"""Fitted maps of one score, as they are applied here and written in other languages: cells, lines, log-odds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit

from calib_core._base.arrays import Float64s, Floats, safe_log
from calib_core.claims.cell_search import places


@dataclass(frozen=True, eq=False)
class PiecewiseMap:
    """slopes[b] * s + offsets[b] in the b-th cell, b the number of edges at or below s: edges (B-1,), the others (B,).

    ``from_scores`` says that the edges are scores of calibration rows, so that later scores can be tied with them.

    >>> PiecewiseMap(np.array([0.5]), np.zeros(2), np.array([0.2, 0.7]))(np.array([0.4, 0.5])).tolist()
    [0.2, 0.7]
    """

    edges: Float64s
    slopes: Float64s
    offsets: Float64s
    from_scores: bool = True

    @classmethod
    def constant(cls, edges: ArrayLike, values: ArrayLike) -> PiecewiseMap:
        """One value for every score of a cell."""
        offsets = np.asarray(values, dtype=np.float64)
        return cls(np.asarray(edges, dtype=np.float64), np.zeros(len(offsets)), offsets)

    def __call__(self, scores: Floats) -> Float64s:
        """The map of scores (n,); edges are compared as numbers of the scores' type."""
        cells = places(self.edges.astype(scores.dtype), scores)
        if not self.slopes.any():
            return np.asarray(self.offsets.take(cells))
        return np.asarray(self.slopes.take(cells) * scores + self.offsets.take(cells), dtype=np.float64)


@dataclass(frozen=True, eq=False)
class Interpolated:
    """The line between the points (scores, values) around s; constant beyond the outer ones. Scores ascend."""

    scores: Float64s
    values: Float64s

    def __call__(self, scores: Floats) -> Float64s:
        """The map of scores (n,)."""
        return np.asarray(np.interp(scores.astype(np.float64), self.scores, self.values))


@dataclass(frozen=True, eq=False)
class LogOddsMap:
    """sigmoid(yes * log s - no * log(1 - s) + intercept), both logarithms from the one floor up."""

    yes: float
    no: float
    intercept: float

    def __call__(self, scores: Floats) -> Float64s:
        """The map of scores (n,)."""
        wide = scores.astype(np.float64)
        return np.asarray(expit(self.yes * safe_log(wide) - self.no * safe_log(1.0 - wide) + self.intercept))


Map: TypeAlias = PiecewiseMap | Interpolated | LogOddsMap

SAME = PiecewiseMap(np.empty(0), np.ones(1), np.zeros(1), from_scores=False)
"""The score as it is."""


def carried_back(edges: Float64s, increasing: Callable[[Float64s], Float64s]) -> Float64s:
    """The smallest score in [0, 1] that an increasing map sends to each edge or above; infinite where none does.

    >>> carried_back(np.array([0.25, 2.0]), np.square).tolist()
    [0.5, inf]
    """
    top = np.float64(1.0).view(np.int64)
    below = np.full(len(edges), -1, dtype=np.int64)
    # Doubles from 0 to 1 are ordered as their bits are: 62 bits, five at a time, find the one.
    for shift in (*range(57, 0, -5), 0):
        tried = below[:, None] + (np.arange(1, 32) << shift)
        values = increasing(np.clip(tried, 0, top).view(np.float64).ravel()).reshape(tried.shape)
        below += (values < edges[:, None]).sum(axis=1) << shift
    found = np.minimum(below + 1, top).view(np.float64)
    return np.where(below < top, found, np.inf)
