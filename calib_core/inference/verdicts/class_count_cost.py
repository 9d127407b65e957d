"""Cost of estimates with many classes, predicted from the number of claims before any computation."""

from __future__ import annotations

from calib_core.estimators.base import ESTIMATORS, Estimate, reads_bins
from calib_core.inference.verdicts.primary_measure import ESTIMATOR
from calib_core.predictions.predictions import Predictions
from calib_core.reductions.base import Reduction, as_reduction, scope

LEFT_OUT = "is slow for so many classes and was not computed (slow)"
"""Reason for a missing value."""
MANY_CLASSES = 200
"""Number of strata above which estimators by stratum take seconds."""
MANY_CLAIMS, MOST_CLAIMS = 2_000_000, 5_000_000
"""Numbers of claims beyond which few intervals take only seconds, and none does."""


def value_takes_long(predictions: Predictions, notion: str, estimator: str) -> bool:
    """True if even the value takes seconds: estimators of many classes that do not use shared bins.

    >>> p = Predictions([[0.7, 0.3]], [0])
    >>> value_takes_long(p, "class-wise", "smece")
    False
    """
    takes = ESTIMATORS[estimator].flags.takes
    if reads_bins(estimator) or "predictions" in takes or scope(as_reduction(notion)).of == "vector":
        return False
    strata, claims = _size(predictions, notion)
    return strata > MANY_CLASSES or claims > MANY_CLAIMS


def interval_takes_long(estimate: Estimate) -> bool:
    """True if interval and noise floor take seconds; for the primary estimator only with very many claims."""
    question = estimate.question
    assert question is not None
    assert question.reduction is not None
    if question.whole:
        return False
    strata, claims = _size(question.predictions, question.reduction)
    if estimate.recipe[1].key == ESTIMATOR:
        return claims > MOST_CLAIMS
    return strata > MANY_CLASSES or claims > MANY_CLAIMS


def _size(predictions: Predictions, notion: str | Reduction) -> tuple[int, int]:
    """Strata and claims of a notion."""
    reduction = as_reduction(notion)
    strata = len(reduction.split(predictions).strata)
    return strata, predictions.n_rows * (strata if scope(reduction).of == "classes" else 1)
