"""Vector, matrix and Dirichlet scaling: softmax(W x + b) of logits or log-probabilities."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar

import numpy as np

from calib_core._base.arrays import Float64s, Floats, frozen
from calib_core._base.parallel import Pieces, Progress, one_blas_thread, silent
from calib_core._base.sklearn_api import check_is_fitted
from calib_core.calibrators.base import CALIBRATORS, Calibrator, Contract
from calib_core.calibrators.fitting.softmax_loss import (
    AffineLoss,
    DiagonalLoss,
    Input,
    LogRows,
    Odir,
    PartedRows,
    Parts,
    Rowwise,
    SoftmaxFit,
    fitted,
    fitted_in_parts,
)
from calib_core.calibrators.insides import Insides, Number, NumberGrid, Profile, class_names
from calib_core.defaults import SEED
from calib_core.predictions.predictions import InputError, NotAnswerable, Predictions
from calib_core.predictions.row_groups import RowGroups, dealt
from calib_core.registry.registry import Flag, Range

GRID = (0.01, 0.1, 1.0, 10.0, 100.0, 1000.0, 10000.0)
"""Candidates for λ and μ, scaled as in the paper: with 100 classes good values of λ are in the thousands."""


def fits_tried(folds: int) -> int:
    """Number of maps fitted to choose λ and μ by cross-validation with this number of folds."""
    return 2 * folds * len(GRID)


def chosen_odir(
    rows: Rowwise,
    given: Odir,
    folds: int,
    random_state: int,
    groups: RowGroups | None = None,
    fit_done: Callable[[], object] = lambda: None,
) -> Odir:
    """Choose λ from the grid with the given μ, then μ with that λ, by the least held-out log loss.

    Among equal losses the stronger penalty wins. Folds are seeded, stratified by label, and contain whole groups of
    rows. ``fit_done`` is called after each fit.
    """
    parts = (
        dealt(rows.labels, folds, random_state) if groups is None else groups.folds(rows.labels, folds, random_state)
    )
    splits = [(rows.take(np.flatnonzero(parts != f)), rows.take(np.flatnonzero(parts == f))) for f in np.unique(parts)]
    if len(splits) < 2:
        return given
    best = _least(splits, [replace(given, off_diagonal=v) for v in GRID], fit_done)
    return _least(splits, [replace(best, intercept=v) for v in GRID], fit_done)


def _least(
    splits: Sequence[tuple[Rowwise, Rowwise]], candidates: Sequence[Odir], fit_done: Callable[[], object]
) -> Odir:
    losses = np.zeros(len(candidates))
    for fit, held_out in splits:
        start: Float64s | None = None
        # From the strongest penalty down: each minimizer is the start of the next search.
        for i in reversed(range(len(candidates))):
            start = fitted(AffineLoss(fit, candidates[i]), start).parameters
            losses[i] += held_out.mass * AffineLoss(held_out, candidates[i]).log_loss(start)
            fit_done()
    return candidates[len(candidates) - 1 - int(losses[::-1].argmin())]


_FLAGS = Contract("full", keeps_argmax=False, sums_to_one=True)
_VECTOR = Profile("scaling", "Fits a weight and an offset for every class.", rows=(0, 100, 0))
_MATRIX = Profile("scaling", "Replaces every class's score by a weighted sum of all scores.", rows=(0, 50, 50))
_DIRICHLET = Profile(
    "scaling",
    "Replaces every class's log-probability by a weighted sum of all of them.",
    rows=(0, 50, 50),
    candidate_for=("full",),
    most_classes=20,
    fewest_classes=3,
    first_for_event=True,  # of two classes it is beta calibration
)

NOTES = {
    "at bound": "the classes of the rows are separable, or a class never occurs, so the loss has no minimum: the fit "
    "stopped at probabilities near 1e-7.",
    "not converged": "the fit stopped before it converged: another map could fit these rows better.",
}
"""Caveats by ``status_``, for fits that did not converge to a minimum."""

_INPUT: dict[Input, str] = {"logits": "logit", "log-probabilities": "log-probability"}

MOST_CLASSES = 2_000
"""Largest number of classes K: the optimizer stores 25 copies of K(K + 1) numbers, here 0.8 GB."""

_APPLIED_ROWS = 256
"""Rows per matrix product, the last one padded: BLAS then treats a row equally whatever the other rows are."""


@CALIBRATORS.register(
    "vector", "Vector scaling", reference="Guo et al. 2017; P3 §2.5", flags=replace(_FLAGS, profile=_VECTOR)
)
@dataclass(eq=False, repr=False)
class VectorScaling(Calibrator):
    """Multiplies each class's logit by its own weight and adds an intercept: softmax(w x + b).

    w, b (K,) minimize the mean log loss of the calibration rows. The inputs x are the raw logits if the predictions
    have them (``Logits``, or an upload with logits), else log-probabilities; ``input_`` records which. The two give
    different maps, since a shift of all logits of a row changes w x but not the row's probabilities. A map fitted on
    logits refuses predictions without them.

    A ridge towards the identity of weight 1e-8 makes the minimum unique: intercepts sum to about zero. If rows are
    separable, or a class never occurs, the loss without it has no minimum. The fit then stops at probabilities near
    1e-7 and ``status_`` is "at bound" (otherwise "converged", or "not converged"). On the calibration rows the log loss
    is never above that of the uncalibrated predictions. The predicted class can change. 2K numbers are fitted: with few
    rows per class, prefer temperature scaling.

    References: Guo et al. 2017 §4.2; P3 §2.5.

    >>> cal = VectorScaling().fit([[0.6, 0.4]] * 10, [0] * 8 + [1] * 2)
    >>> cal.predict_proba([[0.6, 0.4]]).round(6).tolist()
    [[0.8, 0.2]]
    """

    by_sums: ClassVar[bool] = True

    def _fit(self, predictions: Predictions, progress: Progress) -> None:
        source = LogRows.best(predictions)
        self.input_: Input = source.kind
        with one_blas_thread():
            loss = DiagonalLoss(Rowwise(source, predictions.true_labels, predictions.weights, progress))
            self._take(fitted(loss))

    def _fit_parts(self, parts: Parts) -> None:
        rows = PartedRows(parts, LogRows.best)
        self.input_ = rows.source.kind
        with one_blas_thread():
            self._take(fitted_in_parts(DiagonalLoss(rows), DiagonalLoss(rows.sample)))

    def _take(self, found: SoftmaxFit) -> None:
        self.weights_, self.intercepts_ = found.parameters
        self.status_ = found.status

    @property
    def note(self) -> str:
        """Caveat about the fit if it found no proper minimum; empty otherwise."""
        return NOTES.get(self.status_, "")

    def insides(self, names: Sequence[str] = ()) -> Insides:
        check_is_fitted(self)
        classes = class_names(names, len(self.weights_))
        return Insides(
            f"{2 * len(classes):,} numbers",
            f"Multiplies the {_INPUT[self.input_]} of each class by the class's own weight and adds an offset.",
            lambda: listed(self.weights_, self.intercepts_, classes),
            pictured(self.weights_, self.intercepts_, classes),
        )

    def _apply(self, predictions: Predictions, progress: Progress) -> Predictions:
        source = LogRows.like(self.input_, predictions)
        return predictions.with_probs(mapped(source, predictions, self._logits, progress))

    def _logits(self, x: Float64s) -> Float64s:
        return np.asarray(x * self.weights_ + self.intercepts_)


@dataclass(eq=False, repr=False)
class _Affine(Calibrator):
    off_diagonal: Annotated[
        float, Range(0, 1e6, log=True), "Penalty on mixing classes (λ)", "λ: penalty on off-diagonal weights; 0: none"
    ] = 1.0
    intercept: Annotated[
        float, Range(0, 1e6, log=True), "Penalty on intercepts (μ)", "μ: penalty on large intercepts; 0 for none"
    ] = 1.0
    cross_validate: Annotated[
        bool,
        Flag(),
        "Choose by cross-validation",
        "choose λ and μ by cross-validated log loss, starting from the values above",
    ] = False
    folds: Annotated[int, Range(2, 20, 1), "Folds", "folds of the cross-validation, stratified by class"] = 5
    random_state: Annotated[int, Range(0, 2**31 - 1, 1), "Random seed", "seed of the folds"] = SEED

    takes_logits: ClassVar[bool]
    by_sums: ClassVar[bool] = True

    def _fit(self, predictions: Predictions, progress: Progress) -> None:
        source = self._source(predictions)
        self.input_: Input = source.kind
        odir = Odir(float(self.off_diagonal), float(self.intercept))
        with one_blas_thread():
            fits = Pieces(progress, 1 + fits_tried(self.folds) if self.cross_validate else 1)
            rows = Rowwise(source, predictions.true_labels, predictions.weights, fits)
            if self.cross_validate:
                odir = chosen_odir(rows, odir, self.folds, self.random_state, predictions.row_groups, fits.next)
            self._take(fitted(AffineLoss(rows, odir)), odir)

    def _fit_parts(self, parts: Parts) -> None:
        if self.cross_validate:
            raise NotAnswerable("cross-validation needs all rows at once: fit without it")
        rows = PartedRows(parts, self._source)
        self.input_ = rows.source.kind
        odir = Odir(float(self.off_diagonal), float(self.intercept))
        with one_blas_thread():
            self._take(fitted_in_parts(AffineLoss(rows, odir), AffineLoss(rows.sample, odir)), odir)

    def _source(self, predictions: Predictions) -> LogRows:
        if (k := predictions.n_classes or 0) > MOST_CLASSES:
            raise NotAnswerable(
                f"{CALIBRATORS.recipe(self).title} would fit {k * (k + 1):,} numbers for {k:,} classes; its limit is "
                f"{MOST_CLASSES:,} classes. Choose vector scaling"
            )
        return LogRows.best(predictions) if self.takes_logits else LogRows.log_probabilities(predictions)

    def _take(self, found: SoftmaxFit, odir: Odir) -> None:
        self.off_diagonal_, self.intercept_ = odir.off_diagonal, odir.intercept
        self.weights_ = np.ascontiguousarray(found.parameters[:-1].T)
        self.intercepts_ = found.parameters[-1]
        self.status_ = found.status

    @property
    def note(self) -> str:
        """Caveat about the fit if it found no proper minimum; empty otherwise."""
        return NOTES.get(self.status_, "")

    def insides(self, names: Sequence[str] = ()) -> Insides:
        check_is_fitted(self)
        classes = class_names(names, len(self.intercepts_))
        tried = " Both penalties were chosen by cross-validation." if self.cross_validate else ""
        return Insides(
            f"{self.weights_.size + len(classes):,} numbers",
            f"Replaces the {_INPUT[self.input_]} of each class by a weighted sum over all classes plus an offset."
            + tried,
            lambda: [
                *listed(self.weights_, self.intercepts_, classes),
                Number("penalty on other classes' weights", float(self.off_diagonal_)),
                Number("penalty on offsets", float(self.intercept_)),
            ],
            pictured(self.weights_, self.intercepts_, classes),
        )

    def _apply(self, predictions: Predictions, progress: Progress) -> Predictions:
        source = LogRows.like(self.input_, predictions)
        with one_blas_thread():
            return predictions.with_probs(mapped(source, predictions, self._logits, progress))

    def _logits(self, x: Float64s) -> Float64s:
        return np.asarray(x @ self.weights_.T + self.intercepts_)


@CALIBRATORS.register(
    "matrix", "Matrix scaling", reference="Guo et al. 2017; P3 §2.5", flags=replace(_FLAGS, profile=_MATRIX)
)
@dataclass(eq=False, repr=False)
class MatrixScaling(_Affine):
    """Replaces each class's logit by a weighted sum of all logits, with penalties on off-diagonals and intercepts.

    q = softmax(W x + b), W (K, K), b (K,) minimizing mean log loss + λ / (K(K-1)) sum_{i≠j} W_ij² + μ / K sum_j b_j²
    (ODIR), λ = ``off_diagonal``, μ = ``intercept``. The inputs x are the raw logits if the predictions have them, else
    log-probabilities; ``input_`` records which. A map fitted on logits refuses predictions without them. With
    ``cross_validate``, λ and then μ are chosen from 0.01, 0.1, ..., 10,000 by the held-out log loss; ``off_diagonal_``
    and ``intercept_`` are the values used.

    W with the same row added to all its rows, and b plus a constant, give the same map. The penalties choose
    off-diagonal columns that sum to zero. If λ or μ is 0, there is a ridge towards the identity of weight 1e-8. It
    chooses columns of W that sum to one and intercepts that sum to zero. That ridge also bounds the fit if rows are
    separable or a class never occurs: ``status_`` is then "at bound" (otherwise "converged", or "not converged"). On
    the calibration rows the log loss is never above that of the uncalibrated predictions.

    K(K+1) numbers are fitted: with many classes and few rows the defaults overfit, and cross-validation is needed.
    It fits 14 maps per fold: half a second for 5,000 rows of 10 classes, minutes for 100 classes. Raises NotAnswerable
    for more than 2,000 classes: the fit would take gigabytes.

    References: Guo et al. 2017 §4.2; Kull et al. 2019 (ODIR); P3 §2.5.

    >>> cal = MatrixScaling(intercept=0).fit([[0.6, 0.4]] * 10, [0] * 8 + [1] * 2)
    >>> cal.predict_proba([[0.6, 0.4]]).round(5).tolist()
    [[0.8, 0.2]]
    """

    takes_logits: ClassVar[bool] = True


@CALIBRATORS.register(
    "dirichlet",
    "Dirichlet calibration",
    reference="Kull et al. 2019; P3 §2.5",
    flags=replace(_FLAGS, profile=_DIRICHLET),
)
@dataclass(eq=False, repr=False)
class Dirichlet(_Affine):
    """Replaces each class's log-probability by a weighted sum of all of them, with a penalty on other classes' weights.

    q = softmax(W log p + b), W (K, K), b (K,) minimizing mean log loss + λ / (K(K-1)) sum_{i≠j} W_ij² + μ / K sum_j
    b_j² (ODIR), λ = ``off_diagonal``, μ = ``intercept``. It is the correct map if the predictions of each class follow
    a Dirichlet distribution. Raw logits are never used. Everything else is as in matrix scaling; λ = μ = 0 is the
    unregularized map of P3 §4.1.

    A class that never occurs among the calibration rows gets probabilities near 0 if μ is 0; a positive μ, as in the
    default, prevents that.

    References: Kull et al. 2019; P3 §2.5.

    >>> cal = Dirichlet(intercept=0).fit([[0.6, 0.4]] * 10, [0] * 8 + [1] * 2)
    >>> cal.predict_proba([[0.6, 0.4]]).round(5).tolist()
    [[0.8, 0.2]]
    """

    takes_logits: ClassVar[bool] = False


def listed(weights: Float64s, intercepts: Float64s, classes: tuple[str, ...]) -> list[Number]:
    """Weights (K,) or (K, K) and offsets (K,) as named numbers."""
    if weights.ndim == 1:
        of_weights = [Number("weight", float(w), of) for of, w in zip(classes, weights, strict=True)]
    else:
        of_weights = [
            Number("weight", float(w), of, f"from {source}")
            for of, line in zip(classes, weights, strict=True)
            for source, w in zip(classes, line, strict=True)
        ]
    return [*of_weights, *(Number("offset", float(b), of) for of, b in zip(classes, intercepts, strict=True))]


def pictured(weights: Float64s, intercepts: Float64s, classes: tuple[str, ...]) -> tuple[NumberGrid, NumberGrid]:
    """Weights and offsets as two matrices."""

    def column(title: str, values: Float64s, middle: float) -> NumberGrid:
        return NumberGrid(title, values[:, None], "class", classes, "", ("",), middle)

    return (
        column("Weights", weights, 1.0)
        if weights.ndim == 1
        else NumberGrid("Weights", weights, "to class", classes, "from class", classes, 0.0),
        column("Offsets", intercepts, 0.0),
    )


def mapped(
    source: LogRows,
    predictions: Predictions,
    logits: Callable[[Float64s], Float64s],
    progress: Progress = silent,
) -> Floats:
    """Softmax of the mapped inputs, computed in float64, in the dtype of the probabilities."""
    n, k = source.rows.shape
    out = np.empty((n, k), dtype=predictions.rows.dtype)
    x = np.zeros((_APPLIED_ROWS, k))
    for where, block in source.rows.blocks(_APPLIED_ROWS * k * source.rows.dtype.itemsize):
        m = len(block)
        x[:m] = source.values(block.astype(np.float64))
        with np.errstate(over="ignore", invalid="ignore"):
            z = logits(x)
            top = z.max(axis=1, keepdims=True)
            if not (fit := np.isfinite(top[:m, 0])).all():
                raise InputError(
                    f"row {where.start + int(fit.argmin())}: its logits are too large for this map; divide all logits "
                    "by a common factor"
                )
            z -= top
        np.exp(z, out=z)
        z /= z.sum(axis=1, keepdims=True)
        out[where] = z[:m]
        progress(100 * where.stop // n)
    return frozen(out)
