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
    most = rows if apart else rows * lines

    def summed(terms: Float64s, cell: Codes, size: int) -> ExactSums:
        return exact_sums.sums_of(terms, cell, size, None, most)

    every = summed(part.score.ravel(), part.cell.ravel(), cells)
    hit = np.nonzero(part.outcome)
    mine = np.full(rows, -1)
    mine[hit[1]] = part.cell[hit]
    if part.kept is None:
        cell, score, met = part.cell.ravel(), part.score.ravel(), np.tile(mine, lines)
        products = _products(part.cell, part.score, np.full(lines, rows), cells, apart)
    else:
        # Row by row: positions of its claims among the retained ones.
        row, line = np.nonzero(part.kept.T)
        cell, score = part.cell[line, row], part.score[line, row]
        products = _products(*_listed(row, cell, score, rows), cells, apart)
        met = mine[row]
    known = met >= 0
    products = products + _turned(products) + _diagonal(summed(score * score, cell, cells))
    both = summed(score[known], met[known] * cells + cell[known], cells * cells).reshaped((cells, cells))
    came_true = _diagonal(ExactSums.of(np.bincount(part.cell[hit], minlength=cells).astype(np.float64)))
    total = part.score.sum(axis=0)
    return SharedRows(
        rows,
        float(total.max(initial=0.0)),
        products + came_true - both - _turned(both),
        _diagonal(every) - products,
        _sizes(np.abs(part.outcome - part.score)),
    )


def _listed(row: Codes, cell: Codes, score: Float64s, rows: int) -> tuple[Codes, Float64s, Codes]:
    """Return cells and scores of each row's claims, (claims, rows), and the number of rows with more than j claims.

    Rows with many claims come first, so that those with more than j claims are a prefix for every j.
    """
    number = np.bincount(row, minlength=rows)
    place = np.empty(rows, dtype=np.intp)
    place[np.argsort(-number, kind="stable")] = np.arange(rows)
    nth = np.arange(len(row)) - (np.cumsum(number) - number)[row]
    shape = (int(number.max(initial=0)), rows)
    c, s = np.zeros(shape, dtype=np.intp), np.zeros(shape)
    c[nth, place[row]], s[nth, place[row]] = cell, score
    return c, s, np.array([(number > j).sum() for j in range(shape[0])], dtype=np.intp)


def _products(c: Codes, s: Float64s, longer: Codes, cells: int, apart: bool) -> ExactSums:
    """Return sums of s_c s_d over pairs of different claims of a row, each counted once, (cells, cells)."""
    claims, rows = c.shape
    found, most = ExactSums.zeros(cells * cells), rows if apart else rows * claims**2
    codes, values, listed = list[Codes](), list[Float64s](), 0
    for j in range(1, claims):
        n = int(longer[j])
        codes.append((c[:j, :n] * cells + c[j, :n]).ravel())
        values.append((s[:j, :n] * s[j, :n]).ravel())
        listed += j * n
        if listed >= _PAIRS or j == claims - 1:
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
