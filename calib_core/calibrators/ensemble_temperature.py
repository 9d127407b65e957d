"""Ensemble temperature scaling."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from calib_core._adjustable import check_is_fitted
from calib_core._arrays import LOG_FLOOR, Float64s, Floats, frozen
from calib_core.calibrators.base import CALIBRATORS, Calibrator, Contract
from calib_core.calibrators.insides import Insides, Number
from calib_core.calibrators.profile import Profile
from calib_core.calibrators.temperature import NOTES, Temperature, softened
from calib_core.predictions import Predictions

_RIDGE = 1e-10
"""Pull of the weights towards temperature scaling alone: decides where T = 1 makes two members the same."""

_FACES = tuple(face for size in (1, 2, 3) for face in combinations(range(3), size))
_STEPS = 100


@CALIBRATORS.register(
    "ensemble-temperature",
    "Ensemble temperature scaling",
    reference="Zhang et al. 2020",
    flags=Contract(
        "full",
        keeps_argmax=True,
        sums_to_one=True,
        keeps_order=True,
        profile=Profile(
            "scaling",
            "Mixes temperature scaling with the model as it is and with equal chances.",
            rows=(150, 0, 0),
            candidate_for=("full",),
        ),
    ),
)
@dataclass(eq=False, repr=False)
class EnsembleTemperature(Calibrator):
    """Mixes the temperature-scaled probabilities, the original ones and the uniform distribution.

    q = w1 softmax(log p / T) + w2 p + w3 / K with w1 + w2 + w3 = 1, none negative. In two stages, as in the paper:
    T minimises the log loss of temperature scaling alone, then w that of the mixture with T held; the pair is not the
    joint minimum. The second stage is convex; Newton steps on the simplex solve it to rounding, and its log
    loss on the calibration rows is never above temperature scaling's nor the base model's. The predicted class never
    changes.

    ``weights_`` are (w1, w2, w3), ``temperature_`` is T; ``status_`` and ``note`` say whether T was found, as in
    temperature scaling. With fewer than 10 rows T stays 1 and the weights (1, 0, 0): the rows as they are. Where T is
    near 1 the first two members are nearly the same and their weights mean little.

    References: Zhang, Kailkhura & Han 2020, §4.1 (with log loss; their code uses squared error whatever is asked).

    >>> p = np.tile([[0.9, 0.1]], (10, 1))
    >>> cal = EnsembleTemperature().fit(p, [0] * 8 + [1] * 2)
    >>> cal.predict_proba(p[:1]).round(6).tolist()
    [[0.8, 0.2]]
    """

    def _fit(self, predictions: Predictions) -> None:
        scaling = Temperature().fit_on(predictions)
        self.temperature_, self.status_ = scaling.temperature_, scaling.status_
        if self.status_ == "too few rows":
            self.weights_ = np.array([1.0, 0.0, 0.0])
            return
        labels, rows = predictions.true_labels, predictions.rows
        soft = softened(predictions, self.temperature_)[np.arange(len(labels)), labels]
        line = np.arange(len(labels)) if rows.index is None else rows.index
        members = np.column_stack([soft, rows.base[line, labels], np.full(len(labels), 1.0 / rows.shape[1])])
        weights = np.ones(len(labels)) if predictions.weights is None else predictions.weights
        self.weights_ = mixture_weights(np.maximum(members.astype(np.float64), LOG_FLOOR), weights / weights.sum())

    @property
    def note(self) -> str:
        check_is_fitted(self)
        return NOTES.get(self.status_, "")

    def insides(self, names: Sequence[str] = ()) -> Insides:
        check_is_fitted(self)
        shares = [float(w) for w in self.weights_]
        parts = ("share of temperature scaling", "share of the model as it is", "share of equal chances")
        scaled, plain, even = (f"{100 * share:.3g} %" for share in shares)
        return Insides(
            f"T = {self.temperature_:.3g}, 3 shares",
            f"Mixes {scaled} of temperature scaling with T = {self.temperature_:.3g}, {plain} of the model as it is "
            f"and {even} of equal chances.",
            lambda: [Number("temperature T", self.temperature_), *map(Number, parts, shares)],
        )

    def _apply(self, predictions: Predictions) -> Predictions:
        out: Floats = softened(predictions, self.temperature_).copy()
        w1, w2, w3 = self.weights_
        for where, block in predictions.rows.blocks():
            # In float64: rounded between the sums, two equal classes could part.
            out[where] = w1 * out[where].astype(np.float64) + w2 * block.astype(np.float64) + w3 / block.shape[1]
        return predictions.with_probs(frozen(out))


def mixture_weights(members: Float64s, row_weights: Float64s) -> Float64s:
    """Weights on the simplex that minimise -sum_i v_i log(members_i . w), members (n, 3) > 0.

    Newton's method: each step goes to the minimum over the simplex of the parabola at the current weights, as far as
    the loss falls.
    """
    prior = np.array([1.0, 0.0, 0.0])

    def value(w: Float64s) -> float:
        return float(0.5 * _RIDGE * np.sum((w - prior) ** 2) - row_weights @ np.log(members @ w))

    w = np.array([0.8, 0.1, 0.1])
    loss = value(w)
    for _ in range(_STEPS):
        shares = members / (members @ w)[:, None]
        slope = _RIDGE * (w - prior) - row_weights @ shares
        curvature = (shares * row_weights[:, None]).T @ shares + _RIDGE * np.eye(3)
        move = _least_on_simplex(curvature, slope - curvature @ w) - w
        fall = -float(slope @ move)
        if fall <= 1e-14:
            # What rounding of the loss cannot see any more is taken on trust: the step squares the error.
            moves = np.abs(move).max()
            w = np.maximum(w + move, 0.0)
            w = w / w.sum()
            if moves < 1e-9 or fall <= 1e-25:
                break
            loss = value(w)
            continue
        size = 1.0
        while size > 1e-10 and not value(w + size * move) <= loss - 1e-4 * size * fall + 1e-15:
            size /= 2.0
        w = np.maximum(w + size * move, 0.0)
        w, loss = w / w.sum(), value(w / w.sum())
    return w


def _least_on_simplex(a: Float64s, c: Float64s) -> Float64s:
    """The w of the simplex with the least w'aw/2 + c'w: the best of the least points of its seven faces."""
    best, least = np.full(3, 1.0 / 3.0), np.inf
    for face in _FACES:
        on = list(face)
        system = np.ones((len(on) + 1, len(on) + 1))
        system[:-1, :-1] = a[np.ix_(on, on)]
        system[-1, -1] = 0.0
        w = np.zeros(3)
        w[on] = np.linalg.solve(system, np.append(-c[on], 1.0))[:-1]
        value = float(0.5 * w @ a @ w + c @ w)
        if w.min() >= 0 and value < least:
            best, least = w, value
    return best
