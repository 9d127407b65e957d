"""One bin of the reliability diagram taken apart: class by class (P1 Fig. 1b), and row by row."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from calib_core._arrays import Codes, Float64s
from calib_core.binning import tabulate_at
from calib_core.diagrams.base import Diagram
from calib_core.diagrams.reliability import ReliabilityDiagram
from calib_core.lookup import row_table
from calib_core.predictions import InputError, Predictions
from calib_core.reductions import TopLabel


@dataclass(frozen=True, eq=False, repr=False)
class BinZoom(Diagram):
    """One bin taken apart by predicted class: arrays are (classes,), for classes predicted in the bin only.

    Classes that are furthest off stand first. ``star`` is the bin's (mean confidence, accuracy), ``rows`` the positions
    of its rows in the predictions.
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


def zoom(predictions: Predictions, diagram: ReliabilityDiagram, b: int | None = None) -> BinZoom:
    """Which classes make up bin ``b`` of the diagram of these predictions, and which of them are off, furthest first.

    Without ``b``: the bin that adds most to the top-label error.

    What can mislead: a class with three rows in the bin lies anywhere by chance; look at its count first.

    References: P1 §2.1 (c) and Fig. 1b.

    >>> from calib_core.diagrams import reliability
    >>> p = Predictions.from_confidence([0.6, 0.6], predicted=[0, 1], labels=[1, 1])
    >>> zoom(p, reliability(p, bins=5), 3).frame()["gap"].round(3).tolist()
    [-0.6, 0.4]
    """
    b = _bin(diagram, b)
    edges = diagram.lower[1:]
    table = tabulate_at(TopLabel().split(predictions), edges)
    here = np.flatnonzero(table.count[:, b] > 0)
    off = np.abs(table.mean_outcome[here, b] - table.mean_score[here, b])
    here = here[np.argsort(-off, kind="stable")]
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


def bin_rows(
    predictions: Predictions, diagram: ReliabilityDiagram, b: int | None = None, numbers: ArrayLike | None = None
) -> pd.DataFrame:
    """The rows in bin ``b`` of the diagram of these predictions, in their order: what was said of each, what was true.

    Without ``b``: the bin that adds most to the top-label error. ``numbers`` say where the rows stand in their file,
    and the columns are those of ``row_table``. Rows that a model abstains on are in no bin.

    >>> from calib_core.diagrams import reliability
    >>> p = Predictions.from_confidence([0.6, 0.9], [True, False])
    >>> bin_rows(p, reliability(p, bins=5)).values.tolist()
    [[1, 0.9, False]]
    """
    return row_table(predictions, diagram.rows(predictions, _bin(diagram, b)), numbers)


def _bin(diagram: ReliabilityDiagram, b: int | None) -> int:
    if b is None:
        return diagram.worst
    if not 0 <= b < diagram.n_bins:
        raise InputError(f"bin {b} does not exist; the diagram's bins are 0..{diagram.n_bins - 1}")
    return b
