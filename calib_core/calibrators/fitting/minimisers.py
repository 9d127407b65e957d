"""Minimizers of smooth losses: Newton's method if the Hessian fits in memory, else L-BFGS with whitening.

Parameters are (r, K), one column per class. Whitening makes each class's block of the Hessian the identity; the
coupling between classes is left to L-BFGS.
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
"""Norm of the scaled gradient at which trust regions stop; rounding of the loss hides smaller ones."""
_LEFT = 1e-12
"""Remaining relative decrease of the loss that is accepted if rounding stopped the steps early."""


class Loss(Protocol):
    def value_and_gradient(self, point: Float64s) -> tuple[float, Float64s]: ...
    def hessian(self, point: Float64s) -> Float64s: ...


@dataclass(frozen=True, eq=False)
class Minimum:
    """Final point, the Hessian before the last step, and whether the steps converged."""

    point: Float64s
    hessian: Float64s
    ended: bool


def minimum(loss: Loss, start: Float64s, slope: float = _SLOPE) -> Minimum:
    """Minimizer of the loss.

    Parameters are scaled so that the Hessian at the start has a diagonal of ones and regions are round. The last step
    is a plain Newton step without a check: it squares the error, down to rounding.
    """
    first = [loss.hessian(start)]
    scale = 1.0 / np.sqrt(np.diag(first[0]))

    def point(u: Float64s) -> Float64s:
        return (scale * u).reshape(start.shape)

    def value_and_gradient(u: Float64s) -> tuple[float, Float64s]:
        value, gradient = loss.value_and_gradient(point(u))
        return value, scale * gradient.ravel()

    def hessian(u: Float64s) -> Float64s:
        h = first.pop() if first else loss.hessian(point(u))  # the first one requested is that of the start
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
    """Solution of a positive definite system, equilibrated so that scaling loses no digits."""
    root = 1.0 / np.sqrt(np.diag(hessian))
    even = hessian * root * root[:, None]
    found: Float64s
    try:
        found = cho_solve(cho_factor(even, lower=True, check_finite=False), root * right, check_finite=False)
    except scipy.linalg.LinAlgError:
        # Rounding left a direction without curvature, as equal scores in all rows do: no step goes along it.
        found = np.asarray(np.linalg.lstsq(even, root * right)[0], dtype=np.float64)
    return np.asarray(root * found)


class Whitening(Protocol):
    def step(self, u: Float64s) -> Float64s:
        """Change of the parameters for the whitened change u."""
        ...

    def gradient(self, g: Float64s) -> Float64s:
        """Gradient with respect to u."""
        ...


@dataclass(frozen=True, eq=False)
class Blocks:
    """Whitening by inverse Cholesky factors of every class's Hessian block (K, r, r)."""

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
    """Whitening by the Hessian's diagonal (r, K), if blocks would not fit in memory."""

    root: Float64s

    @classmethod
    def of(cls, diagonal: Float64s) -> Scales:
        return cls(np.sqrt(diagonal))

    def step(self, u: Float64s) -> Float64s:
        return np.asarray(u / self.root)

    def gradient(self, g: Float64s) -> Float64s:
        return np.asarray(g / self.root)
