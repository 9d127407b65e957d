"""Gaussian-process calibration: one smooth function of the log-probability for all classes.

Between nodes g is linear, so every pass over the rows computes sums over nodes, whatever the number of classes.

The module also has the kernel reliability curve as a map of scores.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import product
from typing import Annotated

import numpy as np

from calib_core._base.arrays import Bools, Codes, Float64s, Floats, frozen
from calib_core._base.parallel import Progress, chunks, one_blas_thread, shared_out, silent
from calib_core._base.sklearn_api import check_is_fitted
from calib_core.calibrators.base import (
    BINARY_CALIBRATORS,
    CALIBRATORS,
    BinaryCalibrator,
    Calibrator,
    Contract,
    Interpolated,
    Map,
)
from calib_core.calibrators.calibration_rows import as_rows
from calib_core.calibrators.fitting.minimisers import Minimum, minimum
from calib_core.calibrators.fitting.softmax_loss import LogRows
from calib_core.calibrators.insides import Insides, Number, Profile, score_numbers
from calib_core.claims.binary_claims import Stratum
from calib_core.predictions.predictions import Predictions
from calib_core.registry.registry import Part, Range
from calib_core.smoothing.bandwidths import Bandwidth, StandardDeviation
from calib_core.smoothing.kernels import Kernel, Triweight, local_calibration
from calib_core.smoothing.score_grid import LogOdds, Scale, ScoreGrid
from calib_core.text import several

STEP = 0.25
"""Distance between adjacent nodes, in log-probability."""

_CHUNK_ENTRIES = 1 << 18
_BLOCK_ENTRIES = 1 << 15
_KEPT_ENTRIES = 1 << 20
"""Positions among the nodes are cached between passes up to 16 MB; beyond that they are recomputed."""


@dataclass(frozen=True, eq=False)
class Expansion:
    """Summed log loss at one g: value, gradient (G,) and curvature (G, G) in the values at the nodes."""

    value: float
    slope: Float64s
    curvature: Float64s

    def __add__(self, other: Expansion) -> Expansion:
        return Expansion(self.value + other.value, self.slope + other.slope, self.curvature + other.curvature)


def places(logs: Floats, last: int) -> tuple[Codes, Float64s]:
    """Node index (0, -STEP, -2 STEP, ...) above each log-probability and the fraction of the way to the next one.

    The index is at most ``last`` - 1.

    >>> [values.tolist() for values in places(np.array([-0.3125, -9.0]), 2)]
    [[1, 1], [0.25, 1.0]]
    """
    way = np.clip(logs * (-1.0 / STEP), 0.0, last)
    above = np.minimum(way.astype(np.intp), last - 1)
    return above, way - above


def moved(logs: Floats, above: Codes, down: Float64s, values: Float64s) -> Float64s:
    """Return z + g(z)."""
    return np.asarray(logs + values[above] + down * np.diff(values)[above])


class LatentLoss:
    """Weighted log loss of some rows as a function of g's values at the nodes.

    Every chunk of rows reports ``progress``.
    """

    def __init__(
        self, logs: LogRows, labels: Codes, weights: Float64s, last: int | None = None, progress: Progress = silent
    ) -> None:
        self.logs, self.labels, self.weights, self.progress = logs, labels, weights, progress
        self.last = lowest_node(logs) if last is None else last
        n, k = logs.rows.shape
        self._chunks = chunks(n, max(1, _CHUNK_ENTRIES // k))
        self._kept: dict[int, list[tuple[slice, Float64s, Codes, Float64s]]] | None = (
            {} if n * k <= _KEPT_ENTRIES else None
        )

    @property
    def nodes(self) -> Float64s:
        """Nodes (G,) in descending order from 0."""
        return -STEP * np.arange(self.last + 1.0)

    def every(self, stride: int) -> LatentLoss:
        """The loss on every ``stride``-th row."""
        some = slice(None, None, stride)
        return LatentLoss(self.logs.every(stride), self.labels[some], self.weights[some], self.last, self.progress)

    def __call__(self, values: Float64s) -> Expansion:
        parts = shared_out(lambda chunk: self._part(chunk, values), self._chunks)
        total = next(parts)
        self.progress(0)
        for part in parts:
            self.progress(0)
            total = total + part
        return total

    def _part(self, chunk: slice, values: Float64s) -> Expansion:
        g, loss = len(values), 0.0
        slope, curvature = np.zeros(g), np.zeros((g, g))
        own, across = np.zeros(g), np.zeros(g - 1)
        labels, weights = self.labels[chunk], self.weights[chunk]
        for where, z, above, down in self._blocks(chunk):
            w, m = weights[where], len(z)
            true = np.arange(m), labels[where]
            f = moved(z, above, down, values)
            f -= f.max(axis=1, keepdims=True)
            hit = f[true]
            np.exp(f, out=f)
            total = f.sum(axis=1, keepdims=True)
            f /= total
            loss += float(w @ (np.log(total[:, 0]) - hit))
            lower = f * down
            upper = f - lower
            line = (above + g * np.arange(m)[:, None]).ravel()
            # Each row's mean of the hat functions at the nodes: one sum for the upper ends and one for the lower.
            mean = np.bincount(line, upper.ravel(), m * g)
            mean[1:] += np.bincount(line, lower.ravel(), m * g)[:-1]
            mean = mean.reshape(m, g)
            slope += w @ mean
            np.subtract.at(slope, above[true], w * (1.0 - down[true]))
            np.subtract.at(slope, above[true] + 1, w * down[true])
            mean *= np.sqrt(w)[:, None]
            curvature -= mean.T @ mean
            node, row = above.ravel(), w[:, None]
            both = (row * lower * (1.0 - down)).ravel()
            across += np.bincount(node, both, g - 1)
            own += np.bincount(node, (row * upper).ravel() - both, g)
            own[1:] += np.bincount(node, (row * lower).ravel() - both, g - 1)
        i = np.arange(g - 1)
        curvature[i, i + 1] += across
        curvature[i + 1, i] += across
        curvature[np.diag_indices(g)] += own
        return Expansion(loss, slope, curvature)

    def _blocks(self, chunk: slice) -> Iterator[tuple[slice, Float64s, Codes, Float64s]]:
        if self._kept is None:
            return self._placed(chunk)
        if chunk.start not in self._kept:
            self._kept[chunk.start] = list(self._placed(chunk))
        return iter(self._kept[chunk.start])

    def _placed(self, chunk: slice) -> Iterator[tuple[slice, Float64s, Codes, Float64s]]:
        rows = self.logs.part(chunk).rows
        k = rows.shape[1]
        # A block is limited by its two largest tables: entries by classes, and entries by nodes.
        for where, block in rows.blocks(_BLOCK_ENTRIES // max(k, self.last) * k * rows.dtype.itemsize):
            z = np.asarray(self.logs.values(block.astype(np.float64)), dtype=np.float64)
            yield where, z, *places(z, self.last)


def lowest_node(logs: LogRows) -> int:
    """Index of the first node at or below all log-probabilities; at least 1."""
    lowest = min(float(block.min()) for _, block in logs.blocks())
    return max(1, int(np.ceil(-lowest / STEP)))


AMPLITUDES = (0.1, 0.3, 1.0, 3.0)
"""Candidate standard deviations of the function's non-linear part, in log-odds."""
LENGTHS = (1.0, 2.0, 4.0, 8.0)
"""Candidate length scales, in log-probability: a length of 1 is a factor of 2.7."""
SLOPE = 1.0
"""Prior standard deviation of the function's slope: 1/T of temperature scaling is 1 +- 1 a priori."""

_PILOT = (1.0, 2.0)
_LEAST = 1e-9
"""Directions of the prior with less than this share of its largest variance are dropped."""
_STRIDE, _SAMPLE_ROWS = 16, 512
"""Stride of the rows for the initial fit, and the fewest rows for it."""

NOT_CONVERGED = "the fit stopped before it converged: another function could fit these rows better."


@CALIBRATORS.register(
    "gp",
    "Gaussian-process calibration",
    reference="Wenger et al. 2020",
    flags=Contract(
        "full",
        keeps_argmax=False,
        sums_to_one=True,
        profile=Profile(
            "scaling",
            "Maps all probabilities by one smooth curve, as flexible as the rows support.",
            rows=(500, 0, 0),
            candidate_for=("full",),
        ),
    ),
)
@dataclass(eq=False, repr=False)
class GaussianProcess(Calibrator):
    """Adds one smooth function g of the log-probability to each log-probability, the same for all classes.

    q = softmax(f(log p_1), ..., f(log p_K)) with f(z) = z + g(z). Here g has a Gaussian process prior with mean 0 and
    covariance s^2 z z' + a^2 exp(-(z - z')^2 / (2 l^2)): slope s = 1, amplitude a and length scale l. Without data f is
    the identity; a linear g is temperature scaling. The function g is represented by its values at nodes spaced by 1/4
    from 0 down to the least log-probability of the calibration rows. It is linear in between and constant below. The
    values are the posterior mode given the labels (Laplace's approximation). Newton's method finds it in the few
    directions in which the prior varies: one convex problem with about 10 to 80 unknowns, whatever n and K.

    If ``amplitude`` or ``length`` is None, it maximizes the marginal likelihood over 0.1, 0.3, 1, 3 or 1, 2, 4, 8. The
    log loss is then approximated by a quadratic around the fit with a = 1 and l = 2. Rows count as in the paper's
    model: whole weights as copies, others scaled to the effective sample size. Predictions are those of the most
    probable f: they do not average over its uncertainty, as the paper's default does.

    ``shifts_`` (G,) is g at the log-probabilities ``points_`` (G,), ascending. ``amplitude_`` and ``length_`` are a and
    l; ``status_`` is "converged" or "not converged". The function g can fall faster than z rises: two classes of a row
    may then change places, and the predicted class can change. What can mislead: the highest probabilities are close
    together in log-probability, and the classes that were not predicted mainly determine the map there.

    References: Wenger, Kjellström & Triebel 2020, §3 (a variational approximation there; covariance of one squared
    exponential and noise); Rasmussen & Williams 2006, §3.4-3.5 (Laplace's approximation); Wilson & Nickisch 2015
    (linear interpolation between nodes).

    >>> p = np.tile([[0.9, 0.1]], (200, 1))
    >>> cal = GaussianProcess().fit(p, [0] * 160 + [1] * 40)
    >>> cal.predict_proba(p[:1]).round(2).tolist()  # right 80 % of the time
    [[0.8, 0.2]]
    """

    amplitude: Annotated[
        float | None, Range(0.01, 10.0, log=True), "Amplitude of deviations", "in log-odds; none: chosen from the rows"
    ] = None
    length: Annotated[
        float | None, Range(0.5, 20.0, log=True), "Length of deviations", "in log-odds; none: chosen from the rows"
    ] = None

    def _fit(self, predictions: Predictions, progress: Progress) -> None:
        if predictions.weights is not None:  # a row of weight 0 does not count
            predictions = predictions.take(np.flatnonzero(predictions.weights > 0))
        weights = np.ones(predictions.n_rows) if predictions.weights is None else as_rows(predictions.weights)
        loss = LatentLoss(LogRows.log_probabilities(predictions), predictions.true_labels, weights, progress=progress)
        with one_blas_thread():
            found, self.amplitude_, self.length_ = _fitted(loss, self.amplitude, self.length)
        self.status_ = "converged" if found.ended else "not converged"
        basis = _basis(loss.last, self.amplitude_, self.length_)
        self.points_: Float64s = frozen(loss.nodes[::-1].copy())
        self.shifts_: Float64s = frozen((basis @ found.point)[::-1].copy())

    @property
    def note(self) -> str:
        check_is_fitted(self)
        return "" if self.status_ == "converged" else NOT_CONVERGED

    def insides(self, names: Sequence[str] = ()) -> Insides:
        check_is_fitted(self)
        return Insides(
            f"amplitude {self.amplitude_:.3g}, length {self.length_:.3g}",
            "Adds one smooth function of the log-probability to it, the same for all classes: amplitude "
            f"{self.amplitude_:.3g}, length scale {self.length_:.3g}.",
            lambda: [
                Number("added to the log-probability", float(shift), place=f"probability {np.exp(z):.3g}")
                for z, shift in zip(self.points_, self.shifts_, strict=True)
            ],
        )

    def _apply(self, predictions: Predictions, progress: Progress) -> Predictions:
        values, last = self.shifts_[::-1], len(self.shifts_) - 1
        out = np.empty(predictions.rows.shape, dtype=predictions.rows.dtype)
        logs = LogRows.log_probabilities(predictions)
        for where, block in predictions.rows.blocks():
            z = logs.values(block.astype(np.float64))
            f = moved(z, *places(z, last), values)
            f -= f.max(axis=1, keepdims=True)
            np.exp(f, out=f)
            f /= f.sum(axis=1, keepdims=True)
            out[where] = f
        return predictions.with_probs(frozen(out))


class _Posterior:
    """Negative log posterior per row, in coordinates v with g = basis v and v standard normal."""

    def __init__(self, loss: LatentLoss, basis: Float64s) -> None:
        self.loss, self.basis = loss, basis
        self.mass = float(loss.weights.sum()) or 1.0
        self._seen: tuple[bytes, Expansion] | None = None

    def value_and_gradient(self, point: Float64s) -> tuple[float, Float64s]:
        seen = self.expansion(point)
        slope = self.basis.T @ seen.slope + point
        return (seen.value + 0.5 * float(point @ point)) / self.mass, slope / self.mass

    def hessian(self, point: Float64s) -> Float64s:
        curvature = self.basis.T @ self.expansion(point).curvature @ self.basis
        curvature[np.diag_indices(len(point))] += 1.0
        return np.asarray(curvature / self.mass)

    def expansion(self, point: Float64s) -> Expansion:
        """Expansion of the log loss at a point: one pass gives gradient and curvature."""
        key = point.tobytes()
        if self._seen is None or self._seen[0] != key:
            self._seen = key, self.loss(self.basis @ point)
        return self._seen[1]


def _fitted(loss: LatentLoss, amplitude: float | None, length: float | None) -> tuple[Minimum, float, float]:
    """Most probable function, with its amplitude and length scale."""
    tried = list(product(AMPLITUDES if amplitude is None else (amplitude,), LENGTHS if length is None else (length,)))
    first = _PILOT if _PILOT in tried else tried[0]
    basis = _basis(loss.last, *first)
    start = np.zeros(basis.shape[1])
    if len(loss.labels) >= _STRIDE * _SAMPLE_ROWS:
        start = minimum(_Posterior(loss.every(_STRIDE), basis), start, 1e-5).point
    pilot = _Posterior(loss, basis)
    found = minimum(pilot, start)
    if len(tried) == 1:
        return found, *first
    function, parabola = basis @ found.point, pilot.expansion(found.point)
    best = max(tried, key=lambda scales: _evidence(_basis(loss.last, *scales), function, parabola))
    if best == first:
        return found, *first
    basis = _basis(loss.last, *best)
    near = np.asarray(np.linalg.solve(basis.T @ basis + 1e-6 * np.eye(basis.shape[1]), basis.T @ function), float)
    return minimum(_Posterior(loss, basis), near), *best


def _evidence(basis: Float64s, function: Float64s, parabola: Expansion) -> float:
    """Log marginal likelihood, up to a constant, from a quadratic approximation of the log loss at a function."""
    linear = basis.T @ (parabola.curvature @ function - parabola.slope)
    factor = np.linalg.cholesky(np.eye(basis.shape[1]) + basis.T @ parabola.curvature @ basis)
    half = np.linalg.solve(factor, linear)
    return float(0.5 * half @ half - np.log(np.diag(factor)).sum())


@lru_cache(64)
def _basis(last: int, amplitude: float, length: float) -> Float64s:
    """Basis functions at the nodes (G, r): with standard normal coefficients their sum is the process."""
    z = -STEP * np.arange(last + 1.0)
    variance, bends = np.linalg.eigh(np.exp(-0.5 * np.square((z[:, None] - z) / length)))
    kept = variance > _LEAST * variance[-1]
    return frozen(np.column_stack([SLOPE * z, amplitude * bends[:, kept] * np.sqrt(variance[kept])]))


_ENOUGH = 0.25
"""Share of one row's weight below which a position counts as empty."""
_APART = 1e-12
"""Difference in score below which two points are merged."""


@BINARY_CALIBRATORS.register("kernel", "Kernel curve", reference="P5 §4.4")
@dataclass(eq=False, repr=False)
class BinaryKernel(BinaryCalibrator):
    """Moves a score by the smoothed mean error of nearby scores: the kernel reliability curve as a map.

    g(s) = s + sum_i K_h(x - x_i) (z_i - s_i) / sum_i K_h(x - x_i), clipped to [0, 1]. Here x is the score on the
    ``scale`` (log-odds by default), and h is the kernel's standard deviation by the ``bandwidth`` rule. Scores s_i and
    outcomes z_i are those of the calibration rows, mirrored at both ends. This is the curve of the diagram of that
    name. It is evaluated at grid nodes and interpolated linearly. Nodes with less than a quarter of one row's weight
    are skipped, and beyond the outer nodes the last error is used. P5 proposes the curve as a diagram, and a calibrator
    from it as an extension.

    ``scores_`` and ``values_`` (m,) are the points of the map, ``bandwidth_`` is h. The map can decrease. What can
    mislead: the bandwidth suits the density of the scores, not the best map. A wide one smooths out real deviations, a
    narrow one reproduces noise.

    References: P5 §4.4 and conclusion.

    >>> BinaryKernel().fit([0.7] * 10, [1] * 6 + [0] * 4).transform([0.7, 0.9]).round(2).tolist()
    [0.6, 0.8]
    """

    kernel: Annotated[Kernel, Part("KERNELS"), "Kernel", "shape of the smoothing kernel"] = field(
        default_factory=Triweight
    )
    bandwidth: Annotated[Bandwidth, Part("BANDWIDTHS"), "Bandwidth", "width of the smoothing"] = field(
        default_factory=StandardDeviation
    )
    scale: Annotated[Scale, Part("SCALES"), "Scale", "smoothing of scores or of their log-odds"] = field(
        default_factory=LogOdds
    )

    def insides(self) -> Insides:
        check_is_fitted(self)
        return Insides(
            several(len(self.scores_), "points"),
            f"Moves a score by the smoothed mean error of nearby scores, bandwidth {self.bandwidth_:.3g}.",
            lambda: score_numbers(self.scores_, self.values_),
            unit="curve",
        )

    def _fit(self, scores: Floats, outcomes: Bools, weights: Float64s | None) -> None:
        counted_rows = Stratum(scores, outcomes, None if weights is None else as_rows(weights)).counted()
        grid = ScoreGrid(0.0, self.kernel.cells, self.scale)
        low, high = grid.ends
        width = min(self.bandwidth(self.scale.there(counted_rows.scores), counted_rows.weights), high - low)
        spread = self.kernel.on(grid, width)
        smooth = local_calibration(counted_rows, spread, gaps=True)
        dense = smooth.all > _ENOUGH * spread.height / (counted_rows.total or 1.0)
        nodes = np.flatnonzero(dense)
        nodes = nodes[(nodes % spread.stride == 0) | (nodes == nodes[0]) | (nodes == nodes[-1])]
        points = grid.scores[nodes]
        error = smooth.true[nodes] / smooth.all[nodes] - points
        # The last error is used up to 0 and 1.
        points, error = np.r_[0.0, points, 1.0], np.r_[error[0], error, error[-1]]
        apart = np.append(True, np.diff(points) > _APART)
        apart[-1] &= points[-1] - points[-2] > _APART
        self.bandwidth_ = float(width)
        self.scores_: Float64s = frozen(points[apart])
        self.values_: Float64s = frozen(np.clip(points + error, 0.0, 1.0)[apart])

    def score_map(self) -> Map:
        return Interpolated(np.asarray(self.scores_, dtype=np.float64), np.asarray(self.values_, dtype=np.float64))
