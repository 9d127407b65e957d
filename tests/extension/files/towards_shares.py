"""Rows drawn towards the class shares of the calibration rows."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from calib_core import CALIBRATORS
from calib_core.calibrators import Calibrator, Contract, Profile
from calib_core.registry import NO_REFIT, Range

_PROFILE = Profile("scaling", "Moves every row towards the shares of the classes.", rows=(0, 50, 0))


@CALIBRATORS.register(
    "towards-shares",
    "Towards class shares",
    flags=Contract("full", keeps_argmax=False, sums_to_one=True, exported=False, profile=_PROFILE),
)
@dataclass(eq=False, repr=False)
class TowardsShares(Calibrator):
    """Mixes every row with the shares of the classes among the calibration rows."""

    amount: Annotated[float, Range(0, 1), NO_REFIT, "how much of the shares"] = 0.1

    def _fit(self, predictions, progress):
        counts = np.bincount(predictions.true_labels, predictions.weights, predictions.n_classes)
        self.shares_ = counts / counts.sum()

    def _apply(self, predictions, progress):
        mixed = (1 - self.amount) * predictions.probs + self.amount * self.shares_
        return predictions.with_probs(mixed.astype(predictions.probs.dtype))
