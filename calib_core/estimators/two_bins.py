"""Averaged two-bin calibration error: the squared errors of two bins, over all places where they could meet."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from calib_core._base.arrays import Codes, Float64s
from calib_core.claims.binary_claims import Claims, Stratum
from calib_core.estimators.base import ESTIMATORS, ErrorScale, Estimated, Traits, by_stratum
from calib_core.estimators.residuals import Image


@ESTIMATORS.register(
    "two-bin",
    "Averaged two-bin error (squared)",
    reference="Hartline et al. 2025",
    flags=Traits(judged="pairs", scale=lambda _: ErrorScale(2, squared=True), redrawn=True),
    formula=(
        r"\int_0^1 \Bigl(\frac{1}{n} \sum_{s_i < v} (z_i - s_i)\Bigr)^2"
        r" + \Bigl(\frac{1}{n} \sum_{s_i \ge v} (z_i - s_i)\Bigr)^2 dv"
    ),
)
@dataclass(frozen=True)
class TwoBin:
    """Squared error after a cut of [0, 1] into two bins, averaged over all positions of the cut.

    ATB = integral over v in [0, 1] of D(v)^2 + (D - D(v))^2. Here D(v) = 1/n sum of (z_i - s_i) over the claims with
    scores s_i < v and outcomes z_i, and D is that over all claims. The same number is 1/n^2 sum over all i, j of (z_i -
    s_i)(z_j - s_j)(1 - |s_i - s_j|): residuals of like claims that point the same way. In [0, 1], a *square*. Its root
    is at most the ECE of the finest bins and at most sqrt(2) times the largest cumulative deviation. The root times
    sqrt(2) is at least the difference of the mean outcome and the mean score. No bins to choose, and it changes little
    when scores do; one sort, O(n log n). Strata are averaged according to the notion.

    It is truthful. Let outcomes be independent given the rows, with true chances q_i. Its mean is then the same number
    for q_i - s_i in place of z_i - s_i, plus 1/n^2 sum q_i (1 - q_i). The first is 0 for s = q and never negative, and
    the second does not depend on the scores. No scores therefore have a smaller mean than the true chances. A binned
    ECE is not of this kind. The statement is valid where each stratum contains all rows (confidence, one class,
    class-wise). Where the predicted classes are the strata, the second part does depend on which classes these are.

    What can mislead: the last part is noise. A calibrated model shows about mean s (1 - s) / n, never 0, and only
    values above the noise floor are informative. Like any sum over rows it hides a gross error in few rows. It rewards
    no sharpness. Scores that are calibrated given the rows, such as the mean chance predicted for all, have the same
    mean as the true chances.

    References: Hartline, Hu & Wu 2025 (COLT 2026, PMLR 336), "A perfectly truthful calibration measure". The averaged
    two-bin error ATB is this number, the mean over a threshold v uniform on [0, 1] of the two bins' squared sums over
    n^2. Their l1-ATB, of absolute sums, is another number. Truthfulness as defined by Haghtalab, Qiao, Yang & Zhao
    2024.

    >>> from calib_core.predictions.predictions import Predictions
    >>> from calib_core.reductions import Confidence
    >>> p = Predictions.from_confidence([0.25, 0.75], [True, False])
    >>> TwoBin()(Confidence().split(p)).value  # the bins are apart for v in (.25, .75]: half of 2 (.75 / 2)^2
    0.140625
    """

    with_self: ClassVar[bool] = True
    """True: each claim is also a pair with itself."""

    def __call__(self, claims: Claims) -> Estimated:
        return by_stratum(claims, [_error(claims.stratum(s)) for s in range(len(claims.strata))])

    def redrawn(self, claims: Claims, s: int, stratum: Stratum) -> Image:
        """Sums of outcomes at the distinct scores, less the scores there."""
        distinct, place, claimed = _places(stratum)
        half = stratum.total**2 / 2
        return Image(place, None, len(distinct), lambda sums: half_sums(distinct, sums - claimed) / half)

    def paired(self, scores: Float64s, values: Float64s) -> Float64s:
        """Sum over i < j of v_i v_j (1 - |s_i - s_j|), and half the squares, for ascending scores (n,)."""
        return half_sums(scores, values)

    def pairs(self, weights: Float64s) -> float:
        """Divisor of ``paired``: half of all pairs of rows."""
        return float(weights.sum()) ** 2 / 2


def half_sums(scores: Float64s, values: Float64s) -> Float64s:
    """Half the integral over v of (sum of values below v)^2 + (sum from v on)^2, values (..., n) at ascending scores.

    >>> float(half_sums(np.array([0.25, 0.75]), np.array([0.375, -0.375])))
    0.0703125
    """
    # Below the lowest score and above the highest all values lie in one of the two bins: a gap of width 1 + s_1 - s_n.
    gaps = np.append(np.diff(scores), 1.0 + scores[0] - scores[-1])
    below = np.cumsum(values, axis=-1)
    every = below[..., -1]
    # b^2 + (e - b)^2 = b^2 + (b - e) b + (e - b) e, in one pass less over the draws
    squares = np.einsum("...j,...j,j->...", below, below, gaps)
    return np.asarray(squares - every * (below @ gaps) + np.square(every) * gaps.sum() / 2)


def _places(stratum: Stratum) -> tuple[Float64s, Codes, Float64s]:
    """The distinct scores, which of them each claim has, and the sums of the scores there."""
    distinct, place = np.unique(stratum.scores, return_inverse=True)
    score = stratum.scores.astype(np.float64)
    weighed = score if stratum.weights is None else score * stratum.weights
    claimed = np.bincount(place, weighed, len(distinct)).astype(np.float64)
    return distinct.astype(np.float64), place, claimed


def _error(stratum: Stratum) -> float:
    if not stratum.total > 0:
        return float("nan")
    distinct, place, claimed = _places(stratum)
    outcome = stratum.outcomes if stratum.weights is None else stratum.outcomes * stratum.weights
    sums = np.bincount(place, outcome, len(distinct)) - claimed
    return float(half_sums(distinct, sums)) / (stratum.total**2 / 2)
