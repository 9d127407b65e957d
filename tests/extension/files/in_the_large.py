"""Calibration in the large: mean score against share that came true."""

from dataclasses import dataclass

import numpy as np

from calib_core import ESTIMATORS
from calib_core.estimators import by_stratum


@ESTIMATORS.register("in-the-large", "Error in the large", reference="Van Calster et al. 2016")
@dataclass(frozen=True)
class InTheLarge:
    """The distance between the mean score and the share that came true, whatever the bins."""

    def __call__(self, claims):
        return by_stratum(claims, [self.gap(claims.stratum(s).counted()) for s in range(len(claims.strata))])

    @staticmethod
    def gap(stratum):
        if not len(stratum.scores):
            return np.nan
        return abs(np.average(stratum.scores.astype(float) - stratum.outcomes, weights=stratum.weights))
