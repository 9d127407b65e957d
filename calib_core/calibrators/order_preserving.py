"""Diagonal intra-order-preserving maps: one increasing curve for the log-probabilities of all classes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Annotated

import numpy as np

from calib_core._base.arrays import Codes, Float64s
from calib_core._base.parallel import Progress, one_blas_thread, silent
from calib_core._base.sklearn_api import check_is_fitted
from calib_core.calibrators.base import CALIBRATORS, Calibrator, Contract
from calib_core.calibrators.calibration_rows import row_count
from calib_core.calibrators.fitting.minimisers import minimum
from calib_core.calibrators.fitting.softmax_loss import LogRows, log
from calib_core.calibrators.insides import Insides, Number, Profile
from calib_core.calibrators.linear_maps import mapped
from calib_core.calibrators.temperature import NOTES, Temperature
from calib_core.predictions.predictions import Predictions
from calib_core.registry.registry import Range
from calib_core.text import several

_KEPT_BYTES = 1 << 27
"""Each piece's part of each logit is cached up to 128 MB; beyond that it is recomputed each time."""

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
        """The loss on every ``stride``-th row."""
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
        """Matrix of the quadratic form sum_b (r_b - r_(b+1))²."""
        steps = np.diff(np.eye(len(self.knots) + 1), axis=0)
        return np.asarray(steps.T @ steps)

    def _blocks(self) -> Iterator[Block]:
        """Yield triples of f_b(x) (B, m, K), labels and weights."""
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


MOST_PIECES = 8
ROWS_A_PIECE = 100

_MANY_VALUES = 5_000_000
_STRIDE = 16
"""Stride of the rows for the first fit if there are many probabilities."""


@CALIBRATORS.register(
    "iop",
    "Intra-order-preserving map",
    reference="Rahimi et al. 2020",
    flags=Contract(
        "full",
        keeps_argmax=True,
        sums_to_one=True,
        keeps_order=True,
        profile=Profile(
            "scaling",
            "Maps all log-probabilities by one increasing curve, and keeps every ranking.",
            rows=(400, 0, 0),
            candidate_for=("full",),
        ),
    ),
)
@dataclass(eq=False, repr=False)
class OrderPreserving(Calibrator):
    """Maps the log-probabilities of all classes by one increasing curve, so the ranking of classes never changes.

    q = softmax(m(log p_1), ..., m(log p_K)) with m strictly increasing, the same for every class. This is the diagonal
    subfamily of the intra-order-preserving maps, where the output of a class depends on its own input only. Ties stay
    ties. The paper's m is a monotone neural network of raw logits. Here it is a piecewise linear function of
    log-probabilities, which has a unique best fit: the log loss is convex in the slopes.

    m is linear between B - 1 knots, which divide the rows evenly by the log-probability of their second class;
    B = min(8, 1 + n / 100) for n calibration rows. Slopes are r_b / T, with T that of temperature scaling. Newton's
    method finds the r that minimize mean log loss + λ/n (sum_b (r_b - r_(b+1))² + sum_b (r_b - 1 - log r_b)), λ =
    ``smoothness``. The penalty is 0 at temperature scaling, where all r are 1. The log loss of the calibration rows
    therefore never exceeds that of temperature scaling; the logarithm keeps slopes above 0.

    ``temperature_`` is T, ``knots_`` (B - 1,) are the knots, ``slopes_`` (B,) the slopes from the least log-probability
    up. If the rows do not identify T (``status_``, as in temperature scaling), the map is that of T only.

    What can mislead: there is a single slope below the lowest knot. One row in B has its second class there, and
    confident rows have most of their classes there.

    References: Rahimi, Shaban, Cheng, Hartley & Boots 2020, §3 (diagonal intra-order-preserving functions).

    >>> p = np.tile([[0.9, 0.1]], (10, 1))
    >>> cal = OrderPreserving().fit(p, [0] * 8 + [1] * 2)
    >>> cal.predict_proba(p[:1]).round(6).tolist()
    [[0.8, 0.2]]
    """

    smoothness: Annotated[
        float, Range(1e-3, 1e6, log=True), "Smoothness (λ)", "λ: larger values make the curve straighter"
    ] = 1.0

    def _fit(self, predictions: Predictions, progress: Progress) -> None:
        plain = predictions if predictions.logits is None else predictions.with_probs(predictions.probs)
        scaling = Temperature().fit_on(plain)
        self.temperature_, self.status_ = scaling.temperature_, scaling.status_
        n = row_count(plain.weights, plain.n_rows)
        pieces = min(MOST_PIECES, 1 + int(n / ROWS_A_PIECE)) if self.status_ == "converged" else 1
        self.knots_ = _knots(plain, pieces)
        ratios = np.ones(len(self.knots_) + 1)
        if len(self.knots_):
            weights = np.ones(plain.n_rows) if plain.weights is None else plain.weights
            source = LogRows.log_probabilities(plain)
            strength = float(self.smoothness) / n
            shares, scale = weights / weights.sum(), 1.0 / self.temperature_
            loss = CurveLoss(source, plain.true_labels, shares, self.knots_, scale, strength, progress)
            with one_blas_thread():
                if plain.rows.shape[0] * plain.rows.shape[1] > _MANY_VALUES and weights[::_STRIDE].any():
                    ratios = minimum(loss.every(_STRIDE), ratios, 1e-5).point
                ratios = minimum(loss, ratios).point
        self.slopes_ = ratios / self.temperature_

    @property
    def note(self) -> str:
        check_is_fitted(self)
        return NOTES.get(self.status_, "")

    def insides(self, names: Sequence[str] = ()) -> Insides:
        check_is_fitted(self)
        ends = np.exp(np.concatenate([[-np.inf], self.knots_, [0.0]]))
        return Insides(
            several(len(self.slopes_), "slopes"),
            "Maps the log-probabilities of all classes by one increasing curve, so no two classes change places.",
            lambda: [
                Number("slope", float(slope), place=f"probabilities from {low:.3g} to {high:.3g}")
                for slope, (low, high) in zip(self.slopes_, pairwise(ends), strict=True)
            ],
            unit="curve",
        )

    def corners(self) -> tuple[Float64s, Float64s]:
        """Upper end of each linear piece and the value of m there, with m(0) = 0: both (B,)."""
        ends = np.append(self.knots_, 0.0)
        rises = np.diff(ends) * self.slopes_[1:]
        return ends, np.append(-np.cumsum(rises[::-1])[::-1], 0.0)

    def _apply(self, predictions: Predictions, progress: Progress) -> Predictions:
        source = LogRows.log_probabilities(predictions)
        return predictions.with_probs(mapped(source, predictions, self._curve, progress))

    def _curve(self, x: Float64s) -> Float64s:
        ends, heights = self.corners()
        piece = np.searchsorted(self.knots_, x)
        # From a piece's upper end down, like the sums of the heights, so rounding cannot make two pieces overlap.
        return np.asarray(heights[piece] + self.slopes_[piece] * (x - ends[piece]))


def _knots(predictions: Predictions, pieces: int) -> Float64s:
    """Ascending log-probabilities of second classes that divide the rows into equal parts, one per piece."""
    second = log(predictions.top(2)[1][:, 1].astype(np.float64))
    shares = np.arange(1, pieces) / pieces
    return np.unique(np.quantile(second, shares, weights=predictions.weights, method="inverted_cdf"))
