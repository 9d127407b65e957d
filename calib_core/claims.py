"""Claims: scores said of binary outcomes, stratum by stratum, with weights.

Two shapes of the same thing. ``FlatClaims`` lists every claim. ``ColumnClaims`` is a matrix whose every column is
a stratum: the claim (i, j) says that column j is the one that hit in row i; 50,000 x 1,000 of them are never copied.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from calib_core._arrays import LARGE_BLOCK_BYTES, Bools, Codes, Float64s, Floats, Rows
from calib_core._parallel import chunks, shared_out
from calib_core._repr import OneLine

_CHUNK_ROWS = 8192
"""Rows one worker counts at a time; fixed, so that sums are the same bits for any number of workers."""

_COLUMNS = 16
"""Columns read together: as many float32 as a line of memory holds."""


@dataclass(frozen=True, eq=False, repr=False)
class Stratum(OneLine):
    """The claims of one stratum: scores in [0, 1], outcomes, weights (None: all 1)."""

    scores: Floats
    outcomes: Bools
    weights: Float64s | None = None

    @property
    def total(self) -> float:
        return float(len(self.scores)) if self.weights is None else float(self.weights.sum())

    def counted(self) -> Stratum:
        """The claims that count: a row of weight 0 is no row, and must not take part in placing bins."""
        if self.weights is None or (self.weights > 0).all():
            return self
        kept = self.weights > 0
        return Stratum(self.scores[kept], self.outcomes[kept], self.weights[kept])

    def in_order(self) -> Ordered:
        """The same claims by ascending score, ready to be summed between edges."""
        if self.weights is None:
            # Scores alone are sorted, without a permutation: which of them came true is looked up in sums.
            scores = np.sort(self.scores)
            return Ordered(scores, None, self.scores[self.outcomes], None)
        order = np.argsort(self.scores, kind="stable")
        hits = self.outcomes
        return Ordered(self.scores[order], self.weights[order], self.scores[hits], self.weights[hits])


@dataclass(frozen=True, eq=False, repr=False)
class Ordered(OneLine):
    """Claims of one stratum by ascending score, with the scores (and weights) of those that came true."""

    scores: Floats
    weights: Float64s | None
    hits: Floats
    hit_weights: Float64s | None

    def sums(self, edges: Floats) -> Tally:
        """Sums over the cells between ascending inner edges; an empty cell sums to 0."""
        n, cells = len(self.scores), len(edges) + 1
        starts = np.append(0, np.searchsorted(self.scores, edges, side="left"))
        weighted = self.scores.astype(np.float64)
        counts = np.diff(np.append(starts, n)).astype(np.float64)
        if self.weights is not None:
            weighted = weighted * self.weights
            counts = _runs(self.weights, starts)
        outcome = np.bincount(np.searchsorted(edges, self.hits, side="right"), self.hit_weights, minlength=cells)
        return Tally(counts, _runs(weighted, starts), outcome.astype(np.float64))


def _runs(values: Float64s, starts: NDArray[np.intp]) -> Float64s:
    """Sums over runs that begin at ascending starts; an empty run sums to 0."""
    # reduceat repeats the element at the start of an empty run, and refuses a run that begins past the end.
    empty = np.diff(np.append(starts, len(values))) == 0
    return np.where(empty, 0.0, np.add.reduceat(np.append(values, 0.0), starts))


@dataclass(frozen=True, eq=False, repr=False)
class Tally(OneLine):
    """Sums over cells: weight, weight * score and weight * outcome, each (strata, cells), in float64."""

    count: Float64s
    score: Float64s
    outcome: Float64s

    def coarsened(self, start_sets: Sequence[NDArray[np.intp]]) -> list[Tally]:
        """Tallies of coarser cells, each a run of these: one from the first cell on, one from each start on.

        A sum over a run is the difference of two running sums, so that every set of runs costs one look-up a run.
        """
        cells = self.count.shape[1]
        ends = [np.concatenate([[0], starts, [cells]]).astype(np.intp) for starts in start_sets]
        if len(ends) == 1 and np.array_equal(ends[0], np.arange(cells + 1)):
            return [self]
        positions = np.concatenate(ends)
        upto = [running(part).take(positions, axis=1) for part in (self.count, self.score, self.outcome)]
        stops = np.cumsum([len(end) for end in ends])
        return [
            Tally(*(np.diff(part[:, stop - len(end) : stop], axis=1) for part in upto))
            for end, stop in zip(ends, stops, strict=True)
        ]


def running(part: Float64s) -> Float64s:
    """Sums of the first 0, 1, 2, ... cells, the last axis."""
    sums = np.zeros((*part.shape[:-1], part.shape[-1] + 1))
    np.cumsum(part, axis=-1, out=sums[..., 1:])
    return sums


class Claims(Protocol):
    """What both shapes offer: strata with names and aggregate weights, one at a time or counted into cells."""

    @property
    def strata(self) -> tuple[str, ...]:
        """Names of the strata."""

    @property
    def shares(self) -> Float64s:
        """Weight of each stratum in the aggregate, summing to 1 (0 for strata without claims)."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """The scores' dtype; bin edges are cast to it before comparison."""

    @property
    def floor(self) -> float:
        """The lowest score such claims can have: 1/K where the largest of K probabilities is meant, else 0."""

    @property
    def weights(self) -> Float64s | None:
        """Weights of the claims (of the rows, where every column is a stratum); None when all are 1."""

    @property
    def same_rows(self) -> bool:
        """Does every row make a claim in every stratum (a matrix whose columns are strata)?"""

    def reweighed(self, weights: Float64s | None) -> Claims:
        """The same claims with these weights (of the claims, or of the rows where every column is a stratum)."""

    def stratum(self, s: int) -> Stratum:
        """The claims of stratum s."""

    def tally(self, edges: Floats) -> Tally:
        """Sums over the cells between ascending inner ``edges``, the same for every stratum.

        Cell j holds edges[j-1] <= score < edges[j]; the first and the last cell are open-ended.
        """


@dataclass(frozen=True, eq=False, repr=False)
class FlatClaims(OneLine):
    """Every claim listed: scores (n,), outcomes (n,), stratum codes (n,); no score can lie below ``floor``."""

    scores: Floats
    outcomes: Bools
    codes: Codes
    strata: tuple[str, ...]
    shares: Float64s
    weights: Float64s | None = None
    floor: float = 0.0

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.scores.dtype

    @property
    def same_rows(self) -> bool:
        return False

    def reweighed(self, weights: Float64s | None) -> FlatClaims:
        return replace(self, weights=weights)

    def stratum(self, s: int) -> Stratum:
        if len(self.strata) == 1:
            return Stratum(self.scores, self.outcomes, self.weights)
        mine = self.codes == s
        return Stratum(self.scores[mine], self.outcomes[mine], None if self.weights is None else self.weights[mine])

    def tally(self, edges: Floats) -> Tally:
        cells = len(edges) + 1
        cell = np.searchsorted(edges, self.scores, side="right") + self.codes * cells
        return Tally(*_sums(cell, self.scores, self.outcomes, self.weights, (len(self.strata), cells)))


@dataclass(frozen=True, eq=False, repr=False)
class ColumnClaims(OneLine):
    """One stratum a column: scores are a matrix's rows, ``hit`` (n,) the column that came true, -1 for none."""

    rows: Rows
    hit: Codes
    strata: tuple[str, ...]
    shares: Float64s
    weights: Float64s | None = None
    floor: float = 0.0

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.rows.dtype

    @property
    def same_rows(self) -> bool:
        return True

    def reweighed(self, weights: Float64s | None) -> ColumnClaims:
        return replace(self, weights=weights)

    def stratum(self, s: int) -> Stratum:
        return Stratum(self.rows.column(s), self.hit == s, self.weights)

    def tally(self, edges: Floats) -> Tally:
        """As for listed claims, touching each score once: those below the first edge need no code of their own.

        With many classes nearly all scores lie in the first cell; its sums are the column's total less the rest.
        """
        n, k = self.rows.shape
        cells = len(edges) + 1
        work = self._counted if self.weights is None else self._weighed
        parts = list(shared_out(lambda chunk: work(chunk, edges), chunks(n, _CHUNK_ROWS)))
        count, score = np.sum([p[0] for p in parts], axis=0), np.sum([p[1] for p in parts], axis=0)
        if self.weights is None:
            total = np.sum([p[2] for p in parts], axis=0)
            count[:, 0] = n - count[:, 1:].sum(axis=1)
            # A difference of sums can end a rounding error away from 0 where the first cell is empty.
            score[:, 0] = np.where(count[:, 0] > 0, np.maximum(total - score[:, 1:].sum(axis=1), 0.0), 0.0)
        return Tally(count, score, self._outcomes(edges, (k, cells)))

    def _counted(self, chunk: slice, edges: Floats) -> tuple[Float64s, ...]:
        """Sums of the cells above the first edge, and of all scores, one a column."""
        k, cells = self.rows.shape[1], len(edges) + 1
        total = np.zeros(k)
        columns, scores = [np.empty(0, dtype=np.intp)], [np.empty(0, dtype=self.dtype)]
        for _, block in self.rows.part(chunk).blocks(LARGE_BLOCK_BYTES):
            total += block.astype(np.float64).sum(axis=0)
            if cells > 1:
                above = np.flatnonzero(block >= edges[0])
                columns.append(above % k)
                scores.append(block.ravel()[above])
        score = np.concatenate(scores)
        cell = np.concatenate(columns) * cells + np.searchsorted(edges, score, side="right")
        count, summed = _sums(cell, score, None, None, (k, cells))
        return count, summed, total

    def _weighed(self, chunk: slice, edges: Floats) -> tuple[Float64s, ...]:
        """Sums of every cell, one code a score: with weights a subtraction would leave rounding in empty cells."""
        assert self.weights is not None
        k, cells = self.rows.shape[1], len(edges) + 1
        count, score = np.zeros((k, cells)), np.zeros((k, cells))
        for where, block in self.rows.part(chunk).blocks():
            cell = np.searchsorted(edges, block.ravel(), side="right") + np.tile(np.arange(k) * cells, len(block))
            parts = _sums(cell, block.ravel(), None, np.repeat(self.weights[chunk][where], k), (k, cells))
            count += parts[0]
            score += parts[1]
        return count, score

    def _outcomes(self, edges: Floats, shape: tuple[int, int]) -> Float64s:
        """Outcome sums: only the column that hit counts, one score a row."""
        known = np.flatnonzero(self.hit >= 0)
        hit = self.hit[known]
        base = self.rows.base
        scores = base[known, hit] if self.rows.index is None else base[self.rows.index[known], hit]
        cell = hit * shape[1] + np.searchsorted(edges, scores, side="right")
        weight = None if self.weights is None else self.weights[known]
        return _bincount(cell, weight, shape)


def each_stratum(claims: Claims) -> Iterator[Stratum]:
    """The strata in turn; of a matrix neighbouring columns are read together, since they share lines of memory."""
    if not isinstance(claims, ColumnClaims):
        yield from (claims.stratum(s) for s in range(len(claims.strata)))
        return
    for first in range(0, len(claims.strata), _COLUMNS):
        for s, scores in enumerate(claims.rows.columns(slice(first, first + _COLUMNS)), first):
            yield Stratum(scores, claims.hit == s, claims.weights)


def _sums(
    cell: NDArray[np.intp], scores: Floats, outcomes: Bools | None, weights: Float64s | None, shape: tuple[int, int]
) -> Sequence[Float64s]:
    weighted = scores.astype(np.float64) if weights is None else scores * weights
    sums = [_bincount(cell, weights, shape), _bincount(cell, weighted, shape)]
    if outcomes is not None:
        hits = outcomes.astype(np.float64) if weights is None else outcomes * weights
        sums.append(_bincount(cell, hits, shape))
    return sums


def _bincount(cell: NDArray[np.intp], weights: Float64s | None, shape: tuple[int, int]) -> Float64s:
    counted = np.bincount(cell, weights, minlength=shape[0] * shape[1]).astype(np.float64, copy=False)
    return counted.reshape(shape)
