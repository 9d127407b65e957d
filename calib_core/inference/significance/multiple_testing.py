"""Many tests at once: p-values corrected so that one false alarm among all of them stays rare."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from calib_core._base.arrays import Bools, Float64s
from calib_core.predictions.predictions import InputError


def holm(p: ArrayLike) -> Float64s:
    """p-values (m,) corrected by Holm's step-down rule, in the order given; at most 1, NaN (no test) stays NaN.

    With m tests and p_(1) <= ... <= p_(m): corrected p_(j) = max over i <= j of min(1, (m - i + 1) p_(i)). Rejecting
    hypotheses with a corrected p of at most alpha causes any false alarm with probability at most alpha. This is true
    however the tests depend on each other. Never larger than Bonferroni's m p. What can mislead: with very many tests
    only strong effects remain.

    References: Holm 1979.

    >>> holm([0.01, 0.04, 0.03]).round(2).tolist()  # 3 * 0.01; 2 * 0.03; max(0.06, 1 * 0.04)
    [0.03, 0.06, 0.06]
    """
    given, known = _checked(p)
    corrected = np.full(len(given), np.nan)
    order = np.flatnonzero(known)[np.argsort(given[known], kind="stable")]
    steps = np.minimum(given[order] * np.arange(len(order), 0, -1), 1.0)
    corrected[order] = np.maximum.accumulate(steps)
    return corrected


def benjamini_hochberg(p: ArrayLike) -> Float64s:
    """p-values (m,) corrected by Benjamini and Hochberg's step-up rule, in the order given; NaN (no test) stays NaN.

    With m tests and p_(1) <= ... <= p_(m): corrected p_(j) = min over i >= j of min(1, m p_(i) / i). Among rejections
    at alpha, the expected share of false ones is at most alpha if the tests are independent or depend on each other
    positively. Never larger than ``holm``. What can mislead: it limits the share of false alarms, not the chance of
    any. Tests of the same rows in opposite directions need not depend positively.

    References: Benjamini & Hochberg 1995.

    >>> benjamini_hochberg([0.01, 0.04, 0.03]).round(2).tolist()  # 3 * 0.01 / 1; 3 * 0.04 / 3; min of both: 0.04
    [0.03, 0.04, 0.04]
    """
    given, known = _checked(p)
    corrected = np.full(len(given), np.nan)
    order = np.flatnonzero(known)[np.argsort(given[known], kind="stable")]
    steps = given[order] * len(order) / np.arange(1, len(order) + 1)
    corrected[order] = np.minimum(np.minimum.accumulate(steps[::-1])[::-1], 1.0)
    return corrected


def benjamini_yekutieli(p: ArrayLike) -> Float64s:
    """p-values (m,) corrected as by Benjamini and Hochberg, for tests that depend on each other in any way; NaN stays.

    ``benjamini_hochberg`` times 1 + 1/2 + ... + 1/m, at most 1: the share of false alarms is limited whatever the tests
    share. What can mislead: the factor is about log m + 0.58, a high price where tests are nearly independent.

    References: Benjamini & Yekutieli 2001, Theorem 1.3.

    >>> benjamini_yekutieli([0.01, 0.04]).round(3).tolist()  # 1.5 * min(2 * 0.01, 0.04); 1.5 * 0.04
    [0.03, 0.06]
    """
    corrected = benjamini_hochberg(p)
    return np.minimum(corrected * harmonic(int(np.isfinite(corrected).sum())), 1.0)


def harmonic(m: int) -> float:
    """1 + 1/2 + ... + 1/m.

    >>> harmonic(2)
    1.5
    """
    return float((1.0 / np.arange(1, m + 1)).sum())


def _checked(p: ArrayLike) -> tuple[Float64s, Bools]:
    """The p-values as an array, and which of them are known."""
    given = np.asarray(p, dtype=np.float64)
    known = ~np.isnan(given)
    wrong = known & ~((given >= 0) & (given <= 1))
    if given.ndim != 1 or wrong.any():
        first = f"; p-value {int(wrong.argmax())} is {given[int(wrong.argmax())]:g}" if wrong.any() else ""
        raise InputError(f"p must be a list of numbers from 0 to 1{first}")
    return given, known
