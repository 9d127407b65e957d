"""Minimisers of smooth losses: Newton's method where the Hessian fits in memory, L-BFGS in whitened coordinates.

Parameters are (r, K), a column a class. Each class's own block of the Hessian is made the identity; what couples the
classes is left to L-BFGS.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import scipy
from scipy.linalg import cho_factor, cho_solve

from calib_core._base.arrays import Float64s

_STEPS = 200
_SLOPE = 1e-7
"""Length of the gradient, parameters scaled, at which trust regions end: rounding of the loss hides what is left."""
_LEFT = 1e-12
"""Share of the loss it may still have to fall where rounding ended the steps before the gradient was as small."""


class Loss(Protocol):
    def value_and_gradient(self, point: Float64s) -> tuple[float, Float64s]: ...
    def hessian(self, point: Float64s) -> Float64s: ...


@dataclass(frozen=True, eq=False)
class Minimum:
    """Where the steps ended, the Hessian just before the last, and whether they ended for want of anything to gain."""

    point: Float64s
    hessian: Float64s
    ended: bool


def minimum(loss: Loss, start: Float64s, slope: float = _SLOPE) -> Minimum:
    """The minimiser of the loss.

    Parameters are scaled so that the Hessian at the start has a diagonal of ones: regions are then round. The step
    from where the regions end is Newton's own, on trust: it squares the error, down to what rounding leaves.
    """
    first = [loss.hessian(start)]
    scale = 1.0 / np.sqrt(np.diag(first[0]))

    def point(u: Float64s) -> Float64s:
        return (scale * u).reshape(start.shape)

    def value_and_gradient(u: Float64s) -> tuple[float, Float64s]:
        value, gradient = loss.value_and_gradient(point(u))
        return value, scale * gradient.ravel()

    def hessian(u: Float64s) -> Float64s:
        h = first.pop() if first else loss.hessian(point(u))  # the first that is asked for is the start's
        return np.asarray(h * scale * scale[:, None])

    found = scipy.optimize.minimize(
        value_and_gradient,
        start.ravel() / scale,
        jac=True,
        hess=hessian,
        method="trust-exact",
        options={"gtol": slope, "maxiter": _STEPS},
    )
    step = solve(found.hess, found.jac)
    ended = bool(found.success) or 0.5 * float(found.jac @ step) <= _LEFT * max(found.fun, 1e-3)
    return Minimum(point(found.x - step if ended else found.x), found.hess / scale / scale[:, None], ended)


def solve(hessian: Float64s, right: Float64s) -> Float64s:
    """Solution of a positive definite system, equilibrated so that scales do not cost digits."""
    root = 1.0 / np.sqrt(np.diag(hessian))
    even = hessian * root * root[:, None]
    found: Float64s
    try:
        found = cho_solve(cho_factor(even, lower=True, check_finite=False), root * right, check_finite=False)
    except scipy.linalg.LinAlgError:
        # Rounding left a direction without curvature, as scores that are alike in all rows do: no step goes along it.
        found = np.asarray(np.linalg.lstsq(even, root * right)[0], dtype=np.float64)
    return np.asarray(root * found)


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
