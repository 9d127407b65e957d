"""Tests of calibration without bins: Spiegelhalter's Z for any number of classes, Kuiper's cumulative differences."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.stats import norm

from calib_core import scores
from calib_core._arrays import LARGE_BLOCK_BYTES, Float64s, safe_log
from calib_core.inference.draws import distributions
from calib_core.predictions import NotAnswerable, Predictions
from calib_core.reductions import Reduction, as_reduction

_TERMS = 100


@dataclass(frozen=True)
class TestOfCalibration:
    """A statistic and the chance that a perfectly calibrated model shows as much."""

    __test__ = False  # no test case, though its name begins like one

    name: str
    statistic: float
    p_value: float


def spiegelhalter(predictions: Predictions, score: Literal["brier", "log-loss"] = "brier") -> TestOfCalibration:
    """Is the proper score what these probabilities themselves lead one to expect?

    Z = sum_i [S(p_i, y_i) - E S(p_i, k)] / sqrt(sum_i Var S(p_i, k)), k ~ p_i, for the Brier score (summed over
    classes) or the log loss; standard normal under calibration, two-sided p-value. Z above 0: the model does worse
    than it claims (over-confident). Row weights multiply each row's terms. What can mislead: over- and
    under-confident regions cancel; a few very unlikely classes make the log-loss form far from normal.

    References: Spiegelhalter 1986, for K classes as in Seillier-Moiseiwitsch & Dawid 1993.

    >>> p = Predictions([[0.5, 0.5]] * 2 + [[0.8, 0.2]] * 4, [0, 1, 0, 1, 1, 1])
    >>> round(spiegelhalter(p).statistic, 3)  # (0.08 + 3 * 1.28 - 4 * 0.32) / sqrt(4 * 0.2304)
    2.75
    """
    distributions(predictions.kind)
    mean, variance = _moments(predictions, score)
    found = scores.brier_scores(predictions) if score == "brier" else scores.log_losses(predictions)
    weight = np.ones(len(found)) if predictions.weights is None else predictions.weights
    spread = float(np.sqrt((np.square(weight) * variance).sum()))
    excess = float((weight * (found - mean)).sum())
    name = f"Spiegelhalter's Z ({'Brier score' if score == 'brier' else 'log loss'})"
    if spread == 0.0:
        # Every outcome was certain: any deviation at all is impossible under calibration.
        return TestOfCalibration(name, 0.0 if excess == 0 else float(np.inf), 1.0 if excess == 0 else 0.0)
    z = excess / spread
    return TestOfCalibration(name, z, float(2 * norm.sf(abs(z))))


def _moments(predictions: Predictions, score: str) -> tuple[Float64s, Float64s]:
    """Mean and variance of each row's score when its class follows its probabilities."""
    n = predictions.n_rows
    mean, variance = np.empty(n), np.empty(n)
    for where, block in predictions.rows.blocks(LARGE_BLOCK_BYTES):
        p = block.astype(np.float64)
        by_class = np.square(p).sum(axis=1, keepdims=True) - 2 * p + 1 if score == "brier" else -safe_log(p)
        mean[where] = (p * by_class).sum(axis=1)
        variance[where] = (p * np.square(by_class - mean[where, None])).sum(axis=1)
    return mean, variance


def kuiper(predictions: Predictions, reduction: str | Reduction = "confidence") -> TestOfCalibration:
    """Do the differences between outcomes and scores, added up from low to high scores, wander further than chance?

    D_j = sum_{i <= j} (z_(i) - s_(i)) / sqrt(sum_i s_i (1 - s_i)) over scores in order (equal scores as one step);
    the statistic is max D - min D with D_0 = 0. Under calibration D is about a Brownian path, whose range has the law
    of Feller 1951. One stratum of claims only. No bins, no bandwidth; sees over- and under-confidence alike, also
    where they would cancel in a mean. What can mislead: with few rows or scores near 0 and 1 only, D is no Brownian
    path yet (the noise floor of the "max-deviation" estimator is exact).

    References: Arrieta-Ibarra et al. 2022; Feller 1951, The asymptotic distribution of the range of sums.

    >>> p = Predictions.from_confidence([0.5] * 4, [True, True, True, True])
    >>> round(kuiper(p).statistic, 3)  # 4 * 0.5 / sqrt(4 * 0.25)
    2.0
    """
    claims = as_reduction(reduction).split(predictions)
    if len(claims.strata) != 1:
        raise NotAnswerable("the Kuiper test needs claims of one stratum; choose confidence or one class")
    stratum = claims.stratum(0)
    order = np.argsort(stratum.scores, kind="stable")
    s = stratum.scores[order].astype(np.float64)
    w = np.ones(len(s)) if stratum.weights is None else stratum.weights[order]
    spread = float(np.sqrt((np.square(w) * s * (1 - s)).sum()))
    last = np.append(np.flatnonzero(np.diff(stratum.scores[order])), len(s) - 1)
    path = np.append(0.0, np.cumsum(w * (stratum.outcomes[order] - s))[last])
    width = float(path.max() - path.min())
    name = "Kuiper's cumulative differences"
    if spread == 0.0:
        return TestOfCalibration(name, 0.0 if width == 0 else float(np.inf), 1.0 if width == 0 else 0.0)
    return TestOfCalibration(name, width / spread, brownian_range_tail(width / spread))


def brownian_range_tail(x: float) -> float:
    """P(max B - min B >= x) of Brownian motion on [0, 1] with B_0 = 0.

    8 sum_{k >= 1} (-1)^(k-1) k Phi(-k x), by integrating Feller's density term by term; below x = 0.7 it is 1 to six
    digits, where the series would lose them.

    >>> round(brownian_range_tail(2.0), 4), brownian_range_tail(0.0)
    (0.1815, 1.0)
    """
    if x < 0.7:
        return 1.0
    k = np.arange(1, _TERMS + 1)
    return float(np.clip(8 * (np.where(k % 2, 1.0, -1.0) * k * norm.sf(k * x)).sum(), 0.0, 1.0))
