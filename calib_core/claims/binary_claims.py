"""Claims: predicted probabilities of binary outcomes, by stratum, with weights.

They have two forms. ``FlatClaims`` lists every claim. ``ColumnClaims`` is a matrix with one stratum per column: the
claim (i, j) predicts that the class of row i is j. Even 50,000 x 1,000 of them are never copied.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from typing import Any, ClassVar, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from calib_core._base.arrays import LARGE_BLOCK_BYTES, Bools, Codes, Float64s, Floats, FloatType, Rows
from calib_core._base.notebook_display import OneLine
from calib_core._base.parallel import chunks, shared_out
from calib_core.claims import exact_sums
from calib_core.claims.exact_sums import ExactSums, Moments, Tally, copies, n_lines, placed, placed_in_lines, places
from calib_core.claims.row_covariance import AT_ONCE, FEW_CLASSES, SMALL, RowClaims, SharedRows
from calib_core.predictions.predictions import Grain

_Kind = TypeVar("_Kind", bound=Tally)

_EXACT = exact_sums.AT_ONCE
"""Rows of a matrix that a worker counts at once: few enough for float64 sums to be exact."""

_SUMMED, _LISTED = 1 << 20, 1 << 16
"""Rows of a matrix whose sums fit in one int64 each; and row-level claims that are counted at once."""

_ROUNDED = 1e-3
"""Tolerance for rounding of a sum of 1."""

_COLUMNS = 16
"""Columns that are read together: as many float32 as a cache line contains."""

_LOOKED_AT, _WRITTEN_OUT = 1 << 20, 1 << 19
"""Rows whose residuals are processed at once; and claims that are listed at once."""

EQUAL_PARTS, FEWEST_PARTS = 1024, 32
"""Total and minimum number of equal-width cells for counting claims whose rows need not be distinguished.

The total is over all strata; the minimum is for each stratum.
"""


@dataclass(frozen=True, eq=False, repr=False)
class Stratum(OneLine):
    """Claims of one stratum: scores in [0, 1], outcomes, weights (None: all 1)."""

    scores: Floats
    outcomes: Bools
    weights: Float64s | None = None

    @property
    def total(self) -> float:
        return float(len(self.scores)) if self.weights is None else float(self.weights.sum())

    def counted(self) -> Stratum:
        """Return the claims with positive weight; others must not affect the placement of bins."""
        if self.weights is None or (self.weights > 0).all():
            return self
        kept = self.weights > 0
        return Stratum(self.scores[kept], self.outcomes[kept], self.weights[kept])

    def by_score(self) -> tuple[Floats, Float64s, Float64s]:
        """Return the distinct scores (m,), ascending, the weight of their claims and of those that came true.

        >>> Stratum(np.array([0.5, 0.2, 0.5]), np.array([True, False, False])).by_score()[1:]
        (array([1., 2.]), array([0., 1.]))
        """
        scores, place = np.unique(self.scores, return_inverse=True)
        hits = np.bincount(place, self.outcomes if self.weights is None else self.outcomes * self.weights)
        return scores, np.bincount(place, self.weights).astype(np.float64), hits.astype(np.float64)

    def in_order(self) -> Ordered:
        """Return the same claims by ascending score, for sums between edges."""
        if self.weights is None:
            # Only scores are sorted, without a permutation; sums look up which outcomes occurred.
            scores = np.sort(self.scores)
            return Ordered(scores, None, self.scores[self.outcomes], None)
        order = np.argsort(self.scores, kind="stable")
        hits = self.outcomes
        return Ordered(self.scores[order], self.weights[order], self.scores[hits], self.weights[hits])


@dataclass(frozen=True, eq=False, repr=False)
class Ordered(OneLine):
    """Claims of one stratum by ascending score, with the scores (and weights) of those whose outcome occurred."""

    scores: Floats
    weights: Float64s | None
    hits: Floats
    hit_weights: Float64s | None

    def sums(self, edges: Floats) -> Tally:
        """Return sums over the cells between ascending inner edges; an empty cell sums to 0."""
        n, cells = len(self.scores), len(edges) + 1
        starts = np.append(0, np.searchsorted(self.scores, edges, side="left"))
        counts = np.diff(np.append(starts, n)).astype(np.float64)
        if self.weights is not None:
            counts = _runs(self.weights, starts)
        outcome = _bincount(places(edges, self.hits), self.hit_weights, (cells,))
        if self.weights is not None and not copies(self.weights):
            return Tally(counts, _runs(self.scores * self.weights, starts), outcome)
        halves = exact_sums.halves(self.scores, self.weights)
        return Tally.of_exact(counts, outcome, exact_sums.added([ExactSums.of(_runs(x, starts)) for x in halves])[None])


def _runs(values: Float64s, starts: NDArray[np.intp]) -> Float64s:
    """Return sums over runs that begin at ascending starts; an empty run sums to 0."""
    # reduceat repeats the element at the start of an empty run, and refuses a run that begins after the end.
    empty = np.diff(np.append(starts, len(values))) == 0
    return np.where(empty, 0.0, np.add.reduceat(np.append(values, 0.0), starts))


class Claims(Protocol):
    """Predicted probabilities of binary outcomes, in strata: row-level, or aggregated in cells.

    Claims that share no row need few attributes for binned estimators, their intervals, noise floors, verdicts and
    diagrams. These are ``strata``, ``shares``, ``dtype``, ``floor``, ``weights``, ``same_rows``, ``tally``, ``moments``
    and ``refined``. So claims known only by counts on a fine grid implement them, too. ``Moments.coarsened`` of the
    counts gives ``tally`` and ``moments`` for edges on their grid. ``refined`` returns its resolution; ``weights`` is
    None, because weights are already counts. ``stratum`` and ``reweighed`` raise NotAnswerable.
    """

    @property
    def grain(self) -> Grain:
        """Granularity of the claims: "rows" for individual claims, or "counts"."""

    @property
    def strata(self) -> tuple[str, ...]:
        """Names of the strata."""

    @property
    def shares(self) -> Float64s:
        """Weight of each stratum in the aggregate, with sum 1 (0 for strata without claims)."""

    @property
    def dtype(self) -> FloatType:
        """Dtype of the scores; bin edges are cast to it before comparison."""

    @property
    def floor(self) -> float:
        """Lowest possible score: 1/K for the largest of K probabilities, else 0."""

    @property
    def weights(self) -> Float64s | None:
        """Weights of the claims (of the rows, if every column is a stratum); None if all are 1."""

    @property
    def n_claims(self) -> int:
        """Number of claims."""

    @property
    def same_rows(self) -> bool:
        """True if every row makes a claim in every stratum (a matrix with one stratum per column)."""

    def reweighed(self, weights: Float64s | None) -> Claims:
        """Return the same claims with these weights (of the claims, or of the rows if every column is a stratum)."""

    def stratum(self, s: int) -> Stratum:
        """Return the claims of stratum s."""

    def each_stratum(self) -> Iterator[Stratum]:
        """Yield the claims of every stratum in their order."""

    def tally(self, edges: Floats) -> Tally:
        """Return sums over the cells between ascending inner ``edges``, the same for every stratum.

        Cell j contains edges[j-1] <= score < edges[j]; the first and the last cell are open-ended.
        """

    def moments(self, edge_sets: Sequence[Floats]) -> Moments:
        """Return sums, including powers, over the cells between inner edges in the scores' dtype, (strata, most cells).

        One set of edges for all strata, or one per stratum; cells that a stratum does not have are empty.
        """

    def shared(self, edge_sets: Sequence[Floats], joined: Codes | None = None, ranks: int = 1) -> SharedRows:
        """Return the contributions of rows with several claims of weight 1 to pairs of cells; edges as in ``moments``.

        Cells are numbered stratum after stratum, equally many in each. ``joined`` maps strata to shared lines of edges.
        ``ranks`` row-level claims belong to one row.
        """

    def refined(self, edge_sets: Sequence[Floats]) -> Sequence[Floats]:
        """Return edges as in ``moments`` that contain these, with enough edges between them to distinguish scores.

        They are for outcomes simulated by cell instead of by row: a few dozen to a thousand cells per stratum.
        """

    def one_a_row(self, ranks: int = 1) -> bool:
        """True if every row is known to make one claim, when ``ranks`` claims belong to one row."""

    def in_order(self, ranks: int = 1) -> Claims:
        """Sort claims that share no row by all their values, so that simulated noise does not depend on row order.

        Claims of one row stay together, in the order of the rows. Counts have no order and stay as they are.
        """

    def unanswered(self) -> Float64s | None:
        """Return each row's scores summed with the classes' shares (rows,), for a matrix; None for other claims."""


class ClaimsOfRows(Claims, Protocol):
    """Row-level claims, with the additional interface for resampling, simulated outcomes and grouped rows."""

    outcome_is_class: ClassVar[bool]
    """True if the outcome of a row is its class, rather than the occurrence of each listed claim."""

    def n_rows(self, ranks: int = 1) -> int:
        """Number of rows, when ``ranks`` row-level claims belong to one row."""

    def rows_of(self, s: int, ranks: int = 1) -> Codes:
        """Return the row of each claim of stratum s."""

    def with_outcomes(self, drawn: NDArray[np.generic]) -> ClaimsOfRows:
        """Return the same claims with other outcomes: the occurrence of each, or the class of each row."""

    def in_order(self, ranks: int = 1) -> ClaimsOfRows:
        """The same as for all claims, and they stay claims of rows."""

    def true_ones(self) -> tuple[Floats, Codes, Float64s | None]:
        """Return scores, strata and weights of the claims whose outcome occurred."""

    def alike(self, other: ClaimsOfRows) -> bool:
        """True if two models make the same claims, with the same outcomes."""

    def parts(self, ranks: int, small: float) -> Iterator[PartOfRows]:
        """Yield the claims in parts of many rows; for many classes, without other classes' claims below ``small``."""

    def drawn_together(self, ranks: int = 1) -> bool:
        """True if one outcome can be simulated for all claims of a row: their sum is 1 (a matrix), or at most 1."""

    def reaches(self, ranks: int = 1) -> Float64s:
        """Bound on the change of the aggregate by each row, whatever its outcome, (rows,): a bound on ``influence``.

        It is the row's weight in the aggregate if a row makes one claim. A row can have claims about several classes,
        one of which occurs. The absolute sum of their residuals is at most 1 + (sum of the row's scores): 2 for
        distributions.
        """

    def influence(self, ranks: int = 1, none: Float64s | None = None) -> Float64s:
        """Change of the aggregate by each row's residuals, (rows,): sum over its claims of weight times |residual|.

        ``none`` (rows,) is the result of ``unanswered``, if available; then other outcomes need no pass over the rows.
        """


class PartOfRows(NamedTuple):
    """Claims of some rows: row (from 0), stratum, score, outcome and weight of each, and the number of rows."""

    row: Codes
    stratum: Codes
    score: Floats
    outcome: Float64s
    weight: Float64s
    rows: int


@dataclass(frozen=True, eq=False, repr=False)
class FlatClaims(OneLine):
    """Row-level claims: scores (n,), outcomes (n,), stratum codes (n,); no score is below ``floor``."""

    scores: Floats
    outcomes: Bools
    codes: Codes
    strata: tuple[str, ...]
    shares: Float64s
    weights: Float64s | None = None
    floor: float = 0.0
    grain: ClassVar[Grain] = "rows"
    outcome_is_class: ClassVar[bool] = False

    @property
    def dtype(self) -> FloatType:
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

    def each_stratum(self) -> Iterator[Stratum]:
        return (self.stratum(s) for s in range(len(self.strata)))

    def tally(self, edges: Floats) -> Tally:
        return self._summed([edges], Tally, copies(self.weights))

    def moments(self, edge_sets: Sequence[Floats]) -> Moments:
        return self._summed(edge_sets, Moments, copies(self.weights))

    def shared(self, edge_sets: Sequence[Floats], joined: Codes | None = None, ranks: int = 1) -> SharedRows:
        n, width = len(self.scores) // ranks, 1 + max(map(len, edge_sets))
        lines, score, hit = self.codes.reshape(ranks, n), self.scores.reshape(ranks, n), self.outcomes.reshape(ranks, n)

        def part(where: slice) -> RowClaims:
            cell = placed_in_lines(edge_sets, joined, score[:, where], lines[:, where])
            return RowClaims(cell, score[:, where].astype(np.float64), hit[:, where])

        size = n_lines(len(self.strata), joined) * width
        return SharedRows.of(map(part, _chunks(n, AT_ONCE)), size, apart=joined is None)

    def refined(self, edge_sets: Sequence[Floats]) -> Sequence[Floats]:
        return _with_equal_parts(self, edge_sets)

    def one_a_row(self, ranks: int = 1) -> bool:
        return ranks == 1

    @property
    def n_claims(self) -> int:
        return len(self.scores)

    def n_rows(self, ranks: int = 1) -> int:
        return len(self.scores) // ranks

    def rows_of(self, s: int, ranks: int = 1) -> Codes:
        return np.flatnonzero(self.codes == s) % self.n_rows(ranks)

    def with_outcomes(self, drawn: NDArray[Any]) -> FlatClaims:
        return replace(self, outcomes=drawn)

    def in_order(self, ranks: int = 1) -> FlatClaims:
        if ranks > 1:
            return self
        weights = np.zeros(len(self.scores)) if self.weights is None else self.weights
        order = np.lexsort((self.outcomes, weights, self.scores, self.codes))
        scores, outcomes, codes = self.scores[order], self.outcomes[order], self.codes[order]
        weighed = None if self.weights is None else weights[order]
        return replace(self, scores=scores, outcomes=outcomes, codes=codes, weights=weighed)

    def true_ones(self) -> tuple[Floats, Codes, Float64s | None]:
        hit = self.outcomes
        return self.scores[hit], self.codes[hit], None if self.weights is None else self.weights[hit]

    def alike(self, other: ClaimsOfRows) -> bool:
        parts = ("scores", "codes", "outcomes")
        return all(np.array_equal(getattr(self, part), getattr(other, part)) for part in parts)

    def parts(self, ranks: int, small: float) -> Iterator[PartOfRows]:
        rows = self.n_rows(ranks)
        for where in chunks(rows, max(1, _WRITTEN_OUT // ranks)):
            n = where.stop - where.start
            listed = np.concatenate([np.arange(where.start, where.stop) + r * rows for r in range(ranks)])
            weight = np.ones(len(listed)) if self.weights is None else self.weights[listed]
            hit = self.outcomes[listed].astype(np.float64)
            yield PartOfRows(np.tile(np.arange(n), ranks), self.codes[listed], self.scores[listed], hit, weight, n)

    def drawn_together(self, ranks: int = 1) -> bool:
        total = self.scores.astype(np.float64).reshape(ranks, -1).sum(axis=0)
        return ranks == 1 or bool(total.max() <= 1.0 + _ROUNDED)

    def each_weight(self) -> Float64s:
        """Weight of each claim in the aggregate, (claims,): its share of its stratum times the stratum's share."""
        each = self._of_a_unit()[self.codes]
        return each if self.weights is None else np.asarray(self.weights * each)

    def _of_a_unit(self) -> Float64s:
        """Weight in the aggregate of a claim of weight 1, (strata,)."""
        total = np.bincount(self.codes, self.weights, minlength=len(self.strata))
        return np.asarray(self.shares / np.maximum(total, 1e-300))

    def reaches(self, ranks: int = 1) -> Float64s:
        each = self.each_weight()
        if ranks == 1:
            return each
        total = self.scores.reshape(ranks, -1).sum(axis=0, dtype=np.float64)
        return np.asarray(each.reshape(ranks, -1).max(axis=0) * np.minimum(1.0 + total, ranks))

    def influence(self, ranks: int = 1, none: Float64s | None = None) -> Float64s:
        n, each = self.n_rows(ranks), self._of_a_unit()
        found = np.zeros(n)
        for r in range(ranks):
            for part in chunks(n, _LOOKED_AT):
                mine = slice(part.start + r * n, part.stop + r * n)
                moved = np.abs(self.outcomes[mine] - self.scores[mine].astype(np.float64))
                weight = each[self.codes[mine]]
                found[part] += (weight if self.weights is None else self.weights[mine] * weight) * moved
        return found

    def unanswered(self) -> None:
        return None

    def _summed(self, edge_sets: Sequence[Floats], kind: type[_Kind], exact: bool) -> _Kind:
        shape = len(self.strata), 1 + max(map(len, edge_sets))
        parts = (self._part(where, edge_sets, shape, kind, exact) for where in _chunks(len(self.scores), _LISTED))
        # Rows are counted, and parts added, in order, so that weights other than copies also give the same bits.
        return reduce(add, parts)

    def _part(
        self, where: slice, edge_sets: Sequence[Floats], shape: tuple[int, int], kind: type[_Kind], exact: bool
    ) -> _Kind:
        size, weights = shape[0] * shape[1], None if self.weights is None else self.weights[where]
        cell = placed(edge_sets, self.scores[where], self.codes[where], shape[1])
        scores, hit = self.scores[where], self.outcomes[where]
        outcome = _bincount(cell[hit], None if weights is None else weights[hit], shape)
        count = _bincount(cell, weights, shape)
        terms: dict[str, Floats] = {"score": scores, **kind.terms(scores, hit, None if exact else weights)}
        if exact:
            most = float(count.max(initial=0.0))
            sums = exact_sums.stacked([exact_sums.sums_of(x, cell, size, weights, most) for x in terms.values()])
            return kind.of_exact(count, outcome, sums.reshaped(shape))
        assert weights is not None
        terms["score"] = scores * weights
        floats = {name: _bincount(cell, np.asarray(x, dtype=np.float64), shape) for name, x in terms.items()}
        return kind.of_floats({"count": count, "outcome": outcome, **floats})


@dataclass(frozen=True, eq=False, repr=False)
class ColumnClaims(OneLine):
    """Claims with one stratum per column: scores are a matrix's rows, ``hit`` (n,) is the true column, -1 for none."""

    rows: Rows
    hit: Codes
    strata: tuple[str, ...]
    shares: Float64s
    weights: Float64s | None = None
    floor: float = 0.0
    grain: ClassVar[Grain] = "rows"
    outcome_is_class: ClassVar[bool] = True

    @property
    def dtype(self) -> FloatType:
        return self.rows.dtype

    @property
    def same_rows(self) -> bool:
        return True

    def reweighed(self, weights: Float64s | None) -> ColumnClaims:
        return replace(self, weights=weights)

    def stratum(self, s: int) -> Stratum:
        return Stratum(self.rows.column(s), self.hit == s, self.weights)

    def each_stratum(self) -> Iterator[Stratum]:
        # Adjacent columns are read together, because they share cache lines.
        for first in range(0, len(self.strata), _COLUMNS):
            for s, scores in enumerate(self.rows.columns(slice(first, first + _COLUMNS)), first):
                yield Stratum(scores, self.hit == s, self.weights)

    def tally(self, edges: Floats) -> Tally:
        """Return sums as for listed claims with one pass over the scores: those below the first edge need no code.

        With many classes, nearly all scores are in the first cell; its sums are the column's total minus the others.
        """
        if self.weights is not None:
            return self._listed([edges], Tally)
        n, k = self.rows.shape
        cells = len(edges) + 1
        count, exact = np.zeros((k, cells)), ExactSums.zeros((k, cells))
        for run in chunks(n, _SUMMED):
            units = np.zeros((k, cells), dtype=np.int64)
            parts = [slice(run.start + c.start, run.start + c.stop) for c in chunks(run.stop - run.start, _EXACT)]
            for counted, above, every in shared_out(lambda part: self._counted(part, edges), parts):
                count += counted
                units += exact_sums.in_units(above)
                units[:, 0] += exact_sums.in_units(every)
            units[:, 0] -= units[:, 1:].sum(axis=1)
            exact += ExactSums.of_units(units)
        count[:, 0] = n - count[:, 1:].sum(axis=1)
        return Tally.of_exact(count, self._outcomes(edges, (k, cells)), exact[None])

    def moments(self, edge_sets: Sequence[Floats]) -> Moments:
        return self._listed(edge_sets, Moments)

    def shared(self, edge_sets: Sequence[Floats], joined: Codes | None = None, ranks: int = 1) -> SharedRows:
        k, width = len(self.strata), 1 + max(map(len, edge_sets))

        def part(where: slice) -> RowClaims:
            score = self.rows.part(where).array().T
            hit = self.hit[where] == np.arange(k)[:, None]
            cell = placed_in_lines(edge_sets, joined, score, np.broadcast_to(np.arange(k)[:, None], score.shape))
            kept = (score >= SMALL) | hit if k > FEW_CLASSES else None
            return RowClaims(cell, score.astype(np.float64), hit, kept)

        size = n_lines(len(self.strata), joined) * width
        return SharedRows.of(map(part, _chunks(len(self.hit), AT_ONCE)), size, apart=joined is None)

    def refined(self, edge_sets: Sequence[Floats]) -> Sequence[Floats]:
        return _with_equal_parts(self, edge_sets)

    def one_a_row(self, ranks: int = 1) -> bool:
        return False

    @property
    def n_claims(self) -> int:
        return math.prod(self.rows.shape)

    def n_rows(self, ranks: int = 1) -> int:
        return self.rows.shape[0]

    def rows_of(self, s: int, ranks: int = 1) -> Codes:
        return np.arange(self.n_rows())

    def with_outcomes(self, drawn: NDArray[np.generic]) -> ColumnClaims:
        return replace(self, hit=drawn.astype(np.intp))

    def in_order(self, ranks: int = 1) -> ColumnClaims:
        return self

    def true_ones(self) -> tuple[Floats, Codes, Float64s | None]:
        known = np.flatnonzero(self.hit >= 0)
        hit, row = self.hit[known], known if self.rows.index is None else self.rows.index[known]
        return self.rows.base[row, hit], hit, None if self.weights is None else self.weights[known]

    def alike(self, other: ClaimsOfRows) -> bool:
        assert isinstance(other, ColumnClaims)
        same = all(np.array_equal(block, other.rows.part(where).array()) for where, block in self.rows.blocks())
        return same and np.array_equal(self.hit, other.hit)

    def parts(self, ranks: int, small: float) -> Iterator[PartOfRows]:
        n, k = self.rows.shape
        step = max(1, _WRITTEN_OUT // k)
        for start in range(0, n, step):
            where = slice(start, min(start + step, n))
            block, hit = self.rows.part(where).array(), self.hit[where]
            came_true = np.zeros(block.shape, dtype=bool)
            known = np.flatnonzero(hit >= 0)
            came_true[known, hit[known]] = True
            row, column = np.nonzero((block >= (small if k > FEW_CLASSES else 0.0)) | came_true)
            weight = np.ones(len(row)) if self.weights is None else self.weights[where][row]
            outcome = came_true[row, column].astype(np.float64)
            yield PartOfRows(row, column, block[row, column], outcome, weight, len(block))

    def drawn_together(self, ranks: int = 1) -> bool:
        totals = (block.astype(np.float64).sum(axis=1) for _, block in self.rows.blocks(LARGE_BLOCK_BYTES))
        return all(np.allclose(total, 1.0, atol=_ROUNDED) for total in totals)

    def reaches(self, ranks: int = 1) -> Float64s:
        total = np.empty(self.rows.shape[0])
        for where, block in self.rows.blocks(LARGE_BLOCK_BYTES):
            total[where] = block.astype(np.float64).sum(axis=1)
        total += 1.0
        np.minimum(total, len(self.shares), out=total)
        total *= self.shares.max()
        return self._of_the_aggregate(total)

    def influence(self, ranks: int = 1, none: Float64s | None = None) -> Float64s:
        found = (self.unanswered() if none is None else none).copy()
        for part in chunks(len(found), _LOOKED_AT):
            hit = self.hit[part]
            known = np.flatnonzero(hit >= 0)
            rows = known + part.start if self.rows.index is None else self.rows.index[part][known]
            score = self.rows.base[rows, hit[known]].astype(np.float64)
            found[part][known] += self.shares[hit[known]] * (1.0 - 2.0 * score)
        return self._of_the_aggregate(found)

    def unanswered(self) -> Float64s:
        found = np.empty(self.rows.shape[0])
        for where, block in self.rows.blocks(LARGE_BLOCK_BYTES):
            found[where] = block.astype(np.float64) @ self.shares
        return found

    def _of_the_aggregate(self, each: Float64s) -> Float64s:
        """Multiply each row's number by the weight of the row."""
        if self.weights is None:
            each /= len(each)
            return each
        return np.asarray(each * self.weights / self.weights.sum())

    def _listed(self, edge_sets: Sequence[Floats], kind: type[_Kind]) -> _Kind:
        """Return the claims as a list, block by block."""
        k = self.rows.shape[1]
        parts = (
            FlatClaims(
                block.ravel(),
                (self.hit[where, None] == np.arange(k)).ravel(),
                np.tile(np.arange(k), len(block)),
                self.strata,
                self.shares,
                None if self.weights is None else np.repeat(self.weights[where], k),
            )
            for where, block in self.rows.blocks(LARGE_BLOCK_BYTES)
        )
        # Check all weights at once: those of a block can be integers by chance without being copies.
        exact = copies(self.weights)
        return reduce(add, (part._summed(edge_sets, kind, exact) for part in parts))

    def _counted(self, chunk: slice, edges: Floats) -> tuple[Float64s, Float64s, Float64s]:
        """Return counts and score sums of the cells above the first edge, and the sums of all scores by column.

        The block must be small enough for exact sums.
        """
        k, cells = self.rows.shape[1], len(edges) + 1
        total, room = np.zeros(k), np.empty(0)
        columns, scores = [np.empty(0, dtype=np.intp)], [np.empty(0, dtype=self.dtype)]
        for _, block in self.rows.part(chunk).blocks():
            room = room if room.size else np.empty(block.shape)
            # The sums are exact, so a matrix product may add in any order.
            total += np.ones(len(block)) @ exact_sums.rounded(block, room[: len(block)])
            if cells > 1:
                above = np.flatnonzero(block >= edges[0])
                # Several times as fast as the remainder of a division.
                columns.append(above - above // k * k)
                scores.append(block.ravel()[above])
        score = np.concatenate(scores)
        cell = np.concatenate(columns) * cells + places(edges, score)
        return _bincount(cell, None, (k, cells)), _bincount(cell, exact_sums.rounded(score), (k, cells)), total

    def _outcomes(self, edges: Floats, shape: tuple[int, int]) -> Float64s:
        """Return outcome sums: only the true column counts, one score per row."""
        scores, hit, weight = self.true_ones()
        return _bincount(hit * shape[1] + places(edges, scores), weight, shape)


def _with_equal_parts(claims: Claims, edge_sets: Sequence[Floats]) -> list[Floats]:
    number = max(EQUAL_PARTS // len(claims.strata), FEWEST_PARTS)
    parts = (np.arange(1, number) / number).astype(claims.dtype)
    return [np.union1d(edges, parts) for edges in edge_sets]


def _chunks(n: int, rows: int) -> list[slice]:
    return chunks(n, rows) or [slice(0, 0)]


def _bincount(cell: NDArray[np.intp], weights: Float64s | None, shape: tuple[int, ...]) -> Float64s:
    counted = np.bincount(cell, weights, minlength=math.prod(shape)).astype(np.float64, copy=False)
    return counted.reshape(shape)
