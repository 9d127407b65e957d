"""Before and after: reliability diagrams of a model and of the same one recalibrated, or at every temperature."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import expit

from calib_core._base.arrays import Float64s, Floats
from calib_core._base.errors import InputError, NotAnswerable
from calib_core._base.parallel import chunks, shared_out
from calib_core.binning import risk_bins
from calib_core.binning.base import BinningScheme, as_binning, as_intervals, cuts
from calib_core.binning.bin_table import BinTable, tabulate
from calib_core.calibrators.fitting.softmax_loss import LogRows
from calib_core.claims.binary_claims import Claims
from calib_core.diagrams.base import Diagram
from calib_core.diagrams.reliability import ReliabilityDiagram, reliability
from calib_core.estimators.base import claimed_rows
from calib_core.predictions.predictions import Predictions
from calib_core.reductions.top import Confidence


@dataclass(frozen=True, eq=False, repr=False)
class Movement(Diagram):
    """Two reliability diagrams, ``before`` and ``after`` recalibration, and where each of their bins went.

    ``notion`` is "confidence", or "event" where both are about the predicted risk of an event.
    """

    before: ReliabilityDiagram
    after: ReliabilityDiagram
    notion: str = "confidence"

    @property
    def same_bins(self) -> bool:
        """Whether both are in the same bins, so that a mark of one has its counterpart in the other."""
        return np.array_equal(self.before.lower, self.after.lower) and np.array_equal(
            self.before.upper, self.after.upper
        )

    def frame(self) -> pd.DataFrame:
        """One line per mark: "before" or "after", and the numbers of its bin; of an event ``risk`` and ``observed``."""
        parts = {"before": self.before.frame(), "after": self.after.frame()}
        every = pd.concat([frame.assign(stage=stage) for stage, frame in parts.items()], ignore_index=True)[
            ["stage", "bin", "lower", "upper", "count", "share", "confidence", "accuracy"]
        ]
        of_event = self.notion == "event"
        return every.rename(columns={"confidence": "risk", "accuracy": "observed"}) if of_event else every

    def steps(self, fewest: int) -> pd.DataFrame:
        """Bins with ``fewest`` rows or more in both: from where to where their marks went; none in different bins.

        Columns bin, confidence, accuracy, and the same with ``_after``.
        """
        frames = (diagram.frame() for diagram in (self.before, self.after))
        old, new = (f.loc[f["count"] >= fewest, ["bin", "confidence", "accuracy"]] for f in frames)
        moved = old.merge(new, on="bin", suffixes=("", "_after"))
        return moved if self.same_bins else moved.iloc[:0]


def movement(
    before: Predictions,
    after: Predictions,
    bins: int | str | BinningScheme | None = None,
    notion: str = "confidence",
) -> Movement:
    """The reliability diagram of a model beside that of the recalibrated model, each over the rows it answers.

    ``bins`` is a number of equal-width bins, a key of BINNINGS or a scheme; None draws 15 of equal width, whatever the
    outputs are declared to be, so that both share their bins. What can mislead: rows change bins, so that a mark and
    its counterpart are not of the same rows.

    With ``notion`` "event" marks are of the predicted risk of the event of two classes, and a mark and its counterpart
    are of the same rows: those of one bin of the risk before recalibration (``binning.risk_bins`` without ``bins``),
    with their mean risk before and after. The observed frequency of a bin stays where no row is left out.

    References: P1 §2.1 for the marks.

    >>> base = Predictions.from_confidence([0.9, 0.9, 0.9, 0.9], [True, True, True, False])
    >>> better = Predictions.from_confidence([0.85] * 4, [True, True, True, False])
    >>> movement(base, better, 5).steps(1).values.round(2).tolist()
    [[4.0, 0.9, 0.75, 0.85, 0.75]]
    """
    if notion != "event":
        return Movement(reliability(before, bins), reliability(after, bins))
    if after.abstained is not None:
        answered = np.flatnonzero(~after.abstained)
        before, after = before.take(answered), after.take(answered)
    scheme = risk_bins(Confidence().split(claimed_rows(before, "event")), bins)
    was = reliability(before, scheme, notion="event")
    now = reliability(after, scheme, grouped_by=before, notion="event")
    return Movement(was, replace(now, lower=was.lower, upper=was.upper), "event")


_SOFTEST = 8.0
_STEPS = 12
"""Temperatures to a factor of two."""
_HALVINGS = 5
_CHUNK_ROWS = 2048
_BLOCK_BYTES = 1 << 21
"""A block of rows and its exponentials stay in a processor's cache over all temperatures."""


@dataclass(frozen=True, eq=False, repr=False)
class TemperaturePath(Diagram):
    """Sums of every bin of the confidence at every temperature T: arrays are (temperatures, bins).

    ``count`` rows, the sum of their confidences max_k softmax(log p / T)_k, and how many of them are ``right``, each by
    weight; a star of the reliability diagram is (``confidence_sum`` / ``count``, ``right`` / ``count``). ``lower`` and
    ``upper`` (bins,) are the bins' ends, NaN where they depend on the temperature, as bins of equal mass do.
    """

    temperatures: Float64s
    lower: Float64s
    upper: Float64s
    count: Float64s
    confidence_sum: Float64s
    right: Float64s

    @property
    def n_bins(self) -> int:
        return int(self.count.shape[1])

    @property
    def error(self) -> Float64s:
        """The confidence ECE on these bins at every temperature: sum over bins of |right - confidence_sum| / rows."""
        return np.asarray(np.abs(self.right - self.confidence_sum).sum(axis=1) / self.count.sum(axis=1))

    def frame(self) -> pd.DataFrame:
        """One line per temperature and bin that has rows, exactly the numbers drawn."""
        t, b = np.nonzero(self.count > 0)
        count = self.count[t, b]
        columns = {
            "temperature": self.temperatures[t],
            "bin": b,
            "count": count,
            "confidence": self.confidence_sum[t, b] / count,
            "accuracy": self.right[t, b] / count,
            "error": self.error[t],
        }
        return pd.DataFrame(columns)


def temperature_path(
    predictions: Predictions,
    bins: int | str | BinningScheme | None = None,
    also: Sequence[float] = (),
    notion: str = "confidence",
) -> TemperaturePath:
    """Where the stars of the reliability diagram stand at 61 temperatures from 1/4 to 8, twelve to a factor of two.

    Dividing log-probabilities (or logits, where the predictions carry them) by T never changes the predicted class:
    only confidences move. ``also`` adds temperatures between 1/4 and 8, such as a fitted one. The numbers at T = 1 are
    those of ``reliability`` on the same ``bins``; elsewhere exponentials are taken in float32, right to 1e-5. What can
    mislead: the temperature with the smallest error on these rows was not known before they were looked at.

    With ``notion`` "event" marks are of the predicted risk p of the event of two classes: its log-odds are divided by
    T, and a mark stays that of the rows of one bin at T = 1, as in ``movement``.

    References: Guo et al. 2017.

    >>> path = temperature_path(Predictions([[0.75, 0.25]] * 4, [0, 0, 0, 1]))
    >>> len(path.temperatures), path.error[path.temperatures == 1.0].tolist()
    (61, [0.0])
    """
    if predictions.kind != "full":
        raise NotAnswerable("a temperature needs the probabilities of all classes: these predictions hold fewer")
    scheme = as_intervals(as_binning(bins))
    if cuts(scheme).one_a_value:
        raise NotAnswerable("bins of one value each have no stars that could move: choose bins of equal width")
    extra = np.array(sorted({float(t) for t in also}), dtype=np.float64)
    grid = _SOFTEST / 2 ** (np.arange(_HALVINGS * _STEPS + 1) / _STEPS)
    if not ((extra >= grid[-1]) & (extra <= _SOFTEST)).all():
        raise InputError(f"also is {tuple(also)}; temperatures must lie between {grid[-1]} and {_SOFTEST}")
    predictions = predictions.answered
    extra = extra[~np.isin(extra, grid)]
    temperatures = np.concatenate([grid, extra])
    if notion == "event":
        return _of_risks(predictions, bins, np.sort(temperatures))
    confidences = _confidences(predictions, extra)
    claims = Confidence().split(predictions)

    def table(j: int) -> BinTable:
        # The page's own confidences where nothing is divided, so that its numbers are met to the last digit.
        return tabulate(claims if temperatures[j] == 1.0 else _with(claims, confidences[j]), [scheme])[0]

    order = np.argsort(temperatures)
    tables = list(shared_out(table, order.tolist()))
    fixed, n_bins = scheme.fixed_edges(), max(table.count.shape[1] for table in tables)
    ends = np.full(n_bins + 1, np.nan) if fixed is None else np.concatenate([[0.0], fixed, [1.0]])
    sums = [[_padded(part, n_bins) for part in _sums(table)] for table in tables]
    count, confidence, right = (np.array([row[i] for row in sums]) for i in range(3))
    return TemperaturePath(temperatures[order], ends[:-1], ends[1:], count, confidence, right)


def _of_risks(
    predictions: Predictions, bins: int | str | BinningScheme | None, temperatures: Float64s
) -> TemperaturePath:
    """The same of an event's risk, in the bins of the risk at T = 1: only the mean risk of a bin depends on T."""
    rows = claimed_rows(predictions, "event")
    claims = Confidence().split(rows)
    diagram = reliability(predictions, risk_bins(claims, bins), notion="event")
    cell = np.searchsorted(diagram.lower[1:].astype(rows.confidence.dtype), rows.confidence, side="right")
    weights = np.ones(rows.n_rows) if rows.weights is None else rows.weights.astype(np.float64)
    risk = rows.confidence.astype(np.float64)

    def summed(values: Float64s) -> Float64s:
        return np.asarray(np.bincount(cell, weights * values, diagram.n_bins), dtype=np.float64)

    with np.errstate(divide="ignore"):
        odds = np.log(risk) - np.log1p(-risk)
    risks = [summed(risk if t == 1 else expit(odds / t)) for t in temperatures]
    counted = np.ones_like(risk), rows.correct.astype(np.float64)
    count, right = (np.tile(summed(values), (len(risks), 1)) for values in counted)
    return TemperaturePath(temperatures, diagram.lower, diagram.upper, count, np.array(risks), right)


def _confidences(predictions: Predictions, extra: Float64s) -> Floats:
    """The largest probability of every row at every temperature of the grid, then at the extra ones, float32.

    exp(z / T)^2 = exp(z / (T / 2)): only the temperatures between 4 and 8 cost an exponential, the rest are squares.
    """
    logs = LogRows.best(predictions)
    n, n_grid = predictions.n_rows, _HALVINGS * _STEPS + 1
    out = np.empty((n_grid + len(extra), n), dtype=np.float32)

    def work(chunk: slice) -> None:
        for where, z in logs.part(chunk).blocks(_BLOCK_BYTES):
            rows = slice(chunk.start + where.start, chunk.start + where.stop)
            z -= z.max(axis=1, keepdims=True)
            scores = z.astype(np.float32, copy=False)
            powers = np.empty_like(scores)
            for first in range(_STEPS):
                np.multiply(scores, np.float32(2 ** (first / _STEPS) / _SOFTEST), out=powers)
                np.exp(powers, out=powers)
                for j in range(first, n_grid, _STEPS):
                    # The largest score is 0, and its exponential 1.
                    np.divide(1.0, powers.sum(axis=1), out=out[j, rows])
                    np.square(powers, out=powers)
            for j, temperature in enumerate(extra):
                out[n_grid + j, rows] = 1.0 / np.exp(scores / np.float32(temperature)).sum(axis=1)

    list(shared_out(work, chunks(n, _CHUNK_ROWS)))
    return out


def _with(claims: Any, confidences: Floats) -> Claims:
    """The same claims, made with other confidences."""
    scores = np.clip(confidences.astype(claims.dtype), claims.floor, 1.0)
    moved: Claims = replace(claims, scores=scores)
    return moved


def _sums(table: BinTable) -> tuple[Float64s, Float64s, Float64s]:
    return table.tally.count[0], table.tally.score[0], table.tally.outcome[0]


def _padded(part: Float64s, n_bins: int) -> Float64s:
    return np.pad(part, (0, n_bins - len(part)))
