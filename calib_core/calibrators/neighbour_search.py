"""Which calibration rows are nearest to a prediction: exact, in bounded memory, and without regard to row order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import scipy

from calib_core._base.arrays import Bools, Codes, Float64s, Floats

BLOCK_ENTRIES = 1 << 20
"""Distances held at once by one worker: rows are taken so many at a time that no more are needed."""

_FLOAT32_ROUNDING = 2.0**-24
_LEAST = float(np.finfo(np.float32).tiny)
_SAMPLED = 8
"""A bound on the k-th distance comes from every eighth point; only points within it are looked at again."""
_MANY_TIES = 32
"""With more candidates for the last place than this, a row's candidates are all compared in one matrix product."""


class Distance(Protocol):
    """A distance to fixed points; it may first be computed roughly, then exactly where the rough value leaves doubt."""

    @property
    def error(self) -> float:
        """Largest relative error of a rough distance."""

    def rough(self, block: Float64s) -> Floats:
        """Distances (b, n) of b rows to all points, infinite where they are infinite."""

    def exact(self, block: Float64s, rough: Floats, rows: Codes, points: Codes) -> Float64s:
        """Distances of chosen (row, point) pairs in float64."""


class KullbackLeibler:
    """Ranks points q by KL(p || q) = sum_l p_l log(p_l / q_l): by -sum_l p_l log q_l, which differs by a constant of p.

    0 log 0 = 0; infinite where q has a zero and p has none. All terms are at least 0, so that a product in float32
    has a small *relative* error however near the points are; what it leaves undecided is computed again in float64.
    """

    def __init__(self, points: Floats) -> None:
        q = points.astype(np.float64)
        self._zero = q == 0
        self._cost = -np.log(np.where(self._zero, 1.0, q))
        self._rough = np.ascontiguousarray(self._cost.T, dtype=np.float32)
        self._forbids = self._zero.T.astype(np.float32) if self._zero.any() else None
        self.error = (q.shape[1] + 4) * _FLOAT32_ROUNDING

    def rough(self, block: Float64s) -> Floats:
        distances = block.astype(np.float32) @ self._rough
        if self._forbids is not None:
            distances[((block > 0).astype(np.float32) @ self._forbids) > 0] = np.inf
        return np.asarray(distances)

    def exact(self, block: Float64s, rough: Floats, rows: Codes, points: Codes) -> Float64s:
        known = np.isinf(rough[rows, points])
        distances = np.full(len(rows), np.inf)
        i, j = rows[~known], points[~known]
        if len(i) > _MANY_TIES * len(block):
            distances[~known] = (block @ self._cost.T)[i, j]
            return distances
        distances[~known] = np.einsum("ij,ij->i", block[i], self._cost[j])
        return distances


class Euclidean:
    """Squared Euclidean distances, from differences in float64: near points would cancel in a product."""

    error = 0.0

    def __init__(self, points: Floats) -> None:
        self._points = points.astype(np.float64)

    def rough(self, block: Float64s) -> Floats:
        return np.asarray(scipy.spatial.distance.cdist(block, self._points, "sqeuclidean"))

    def exact(self, block: Float64s, rough: Floats, rows: Codes, points: Codes) -> Float64s:
        return np.asarray(rough[rows, points], dtype=np.float64)


@dataclass(frozen=True, eq=False)
class Nearest:
    """The k nearest of fixed points, as one sparse matrix (b, n) whose rows sum to k, for b rows and each k asked.

    Points nearer than the k-th count in full. All points as far as the k-th, to within ``band`` (relative, the
    rounding of the inputs), share what is left of k in equal parts: no tie is broken by the order of the points.
    With ``weights`` a point counts as often as it weighs.
    """

    distance: Distance
    weights: Float64s | None
    band: float

    def of(self, block: Float64s, ks: Sequence[int]) -> list[scipy.sparse.csr_matrix]:
        """Shares of the points in the neighbourhoods of these rows, one matrix for each k, in the order given."""
        rough = self.distance.rough(block)
        if self.weights is not None:
            near, last = _Pairs.within(rough, np.full(len(block), np.inf)), self._weighted_kth(rough, ks)
        else:
            near, last = _nearest_pairs(rough, ks, 1 + 4 * self._doubt)
        return [self._members(block, rough, near, last[:, a], k) for a, k in enumerate(ks)]

    @property
    def _doubt(self) -> float:
        """Rough distances further apart than this, relatively, are in the right order and no ties."""
        return 2 * self.distance.error + 2 * self.band

    def _weighted_kth(self, rough: Floats, ks: Sequence[int]) -> Floats:
        """Rough distance at which the weights of the nearest points reach k, (b, len(ks))."""
        assert self.weights is not None
        order = np.argsort(rough, axis=1, kind="stable")
        upto = np.cumsum(self.weights[order], axis=1)
        places = [np.argmax(upto >= _reached(k), axis=1) for k in ks]
        return np.take_along_axis(rough, np.take_along_axis(order, np.stack(places, axis=1), axis=1), axis=1)

    def _members(self, block: Float64s, rough: Floats, near: _Pairs, last: Floats, k: int) -> scipy.sparse.csr_matrix:
        high = (last.astype(np.float64) * (1 + self._doubt) + _LEAST).astype(rough.dtype)
        low = (last.astype(np.float64) * (1 - self._doubt) - _LEAST).astype(rough.dtype)
        b, n = rough.shape
        kept = np.flatnonzero(near.rough <= high[near.rows])
        i, j = near.rows[kept], near.points[kept]
        share = np.ones(len(kept)) if self.weights is None else self.weights[j]
        open_ = np.flatnonzero(near.rough[kept] >= low[i])
        within = (np.bincount(i, share, b) - np.bincount(i[open_], share[open_], b)).astype(np.float64, copy=False)
        exact = self.distance.exact(block, rough, i[open_], j[open_])
        share[open_] = self._last_places(i[open_], exact, share[open_], within, k)
        starts = np.append(0, np.cumsum(np.bincount(i, minlength=b)))
        return scipy.sparse.csr_matrix((share, j, starts), shape=(b, n))

    def _last_places(self, i: Codes, exact: Float64s, share: Float64s, within: Float64s, k: int) -> Float64s:
        """Shares of the candidates for the last places: in full when nearer than the k-th, in part when as far."""
        b = len(within)
        order = np.lexsort((exact, i))
        row, far = i[order], exact[order]
        upto = np.cumsum(share[order])
        before = np.append(0.0, np.cumsum(np.bincount(i, share, b)))[:-1]
        reached = upto - before[row] + within[row] >= _reached(k)
        first = np.flatnonzero(reached & np.append(True, ~reached[:-1] | (row[1:] != row[:-1])))
        kth = np.full(b, np.inf)
        kth[row[first]] = far[first]
        edge = kth[i]
        tied = _as_far(exact, edge, self.band)
        nearer = (exact < edge) & ~tied
        left = k - within - np.bincount(i[nearer], share[nearer], b)
        among = np.bincount(i[tied], share[tied], b)
        part = np.divide(left, among, out=np.zeros(b), where=among > 0)
        return np.asarray(np.where(nearer, share, np.where(tied, share * part[i], 0.0)))


@dataclass(frozen=True, eq=False)
class _Pairs:
    """Pairs of rows and points with their rough distance, by row and then by point."""

    rows: Codes
    points: Codes
    rough: Floats

    @classmethod
    def within(cls, rough: Floats, limit: Floats) -> _Pairs:
        """All pairs no further apart than the row's limit."""
        flat = np.flatnonzero(rough <= limit[:, None])
        rows, points = np.divmod(flat, rough.shape[1])
        return cls(rows, points, rough.ravel()[flat])

    def ordered(self, n_rows: int, places: Codes) -> Floats:
        """Distances at these places of each row's ascending order, (n_rows, len(places)); infinite past its end."""
        count = np.bincount(self.rows, minlength=n_rows)
        starts = np.append(0, np.cumsum(count))[:-1]
        table = np.full((n_rows, max(int(count.max()), int(places.max()) + 1)), np.inf, dtype=self.rough.dtype)
        table[self.rows, np.arange(len(self.rows)) - starts[self.rows]] = self.rough
        table.partition(np.unique(places), axis=1)
        return np.asarray(table[:, places])


def _nearest_pairs(rough: Floats, ks: Sequence[int], room: float) -> tuple[_Pairs, Floats]:
    """Pairs that hold every point up to ``room`` times the k-th distance, and the k-th distances (b, len(ks))."""
    places = np.asarray(ks) - 1
    limit = _limit(rough, max(ks))
    near = _Pairs.within(rough, limit)
    last = near.ordered(len(rough), places)
    short = last.max(axis=1) * room + 2 * _LEAST > limit
    if not (short & np.isfinite(limit)).any():
        return near, last
    near = _Pairs.within(rough, np.where(short, np.inf, limit).astype(rough.dtype))
    return near, near.ordered(len(rough), places)


def _limit(rough: Floats, k: int) -> Floats:
    """A distance that the k-th nearest point seldom exceeds, from a sample of the points; infinite when k is large."""
    b, n = rough.shape
    m = -(-n // _SAMPLED)
    expected = k * m / n
    place = int(expected + 3.5 * np.sqrt(expected) + 3)
    if place >= m // 2:
        return np.full(b, np.inf, dtype=rough.dtype)
    return np.asarray(np.partition(rough[:, ::_SAMPLED], place, axis=1)[:, place])


def _as_far(distance: Float64s, edge: Float64s, band: float) -> Bools:
    with np.errstate(invalid="ignore"):  # infinite less infinite: such pairs are equal
        return np.asarray((distance == edge) | (np.abs(distance - edge) <= band * edge))


def _reached(k: int) -> float:
    """Sums of weights reach k to within their rounding."""
    return k * (1 - 1e-12)
