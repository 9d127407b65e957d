"""What partitions share whose cells are fixed beforehand: nothing to place, every row inside, codes that must fit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from calib_core._base.arrays import LARGE_BLOCK_BYTES, Codes, Float64s, Floats, Rows
from calib_core.predictions.predictions import NotAnswerable

_CODES = 2**63 - 1


def by_blocks(rows: Rows, coded: Callable[[Floats], Codes]) -> Codes:
    """Cell numbers (n,) of the rows, a block at a time."""
    codes = np.empty(rows.shape[0], dtype=np.intp)
    for where, block in rows.blocks(LARGE_BLOCK_BYTES):
        codes[where] = coded(block)
    return codes


class FixedScheme:
    """A way of cutting that looks at no predictions."""

    def placed(self, rows: Rows, weights: Float64s | None) -> Float64s:
        return np.empty((0, rows.shape[1] + 1))

    def unproven(self) -> str:
        return ""


@dataclass(frozen=True, eq=False)
class FixedCells:
    """Cells of the simplex of ``n_classes`` corners that are the same for all predictions."""

    n_classes: int

    def __post_init__(self) -> None:
        if self.n_cells > _CODES:
            raise NotAnswerable(
                f"{self.n_classes} classes make more cells than can be numbered ({self.n_cells:.1e}): "
                "choose a coarser partition"
            )

    @property
    def n_cells(self) -> int:
        raise NotImplementedError

    def codes(self, rows: Rows) -> Codes:
        return by_blocks(rows, self._coded)

    def _coded(self, block: Floats) -> Codes:
        raise NotImplementedError

    def interior(self, rows: Rows, weights: Float64s | None) -> Float64s | None:
        return weights
