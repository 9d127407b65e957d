"""What counts keep of how the claims of a row go together: sums over pairs of coarse cells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from calib_core._base.arrays import Codes, Float64s, Floats
from calib_core._base.notebook_display import OneLine
from calib_core.claims.binary_claims import Claims
from calib_core.claims.cell_search import n_lines
from calib_core.claims.row_covariance import MOST_CELLS, SharedRows, added
from calib_core.predictions.predictions import NotAnswerable

WANTED = ((10, 15, 20), (15,), (10,), (5,))
"""Numbers of equal-width bins whose edges the cells have: the first of these that makes no more than ``MOST_CELLS``."""


def numbers_for(strata: int) -> tuple[int, ...] | None:
    """The numbers of bins that are kept for so many strata; None where pairs of any would be too many.

    >>> numbers_for(10), numbers_for(60), numbers_for(1000)
    ((10, 15, 20), (15,), None)
    """
    fits = (numbers for numbers in WANTED if strata * (len(edges_of(numbers)) + 1) <= MOST_CELLS)
    return next(fits, None)


def edges_of(numbers: Sequence[int]) -> Float64s:
    """Inner edges of all these numbers of equal-width bins together."""
    return np.unique(np.concatenate([np.arange(1, b) / b for b in numbers]))


@dataclass(frozen=True, eq=False, repr=False)
class PairCells(OneLine):
    """Sums over pairs of the cells between the edges of these ``numbers`` of bins, stratum after stratum.

    >>> from calib_core.predictions.predictions import Predictions
    >>> from calib_core.reductions import ClassWise
    >>> kept = PairCells.of(ClassWise().split(Predictions([[0.7, 0.3]], [0])))
    >>> kept.coarsened([np.array([0.5])], np.dtype(float)).residual.value.shape
    (4, 4)
    """

    numbers: tuple[int, ...]
    sums: SharedRows

    @classmethod
    def of(cls, claims: Claims, ranks: int = 1) -> PairCells | None:
        """Those of claims that share rows, ``ranks`` of listed ones each; None where strata are too many."""
        numbers = numbers_for(len(claims.strata))
        if numbers is None:
            return None
        return cls(numbers, claims.shared([edges_of(numbers).astype(claims.dtype)], ranks=ranks))

    @classmethod
    def together(cls, several: Sequence[PairCells | None]) -> PairCells | None:
        """The rows of all, whatever their order; None unless all keep the same."""
        known = [each for each in several if each is not None]
        if len(known) < len(several) or len({each.numbers for each in known}) != 1:
            return None
        return cls(known[0].numbers, added([each.sums for each in known]))

    def coarsened(self, edge_sets: Sequence[Floats], dtype: np.dtype[Any], joined: Codes | None = None) -> SharedRows:
        """The sums over pairs of cells between inner edges; NotAnswerable unless all of them are kept."""
        grid = edges_of(self.numbers).astype(dtype)
        cells, width = len(grid) + 1, 1 + max(map(len, edge_sets))
        strata = self.sums.cells // cells
        lines = np.arange(strata) if joined is None else joined
        codes = np.empty((strata, cells), dtype=np.intp)
        for s, line in enumerate(lines):
            edges = edge_sets[0 if len(edge_sets) == 1 else line]
            if not np.isin(edges, grid).all():
                raise NotAnswerable(
                    "how the claims of a row go together is kept here in bins of equal width, "
                    f"{' or '.join(map(str, self.numbers))} of them: choose these for intervals and noise floors in "
                    "this notion, ask in one of one claim a row (top-label, class-specific), or go back to the rows"
                )
            codes[s] = line * width + np.searchsorted(edges, np.append(0.0, grid), side="right")
        return self.sums.grouped(codes.ravel(), n_lines(strata, joined) * width)

    def _line(self) -> str:
        return f"{self.sums.rows:,} rows in {self.sums.cells:,} cells and their pairs"
