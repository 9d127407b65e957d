"""Bin tables: count, mean score and mean outcome per (stratum, bin), for one scheme or many in one pass."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol, cast

import numpy as np
import pandas as pd

from calib_core._base.arrays import Codes, Float64s, Floats, FloatType
from calib_core._base.notebook_display import OneLine
from calib_core.binning.base import BinningScheme, IntervalScheme, as_intervals, cuts
from calib_core.claims.binary_claims import Claims, Ordered, each_stratum
from calib_core.claims.exact_sums import Moments, Tally, placed
from calib_core.predictions.predictions import NotAnswerable


@dataclass(frozen=True, eq=False, repr=False)
class BinTable(OneLine):
    """What each bin of each stratum holds; arrays are (strata, bins), bins without rows count 0.

    ``lower`` and ``upper`` are the bins' edges (NaN where a stratum has fewer bins than the widest one), ``shares``
    the strata's aggregate weights. Where strata of the claims were pooled, ``joined`` (strata of the claims,) says
    which stratum of the table each is part of; None: each is its own.
    """

    strata: tuple[str, ...]
    shares: Float64s
    lower: Float64s
    upper: Float64s
    tally: Tally
    joined: Codes | None = None

    @property
    def count(self) -> Float64s:
        """Rows (or their weight) per bin."""
        return self.tally.count

    @property
    def mean_score(self) -> Float64s:
        """Mean score per bin, NaN where it is empty."""
        return _ratio(self.tally.score, self.tally.count)

    @property
    def mean_outcome(self) -> Float64s:
        """Share of claims that came true per bin, NaN where it is empty."""
        return _ratio(self.tally.outcome, self.tally.count)

    @property
    def gap(self) -> Float64s:
        """Mean outcome minus mean score: above 0 is under-confident. NaN where the bin is empty."""
        return _ratio(self.tally.outcome - self.tally.score, self.tally.count)

    @property
    def within(self) -> Float64s:
        """Share of its stratum's rows in each bin."""
        return _ratio(self.count, self.count.sum(axis=1, keepdims=True), empty=0.0)

    @property
    def weight(self) -> Float64s:
        """Weight of each bin in the aggregate over strata, summing to 1."""
        return self.within * self.shares[:, None]

    @property
    def n_bins(self) -> Codes:
        """Number of bins of each stratum, empty ones included: ties can leave fewer than were asked for."""
        return np.asarray((~np.isnan(self.lower)).sum(axis=1), dtype=np.intp)

    @cached_property
    def same_edges(self) -> bool:
        """Have all strata of the claims the same bins, each its own?"""
        alike = np.array_equal(self.lower, np.broadcast_to(self.lower[0], self.lower.shape), equal_nan=True)
        return alike and self.joined is None

    def inner_edges(self, s: int, dtype: FloatType) -> Floats:
        """Inner edges of the bins of the table's stratum s in the scores' dtype, as they were compared."""
        edges = self.lower[s, 1:]
        return np.asarray(edges[~np.isnan(edges)].astype(dtype))

    def cells(self, scores: Floats, codes: Codes) -> Codes:
        """Position among the strata * bins cells of claims (m,) with these scores in these strata of the claims."""
        mine = codes if self.joined is None else self.joined[codes]
        return placed(self.edge_sets(scores.dtype), scores, mine, self.lower.shape[1])

    def edge_sets(self, dtype: FloatType) -> list[Floats]:
        """Inner edges in the scores' dtype, of all strata where those are alike, else one set a stratum."""
        if dtype not in self._edge_sets:
            self._edge_sets[dtype] = [
                self.inner_edges(s, dtype) for s in range(1 if self.same_edges else len(self.strata))
            ]
        return self._edge_sets[dtype]

    @cached_property
    def _edge_sets(self) -> dict[FloatType, list[Floats]]:
        return {}

    def moments(self, claims: Claims) -> Moments:
        """Sums over the bins' claims, (strata of the claims, bins): those pooled in one stratum are still apart."""
        sets = self.edge_sets(claims.dtype)
        return claims.moments(sets if self.joined is None else [sets[s] for s in self.joined])

    def together(self, moments: Moments) -> Moments:
        """The same sums, (strata of the table, bins)."""
        if self.joined is None:
            return moments
        bins = self.count.shape[-1]
        return moments.grouped(self.joined[:, None] * bins + np.arange(bins), self.count.shape)

    def _line(self) -> str:
        strata = f" in {len(self.strata):,} strata" if len(self.strata) > 1 else ""
        filled = int((self.count > 0).sum())
        return f"{int(self.n_bins.sum()):,} bins{strata}, {filled:,} of them filled, {self.count.sum():,.6g} rows"

    def frame(self) -> pd.DataFrame:
        """One line per non-empty bin: stratum, edges, count, mean score, mean outcome, gap, weight."""
        s, b = np.nonzero(self.count > 0)
        columns = {
            "stratum": np.asarray(self.strata, dtype=object)[s],
            "bin": b,
            "lower": self.lower[s, b],
            "upper": self.upper[s, b],
            "count": self.count[s, b],
            "mean_score": self.mean_score[s, b],
            "mean_outcome": self.mean_outcome[s, b],
            "gap": self.gap[s, b],
            "weight": self.weight[s, b],
        }
        return pd.DataFrame(columns)


class PoolingScheme(IntervalScheme, Protocol):
    """A scheme that can put strata together, too: ``edges`` are those of a stratum that stands alone.

    It declares ``pools``, and joins ``bins`` of equal width until a group holds ``rows`` rows.
    """

    rows: int
    bins: int

    def table(self, claims: Claims) -> BinTable:
        """The table of all claims, from scores and strata only, never from outcomes."""


def tabulate(claims: Claims, schemes: Sequence[BinningScheme], *, pooled: bool = True) -> list[BinTable]:
    """One table per scheme, counting the claims once.

    Fixed edges of all schemes are laid over each other and the claims counted into the cells of this finest
    partition; every scheme's bins are runs of cells. Schemes that look at the scores share one sort per stratum.
    ``pooled`` False keeps every stratum apart where a scheme would put small ones together.

    >>> from calib_core.binning import EqualWidth
    >>> from calib_core.predictions.predictions import Predictions
    >>> from calib_core.reductions import Confidence
    >>> claims = Confidence().split(Predictions([[0.7, 0.3], [0.2, 0.8]], [0, 0]))
    >>> tabulate(claims, [EqualWidth(5)])[0].frame()[["count", "mean_score"]].round(12).values.tolist()
    [[1.0, 0.7], [1.0, 0.8]]
    """
    intervals = [as_intervals(scheme) for scheme in schemes]
    if claims.grain == "counts" and any(cuts(scheme).one_a_value for scheme in intervals):
        raise NotAnswerable(
            "one bin a value needs rows: a summary holds counts on a grid of scores; choose bins of equal width or mass"
        )
    fixed = [scheme.fixed_edges() for scheme in intervals]
    apart = [not (pooled and cuts(scheme).pools) for scheme in intervals]
    moving = [s for s, edges, alone in zip(intervals, fixed, apart, strict=True) if edges is None and alone]
    shared = iter(_by_shared_edges(claims, [edges for edges in fixed if edges is not None]))
    placed = iter(_by_stratum(claims, moving))
    together = (cast(PoolingScheme, s).table(claims) for s, alone in zip(intervals, apart, strict=True) if not alone)
    found = zip(fixed, apart, strict=True)
    return [next(together if not alone else placed if edges is None else shared) for edges, alone in found]


def tabulate_at(claims: Claims, edges: Float64s) -> BinTable:
    """The table of bins between these inner edges, the same for every stratum."""
    return _by_shared_edges(claims, [edges])[0]


def _by_shared_edges(claims: Claims, edge_sets: list[Float64s]) -> list[BinTable]:
    if not edge_sets:
        return []
    # Cast before comparing: a float32 score of 0.3 lies below the float64 number 0.3.
    cast: list[Floats] = [edges.astype(claims.dtype) for edges in edge_sets]
    union = np.unique(np.concatenate(cast))
    fine = claims.tally(union)
    tallies = fine.coarsened([np.searchsorted(union, mine, side="left") + 1 for mine in cast])
    return [_table(claims, tally, edges) for tally, edges in zip(tallies, edge_sets, strict=True)]


def _table(claims: Claims, tally: Tally, edges: Float64s) -> BinTable:
    shape = (len(claims.strata), len(edges) + 1)
    lower = np.broadcast_to(np.append(0.0, edges), shape)
    upper = np.broadcast_to(np.append(edges, 1.0), shape)
    return BinTable(claims.strata, claims.shares, lower, upper, tally)


def _by_stratum(claims: Claims, schemes: list[IntervalScheme]) -> list[BinTable]:
    if not schemes:
        return []
    rows = [_stratum_rows(stratum.in_order(), schemes) for stratum in each_stratum(claims)]
    return [padded(claims, [row[i] for row in rows]) for i in range(len(schemes))]


_Row = tuple[Floats, Tally]


def _stratum_rows(ordered: Ordered, schemes: list[IntervalScheme]) -> list[_Row]:
    """For each scheme: the edges of this stratum's bins and their sums."""
    edges = [scheme.edges(ordered.scores, ordered.weights) for scheme in schemes]
    if len(edges) == 1:
        return [(edges[0], ordered.sums(edges[0]))]
    # Rows are summed once, in the cells between all edges; every scheme's bins are runs of cells.
    union = np.unique(np.concatenate(edges))
    fine = ordered.sums(union)
    starts = [np.searchsorted(union, mine, side="left") + 1 for mine in edges]
    return list(zip(edges, fine.coarsened(starts), strict=True))


def padded(claims: Claims, rows: Sequence[tuple[Floats, Tally]]) -> BinTable:
    """The table of strata binned each in its own way: inner edges and sums, one pair a stratum."""
    shape = (len(rows), max(len(edges) for edges, _ in rows) + 1)
    lower, upper = np.full(shape, np.nan), np.full(shape, np.nan)
    tally = Tally(np.zeros(shape), np.zeros(shape), np.zeros(shape))
    for s, (edges, mine) in enumerate(rows):
        last = len(edges)
        bins = slice(0, last + 1)
        lower[s, 0], lower[s, 1 : last + 1], upper[s, :last], upper[s, last] = 0.0, edges, edges, 1.0
        tally.count[s, bins], tally.score[s, bins], tally.outcome[s, bins] = mine.count, mine.score, mine.outcome
    return BinTable(claims.strata, claims.shares, lower, upper, tally)


def _ratio(top: Float64s, bottom: Float64s, empty: float = np.nan) -> Float64s:
    full = np.full(np.broadcast(top, bottom).shape, empty)
    return np.asarray(np.divide(top, bottom, out=full, where=bottom > 0))
