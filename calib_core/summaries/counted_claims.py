"""Claims known by counts on a grid: a third shape beside listed ones and matrices whose columns are strata."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from calib_core._arrays import Float64s, Floats
from calib_core._repr import OneLine
from calib_core.claims import Stratum, Tally
from calib_core.predictions import NotAnswerable
from calib_core.summaries.cells import Cells
from calib_core.summaries.grid import starts_of

NEEDS_ROWS = (
    "{} needs rows; a summary holds counts: what is binned on its grid, the scores and the accuracy can be answered; "
    "for the rest go back to the rows, or to the few that it keeps (its sample)"
)


@dataclass(frozen=True, eq=False, repr=False)
class CountedClaims(OneLine):
    """What is known of claims by their counts on the grid; every claim has weight 1."""

    cells: Cells
    strata: tuple[str, ...]
    shares: Float64s
    dtype: np.dtype[Any]
    same_rows: bool = False
    floor: float = 0.0
    weights: None = None

    def reweighed(self, weights: Float64s | None) -> CountedClaims:
        """The same claims; NotAnswerable for any weights."""
        if weights is not None:
            raise NotAnswerable(NEEDS_ROWS.format("what weighs rows"))
        return self

    def stratum(self, s: int) -> Stratum:
        """NotAnswerable: the claims themselves are not known."""
        raise NotAnswerable(NEEDS_ROWS.format("what reads claims one by one"))

    def tally(self, edges: Floats) -> Tally:
        """Sums over the cells between ascending inner ``edges``, which must lie on the grid."""
        return Tally(*self.cells.binned(starts_of(edges), len(self.strata))[:3])

    def _line(self) -> str:
        return f"{self.cells.n_claims:,} claims in {len(self.strata):,} strata, counted"
