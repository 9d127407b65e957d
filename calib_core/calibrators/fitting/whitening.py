"""Coordinates in which the Hessian of a softmax loss is near the identity: what makes L-BFGS quick on it.

Parameters are (r, K), a column a class. Each class's own block of the Hessian is made the identity; what couples the
classes is left to L-BFGS.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from calib_core._base.arrays import Float64s


class Whitening(Protocol):
    def step(self, u: Float64s) -> Float64s:
        """The change of the parameters that u stands for."""
        ...

    def gradient(self, g: Float64s) -> Float64s:
        """The gradient with respect to u."""
        ...


@dataclass(frozen=True, eq=False)
class Blocks:
    """From every class's Hessian block (K, r, r): inverse Cholesky factors."""

    inverse: Float64s

    @classmethod
    def of(cls, hessians: Float64s) -> Blocks:
        return cls(np.linalg.inv(np.linalg.cholesky(hessians)))

    def step(self, u: Float64s) -> Float64s:
        return np.ascontiguousarray(np.matmul(u.T[:, None, :], self.inverse)[:, 0].T)

    def gradient(self, g: Float64s) -> Float64s:
        return np.ascontiguousarray(np.matmul(self.inverse, g.T[:, :, None])[:, :, 0].T)


@dataclass(frozen=True, eq=False)
class Scales:
    """From the Hessian's diagonal (r, K) alone, where blocks would not fit in memory."""

    root: Float64s

    @classmethod
    def of(cls, diagonal: Float64s) -> Scales:
        return cls(np.sqrt(diagonal))

    def step(self, u: Float64s) -> Float64s:
        return np.asarray(u / self.root)

    def gradient(self, g: Float64s) -> Float64s:
        return np.asarray(g / self.root)
