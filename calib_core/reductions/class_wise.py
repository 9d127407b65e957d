"""Claims about single classes: every class in turn, or one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from calib_core.claims import ColumnClaims, FlatClaims
from calib_core.predictions import InputError, Predictions
from calib_core.reductions.base import REDUCTIONS
from calib_core.registry import ClassIndex


@REDUCTIONS.register("class-wise", "Class-wise", reference="P1 eq. 5")
@dataclass(frozen=True)
class ClassWise:
    """Of all rows given probability p for class l, a fraction p should truly be l, for every class l.

    Claims (p_i[l], 1{y_i = l}) for all n rows in one stratum per class l, plain mean over the K classes. What can
    mislead: with many classes most scores are near 0, so the mean is small whatever the model does.

    References: P1 eq. (5), after Kull et al. 2017.

    >>> ClassWise().split(Predictions([[0.7, 0.3]], [1])).stratum(1).scores.tolist()
    [0.3]
    """

    def split(self, predictions: Predictions) -> ColumnClaims:
        rows, names = predictions.rows, predictions.class_names or ()
        shares = np.full(len(names), 1.0 / len(names))
        return ColumnClaims(rows, predictions.true_labels, names, shares, predictions.weights)


@REDUCTIONS.register("class-specific", "Class-specific", reference="P1 Table 1")
@dataclass(frozen=True)
class ClassSpecific:
    """Of all rows given probability p for the chosen class, a fraction p should truly be of it.

    Claims (p_i[l], 1{y_i = l}) for one class l; the binary notion when K = 2.

    >>> ClassSpecific(cls=1).split(Predictions([[0.7, 0.3]], [1])).stratum(0).outcomes.tolist()
    [True]
    """

    cls: Annotated[int, ClassIndex(), "the class"] = 0

    def split(self, predictions: Predictions) -> FlatClaims:
        rows, names = predictions.rows, predictions.class_names or ()
        if not 0 <= self.cls < len(names):
            raise InputError(f"cls is {self.cls}; the classes are 0..{len(names) - 1}")
        scores, hits = rows.column(self.cls), predictions.true_labels == self.cls
        codes = np.zeros(len(scores), dtype=np.intp)
        return FlatClaims(scores, hits, codes, (names[self.cls],), np.ones(1), predictions.weights)
