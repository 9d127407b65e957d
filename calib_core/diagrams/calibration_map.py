"""Calibration map of three classes: where a calibrator moves the points of the triangle (P3 Fig. 1 and 2)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from calib_core._base.arrays import Float64s
from calib_core._base.diagram import Diagram
from calib_core.binning.simplex.cell_table import simplex_table
from calib_core.calibrators.base import Calibrator
from calib_core.predictions.predictions import InputError, NotAnswerable, Predictions
from calib_core.reductions.base import Canonical
from calib_core.text import percent

ARROWS = 12
"""Arrows along a side of the triangle."""
CELLS = 60
"""Small triangles along a side of the triangle, each with a color of its own."""

_GRID, _ROWS, _STEP = "grid", 30, 0.05
"""Cells, the fewest rows of them, and the steps that `map_scale` goes by."""

_Answer = Callable[[Float64s], Float64s]


@dataclass(frozen=True, eq=False, repr=False)
class CalibrationMap(Diagram):
    """A map of the simplex into itself: what becomes of ``start`` (m, 3) is ``to`` (m, 3), rows in barycentric order.

    ``cells`` is the number of small triangles along a side. ``ground`` (cells^2, 3) is the error at their centers, in
    the order of `small_triangles`, for the colors behind the arrows. Where the calibrator abstains, or returns three
    zeros, ``to`` and ``ground`` are NaN. ``note`` is a remark on the map, or empty.
    """

    title: str
    class_names: tuple[str, ...]
    start: Float64s
    to: Float64s
    ground: Float64s
    cells: int
    note: str = ""

    @property
    def error(self) -> Float64s:
        """to - start (m, 3), each row of sum 0: above 0 the class gets more than the model gave it.

        P3 writes the calibration error as p - c(p), with the other sign.
        """
        return self.to - self.start

    @property
    def largest(self) -> float:
        """The largest change of one class's probability, anywhere: what colors of several maps are scaled to."""
        every = np.abs(np.concatenate([self.ground, self.error]))
        return float(np.nanmax(every)) if np.isfinite(every).any() else 0.0

    def frame(self) -> pd.DataFrame:
        """One line per arrow, exactly the numbers drawn."""
        parts = {"start": self.start, "to": self.to, "error": self.error}
        names = list(enumerate(self.class_names))
        return pd.DataFrame({f"{part} {name}": values[:, j] for part, values in parts.items() for j, name in names})


def calibration_map(
    calibrator: Calibrator,
    lattice: int = ARROWS,
    *,
    cells: int = CELLS,
    title: str = "",
    class_names: Sequence[str] = ("0", "1", "2"),
) -> CalibrationMap:
    """Calibration map of a fitted calibrator over three classes: arrows and colors.

    ``lattice`` arrows per side start at the centers of equally large triangles, lattice (lattice + 1) / 2 in all. None
    starts on an edge, where log-based calibrators only see the floor of the logarithm. Outputs that need not sum to one
    (class-wise calibrators) are divided by their sum, which ``note`` mentions.

    What can mislead: the map is drawn everywhere, but it was learned where the calibration rows lie. NotAnswerable for
    calibrators that return only the predicted class's probability. InputError for another number of classes than 3.

    References: P3 §3 and 4.1, Fig. 1 and 2.

    >>> from calib_core.calibrators import Identity
    >>> same = Identity().fit([[0.2, 0.3, 0.5]], [2])
    >>> calibration_map(same, lattice=1).frame().values.round(2).tolist()
    [[0.33, 0.33, 0.33, 0.33, 0.33, 0.33, 0.0, 0.0, 0.0]]
    """
    if len(calibrator.classes_) != 3:
        k = len(calibrator.classes_)
        raise InputError(f"a calibration map needs three classes; this calibrator was fitted with {k}")
    return _drawn(lambda points: _answer(calibrator, points), lattice, cells, title, class_names)


def true_map(
    truth: Callable[[Float64s], Float64s],
    lattice: int = ARROWS,
    *,
    cells: int = CELLS,
    title: str = "True map",
    class_names: Sequence[str] = ("0", "1", "2"),
) -> CalibrationMap:
    """The map no calibrator can better: where predictions go that become the probabilities their rows really have.

    ``truth`` maps predictions (m, 3) to P(y | prediction) (m, 3), which only generated data can know.

    References: P3 §4.1.1, Fig. 1c and 2d.

    >>> from calib_core.datasets import true_valk_kull
    >>> true_map(true_valk_kull, lattice=1).to.round(2).tolist()
    [[0.38, 0.32, 0.3]]
    """
    return _drawn(lambda points: (truth(points), ""), lattice, cells, title, class_names)


def map_difference(learned: CalibrationMap, truth: CalibrationMap) -> CalibrationMap:
    """Remaining error of a learned map: the learned minus the true answer at every point.

    An arrow leads from ``start`` to ``start`` + (learned - true), so it may leave the triangle; its length and the
    color behind it are the mistake. Both maps must be over the same points.

    >>> from calib_core.datasets import true_valk_kull
    >>> best = true_map(true_valk_kull, lattice=2)
    >>> float(np.abs(map_difference(best, best).error).max())
    0.0
    """
    if learned.cells != truth.cells or learned.start.shape != truth.start.shape:
        raise InputError("calibration maps are compared point by point; draw both with the same lattice and cells")
    to, ground = learned.start + (learned.to - truth.to), learned.ground - truth.ground
    title = f"{learned.title} minus truth"
    return CalibrationMap(title, learned.class_names, learned.start, to, ground, learned.cells, learned.note)


def shared_scale(maps: Sequence[CalibrationMap]) -> float:
    """The error that has full color: the largest change of a class's probability in any of the maps, never 0.

    >>> from calib_core.datasets import true_valk_kull
    >>> shared_scale([true_map(true_valk_kull)]) == true_map(true_valk_kull).largest
    True
    """
    return max([drawn.largest for drawn in maps] + [1e-9])


def map_scale(predictions: Predictions) -> float:
    """The error that has full color in all maps of these rows, whichever calibrators are drawn.

    The largest difference between the frequency of a class and its mean probability, rounded up to 5 points. Only cells
    of a coarse grid with 30 rows or more count. It is 0.1 without such a cell. What can mislead: where a calibrator
    changes more than that, colors are saturated; arrows still show it by their length.

    >>> p = Predictions([[0.6, 0.3, 0.1]] * 40, [0] * 10 + [1] * 20 + [2] * 10)
    >>> map_scale(p)  # class 0: 25 % of the rows where the model says 60 %
    0.35
    """
    vectors = Canonical().split(predictions)
    table = simplex_table(vectors, _GRID)
    enough = table.count >= _ROWS
    if not enough.any():
        return 0.1
    largest = float(np.abs(table.frequency - table.mean)[enough].max())
    return max(1, int(np.ceil(largest / _STEP - 1e-9))) / round(1 / _STEP)


def small_triangles(n: int) -> Float64s:
    """The n^2 equal triangles of a triangle whose sides are cut into n: vertices (n^2, 3 vertices, 3 coordinates).

    First those that point the same way as the whole, n (n + 1) / 2 of them, then the others.

    >>> small_triangles(1).tolist()
    [[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]]
    """
    steps = np.eye(3, dtype=np.intp)
    same, other = _lattice(n - 1)[:, None] + steps, _lattice(n - 2)[:, None] + (1 - steps)
    return np.concatenate([same, other]) / n


def _lattice(n: int) -> NDArray[np.intp]:
    """Every (i, j, k) of whole numbers from 0 with i + j + k = n, in falling order."""
    i, j = np.divmod(np.arange((n + 1) ** 2), max(n + 1, 1))
    inside = i + j <= n
    found = np.stack([i, j, n - i - j], axis=1)[inside]
    return found[::-1]


def _drawn(
    answer: Callable[[Float64s], tuple[Float64s, str]],
    lattice: int,
    cells: int,
    title: str,
    class_names: Sequence[str],
) -> CalibrationMap:
    if lattice < 1 or cells < 1:
        raise InputError(f"lattice is {lattice} and cells {cells}; both must be 1 or more")
    starts = small_triangles(lattice)[: lattice * (lattice + 1) // 2].mean(axis=1)
    middles = small_triangles(cells).mean(axis=1)
    to, note = answer(np.concatenate([starts, middles]))
    split = len(starts)
    return CalibrationMap(title, tuple(class_names), starts, to[:split], to[split:] - middles, cells, note)


def _answer(calibrator: Calibrator, points: Float64s) -> tuple[Float64s, str]:
    """The calibrator's answer at these points, NaN where it has none, and what to know about it."""
    # The label is not looked at: a fitted calibrator answers from the scores alone.
    calibrated = calibrator.apply(Predictions(points, np.zeros(len(points), dtype=np.intp)))
    if calibrated.kind not in ("full", "per-class"):
        raise NotAnswerable("this calibrator predicts only the top class, so it has no map of the triangle")
    to = calibrated.probs.astype(np.float64)
    total = to.sum(axis=1)
    silent = total == 0 if calibrated.abstained is None else (total == 0) | calibrated.abstained
    to[silent] = np.nan
    notes = []
    if calibrated.kind == "per-class":
        to = to / np.where(silent, 1.0, total)[:, None]
        notes.append("its three probabilities need not sum to one; they are drawn divided by their sum")
    if silent.any():
        notes.append(f"it abstains on {percent(silent.mean(), 0)} of the triangle, which is left blank")
    return to, "; ".join(notes)
