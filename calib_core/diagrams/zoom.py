"""The class-wise zoom of one bin of the reliability diagram (P1 Fig. 1b)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from calib_core._arrays import Codes, Float64s
from calib_core.binning import tabulate_at
from calib_core.diagrams.base import Diagram
from calib_core.diagrams.reliability import ReliabilityDiagram
from calib_core.predictions import InputError, Predictions
from calib_core.reductions import TopLabel


@dataclass(frozen=True, eq=False, repr=False)
class BinZoom(Diagram):
    """One bin taken apart by predicted class: arrays are (classes,), for classes predicted in the bin only.

    ``star`` is the bin's (mean confidence, accuracy), ``rows`` the positions of its rows in the predictions.
    """

    label: str
    classes: Codes
    names: tuple[str, ...]
    count: Float64s
    confidence: Float64s
    accuracy: Float64s
    star: tuple[float, float]
    rows: Codes

    @property
    def gap(self) -> Float64s:
        """Accuracy minus confidence: below 0 the class is over-confident."""
        return self.accuracy - self.confidence

    def frame(self) -> pd.DataFrame:
        """One line per class predicted in the bin, exactly the numbers drawn."""
        columns = {
            "class": np.asarray(self.names, dtype=object),
            "count": self.count,
            "confidence": self.confidence,
            "accuracy": self.accuracy,
            "gap": self.gap,
        }
        return pd.DataFrame(columns)


def zoom(predictions: Predictions, diagram: ReliabilityDiagram, b: int) -> BinZoom:
    """Which classes make up bin ``b`` of the diagram of these predictions, and which of them are off.

    What can mislead: a class with three rows in the bin lies anywhere by chance; look at its count first.

    References: P1 §2.1 (c) and Fig. 1b.

    >>> from calib_core.diagrams import reliability
    >>> p = Predictions.from_confidence([0.6, 0.6], predicted=[0, 1], labels=[1, 1])
    >>> zoom(p, reliability(p, bins=5), 3).frame()["gap"].round(3).tolist()
    [-0.6, 0.4]
    """
    if not 0 <= b < diagram.n_bins:
        raise InputError(f"bin {b} does not exist; the diagram's bins are 0..{diagram.n_bins - 1}")
    edges = diagram.lower[1:]
    table = tabulate_at(TopLabel().split(predictions), edges)
    here = np.flatnonzero(table.count[:, b] > 0)
    return BinZoom(
        diagram.label(b),
        here,
        tuple(table.strata[s] for s in here),
        table.count[here, b],
        table.mean_score[here, b],
        table.mean_outcome[here, b],
        (float(diagram.confidence[b]), float(diagram.accuracy[b])),
        diagram.rows(predictions, b),
    )
