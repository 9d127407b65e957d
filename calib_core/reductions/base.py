"""What a reduction is, and their registry.

The whole vector as one claim: not binary, binned on the simplex instead of an interval.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np

from calib_core._base.arrays import Codes, Float64s
from calib_core.claims.binary_claims import Claims
from calib_core.claims.probability_vectors import Vectors
from calib_core.predictions.predictions import NotAnswerable, Predictions
from calib_core.registry.registry import Registry


class Reduction(Protocol):
    """A notion of calibration: predictions in, binary claims out, stratum by stratum; or whole vectors, if declared."""

    def split(self, predictions: Predictions) -> Claims | Vectors:
        """The claims these predictions make; NotAnswerable says why they make none."""


@dataclass(frozen=True)
class Scope:
    """What a notion declares that it speaks of.

    ``of``: the "event" of two classes, the largest probability of a row ("top"), its ``k`` largest, listed rank after
    rank ("ranks"), one class ("class", its field ``cls``), every class ("classes"), the whole "vector", or "other"
    claims. ``by_class``: every predicted class is a stratum of its own.
    """

    of: Literal["event", "top", "ranks", "class", "classes", "vector", "other"] = "other"
    by_class: bool = False

    @property
    def one_stratum(self) -> bool:
        """Whether its claims, one a row, are one stratum, so that nothing is averaged over classes.

        >>> [key for key in ("event", "confidence", "top-label", "class-wise") if REDUCTIONS[key].flags.one_stratum]
        ['event', 'confidence']
        """
        return self.of in ("event", "class") or (self.of == "top" and not self.by_class)

    def adds_to(self, classes: int | None) -> bool:
        """Whether it says more than other notions where there are so many classes: of two the first rank says it all.

        >>> REDUCTIONS["top-k-label"].flags.adds_to(2), REDUCTIONS["top-k-label"].flags.adds_to(3)
        (False, True)
        """
        return self.of != "ranks" or classes != 2

    @property
    def strata_are_classes(self) -> bool:
        """Whether each stratum of its claims is one class, in the order of the classes.

        >>> [key for key in ("confidence", "top-label", "class-wise") if REDUCTIONS[key].flags.strata_are_classes]
        ['top-label', 'class-wise']
        """
        return self.of == "classes" or (self.of == "top" and self.by_class)


REDUCTIONS: Registry[Reduction] = Registry("REDUCTIONS", flags=Scope())

NOT_BINARY = (
    "canonical calibration is a claim about the whole probability vector: it has no binary score that interval bins "
    "or curves could hold; choose another notion, or a partition of the simplex"
)


def scope(reduction: Reduction) -> Scope:
    """What the notion declares that it speaks of."""
    declared: Scope = REDUCTIONS.flags(reduction)
    return declared


def claims_of(predictions: Predictions, reduction: str | Reduction) -> Claims:
    """The binary claims predictions make in a notion; NotAnswerable for a notion of whole vectors.

    >>> claims_of(Predictions([[0.7, 0.3]], [0]), "confidence").scores.tolist()
    [0.7]
    >>> claims_of(Predictions([[0.7, 0.3]], [0]), "canonical")  # doctest: +IGNORE_EXCEPTION_DETAIL
    Traceback (most recent call last):
    NotAnswerable
    """
    notion = as_reduction(reduction)
    if scope(notion).of == "vector":
        raise NotAnswerable(NOT_BINARY)
    claims: Claims = claims_in(notion, predictions)
    return claims


def claims_in(notion: Reduction, predictions: Any) -> Any:
    """What a notion makes of predictions; a tally that was made in it holds that, whoever wrote the notion."""
    counted = counts(predictions)
    own = None if counted is None else counted.in_own_notion(notion)
    return notion.split(predictions) if own is None else own


def notions_of(predictions: Predictions) -> tuple[str, ...]:
    """Keys of the notions in which these predictions make claims at all, from the class predicted to whole vectors.

    What is not known of the predictions rules some out.

    >>> notions_of(Predictions.from_confidence([0.7], [True]))
    ('confidence',)
    """
    row = counts(predictions) or predictions.take(np.arange(min(1, predictions.n_rows)))
    known = [key for key in REDUCTIONS if _claims_something(key, row)]
    scopes = {key: REDUCTIONS[key].flags for key in known}
    return tuple(sorted(known, key=lambda key: (_ORDER.index(scopes[key].of), scopes[key].by_class)))


_ORDER = ("event", "top", "classes", "vector", "ranks", "class", "other")


def _claims_something(key: str, predictions: Predictions) -> bool:
    try:
        REDUCTIONS.make(key).split(predictions)
    except NotAnswerable:
        return False
    return True


def as_reduction(reduction: str | Reduction) -> Reduction:
    """A reduction given by key or as it is."""
    return REDUCTIONS.make(reduction) if isinstance(reduction, str) else reduction


def counts(predictions: Any) -> Any:
    """The predictions where they are a summary's counts, which know their claims; None where rows are at hand.

    Such claims answer what ``claims.Claims`` asks of counts, and say so where they cannot.
    """
    return predictions if predictions.grain == "counts" else None


def counted_claims(predictions: object, notion: Reduction) -> Claims | None:
    """What a summary's counts claim in a notion; None where rows are at hand."""
    counted = counts(predictions)
    return None if counted is None else counted.claims(notion)


def row_shares(codes: Codes, n_strata: int, weights: Float64s | None) -> Float64s:
    """Share of the rows (or of their weight) in each stratum."""
    counts = np.bincount(codes, weights, minlength=n_strata)
    return np.asarray(counts / counts.sum(), dtype=np.float64)


@REDUCTIONS.register(
    "canonical",
    "Canonical",
    reference="P1 §1",
    flags=Scope("vector"),
    formula=r"P\bigl(Y = l \mid p(X)\bigr) = p_l(X) \quad \text{for every class } l",
)
@dataclass(frozen=True)
class Canonical:
    """Of all rows given the vector p, the classes should occur with the frequencies p.

    Claims (p_i, one-hot y_i): the strongest notion, and not a binary one. Interval bins cannot hold a vector;
    estimates need a partition of the simplex, and with many classes most of its cells are empty.

    References: P1 §1 and Appendix G.

    >>> Canonical().split(Predictions([[0.7, 0.3]], [1])).rows.shape
    (1, 2)
    """

    def split(self, predictions: Predictions) -> Vectors:
        names = predictions.class_names or ()
        whole = predictions.kind != "per-class"
        return Vectors(predictions.rows, predictions.true_labels, names, predictions.weights, whole)
