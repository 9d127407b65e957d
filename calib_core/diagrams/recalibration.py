"""Recalibration diagrams: mean prediction and target (calibration frequencies) of each cell of the simplex.

Before and after: reliability diagrams of a model and of the same one recalibrated, or at every temperature.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import expit

from calib_core._base.arrays import Bools, Codes, Float64s, Floats
from calib_core._base.diagram import Diagram
from calib_core._base.errors import InputError
from calib_core._base.parallel import chunks, shared_out
from calib_core.binning import risk_bins
from calib_core.binning.base import BINNINGS, BinningScheme, SimplexScheme, as_binning, as_intervals, as_simplex, cuts
from calib_core.binning.bin_table import BinTable, tabulate
from calib_core.binning.simplex.cell_table import partition, simplex_points, simplex_table, vector_sums
from calib_core.calibrators.fitting.softmax_loss import LogRows
from calib_core.calibrators.simplex_binning import SimplexBinning
from calib_core.claims.binary_claims import Claims
from calib_core.defaults import ALPHA
from calib_core.diagrams.reliability import ReliabilityDiagram, reliability
from calib_core.diagrams.validity import ValidityPair, steps
from calib_core.estimators.base import claimed_rows, notion_looked_at
from calib_core.guarantees.bounds import cell_eps
from calib_core.predictions.predictions import NotAnswerable, Predictions
from calib_core.reductions.base import Canonical
from calib_core.reductions.top import Confidence


@dataclass(frozen=True, eq=False, repr=False)
class RecalibrationDiagram(Diagram):
    """Test predictions by cell, and an arrow per cell from their mean to the class frequencies of calibration rows.

    ``points`` (n, K) are the test predictions. ``cells`` (n,) is the position of each one's cell among the B non-empty
    cells; ``places`` describe the positions of these in words. Per cell: ``count`` test rows, ``fit_count`` calibration
    rows, ``mean`` (B, K) the arrow's tail, ``target`` (B, K) its head (uniform without calibration rows). ``bound`` is
    the largest distance of the head from the truth, as a sum of absolute differences, with probability 1 - ``alpha``
    for this one cell. It is 2 where nothing is known, and NaN where no bound is valid (weighted rows, rows tied on a
    plane). ``outlines`` are the cells' polygons of barycentric vertices (m, 3), ``all_outlines`` those of all cells;
    both are empty unless K = 3.
    """

    title: str
    class_names: tuple[str, ...]
    points: Floats
    cells: Codes
    places: tuple[str, ...]
    count: Float64s
    fit_count: Float64s
    mean: Float64s
    target: Float64s
    bound: Float64s
    alpha: float
    outlines: tuple[tuple[Float64s, ...], ...]
    all_outlines: tuple[tuple[Float64s, ...], ...]
    positions: Codes

    def rows(self, b: int) -> Codes:
        """Positions of the rows of the test predictions that lie in cell b."""
        return np.asarray(self.positions[self.cells == b])

    def frame(self) -> pd.DataFrame:
        """One line per cell, exactly the numbers drawn: its place and its rows, both ends of its arrow and its length.

        ``length`` is the sum over classes of |target - mean|, in [0, 2], the norm that ``bound`` is in.
        """
        ends = {"mean": self.mean, "target": self.target}
        named = {
            f"{end} {name}": values[:, j] for end, values in ends.items() for j, name in enumerate(self.class_names)
        }
        counts = {"count": self.count, "fit_count": self.fit_count}
        length = np.abs(self.target - self.mean).sum(axis=1)
        cells = {"cell": np.arange(len(self.count)), "place": list(self.places)}
        return pd.DataFrame({**cells, **counts, "length": length, **named, "bound": self.bound})

    def holding(self, min_rows: int) -> Bools:
        """Cells with at least ``min_rows`` test and calibration rows: only their arrows are drawn."""
        return np.asarray(np.minimum(self.count, self.fit_count) >= min_rows)


def recalibration(
    scheme: str | SimplexScheme, fit: Predictions, test: Predictions, alpha: float = ALPHA
) -> RecalibrationDiagram:
    """Recalibration diagram of these cells: fitted on ``fit``, shown on ``test``.

    ``scheme`` is a key of BINNINGS or a partition of the simplex. Rows on which the model abstains, and rows of weight
    0, are left out. What can mislead: the arrow of a cell with few calibration rows is mostly noise; see its bound.

    References: P1 Appendix G.4 and Fig. 12 (right).

    >>> fit = Predictions([[0.8, 0.1, 0.1], [0.6, 0.2, 0.2]], [0, 1])
    >>> moved = recalibration("sierpinski", fit, Predictions([[0.7, 0.2, 0.1]], [0]))
    >>> moved.mean.round(2).tolist(), moved.target.round(2).tolist()
    ([[0.7, 0.2, 0.1]], [[0.0, 1.0, 0.0]])
    """
    chosen = as_simplex(scheme)
    calibrator = SimplexBinning(chosen).fit_on(fit)
    cells = calibrator.partition
    kept = _counts(test)
    shown = test if kept.all() else test.take(np.flatnonzero(kept))
    names = shown.class_names or ()
    table = simplex_table(Canonical().split(shown), chosen, cells)
    target, fit_count = calibrator.of_cells(table.cells)
    outlines = cells.outlines()
    return RecalibrationDiagram(
        title=BINNINGS.recipe(chosen).title,
        class_names=names,
        points=shown.probs,
        cells=table.codes,
        places=tuple(cells.title(int(cell), names) for cell in table.cells),
        count=table.count,
        fit_count=fit_count,
        mean=table.mean,
        target=target,
        bound=_bounds(fit_count, len(names), alpha, not calibrator.unproven()),
        alpha=alpha,
        outlines=tuple(outlines[cell] for cell in table.cells) if outlines else (),
        all_outlines=outlines,
        positions=np.flatnonzero(kept),
    )


def cell_rows(diagram: RecalibrationDiagram, cell: int) -> Codes:
    """Positions of the rows of the test predictions that lie in one cell of the diagram.

    ``cell`` is its position among the cells with rows, as in the diagram's frame; NotAnswerable where there is none.

    >>> rows = Predictions([[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.8, 0.1, 0.1]], [0, 1, 1])
    >>> cell_rows(recalibration("sierpinski", rows, rows), 0).tolist()
    [0, 2]
    """
    cells = len(diagram.count)
    if not 0 <= cell < cells:
        raise NotAnswerable(f"there is no cell {cell} here: those with rows are numbered 0 to {cells - 1}")
    return diagram.rows(cell)


def validity_by_cell(scheme: str | SimplexScheme, fit: Predictions, test: Predictions) -> ValidityPair:
    """V(eps) of a model and of the model recalibrated cell by cell on ``fit``, on the same cells of ``test``.

    Result of ``canonical_validity`` for the recalibration in the diagram of these cells (``recalibration``). What can
    mislead: the cells that are judged are those that were changed, so that errors inside them stay unseen.

    References: P1 Appendix G.4 and Fig. 12 (left).

    >>> fit = Predictions([[0.9, 0.1]] * 4, [0, 0, 0, 1])
    >>> validity_by_cell("sierpinski", fit, fit).after.eps.tolist()
    [0.0]
    """
    chosen = as_simplex(scheme)
    after = SimplexBinning(chosen).fit_on(fit).apply(test)
    return canonical_validity(test, after, chosen, fit)


def canonical_validity(
    before: Predictions, after: Predictions, scheme: str | SimplexScheme, fit: Predictions | None = None
) -> ValidityPair:
    """V(eps) = P(||E[Y | cell] - mean prediction||_1 <= eps) of the base and the recalibrated model on the same cells.

    Rows are grouped by the cells that contain ``before``, placed on ``fit`` where given (as the calibrator's were),
    else on ``before`` itself. In each group both models' mean vectors are compared with the frequencies of the classes;
    V weights groups by their rows. The norm is in [0, 2]. What can mislead: the curve is about cells, and noise in
    cells of few rows moves it to the right.

    References: P1 Appendix G.4 and Fig. 12 (left).

    >>> base, better = Predictions([[0.9, 0.1]] * 4, [0, 0, 0, 1]), Predictions([[0.75, 0.25]] * 4, [0, 0, 0, 1])
    >>> pair = canonical_validity(base, better, "sierpinski")
    >>> pair.before.eps.round(2).tolist(), pair.after.eps.tolist()
    ([0.3], [0.0])
    """
    if before.n_rows != after.n_rows or not np.array_equal(before.true_labels, after.true_labels):
        raise NotAnswerable("the two models must have the same rows; their labels differ")
    kept = np.flatnonzero(_counts(before) & _counts(after))
    old, new = (simplex_points(Canonical().split(model.take(kept))) for model in (before, after))
    chosen = as_simplex(scheme)
    placed = old if fit is None else simplex_points(Canonical().split(fit.answered))
    cells = partition(chosen, placed.rows, placed.weights)
    was = simplex_table(old, chosen, cells)
    now = vector_sums(new, was.codes, len(was.count)) / was.count[:, None]
    gaps = [np.abs(was.frequency - mean).sum(axis=1) for mean in (was.mean, now)]
    return ValidityPair(steps(gaps[0], was.weight, distance=True), steps(gaps[1], was.weight, distance=True))


def _counts(predictions: Predictions) -> Bools:
    """Mask of the answered rows with a weight above 0."""
    kept = np.ones(predictions.n_rows, dtype=bool)
    if predictions.abstained is not None:
        kept &= ~predictions.abstained
    if predictions.weights is not None:
        kept &= predictions.weights > 0
    if not kept.any():
        raise NotAnswerable("the model abstains on every row with positive weight; there is nothing to draw")
    return kept


def _bounds(rows: Float64s, classes: int, alpha: float, proven: bool) -> Float64s:
    if not proven:
        return np.full(len(rows), np.nan)
    return np.array([cell_eps(int(n), classes, alpha) if n >= 1 else 2.0 for n in rows])


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
        """True if both use the same bins, so that each mark has a counterpart."""
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
    notion: str | None = None,
) -> Movement:
    """Reliability diagrams of a model before and after recalibration, each over the rows it answers.

    ``bins`` is a number of equal-width bins, a key of BINNINGS or a scheme. None draws 15 bins of equal width, whatever
    the outputs are declared to be, so that both models share their bins. What can mislead: rows change bins, so that a
    mark and its counterpart are not of the same rows.

    With ``notion`` "event" marks are of the predicted risk of the event of two classes. A mark and its counterpart are
    then of the same rows, with their mean risk before and after. They are those of one bin of the risk before
    recalibration (``binning.risk_bins`` without ``bins``). The observed frequency of a bin stays where no row is left
    out.

    References: P1 §2.1 for the marks.

    >>> base = Predictions.from_confidence([0.9, 0.9, 0.9, 0.9], [True, True, True, False])
    >>> better = Predictions.from_confidence([0.85] * 4, [True, True, True, False])
    >>> movement(base, better, 5).steps(1).values.round(2).tolist()
    [[4.0, 0.9, 0.75, 0.85, 0.75]]
    """
    if (notion or notion_looked_at(before)) != "event":
        return Movement(reliability(before, bins, notion="confidence"), reliability(after, bins, notion="confidence"))
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

    ``count`` is the number of rows and ``confidence_sum`` the sum of their confidences max_k softmax(log p / T)_k.
    ``right`` is the number of correct ones. All are by weight. A star of the reliability diagram is (``confidence_sum``
    / ``count``, ``right`` / ``count``). ``lower`` and ``upper`` (bins,) are the bins' ends, NaN where they depend on
    the temperature, as those of equal mass do.
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
    notion: str | None = None,
) -> TemperaturePath:
    """Positions of the stars of the reliability diagram at 61 temperatures from 1/4 to 8, twelve per factor of two.

    Dividing log-probabilities (or logits, where the predictions contain them) by T never changes the predicted class:
    only confidences move. ``also`` adds temperatures between 1/4 and 8, such as a fitted one. The numbers at T = 1 are
    those of ``reliability`` on the same ``bins``; elsewhere exponentials are taken in float32, right to 1e-5. What can
    mislead: the temperature with the smallest error on these rows was selected on the same rows.

    With ``notion`` "event" marks are of the predicted risk p of the event of two classes, with its log-odds divided by
    T. Marks always represent the rows of one bin at T = 1, as in ``movement``.

    References: Guo et al. 2017.

    >>> path = temperature_path(Predictions([[0.75, 0.25]] * 4, [0, 0, 0, 1]))
    >>> len(path.temperatures), path.error[path.temperatures == 1.0].tolist()
    (61, [0.0])
    """
    if predictions.kind != "full":
        raise NotAnswerable("a temperature needs the probabilities of all classes; these predictions contain fewer")
    scheme = as_intervals(as_binning(bins))
    if cuts(scheme).one_a_value:
        raise NotAnswerable("bins with one value each cannot show movement; use bins of equal width")
    extra = np.array(sorted({float(t) for t in also}), dtype=np.float64)
    grid = _SOFTEST / 2 ** (np.arange(_HALVINGS * _STEPS + 1) / _STEPS)
    if not ((extra >= grid[-1]) & (extra <= _SOFTEST)).all():
        raise InputError(f"also is {tuple(also)}; temperatures must be between {grid[-1]} and {_SOFTEST}")
    predictions = predictions.answered
    extra = extra[~np.isin(extra, grid)]
    temperatures = np.concatenate([grid, extra])
    if (notion or notion_looked_at(predictions)) == "event":
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
    """The same claims with other confidences."""
    scores = np.clip(confidences.astype(claims.dtype), claims.floor, 1.0)
    moved: Claims = replace(claims, scores=scores)
    return moved


def _sums(table: BinTable) -> tuple[Float64s, Float64s, Float64s]:
    return table.tally.count[0], table.tally.score[0], table.tally.outcome[0]


def _padded(part: Float64s, n_bins: int) -> Float64s:
    return np.pad(part, (0, n_bins - len(part)))
