"""Bin tables: count, mean score and observed frequency per (stratum, bin), for many schemes in one pass."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol, TypeGuard

import numpy as np
import pandas as pd

from calib_core._base.arrays import Codes, Float64s, Floats, FloatType
from calib_core._base.notebook_display import OneLine
from calib_core.binning.base import BinningScheme, IntervalScheme, as_intervals, cuts
from calib_core.claims.binary_claims import Claims, Ordered
from calib_core.claims.exact_sums import Moments, Tally, placed
from calib_core.predictions.predictions import NotAnswerable


@dataclass(frozen=True, eq=False, repr=False)
class BinTable(OneLine):
    """Counts and sums of each bin of each stratum; arrays are (strata, bins), empty bins count 0.

    ``lower`` and ``upper`` are the bins' edges (NaN if a stratum has fewer bins than the maximum), ``shares``
    the strata's aggregate weights. If strata of the claims were pooled, ``joined`` (strata of the claims,) is
    the stratum of the table for each of them; None: no pooling.
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
        """Mean score per bin, NaN if it is empty."""
        return _ratio(self.tally.score, self.tally.count)

    @property
    def mean_outcome(self) -> Float64s:
        """Observed frequency per bin, NaN if it is empty."""
        return _ratio(self.tally.outcome, self.tally.count)

    @property
    def gap(self) -> Float64s:
        """Observed frequency minus mean score per bin: above 0 is underconfident. NaN if the bin is empty."""
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
        """Number of bins of each stratum, including empty ones; ties can give fewer than requested."""
        return np.asarray((~np.isnan(self.lower)).sum(axis=1), dtype=np.intp)

    @cached_property
    def same_edges(self) -> bool:
        """True if all strata of the claims have the same bins and none are pooled."""
        alike = np.array_equal(self.lower, np.broadcast_to(self.lower[0], self.lower.shape), equal_nan=True)
        return alike and self.joined is None

    def inner_edges(self, s: int, dtype: FloatType) -> Floats:
        """Return inner edges of the table's stratum s in the scores' dtype, as used for comparisons."""
        edges = self.lower[s, 1:]
        return np.asarray(edges[~np.isnan(edges)].astype(dtype))

    def cells(self, scores: Floats, codes: Codes) -> Codes:
        """Return positions among the strata * bins cells of claims (m,) with these scores and strata."""
        mine = codes if self.joined is None else self.joined[codes]
        return placed(self.edge_sets(scores.dtype), scores, mine, self.lower.shape[1])

    def edge_sets(self, dtype: FloatType) -> list[Floats]:
        """Return inner edges in the scores' dtype: one set if all strata share it, else one set per stratum."""
        if dtype not in self._edge_sets:
            self._edge_sets[dtype] = [
                self.inner_edges(s, dtype) for s in range(1 if self.same_edges else len(self.strata))
            ]
        return self._edge_sets[dtype]

    @cached_property
    def _edge_sets(self) -> dict[FloatType, list[Floats]]:
        return {}

    def moments(self, claims: Claims) -> Moments:
        """Return sums over the bins' claims, (strata of the claims, bins), before pooling."""
        sets = self.edge_sets(claims.dtype)
        return claims.moments(sets if self.joined is None else [sets[s] for s in self.joined])

    def together(self, moments: Moments) -> Moments:
        """Return pooled sums, (strata of the table, bins)."""
        if self.joined is None:
            return moments
        bins = self.count.shape[-1]
        return moments.grouped(self.joined[:, None] * bins + np.arange(bins), self.count.shape)

    def _line(self) -> str:
        strata = f" in {len(self.strata):,} strata" if len(self.strata) > 1 else ""
        filled = int((self.count > 0).sum())
        return f"{int(self.n_bins.sum()):,} bins{strata}, {filled:,} of them filled, {self.count.sum():,.6g} rows"

    def frame(self) -> pd.DataFrame:
        """One row per non-empty bin: stratum, edges, count, mean score, observed frequency, gap, weight."""
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
    """Scheme that can pool strata; ``edges`` are those of a single stratum.

    It declares ``pools``, and merges ``bins`` of equal width until a group contains ``rows`` rows.
    """

    rows: int
    bins: int

    def table(self, claims: Claims) -> BinTable:
        """Return the table of all claims, with bins from scores and strata only, never from outcomes."""


def _pools(scheme: IntervalScheme) -> TypeGuard[PoolingScheme]:
    return cuts(scheme).pools


def tabulate(claims: Claims, schemes: Sequence[BinningScheme], *, pooled: bool = True) -> list[BinTable]:
    """Return one table per scheme from one pass over the claims.

    Fixed edges of all schemes are combined and the claims counted in the cells of this finest
    partition; every scheme's bins are runs of cells. Data-dependent schemes share one sort per stratum.
    With ``pooled`` False every stratum stays separate even if a scheme would pool small ones.

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
            "one bin per value needs rows, and a summary has counts on a grid of scores: choose equal-width or "
            "equal-mass bins"
        )
    fixed = [scheme.fixed_edges() for scheme in intervals]
    apart = [not (pooled and _pools(scheme)) for scheme in intervals]
    moving = [s for s, edges, alone in zip(intervals, fixed, apart, strict=True) if edges is None and alone]
    shared = iter(_by_shared_edges(claims, [edges for edges in fixed if edges is not None]))
    placed = iter(_by_stratum(claims, moving))
    together = (scheme.table(claims) for scheme in intervals if pooled and _pools(scheme))
    found = zip(fixed, apart, strict=True)
    return [next(together if not alone else placed if edges is None else shared) for edges, alone in found]


def tabulate_at(claims: Claims, edges: Float64s) -> BinTable:
    """Return the table of bins between these inner edges, the same for every stratum."""
    return _by_shared_edges(claims, [edges])[0]


def _by_shared_edges(claims: Claims, edge_sets: list[Float64s]) -> list[BinTable]:
    if not edge_sets:
        return []
    # Cast before comparing: a float32 score of 0.3 is below the float64 number 0.3.
    cast: list[Floats] = [edges.astype(claims.dtype) for edges in edge_sets]
    union = np.unique(np.concatenate(cast))
    fine = claims.tally(union)
    tallies = fine.coarsened([np.searchsorted(union, mine, side="left") + 1 for mine in cast])
    return [_table(claims, tally, edges) for tally, edges in zip(tallies, edge_sets, strict=True)]


def _table(claims: Claims, tally: Tally, edges: Float64s) -> BinTable:
    ends = np.broadcast_to(np.concatenate(([0.0], edges, [1.0])), (len(claims.strata), len(edges) + 2))
    return BinTable(claims.strata, claims.shares, ends[:, :-1], ends[:, 1:], tally)


def _by_stratum(claims: Claims, schemes: list[IntervalScheme]) -> list[BinTable]:
    if not schemes:
        return []
    rows = [_stratum_rows(stratum.in_order(), schemes) for stratum in claims.each_stratum()]
    return [padded(claims, [row[i] for row in rows]) for i in range(len(schemes))]


_Row = tuple[Floats, Tally]


def _stratum_rows(ordered: Ordered, schemes: list[IntervalScheme]) -> list[_Row]:
    """Edges and sums of this stratum's bins for each scheme."""
    edges = [scheme.edges(ordered.scores, ordered.weights) for scheme in schemes]
    if len(edges) == 1:
        return [(edges[0], ordered.sums(edges[0]))]
    # Rows are summed once, in the cells between all edges; every scheme's bins are runs of cells.
    union = np.unique(np.concatenate(edges))
    fine = ordered.sums(union)
    starts = [np.searchsorted(union, mine, side="left") + 1 for mine in edges]
    return list(zip(edges, fine.coarsened(starts), strict=True))


def padded(claims: Claims, rows: Sequence[tuple[Floats, Tally]]) -> BinTable:
    """Return the table of strata with different bins, from one pair of inner edges and sums per stratum."""
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
