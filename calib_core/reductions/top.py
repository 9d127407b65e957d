"""Notions of claims about the largest probabilities: confidence, top-label and their top-k forms."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from calib_core.claims.binary_claims import Claims, FlatClaims
from calib_core.predictions.predictions import Predictions
from calib_core.reductions.base import REDUCTIONS, Scope, counted_claims, row_shares
from calib_core.registry.registry import Range


@REDUCTIONS.register(
    "confidence",
    "Confidence",
    reference="P1 eq. 1",
    flags=Scope("top"),
    formula=r"P\bigl(Y = c(X) \mid h(X)\bigr) = h(X),\quad h(X) = \max_l p_l(X) = p_{c(X)}(X)",
)
@dataclass(frozen=True)
class Confidence:
    """Among rows with confidence h, a fraction h should be correct, whatever the predicted class.

    One stratum of claims (h_i, 1{y_i = c_i}). What can mislead: errors of opposite sign in different classes cancel. In
    Example 1 of Gupta and Ramdas, 2022, the confidence error is 0, but each predicted class has an error of 0.4.

    References: P1 eq. (1), after Guo et al. 2017.

    >>> Confidence().split(Predictions([[0.7, 0.3]], [1])).stratum(0).outcomes.tolist()
    [False]
    """

    def split(self, predictions: Predictions) -> Claims:
        if (counted := counted_claims(predictions, self)) is not None:
            return counted
        predictions = predictions.answered
        codes = np.zeros(predictions.n_rows, dtype=np.intp)
        return FlatClaims(
            predictions.confidence,
            predictions.correct,
            codes,
            ("all rows",),
            np.ones(1),
            predictions.weights,
            _floor(predictions),
        )


@REDUCTIONS.register(
    "top-label",
    "Top-label",
    reference="P1 eq. 2",
    flags=Scope("top", by_class=True),
    formula=r"P\bigl(Y = c(X) \mid h(X),\,c(X)\bigr) = h(X),\quad h(X) = \max_l p_l(X) = p_{c(X)}(X)",
)
@dataclass(frozen=True)
class TopLabel:
    """Among rows predicted as class l with confidence h, a fraction h should have label l.

    Claims (h_i, 1{y_i = c_i}) in one stratum per predicted class c_i, weighted by share of rows. On the same bins
    this error is never below the confidence error (P1 Prop. 4). What can mislead: with few rows per class, the
    raw error is mostly noise.

    References: P1 eq. (2).

    >>> TopLabel().split(Predictions([[0.7, 0.3], [0.1, 0.9]], [1, 1])).shares.tolist()
    [0.5, 0.5]
    """

    def split(self, predictions: Predictions) -> Claims:
        if (counted := counted_claims(predictions, self)) is not None:
            return counted
        predictions = predictions.answered
        codes, names = predictions.predicted, predictions.class_names or ()
        shares = row_shares(codes, len(names), predictions.weights)
        return FlatClaims(
            predictions.confidence,
            predictions.correct,
            codes,
            names,
            shares,
            predictions.weights,
            _floor(predictions),
        )


@REDUCTIONS.register(
    "top-k-confidence",
    "Top-k confidence",
    reference="P1 eq. 6",
    flags=Scope("ranks"),
    formula=r"P\bigl(Y = c^{(r)}(X) \mid h^{(r)}(X)\bigr) = h^{(r)}(X) \quad \text{for ranks } r = 1, \dots, k",
)
@dataclass(frozen=True)
class TopKConfidence:
    """Among rows whose r-th largest probability is h, a fraction h should be correct, for each rank r up to k.

    Claims (h_i^(r), 1{y_i = c_i^(r)}) in one stratum per rank r = 1..k, plain mean over ranks.

    References: P1 eq. (6), after Gupta et al. 2021.

    >>> TopKConfidence(k=2).split(Predictions([[0.7, 0.2, 0.1]], [1])).stratum(1).outcomes.tolist()
    [True]
    """

    k: Annotated[int, Range(1, 20), "Number of ranks", "number of largest probabilities"] = 3

    def split(self, predictions: Predictions) -> Claims:
        if (counted := counted_claims(predictions, self)) is not None:
            return counted
        predictions = predictions.answered
        k = _ranks(self.k, predictions)
        classes, probs = predictions.top(k)
        n = len(probs)
        return FlatClaims(
            probs.T.ravel(),
            (predictions.true_labels == classes.T).ravel(),
            np.repeat(np.arange(k), n),
            tuple(f"rank {r}" for r in range(1, k + 1)),
            np.full(k, 1.0 / k),
            None if predictions.weights is None else np.tile(predictions.weights, k),
        )


@REDUCTIONS.register(
    "top-k-label",
    "Top-k label",
    reference="P1 eq. 7",
    flags=Scope("ranks", by_class=True),
    formula=r"P\bigl(Y = c^{(r)}(X) \mid h^{(r)}(X),\,c^{(r)}(X)\bigr) = h^{(r)}(X)"
    r" \quad \text{for ranks } r = 1, \dots, k",
)
@dataclass(frozen=True)
class TopKLabel:
    """Among rows with r-th largest probability h for class l, a fraction h should have label l, for each r up to k.

    Claims (h_i^(r), 1{y_i = c_i^(r)}) in one stratum per (rank r, class), weighted by share of rows within a rank,
    plain mean over ranks.

    References: P1 eq. (7).

    >>> len(TopKLabel(k=2).split(Predictions([[0.7, 0.2, 0.1]], [1])).strata)
    6
    """

    k: Annotated[int, Range(1, 20), "Number of ranks", "number of largest probabilities"] = 3

    def split(self, predictions: Predictions) -> Claims:
        if (counted := counted_claims(predictions, self)) is not None:
            return counted
        predictions = predictions.answered
        k = _ranks(self.k, predictions)
        classes, probs = predictions.top(k)
        names = predictions.class_names or ()
        codes = (classes + np.arange(k) * len(names)).T.ravel()
        weights = None if predictions.weights is None else np.tile(predictions.weights, k)
        # Every rank contains all rows once: shares over (rank, class) are the row shares within a rank, divided by k.
        shares = row_shares(codes, k * len(names), weights)
        strata = tuple(f"rank {r}, {name}" for r in range(1, k + 1) for name in names)
        hits = (predictions.true_labels == classes.T).ravel()
        return FlatClaims(probs.T.ravel(), hits, codes, strata, shares, weights)


_ROUNDING = 1e-6
"""Generous limit for the float32 rounding of the largest of K probabilities below 1/K."""


def _floor(predictions: Predictions) -> float:
    """Return 1/K, the lower limit of the largest of K probabilities; 0 if K is unknown or scores are below it.

    A recalibrated confidence need not be the largest of K numbers that sum to one, so the scores themselves are
    checked.
    """
    if predictions.n_classes is None:
        return 0.0
    floor = 1.0 / predictions.n_classes
    return floor if float(predictions.confidence.min()) >= floor - _ROUNDING else 0.0


def _ranks(k: int, predictions: Predictions) -> int:
    """Return k, limited to the number of classes."""
    return k if predictions.n_classes is None else min(k, predictions.n_classes)
