"""Ensemble temperature scaling."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy

from calib_core._base.arrays import LOG_FLOOR, Float64s, Floats, frozen
from calib_core._base.parallel import Progress
from calib_core._base.sklearn_api import check_is_fitted
from calib_core.calibrators.base import CALIBRATORS, Calibrator, Contract
from calib_core.calibrators.insides import Insides, Number, Profile
from calib_core.calibrators.temperature import NOTES, Temperature, softened
from calib_core.predictions.predictions import Predictions
from calib_core.text import short_percent

_RIDGE = 1e-10
"""Ridge on the weights towards pure temperature scaling; it decides if T = 1 makes two members equal."""


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
            "Averages temperature scaling, the original model and a uniform prediction.",
            rows=(150, 0, 0),
            candidate_for=("full",),
        ),
    ),
)
@dataclass(eq=False, repr=False)
class EnsembleTemperature(Calibrator):
    """Weighted average of the temperature-scaled probabilities, the original ones and the uniform distribution.

    q = w1 softmax(log p / T) + w2 p + w3 / K with w1 + w2 + w3 = 1, none negative. In two stages, as in the paper, T
    minimizes the log loss of temperature scaling, then w that of the mixture with T fixed. The pair is not the joint
    minimum. The second stage is convex, and its log loss on the calibration rows is never above that of temperature
    scaling or of the original model. The predicted class never changes.

    ``weights_`` are (w1, w2, w3), ``temperature_`` is T; ``status_`` and ``note`` report whether T was identified, as
    in temperature scaling. With fewer than 10 rows T is 1 and the weights are (1, 0, 0): the rows do not change. If T
    is near 1 the first two members are nearly equal, and their individual weights mean little.

    References: Zhang, Kailkhura & Han 2020, §4.1 (with log loss; their code always uses squared error).

    >>> p = np.tile([[0.9, 0.1]], (10, 1))
    >>> cal = EnsembleTemperature().fit(p, [0] * 8 + [1] * 2)
    >>> cal.predict_proba(p[:1]).round(6).tolist()
    [[0.8, 0.2]]
    """

    def _fit(self, predictions: Predictions, progress: Progress) -> None:
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
        parts = ("weight of temperature scaling", "weight of the original model", "weight of the uniform prediction")
        scaled, plain, even = map(short_percent, shares)
        return Insides(
            f"T = {self.temperature_:.3g}, 3 weights",
            f"Averages temperature scaling with T = {self.temperature_:.3g} ({scaled}), the original model ({plain}) "
            f"and a uniform prediction ({even}).",
            lambda: [Number("temperature T", self.temperature_), *map(Number, parts, shares)],
        )

    def _apply(self, predictions: Predictions, progress: Progress) -> Predictions:
        out: Floats = softened(predictions, self.temperature_).copy()
        w1, w2, w3 = self.weights_
        for where, block in predictions.rows.blocks():
            # In float64: rounding between the sums could make two equal classes differ.
            out[where] = w1 * out[where].astype(np.float64) + w2 * block.astype(np.float64) + w3 / block.shape[1]
        return predictions.with_probs(frozen(out))


def mixture_weights(members: Float64s, row_weights: Float64s) -> Float64s:
    """Weights on the simplex that minimize -sum_i v_i log(members_i . w), members (n, 3) > 0."""
    prior = np.array([1.0, 0.0, 0.0])

    def loss(w: Float64s) -> tuple[float, Float64s]:
        mixed = np.maximum(members @ w, LOG_FLOOR)  # rounding may take the search off the simplex between steps
        value = 0.5 * _RIDGE * np.sum((w - prior) ** 2) - row_weights @ np.log(mixed)
        return float(value), _RIDGE * (w - prior) - (row_weights / mixed) @ members

    start, box, simplex = (
        np.array([0.8, 0.1, 0.1]),
        [(0.0, 1.0)] * 3,
        scipy.optimize.LinearConstraint(np.ones((1, 3)), 1.0, 1.0),
    )
    found = scipy.optimize.minimize(
        loss, start, jac=True, method="SLSQP", bounds=box, constraints=simplex, options={"ftol": 1e-15}
    )
    w = np.maximum(found.x, 0.0)
    return np.asarray(w / w.sum())
