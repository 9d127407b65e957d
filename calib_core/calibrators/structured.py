"""Structured matrix scaling: temperature scaling plus the refinements that the rows support."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np

from calib_core._base.arrays import Float64s, Floats
from calib_core._base.parallel import Progress, one_blas_thread
from calib_core._base.sklearn_api import check_is_fitted
from calib_core.calibrators import linear_maps
from calib_core.calibrators.base import CALIBRATORS, Calibrator, Contract
from calib_core.calibrators.calibration_rows import row_count
from calib_core.calibrators.fitting.softmax_loss import AffineLoss, DiagonalLoss, LogRows, Odir, Rowwise, fitted
from calib_core.calibrators.insides import Insides, Number, Profile, class_names
from calib_core.calibrators.temperature import NOTES, Temperature, softened
from calib_core.predictions.predictions import Predictions
from calib_core.registry.registry import Flag, Range

MOST_MIXED = 200
"""Maximum number of classes K with mixing: the fit of K x K weights takes seconds at 200 and grows with K squared."""

_MATRIX = Profile(
    "scaling",
    "Temperature scaling, plus weights between classes, as far as the rows suffice to fit them.",
    rows=(0, 50, 0),
    candidate_for=("full",),
    fewest_classes=3,
)
_FLAGS = Contract("full", keeps_argmax=False, sums_to_one=True, profile=_MATRIX)


@CALIBRATORS.register("structured", "Structured matrix scaling", reference="Berta et al. 2025", flags=_FLAGS)
@dataclass(eq=False, repr=False)
class StructuredScaling(Calibrator):
    """Temperature scaling, then weights between classes and offsets, with a stronger penalty if rows are few.

    q = softmax((I + diag(v) + M) x + b), x = log((n r + 1/K) / (n + 1)), r = softmax(log p / T) with T of temperature
    scaling. The parameters are v, b (K,) and M (K, K), zero on its diagonal. They minimize the mean log loss of the n
    calibration rows + λ K/n (|v|² + |b|²) + λ K(K-1)/n |M|², λ = ``strength``. These are normal priors with standard
    deviations 1 / sqrt(2 λ K) of v and b and 1 / sqrt(2 λ K(K-1)) of M, smaller if there are more numbers. With few
    rows all of them stay near 0 and the map is nearly temperature scaling. The penalized loss is strictly convex: it
    has one minimum, even on separable rows. Rows are shrunk towards the uniform distribution by a weight of 1 in n + 1,
    so that a probability of nearly 0 does not dominate the fit. On the calibration rows the log loss is never above
    that of temperature scaling with this shrinkage.

    With ``mixing`` off (structured vector scaling, ``svs``), or above 200 classes, M = 0: a weight and an offset for
    each class; ``note`` reports the latter.
    The predicted class can change. Weighted rows count as their effective sample size, whole weights as copies.

    ``temperature_`` is T, ``weights_`` I + diag(v) + M (K, K), or 1 + v (K,) without mixing, ``intercepts_`` b.

    What can mislead: the strength is the authors' rule of thumb, which did well on many data sets; it is not chosen for
    these rows. If temperature scaling is the true map, the many weights have a cost: in simulations .006 to .03 of
    log loss (500 rows of 100 classes) and still .006 to .01 (5,000). Ten times the strength reduced the cost to .002.
    It kept only two thirds of the gain if classes are mixed up (.019 of .029 on average over 18 small models).
    ``choose`` compares both on other rows; matrix scaling can choose its own strength by cross-validation.

    References: Berta, Holzmüller, Jordan & Bach 2025. Preprocessing, squared penalties and their strengths are those of
    the authors' package since its version 1.1. The minimum is found by Newton's method or L-BFGS, to more digits.

    >>> p = np.tile([[0.6, 0.4]], (1000, 1))
    >>> cal = StructuredScaling().fit(p, [0] * 800 + [1] * 200)
    >>> cal.predict_proba(p[:1]).round(2).tolist()
    [[0.8, 0.2]]
    """

    strength: Annotated[
        float, Range(0, 1e6, log=True), "Penalty (λ)", "λ: shrinks towards temperature scaling; 0 for none"
    ] = 1.0
    mixing: Annotated[bool, Flag(), "Mix classes", "fit weights between classes"] = True

    def _fit(self, predictions: Predictions, progress: Progress) -> None:
        scaling = Temperature().fit_on(predictions)
        self.temperature_, self.temperature_status_ = scaling.temperature_, scaling.status_
        n, k = row_count(predictions.weights, predictions.n_rows), predictions.rows.shape[1]
        self.share_ = 1.0 / (n + 1.0)
        each = float(self.strength) * k * k / n
        self.mixed_ = bool(self.mixing) and k <= MOST_MIXED
        source = LogRows.log_probabilities(predictions.with_probs(self._prepared(predictions)))
        with one_blas_thread():
            rows = Rowwise(source, predictions.true_labels, predictions.weights, progress)
            odir = Odir(each * (k - 1) ** 2, each, each)
            loss = AffineLoss(rows, odir) if self.mixed_ else DiagonalLoss(rows, odir)
            found = fitted(loss, loss.identity)
        self.weights_ = np.ascontiguousarray(found.parameters[:-1].T) if self.mixed_ else found.parameters[0]
        self.intercepts_ = found.parameters[-1]
        self.status_ = found.status

    @property
    def note(self) -> str:
        check_is_fitted(self)
        alone = f"above {MOST_MIXED} classes there are no weights between classes, as the fit would take too long."
        return " ".join(
            part
            for part in (
                NOTES.get(self.temperature_status_, ""),
                linear_maps.NOTES.get(self.status_, ""),
                alone if self.mixing and not self.mixed_ else "",
            )
            if part
        )

    def insides(self, names: Sequence[str] = ()) -> Insides:
        check_is_fitted(self)
        classes = class_names(names, len(self.intercepts_))
        does = "replaces each by a weighted sum" if self.mixed_ else "multiplies each by its class's weight"
        return Insides(
            f"T = {self.temperature_:.3g}, {self.weights_.size + len(classes):,} numbers",
            f"Divides all log-probabilities by {self.temperature_:.3g}, {does} and adds an offset per class.",
            lambda: [
                Number("temperature T", self.temperature_),
                *linear_maps.listed(self.weights_, self.intercepts_, classes),
            ],
            linear_maps.pictured(self.weights_, self.intercepts_, classes),
        )

    def _apply(self, predictions: Predictions, progress: Progress) -> Predictions:
        prepared = predictions.with_probs(self._prepared(predictions))
        with one_blas_thread():
            source = LogRows.log_probabilities(prepared)
            return predictions.with_probs(linear_maps.mapped(source, prepared, self._logits, progress))

    def _prepared(self, predictions: Predictions) -> Floats:
        """Rows after temperature scaling and shrinkage towards the uniform distribution."""
        soft = softened(predictions, self.temperature_)
        return np.asarray((1.0 - self.share_) * soft + self.share_ / soft.shape[1], dtype=soft.dtype)

    def _logits(self, x: Float64s) -> Float64s:
        mixed = x @ self.weights_.T if self.mixed_ else x * self.weights_
        return np.asarray(mixed + self.intercepts_)


CALIBRATORS.preset(
    "svs",
    "Structured vector scaling",
    "Temperature scaling, then a weight and an offset for each class, with a stronger penalty if rows are few.",
    StructuredScaling,
    reference="Berta et al. 2025",
    flags=replace(
        _FLAGS,
        profile=replace(_MATRIX, sentence="Temperature scaling, plus a weight and an offset per class."),
    ),
    mixing=False,
)
