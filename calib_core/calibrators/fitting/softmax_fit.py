"""The minimiser of a regularised softmax loss, by the method its size asks for, and whether rows named it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import scipy

from calib_core._base.arrays import Float64s
from calib_core.calibrators.fitting.newton import minimum, solve
from calib_core.calibrators.fitting.quasi_newton import large_minimum
from calib_core.calibrators.fitting.softmax_loss import RIDGE, SoftmaxLoss

Status = Literal["converged", "at bound", "not converged"]

_DENSE = 250
"""Parameters up to which the Hessian is formed; beyond that its cost outgrows that of many gradients."""

_SAMPLE_ROWS = 500
_SCALES = (0.05, 5.0)

_MOVES_ON = 0.1
"""Logits: without the ridge one more Newton step would move a parameter by this much or more at a loss that has no
minimum (there it is near 1), and by some 1e-6 at one that has."""


@dataclass(frozen=True, eq=False)
class SoftmaxFit:
    parameters: Float64s
    status: Status


def fitted(loss: SoftmaxLoss, start: Float64s | None = None) -> SoftmaxFit:
    """The minimiser of the loss, sought from ``start`` or from the best temperature on some of the rows."""
    first = _scaled_identity(loss) if start is None else start
    if loss.identity.size <= _DENSE:
        found = minimum(loss, first)
        point, ended = found.point, found.ended
        step = solve(found.hessian, loss.pull(point).ravel()).reshape(point.shape)
    else:
        point, ended = large_minimum(loss, first)
        step = loss.pull(point) / loss.own_curvature(point)
    unbounded = (np.abs(step) * np.sqrt(loss.ridge / RIDGE) > _MOVES_ON).any()
    return SoftmaxFit(point, "not converged" if not ended else "at bound" if unbounded else "converged")


def fitted_in_parts(loss: SoftmaxLoss, sample: SoftmaxLoss) -> SoftmaxFit:
    """The minimiser of a loss whose rows are costly to read, sought from that of some of them where it is a good start.

    Of many parameters, and where the sample's loss has no minimum, what fits few rows is far from what fits all.
    """
    if loss.identity.size > _DENSE:
        return fitted(loss)
    first = fitted(sample)
    return fitted(loss, first.parameters if first.status == "converged" else None)


def _scaled_identity(loss: SoftmaxLoss) -> Float64s:
    """The multiple of the identity's weights, a temperature, with the least loss on some of the rows.

    Newton's steps from the identity itself go astray where probabilities are overconfident: its Hessian is near 0.
    """
    # The search keeps what ``slope`` knows until the next garbage collection: not all rows.
    sample, identity = loss.on(loss.rows.every(max(1, len(loss.rows.labels) // _SAMPLE_ROWS))), loss.identity

    def slope(log_factor: float) -> float:
        return float(np.sum(sample.value_and_gradient(np.exp(log_factor) * identity)[1] * identity))

    low, high = np.log(_SCALES)
    if slope(low) > 0 or slope(high) < 0:
        return identity
    return np.asarray(np.exp(scipy.optimize.brentq(slope, low, high, xtol=0.02)) * identity)
