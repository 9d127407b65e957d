"""Penalised log loss of log-probabilities bent by one piecewise straight curve, with gradient and Hessian."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from calib_core._base.arrays import Codes, Float64s
from calib_core._base.parallel import Progress
from calib_core._base.progress import silent
from calib_core.calibrators.fitting.log_rows import LogRows

_KEPT_BYTES = 1 << 27
"""What each piece adds to each logit is kept up to 128 MB; beyond that it is worked out again each time."""

_BLOCK_VALUES = 1 << 16

Block = tuple[Float64s, Codes, Float64s]


@dataclass(frozen=True, eq=False)
class CurveLoss:
    """Mean log loss of softmax(sum_b r_b f_b(x)) + strength (sum_b (r_b - r_(b+1))² + sum_b (r_b - 1 - log r_b)).

    f_b(x) = scale (clip(x, lower_b, upper_b) - upper_b) with x log-probabilities (n, K), pieces b between the ``knots``
    (B - 1,), ascending, the last ending at 0. ``weights`` (n,) sum to one. Convex in r (B,); infinite unless r > 0.
    """

    source: LogRows
    labels: Codes
    weights: Float64s
    knots: Float64s
    scale: float
    strength: float
    progress: Progress = silent

    def every(self, stride: int) -> CurveLoss:
        """The loss of each ``stride``-th row."""
        labels, weights = self.labels[::stride], self.weights[::stride]
        source = self.source.every(stride)
        return CurveLoss(source, labels, weights / weights.sum(), self.knots, self.scale, self.strength, self.progress)

    def value_and_gradient(self, point: Float64s) -> tuple[float, Float64s]:
        if point.min() <= 0:
            return np.inf, np.zeros_like(point)
        value, gradient = 0.0, np.zeros_like(point)
        for pieces, labels, weights in self._blocks():
            loss, p = _loss_and_probs(point, pieces, labels)
            value += float(weights @ loss)
            p[np.arange(len(labels)), labels] -= 1.0
            p *= weights[:, None]
            gradient += pieces.reshape(len(point), -1) @ p.ravel()
        steps, spread = np.diff(point), point - 1.0 - np.log(point)
        value += self.strength * float(steps @ steps + spread.sum())
        return value, gradient + self.strength * (2.0 * self._roughness @ point + 1.0 - 1.0 / point)

    def hessian(self, point: Float64s) -> Float64s:
        total = self.strength * (2.0 * self._roughness + np.diag(1.0 / point**2))
        for pieces, labels, weights in self._blocks():
            p = _loss_and_probs(point, pieces, labels)[1]
            weighted = pieces * p
            mean = weighted.sum(axis=2)
            weighted *= weights[:, None]
            total += weighted.reshape(len(point), -1) @ pieces.reshape(len(point), -1).T - (mean * weights) @ mean.T
        return total

    @property
    def _roughness(self) -> Float64s:
        """The matrix of sum_b (r_b - r_(b+1))²."""
        steps = np.diff(np.eye(len(self.knots) + 1), axis=0)
        return np.asarray(steps.T @ steps)

    def _blocks(self) -> Iterator[Block]:
        """Triples of f_b(x) (B, m, K), labels and weights."""
        n, k = self.source.rows.shape
        for block in self._kept if n * k * 8 * (len(self.knots) + 1) <= _KEPT_BYTES else self._made():
            self.progress(0)
            yield block

    @cached_property
    def _kept(self) -> list[Block]:
        return list(self._made())

    def _made(self) -> Iterator[Block]:
        lower = np.append(-np.inf, self.knots)[:, None, None]
        upper = np.append(self.knots, 0.0)[:, None, None]
        rows = self.source.rows
        start = 0
        for _, block in rows.blocks(_BLOCK_VALUES * rows.dtype.itemsize):
            x = self.source.values(block.astype(np.float64))
            where = slice(start, start + len(x))
            yield (np.clip(x, lower, upper) - upper) * self.scale, self.labels[where], self.weights[where]
            start = where.stop


def _loss_and_probs(point: Float64s, pieces: Float64s, labels: Codes) -> tuple[Float64s, Float64s]:
    """Log loss of each row and its softmax, (m,) and (m, K)."""
    z = np.tensordot(point, pieces, axes=1)
    z -= z.max(axis=1, keepdims=True)
    true = z[np.arange(len(labels)), labels]
    np.exp(z, out=z)
    total = z.sum(axis=1)
    z /= total[:, None]
    return np.log(total) - true, z
