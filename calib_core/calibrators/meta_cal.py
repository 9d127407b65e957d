"""Meta-Cal (P4): abstain on rows that are too uncertain for a target rate, and recalibrate the others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, ClassVar, Literal

import numpy as np

from calib_core import guarantees
from calib_core._base.arrays import Bools, Float64s, Rows, frozen
from calib_core._base.distributions import beta, binom
from calib_core._base.parallel import Progress
from calib_core._base.sklearn_api import check_is_fitted, clone
from calib_core.calibrators.base import CALIBRATORS, Calibrator, Contract
from calib_core.calibrators.calibration_rows import as_rows, hold_out
from calib_core.calibrators.insides import Insides, Number, Profile
from calib_core.calibrators.temperature import Temperature
from calib_core.defaults import ALPHA, SEED
from calib_core.guarantees.promise import Promise
from calib_core.predictions.predictions import InputError, NotAnswerable, Predictions
from calib_core.predictions.row_groups import refuse_groups
from calib_core.registry.registry import Choice, Part, Range

ANSWER_ALL = float("inf")
"""Threshold that no score exceeds."""

_STEPS = 50
"""Number of thresholds in fixed-sequence testing, from strict to loose."""
_ALIKE = 0.01
"""Probabilities of passing that differ by less count as equal: a looser start then avoids needless tests."""


def entropies(rows: Rows) -> Float64s:
    """Ranking score of P4, the entropy -sum_l p_l log p_l in nats of each row; high if the model is uncertain.

    float32 rows are multiplied in float32 and summed in float64.

    >>> entropies(Rows(np.array([[0.5, 0.5], [1.0, 0.0]]))).round(4).tolist()
    [0.6931, 0.0]
    """
    entropy = np.empty(rows.shape[0])
    for where, block in rows.blocks():
        logs = np.log(np.maximum(block, np.finfo(block.dtype).tiny))
        logs *= block
        entropy[where] = -logs.sum(axis=1, dtype=np.float64)
    return np.maximum(entropy, 0.0)


def paper_miscoverage(scores: Float64s, alpha: float) -> tuple[float, float]:
    """Threshold of P4 from scores of correct rows, and the probability (5) that its miscoverage exceeds alpha.

    The threshold is the ceil((n + 1)(1 - alpha))-th smallest score; with fewer than (1 - alpha) / alpha scores no score
    is sufficient and all rows are answered.

    References: P4 §4.1, Algorithm 1.

    >>> paper_miscoverage(np.arange(1.0, 21.0), 0.1)[0]  # ceil(21 * .9) = 19
    19.0
    """
    rank = guarantees.paper_rank(len(scores), alpha)
    if rank > len(scores):
        return ANSWER_ALL, 0.0
    return float(np.sort(scores)[rank - 1]), guarantees.exceed_probability(len(scores), rank, alpha)


def guaranteed_miscoverage(scores: Float64s, alpha: float, risk: float) -> tuple[float, float]:
    """Smallest order statistic whose miscoverage exceeds alpha with probability (5) at most ``risk``, and that value.

    Raises NotAnswerable, with the number of rows needed, if even the largest score is not sufficient.

    References: P4 eq. (5); Tong, Feng & Li 2018.

    >>> guaranteed_miscoverage(np.arange(1.0, 60.0), 0.05, 0.05)[0]  # the largest of 59: .95 ** 59 = .0485
    59.0
    """
    rank = guarantees.guaranteed_rank(len(scores), alpha, risk)
    if rank is None:
        needed = guarantees.rows_for_miscoverage(alpha, risk)
        raise NotAnswerable(
            f"a miscoverage of at most {alpha:g} at risk {risk:g} needs {needed} held-out correct rows, but only "
            f"{len(scores)} are held out (a tenth of the correct rows): give more rows, allow more risk, or choose "
            "rule 'paper'"
        )
    return float(np.sort(scores)[rank - 1]), guarantees.exceed_probability(len(scores), rank, alpha)


@dataclass(frozen=True, eq=False)
class CoverageCurve:
    """Accuracy l(s) among rows with scores up to s, fitted to decrease in s; arrays have one entry per bin.

    ``scores`` are the mean scores of the bins and ``accuracies`` the fitted values. ``observed`` is the accuracy of all
    rows up to the bin's end, and ``shares`` the share of rows up to it.
    """

    scores: Float64s
    accuracies: Float64s
    observed: Float64s
    shares: Float64s

    def threshold(self, accuracy: float) -> float:
        """Largest score at which the curve is at least this accuracy; ANSWER_ALL if all rows reach it.

        Raises NotAnswerable, with the attainable range, if the curve begins below it.
        """
        slack = 1e-12
        if accuracy <= self.accuracies[-1] + slack:
            return ANSWER_ALL
        if accuracy > self.accuracies[0] + slack:
            raise NotAnswerable(
                f"coverage accuracy {accuracy:g} cannot be reached: on the held-out rows it ranges from "
                f"{self.accuracies[-1]:.4g} with every row answered to {self.accuracies[0]:.4g} with only the most "
                f"certain {self.shares[0] * 100:.3g} % answered"
            )
        i = int(np.flatnonzero(self.accuracies >= accuracy - slack)[-1])
        high, low = self.accuracies[i], self.accuracies[i + 1]
        part = min(1.0, max(0.0, float((high - accuracy) / (high - low))))
        return float(self.scores[i] + part * (self.scores[i + 1] - self.scores[i]))


def coverage_curve(scores: Float64s, correct: Bools, bins: int) -> CoverageCurve:
    """Estimate the coverage accuracy as in P4: equal-mass bins, cumulative accuracy, decreasing isotonic fit.

    Equal scores share a bin, empty bins are left out, and each bin is weighted by its rows. There is no allowance for
    sampling error, so a threshold from this curve has no guarantee.

    References: P4 §4.2, after Proposition 12.

    >>> curve = coverage_curve(np.array([0.1, 0.2, 0.3, 0.4]), np.array([True, True, True, False]), 2)
    >>> curve.scores.round(2).tolist(), curve.accuracies.tolist()
    ([0.15, 0.35], [1.0, 0.75])
    """
    order = np.argsort(scores, kind="stable")
    s, hits = scores[order], np.cumsum(correct[order])
    n = len(s)
    wanted = s[np.ceil(np.arange(1, bins + 1) * n / bins).astype(np.intp) - 1]
    ends = np.unique(np.searchsorted(s, wanted, side="right"))
    sizes = np.diff(np.append(0, ends))
    means = np.add.reduceat(s, np.append(0, ends[:-1])) / sizes
    observed = hits[ends - 1] / ends
    from sklearn.isotonic import IsotonicRegression  # slow import: only loaded for a threshold

    fit = IsotonicRegression(increasing=False).fit(means, observed, sample_weight=sizes)
    return CoverageCurve(means, np.asarray(fit.predict(means), dtype=np.float64), observed, ends / n)


@dataclass(frozen=True, eq=False)
class ScoredRows:
    """Ranking scores of rows, correctness of the model, and weights (None: all 1)."""

    scores: Float64s
    correct: Bools
    weights: Float64s | None = None

    def running(self) -> tuple[Float64s, Float64s, Float64s]:
        """Ascending scores, with the weight of all rows and of correct rows up to each."""
        order = np.argsort(self.scores, kind="stable")
        counts = np.ones(len(order)) if self.weights is None else as_rows(self.weights)[order]
        return self.scores[order], np.cumsum(counts), np.cumsum(counts * self.correct[order])


def guaranteed_accuracy(scores: Float64s, correct: Bools, others: ScoredRows, accuracy: float, risk: float) -> float:
    """Loosest threshold that passes fixed-sequence tests of the accuracy among answered rows, at this risk.

    Thresholds, their order and the first one tested are fixed from *other* rows. Given those and the number of held-out
    rows that a threshold answers, the number of correct ones is binomial. Clopper-Pearson bounds are therefore exact.
    Thresholds are equally spaced in rank among the others' scores. The first is expected to answer just enough rows to
    pass without an error. They are tested from strict to loose, each at the full risk, until one fails. The first one
    tested is the loosest whose probability of passing, by the others' accuracy up to it, is within .01 of the best. The
    probability of a threshold with a true accuracy below the target is then at most ``risk``. The first such threshold
    in the sequence must pass its test. Raises NotAnswerable if the first one fails; a refusal does not violate the
    guarantee.

    References: Geifman & El-Yaniv 2017 (selective risk control); fixed-sequence testing: Wiens 2003.
    """
    needed = guarantees.rows_for_accuracy(accuracy, risk)
    passed: float | None = None
    if needed <= len(scores):
        for threshold in _sequence(others, len(scores), needed, accuracy, risk):
            if _lower_bound(scores <= threshold, correct, risk) < accuracy:
                break
            passed = float(threshold)
    if passed is None:
        raise NotAnswerable(_out_of_reach(scores, correct, accuracy, risk, needed))
    return passed


def _sequence(others: ScoredRows, n: int, needed: int, accuracy: float, risk: float) -> Float64s:
    """Thresholds in test order, for n rows."""
    s, rows, hits = others.running()
    shares = np.linspace(needed / n, 1.0, _STEPS)
    thresholds = np.unique(s[np.searchsorted(rows, shares * rows[-1] * (1.0 - 1e-12), side="left")])
    last = np.searchsorted(s, thresholds, side="right") - 1
    answered = np.round(rows[last] / rows[-1] * n)
    enough = binom.isf(risk, answered, accuracy)  # a test passes with more correct answers than these
    chance = np.asarray(binom.sf(enough, answered, (hits[last] + 1.0) / (rows[last] + 2.0)))
    return thresholds[np.flatnonzero(chance >= chance.max() - _ALIKE)[-1] :]


def _lower_bound(answered: Bools, correct: Bools, risk: float) -> float:
    return guarantees.accuracy_lower_bound(int(correct[answered].sum()), int(answered.sum()), risk)


def _out_of_reach(scores: Float64s, correct: Bools, accuracy: float, risk: float, needed: int) -> str:
    n = len(scores)
    s, rows, hits = ScoredRows(scores, correct).running()
    last = np.append(np.flatnonzero(np.diff(s)), n - 1)
    bounds = np.nan_to_num(np.asarray(beta.ppf(risk, hits[last], rows[last] - hits[last] + 1.0)))
    best = int(bounds.argmax())
    return (
        f"coverage accuracy {accuracy:g} cannot be guaranteed at risk {risk:g}: on the {n} held-out rows its lower "
        f"bound ranges from {bounds[-1]:.4g} with every row answered to {bounds[best]:.4g} with the most certain "
        f"{rows[last[best]] / n * 100:.3g} % answered. It needs at least {needed} rows answered without error; "
        "give more rows, lower the accuracy, or choose rule 'paper'"
    )


HELD_OUT_SHARE, MOST_HELD_OUT = 0.1, 500
"""Share and maximum number of the rows held out to choose the threshold (P4 §5.1)."""

_FLAGS = Contract("full", keeps_argmax=False, sums_to_one=True, may_refuse=True, abstains=True)
_MISCOVERAGE = Profile(
    "abstaining",
    "Abstains on the least certain rows, few of them correct, and recalibrates the rest.",
    rows=(500, 0, 0),
    promises=True,
)
_ACCURACY = Profile(
    "abstaining",
    "Abstains on the least certain rows until the rest reach an accuracy, and recalibrates those.",
    rows=(500, 0, 0),
    promises=True,
)


_WEIGHTED = "the calibration rows are weighted, and the bound needs rows of equal weight"


class MetaCal(Calibrator):
    """Base class of both constraints: holds rows out, chooses a threshold on them, fits the base on answered rows."""

    asks: ClassVar[str]
    """Requirement on a base calibrator, as words after "must"."""

    base: Calibrator
    random_state: int

    def discrete(self, given: bool = False) -> bool:
        return self.base.discrete(given)

    def _fit(self, predictions: Predictions, progress: Progress) -> None:
        self._check_base()
        if self.rule == "guaranteed":
            refuse_groups(predictions, "the guaranteed rule", "choose the published rule")
        scores = entropies(predictions.rows)
        parts = hold_out(predictions, self._eligible(predictions), HELD_OUT_SHARE, MOST_HELD_OUT, self.random_state)
        rest = ScoredRows(scores[parts.left], predictions.correct[parts.left], parts.rest.weights)
        self.weighted_ = predictions.weights is not None and bool((predictions.weights != predictions.weights[0]).any())
        self.n_held_out_ = len(parts.rows)
        self.exceed_probability_ = 0.0
        self.threshold_ = self._threshold(scores[parts.rows], predictions.correct[parts.rows], rest)
        answered = np.flatnonzero(rest.scores <= self.threshold_)
        if not len(answered):
            raise NotAnswerable(
                "no row is left to fit the base calibrator on, as all are withheld: give more calibration rows"
            )
        self.n_fit_ = len(answered)
        self.base_: Calibrator = clone(self.base).fit_on(parts.rest.take(answered), progress)

    def _apply(self, predictions: Predictions, progress: Progress) -> Predictions:
        silent = entropies(predictions.rows) > self.threshold_
        out = np.full(predictions.rows.shape, 1.0 / predictions.rows.shape[1], dtype=predictions.rows.dtype)
        if not silent.all():
            out[~silent] = self.base_.apply(predictions.take(np.flatnonzero(~silent)), progress).probs
        return predictions.with_probs(frozen(out), abstained=silent)

    @property
    def note(self) -> str:
        check_is_fitted(self)
        return self.base_.note

    def insides(self, names: Sequence[str] = ()) -> Insides:
        check_is_fitted(self)
        base = self.base_.insides(names)
        threshold = float(self.threshold_)
        limit = "all rows answered" if np.isinf(threshold) else f"entropy up to {threshold:.3g}"
        rule = "Answers every row" if np.isinf(threshold) else f"Answers rows whose entropy is at most {threshold:.3g}"
        return Insides(
            "; ".join(filter(None, (limit, base.short))),
            f"{rule}, a threshold chosen on {self.n_held_out_:,} held-out rows. {base.sentence}".rstrip(),
            lambda: [
                Number("entropy threshold", threshold),
                Number("rows held out for the threshold", float(self.n_held_out_)),
                Number("rows for the base calibrator", float(self.n_fit_)),
                *base.numbers(),
            ],
            base.grids,
        )

    def attained(self, before: Predictions, after: Predictions) -> float:
        """Constrained rate, measured on rows before and after recalibration; NaN if no row counts."""
        raise NotImplementedError

    def _accepts(self, flags: Contract) -> bool:
        """Return True if base calibrators with this contract meet the constraint's requirement."""
        return flags.output in ("full", "same") and flags.sums_to_one and not flags.abstains

    def _eligible(self, predictions: Predictions) -> Bools:
        raise NotImplementedError

    def _threshold(self, scores: Float64s, correct: Bools, others: ScoredRows) -> float:
        raise NotImplementedError

    def _check_base(self) -> None:
        entry = CALIBRATORS.find(self.base)
        if entry is None or not self._accepts(entry.flags):
            fit = [key for key in CALIBRATORS if self._accepts(CALIBRATORS[key].flags)]
            raise InputError(
                f"Meta-Cal's base calibrator must {self.asks}; "
                f"{type(self.base).__name__ if entry is None else entry.key!r} does not: choose one of {', '.join(fit)}"
            )


@CALIBRATORS.register(
    "metacal-miscoverage", "Meta-Cal by miscoverage", reference="P4 Alg. 1", flags=replace(_FLAGS, profile=_MISCOVERAGE)
)
@dataclass(eq=False, repr=False)
class MetaCalMiscoverage(MetaCal):
    """Abstains on the least certain rows with a limit on withheld correct ones; recalibrates the rest.

    The ranking score is the entropy of the uncalibrated row. The number of correct rows held out is min(correct rows /
    10, 500), and the threshold r is an order statistic of their scores. Rows with a score above r get the uniform
    vector and are marked as abstentions. The base calibrator is fitted on the other calibration rows up to r.
    Miscoverage F0 is the share of correct rows that are withheld. ``rule="paper"`` takes the ceil((n1 + 1)(1 -
    alpha))-th score, for which F0 exceeds alpha with the probability of eq. (5), .14 to .49 with 20 to 500 rows.
    ``"guaranteed"`` takes the smallest for which this probability is at most ``risk``, and refuses if too few rows are
    held out. The bound concerns correct rows of the original model. So any base calibrator is possible that answers
    every row with probabilities of all classes that sum to one (P4 §4.2, remark i). It may even change the predicted
    class. What can mislead: withheld rows are not answers, so accuracy and calibration afterwards are about the
    answered rows only; check the coverage.

    ``threshold_`` is r (infinite if all rows are answered), ``exceed_probability_`` is P(F0 > alpha) by eq. (5),
    ``n_held_out_`` and ``n_fit_`` are numbers of rows, and ``base_`` is the fitted base calibrator.

    References: P4 Algorithm 1, eq. (5); Tong, Feng & Li 2018.

    >>> p = Predictions([[0.9, 0.1], [0.6, 0.4]] * 200, [0, 0, 0, 1] * 100)
    >>> cal = MetaCalMiscoverage(miscoverage=0.5).fit_on(p)  # of right answers two in three say .9
    >>> cal.apply(p).coverage, cal.n_held_out_
    (0.5, 30)
    """

    wanted: ClassVar[str] = "miscoverage"
    asks: ClassVar[str] = (
        "answer every row and return probabilities of all classes that sum to one, as a withheld row becomes uniform"
    )

    miscoverage: Annotated[
        float, Range(0.001, 0.5), "Correct rows withheld", "maximum share of correct rows withheld"
    ] = 0.05
    rule: Annotated[
        Literal["paper", "guaranteed"],
        Choice(("paper", "guaranteed"), titles=("As published", "Guaranteed")),
        "Rule",
        "published: the limit is exceeded with a stated probability below one half; guaranteed: with the risk below",
    ] = "paper"
    risk: Annotated[float, Range(0.001, 0.5), "Risk of failure", "failure probability of the guaranteed rule"] = 0.05
    base: Annotated[
        Calibrator,
        Part("CALIBRATORS"),
        "Calibrator for answered rows",
        "recalibrates the answered rows; must return probabilities of all classes",
    ] = field(default_factory=Temperature)
    random_state: Annotated[int, Range(0, 2**31 - 1), "Random seed", "seed of the held-out rows"] = SEED

    def attained(self, before: Predictions, after: Predictions) -> float:
        silent = np.zeros(before.n_rows, dtype=bool) if after.abstained is None else after.abstained
        right = before.correct
        return float(np.average(silent[right], weights=_of(before, right))) if right.any() else float("nan")

    def guarantee(self, alpha: float = ALPHA) -> Promise:
        """Eq. (5) at the rule's own level, whatever ``alpha``: the threshold was chosen for one probability."""
        check_is_fitted(self)
        if self.dependence:
            return guarantees.no_promise(self.dependence)
        if vars(self).get("weighted_", False):  # calibrators saved by earlier versions lack it
            return guarantees.no_promise(_WEIGHTED)
        return guarantees.miscoverage_promise(self.n_held_out_, self.exceed_probability_, self.miscoverage)

    def _eligible(self, predictions: Predictions) -> Bools:
        return predictions.correct

    def _threshold(self, scores: Float64s, correct: Bools, others: ScoredRows) -> float:
        threshold, self.exceed_probability_ = (
            paper_miscoverage(scores, self.miscoverage)
            if self.rule == "paper"
            else guaranteed_miscoverage(scores, self.miscoverage, self.risk)
        )
        return threshold


@CALIBRATORS.register(
    "metacal-accuracy", "Meta-Cal by accuracy", reference="P4 Alg. 2", flags=replace(_FLAGS, profile=_ACCURACY)
)
@dataclass(eq=False, repr=False)
class MetaCalAccuracy(MetaCal):
    """Abstains on the least certain rows until the others reach a target accuracy; recalibrates those.

    As for miscoverage, with min(rows / 10, 500) rows held out, correct or not, and the threshold l^-1(beta), l(s) the
    accuracy among rows with scores up to s. ``rule="paper"`` estimates l. It takes equal-mass bins of the scores. A
    decreasing isotonic fit of (mean score of the bin, accuracy of all rows up to its end) is interpolated. It has no
    allowance for sampling error. In simulations (7 distributions, 120 to 500 held-out rows) it met an attainable beta
    in 37 to 100 % of the splits that it did not refuse, by target and distribution. It never met an unattainable one.
    ``"guaranteed"`` tests thresholds from strict to loose with exact binomial bounds: over the held-out rows, with
    probability at least 1 - ``risk`` it meets beta or refuses. If all rows together reach beta nothing is withheld; if
    no threshold does, fit raises NotAnswerable with the attainable range. What can mislead: accuracy costs coverage, so
    check the coverage; and if beta is unattainable, the few fits that are not refused all miss it.

    References: P4 Algorithm 2 and §4.2; the published code averages over bins instead of rows and includes empty bins.

    >>> p = Predictions([[0.9, 0.1], [0.6, 0.4]] * 200, [0, 0, 0, 1] * 100)
    >>> cal = MetaCalAccuracy(accuracy=0.99).fit_on(p)  # .9 is always right, .6 half the time
    >>> calibrated = cal.apply(p)
    >>> calibrated.coverage, calibrated.accuracy
    (0.5, 1.0)
    """

    wanted: ClassVar[str] = "accuracy"
    asks: ClassVar[str] = "keep the predicted class and return probabilities of all classes"

    accuracy: Annotated[float, Range(0.01, 0.9999), "Target accuracy", "target accuracy of the answered rows"] = 0.97
    rule: Annotated[
        Literal["paper", "guaranteed"],
        Choice(("paper", "guaranteed"), titles=("As published", "Guaranteed")),
        "Rule",
        "published: no guarantee; guaranteed: met except with the risk below",
    ] = "paper"
    risk: Annotated[float, Range(0.001, 0.5), "Risk of failure", "failure probability of the guaranteed rule"] = 0.05
    bins: Annotated[int, Range(2, 100), "Number of bins", "equal-mass bins of the scores for the published rule"] = 20
    base: Annotated[
        Calibrator,
        Part("CALIBRATORS"),
        "Calibrator for answered rows",
        "recalibrates the answered rows; must keep the predicted class",
    ] = field(default_factory=Temperature)
    random_state: Annotated[int, Range(0, 2**31 - 1), "Random seed", "seed of the held-out rows"] = SEED

    def attained(self, before: Predictions, after: Predictions) -> float:
        return after.accuracy

    def guarantee(self, alpha: float = ALPHA) -> Promise:
        """Target accuracy at level 1 - risk for the guaranteed rule; no guarantee for the published rule."""
        check_is_fitted(self)
        if self.dependence:
            return guarantees.no_promise(self.dependence)
        if vars(self).get("weighted_", False):  # calibrators saved by earlier versions lack it
            return guarantees.no_promise(_WEIGHTED)
        if self.rule == "guaranteed":
            return guarantees.coverage_accuracy_promise(self.accuracy, self.risk)
        return guarantees.no_promise(
            "the published threshold has no allowance for sampling error (in simulations it met an attainable target "
            "in 37 to 100 % of splits, and an unattainable one in none); choose rule 'guaranteed' for a guarantee"
        )

    def _eligible(self, predictions: Predictions) -> Bools:
        return np.ones(predictions.n_rows, dtype=bool)

    def _accepts(self, flags: Contract) -> bool:
        return super()._accepts(flags) and flags.keeps_argmax

    def _threshold(self, scores: Float64s, correct: Bools, others: ScoredRows) -> float:
        if not len(scores):
            raise NotAnswerable(
                "a tenth of the calibration rows is held out for the threshold: give at least 10 calibration rows"
            )
        if self.rule == "paper":
            return coverage_curve(scores, correct, self.bins).threshold(self.accuracy)
        return guaranteed_accuracy(scores, correct, others, self.accuracy, self.risk)


def _of(predictions: Predictions, rows: Bools) -> Float64s | None:
    return None if predictions.weights is None else predictions.weights[rows]
