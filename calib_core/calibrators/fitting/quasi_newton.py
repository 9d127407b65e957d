"""Minimises a softmax loss with too many parameters for a Hessian: SciPy's L-BFGS in whitened coordinates."""

from __future__ import annotations

import numpy as np
import scipy

from calib_core._base.arrays import Float64s
from calib_core.calibrators.fitting.softmax_loss import SoftmaxLoss

_STEPS = 1000
_SLOPES = 1e-7, 3e-5
"""Largest entry of the whitened gradient at the end, with few parameters and with many: the loss is then within some
1e-12 and 1e-7 of its least value."""
_FEW = 1000
_SINGLE_FALL = 3e-7
"""Of a loss computed in float32, which is no finer, a step that lowers it by less than this share is the last."""


def large_minimum(loss: SoftmaxLoss, start: Float64s) -> tuple[Float64s, bool]:
    """The minimiser, and whether the gradient became small enough."""
    whitening = loss.whitening(start)

    def value_and_gradient(u: Float64s) -> tuple[float, Float64s]:
        value, gradient = loss.value_and_gradient(start + whitening.step(u.reshape(start.shape)))
        return value, whitening.gradient(gradient).ravel()

    smallest = 0.0 if loss.rows.dtype == np.float64 else _SINGLE_FALL
    found = scipy.optimize.minimize(
        value_and_gradient,
        np.zeros(start.size),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": _STEPS, "maxfun": 2 * _STEPS, "gtol": _SLOPES[start.size > _FEW], "ftol": smallest},
    )
    point = start + whitening.step(found.x.reshape(start.shape))
    # The loss is flat along shifts that change no probability: only the penalties, too weak to steer by, choose there.
    return loss.representative(point), bool(found.success)
