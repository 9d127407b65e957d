"""How far single rows can move an aggregate of claims: what limits on rare outcomes are counted in."""

from __future__ import annotations

import numpy as np

from calib_core.claims import ColumnClaims, FlatClaims


def reach(claims: FlatClaims | ColumnClaims, ranks: int = 1) -> float:
    """The most that one row's outcome can move sum over claims of weight times residual, whatever the outcome.

    1/n where a row makes one claim; where it makes several, one of which can come true, its residuals add up to at
    most 2: a total of 2/(n K) in the mean over K classes, 2/(n k) over k ranks.
    """
    if isinstance(claims, ColumnClaims):
        weight = np.ones(claims.rows.shape[0]) if claims.weights is None else claims.weights
        return float(weight.max() / weight.sum() * _of_two(claims.shares))
    weight = np.ones(len(claims.scores)) if claims.weights is None else claims.weights
    total = np.bincount(claims.codes, weight, minlength=len(claims.strata))
    each = (weight * (claims.shares / np.maximum(total, 1e-300))[claims.codes]).reshape(ranks, -1)
    return float(np.sort(each, axis=0)[-2:].sum(axis=0).max())


def full_scale(claims: FlatClaims | ColumnClaims, ranks: int = 1) -> float:
    """The largest mean absolute error that rows can have: 1, but 2/K where every row speaks of K classes.

    Rows whose probabilities sum to one can be wrong about two classes at most by 1 each: the mean over K classes is
    then 2/K (of weighted classes the two largest weights), over k ranks 2/k. A tolerance is held against the error as
    a share of this, which for one class a row is the error itself, and for all classes the probability that lies on
    wrong classes.

    >>> from calib_core.predictions import Predictions
    >>> from calib_core.reductions import ClassWise, Confidence
    >>> p = Predictions([[0.7, 0.1, 0.1, 0.1]], [0])
    >>> full_scale(ClassWise().split(p)), full_scale(Confidence().split(p))
    (0.5, 1.0)
    """
    if isinstance(claims, ColumnClaims):
        return min(1.0, _of_two(claims.shares))
    return 1.0 if ranks == 1 else 2.0 / ranks


def _of_two(shares: np.ndarray[tuple[int], np.dtype[np.float64]]) -> float:
    return float(np.sort(shares)[-2:].sum())
