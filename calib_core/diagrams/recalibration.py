"""Recalibration diagrams: where each cell of the simplex is and where its calibration rows say it belongs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from calib_core._base.arrays import Bools, Codes, Float64s, Floats
from calib_core.binning.base import BINNINGS, SimplexScheme, as_simplex
from calib_core.binning.simplex.cell_table import partition, simplex_points, simplex_table, vector_sums
from calib_core.calibrators.simplex_binning import SimplexBinning
from calib_core.defaults import ALPHA
from calib_core.diagrams.base import Diagram
from calib_core.diagrams.validity import ValidityPair, steps
from calib_core.guarantees.bounds import cell_eps
from calib_core.predictions.predictions import NotAnswerable, Predictions
from calib_core.reductions.base import Canonical


@dataclass(frozen=True, eq=False, repr=False)
class RecalibrationDiagram(Diagram):
    """Test predictions by cell, and an arrow per cell from their mean to the class frequencies of calibration rows.

    ``points`` (n, K) are the test predictions, ``cells`` (n,) the position of each one's cell among the B cells that
    hold any, ``places`` where those lie, in words. Per cell: ``count`` test rows, ``fit_count`` calibration rows,
    ``mean`` (B, K) the arrow's tail, ``target`` (B, K) its head (uniform without calibration rows), ``bound`` how far
    the head can be from the truth, as a sum of absolute differences, with probability 1 - ``alpha`` for this one cell
    (2: nothing is known; NaN where no bound holds: weighted rows, rows tied on a plane). ``outlines`` are the cells'
    polygons of barycentric vertices (m, 3), ``all_outlines`` those of all cells; both empty unless K = 3.
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
        """The cells that hold ``min_rows`` or more of both test and calibration rows: only their arrows are drawn."""
        return np.asarray(np.minimum(self.count, self.fit_count) >= min_rows)


def recalibration(
    scheme: str | SimplexScheme, fit: Predictions, test: Predictions, alpha: float = ALPHA
) -> RecalibrationDiagram:
    """What canonical calibration by these cells changes: fitted on ``fit``, shown on ``test``.

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

    What ``canonical_validity`` says of the recalibration that the diagram of these cells shows (``recalibration``).
    What can mislead: the cells that are judged are those that were changed, so that errors inside them stay unseen.

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

    Rows are grouped by the cells in which ``before`` lies, placed on ``fit`` where given (as the calibrator's were),
    else on ``before`` itself; in each group both models' mean vectors are compared with the frequencies of the
    classes, and V weighs groups by their rows. The norm is in [0, 2]. What can mislead: the curve speaks of cells, and
    noise in cells of few rows moves it to the right.

    References: P1 Appendix G.4 and Fig. 12 (left).

    >>> base, better = Predictions([[0.9, 0.1]] * 4, [0, 0, 0, 1]), Predictions([[0.75, 0.25]] * 4, [0, 0, 0, 1])
    >>> pair = canonical_validity(base, better, "sierpinski")
    >>> pair.before.eps.round(2).tolist(), pair.after.eps.tolist()
    ([0.3], [0.0])
    """
    if before.n_rows != after.n_rows or not np.array_equal(before.true_labels, after.true_labels):
        raise NotAnswerable("the two models must predict the same rows: their labels differ")
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
    """Which rows the model answers with a weight above 0."""
    kept = np.ones(predictions.n_rows, dtype=bool)
    if predictions.abstained is not None:
        kept &= ~predictions.abstained
    if predictions.weights is not None:
        kept &= predictions.weights > 0
    if not kept.any():
        raise NotAnswerable("the model abstains on every row that counts: there is nothing to draw")
    return kept


def _bounds(rows: Float64s, classes: int, alpha: float, proven: bool) -> Float64s:
    if not proven:
        return np.full(len(rows), np.nan)
    return np.array([cell_eps(int(n), classes, alpha) if n >= 1 else 2.0 for n in rows])
