"""Temperature scaling."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np

from calib_core._base.arrays import LOG_FLOOR, Float64s, Floats, Rows, frozen
from calib_core._base.parallel import Progress, chunks, shared_out
from calib_core._base.sklearn_api import check_is_fitted
from calib_core.calibrators.base import CALIBRATORS, Calibrator, Contract
from calib_core.calibrators.calibration_rows import row_count
from calib_core.calibrators.fitting.softmax_loss import LogRows, Parts, near_top, weight
from calib_core.calibrators.insides import Insides, Number, Profile
from calib_core.predictions.predictions import Logits, Predictions

_INVERSE_BOUNDS = (1e-3, 1e3)
"""Search range of 1/T; if the likelihood still improves at a bound, T is not identified."""

FEWEST_ROWS = 10
"""Fewest rows for one parameter, by the rule of thumb of regression; with fewer T is 1.

With ten rows of confidence .9 the standard error of 1/T is still half of its value.
"""

NOTES = {
    "too few rows": f"fewer than {FEWEST_ROWS} calibration rows cannot identify a temperature: T stays at 1.",
    "no finite optimum": "in every calibration row the true class has the largest probability, so a smaller T always "
    "fits better and there is no optimum: T stays at 1.",
    "not identified": "all calibration rows are uniform, so every T fits equally well: T stays at 1.",
    "at bound": "the best T is at the end of its range, where rows are nearly uniform or nearly certain: T is a bound, "
    "not an estimate.",
}
"""Explanation of each status other than "converged"."""

_STRIDES = (256, 16)
"""Strides of the rows for the first two estimates of 1/T, if they leave enough rows."""
_SAMPLE_ROWS = 128

_KEPT_BYTES = 1 << 24
"""Logarithms are cached between Newton steps up to 16 MB; beyond that they are recomputed by blocks."""

_CHUNK_ROWS = 2048


@CALIBRATORS.register(
    "temperature",
    "Temperature scaling",
    reference="Guo et al. 2017",
    flags=Contract(
        "full",
        keeps_argmax=True,
        sums_to_one=True,
        monotone=False,
        keeps_order=True,
        profile=Profile(
            "scaling",
            "Scales all confidences up or down with one parameter.",
            rows=(50, 0, 0),
            first_for=("full", "per-class"),
            why_first="it fits one number, so few rows are enough, and it changes no predicted class",
            candidate_for=("full",),
        ),
    ),
)
@dataclass(eq=False, repr=False)
class Temperature(Calibrator):
    """Divides all log-probabilities by one number T > 0, which lowers or raises all confidences.

    q = softmax(log p / T) with T minimizing the mean log loss of the calibration rows. Raw logits, if the predictions
    have them, replace log p. This gives the same q without the rounding of p to 0 or 1; the output has the logits
    divided by T. The log loss is convex in 1/T. Newton steps inside a shrinking bracket find the root of its
    derivative, first on some of the rows. The predicted class never changes.

    T is exact to a relative 1e-10 or so; for float32 rows, whose arithmetic is float32, to about 1e-6.

    ``temperature_`` is T. ``status_`` is "converged", or the reason why T is not an estimate. T is 1 in three cases.
    With "too few rows" there are fewer than 10; weighted rows count as their effective sample size, whole weights as
    copies. With "no finite optimum" the true class has the largest probability in every row, so T -> 0 fits best and
    would make every later row certain. With "not identified" all rows are uniform. T is a bound with "at bound". The
    loss then still falls at T = 1000, as the log-probabilities have no or wrong information about the labels and nearly
    uniform rows fit best, or at T = 0.001. ``note`` explains the status in a sentence. ``floored_`` counts calibration
    rows whose true class had a probability below the floor of the logarithm, or a logit of minus infinity. A few such
    rows can dominate T.

    References: Guo et al. 2017; P3 §2.5.

    >>> p = np.tile([[0.9, 0.1]], (10, 1))
    >>> cal = Temperature().fit(p, [0] * 8 + [1] * 2)
    >>> cal.predict_proba(p[:1]).round(6).tolist()
    [[0.8, 0.2]]
    >>> Temperature().fit(p, [0] * 10).note
    'in every calibration row the true class has the largest probability, so a smaller T always fits better and there is
    \
no optimum: T stays at 1.'
    """

    by_sums: ClassVar[bool] = True

    def _fit(self, predictions: Predictions, progress: Progress) -> None:
        self.floored_ = _floored(predictions)
        self._solve(_Loss.of(predictions), row_count(predictions.weights, predictions.n_rows))

    def _fit_parts(self, parts: Parts) -> None:
        self.floored_ = sum(map(_floored, parts))
        self._solve(_PartedLoss(parts), parts.mass)

    def _solve(self, loss: _Sum, rows: float) -> None:
        inverse, self.status_ = (1.0, "too few rows") if rows < FEWEST_ROWS else _root(loss)
        # The last digits of a sum depend on the order of its terms, and they decide whether tied scores stay tied. So
        # T is rounded to the digits that the order of the rows cannot change.
        self.temperature_ = float(f"{1.0 / inverse:.11g}")

    @property
    def note(self) -> str:
        check_is_fitted(self)
        return NOTES.get(self.status_, "")

    def insides(self, names: Sequence[str] = ()) -> Insides:
        check_is_fitted(self)
        return of_temperature(self.temperature_)

    def _apply(self, predictions: Predictions, progress: Progress) -> Predictions:
        logits = None if predictions.logits is None else _divided(predictions.logits, self.temperature_)
        return predictions.with_probs(softened(predictions, self.temperature_), logits=logits)


def of_temperature(temperature: float) -> Insides:
    """Description of the effect of one temperature.

    >>> of_temperature(1.6913).short, of_temperature(0.5).sentence
    ('T = 1.69', 'Divides all log-probabilities by 0.5, which raises all confidences.')
    """
    effect = "raises" if temperature < 1 else "lowers"
    words = "changes no confidence" if temperature == 1 else f"{effect} all confidences"
    return Insides(
        f"T = {temperature:.3g}",
        f"Divides all log-probabilities by {temperature:.3g}, which {words}.",
        lambda: [Number("temperature T", temperature)],
        unit="temperature",
        temperature=temperature,
    )


def softened(predictions: Predictions, temperature: float) -> Floats:
    """Return softmax(log p / T), (n, K), in the dtype of the probabilities."""
    logs = LogRows.best(predictions)
    out = np.empty(predictions.rows.shape, dtype=predictions.rows.dtype)
    inverse = logs.rows.dtype.type(1.0 / temperature)

    def work(chunk: slice) -> None:
        for where, z in logs.part(chunk).blocks():
            z -= z.max(axis=1, keepdims=True)
            z *= inverse
            np.exp(z, out=z)
            z /= z.sum(axis=1, keepdims=True)
            out[chunk.start + where.start : chunk.start + where.stop] = z

    list(shared_out(work, chunks(len(out), _CHUNK_ROWS)))
    return frozen(out)


class _Sum(Protocol):
    """First and second derivatives of the mean log loss, for any source of rows."""

    separable: bool
    tolerance: float

    def __call__(self, b: float) -> tuple[float, float]: ...
    def every(self, stride: int) -> _Loss | None: ...


class _PartedLoss:
    """Derivatives for rows in parts, read again each time; the first estimates use a sample."""

    def __init__(self, parts: Parts) -> None:
        self.parts = parts
        self._sample = _Loss.of(parts.sample)
        self.separable = all(_Loss.of(part).separable for part in parts)
        self.tolerance = self._sample.tolerance

    def __call__(self, b: float) -> tuple[float, float]:
        sums = np.sum([weight(part) * np.array(_Loss.of(part)(b)) for part in self.parts], axis=0)
        return float(sums[0] / self.parts.mass), float(sums[1] / self.parts.mass)

    def every(self, stride: int) -> _Loss | None:
        """The sample, for the finest of the strides."""
        return None if stride > _STRIDES[-1] or self._sample.separable else self._sample


class _Loss:
    """First and second derivatives in b = 1/T of the mean log loss, log sum_k exp(b l_k) - b l_y."""

    def __init__(self, logs: LogRows, true: Floats, tops: Floats, weights: Float64s) -> None:
        self.logs, self.true, self.tops = logs, true, tops
        self.weights = weights / weights.sum()
        n, k = logs.rows.shape
        self.chunks = chunks(n, _CHUNK_ROWS)
        self.kept: dict[int, list[tuple[slice, Floats]]] | None = None
        if n * k * logs.rows.dtype.itemsize <= _KEPT_BYTES:
            self.kept = {}
        # If the true class is always the largest, the loss has no minimum, but soon falls by less than can be computed.
        self.separable = bool((true == tops)[weights > 0].all())
        # Tolerance of the relative error of 1/T; for float32, limited by the rounding of its logarithms.
        self.tolerance = 1e-10 if logs.rows.dtype == np.float64 else 1e-7

    @classmethod
    def of(cls, predictions: Predictions) -> _Loss:
        logs = LogRows.best(predictions)
        n = predictions.n_rows
        stored = logs.entries(predictions.true_labels)
        tops = logs.tops(predictions)
        true = logs.values(stored[:, None])[:, 0] if logs.kind == "log-probabilities" else near_top(stored, tops)
        weights = np.ones(n) if predictions.weights is None else predictions.weights
        return cls(logs, true, tops, weights)

    def every(self, stride: int) -> _Loss | None:
        """The loss on every ``stride``-th row; None if they are too few or do not identify a temperature."""
        some = slice(None, None, stride)
        if len(self.true) < _SAMPLE_ROWS * stride or not self.weights[some].any():
            return None
        sample = _Loss(self.logs.every(stride), self.true[some], self.tops[some], self.weights[some])
        return None if sample.separable else sample

    def __call__(self, b: float) -> tuple[float, float]:
        parts = np.array(list(shared_out(lambda chunk: self._part(chunk, b), self.chunks)))
        slope, curvature = parts.sum(axis=0)
        return float(slope), float(curvature)

    def _part(self, chunk: slice, b: float) -> tuple[float, float]:
        slope = curvature = 0.0
        true, tops, weights = self.true[chunk], self.tops[chunk], self.weights[chunk]
        for where, logs in self._blocks(chunk):
            odds = logs * logs.dtype.type(b)
            np.exp(odds, out=odds)
            total = np.einsum("ij->i", odds)
            mean = np.vecdot(odds, logs) / total
            odds *= logs
            variance = np.maximum(np.vecdot(odds, logs) / total - mean * mean, 0.0)
            # In float64 from here on: a sum over rows must not lose precision.
            excess = mean.astype(np.float64) - (true[where].astype(np.float64) - tops[where])
            slope += float(weights[where] @ excess)
            curvature += float(weights[where] @ variance)
        return slope, curvature

    def _blocks(self, chunk: slice) -> Iterable[tuple[slice, Floats]]:
        """Logarithms minus their row's maximum, so no exponential overflows."""
        if self.kept is not None and chunk.start in self.kept:
            return self.kept[chunk.start]
        blocks = self._shifted(chunk)
        if self.kept is None:
            return blocks
        return self.kept.setdefault(chunk.start, list(blocks))

    def _shifted(self, chunk: slice) -> Iterator[tuple[slice, Floats]]:
        tops = self.tops[chunk]
        for where, logs in self.logs.part(chunk).blocks():
            logs -= tops[where, None]
            yield where, logs


def _root(loss: _Sum) -> tuple[float, str]:
    """Root 1/T of the derivative, found on some of the rows before all rows are used."""
    if loss.separable:
        uniform = loss(1.0) == (0.0, 0.0)
        return 1.0, "not identified" if uniform else "no finite optimum"
    start = _Start(1.0)
    for stride in _STRIDES:
        sample = loss.every(stride)
        if sample is not None:
            start = _newton(sample, start, 1e-6)
    b = _newton(loss, start, loss.tolerance).b
    # Steps towards a bound may stop short of it, so the slope at the bound itself decides.
    low, high = _INVERSE_BOUNDS
    if b < 2 * low and loss(low)[0] >= 0:
        return low, "at bound"
    if b > high / 2 and loss(high)[0] <= 0:
        return high, "at bound"
    return b, "converged"


@dataclass(frozen=True)
class _Start:
    """Start of the Newton steps: 1/T and an estimate of the loss's third derivative."""

    b: float
    third: float = 0.0
    error: float = 1.0  # relative error of the third derivative, of the order of the squared distance of its two points


def _newton(loss: _Sum, start: _Start, tolerance: float) -> _Start:
    """Newton steps with the third derivative estimated from the last two points, inside a bracket of the root."""
    low, high = _INVERSE_BOUNDS
    b, third, error = start.b, start.third, start.error
    slope, curvature = loss(b)
    for _ in range(100):
        low, high = (b, high) if slope < 0 else (low, b)
        following = _step(b, slope, curvature, third)
        if not low < following < high:
            # Geometric bisection: the bracket spans six orders of magnitude.
            following = float(np.sqrt(low * high))
        move = abs(following - b) / b
        if slope == 0.0 or move * move * error <= tolerance or high - low <= 1e-15 * high:
            return _Start(following if slope else b, third, max(error, 0.1))
        before = b, slope, curvature
        b = following
        slope, curvature = loss(b)
        third, error = _third(before, (b, slope, curvature)), min(1.0, move * move)
    return _Start(b, third, error)


def _step(b: float, slope: float, curvature: float, third: float) -> float:
    if curvature <= 0:
        return -1.0
    newton = slope / curvature
    bend = 1.0 - newton * third / (2.0 * curvature)
    return b - newton / (bend if 0.5 < bend < 2.0 else 1.0)


def _third(left: tuple[float, float, float], right: tuple[float, float, float]) -> float:
    """Third derivative at the second of two points, from slopes and curvatures at both (cubic Hermite)."""
    (b0, g0, h0), (b1, g1, h1) = left, right
    d = b1 - b0
    return (2.0 * h0 + 4.0 * h1) / d - 6.0 * (g1 - g0) / (d * d)


def _floored(predictions: Predictions) -> int:
    logs = LogRows.best(predictions)
    stored = logs.entries(predictions.true_labels)
    return int((np.isneginf(stored) if logs.kind == "logits" else stored < LOG_FLOOR * (1 + 1e-9)).sum())


def _divided(logits: Rows, temperature: float) -> Logits:
    out = np.empty(logits.shape, dtype=logits.dtype)
    most = np.finfo(out.dtype).max
    for where, block in logits.blocks():
        with np.errstate(over="ignore"):  # an overflow becomes the largest number: nearly certain
            np.divide(block, logits.dtype.type(temperature), out=out[where])
        if np.isposinf(out[where]).any():
            np.minimum(out[where], most, out=out[where])
    return Logits(frozen(out))
