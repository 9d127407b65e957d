"""The reliability diagram: confidence stars, top-label plusses and row-share bars (P1 Fig. 1a)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pandas as pd

from calib_core._arrays import Codes, Float64s
from calib_core.binning import BinningScheme, as_binning, tabulate, tabulate_at
from calib_core.binning.bin_table import BinTable
from calib_core.diagrams.base import Diagram
from calib_core.predictions import Predictions
from calib_core.reductions import Confidence, TopLabel


@dataclass(frozen=True, eq=False, repr=False)
class ReliabilityDiagram(Diagram):
    """Bars, stars and plusses of each bin of the confidence; arrays are (bins,), NaN where a bin is empty.

    ``share`` of rows, star (``confidence``, ``accuracy``), plus (``confidence``, ``top_label``) with
    ``top_label`` = confidence +- ``delta``; ``delta`` is the mean over predicted classes, weighted by share of the
    bin's rows, of |accuracy - confidence| of the class in the bin. Without classes ``delta`` is NaN.
    """

    formula: ClassVar[str] = (
        r"\bar s_b = \frac{1}{n_b} \sum_{i \in b} s_i \;\mapsto\; \bar z_b = \frac{1}{n_b} \sum_{i \in b} z_i"
    )

    lower: Float64s
    upper: Float64s
    count: Float64s
    share: Float64s
    confidence: Float64s
    accuracy: Float64s
    delta: Float64s

    @property
    def top_label(self) -> Float64s:
        """Height of the plusses: delta away from the diagonal, on the star's side of it."""
        side = np.where(self.accuracy > self.confidence, 1.0, -1.0)
        return np.asarray(self.confidence + side * self.delta)

    @property
    def n_bins(self) -> int:
        return len(self.lower)

    @property
    def worst(self) -> int:
        """The bin that adds most to the top-label error, share x delta; without classes to the error of confidences."""
        distance = np.where(np.isnan(self.delta), np.abs(self.accuracy - self.confidence), self.delta)
        return int(np.nanargmax(np.where(self.count > 0, self.share * distance, np.nan)))

    def label(self, b: int) -> str:
        """The bin as an interval, closed on the left, the last bin on both sides."""
        return f"[{self.lower[b]:.4g}, {self.upper[b]:.4g}" + ("]" if b == self.n_bins - 1 else ")")

    def rows(self, predictions: Predictions, b: int) -> Codes:
        """Positions of the rows of these predictions that lie in bin b."""
        edges = self.lower[1:].astype(predictions.confidence.dtype)
        codes = np.searchsorted(edges, predictions.confidence, side="right")
        if predictions.abstained is not None:
            codes[predictions.abstained] = -1
        return np.asarray(np.flatnonzero(codes == b), dtype=np.intp)

    def frame(self) -> pd.DataFrame:
        """One line per non-empty bin, exactly the numbers drawn."""
        columns = {
            "bin": np.arange(self.n_bins),
            "lower": self.lower,
            "upper": self.upper,
            "count": self.count,
            "share": self.share,
            "confidence": self.confidence,
            "accuracy": self.accuracy,
            "delta": self.delta,
            "top_label": self.top_label,
        }
        return pd.DataFrame(columns)[self.count > 0].reset_index(drop=True)


def reliability(predictions: Predictions, bins: int | str | BinningScheme | None = None) -> ReliabilityDiagram:
    """Confidence and top-label reliability diagram on the same bins of the confidence.

    ``bins`` is a number of equal-width bins, a key of BINNINGS or a scheme; None draws 15 of equal width, whatever the
    outputs are declared to be. What can mislead: a star on the diagonal says only that the classes' errors cancel; its
    plus says how large they are. A bin of few rows is mostly noise.

    References: P1 §2.1 and Fig. 1a.

    >>> p = Predictions.from_confidence([0.6, 0.6], predicted=[0, 1], labels=[1, 1])
    >>> reliability(p, bins=5).frame()[["confidence", "accuracy", "top_label"]].values.round(3).tolist()
    [[0.6, 0.5, 0.1]]
    """
    overall = tabulate(Confidence().split(predictions), [as_binning(bins)])[0]
    lower, upper = overall.lower[0], overall.upper[0]
    return ReliabilityDiagram(
        lower,
        upper,
        overall.count[0],
        overall.weight[0],
        overall.mean_score[0],
        overall.mean_outcome[0],
        _delta(predictions, lower[1:]) if predictions.kind != "confidence" else np.full(len(lower), np.nan),
    )


def _delta(predictions: Predictions, edges: Float64s) -> Float64s:
    """Mean over predicted classes of |accuracy - confidence| within each bin, weighted by share of its rows."""
    by_class: BinTable = tabulate_at(TopLabel().split(predictions), edges)
    rows = by_class.count.sum(axis=0)
    distance = np.abs(by_class.tally.outcome - by_class.tally.score).sum(axis=0)
    return np.asarray(np.divide(distance, rows, out=np.full(len(rows), np.nan), where=rows > 0))
