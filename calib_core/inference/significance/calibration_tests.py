"""Bin-free tests of calibration: Spiegelhalter's Z for any number of classes, Kuiper's cumulative differences."""

from __future__ import annotations

from typing import Literal
from weakref import WeakKeyDictionary

import numpy as np

from calib_core._base.arrays import Float64s
from calib_core._base.distributions import norm
from calib_core._base.distributions import t as student
from calib_core.claims.exact_sums import ROUNDING
from calib_core.defaults import SEED
from calib_core.estimators.base import judged_notion
from calib_core.estimators.score_estimators import Brier, LogLoss
from calib_core.inference.intervals.clustered_rows import FEWEST, poor, together
from calib_core.inference.noise.outcome_draws import classes, distributions, streams
from calib_core.inference.noise.score_draws import berry_esseen, label_losses
from calib_core.predictions import proper_scores
from calib_core.predictions.predictions import NotAnswerable, Predictions
from calib_core.predictions.row_groups import refuse_groups
from calib_core.reductions.base import Reduction, claims_of, counts
from calib_core.results.uncertainty import NoiseFloor, TestOfCalibration
from calib_core.summaries.counted_claims import NORMAL, LossSums

_TERMS = 100
_BERRY_ESSEEN = 0.56
"""The law of a sum is off from the normal one by at most this times the ratio."""
_DRAWN_NUMBERS = 20_000_000
_RESAMPLES = 199, 4999
"""Numbers of draws: p = .1 has a standard error of at most .005 up to 5,500 rows."""
_NORMAL_LAW = "normal law"
_ROUNDING = 1e-9
"""Brier scores of a row that differ by less are equal."""

_KEPT: WeakKeyDictionary[Predictions, TestOfCalibration] = WeakKeyDictionary()
"""Many lines of a table are about the same predictions."""


def spiegelhalter(predictions: Predictions, score: Literal["brier", "log-loss"] = "brier") -> TestOfCalibration:
    """Spiegelhalter's test: compare a proper score with its expectation under the predicted probabilities.

    Z = sum_i [S(p_i, y_i) - E S(p_i, k)] / sqrt(sum_i Var S(p_i, k)), k ~ p_i, for the Brier score (summed over
    classes) or the log loss. Z is standard normal under calibration; the p-value is two-sided. For grouped rows, each
    group's terms are summed, with the variance observed between groups. Abstained rows are left out. Z above 0: the
    model does worse than it predicts (over-confident). Whole-number weights are copies; others multiply each row's
    terms.

    What can mislead: over- and under-confident regions cancel. A few very unlikely classes make the log-loss form far
    from normal.

    References: Spiegelhalter 1986, for K classes as in Seillier-Moiseiwitsch & Dawid 1993.

    >>> p = Predictions([[0.5, 0.5]] * 2 + [[0.8, 0.2]] * 4, [0, 1, 0, 1, 1, 1])
    >>> round(spiegelhalter(p).statistic, 3)  # (0.08 + 3 * 1.28 - 4 * 0.32) / sqrt(4 * 0.2304)
    2.75
    """
    name = f"Spiegelhalter's Z ({'Brier score' if score == 'brier' else 'log loss'})"
    if (counted := counts(predictions)) is not None:
        return _of_sums(name, counted.whole_losses(score))
    distributions(predictions.kind)
    predictions = predictions.answered.written_out()
    each = label_losses(Brier() if score == "brier" else LogLoss(), predictions)
    mean, variance = each.expected, each.variance
    found = proper_scores.brier_scores(predictions) if score == "brier" else proper_scores.log_losses(predictions)
    weight = np.ones(len(found)) if predictions.weights is None else predictions.weights
    spread = float(np.sqrt((np.square(weight) * variance).sum()))
    excess = float((weight * (found - mean)).sum())
    if spread == 0.0:
        # Every outcome was certain: any deviation at all is impossible under calibration.
        return TestOfCalibration(name, 0.0 if excess == 0 else float(np.inf), 1.0 if excess == 0 else 0.0)
    if predictions.row_groups is not None:
        return _by_group(name, predictions, weight * (found - mean), weight * np.sqrt(variance))
    z = excess / spread
    return TestOfCalibration(name, z, float(2 * norm.sf(abs(z))), _NORMAL_LAW)


def _of_sums(name: str, sums: LossSums, *, careful: bool = False) -> TestOfCalibration:
    """The test of a summary, from the observed and expected losses of its rows and their variance.

    ``careful``: outcomes cannot be drawn without rows. If the normal law might be off (``NORMAL``), the p-value is
    raised by the largest possible error, 2 * 0.56 rho.
    """
    n, slack = sums.rows, _ROUNDING * sums.rows if careful else 0.0
    excess, spread = n * (sums.mean("seen") - sums.mean("expected")), float(np.sqrt(n * sums.mean("variance")))
    if spread <= slack:
        some = abs(excess) > max(slack, n * ROUNDING) or sums.impossible > 0
        return TestOfCalibration(name, float(np.copysign(np.inf, excess)) if some else 0.0, 0.0 if some else 1.0)
    z = excess / spread
    if careful and sums.impossible:
        return TestOfCalibration(name, z, 0.0)
    p, rho = float(2 * norm.sf(abs(z))), n * sums.mean("third") / spread**3
    if careful and rho > NORMAL:
        return TestOfCalibration(
            f"{name}, a conservative p-value", z, min(1.0, p + 2 * _BERRY_ESSEEN * rho), _NORMAL_LAW
        )
    return TestOfCalibration(name, z, p, _NORMAL_LAW)


def _by_group(name: str, predictions: Predictions, terms: Float64s, spread: Float64s) -> TestOfCalibration:
    """The test with terms (observed less expected, (rows,)) summed by group; ``spread`` is that of single rows.

    The variance is the larger of sum_g (sum of terms of g)^2 and that of independent rows. Surprises can be too rare to
    estimate it by group (``clusters.poor``), or there are fewer than ten groups. It is then the largest possible one,
    sum_g (sum of spreads of g)^2. The law is Student's, with one degree of freedom less than groups.
    """
    groups = predictions.row_groups
    assert groups is not None
    seen = np.square(together(terms, groups)).sum()
    few = len(groups.values) < FEWEST or poor(groups, predictions.confidence.astype(np.float64))
    alike = np.square(together(spread, groups)).sum() if few else 0.0
    z = float(terms.sum() / np.sqrt(max(seen, np.square(spread).sum(), alike)))
    p = float(2 * student.sf(abs(z), max(len(groups.values) - 1, 1)))
    return TestOfCalibration(f"{name}, rows of a group summed", z, p, "Student's law")


def shown_at_all(predictions: Predictions, random_state: int = SEED) -> TestOfCalibration:
    """Test for a calibration error of any size: Spiegelhalter's test with the Brier score, for every sample size.

    T = sum_i w_i [S(p_i, y_i) - E S(p_i, k)], k ~ p_i, with S the Brier score of the whole prediction. The test is
    two-sided by Z = T / sqrt(sum_i w_i^2 Var S(p_i, k)). If only a claim is known (bare confidences, top-label) or rows
    need not sum to 1 (per-class), S is that of the claim. It compares (h, 1 - h) with (right, wrong). Abstained rows
    are left out; those of a group are summed.

    The p-value is the normal one if rho is at most ``NORMAL``, with rho = sum_i w_i^3 E|S - E S|^3 / (sum_i w_i^2 Var
    S)^(3/2). This ratio is known from the scores, and the normal law is off by at most 0.56 rho. Otherwise p is the
    rank of |T| among draws of the outcomes from the predictions, (1 + #{|T*| >= |T|}) / (R + 1). That rejects
    calibrated models at most at its level for every n. For a summary, which has no rows, p is the normal one plus 1.12
    rho.

    Whole-number weights are copies. An outcome with probability 0 is impossible under calibration: p = 0. If every
    outcome was certain and came true, or no outcome changes the score (uniform rows), there is nothing to test: p =
    1.

    What can mislead: over- and under-confident regions cancel. A claim of 1/2 has the same Brier score whatever
    happens, so a p near 1 does not imply calibration. Probabilities rounded to 0 are treated as impossible. R falls
    with the number of rows if draws are needed (5,000 to 200); up to 5,500 rows, p = .1 has a standard error below
    .005. ``law`` names the normal law, or the number of draws.

    References: Spiegelhalter 1986; Berry-Esseen constant 0.56, Shevtsova 2010; Monte Carlo tests, Dufour 2006.

    >>> shown_at_all(Predictions.from_confidence([1.0] * 30, [True] * 30)).p_value
    1.0
    >>> shown_at_all(Predictions.from_confidence([1.0] * 30, [True] * 29 + [False])).p_value
    0.0
    >>> shown_at_all(Predictions.from_confidence([0.99] * 100, [True] * 80 + [False] * 20)).p_value < 0.001
    True
    """
    if random_state != SEED:
        return _shown(predictions, random_state)
    if predictions not in _KEPT:
        _KEPT[predictions] = _shown(predictions, SEED)
    return _KEPT[predictions]


def _shown(predictions: Predictions, random_state: int) -> TestOfCalibration:
    whole = predictions.kind == "full"
    name = "Spiegelhalter's Z, Brier score" + (" of whole predictions" if whole else " of the claims")
    if (counted := counts(predictions)) is not None:
        return _of_sums(name, counted.losses["brier"], careful=True)
    judged = predictions.answered if whole else _claimed(predictions.answered)
    judged = judged.written_out()
    n = judged.n_rows
    weight = np.ones(n) if judged.weights is None else judged.weights
    each = label_losses(Brier(), judged)
    mean, variance = each.expected, each.variance
    spread = float(np.sqrt((np.square(weight) * variance).sum()))
    excess = float((weight * (proper_scores.brier_scores(judged) - mean)).sum())
    # Uniform rows have equal losses but for rounding: what is smaller than that is no deviation.
    slack = _ROUNDING * float(weight.sum())
    impossible = bool(((proper_scores.label_probs(judged) == 0) & (weight > 0)).any())
    if spread <= slack:
        excess = 0.0 if abs(excess) <= slack and not impossible else float(np.copysign(np.inf, excess))
        return TestOfCalibration(name, excess, 0.0 if excess else 1.0)
    z = excess / spread
    if impossible:
        return TestOfCalibration(name, z, 0.0)
    if judged.row_groups is not None:
        return _by_group(name, judged, weight * (proper_scores.brier_scores(judged) - mean), weight * np.sqrt(variance))
    if berry_esseen(weight, variance, each.third) <= NORMAL:
        return TestOfCalibration(name, z, float(2 * norm.sf(abs(z))), _NORMAL_LAW)
    order = np.lexsort((mean, variance, weight))
    drawn = _drawn_excess(judged.take(order), weight[order], mean[order], random_state)
    simulated = f"{len(drawn):,} simulated samples"
    return TestOfCalibration(name, z, NoiseFloor(abs(excess), np.abs(drawn)).p_value, simulated)


def _claimed(predictions: Predictions) -> Predictions:
    """Convert the claim to a prediction of two classes: right, with its confidence, or wrong."""
    h = predictions.confidence.astype(np.float64)
    return Predictions(
        np.column_stack([h, 1.0 - h]), ~predictions.correct, weights=predictions.weights, groups=predictions.grouping
    )


def _drawn_excess(predictions: Predictions, weight: Float64s, mean: Float64s, random_state: int) -> Float64s:
    """The excess for outcomes drawn from the predictions, (R,)."""
    resamples = int(np.clip(_DRAWN_NUMBERS // predictions.n_rows, *_RESAMPLES))
    found = []
    for count, rng in streams(resamples, random_state):
        total = np.zeros(count)
        for where, block, drawn in classes(predictions.rows, rng, count):
            p = block.astype(np.float64)
            lost = np.square(p).sum(axis=1)[:, None] - 2.0 * np.take_along_axis(p, drawn, axis=1) + 1.0
            total += weight[where] @ (lost - mean[where, None])
        found.append(total)
    return np.concatenate(found)


def kuiper(predictions: Predictions, reduction: str | Reduction | None = None) -> TestOfCalibration:
    """Kuiper's test: range of the cumulative differences between outcomes and scores, from low to high scores.

    D_j = sum_{i <= j} (z_(i) - s_(i)) / sqrt(sum_i s_i (1 - s_i)) over scores in order (equal scores as one step).
    The statistic is max D - min D with D_0 = 0. Under calibration D is approximately a Brownian path, whose range has
    the law of Feller 1951. Only one stratum of claims is allowed; by default those of the event of two classes, else
    of the confidence.

    It needs no bins and no bandwidth, and detects over- and under-confidence, even where they cancel in a mean.
    Whole-number weights are copies; others multiply each row's difference and the deviation of its outcome. What can
    mislead: with few rows, or scores near 0 and 1 only, D is not close to a Brownian path. The noise floor of the
    "max-deviation" estimator is exact.

    References: Arrieta-Ibarra et al. 2022; Feller 1951, The asymptotic distribution of the range of sums.

    >>> p = Predictions.from_confidence([0.5] * 4, [True, True, True, True])
    >>> round(kuiper(p).statistic, 3)  # 4 * 0.5 / sqrt(4 * 0.25)
    2.0
    """
    refuse_groups(predictions, "Kuiper's test")
    claims = claims_of(predictions.written_out(), judged_notion(reduction, predictions))
    if len(claims.strata) != 1:
        raise NotAnswerable("the Kuiper test needs claims of one stratum; use confidence or one class")
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
