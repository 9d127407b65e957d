"""Base class and registry of reductions.

The module also has the canonical notion: the whole vector as one claim, binned on the simplex.
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
    """Notion of calibration: maps predictions to binary claims in strata, or to whole vectors if declared."""

    def split(self, predictions: Predictions) -> Claims | Vectors:
        """Return the claims of these predictions; NotAnswerable gives the reason if there are none."""


@dataclass(frozen=True)
class Scope:
    """Declared subject of a notion.

    ``of``:

    - the "event" of two classes;
    - the largest probability of a row ("top");
    - its ``k`` largest, listed rank after rank ("ranks");
    - one class ("class", its field ``cls``), or every class ("classes");
    - the whole "vector", or "other" claims.

    ``by_class``: every predicted class is a separate stratum.
    """

    of: Literal["event", "top", "ranks", "class", "classes", "vector", "other"] = "other"
    by_class: bool = False

    @property
    def one_stratum(self) -> bool:
        """Return True if its claims, one per row, are a single stratum, so nothing is averaged over classes.

        >>> [key for key in ("event", "confidence", "top-label", "class-wise") if REDUCTIONS[key].flags.one_stratum]
        ['event', 'confidence']
        """
        return self.of in ("event", "class") or (self.of == "top" and not self.by_class)

    def adds_to(self, classes: int | None) -> bool:
        """Return True if it adds to other notions with this number of classes; with two, the first rank is enough.

        >>> REDUCTIONS["top-k-label"].flags.adds_to(2), REDUCTIONS["top-k-label"].flags.adds_to(3)
        (False, True)
        """
        return self.of != "ranks" or classes != 2

    @property
    def strata_are_classes(self) -> bool:
        """Return True if each stratum of its claims is one class, in the order of the classes.

        >>> [key for key in ("confidence", "top-label", "class-wise") if REDUCTIONS[key].flags.strata_are_classes]
        ['top-label', 'class-wise']
        """
        return self.of == "classes" or (self.of == "top" and self.by_class)


REDUCTIONS: Registry[Reduction] = Registry("REDUCTIONS", flags=Scope())

NOT_BINARY = (
    "canonical calibration is about whole probability vectors. It has no single score for bins or "
    "curves. Choose another notion, or a partition of the simplex"
)


def scope(reduction: Reduction) -> Scope:
    """Return the declared subject of a notion."""
    declared: Scope = REDUCTIONS.flags(reduction)
    return declared


def claims_of(predictions: Predictions, reduction: str | Reduction) -> Claims:
    """Return the binary claims of predictions in a notion; NotAnswerable for a notion of whole vectors.

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
    """Return the claims of predictions in a notion; a tally of that notion contains them already."""
    counted = counts(predictions)
    own = None if counted is None else counted.in_own_notion(notion)
    return notion.split(predictions) if own is None else own


def notions_of(predictions: Predictions) -> tuple[str, ...]:
    """Keys of the notions in which these predictions make claims, from the predicted class to whole vectors.

    Missing information in the predictions excludes some notions.

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
    """Return the reduction given by key or as an object."""
    return REDUCTIONS.make(reduction) if isinstance(reduction, str) else reduction


def counts(predictions: Any) -> Any:
    """Return the predictions if they are a summary's counts, which have their own claims; None if they have rows.

    Such claims support the methods of ``claims.Claims`` that need counts, and raise errors for the others.
    """
    return predictions if predictions.grain == "counts" else None


def counted_claims(predictions: object, notion: Reduction) -> Claims | None:
    """Return the claims of a summary's counts in a notion; None if there are rows."""
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
    """Among rows with prediction vector p, the classes should occur with frequencies p.

    Claims (p_i, one-hot y_i): the strongest notion, and not a binary one. A vector cannot be sorted into bins from 0 to
    1, so estimates need a partition of the simplex. With many classes most of its cells are empty.

    References: P1 §1 and Appendix G.

    >>> Canonical().split(Predictions([[0.7, 0.3]], [1])).rows.shape
    (1, 2)
    """

    def split(self, predictions: Predictions) -> Vectors:
        names = predictions.class_names or ()
        whole = predictions.kind != "per-class"
        return Vectors(predictions.rows, predictions.true_labels, names, predictions.weights, whole)
