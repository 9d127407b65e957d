"""Bin-free tests of calibration (Spiegelhalter's Z, Kuiper's differences), and a bound on the error without bins."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal
from weakref import WeakKeyDictionary

import numpy as np

from calib_core._base.arrays import Codes, Float64s
from calib_core._base.distributions import norm
from calib_core._base.distributions import t as student
from calib_core._base.errors import InputError, as_share
from calib_core._base.notebook_display import OneLine
from calib_core.binning.base import BinningScheme, as_binning
from calib_core.binning.bin_table import BinTable
from calib_core.binning.interval_schemes import EqualMass
from calib_core.claims.binary_claims import ColumnClaims, FlatClaims, Stratum
from calib_core.claims.exact_sums import ROUNDING
from calib_core.defaults import LEVEL, SEED
from calib_core.estimators.base import estimate, judged_notion
from calib_core.estimators.binned import Binned
from calib_core.estimators.score_estimators import Brier, LogLoss
from calib_core.inference.intervals.clustered_rows import FEWEST, poor, together
from calib_core.inference.noise.outcome_draws import classes, distributions, streams
from calib_core.inference.noise.score_draws import berry_esseen, label_losses
from calib_core.predictions import proper_scores
from calib_core.predictions.predictions import NotAnswerable, Predictions
from calib_core.predictions.row_groups import refuse_groups
from calib_core.reductions.base import Reduction, as_reduction, claims_of, counts
from calib_core.results.uncertainty import NoiseFloor, TestOfCalibration
from calib_core.summaries.counted_claims import NORMAL, LossSums
from calib_core.text import at_level, short_percent

_TERMS = 100
_BERRY_ESSEEN = 0.56
"""The law of a sum is off from the normal one by at most this times the ratio."""
_DRAWN_NUMBERS = 20_000_000
_RESAMPLES = 199, 4999
"""Numbers of draws: p = .1 has a standard error of at most .005 up to 5,500 rows."""
_NORMAL_LAW = "normal approximation"
_ROUNDING = 1e-9
"""Brier scores of a row that differ by less are equal."""

_KEPT: WeakKeyDictionary[Predictions, TestOfCalibration] = WeakKeyDictionary()
"""Many lines of a table are about the same predictions."""


def spiegelhalter(predictions: Predictions, score: Literal["brier", "log-loss"] = "brier") -> TestOfCalibration:
    """Spiegelhalter's test: compare a proper score with its expectation under the predicted probabilities.

    Z = sum_i [S(p_i, y_i) - E S(p_i, k)] / sqrt(sum_i Var S(p_i, k)), k ~ p_i, for the Brier score (summed over
    classes) or the log loss. Z is standard normal under calibration; the p-value is two-sided. For grouped rows, each
    group's terms are summed, with the variance observed between groups. Abstained rows are left out. Z above 0: the
    model does worse than it predicts (overconfident). Whole-number weights are copies; others multiply each row's
    terms.

    What can mislead: over- and underconfident regions cancel. A few very unlikely classes make the log-loss form far
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
    return TestOfCalibration(f"{name}, rows of a group summed", z, p, "Student's t distribution")


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

    What can mislead: over- and underconfident regions cancel. A claim of 1/2 has the same Brier score whatever
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
    judged = _scored(predictions)
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


def impossible_rows(predictions: Predictions) -> int:
    """Number of rows in which the observed outcome had a predicted probability of 0.

    The outcome is the label; if only a claim is known (``shown_at_all``), it is whether the claim was right.

    >>> impossible_rows(Predictions.from_confidence([1.0, 1.0, 0.9], [True, False, False]))
    1
    """
    if (counted := counts(predictions)) is not None:
        return int(counted.losses["brier"].impossible)
    judged = _scored(predictions)
    weight = 1.0 if judged.weights is None else judged.weights
    return int(((proper_scores.label_probs(judged) == 0) & (np.asarray(weight) > 0)).sum())


def _scored(predictions: Predictions) -> Predictions:
    """Return the answered rows with copies expanded: whole predictions, or the claims where only these are known."""
    answered = predictions.answered
    return (answered if predictions.kind == "full" else _claimed(answered)).written_out()


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

    It needs no bins and no bandwidth, and detects over- and underconfidence, even where they cancel in a mean.
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


Assumption = Literal["lipschitz", "monotone"]


@dataclass(frozen=True, repr=False)
class UnbinnedBound(OneLine):
    """An upper end for the error without bins: ``value`` = ``binned`` + ``added``, one-sided at ``level``, at most 1.

    ``binned`` is the upper end of the error in ``bins``, ``added`` what can hide within them under the assumption.
    """

    value: float
    binned: float
    added: float
    assumption: Assumption
    constant: float | None
    bins: BinningScheme
    level: float

    def _line(self) -> str:
        parts = f"{self.binned:.4f} in bins and {self.added:.4f} within them"
        return f"at most {self.value:.4f} at {at_level(self.level)}, {parts}; {self.assumption}"

    @property
    def sentence(self) -> str:
        """The bound, its assumption and its confidence level."""
        end = f"Then the error is at most {short_percent(self.value)} (one-sided {at_level(self.level)} confidence)."
        if self.assumption == "monotone":
            return f"Assume that the observed frequency never decreases with the score. {end}"
        much = "x" if self.constant == 1 else f"{self.constant:g} times x"
        return (
            "Assume that if the score changes by x, the gap between score and true frequency changes by at most "
            f"{much}. {end}"
        )


def unbinned_bound(
    predictions: Predictions,
    reduction: str | Reduction | None = None,
    assumption: Assumption = "lipschitz",
    constant: float = 1.0,
    bins: int | str | BinningScheme | None = None,
    level: float = (1 + LEVEL) / 2,
) -> UnbinnedBound:
    """Upper bound on the error, including errors finer than the bins, under an assumption about the curve.

    The target is (1/N) sum_i |r(s_i) - s_i|, with r the (unknown) observed frequency at each score, given the scores.
    Over strata of claims (top-label: classes) it is their weighted mean, each with its own r under the same
    assumption. The upper end U is that of the default interval of the binned L1 error at level 2 ``level`` - 1, so that
    it fails by 1 - ``level``. The cells' weights in the aggregate are w_b. By default the claims are of the event of
    two classes, else of the confidence.

    "lipschitz": g(s) = r(s) - s changes by at most L = ``constant`` per unit of score. The bound is
    U + L sum_b w_b GMD_b, with GMD_b = mean |s_i - s_j| over all pairs of rows of cell b (i = j counted).

    "monotone": r never falls. The bound is U + sum_strata max_b w_b / 2 + sum_b w_b MAD_b, with MAD_b = mean |s_i -
    s_b| and s_b the cell's mean score. (``constant`` is not used.)

    Proof of the added terms. In a cell E|g| <= |E g| + E|g - E g|, E over its rows; |E g| adds up to the binned
    error. Lipschitz: with S' an independent copy of S, E|g(S) - E g| <= E|g(S) - g(S')| <= L E|S - S'|. The smaller L
    MAD_b is no bound: S = -1, 0, 0, 0, 0, 1 and g = |S| - 1/3 have E g = 0, E|g| = 4/9 and MAD = 1/3. Monotone: E|g - E
    g| <= E|r - E r| + MAD_b. E|r - E r| is at most half the range of r in the cell, and the ranges within a stratum add
    up to at most 1.

    Default bins: of equal mass, sqrt(rows per stratum) / 1.5 of them within 10 to 100. Bins must be fixed by the
    scores. What can mislead: L is an assumption and must be chosen before looking at the plot. If the assumption is
    false, the bound can be far too low: 15 cycles within 15 bins, L = 1. NotAnswerable for whole probability vectors.

    >>> p = Predictions.from_confidence(np.linspace(0.5, 0.9, 1000), np.arange(1000) % 10 < 7)
    >>> bound = unbinned_bound(p, assumption="lipschitz", constant=1.0)
    >>> bound.binned < bound.value < 0.25, bound.value == bound.binned + bound.added
    (True, True)
    """
    if assumption not in ("lipschitz", "monotone"):
        raise InputError(f"assumption is {assumption!r}; it must be 'lipschitz' or 'monotone'")
    if not (np.isfinite(constant) and constant >= 0):
        raise InputError(f"constant is {constant}; it must be a number of at least 0")
    as_share(level, "level")
    if level <= 0.5:
        raise InputError(f"level is {level}; it must be between 0.5 and 1, both excluded")
    notion = as_reduction(judged_notion(reduction, predictions))
    claims: Any = claims_of(predictions, notion)
    scheme = EqualMass(_number(predictions, claims)) if bins is None else as_binning(bins)
    estimated = estimate(predictions, notion, Binned(scheme))
    assert isinstance(estimated.bins, BinTable)
    binned = float(estimated.interval(round(2 * level - 1, 12)).high)  # 0.9 for 0.95, without what rounding adds
    added = _within(claims, estimated.bins, assumption, constant)
    value = min(1.0, binned + added)
    return UnbinnedBound(
        value, binned, added, assumption, constant if assumption == "lipschitz" else None, scheme, level
    )


def gini_mean_difference(scores: Float64s, weights: Float64s, codes: Codes, cells: int) -> Float64s:
    """Mean |s_i - s_j| over all pairs of rows of each cell, i = j counted, (cells,); 0 for empty cells.

    2 sum_j w_j (s_j W_j - V_j) / W^2 with W_j, V_j the weight and weighted scores of the cell's rows before j in order.

    >>> gini_mean_difference(np.array([0.0, 1.0, 0.5]), np.ones(3), np.array([0, 0, 1]), 2)
    array([0.5, 0. ])
    """
    order = np.lexsort((scores, codes))
    s, w, cell = scores[order], weights[order], codes[order]
    total = np.bincount(cell, w, minlength=cells)
    # Scores are taken from their cell's mean, so that sums over all cells leave no rounding of other cells behind.
    mean = np.divide(np.bincount(cell, w * s, minlength=cells), total, out=np.zeros(cells), where=total > 0)
    s = s - mean[cell]
    starts = np.searchsorted(cell, np.arange(cells))
    weight_before, score_before = (_before(part, cell, starts) for part in (w, w * s))
    sums = np.bincount(cell, 2.0 * w * (s * weight_before - score_before), minlength=cells)
    return np.asarray(np.divide(np.maximum(sums, 0.0), np.square(total), out=np.zeros(cells), where=total > 0))


def _before(part: Float64s, cell: Codes, starts: Codes) -> Float64s:
    """Sum of the cell's earlier entries."""
    upto = np.append(0.0, np.cumsum(part))
    return np.asarray(upto[:-1] - upto[starts][cell])


def _within(claims: FlatClaims | ColumnClaims, table: BinTable, assumption: Assumption, constant: float) -> float:
    """Largest possible error within the cells, over all strata."""
    total = 0.0
    for s in np.flatnonzero(claims.shares > 0):
        stratum, bins = claims.stratum(int(s)), int(table.n_bins[s])
        if stratum.total > 0:
            total += float(claims.shares[s]) * _hidden(stratum, table.lower[s, 1:bins], assumption, constant)
    return total


def _hidden(stratum: Stratum, edges: Float64s, assumption: Assumption, constant: float) -> float:
    s, cells = stratum.scores.astype(np.float64), len(edges) + 1
    codes = np.searchsorted(edges.astype(stratum.scores.dtype), stratum.scores, side="right")
    weight = np.ones(len(s)) if stratum.weights is None else stratum.weights
    share = np.bincount(codes, weight, minlength=cells) / weight.sum()
    if assumption == "lipschitz":
        return constant * float(share @ gini_mean_difference(s, weight, codes, cells))
    mean = np.bincount(codes, weight * s, minlength=cells) / np.maximum(share * weight.sum(), 1e-300)
    return float(share.max()) / 2 + float(weight @ np.abs(s - mean[codes])) / float(weight.sum())


def _number(predictions: Predictions, claims: Any) -> int:
    strata = np.count_nonzero(claims.shares > 0) if claims.one_a_row() else 1
    rows = predictions.answered.effective_rows / max(strata, 1)
    return int(np.clip(np.sqrt(rows) / 1.5, 10, 100))
