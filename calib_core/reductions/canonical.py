"""The whole vector as one claim: not binary, binned on the simplex instead of an interval."""

from __future__ import annotations

from dataclasses import dataclass

from calib_core.claims.probability_vectors import Vectors
from calib_core.predictions.predictions import Predictions
from calib_core.reductions.base import REDUCTIONS, Scope


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
