"""Temperature scaling of one score's log-odds."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import expit

from calib_core._base.arrays import Bools, Float64s
from calib_core._base.sklearn_api import check_is_fitted
from calib_core.calibrators.base import BINARY_CALIBRATORS
from calib_core.calibrators.insides import Insides
from calib_core.calibrators.scaling_map import SMOOTH, ScalingMap
from calib_core.calibrators.score_maps import LogOddsMap, Map
from calib_core.calibrators.temperature import NOTES, Temperature, of_temperature


@BINARY_CALIBRATORS.register(
    "temperature", "Temperature scaling", reference="Guo et al. 2017", flags=replace(SMOOTH, numbers=1)
)
@dataclass(eq=False, repr=False)
class BinaryTemperature(ScalingMap):
    """Divides a score's log-odds by one number T > 0, which moves every score towards one half or away from it.

    g(s) = sigmoid(log(s / (1 - s)) / T) with T minimising the log loss of the calibration rows: multiclass
    temperature scaling of the two columns (1 - s, s). What can mislead: 1/2 is always sent to 1/2, so on scores that
    are too high or too low throughout, as those of a rare class can be, T repairs little; see Platt scaling.

    ``temperature_`` is T, ``status_`` and ``note`` as for multiclass temperature scaling: with fewer than 10 rows, or
    scores that separate the outcomes at 1/2, T stays 1.

    References: Guo et al. 2017.

    >>> g = BinaryTemperature().fit([0.1] * 5 + [0.9] * 5, [0, 0, 0, 0, 1] + [1, 1, 1, 1, 0])
    >>> g.transform([0.1, 0.5, 0.9]).round(6).tolist()
    [0.2, 0.5, 0.8]
    """

    def insides(self) -> Insides:
        return of_temperature(self.temperature_)

    def _fit_logs(self, yes: Float64s, no: Float64s, outcomes: Bools, weights: Float64s | None) -> None:
        two = Temperature().fit(np.exp(np.column_stack([no, yes])), outcomes.astype(int), weights)
        self.temperature_, self.status_ = two.temperature_, two.status_

    @property
    def note(self) -> str:
        check_is_fitted(self)
        return NOTES.get(self.status_, "")

    def score_map(self) -> Map:
        inverse = 1.0 / float(self.temperature_)
        return LogOddsMap(inverse, inverse, 0.0)

    def _map_logs(self, yes: Float64s, no: Float64s) -> Float64s:
        return expit((yes - no) / self.temperature_)
