"""Log loss of softmax(W x + b) on rows in memory or in parts: derivatives, penalties and minimizer.

Rows come in blocks of columns, shape (K, m): sums over classes then run along contiguous memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
import scipy

from calib_core._base.arrays import BLOCK_BYTES, LOG_FLOOR, Codes, Float64s, Floats, FloatType, Rows
from calib_core._base.errors import InputError, NotAnswerable
from calib_core._base.parallel import Progress, silent
from calib_core.calibrators.fitting.minimisers import Blocks, Scales, Whitening, minimum, solve
from calib_core.predictions.predictions import Kind, Logits, Predictions
from calib_core.predictions.validation import whole

RIDGE = 1e-8
"""Weight of the ridge towards the identity map in every fit, in squared logits.

It makes the minimum exist and be unique. Identified parameters move by a relative 1e-8 or so; if rows are
separable or a class never occurs, the fit stops at probabilities near 1e-7.
"""

_KEPT_BYTES = 1 << 27
"""Inputs are cached in float64 up to 128 MB; beyond that they are read again each time, in their own dtype."""

_BLOCK_VALUES = 1 << 14

_MOST_SPREAD = 1e150
"""Largest mean square of a row's inputs around their mean for which the curvature of the loss is computable."""

_BLOCK_CLASSES = 256
"""Number of classes up to which each has its own Hessian block for whitening: 130 MB at most."""


class Rowwise:
    """Inputs x (K, m) by blocks, with labels and weights that sum to one; every block reports ``progress``."""

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
    def dtype(self) -> FloatType:
        """Dtype of the pass over the rows."""
        return np.dtype(np.float64) if self.kept is not None else self.source.rows.dtype

    def blocks(self) -> Iterator[tuple[Floats, Codes, Float64s]]:
        """Yield triples of inputs (K, m), labels and weights."""
        start = 0
        for x in self._inputs():
            self.progress(0)
            where = slice(start, start + x.shape[1])
            yield x, self.labels[where], self.weights[where]
            start = where.stop

    def take(self, index: Codes) -> Rowwise:
        """The chosen rows with the same weights."""
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

    ``diagonal``: the same penalty, by K, on the deviations of the diagonal weights from 1.
    """

    off_diagonal: float
    intercept: float
    diagonal: float = 0.0


FREE = Odir(0.0, 0.0)
"""No penalty."""


class SoftmaxLoss:
    """Base class of both losses: the pass over the rows, and the ridge towards the identity.

    Parameters are an array (r, K): rows of weights, then the row of intercepts.
    """

    identity: Float64s
    penalty: Float64s
    """Factors of the squared distances from the identity, one per parameter."""
    ridge: Float64s
    """Ridge's part of the second derivative."""
    shifts: slice
    """Rows of the parameters to which a constant can be added without changing a probability."""

    def __init__(self, rows: Rowwise, identity: Float64s) -> None:
        self.rows = rows
        self.identity = identity
        # Weights are measured by their effect on logits; the floor is for uniform rows, which have no spread.
        with np.errstate(over="ignore", invalid="ignore"):
            spread = rows.spread()
        if not spread <= _MOST_SPREAD:
            raise InputError(
                f"some logits differ by more than {_MOST_SPREAD**0.5:.0e} within a row, and this map needs their "
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
        """Mean log loss without penalties."""
        return sum(float(w @ _loss_and_probs(self.logits(point, x), labels)[0]) for x, labels, w in self.rows.blocks())

    def pull(self, point: Float64s) -> Float64s:
        """Gradient of the ridge."""
        return self.ridge * (point - self.identity)

    def hessian(self, point: Float64s) -> Float64s:
        """Second derivatives (r K, r K), parameters in the order of ``at.ravel()``."""
        total = np.zeros((point.size, point.size))
        for x, labels, w in self.rows.blocks():
            self.add_hessian(total, _loss_and_probs(self.logits(point, x), labels)[1], x, w)
        total[np.diag_indices(point.size)] += 2.0 * self.penalty.ravel()
        return total

    def representative(self, point: Float64s) -> Float64s:
        """Parameters with the least penalty among those that give the same map."""
        p = self.penalty[self.shifts]
        off = point[self.shifts] - self.identity[self.shifts]
        settled = point.copy()
        settled[self.shifts] -= np.average(off, axis=1, weights=p)[:, None]
        return settled

    def own_curvature(self, point: Float64s) -> Float64s:
        """Diagonal of the Hessian, (r, K)."""
        total = 2.0 * self.penalty
        for x, v in self.variances(point):
            total[:-1] += self.squares(x, v)
            total[-1] += v.sum(axis=1)
        return total

    def variances(self, point: Float64s) -> Iterator[tuple[Floats, Floats]]:
        """Yield pairs of inputs and w p (1 - p), each (K, m)."""
        for x, labels, w in self.rows.blocks():
            p = _loss_and_probs(self.logits(point, x), labels)[1]
            yield x, p * (1.0 - p) * w.astype(p.dtype)

    def squares(self, x: Floats, v: Floats) -> Floats:
        """Weights' part of the Hessian's diagonal."""
        raise NotImplementedError

    def whitening(self, point: Float64s) -> Whitening:
        """Whitened coordinates for a quasi-Newton method that starts here."""
        raise NotImplementedError

    def on(self, rows: Rowwise) -> SoftmaxLoss:
        """The same loss on other rows."""
        raise NotImplementedError

    def logits(self, point: Float64s, x: Floats) -> Floats:
        raise NotImplementedError

    def add_gradient(self, total: Float64s, residual: Floats, x: Floats) -> None:
        raise NotImplementedError

    def add_hessian(self, total: Float64s, p: Floats, x: Floats, weights: Float64s) -> None:
        raise NotImplementedError


class DiagonalLoss(SoftmaxLoss):
    """Loss of z = w x + b, one weight and one intercept per class: parameters (2, K)."""

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
        # Whitening need not be exact: about 25 rows per class, in float32, cost a tenth for nearly as few steps.
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


Status = Literal["converged", "at bound", "not converged"]

_DENSE = 250
"""Number of parameters up to which the Hessian is formed; beyond that it costs more than many gradients."""

_SAMPLE_ROWS = 500
_SCALES = (0.05, 5.0)

_MOVES_ON = 0.1
"""Least move of a parameter, in logits, in one more Newton step without the ridge if the loss has no minimum.

The move is then near 1; it is about 1e-6 if there is a minimum.
"""


_STEPS = 1000
_SLOPES = 1e-7, 3e-5
"""Largest entry of the whitened gradient at convergence, with few parameters and with many.

The loss is then within about 1e-12 and 1e-7 of its minimum.
"""
_FEW = 1000
_SINGLE_FALL = 3e-7
"""Relative decrease below which a step is the last if the loss is computed in float32, which is no finer."""


def large_minimum(loss: SoftmaxLoss, start: Float64s) -> tuple[Float64s, bool]:
    """Minimizer, and whether the gradient became small enough."""
    whitening = loss.whitening(start)

    def value_and_gradient(u: Float64s) -> tuple[float, Float64s]:
        value, gradient = loss.value_and_gradient(start + whitening.step(u.reshape(start.shape)))
        return value, whitening.gradient(gradient).ravel()

    smallest = 0.0 if loss.rows.dtype == np.float64 else _SINGLE_FALL
    found = scipy.optimize.minimize(
        value_and_gradient,
        np.zeros(start.size),
        jac=True,
        method="L-BFGS-B",
        options={
            "maxiter": _STEPS,
            "maxfun": 2 * _STEPS,
            "gtol": _SLOPES[start.size > _FEW],
            "ftol": smallest,
        },
    )
    point = start + whitening.step(found.x.reshape(start.shape))
    # The loss is flat along shifts that change no probability: only the penalties, too weak for steps, decide there.
    return loss.representative(point), bool(found.success)


@dataclass(frozen=True, eq=False)
class SoftmaxFit:
    parameters: Float64s
    status: Status


def fitted(loss: SoftmaxLoss, start: Float64s | None = None) -> SoftmaxFit:
    """Minimizer of the loss, searched from ``start`` or from the best temperature on some of the rows."""
    first = _scaled_identity(loss) if start is None else start
    if loss.identity.size <= _DENSE:
        found = minimum(loss, first)
        point, ended = found.point, found.ended
        step = solve(found.hessian, loss.pull(point).ravel()).reshape(point.shape)
    else:
        point, ended = large_minimum(loss, first)
        step = loss.pull(point) / loss.own_curvature(point)
    unbounded = (np.abs(step) * np.sqrt(loss.ridge / RIDGE) > _MOVES_ON).any()
    return SoftmaxFit(point, "not converged" if not ended else "at bound" if unbounded else "converged")


def fitted_in_parts(loss: SoftmaxLoss, sample: SoftmaxLoss) -> SoftmaxFit:
    """Minimizer of a loss whose rows are slow to read, started from the fit of a sample if that is a good start.

    With many parameters, or if the sample's loss has no minimum, the fit of few rows is far from that of all.
    """
    if loss.identity.size > _DENSE:
        return fitted(loss)
    first = fitted(sample)
    return fitted(loss, first.parameters if first.status == "converged" else None)


def _scaled_identity(loss: SoftmaxLoss) -> Float64s:
    """Multiple of the identity's weights (a temperature) with the least loss on some of the rows.

    Newton steps from the identity itself diverge if probabilities are overconfident: the Hessian is near 0.
    """
    # The search holds the closure of ``slope`` until the next garbage collection, so it must not hold all rows.
    sample, identity = loss.on(loss.rows.every(max(1, len(loss.rows.labels) // _SAMPLE_ROWS))), loss.identity

    def slope(log_factor: float) -> float:
        return float(np.sum(sample.value_and_gradient(np.exp(log_factor) * identity)[1] * identity))

    low, high = np.log(_SCALES)
    if slope(low) > 0 or slope(high) < 0:
        return identity
    return np.asarray(np.exp(scipy.optimize.brentq(slope, low, high, xtol=0.02)) * identity)


Input = Literal["logits", "log-probabilities"]


@dataclass(frozen=True, eq=False)
class LogRows:
    """Scores that a softmax turns back into the probabilities: log p, clipped at the floor, or raw logits.

    Values have the dtype of the rows. A logit of minus infinity becomes the row's largest logit plus the logarithm of
    the floor.
    """

    rows: Rows
    kind: Input

    @classmethod
    def log_probabilities(cls, predictions: Predictions) -> LogRows:
        return cls(predictions.rows, "log-probabilities")

    @classmethod
    def best(cls, predictions: Predictions) -> LogRows:
        """Raw logits if the predictions have them, else log-probabilities."""
        if predictions.logits is not None and predictions.kind == "full":
            return cls(predictions.logits, "logits")
        return cls.log_probabilities(predictions)

    @classmethod
    def like(cls, kind: Input, predictions: Predictions) -> LogRows:
        """Input of the kind that a map was fitted on; InputError if the predictions lack it."""
        if kind == "logits" and predictions.logits is None:
            raise InputError(
                "this calibrator was fitted on raw logits, but these predictions have probabilities only: "
                "give Logits or predictions with logits, or fit it on probabilities"
            )
        return cls.best(predictions) if kind == "logits" else cls.log_probabilities(predictions)

    def blocks(self, block_bytes: int = BLOCK_BYTES) -> Iterator[tuple[slice, Floats]]:
        """Yield pairs of (rows covered, their values); the arrays are copies that may be overwritten."""
        for where, block in self.rows.blocks(block_bytes):
            yield where, self.values(block)

    def part(self, where: slice) -> LogRows:
        return LogRows(self.rows.part(where), self.kind)

    def every(self, stride: int) -> LogRows:
        """Every ``stride``-th row."""
        rows = self.rows
        chosen = Rows(rows.base[::stride]) if rows.index is None else Rows(rows.base, rows.index[::stride])
        return LogRows(chosen, self.kind)

    def tops(self, predictions: Predictions) -> Floats:
        """Largest value of each row, (n,)."""
        if self.kind == "log-probabilities":
            return log(predictions.confidence)
        return np.concatenate([block.max(axis=1) for _, block in self.rows.blocks()])

    def entries(self, columns: Codes) -> Floats:
        """Value of one column per row, (n,), as stored: probabilities or logits."""
        rows = self.rows
        return np.asarray(rows.base[np.arange(len(columns)) if rows.index is None else rows.index, columns])

    def values(self, block: Floats) -> Floats:
        return log(block) if self.kind == "log-probabilities" else _finite(block)


def log(p: Floats) -> Floats:
    """Logarithms in the given dtype, clipped at the floor; a 200 MB float32 matrix stays float32."""
    floor = p.dtype.type(LOG_FLOOR)
    # A check of the least entry costs a fifth of a pass that clips every entry.
    return np.asarray(np.log(p if p.min() >= floor else np.maximum(p, floor)))


def _finite(z: Floats) -> Floats:
    widest = _widest(z.dtype)
    if z.min() >= -widest and z.max() <= widest:
        return z.copy()
    return near_top(z, z.max(axis=1, keepdims=True))


def near_top(z: Floats, tops: Floats) -> Floats:
    """Logits limited to distances from the row's maximum that can be subtracted; minus infinity becomes the floor."""
    floor, widest = z.dtype.type(np.log(LOG_FLOOR)), _widest(z.dtype)
    with np.errstate(over="ignore"):  # below every number: nothing is clipped then
        least = tops - widest
    return np.where(np.isneginf(z), tops + floor, np.maximum(z, least))


def _widest(dtype: FloatType) -> Any:
    # A quarter of the largest number: two such logits, and their products with a share, can be subtracted.
    return dtype.type(np.finfo(dtype).max / 4)


_SAMPLE_VALUES = 1 << 20
"""Number of values in the rows that a fit begins with."""


_Sampled: TypeAlias = tuple[Any, ...]
"""Scores (m, K), labels (m,) and weights (m,)."""


class Parts:
    """Predictions in parts, with their total weight and a regular sample of rows, from one pass.

    Raises InputError if they cannot be read twice or differ in kind. Raises NotAnswerable for weights that are not
    counts of copies, since each part's weights were rescaled separately.
    """

    def __init__(self, parts: Iterable[Predictions]) -> None:
        if iter(parts) is parts:
            raise InputError(
                "these parts can be read only once, and fitting reads them several times: give a list, or a "
                "cc.readers.StreamedFile"
            )
        self._parts = parts
        self.mass, self.rows = 0.0, 0
        sample: _Sampled | None = None
        first, stride = None, 1
        for part in self:
            if first is not None and (part.class_names, part.kind, part.logits is None) != first:
                raise InputError("the parts differ in their classes, or only some have logits")
            first = part.class_names, part.kind, part.logits is None
            some = _sampled(part, slice(-self.rows % stride, None, stride))
            sample = some if sample is None else tuple(map(np.concatenate, zip(sample, some, strict=True)))
            self.rows += part.n_rows
            self.mass += weight(part)
            while sample[0].size > _SAMPLE_VALUES and len(sample[0]) > 1:
                sample, stride = tuple(a[::2] for a in sample), 2 * stride
        if sample is None or first is None:
            raise InputError("there are no rows to fit on; give at least one part with rows of positive weight")
        self.sample = _predictions(sample, *first)

    def __iter__(self) -> Iterator[Predictions]:
        for given in self._parts:
            part = given.answered
            if not whole(part.weights):
                raise NotAnswerable(
                    "rows in parts need equal weights or whole-number weights; these weights are not counts of copies: "
                    "fit on all rows at once"
                )
            if weight(part):
                yield part


class PartedRows(Rowwise):
    """Rows of all parts as inputs of a softmax loss, in float64; ``every`` draws on the sample."""

    def __init__(self, parts: Parts, source: Callable[[Predictions], LogRows]) -> None:
        self.parts, self._source_of = parts, source
        self.sample = self._of(parts.sample)
        self.n_classes, self.source, self.labels = self.sample.n_classes, self.sample.source, self.sample.labels
        self.mass = parts.mass

    @property
    def dtype(self) -> FloatType:
        return np.dtype(np.float64)

    def blocks(self) -> Iterator[tuple[Floats, Codes, Float64s]]:
        for part in self.parts:
            rows = self._of(part)
            for x, labels, weights in rows.blocks():
                yield x, labels, weights * (rows.mass / self.mass)

    def take(self, index: Codes) -> Rowwise:
        return self.sample.take(index)

    def _of(self, part: Predictions) -> Rowwise:
        return Rowwise(self._source_of(part), part.true_labels, part.weights)


def weight(part: Predictions) -> float:
    """Total weight of the rows."""
    return float(part.n_rows if part.weights is None else part.weights.sum())


def _sampled(part: Predictions, where: slice) -> _Sampled:
    """Copies of some rows' scores, labels and weights: a view would keep the whole part in memory."""
    rows = LogRows.best(part).rows
    index = np.arange(part.n_rows)[where]
    weights = np.ones(part.n_rows) if part.weights is None else part.weights
    return np.array(rows.take(index).array()), part.true_labels[index], weights[index]


def _predictions(sample: _Sampled, names: tuple[str, ...] | None, kind: Kind, probabilities: bool) -> Predictions:
    values, labels, weights = sample
    how: dict[str, Any] = {"weights": weights if weights.any() else None, "class_names": names}
    if not probabilities:
        return Predictions.from_logits(Logits(values), labels, **how)
    make = Predictions if kind == "full" else Predictions.from_scores
    return make(values, labels, **how)
