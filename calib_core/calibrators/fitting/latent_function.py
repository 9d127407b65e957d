"""The log loss of softmax(z + g(z)), one function g for all classes given by its values at nodes, and its derivatives.

Between nodes g is a line, so that every pass over the rows is sums over nodes, however many classes there are.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from calib_core._base.arrays import Codes, Float64s, Floats
from calib_core._base.parallel import Progress, chunks, shared_out
from calib_core._base.progress import silent
from calib_core.calibrators.fitting.log_rows import LogRows

STEP = 0.25
"""Distance of neighbouring nodes, in log-probability."""

_CHUNK_ENTRIES = 1 << 18
_BLOCK_ENTRIES = 1 << 15
_KEPT_ENTRIES = 1 << 20
"""Places among the nodes are kept between passes up to 16 MB; beyond that they are worked out again."""


@dataclass(frozen=True, eq=False)
class Expansion:
    """The summed log loss at one g: its value, slope (G,) and curvature (G, G) in the values at the nodes."""

    value: float
    slope: Float64s
    curvature: Float64s

    def __add__(self, other: Expansion) -> Expansion:
        return Expansion(self.value + other.value, self.slope + other.slope, self.curvature + other.curvature)


def places(logs: Floats, last: int) -> tuple[Codes, Float64s]:
    """The node 0, -STEP, -2 STEP, ... above each log-probability, at most ``last`` - 1, and the share of the way down.

    >>> [values.tolist() for values in places(np.array([-0.3125, -9.0]), 2)]
    [[1, 1], [0.25, 1.0]]
    """
    way = np.clip(logs * (-1.0 / STEP), 0.0, last)
    above = np.minimum(way.astype(np.intp), last - 1)
    return above, way - above


def moved(logs: Floats, above: Codes, down: Float64s, values: Float64s) -> Float64s:
    """z + g(z)."""
    return np.asarray(logs + values[above] + down * np.diff(values)[above])


class LatentLoss:
    """The log loss of some rows, weighted, as a function of g's values at the nodes.

    ``progress`` hears of every chunk of them.
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
        """The nodes (G,), from 0 down."""
        return -STEP * np.arange(self.last + 1.0)

    def every(self, stride: int) -> LatentLoss:
        """The loss of each ``stride``-th row."""
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
            # Each row's mean of the hats that stand at the nodes: one sum for the upper ends and one for the lower.
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
        # A block is as small as its two largest tables ask for: entries by classes, and by nodes.
        for where, block in rows.blocks(_BLOCK_ENTRIES // max(k, self.last) * k * rows.dtype.itemsize):
            z = np.asarray(self.logs.values(block.astype(np.float64)), dtype=np.float64)
            yield where, z, *places(z, self.last)


def lowest_node(logs: LogRows) -> int:
    """The number of the first node at or below all log-probabilities; 1 at least."""
    lowest = min(float(block.min()) for _, block in logs.blocks())
    return max(1, int(np.ceil(-lowest / STEP)))
