"""Regularised log loss of softmax(W x + b), with gradient and Hessian: what vector, matrix and Dirichlet maps minimise.

Rows come in blocks of columns, shape (K, m): sums over classes then run along contiguous memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from calib_core._base.arrays import Codes, Float64s, Floats
from calib_core._base.errors import InputError
from calib_core._base.parallel import Progress
from calib_core._base.progress import silent
from calib_core.calibrators.fitting.log_rows import LogRows
from calib_core.calibrators.fitting.whitening import Blocks, Scales, Whitening

RIDGE = 1e-8
"""Weight of the pull towards the identity map that every fit has, in squared logits.

It makes the minimum exist and be the only one. Identified parameters move by some 1e-8 of themselves; where rows are
separable or a class never occurs it stops the loss at probabilities near 1e-7.
"""

_KEPT_BYTES = 1 << 27
"""Inputs are kept in float64 up to 128 MB; beyond that they are read again each time, in their own dtype."""

_BLOCK_VALUES = 1 << 14

_MOST_SPREAD = 1e150
"""Mean square of the inputs of a row around their mean, up to which the curvature of the loss can be worked out."""

_BLOCK_CLASSES = 256
"""Classes up to which each has a Hessian block of its own to whiten with: 130 MB at most."""


class Rowwise:
    """Inputs x (K, m) block by block, with labels and weights that sum to one; ``progress`` hears of every block."""

    def __init__(self, source: LogRows, labels: Codes, weights: Float64s | None, progress: Progress = silent) -> None:
        n, self.n_classes = source.rows.shape
        self.labels = labels
        self.source = source
        self.progress = progress
        given = np.ones(n) if weights is None else weights
        self.mass = float(given.sum())
        self.weights = given / (self.mass or 1.0)
        self.step = max(256, _BLOCK_VALUES // self.n_classes)
        self.kept: list[Floats] | None = None
        if n * self.n_classes * 8 <= _KEPT_BYTES:
            self.kept = [np.ascontiguousarray(x.T) for x in self._read(np.float64)]

    @property
    def dtype(self) -> np.dtype[np.floating[Any]]:
        """The arithmetic of the pass over the rows."""
        return np.dtype(np.float64) if self.kept is not None else self.source.rows.dtype

    def blocks(self) -> Iterator[tuple[Floats, Codes, Float64s]]:
        """Triples of inputs (K, m), labels and weights."""
        start = 0
        for x in self._inputs():
            self.progress(0)
            where = slice(start, start + x.shape[1])
            yield x, self.labels[where], self.weights[where]
            start = where.stop

    def take(self, index: Codes) -> Rowwise:
        """The chosen rows, weighted as they are here."""
        source = LogRows(self.source.rows.take(index), self.source.kind)
        return Rowwise(source, self.labels[index], self.mass * self.weights[index], self.progress)

    def every(self, stride: int) -> Rowwise:
        return self.take(np.arange(0, len(self.labels), stride))

    def spread(self) -> float:
        """Mean squared distance of the inputs from their row's mean."""
        total = 0.0
        for x, _, w in self.blocks():
            total += float(w @ np.square(x - x.mean(axis=0)).mean(axis=0))
        return total

    def _inputs(self) -> Iterable[Floats]:
        return self.kept if self.kept is not None else (x.T for x in self._read(None))

    def _read(self, dtype: type[np.float64] | None) -> Iterator[Floats]:
        rows = self.source.rows
        for _, block in rows.blocks(self.step * self.n_classes * rows.dtype.itemsize):
            yield self.source.values(block if dtype is None else block.astype(dtype))


@dataclass(frozen=True)
class Odir:
    """Penalty on off-diagonal weights and on intercepts: lambda / (K(K-1)) and mu / K times their sums of squares.

    ``diagonal``: the same, by K, on what the weights of the diagonal are away from 1.
    """

    off_diagonal: float
    intercept: float
    diagonal: float = 0.0


FREE = Odir(0.0, 0.0)
"""No penalty."""


class SoftmaxLoss:
    """What both maps share: the pass over the rows, and the ridge towards the identity.

    Parameters are an array (r, K): rows of weights, then the row of intercepts.
    """

    identity: Float64s
    penalty: Float64s
    """Factors of the squared distances from the identity, an entry for every parameter."""
    ridge: Float64s
    """The part of the second derivative that is the ridge."""
    shifts: slice
    """Rows of the parameters to which a constant can be added without changing a probability."""

    def __init__(self, rows: Rowwise, identity: Float64s) -> None:
        self.rows = rows
        self.identity = identity
        # Weights are measured by what they do to logits; a floor, since rows that are all uniform have no spread.
        with np.errstate(over="ignore", invalid="ignore"):
            spread = rows.spread()
        if not spread <= _MOST_SPREAD:
            raise InputError(
                f"some logits lie more than {_MOST_SPREAD**0.5:.0e} apart within a row, and this map works out their "
                "squares: divide all logits by a common factor, or give probabilities"
            )
        self.ridge = np.full(identity.shape, RIDGE * max(spread, 1e-6))
        self.ridge[-1] = RIDGE
        self.penalty = 0.5 * self.ridge

    def value_and_gradient(self, point: Float64s) -> tuple[float, Float64s]:
        value, gradient = 0.0, np.zeros_like(point)
        for x, labels, w in self.rows.blocks():
            loss, p = _loss_and_probs(self.logits(point, x), labels)
            value += float(w @ loss)
            p[labels, np.arange(len(w))] -= 1.0
            p *= w.astype(p.dtype)
            self.add_gradient(gradient, p, x)
        off = point - self.identity
        return value + float(np.sum(self.penalty * off * off)), gradient + 2.0 * self.penalty * off

    def log_loss(self, point: Float64s) -> float:
        """The mean log loss alone, without penalties."""
        return sum(float(w @ _loss_and_probs(self.logits(point, x), labels)[0]) for x, labels, w in self.rows.blocks())

    def pull(self, point: Float64s) -> Float64s:
        """The gradient of the ridge."""
        return self.ridge * (point - self.identity)

    def hessian(self, point: Float64s) -> Float64s:
        """Second derivatives (r K, r K), parameters in the order of ``at.ravel()``."""
        total = np.zeros((point.size, point.size))
        for x, labels, w in self.rows.blocks():
            self.add_hessian(total, _loss_and_probs(self.logits(point, x), labels)[1], x, w)
        total[np.diag_indices(point.size)] += 2.0 * self.penalty.ravel()
        return total

    def representative(self, point: Float64s) -> Float64s:
        """Of the parameters that give the same map, those with the least penalty."""
        p = self.penalty[self.shifts]
        off = point[self.shifts] - self.identity[self.shifts]
        settled = point.copy()
        settled[self.shifts] -= np.average(off, axis=1, weights=p)[:, None]
        return settled

    def own_curvature(self, point: Float64s) -> Float64s:
        """The diagonal of the Hessian, (r, K)."""
        total = 2.0 * self.penalty
        for x, v in self.variances(point):
            total[:-1] += self.squares(x, v)
            total[-1] += v.sum(axis=1)
        return total

    def variances(self, point: Float64s) -> Iterator[tuple[Floats, Floats]]:
        """Pairs of inputs and w p (1 - p), each (K, m)."""
        for x, labels, w in self.rows.blocks():
            p = _loss_and_probs(self.logits(point, x), labels)[1]
            yield x, p * (1.0 - p) * w.astype(p.dtype)

    def squares(self, x: Floats, v: Floats) -> Floats:
        """The diagonal's part of the weights."""
        raise NotImplementedError

    def whitening(self, point: Float64s) -> Whitening:
        """Coordinates for a quasi-Newton method started here."""
        raise NotImplementedError

    def on(self, rows: Rowwise) -> SoftmaxLoss:
        """The same loss of other rows."""
        raise NotImplementedError

    def logits(self, point: Float64s, x: Floats) -> Floats:
        raise NotImplementedError

    def add_gradient(self, total: Float64s, residual: Floats, x: Floats) -> None:
        raise NotImplementedError

    def add_hessian(self, total: Float64s, p: Floats, x: Floats, weights: Float64s) -> None:
        raise NotImplementedError


class DiagonalLoss(SoftmaxLoss):
    """Loss of z = w x + b, a weight and an intercept a class: parameters (2, K)."""

    shifts = slice(1, None)

    def __init__(self, rows: Rowwise, odir: Odir = FREE) -> None:
        k = rows.n_classes
        super().__init__(rows, np.vstack([np.ones(k), np.zeros(k)]))
        self.odir = odir
        self.penalty += np.array([[odir.diagonal], [odir.intercept]]) / k

    def on(self, rows: Rowwise) -> DiagonalLoss:
        return DiagonalLoss(rows, self.odir)

    def logits(self, point: Float64s, x: Floats) -> Floats:
        w, b = point.astype(x.dtype)
        z: Floats = x * w[:, None]
        z += b[:, None]
        return z

    def add_gradient(self, total: Float64s, residual: Floats, x: Floats) -> None:
        total[0] += np.einsum("ij,ij->i", residual, x)
        total[1] += residual.sum(axis=1)

    def squares(self, x: Floats, v: Floats) -> Floats:
        return np.asarray(np.einsum("ij,ij,ij->i", v, x, x))

    def whitening(self, point: Float64s) -> Whitening:
        blocks = np.zeros((point.shape[1], 2, 2))
        blocks[:, 0, 0], blocks[:, 1, 1] = self.own_curvature(point)
        for x, v in self.variances(point):
            blocks[:, 0, 1] += np.einsum("ij,ij->i", v, x)
        blocks[:, 1, 0] = blocks[:, 0, 1]
        return Blocks.of(blocks)

    def add_hessian(self, total: Float64s, p: Floats, x: Floats, weights: Float64s) -> None:
        k = len(x)
        root = p * np.sqrt(weights)
        both = np.vstack([root * x, root])
        total -= both @ both.T
        first = np.arange(k)
        p = p * weights
        px = p * x
        total[first, first] += np.einsum("ij,ij->i", px, x)
        cross = px.sum(axis=1)
        total[first, first + k] += cross
        total[first + k, first] += cross
        total[first + k, first + k] += p.sum(axis=1)


class AffineLoss(SoftmaxLoss):
    """Loss of z = W x + b with ODIR penalties: parameters (K + 1, K), the transpose of [W b]."""

    shifts = slice(None)

    def __init__(self, rows: Rowwise, odir: Odir) -> None:
        k = rows.n_classes
        super().__init__(rows, np.vstack([np.eye(k), np.zeros((1, k))]))
        self.odir = odir
        self.penalty[:k] += odir.off_diagonal / (k * (k - 1)) * (1.0 - np.eye(k)) + odir.diagonal / k * np.eye(k)
        self.penalty[k] += odir.intercept / k

    def on(self, rows: Rowwise) -> AffineLoss:
        return AffineLoss(rows, self.odir)

    def logits(self, point: Float64s, x: Floats) -> Floats:
        point = point.astype(x.dtype)
        z = point[:-1].T @ x
        z += point[-1][:, None]
        return np.asarray(z)

    def add_gradient(self, total: Float64s, residual: Floats, x: Floats) -> None:
        total[:-1] += x @ residual.T
        total[-1] += residual.sum(axis=1)

    def squares(self, x: Floats, v: Floats) -> Floats:
        return np.asarray(np.square(x) @ v.T)

    def whitening(self, point: Float64s) -> Whitening:
        k = self.rows.n_classes
        if k > _BLOCK_CLASSES:
            return Scales.of(self.own_curvature(point))
        # A whitening need not be exact: some 25 rows a class, in float32, cost a tenth and give nearly as few steps.
        some = self.on(self.rows.every(max(1, len(self.rows.labels) // (25 * k))))
        pairs = [(x.astype(np.float32), v.astype(np.float32)) for x, v in some.variances(point)]
        x = np.vstack([np.hstack([x for x, _ in pairs]), np.ones((1, len(some.rows.labels)), dtype=np.float32)])
        v = np.hstack([v for _, v in pairs])
        blocks = np.empty((k, k + 1, k + 1))
        for j in range(k):
            root = x * np.sqrt(v[j])
            blocks[j] = root @ root.T
        i = np.arange(k + 1)
        blocks[:, i, i] *= 1.0 + 1e-5
        blocks[:, i, i] += 2.0 * self.penalty.T
        return Blocks.of(blocks)

    def add_hessian(self, total: Float64s, p: Floats, x: Floats, weights: Float64s) -> None:
        k, m = x.shape
        x1 = np.vstack([x, np.ones((1, m))])
        root = p * np.sqrt(weights)
        # All products x_j p_i of a row: the Hessian is diag(p) (x) x x' less their outer product.
        products = (x1[:, None, :] * root[None, :, :]).reshape(k * (k + 1), m)
        total -= products @ products.T
        own = (products @ (x1 * np.sqrt(weights)).T).reshape(k + 1, k, k + 1)
        first = np.arange(k)
        by_class = total.reshape(k + 1, k, k + 1, k)
        by_class[:, first, :, first] += own.transpose(1, 0, 2)


def _loss_and_probs(z: Floats, labels: Codes) -> tuple[Floats, Floats]:
    """Log loss of each column and its softmax; z is overwritten."""
    z -= z.max(axis=0)
    true = z[labels, np.arange(len(labels))]
    np.exp(z, out=z)
    total = z.sum(axis=0)
    z /= total
    return np.log(total) - true, z
