"""Covariance of bin sums when a row contributes several claims."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import NamedTuple

import numpy as np

from calib_core._base.arrays import Bools, Codes, Float64s
from calib_core._base.notebook_display import OneLine
from calib_core._base.parallel import one_blas_thread
from calib_core.claims import exact_sums
from calib_core.claims.exact_sums import ExactSums

MOST_CELLS = 1000
"""Maximum number of cells with a stored covariance; for more, the rows' noise is simulated."""
AT_ONCE = exact_sums.AT_ONCE
"""Rows that are counted at once: few enough for float64 sums to be exact."""
SMALL = 0.01
"""Probabilities below this are omitted: they change a cell's noise by at most 1 % of its outcomes' contribution."""
FEW_CLASSES = 20
"""Up to this number of classes, none are omitted."""
_PAIRS = 1 << 20
"""Pairs of claims that are listed before they are counted."""
_HALF = 2.0**20


class RowClaims(NamedTuple):
    """Claims of some rows, (claims per row, rows): cell, score and occurrence; and which are omitted."""

    cell: Codes
    score: Float64s
    outcome: Bools
    kept: Bools | None = None


@dataclass(frozen=True, eq=False, repr=False)
class SharedRows(OneLine):
    """Sums over rows of products of contributions to two cells, with outcomes y, scores s and residuals r = y - s.

    ``residual`` (cells, cells) sums r_c r_d; ``claimed`` sums its mean if a row's class follows its scores,
    diag(s) - s s'. ``sizes`` (2, lines, lines) sums |r_j| |r_k| over the ``lines`` of claims per row (classes, or
    ranks). It has two parts: the value of the first plus 2^-20 times the second. ``most`` is the largest sum of a row's
    scores. Everything is additive over rows and exact to the bit: sums of parts are the whole. For many classes, claims
    of scores below .01 for other classes are omitted from ``residual``, and from the products of scores. Correlations
    are then at most a tenth nearer to 0.

    >>> both = RowClaims(np.array([[0], [1]]), np.array([[0.75], [0.25]]), np.array([[True], [False]]))
    >>> SharedRows.of([both], 2).residual.value.tolist()
    [[0.0625, -0.0625], [-0.0625, 0.0625]]
    """

    rows: int
    most: float
    residual: ExactSums
    claimed: ExactSums
    sizes: ExactSums

    @classmethod
    def of(cls, parts: Iterable[RowClaims], cells: int, *, apart: bool = True) -> SharedRows:
        """Sum parts of at most ``AT_ONCE`` rows; ``apart``: no two claims of a row are in the same cell."""
        with one_blas_thread():
            return reduce(add, (_part(part, cells, apart) for part in parts))

    def __add__(self, other: SharedRows) -> SharedRows:
        """Combine the rows of both."""
        return SharedRows(
            self.rows + other.rows,
            max(self.most, other.most),
            self.residual + other.residual,
            self.claimed + other.claimed,
            self.sizes + other.sizes,
        )

    @property
    def cells(self) -> int:
        """Number of cells."""
        return len(self.residual.whole)

    @property
    def lines(self) -> int:
        """Number of claims per row."""
        return len(self.sizes.whole[0])

    def grouped(self, codes: Codes, cells: int) -> SharedRows:
        """Return the same rows in coarser cells: cell c becomes codes[c]."""
        found = [_both_ways(sums, codes, cells) for sums in (self.residual, self.claimed)]
        return SharedRows(self.rows, self.most, found[0], found[1], self.sizes)

    def squared_reach(self, each: Float64s) -> float:
        """Return sum_i (sum_j e_j |r_ij|)^2: squared effects of residuals on an aggregate with weights e_j (lines,)."""
        whole, rest = self.sizes.value
        return max(0.0, float(each @ (whole + rest / _HALF) @ each))

    def reach(self, each: Float64s) -> float:
        """Bound on the effect of a row: its residuals have an absolute sum of at most 1 + (sum of its scores)."""
        return float(each.max()) * min(1.0 + self.most, len(each))

    def _line(self) -> str:
        return f"{self.rows:,} rows in {self.cells:,} cells"


def added(several: Sequence[SharedRows]) -> SharedRows:
    """Combine the rows of all, with the same bits in any order."""
    return reduce(add, several)


def _part(part: RowClaims, cells: int, apart: bool) -> SharedRows:
    lines, rows = part.score.shape
    kept = np.ones(part.score.shape, dtype=bool) if part.kept is None else part.kept
    # Row by row: positions of its claims among the retained ones.
    row, line = np.nonzero(kept.T)
    cell, score, hit = part.cell[line, row], part.score[line, row], part.outcome[line, row]
    most = rows if apart else rows * lines

    def diagonal(terms: Float64s) -> ExactSums:
        return _diagonal(exact_sums.sums_of(terms, cell, cells, None, most))

    products = _products(row, cell, score, rows, cells, apart)
    products = products + _turned(products) + diagonal(score * score)
    every = exact_sums.sums_of(part.score.ravel(), part.cell.ravel(), cells, None, most)
    mine = np.full(rows, -1)
    mine[row[hit]] = cell[hit]
    known = mine[row] >= 0
    met = exact_sums.sums_of(score[known], mine[row[known]] * cells + cell[known], cells * cells, None, most)
    met = met.reshaped((cells, cells))
    came_true = _diagonal(ExactSums.of(np.bincount(cell[hit], minlength=cells).astype(np.float64)))
    total = part.score.sum(axis=0)
    return SharedRows(
        rows,
        float(total.max(initial=0.0)),
        products + came_true - met - _turned(met),
        _diagonal(every) - products,
        _sizes(np.abs(part.outcome - part.score)),
    )


def _products(row: Codes, cell: Codes, score: Float64s, rows: int, cells: int, apart: bool) -> ExactSums:
    """Return sums of s_c s_d over pairs of different claims of a row, each counted once, (cells, cells)."""
    number = np.bincount(row, minlength=rows)
    # Rows with many claims first, so that those with more than j claims are a prefix for every j.
    place = np.empty(rows, dtype=np.intp)
    place[np.argsort(-number, kind="stable")] = np.arange(rows)
    nth = np.arange(len(row)) - (np.cumsum(number) - number)[row]
    shape = (int(number.max(initial=0)), rows)
    c, s = np.zeros(shape, dtype=np.intp), np.zeros(shape)
    c[nth, place[row]], s[nth, place[row]] = cell, score
    found, most = ExactSums.zeros(cells * cells), rows if apart else rows * shape[0] ** 2
    codes, values, listed = [np.empty(0, dtype=np.intp)], [np.empty(0)], 0
    for j in range(1, shape[0]):
        longer = int((number > j).sum())
        codes.append((c[:j, :longer] * cells + c[j, :longer]).ravel())
        values.append((s[:j, :longer] * s[j, :longer]).ravel())
        listed += j * longer
        if listed >= _PAIRS or j == shape[0] - 1:
            every = np.concatenate(codes), np.concatenate(values)
            found = found + exact_sums.sums_of(every[1], every[0], cells * cells, None, most)
            codes, values, listed = [], [], 0
    return found.reshaped((cells, cells))


def _sizes(moved: Float64s) -> ExactSums:
    """Return sums over rows of products of two lines' numbers in [0, 1], (lines, rows): (2, lines, lines).

    For numbers h + l, h is a multiple of 2^-20 and l of 2^-40 below it. Then h h' and 2^20 (h l' + l h') are sums of
    multiples of 2^-40 that float64 adds exactly in any order; l l' is omitted.
    """
    high, low = exact_sums.halves(moved)
    cross = high @ low.T
    return exact_sums.stacked([ExactSums.of(high @ high.T), ExactSums.of((cross + cross.T) * _HALF)])


def _diagonal(sums: ExactSums) -> ExactSums:
    return ExactSums(np.diag(sums.whole), np.diag(sums.part))


def _turned(sums: ExactSums) -> ExactSums:
    return ExactSums(sums.whole.T, sums.part.T)


def _both_ways(sums: ExactSums, codes: Codes, size: int) -> ExactSums:
    return _turned(_turned(sums.grouped(codes, size)).grouped(codes, size))
