"""Claims: scores said of binary outcomes, stratum by stratum, with weights.

Two shapes of the same thing. ``FlatClaims`` lists every claim. ``ColumnClaims`` is a matrix whose every column is
a stratum: the claim (i, j) says that column j is the one that hit in row i; 50,000 x 1,000 of them are never copied.
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
"""Rows of a matrix one worker counts at a time: so few that float64 sums are exact."""

_SUMMED, _LISTED = 1 << 20, 1 << 16
"""Rows of a matrix whose sums are kept in one int64 each; listed claims counted at a time."""

_ROUNDED = 1e-3
"""What rounding may leave of a sum of 1."""

_COLUMNS = 16
"""Columns read together: as many float32 as a line of memory holds."""

_LOOKED_AT, _WRITTEN_OUT = 1 << 20, 1 << 19
"""Rows whose residuals are looked at together; claims written out at once."""

EQUAL_PARTS, FEWEST_PARTS = 1024, 32
"""Cells of equal width in which claims known row by row are counted where rows need not be told apart: over all strata
together, and at least so many in each."""


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
        counts = np.diff(np.append(starts, n)).astype(np.float64)
        if self.weights is not None:
            counts = _runs(self.weights, starts)
        outcome = _bincount(places(edges, self.hits), self.hit_weights, (cells,))
        if self.weights is not None and not copies(self.weights):
            return Tally(counts, _runs(self.scores * self.weights, starts), outcome)
        halves = exact_sums.halves(self.scores, self.weights)
        return Tally.of_exact(counts, outcome, exact_sums.added([ExactSums.of(_runs(x, starts)) for x in halves])[None])


def _runs(values: Float64s, starts: NDArray[np.intp]) -> Float64s:
    """Sums over runs that begin at ascending starts; an empty run sums to 0."""
    # reduceat repeats the element at the start of an empty run, and refuses a run that begins past the end.
    empty = np.diff(np.append(starts, len(values))) == 0
    return np.where(empty, 0.0, np.add.reduceat(np.append(values, 0.0), starts))


class Claims(Protocol):
    """Scores said of binary outcomes, in strata: one at a time, or counted into cells.

    What estimators that count, their intervals, noise floors, verdicts and diagrams ask of claims that share no row is
    ``strata``, ``shares``, ``dtype``, ``floor``, ``weights``, ``same_rows``, ``tally``, ``moments`` and ``refined``, so
    that claims known by counts on a fine grid alone answer them too: ``Moments.coarsened`` of the counts is both
    ``tally`` and ``moments`` of edges that lie in their grid, ``refined`` says how fine it is, ``weights`` is None (a
    weight is a count by then), ``stratum`` and ``reweighed`` raise NotAnswerable.
    """

    @property
    def grain(self) -> Grain:
        """Are claims known one by one ("rows"), or by "counts"?"""

    @property
    def strata(self) -> tuple[str, ...]:
        """Names of the strata."""

    @property
    def shares(self) -> Float64s:
        """Weight of each stratum in the aggregate, summing to 1 (0 for strata without claims)."""

    @property
    def dtype(self) -> FloatType:
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

    def moments(self, edge_sets: Sequence[Floats]) -> Moments:
        """Sums, and those of powers, over the cells between inner edges in the scores' dtype, (strata, most cells).

        One set of edges for all strata, or one a stratum; cells that a stratum does not have hold nothing.
        """

    def shared(self, edge_sets: Sequence[Floats], joined: Codes | None = None, ranks: int = 1) -> SharedRows:
        """What rows of several claims of weight 1 add to pairs of the cells between inner edges, as of ``moments``.

        Cells are numbered stratum after stratum, as many for each; strata that are ``joined`` go to the line of edges
        that it says. ``ranks`` of listed claims belong to one row.
        """

    def refined(self, edge_sets: Sequence[Floats]) -> Sequence[Floats]:
        """Edges as of ``moments`` that hold these, and between them as many as tell scores apart well enough.

        For outcomes drawn cell by cell in place of row by row: a few dozen to a thousand cells a stratum.
        """

    def one_a_row(self, ranks: int = 1) -> bool:
        """Is every row known to make one claim, ``ranks`` of which belong to one row?"""


class ClaimsOfRows(Claims, Protocol):
    """Claims known row by row: what resamples, redrawn outcomes and grouped rows ask beside."""

    outcome_is_class: ClassVar[bool]
    """Is a row's outcome the class that it has, and not whether each listed claim came true?"""

    @property
    def n_claims(self) -> int:
        """How many claims there are."""

    def n_rows(self, ranks: int = 1) -> int:
        """How many rows they are about, ``ranks`` of them belonging to one row where they are listed."""

    def rows_of(self, s: int, ranks: int = 1) -> Codes:
        """The row that each claim of stratum s is about."""

    def with_outcomes(self, drawn: NDArray[np.generic]) -> ClaimsOfRows:
        """The same claims after other outcomes: whether each came true, or the column that hit in each row."""

    def in_order(self, ranks: int = 1) -> ClaimsOfRows:
        """Claims that share no row sorted by all they hold, so that noise drawn for them does not depend on row order.

        Claims about one row stay together, in the order of the rows.
        """

    def true_ones(self) -> tuple[Floats, Codes, Float64s | None]:
        """Scores, strata and weights of the claims that came true."""

    def alike(self, other: ClaimsOfRows) -> bool:
        """Do two models make the same claims, with the same outcomes?"""

    def parts(self, ranks: int, small: float) -> Iterator[PartOfRows]:
        """The claims in parts of many rows; of many classes those below ``small`` that did not hit are left out."""

    def drawn_together(self, ranks: int = 1) -> bool:
        """Can one outcome be drawn for all claims of a row: do they sum to 1 (a matrix), or to 1 at most?"""

    def reaches(self, ranks: int = 1) -> Float64s:
        """How far each row could move the aggregate, whatever its outcome, (rows,): a bound on ``influence``.

        Its weight in the aggregate where a row makes one claim. Claims about several classes of a row, one of which
        comes true, have residuals that add up to at most 1 + (sum of the row's scores): 2 where those are
        distributions.
        """

    def influence(self, ranks: int = 1, none: Float64s | None = None) -> Float64s:
        """How far each row's residuals move the aggregate, (rows,): sum over its claims of weight times |residual|.

        ``none`` (rows,) is what ``unanswered`` gives, where it is at hand: other outcomes then cost no look at rows.
        """

    def unanswered(self) -> Float64s | None:
        """What a matrix has (rows,): each row's scores summed by the classes' shares; None of listed claims."""


class PartOfRows(NamedTuple):
    """Claims of some rows: row (from 0 on), stratum, score, outcome and weight of each, and the number of rows."""

    row: Codes
    stratum: Codes
    score: Floats
    outcome: Float64s
    weight: Float64s
    rows: int


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
        """What each claim weighs in the aggregate, (claims,): its share of its stratum, times the stratum's."""
        each = self._of_a_unit()[self.codes]
        return each if self.weights is None else np.asarray(self.weights * each)

    def _of_a_unit(self) -> Float64s:
        """What a claim of weight 1 weighs in the aggregate, (strata,)."""
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
        # Rows are counted in their order and parts added in theirs: weights that are no copies give the same bits too.
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
    """One stratum a column: scores are a matrix's rows, ``hit`` (n,) the column that came true, -1 for none."""

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

    def tally(self, edges: Floats) -> Tally:
        """As for listed claims, touching each score once: those below the first edge need no code of their own.

        With many classes nearly all scores lie in the first cell; its sums are the column's total less the rest.
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
        """Each row's number times what the row weighs."""
        if self.weights is None:
            each /= len(each)
            return each
        return np.asarray(each * self.weights / self.weights.sum())

    def _listed(self, edge_sets: Sequence[Floats], kind: type[_Kind]) -> _Kind:
        """The claims listed block by block."""
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
        # Asked of all weights together: those of a block can be whole by chance, and are then no copies.
        exact = copies(self.weights)
        return reduce(add, (part._summed(edge_sets, kind, exact) for part in parts))

    def _counted(self, chunk: slice, edges: Floats) -> tuple[Float64s, Float64s, Float64s]:
        """Counts and score sums of the cells above the first edge, and the sums of all scores, one a column.

        So few rows that their sums are exact.
        """
        k, cells = self.rows.shape[1], len(edges) + 1
        total, room = np.zeros(k), np.empty(0)
        columns, scores = [np.empty(0, dtype=np.intp)], [np.empty(0, dtype=self.dtype)]
        for _, block in self.rows.part(chunk).blocks(LARGE_BLOCK_BYTES):
            room = room if room.size else np.empty(block.shape)
            total += exact_sums.rounded(block, room[: len(block)]).sum(axis=0)
            if cells > 1:
                above = np.flatnonzero(block >= edges[0])
                columns.append(above % k)
                scores.append(block.ravel()[above])
        score = np.concatenate(scores)
        cell = np.concatenate(columns) * cells + places(edges, score)
        return _bincount(cell, None, (k, cells)), _bincount(cell, exact_sums.rounded(score), (k, cells)), total

    def _outcomes(self, edges: Floats, shape: tuple[int, int]) -> Float64s:
        """Outcome sums: only the column that hit counts, one score a row."""
        scores, hit, weight = self.true_ones()
        return _bincount(hit * shape[1] + places(edges, scores), weight, shape)


def each_stratum(claims: Claims) -> Iterator[Stratum]:
    """The strata in turn; of a matrix neighbouring columns are read together, since they share lines of memory."""
    if not isinstance(claims, ColumnClaims):
        yield from (claims.stratum(s) for s in range(len(claims.strata)))
        return
    for first in range(0, len(claims.strata), _COLUMNS):
        for s, scores in enumerate(claims.rows.columns(slice(first, first + _COLUMNS)), first):
            yield Stratum(scores, claims.hit == s, claims.weights)


def _with_equal_parts(claims: Claims, edge_sets: Sequence[Floats]) -> list[Floats]:
    number = max(EQUAL_PARTS // len(claims.strata), FEWEST_PARTS)
    parts = (np.arange(1, number) / number).astype(claims.dtype)
    return [np.union1d(edges, parts) for edges in edge_sets]


def _chunks(n: int, rows: int) -> list[slice]:
    return chunks(n, rows) or [slice(0, 0)]


def _bincount(cell: NDArray[np.intp], weights: Float64s | None, shape: tuple[int, ...]) -> Float64s:
    counted = np.bincount(cell, weights, minlength=math.prod(shape)).astype(np.float64, copy=False)
    return counted.reshape(shape)
