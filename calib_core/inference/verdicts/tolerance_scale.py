"""The scale on which an error is held against a tolerance: the most that it can be in its notion."""

from __future__ import annotations

import numpy as np

from calib_core.claims.binary_claims import Claims


def full_scale(claims: Claims, ranks: int = 1) -> float:
    """The largest mean absolute error that rows can have: 1, but 2/K where every row speaks of K classes.

    Rows whose probabilities sum to one can be wrong about two classes at most by 1 each: the mean over K classes is
    then 2/K (of weighted classes the two largest weights), over k ranks 2/k. A tolerance is held against the error as
    a share of this, which for one class a row is the error itself, and for all classes the probability that lies on
    wrong classes.

    >>> from calib_core.predictions.predictions import Predictions
    >>> from calib_core.reductions import ClassWise, Confidence
    >>> p = Predictions([[0.7, 0.1, 0.1, 0.1]], [0])
    >>> full_scale(ClassWise().split(p)), full_scale(Confidence().split(p))
    (0.5, 1.0)
    """
    if claims.same_rows:
        return min(1.0, _of_two(claims.shares))
    return 1.0 if ranks == 1 else 2.0 / ranks


def _of_two(shares: np.ndarray[tuple[int], np.dtype[np.float64]]) -> float:
    return float(np.sort(shares)[-2:].sum())
