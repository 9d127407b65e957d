"""The second largest probability as a claim."""

from dataclasses import dataclass

import numpy as np

from calib_core import REDUCTIONS
from calib_core.claims import FlatClaims


@REDUCTIONS.register("runner-up", "Runner-up")
@dataclass(frozen=True)
class RunnerUp:
    """Among all rows whose second largest probability is h, a fraction h should be of that class."""

    def split(self, predictions):
        rows = predictions.answered
        classes, probs = rows.top(2)
        one_stratum = np.zeros(rows.n_rows, dtype=np.intp)
        hits = rows.true_labels == classes[:, 1]
        return FlatClaims(probs[:, 1], hits, one_stratum, ("all rows",), np.ones(1), rows.weights)
