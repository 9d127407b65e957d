"""Predictions with abstentions pass through a calibrator: what is answered is recalibrated, the rest stays."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from calib_core._base.arrays import frozen
from calib_core.predictions.predictions import NotAnswerable, Predictions


def with_abstentions(predictions: Predictions, apply: Callable[[Predictions], Predictions]) -> Predictions:
    """``apply`` to the rows the model answers; rows it abstains on keep their probabilities and their mark.

    NotAnswerable where the result holds top claims only or rows that need not sum to one: it has no place for a mark.
    """
    abstained = predictions.abstained
    if abstained is None:
        return apply(predictions)
    if abstained.all():
        return predictions
    calibrated = apply(predictions.answered)
    if calibrated.kind != "full":
        raise NotAnswerable(
            "the model abstains on some rows, and this calibrator returns single claims, which cannot say so: "
            "let Meta-Cal come last"
        )
    out = predictions.probs.astype(calibrated.rows.dtype, copy=True)
    out[~abstained] = calibrated.probs
    silent = abstained.copy()
    if calibrated.abstained is not None:
        silent[np.flatnonzero(~abstained)[calibrated.abstained]] = True
    return predictions.with_probs(frozen(out), abstained=silent)
