"""Minimises a smooth convex loss whose Hessian fits in memory: damped Newton steps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from calib_core._arrays import Float64s

_STEPS = 200
_ENOUGH = 1e-23
"""Half of Newton's decrement squared, the fall of the loss still to come: far below what changes a probability."""
_SLOW = 1e-4
"""A step that lowers the loss by less than this share of it, and far less than the last, hardly changes the Hessian."""


class Loss(Protocol):
    def value_and_gradient(self, point: Float64s) -> tuple[float, Float64s]: ...
    def hessian(self, point: Float64s) -> Float64s: ...


@dataclass(frozen=True, eq=False)
class Minimum:
    """Where Newton's steps ended, the Hessian last used there, and whether they ended for want of anything to gain."""

    point: Float64s
    hessian: Float64s
    ended: bool


def minimum(loss: Loss, start: Float64s, enough: float = _ENOUGH) -> Minimum:
    """The minimiser of the loss.

    Steps solve (H + damping diag H) s = -g. Damping grows tenfold when the loss does not fall as the step's
    parabola says, and shrinks again when it does (Levenberg and Marquardt's rule). Near the end, where the Hessian
    hardly changes any more and costs several gradients, it is kept.
    """
    point, damping, last, fresh = start, 0.0, np.inf, True
    value, gradient = loss.value_and_gradient(point)
    hessian = loss.hessian(point)
    for _ in range(_STEPS):
        step, fall = _step(hessian, gradient, damping)
        # Rounding of the loss hides falls this small: the last steps are taken on trust while they shrink.
        blind = fall <= 1e-13 * max(value, 1e-3)
        if fall <= enough or (blind and fresh and fall > 0.5 * last):
            return Minimum(point, hessian, True)
        trial = point + step.reshape(point.shape)
        new_value, new_gradient = loss.value_and_gradient(trial)
        ratio = 1.0 if blind else (value - new_value) / fall
        if ratio > 1e-3:
            point, value, gradient = trial, new_value, new_gradient
            damping = damping / 10.0 if ratio > 0.5 else damping
            damping = 0.0 if damping < 1e-6 else damping
        elif fresh:
            damping = max(10.0 * damping, 1e-3)
            continue
        keep = ratio > 0.5 and fall < 1e-2 * last and fall < _SLOW * value and damping == 0.0
        last = fall
        fresh = not keep
        if fresh:
            hessian = loss.hessian(point)
    return Minimum(point, hessian, False)


def solve(hessian: Float64s, right: Float64s) -> Float64s:
    """Solution of a positive definite system, equilibrated so that scales do not cost digits."""
    root = 1.0 / np.sqrt(np.diag(hessian))
    factor = cho_factor(hessian * root * root[:, None], lower=True, check_finite=False)
    return np.asarray(root * cho_solve(factor, root * right, check_finite=False))


def _step(hessian: Float64s, gradient: Float64s, damping: float) -> tuple[Float64s, float]:
    """The step, and how far the loss should fall along it."""
    g = gradient.ravel()
    damped = hessian if damping == 0.0 else hessian + np.diag(damping * np.diag(hessian))
    step = -solve(damped, g)
    return step, float(-0.5 * (g @ step))
