"""The reliability diagram: confidence stars, top-label plusses and row-share bars (P1 Fig. 1a)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pandas as pd

from calib_core._base.arrays import Bools, Codes, Float64s
from calib_core._base.diagram import Diagram
from calib_core.binning import risk_bins
from calib_core.binning.base import BinningScheme, as_binning
from calib_core.binning.bin_table import BinTable, tabulate, tabulate_at
from calib_core.binning.interval_schemes import Edges
from calib_core.diagrams.validity import validity_tables
from calib_core.estimators.base import claimed_rows, notion_looked_at
from calib_core.estimators.debiased import worth
from calib_core.inference.significance.class_differences import class_differences
from calib_core.predictions.predictions import Predictions
from calib_core.predictions.validation import whole
from calib_core.reductions.top import Confidence, TopLabel

FEW_ROWS = 10
"""Marks of bins with fewer rows than this are hollow, and pooled: their position is mostly chance."""
OF_CLASSES = ("class_difference", "class_edge", "class_p", "null_low", "null_high")
"""Numbers of a bin on the differences between its classes."""


@dataclass(frozen=True, eq=False, repr=False)
class ReliabilityDiagram(Diagram):
    """Bars, stars and plusses of each bin of the confidence; arrays are (bins,), NaN where a bin is empty.

    ``share`` of rows, star (``confidence``, ``accuracy``), and plus (``confidence``, ``top_label``) with ``top_label``
    = confidence +- ``delta``. ``delta`` is the mean over predicted classes of |accuracy - confidence| of the class in
    the bin, weighted by share of the bin's rows. Without classes ``delta`` is NaN. ``class_difference`` is the same
    mean of the distances from the bin's own error. ``class_edge`` is how large noise makes it where classes do not
    differ, ``class_p`` its p-value; both are corrected for the number of bins (``class_differences``). ``null_low`` to
    ``null_high`` is the range of ``delta`` there, and ``class_p_joint`` the p-value of all bins together. All six are
    NaN in bins that are not tested. ``members`` (n,) is each row's bin, -1 for none, where bins are those of other
    predictions of the same rows. ``lower`` and ``upper`` are then the smallest and the largest score in it. None: bins
    are intervals of the confidence.
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
    class_difference: Float64s
    class_edge: Float64s
    class_p: Float64s
    null_low: Float64s
    null_high: Float64s
    members: Codes | None = None
    class_p_joint: float = float("nan")

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
        if self.members is not None:
            return np.asarray(np.flatnonzero(self.members == b), dtype=np.intp)
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
            **{name: getattr(self, name) for name in OF_CLASSES},
        }
        return pd.DataFrame(columns)[self.count > 0].reset_index(drop=True)

    def marks(self) -> pd.DataFrame:
        """One line per mark: the rows of its bins, from ``bin`` to ``last`` (``pooled_marks``)."""
        return pooled_marks(self.frame()[["bin", "lower", "upper", "count", "confidence", "accuracy"]])


def pooled_marks(frame: pd.DataFrame) -> pd.DataFrame:
    """Marks of a diagram, from the lines of its non-empty bins: neighboring bins of few rows share one.

    Bins of fewer than ten rows are joined with the next such ones until they have ten. What is left of such a run joins
    the mark before it, or is a mark with fewer rows. All other bins are marks of their own. Outcomes have no influence
    on this. ``last`` is the last bin of a mark; ``confidence`` and ``accuracy`` are means over its rows.

    >>> frame = pd.DataFrame({"bin": range(9), "count": [3, 5, 1, 4, 7, 9, 149, 2, 30], "accuracy": [1.0] * 9})
    >>> pooled_marks(frame)[["bin", "last", "count"]].values.T.tolist()
    [[0, 4, 6, 7, 8], [3, 5, 6, 7, 8], [13, 16, 149, 2, 30]]
    """
    count = frame["count"].to_numpy()
    if not len(count):
        return frame.assign(last=frame["bin"])
    starts = _mark_starts(count)
    last = np.append(starts[1:], len(count)) - 1
    marks = frame.iloc[starts].reset_index(drop=True)
    marks.insert(1, "last", frame["bin"].to_numpy()[last])
    if "upper" in frame:
        marks["upper"] = frame["upper"].to_numpy()[last]
    pooled = starts != last
    rows = np.add.reduceat(count, starts)
    for name in {"confidence", "accuracy"} & set(frame):
        sums = np.add.reduceat(count * frame[name].to_numpy(), starts)
        marks[name] = np.where(pooled, sums / rows, marks[name])
    return marks.assign(count=rows)


def is_pooled(marks: pd.DataFrame) -> Bools:
    """Mask of marks for several bins, among those of ``pooled_marks``."""
    return (marks["bin"] != marks["last"]).to_numpy()


def is_hollow(marks: pd.DataFrame) -> Bools:
    """Mask of hollow marks: they are of bins with few rows."""
    return is_pooled(marks) | (marks["count"] < FEW_ROWS).to_numpy()


def _mark_starts(count: Float64s) -> Codes:
    """Positions of the first bins of marks."""
    thin, starts = count < FEW_ROWS, list[int]()
    for run in np.split(np.arange(len(count)), np.flatnonzero(np.diff(thin)) + 1):
        if not thin[run[0]]:
            starts += run.tolist()
            continue
        of_run, rows = [int(run[0])], 0.0
        for b in run.tolist():
            if rows >= FEW_ROWS:
                of_run.append(b)
                rows = 0.0
            rows += count[b]
        starts += of_run[:-1] if rows < FEW_ROWS and len(of_run) > 1 else of_run
    return np.asarray(starts, dtype=np.intp)


def reliability(
    predictions: Predictions,
    bins: int | str | Sequence[float] | BinningScheme | None = None,
    grouped_by: Predictions | None = None,
    notion: str | None = None,
) -> ReliabilityDiagram:
    """Reliability diagram: what was predicted and how often it happened, in bins of the prediction.

    With two classes, predictions are the risk of the event. Otherwise they are confidences, and each bin also shows the
    error of its single predicted classes (top-label).

    ``bins`` is a number of equal-width bins, a key of BINNINGS, a list of edges or a scheme. None draws 15 bins of
    equal width, whatever the outputs are declared to be. ``grouped_by`` contains a recalibrated model's predictions of
    the same rows and defines the bins, one per value where they are discrete. A bin contains the rows with their
    recalibrated confidence in it, so that base and recalibrated model are judged on the same rows. NotAnswerable where
    they predict different classes. Rows in groups have no test of differences between classes. With ``notion`` "event"
    bins are of the predicted risk of the event of two classes, without ``bins`` those of ``binning.risk_bins``.
    ``confidence`` is its mean in a bin, ``accuracy`` the frequency of the event, and there are no plusses. None: that
    for two classes. What can mislead: a star on the diagonal only means that the classes' errors cancel; its plus shows
    how large they are. A bin of few rows is mostly noise. So is its plus: classes of few rows are off by chance, and
    ``class_differences`` tells how far.

    References: P1 §2.1, Fig. 1a and App. F.

    >>> p = Predictions.from_confidence([0.6, 0.6], predicted=[0, 1], labels=[1, 1])
    >>> reliability(p, bins=5).frame()[["confidence", "accuracy", "top_label"]].values.round(3).tolist()
    [[0.6, 0.5, 0.1]]
    """
    of_event = (notion or notion_looked_at(predictions)) == "event"
    predictions = claimed_rows(predictions, notion)
    grouped_by = None if grouped_by is None else claimed_rows(grouped_by, notion)
    if grouped_by is not None:
        return _of_groups(predictions, grouped_by, None if bins is None else as_binning(bins))
    claims = Confidence().split(predictions)
    overall = tabulate(claims, [risk_bins(claims, bins) if of_event else as_binning(bins)])[0]
    if predictions.kind == "confidence":
        return _diagram(overall)
    of_classes = TopLabel().split(predictions)
    by_class = tabulate_at(of_classes, overall.lower[0, 1:])
    grouped = predictions.row_groups is not None
    return _diagram(overall, by_class, None if grouped else worth(of_classes, by_class))


def _of_groups(
    predictions: Predictions, grouped_by: Predictions, bins: int | str | BinningScheme | None
) -> ReliabilityDiagram:
    """The same in groups of rows: those that lie in one bin of the other predictions' confidence."""
    was, now = validity_tables(predictions, grouped_by, Confidence(), bins)
    edges = now.lower[0, 1:]
    codes = np.searchsorted(edges.astype(grouped_by.confidence.dtype), grouped_by.confidence, side="right")
    if grouped_by.abstained is not None:
        codes[grouped_by.abstained] = -1
    alike = Edges((-np.inf, *edges.tolist(), np.inf))
    classes = "confidence" not in (predictions.kind, grouped_by.kind)
    by_class = validity_tables(predictions, grouped_by, TopLabel(), alike)[0] if classes else None
    tested = by_class is not None and predictions.row_groups is None and whole(predictions.weights)
    diagram = _diagram(was, by_class, by_class.count if by_class is not None and tested else None)
    return replace(diagram, members=np.asarray(codes, dtype=np.intp))


def _diagram(overall: BinTable, by_class: BinTable | None = None, rows: Float64s | None = None) -> ReliabilityDiagram:
    """The diagram of the bins of all rows, and of the same bins class by class, where classes are known.

    ``rows`` are the effective sample sizes of the latter; None: differences between classes are not tested.
    """
    bins = overall.count.shape[1]
    delta, found = np.full(bins, np.nan), None
    if by_class is not None:
        # The mean over predicted classes of |accuracy - confidence| within each bin, weighted by share of its rows.
        total = by_class.count.sum(axis=0)
        distance = np.abs(by_class.tally.outcome - by_class.tally.score).sum(axis=0)
        np.divide(distance, total, out=delta, where=total > 0)
        if rows is not None:
            found = class_differences(by_class.count, by_class.tally.score, by_class.tally.outcome, rows)
    difference, edge, p, low, high = (
        (np.full(bins, np.nan) for _ in OF_CLASSES)
        if found is None
        else (found.difference, found.edge, found.p, found.low, found.high)
    )
    return ReliabilityDiagram(
        overall.lower[0],
        overall.upper[0],
        overall.count[0],
        overall.weight[0],
        overall.mean_score[0],
        overall.mean_outcome[0],
        delta,
        difference,
        edge,
        p,
        low,
        high,
        class_p_joint=float("nan") if found is None else found.p_joint,
    )
