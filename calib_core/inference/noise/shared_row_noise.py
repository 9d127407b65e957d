"""What rows that share claims do to cells: calibrated outcomes and normal errors, and how often they are drawn."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calib_core._base.arrays import Bools, Codes, Float64s
from calib_core.binning.bin_table import BinTable
from calib_core.claims.binary_claims import ClaimsOfRows
from calib_core.claims.row_covariance import MOST_CELLS, SharedRows
from calib_core.inference.noise import outcome_draws
from calib_core.inference.noise.cell_copula import Outcomes
from calib_core.inference.noise.cell_sums import unit_noise
from calib_core.inference.noise.outcome_draws import NULL_DRAWS

_DRAWN_ROWS, _FEWEST_DRAWS = 20_000_000, 200
"""Numbers drawn row by row for calibrated outcomes and for rows' noise, and the fewest replicates of them.

The level at a 95 % point of 200 draws is off by .015 in standard error: on average that costs .2 points of coverage.
"""
_HELD, _FEWEST_HELD = 20_000_000, 100
"""Drawn sums of cells that are held, and the fewest replicates where cells are so many that their sum varies little."""


@dataclass(frozen=True, eq=False)
class SharedNoise:
    """The noise of some ``cells`` (cells,), places in a table of claims that share rows.

    ``shared`` is how all cells vary together, where that is small enough to be written down.
    """

    claims: ClaimsOfRows
    table: BinTable
    ranks: int
    shared: SharedRows | None
    cells: Codes

    @property
    def of_rows(self) -> bool:
        """Is noise drawn row by row, which costs by rows, cells and replicates?"""
        return self.shared is None and self.table.count.size > MOST_CELLS

    @property
    def replicates(self) -> int:
        """How often calibrated outcomes, and noise of rows, are drawn."""
        rows = self.claims.n_rows() if self.shared is None else self.shared.rows * self.ranks
        wanted = int(np.clip(_DRAWN_ROWS // rows, _FEWEST_DRAWS, NULL_DRAWS))
        return min(wanted, max(_HELD // self.table.count.size, _FEWEST_HELD))

    def gaps(self, outcomes: Outcomes, seed: int) -> Float64s:
        """Gaps (draws, cells) of calibrated models."""
        drawn, first = np.empty((self.replicates, len(self.cells))), 0
        for part, rng in outcome_draws.streams(len(drawn), seed):
            sums = outcomes(rng, part).reshape(part, -1)
            np.take(sums, self.cells, axis=1, out=drawn[first : first + part], mode="clip")
            first += part
        drawn /= self.table.count.ravel()[self.cells]
        drawn -= self.table.mean_score.ravel()[self.cells]
        return drawn

    def errors(self, rng: np.random.Generator, wanted: Bools | None = None) -> Float64s:
        """Standard normal errors (draws, wanted), correlated as the rows' residuals are, of the cells that are wanted.

        Where noise is drawn row by row few cells cost little, and have the errors that they have among all.
        """
        number = self.replicates if self.of_rows else NULL_DRAWS
        cells = self.cells if wanted is None else self.cells[wanted]
        return unit_noise(self.claims, self.table, self.ranks, rng, number, self.shared, cells)
