"""Notions of claims about single classes: every class, the event, or one chosen class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from calib_core._base.arrays import Float64s
from calib_core.claims.binary_claims import Claims, ColumnClaims, FlatClaims
from calib_core.predictions.predictions import InputError, NotAnswerable, Predictions
from calib_core.reductions.base import REDUCTIONS, Scope, counted_claims, counts, row_shares
from calib_core.registry.registry import Choice, ClassIndex, RegistryError


@REDUCTIONS.register(
    "class-wise",
    "Class-wise",
    reference="P1 eq. 5; P2 Def. 2.4",
    flags=Scope("classes"),
    formula=r"P\bigl(Y = l \mid p_l(X)\bigr) = p_l(X) \quad \text{for every class } l",
)
@dataclass(frozen=True)
class ClassWise:
    """Among rows with probability p for class l, a fraction p should have label l, for every class l.

    Claims (p_i[l], 1{y_i = l}) for all n rows in one stratum per class l. They are aggregated with weights w_l >= 0
    that sum to 1 (P2: how important calibrating class l is). ``weights`` = "equal": w_l = 1/K, as in P1 and P3. With
    "share" it is the share of the rows (of their weight) with label l. With a tuple of K numbers it is these, divided
    by their sum. Abstained rows make no claims. What can mislead: with many classes most scores are near 0, so the mean
    is small for any model. With equal weights a rare class counts as much as any other, with shares it hardly counts.

    References: P1 eq. (5), after Kull et al. 2017; P2 Definition 2.4 for the weights.

    >>> p = Predictions([[0.7, 0.3]] * 4, [1, 0, 0, 0])
    >>> ClassWise().split(p).stratum(1).scores.tolist()
    [0.3, 0.3, 0.3, 0.3]
    >>> [ClassWise(w).split(p).shares.tolist() for w in ("equal", "share", (1.0, 4.0))]
    [[0.5, 0.5], [0.75, 0.25], [0.2, 0.8]]
    """

    weights: Annotated[
        str | tuple[float, ...],
        Choice(("equal", "share"), or_numbers=True, titles=("Equal", "By share of rows")),
        "Class weights",
        "weight of each class: equal, by its share of the rows, or one number per class",
    ] = "equal"

    def __post_init__(self) -> None:
        if isinstance(self.weights, tuple):
            given = np.asarray(self.weights, dtype=np.float64)
            if not (np.isfinite(given).all() and (given >= 0).all() and 0 < given.sum() < np.inf):
                raise RegistryError(f"weights is {self.weights!r}; they must be finite, not negative and not all 0")

    def split(self, predictions: Predictions) -> Claims:
        if (counted := counted_claims(predictions, self)) is not None:
            return counted
        predictions = predictions.answered
        rows, names = predictions.rows, predictions.class_names or ()
        return ColumnClaims(rows, predictions.true_labels, names, self.shares(predictions), predictions.weights)

    def shares(self, predictions: Predictions) -> Float64s:
        """Return the weights of the classes, (K,), with sum 1."""
        k = predictions.n_classes or 0
        if self.weights == "equal":
            return np.full(k, 1.0 / max(k, 1))
        if self.weights == "share":
            counted = counts(predictions)
            return (
                row_shares(predictions.true_labels, k, predictions.weights) if counted is None else counted.label_shares
            )
        given = np.asarray(self.weights, dtype=np.float64)
        if len(given) != k:
            raise InputError(f"got {len(given)} weights for {k} classes; expected one per class")
        return np.asarray(given / given.sum())


@REDUCTIONS.register(
    "event",
    "Event",
    reference="Van Calster et al. 2016; P1 Table 1",
    flags=Scope("event"),
    formula=r"P\bigl(Y = e \mid p_e(X)\bigr) = p_e(X) \quad \text{for the event } e \text{ of two classes}",
)
@dataclass(frozen=True)
class Event:
    """Among rows with risk p of the event, a fraction p should have it.

    Claims (p_i[e], 1{y_i = e}) for the event e of two classes (``predictions.event``), whichever class is predicted.
    Abstained rows state no risk. NotAnswerable if there are not two classes with probabilities. What can mislead: the
    event is recognized by its class name, which can be the wrong class; choose the event to change it.

    References: Van Calster et al. 2016; P1 Table 1 with K = 2.

    >>> p = Predictions([[0.7, 0.3], [0.4, 0.6]], [1, 0], class_names=["no", "yes"])
    >>> Event().split(p).scores.tolist(), Event().split(p).strata
    ([0.3, 0.6], ('yes',))
    """

    def split(self, predictions: Predictions) -> Claims:
        if predictions.event is None:
            raise NotAnswerable(NO_EVENT)
        if (counted := counted_claims(predictions, self)) is not None:
            return counted
        return ClassSpecific(predictions.event).split(predictions)


NO_EVENT = "an event needs two classes with a probability for each; these predictions do not have them"


@REDUCTIONS.register(
    "class-specific",
    "Class-specific",
    reference="P1 Table 1",
    flags=Scope("class"),
    formula=r"P\bigl(Y = l \mid p_l(X)\bigr) = p_l(X) \quad \text{for the chosen class } l",
)
@dataclass(frozen=True)
class ClassSpecific:
    """Among rows with probability p for one class (by default the first), a fraction p should have that label.

    Claims (p_i[l], 1{y_i = l}) for one class l, of the answered rows; the binary notion if K = 2.

    >>> ClassSpecific(cls=1).split(Predictions([[0.7, 0.3]], [1])).stratum(0).outcomes.tolist()
    [True]
    """

    cls: Annotated[int, ClassIndex(), "Class", "the chosen class"] = 0

    def split(self, predictions: Predictions) -> Claims:
        names, counted = predictions.class_names or (), counts(predictions)
        if predictions.n_classes is not None and not 0 <= self.cls < len(names):
            raise InputError(f"cls is {self.cls}; expected a class from 0 to {len(names) - 1}")
        if counted is not None:
            claims: Claims = counted.claims(self)
            return claims
        predictions = predictions.answered
        rows = predictions.rows
        scores, hits = rows.column(self.cls), predictions.true_labels == self.cls
        codes = np.zeros(len(scores), dtype=np.intp)
        return FlatClaims(scores, hits, codes, (names[self.cls],), np.ones(1), predictions.weights)
