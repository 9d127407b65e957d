"""Meta-Cal: abstain where the model is too unsure for a wanted rate, recalibrate the rest (P4)."""

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
"""The threshold that no score is above."""

_STEPS = 50
"""Thresholds that fixed-sequence testing can go through, from strict to loose."""
_ALIKE = 0.01
"""Chances of passing that differ by less are alike: a looser start then spares tests that could end the sequence."""


def entropies(rows: Rows) -> Float64s:
    """P4's ranking score, -sum_l p_l log p_l in nats, of each row; high where the model is unsure.

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
    """P4's threshold from scores of correct rows, and eq. (5): how often its miscoverage exceeds alpha.

    The ceil((n + 1)(1 - alpha))-th smallest score; with fewer than (1 - alpha) / alpha scores none is enough and all
    rows are answered.

    References: P4 §4.1, Algorithm 1.

    >>> paper_miscoverage(np.arange(1.0, 21.0), 0.1)[0]  # ceil(21 * .9) = 19
    19.0
    """
    rank = guarantees.paper_rank(len(scores), alpha)
    if rank > len(scores):
        return ANSWER_ALL, 0.0
    return float(np.sort(scores)[rank - 1]), guarantees.exceed_probability(len(scores), rank, alpha)


def guaranteed_miscoverage(scores: Float64s, alpha: float, risk: float) -> tuple[float, float]:
    """The smallest order statistic whose miscoverage exceeds alpha with probability at most ``risk``; and eq. (5).

    NotAnswerable when even the largest score is not enough, which says how many rows would be.

    References: P4 eq. (5); Tong, Feng & Li 2018.

    >>> guaranteed_miscoverage(np.arange(1.0, 60.0), 0.05, 0.05)[0]  # the largest of 59: .95 ** 59 = .0485
    59.0
    """
    rank = guarantees.guaranteed_rank(len(scores), alpha, risk)
    if rank is None:
        needed = guarantees.rows_for_miscoverage(alpha, risk)
        raise NotAnswerable(
            f"a miscoverage of at most {alpha:g} at risk {risk:g} needs {needed} held-out rows that were right, one in "
            f"ten of those there are; {len(scores)} are held out: give more rows, allow more risk, or choose rule "
            "'paper'"
        )
    return float(np.sort(scores)[rank - 1]), guarantees.exceed_probability(len(scores), rank, alpha)


@dataclass(frozen=True, eq=False)
class CoverageCurve:
    """l: the accuracy among rows with scores up to s, fitted to decrease in s; arrays are one entry a bin.

    ``scores`` mean score of each bin's rows, ``accuracies`` as fitted, ``observed`` the running accuracy of all rows
    up to the bin's end, ``shares`` of rows up to it.
    """

    scores: Float64s
    accuracies: Float64s
    observed: Float64s
    shares: Float64s

    def threshold(self, accuracy: float) -> float:
        """The largest score at which the curve is still at least this accuracy; ANSWER_ALL when all rows reach it.

        NotAnswerable when the curve begins below it; the message names the reachable range.
        """
        slack = 1e-12
        if accuracy <= self.accuracies[-1] + slack:
            return ANSWER_ALL
        if accuracy > self.accuracies[0] + slack:
            raise NotAnswerable(
                f"coverage accuracy {accuracy:g} cannot be reached: on the rows held out it goes from "
                f"{self.accuracies[-1]:.4g} with every row answered up to {self.accuracies[0]:.4g} with only the "
                f"surest {self.shares[0] * 100:.3g} % answered"
            )
        i = int(np.flatnonzero(self.accuracies >= accuracy - slack)[-1])
        high, low = self.accuracies[i], self.accuracies[i + 1]
        part = min(1.0, max(0.0, float((high - accuracy) / (high - low))))
        return float(self.scores[i] + part * (self.scores[i + 1] - self.scores[i]))


def coverage_curve(scores: Float64s, correct: Bools, bins: int) -> CoverageCurve:
    """P4's estimate of the coverage accuracy: uniform-mass bins, running accuracy over rows, a decreasing isotonic fit.

    Equal scores never part, and a bin without rows of its own does not enter; each bin counts by its rows. It has no
    allowance for error: a threshold read off it is promised nothing.

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
    from sklearn.isotonic import IsotonicRegression  # heavy: loaded where a threshold is looked for

    fit = IsotonicRegression(increasing=False).fit(means, observed, sample_weight=sizes)
    return CoverageCurve(means, np.asarray(fit.predict(means), dtype=np.float64), observed, ends / n)


@dataclass(frozen=True, eq=False)
class ScoredRows:
    """Ranking scores of rows, whether the model is right on them, and their weights (None: all 1)."""

    scores: Float64s
    correct: Bools
    weights: Float64s | None = None

    def running(self) -> tuple[Float64s, Float64s, Float64s]:
        """Scores in ascending order, with the rows and the right ones up to each."""
        order = np.argsort(self.scores, kind="stable")
        counts = np.ones(len(order)) if self.weights is None else as_rows(self.weights)[order]
        return self.scores[order], np.cumsum(counts), np.cumsum(counts * self.correct[order])


def guaranteed_accuracy(scores: Float64s, correct: Bools, others: ScoredRows, accuracy: float, risk: float) -> float:
    """The loosest threshold that passes fixed-sequence tests of the accuracy among answered rows, at this risk.

    Thresholds, their order and the first one tested are fixed from *other* rows: conditional on those and on how many
    held-out rows a threshold answers, the right ones among them are binomial, and Clopper-Pearson bounds are exact.
    Thresholds lie at equal steps of the others' scores, from the one that is expected to answer as many rows as could
    pass without an error. They are tested from strict to loose, each at the full risk, until one fails; the one
    tested first is the loosest whose chance of passing, by the others' accuracy up to it, is within .01 of the best.
    The probability that a threshold is returned whose true accuracy is below the wanted is then at most ``risk``:
    the first such one in the sequence must pass its test. NotAnswerable when the first fails: refusals count as kept.

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
    """Thresholds in the order of their tests on n rows."""
    s, rows, hits = others.running()
    shares = np.linspace(needed / n, 1.0, _STEPS)
    thresholds = np.unique(s[np.searchsorted(rows, shares * rows[-1] * (1.0 - 1e-12), side="left")])
    last = np.searchsorted(s, thresholds, side="right") - 1
    answered = np.round(rows[last] / rows[-1] * n)
    enough = binom.isf(risk, answered, accuracy)  # a test passes with more right answers than these
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
        f"coverage accuracy {accuracy:g} cannot be promised at risk {risk:g}: on the {n} rows held out its lower bound "
        f"goes from {bounds[-1]:.4g} with every row answered up to {bounds[best]:.4g} with the surest "
        f"{rows[last[best]] / n * 100:.3g} % answered, and {needed} rows answered without error "
        "are the fewest that could do; give more rows, ask for less, or choose rule 'paper'"
    )


HELD_OUT_SHARE, MOST_HELD_OUT = 0.1, 500
"""A tenth of the rows, up to 500, choose the threshold (P4 §5.1)."""

_FLAGS = Contract("full", keeps_argmax=False, sums_to_one=True, may_refuse=True, abstains=True)
_MISCOVERAGE = Profile(
    "abstaining",
    "Leaves out the rows it is least sure of, yet few right answers, and calibrates the rest.",
    rows=(500, 0, 0),
    promises=True,
)
_ACCURACY = Profile(
    "abstaining",
    "Leaves out the rows it is least sure of until the rest reach an accuracy, and calibrates those.",
    rows=(500, 0, 0),
    promises=True,
)


_WEIGHTED = "the calibration rows are weighted, and the bound is for rows that count alike"


class MetaCal(Calibrator):
    """What both constraints share: hold rows out, choose a threshold on them, fit the base on what is answered."""

    asks: ClassVar[str]
    """What a base calibrator must do, after "must"."""

    base: Calibrator
    random_state: int

    def discrete(self, given: bool = False) -> bool:
        return self.base.discrete(given)

    def _fit(self, predictions: Predictions, progress: Progress) -> None:
        self._check_base()
        if self.rule == "guaranteed":
            refuse_groups(predictions, "the guaranteed rule", "choose the rule as published")
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
                "every row left to fit the base calibrator on would be withheld: give more calibration rows"
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
        limit = "none is left out" if np.isinf(threshold) else f"entropy up to {threshold:.3g}"
        rule = "Answers every row" if np.isinf(threshold) else f"Answers rows whose entropy is at most {threshold:.3g}"
        return Insides(
            "; ".join(filter(None, (limit, base.short))),
            f"{rule}, a threshold found on {self.n_held_out_:,} rows held out. {base.sentence}".rstrip(),
            lambda: [
                Number("threshold of the entropy", threshold),
                Number("rows held out to find it", float(self.n_held_out_)),
                Number("rows the rest was fitted on", float(self.n_fit_)),
                *base.numbers(),
            ],
            base.grids,
        )

    def attained(self, before: Predictions, after: Predictions) -> float:
        """The rate this constraint is about, as it is on rows before and after; NaN where no row counts."""
        raise NotImplementedError

    def _accepts(self, flags: Contract) -> bool:
        """Whether base calibrators of this contract can do what the constraint asks."""
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
    """Abstains on the rows the model is least sure of, so few that most right answers stay; recalibrates the rest.

    The ranking score is the entropy of the uncalibrated row. min(correct rows / 10, 500) correct rows are held out;
    the threshold r is an order statistic of their scores; rows with a score above r get the uniform vector and are
    marked as abstentions; the base calibrator is fitted on the other calibration rows up to r. Miscoverage F0 is the
    share of right answers withheld. ``rule="paper"`` takes the ceil((n1 + 1)(1 - alpha))-th score, with which F0
    exceeds alpha at the odds of eq. (5), .14 to .49 with 20 to 500 rows; ``"guaranteed"`` the smallest with which it
    does so with probability at most ``risk``, and refuses when too few rows are held out. The bound is about the base
    model's right answers, so any base calibrator will do, also one that changes the predicted class, that answers
    every row with a whole row summing to one (P4 §4.2, remark i). What can mislead: rows
    withheld are no answers, so accuracy and calibration afterwards speak of the answered rows only; look at the
    coverage beside them.

    ``threshold_`` is r (infinite when all is answered), ``exceed_probability_`` P(F0 > alpha) by eq. (5),
    ``n_held_out_``, ``n_fit_`` and ``base_`` what the rest was calibrated with.

    References: P4 Algorithm 1, eq. (5); Tong, Feng & Li 2018.

    >>> p = Predictions([[0.9, 0.1], [0.6, 0.4]] * 200, [0, 0, 0, 1] * 100)
    >>> cal = MetaCalMiscoverage(miscoverage=0.5).fit_on(p)  # of right answers two in three say .9
    >>> cal.apply(p).coverage, cal.n_held_out_
    (0.5, 30)
    """

    wanted: ClassVar[str] = "miscoverage"
    asks: ClassVar[str] = (
        "answer every row and return whole rows that sum to one, so that a row withheld can stand among them as uniform"
    )

    miscoverage: Annotated[
        float, Range(0.001, 0.5), "Right answers withheld", "share of right answers that may be withheld"
    ] = 0.05
    rule: Annotated[
        Literal["paper", "guaranteed"],
        Choice(("paper", "guaranteed"), titles=("As published", "Guaranteed")),
        "Rule",
        "as published, exceeded at odds below one half that are stated; or but for the risk below",
    ] = "paper"
    risk: Annotated[float, Range(0.001, 0.5), "Risk of failing", "how often the guaranteed rule may fail"] = 0.05
    base: Annotated[
        Calibrator,
        Part("CALIBRATORS"),
        "Calibrator of the answered rows",
        "recalibrates the answered rows; must return whole rows",
    ] = field(default_factory=Temperature)
    random_state: Annotated[int, Range(0, 2**31 - 1), "Seed of chance", "seed of the rows held out"] = SEED

    def attained(self, before: Predictions, after: Predictions) -> float:
        silent = np.zeros(before.n_rows, dtype=bool) if after.abstained is None else after.abstained
        right = before.correct
        return float(np.average(silent[right], weights=_of(before, right))) if right.any() else float("nan")

    def guarantee(self, alpha: float = ALPHA) -> Promise:
        """Eq. (5) at the rule's own level, whatever ``alpha`` is: the threshold was chosen for one probability."""
        check_is_fitted(self)
        if self.dependence:
            return guarantees.no_promise(self.dependence)
        if vars(self).get("weighted_", False):  # not in calibrators saved before weights were looked at
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
    """Abstains on the rows the model is least sure of, until the others reach an accuracy; recalibrates those.

    As for miscoverage, with min(rows / 10, 500) rows held out, right or wrong, and the threshold l^-1(beta), l(s) the
    accuracy among rows with scores up to s. ``rule="paper"`` estimates l: uniform-mass bins of the scores, (mean score
    of the bin, accuracy of all rows up to its end), a decreasing isotonic fit, interpolated. It has no allowance for
    error: in simulations (7 laws, 120 to 500 rows held out) it kept a beta that can be reached in 37 to 100 % of the
    splits it did not refuse, by target and law, and one that cannot be reached in none. ``"guaranteed"`` tests
    thresholds from strict to loose with exact binomial bounds: over the rows held out, with probability at least
    1 - ``risk`` it meets beta or refuses. When all rows together reach beta nothing is withheld; when no threshold
    does, fit refuses and says what can be reached. What can mislead: coverage is the price, look at it; and where
    beta is out of reach, the few fits that are not refused all miss it.

    References: P4 Algorithm 2 and §4.2; the published code averages over bins instead of rows and lets empty bins in.

    >>> p = Predictions([[0.9, 0.1], [0.6, 0.4]] * 200, [0, 0, 0, 1] * 100)
    >>> cal = MetaCalAccuracy(accuracy=0.99).fit_on(p)  # .9 is always right, .6 half the time
    >>> calibrated = cal.apply(p)
    >>> calibrated.coverage, calibrated.accuracy
    (0.5, 1.0)
    """

    wanted: ClassVar[str] = "accuracy"
    asks: ClassVar[str] = "keep the predicted class and return whole rows"

    accuracy: Annotated[float, Range(0.01, 0.9999), "Accuracy wanted", "accuracy wanted among the answered rows"] = 0.97
    rule: Annotated[
        Literal["paper", "guaranteed"],
        Choice(("paper", "guaranteed"), titles=("As published", "Guaranteed")),
        "Rule",
        "as published, with no assurance; or kept but for the risk below",
    ] = "paper"
    risk: Annotated[float, Range(0.001, 0.5), "Risk of failing", "how often the guaranteed rule may fail"] = 0.05
    bins: Annotated[int, Range(2, 100), "Number of bins", "uniform-mass bins of the scores for the published rule"] = 20
    base: Annotated[
        Calibrator,
        Part("CALIBRATORS"),
        "Calibrator of the answered rows",
        "recalibrates the answered rows; must keep the class",
    ] = field(default_factory=Temperature)
    random_state: Annotated[int, Range(0, 2**31 - 1), "Seed of chance", "seed of the rows held out"] = SEED

    def attained(self, before: Predictions, after: Predictions) -> float:
        return after.accuracy

    def guarantee(self, alpha: float = ALPHA) -> Promise:
        """The wanted accuracy at level 1 - risk under the guaranteed rule, nothing under the paper's."""
        check_is_fitted(self)
        if self.dependence:
            return guarantees.no_promise(self.dependence)
        if vars(self).get("weighted_", False):  # not in calibrators saved before weights were looked at
            return guarantees.no_promise(_WEIGHTED)
        if self.rule == "guaranteed":
            return guarantees.coverage_accuracy_promise(self.accuracy, self.risk)
        return guarantees.no_promise(
            "the paper's threshold is an estimate with no allowance for error, which in simulations kept an accuracy "
            "within reach in 37 to 100 % of splits, by target, and one out of reach in none; rule 'guaranteed' is the "
            "one that promises"
        )

    def _eligible(self, predictions: Predictions) -> Bools:
        return np.ones(predictions.n_rows, dtype=bool)

    def _accepts(self, flags: Contract) -> bool:
        return super()._accepts(flags) and flags.keeps_argmax

    def _threshold(self, scores: Float64s, correct: Bools, others: ScoredRows) -> float:
        if not len(scores):
            raise NotAnswerable(
                "a tenth of the calibration rows is held out to find the threshold, which needs at least 10 rows"
            )
        if self.rule == "paper":
            return coverage_curve(scores, correct, self.bins).threshold(self.accuracy)
        return guaranteed_accuracy(scores, correct, others, self.accuracy, self.risk)


def _of(predictions: Predictions, rows: Bools) -> Float64s | None:
    return None if predictions.weights is None else predictions.weights[rows]
