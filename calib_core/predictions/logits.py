"""Logits: a model's raw outputs, a type of their own."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from calib_core._base.arrays import Floats, ReadOnly, frozen, owned
from calib_core._base.notebook_display import OneLine
from calib_core.predictions.validation import as_matrix, refuse_rows


@dataclass(frozen=True, eq=False, repr=False)
class Logits(ReadOnly, OneLine):
    """Raw model outputs before the softmax, shape (n, K): a type of its own, so that kind is never guessed.

    >>> Logits([[0.0, 0.0]]).probs().tolist()
    [[0.5, 0.5]]
    """

    values: Floats

    def __init__(self, values: ArrayLike) -> None:
        z = as_matrix(values, "logits")
        # -inf says "impossible" and is legal; a row of nothing else, NaN or +inf is not.
        wrong = np.isnan(z) | np.isposinf(z)
        refuse_rows("logits", wrong.any(axis=1), z, "is not a finite number (-inf is allowed, as 'impossible')")
        refuse_rows("logits", np.isneginf(z).all(axis=1), z, "stands for every class; one at least must be possible")
        object.__setattr__(self, "values", owned(z))

    def probs(self) -> Floats:
        """Softmax of each row, in the dtype of the logits, computed in float64."""
        z = self.values.astype(np.float64)
        with np.errstate(over="ignore"):  # further below the largest than there are numbers is nothing, as it should
            z = np.exp(z - z.max(axis=1, keepdims=True))
        z /= z.sum(axis=1, keepdims=True)
        return frozen(z.astype(self.values.dtype))
