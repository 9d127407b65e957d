"""Interface of estimators, their registry, and ``estimate``, which returns a number with its parts.

Default claims of the rows: the risk of the event of two classes, else the confidence.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, Literal, Protocol, TypeAlias, TypeVar

import numpy as np
import pandas as pd

from calib_core._base.arrays import Float64s
from calib_core._base.errors import InputError, NotAnswerable
from calib_core._base.lazy_modules import provided
from calib_core._base.notebook_display import OneLine
from calib_core.binning.base import BinningScheme, as_binning
from calib_core.binning.bin_table import BinTable
from calib_core.binning.interval_schemes import EqualWidth, bins_of, bins_said, moves_edges
from calib_core.binning.simplex.cell_table import SimplexTable
from calib_core.claims.binary_claims import Claims
from calib_core.claims.probability_vectors import Vectors
from calib_core.defaults import LEVEL, RATIO, SEED, TOLERANCE
from calib_core.predictions.event_names import title_of_event
from calib_core.predictions.predictions import Predictions
from calib_core.predictions.validation import rows_and_copies
from calib_core.reductions.base import (
    NOT_BINARY,
    REDUCTIONS,
    Reduction,
    as_reduction,
    claims_in,
    claims_of,
    counts,
    scope,
)
from calib_core.registry.registry import Recipe, Registry, RegistryError
from calib_core.results.uncertainty import Interval, NoiseFloor, Verdict
from calib_core.text import inside

T = TypeVar("T")


class AnswerCache:
    """Cached results by request; several estimates of the same question can share theirs."""

    def __init__(self) -> None:
        self._kept: dict[tuple[Any, ...], Any] = {}
        self._turn = threading.RLock()

    def once(self, what: tuple[object, ...], make: Callable[[], T]) -> T:
        """The result. When several threads request it, the first computes it and the others wait: it can be large."""
        with self._turn:
            if what not in self._kept:
                self._kept[what] = make()
        found: T = self._kept[what]
        return found

    def keep(self, what: tuple[object, ...], value: object) -> None:
        """Store a result computed for several estimates jointly, unless there is one."""
        with self._turn:
            self._kept.setdefault(what, value)

    def know(self, *what: Any) -> bool:
        """Whether something that begins so was answered."""
        with self._turn:
            return any(whole[: len(what)] == what for whole in self._kept)

    def __getstate__(self) -> dict[str, Any]:
        """State for a pickle or a copy: the cached answers, without the lock."""
        with self._turn:
            return {"_kept": dict(self._kept)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _turn=threading.RLock())


@dataclass(frozen=True, eq=False, repr=False)
class Estimated(OneLine):
    """Result of an estimator: the value, each stratum's own value, and the bins (or cells) behind it."""

    value: float
    per_stratum: Float64s
    bins: BinTable | None = None
    cells: SimplexTable | None = None


class Estimator(Protocol):
    """Parameters only; called with claims. What else it can do it declares in ``Traits``."""

    def __call__(self, claims: Any) -> Estimated:
        """The estimate over all strata, and its parts."""


Order: TypeAlias = Literal[1, 2, "max", "bins"]


@dataclass(frozen=True)
class ErrorScale:
    """Scale of an estimator's numbers: a mean of |error|^order, or the largest error; ``squared``: without the root.

    "max" is the largest error of any cell, "bins" the largest of a bin, the mean over its classes.
    """

    order: Order = 1
    squared: bool = False


@dataclass(frozen=True)
class Traits:
    """Declared traits of an estimator: its input, and properties of its numbers.

    ``takes``: binary "claims" (a call), whole "vectors" (``of_vectors``), whole "predictions" (``of``, and ``losses``
    row by row). ``judged``: the method of its interval, an untested bootstrap where it is empty. It works by residuals
    in the "bins" of its ``binning`` (vectors: ``of_labels``), or as a norm of "residuals" (``image``) or of "smoothed"
    vectors (``smoother``). It works by "pairs" of rows (``paired``; vectors: ``blocks``), as a "share" of rows, or by
    the possible "losses" of a row (``label_losses``, ``claim_losses``). ``scale``: from its parameters
    to that of its numbers. ``counts``: whether counts in bins are all it looks at (``of_table``, ``of_outcomes``),
    never, always, or unless rows are weighted. ``shared_bins``: it looks at bins that all strata share, so that one bin
    a value is none of its kinds. ``unit``: how its numbers are read, as shares (of rows, of probability) or as scores
    on a scale of their own. ``floored``: its probabilities are raised to the one floor of the logarithm. ``curve``: it
    is the distance of a curve without bins from the diagonal, which diagrams draw. ``together``: whether one with these
    parameters answers many samples of one size in one call (``of_samples``). The results equal those of single calls
    but for the order of their sums. ``in_one_stratum``: the key of the estimator that gives the same number where all
    claims are one stratum. ``redrawn``: its strata are functions of sums of outcomes at places that scores decide
    (``redrawn``). Thousands of outcomes then cost one look at the scores.
    """

    takes: tuple[Literal["claims", "vectors", "predictions"], ...] = ("claims",)
    judged: Literal["", "bins", "residuals", "smoothed", "pairs", "share", "losses"] = ""
    scale: Callable[[Any], ErrorScale] = lambda estimator: ErrorScale()
    counts: Literal["never", "unweighted", "always"] = "never"
    shared_bins: bool = False
    in_one_stratum: str = ""
    unit: Literal["share", "score"] = "share"
    higher_is_worse: bool = True
    floored: bool = False
    curve: bool = False
    together: Callable[[Any], bool] = lambda estimator: False
    redrawn: bool = False

    @property
    def reads(self) -> Literal["rows", "counts"]:
        """Whether a summary is enough for it."""
        return "counts" if self.counts != "never" or "predictions" in self.takes else "rows"


ESTIMATORS: Registry[Estimator] = Registry("ESTIMATORS", flags=Traits())


def draws_curve(flags: Traits) -> bool:
    """True if estimators with these traits have a curve without bins."""
    return flags.curve


def traits(estimator: object) -> Traits:
    """Return the declared traits of an estimator; an unregistered one takes claims and declares nothing else."""
    declared: Traits = ESTIMATORS.flags(estimator)
    return declared


def error_scale(estimator: object) -> ErrorScale:
    """The scale of the estimator's numbers."""
    return traits(estimator).scale(estimator)


@dataclass(frozen=True, eq=False, repr=False)
class Question(OneLine):
    """A question: predictions, notion (None: the whole prediction) and estimator."""

    predictions: Predictions
    reduction: Reduction | None
    estimator: Any
    free: bool = False
    """True where no bins were requested, so that its interval may be about wider ones."""

    def answer(self, predictions: Predictions) -> Estimated:
        """The same question about other predictions: a resample, other labels."""
        if self.reduction is None:
            return Estimated(self.estimator.of(predictions), np.empty(0))
        return self.of(claims_in(self.reduction, predictions))

    def of(self, claims: Claims | Vectors) -> Estimated:
        """The same question about other claims (or vectors); NotAnswerable where the estimator takes none of these."""
        return _applied(self.estimator, claims, whole=self.whole)

    @property
    def whole(self) -> bool:
        """True if the question is about whole vectors, not about binary claims."""
        return self.reduction is not None and scope(self.reduction).of == "vector"

    @cached_property
    def claims(self) -> Any:
        """The claims (or vectors) it is about."""
        assert self.reduction is not None
        return claims_in(self.reduction, self.predictions)

    @property
    def ranks(self) -> int:
        """Number of row-level claims per row: k for the top-k notions, which list rank after rank."""
        listed = self.reduction is not None and scope(self.reduction).of == "ranks"
        if listed and self.claims.grain == "counts":
            return int(self.claims.ranks)
        return len(self.claims.scores) // self.predictions.answered.n_rows if listed else 1

    @cached_property
    def computed(self) -> dict[Any, Any]:
        """Intermediate results of intervals and verdicts about it, by their key."""
        return {}

    @cached_property
    def written_out(self) -> Question:
        """The question with whole-number weights expanded to copies."""
        rows = self.predictions.written_out()
        return self if rows is self.predictions else replace(self, predictions=rows)

    def __getstate__(self) -> dict[str, Any]:
        """Only the fields: claims, copies and intermediate results can be large, and are recomputed on request."""
        return {f.name: self.__dict__[f.name] for f in fields(self)}


class Inference(Protocol):
    """Interface implemented by calib_core.inference."""

    def interval(self, question: Question, level: float, random_state: int) -> Interval: ...

    def noise_floor(self, question: Question, random_state: int) -> NoiseFloor: ...

    def verdict(self, estimate: Estimate, eps: float, level: float, ratio: float) -> Verdict: ...


def _inference() -> Inference:
    """The provider of intervals, noise floors and verdicts, loaded on first use: estimators import no inference."""
    inference: Inference = provided("inference")
    return inference


@dataclass(frozen=True, eq=False, repr=False)
class Estimate(OneLine):
    """Value of an estimator, with its estimand and its parts.

    ``value`` is in [0, 1] for calibration errors. ``strata`` and ``per_stratum`` are the strata's own values (NaN for
    strata without claims), with aggregate weights ``shares``. ``recipe`` is the (reduction, estimator) that computed
    it.
    """

    value: float
    strata: tuple[str, ...]
    per_stratum: Float64s
    shares: Float64s
    bins: BinTable | None
    recipe: tuple[Recipe | None, Recipe]
    question: Question | None = None
    cells: SimplexTable | None = None
    answers: AnswerCache = field(init=False, default_factory=AnswerCache)

    def interval(self, level: float = LEVEL, random_state: int = SEED) -> Interval:
        """Confidence interval for the true error: an ``inference.Interval``, cached.

        What can mislead: it is about the true error, so for binned errors, which noise inflates, it can lie wholly
        below ``value``.
        """
        return self._once(
            ("interval", level, random_state), lambda by, question: by.interval(question, level, random_state)
        )

    @property
    def point(self) -> float:
        """The estimate that the default interval is about, and contains. ``value`` is the result of the key's formula.

        What can mislead: plug-in errors (``value``) are pushed up by noise and can lie above their own interval.
        """
        return self.interval().point

    @property
    def noise_floor(self) -> NoiseFloor:
        """Distribution of the error for a calibrated model with these predictions: an ``inference.NoiseFloor``."""
        return self._once(("floor",), lambda by, question: by.noise_floor(question, SEED))

    @property
    def p_value(self) -> float:
        """The probability that a perfectly calibrated model has at least this error.

        The error is the one that the interval is for. This is the p-value of tables and verdicts. If the interval has
        no p-value of its own, it is that of ``value`` (``noise_floor.p_value``), or that of a smaller error
        (``Interval.p_bound``). It can differ from ``noise_floor.p_value``: an interval in other bins, or one that
        respects the mean gap, is for another error than the plug-in value.
        """
        try:
            return self.p_value_at(LEVEL)
        except NotAnswerable:
            return self.noise_floor.p_value

    def p_value_at(self, level: float) -> float:
        """The p-value next to the interval at this level; NotAnswerable where there is no interval."""
        span = self.interval(level)
        return span.p_with(self.noise_floor.p_value)[0] if span.p_value is None else span.p_value

    def verdict(self, eps: float = TOLERANCE, level: float = LEVEL, ratio: float = RATIO) -> Verdict:
        """Within ``eps``, miscalibrated, too close to call, or too few rows: an ``inference.Verdict`` with its reason.

        An event is also judged by its O:E ratio, whose tolerance is from 1 / ``ratio`` to ``ratio``.
        """
        what = ("verdict", eps, level) if ratio == RATIO else ("verdict", eps, level, ratio)
        return self._once(what, lambda by, _: by.verdict(self, eps, level, ratio))

    def knows(self, *what: Any) -> bool:
        """True if its "interval" (level, seed), "floor" or "verdict" is cached, so that it costs nothing."""
        return self.answers.know(*what)

    def sharing(self, answers: AnswerCache) -> Estimate:
        """A copy that shares its cache with other estimates of the same error."""
        found = replace(self)
        object.__setattr__(found, "answers", answers)
        return found

    def _once(self, what: tuple[Any, ...], make: Callable[[Inference, Question], T]) -> T:
        question = self.question
        if question is None:
            raise RegistryError("this estimate does not know its predictions; make it with estimate(...)")
        return self.answers.once(what, lambda: make(_inference(), question))

    @property
    def table(self) -> pd.DataFrame:
        """One line per non-empty bin or cell where the estimator bins, else one per stratum."""
        counted = self.bins or self.cells
        if counted is not None:
            return counted.frame()
        return pd.DataFrame(
            {"stratum": np.asarray(self.strata, dtype=object), "value": self.per_stratum, "weight": self.shares}
        )

    @property
    def in_bins(self) -> str:
        """Short description of the bins; empty if the estimator uses none."""
        if self.question is None:
            return ""
        entry = ESTIMATORS.find(self.question.estimator)
        if entry is None or not entry.has("binning"):
            return ""
        scheme = self.question.estimator.binning
        moved = self.question.predictions.grain == "counts" and moves_edges(scheme)
        return bins_said(scheme, self.bins) + (", edges moved to the summary's grid" if moved else "")

    def __float__(self) -> float:
        return self.value

    @property
    def title(self) -> str:
        """The notion and the estimator by their names on screen."""
        of = self.question
        return titled(*self.recipe, of_event=of is not None and of.predictions.event is not None)

    def _line(self) -> str:
        return f"{self.title}: {self.value:.4f}"

    def _facts(self) -> dict[str, object]:
        return _known_facts(self)


def _known_facts(estimate: Estimate) -> dict[str, object]:
    """The number, its estimand, and interval, noise floor and verdict if cached: nothing is computed."""
    facts: dict[str, object] = {"estimate": estimate.title, "value": f"{estimate.value:.4f}"}
    question = estimate.question
    if question is None:
        return facts
    answered = question.predictions.answered
    facts |= {"rows": f"{rows_and_copies(answered.n_rows, answered.weights):,}", "bins": estimate.in_bins}
    interval = estimate.knows("interval", LEVEL, SEED)
    floor = estimate.knows("floor")
    verdict = estimate.knows("verdict", TOLERANCE, LEVEL)
    facts |= {"interval": estimate.interval().sentence} if interval else {}
    facts |= {"noise floor": _calibrated_range(estimate.noise_floor)} if floor else {}
    facts |= {"verdict": estimate.verdict().sentence} if verdict else {}
    if not (interval and floor and verdict):
        facts["ask"] = ".interval(), .noise_floor, .verdict()"
    return facts


def _calibrated_range(floor: NoiseFloor) -> str:
    return f"{floor.high:.4f}: 95 % of calibrated models show no {'more' if floor.higher_is_worse else 'less'}"


def titled(reduction: Recipe | None, estimator: Recipe, *, of_event: bool = False) -> str:
    """An error by the names of its notion and its estimator; a score by what it scores.

    A score of the claim to be right is another quantity than the score of whole predictions, except that both have one
    accuracy. For an event it has the score's own name, and an error is that of the risk. The Brier score of whole
    predictions that have an event (``of_event``) is twice as much, and its title states this. The share of rows that
    have the event is no accuracy. Classes only matter to a score that averages over them, so that confidence and
    top-label share a name as they share the value.

    >>> from calib_core.reductions import REDUCTIONS
    >>> notions, score = map(REDUCTIONS.recipe, ("confidence", "event", "class-wise")), ESTIMATORS.recipe("log-loss")
    >>> [titled(notion, score) for notion in (None, *notions)]
    ['Log loss', 'Log loss of the confidence', 'Log loss', 'Class-wise log loss']
    >>> titled(REDUCTIONS.recipe("top-label"), ESTIMATORS.recipe("ece"))
    'Top-label ECE'
    >>> titled(REDUCTIONS.recipe("event"), ESTIMATORS.recipe("ece"))
    'ECE of the risk'
    >>> titled(None, ESTIMATORS.recipe("brier"), of_event=True)
    'Brier score, summed over classes'
    """
    if reduction is None:
        return f"{estimator.title}, summed over classes" if of_event and estimator.key == "brier" else estimator.title
    of = REDUCTIONS[reduction.key].flags.of
    if of == "event" and estimator.key == "accuracy":
        return "Observed frequency"
    if is_score(estimator.key) and of in ("event", "top"):
        of_claims = of == "top" and ESTIMATORS[estimator.key].flags.judged == "losses"
        return f"{estimator.title} of the confidence" if of_claims else estimator.title
    if of == "event":
        return f"{estimator.title} of the risk"
    return f"{reduction.title} {inside(estimator.title)}"


def is_score(estimator: str) -> bool:
    """Whether an estimator is a score, which whole predictions have too, and no calibration error.

    >>> is_score("brier"), is_score("accuracy"), is_score("ece")
    (True, True, False)
    """
    return "predictions" in ESTIMATORS[estimator].flags.takes


def as_estimator(
    estimator: str | Estimator, bins: int | str | Sequence[float] | BinningScheme | None = None
) -> Estimator:
    """An estimator given by key or as an object; ``bins`` sets the binning of one given by key."""
    if not isinstance(estimator, str):
        if bins is not None:
            raise RegistryError("bins goes with an estimator given by key; this one has its own binning")
        return estimator
    return ESTIMATORS.make(estimator, **({} if bins is None else _binning(estimator, bins)))


def reads_bins(estimator: str) -> bool:
    """Whether an estimator is judged in the bins chosen for the predictions: its ``binning`` is the default one.

    Those with a rule of their own (a square root of the rows, shared rows, no bins) keep it.

    >>> reads_bins("ece"), reads_bins("ece-adaptive"), reads_bins("smece")
    (True, False, False)
    """
    entry = ESTIMATORS[estimator]
    return any(p.name == "binning" and p.default == EqualWidth() for p in entry.params)


def takes_bins(estimator: str, bins: int | str | BinningScheme | None = None) -> bool:
    """Whether an estimator is given bins: a scheme, or only their number where it places them itself.

    >>> takes_bins("ece"), takes_bins("smece"), takes_bins("ece-adaptive"), takes_bins("ece-adaptive", 10)
    (True, False, False, True)
    """
    entry = ESTIMATORS[estimator]
    return entry.has("binning") or (isinstance(bins, int) and entry.has("bins"))


def own_bins(predictions: Predictions, estimator: str) -> BinningScheme | None:
    """The bins an estimator reads where none are given; None where it places its own, or reads none."""
    if not reads_bins(estimator):
        return None
    shared = ESTIMATORS[estimator].flags.shared_bins
    return bins_of(predictions.as_discrete(predictions.discrete and not shared))


def _binning(key: str, bins: int | str | Sequence[float] | BinningScheme) -> dict[str, Any]:
    """A number is the number of bins for an estimator that places them itself; others take a scheme."""
    counted = isinstance(bins, int) and ESTIMATORS[key].has("bins")
    return {"bins": bins} if counted else {"binning": as_binning(bins)}


BY_DEFAULT = "by-default"
"""The default of functions that take scores of whole predictions, in which None is a question of its own.

One rule: a notion that is left out is the event of two classes, else the confidence. ``estimate``,
``paired_difference``, ``not_worse`` and ``compare`` take None for whole predictions (log loss, Brier score, accuracy).
In all others None is the same as leaving the notion out.
"""


def estimate(
    predictions: Predictions,
    reduction: str | Reduction | None = BY_DEFAULT,
    estimator: str | Estimator = "ece",
    bins: int | str | Sequence[float] | BinningScheme | None = None,
) -> Estimate:
    """Estimate the calibration error of predictions, in one notion, by one estimator.

    Parameters
    ----------
    predictions : the classifier's predictions and the labels.
    reduction : key of REDUCTIONS or a reduction; by default the event of two classes, else the confidence. None, which
        is not the default, scores the whole prediction (log loss, Brier score summed over classes, accuracy). Rows on
        which the model abstains are left out.
    estimator : key of ESTIMATORS or an estimator.
    bins : number of equal-width bins, key of BINNINGS, list of edges or a scheme, for binned estimators given by key.
        By default there are 15 bins of equal width, or one bin per value if a calibrator declares its outputs discrete
        (``binning.bins_of``). An estimator that is not given by key has its own bins.

    >>> p = Predictions([[0.6, 0.4], [0.6, 0.4], [0.3, 0.7]], [0, 1, 1])
    >>> round(estimate(p, "confidence", "ece", bins=10).value, 3)
    0.167
    """
    if not hasattr(predictions, "as_discrete"):
        kind = type(predictions).__name__
        raise InputError(f"predictions is a {kind}; give cc.Predictions(probs, labels), which checks both")
    free = bins is None and isinstance(estimator, str)
    if free and isinstance(estimator, str):
        bins = own_bins(predictions, estimator)
    method: Any = as_estimator(estimator, bins)
    if reduction is None:
        if "predictions" not in traits(method).takes:
            raise RegistryError(f"{ESTIMATORS.recipe(method).title} needs a notion: give reduction=")
        answered, none = predictions.answered, np.empty(0)
        question = Question(answered, None, method)
        return Estimate(method.of(answered), (), none, none, None, (None, ESTIMATORS.recipe(method)), question)
    notion = as_reduction(judged_notion(reduction, predictions))
    recipe = (REDUCTIONS.recipe(notion), ESTIMATORS.recipe(method))
    if (counted := counts_of_event(predictions, notion, method)) is not None:
        question, none = Question(counted, None, method), np.empty(0)
        return Estimate(method.of(counted), (), none, none, None, recipe, question)
    claims = claims_in(notion, predictions)
    estimated = _applied(method, claims, whole=scope(notion).of == "vector")
    question = Question(predictions, notion, method, free=free)
    # Bins can pool strata: what the estimate has parts for are theirs.
    of = claims if estimated.bins is None else estimated.bins
    return Estimate(
        estimated.value, of.strata, estimated.per_stratum, of.shares, estimated.bins, recipe, question, estimated.cells
    )


def counts_of_event(predictions: Predictions, notion: Reduction, estimator: object) -> Any:
    """A summary with the losses of its event, where such a loss is requested; None otherwise.

    A summary has no row's risk, but the sums over both classes, of which those of the event are a half or all.
    """
    counted = counts(predictions)
    is_loss = traits(estimator).judged == "losses" and "predictions" in traits(estimator).takes
    if counted is None or not is_loss or scope(notion).of != "event" or counted.kind != "full":
        return None
    return counted.of_event


def _applied(estimator: Any, claims: Any, *, whole: bool) -> Estimated:
    """The estimate of claims, or of whole vectors."""
    if whole and "vectors" not in traits(estimator).takes:
        raise NotAnswerable(NOT_BINARY)
    if not whole and claims.grain == "counts" and traits(estimator).counts == "never":
        raise NotAnswerable(
            f"{ESTIMATORS.recipe(estimator).title} needs rows, but a summary contains only counts. "
            "Choose an estimator that needs only bin counts (ECE, RMSCE, MCE and their debiased forms), or use the rows"
        )
    estimated: Estimated = estimator.of_vectors(claims) if whole else estimator(claims)
    return estimated


def by_stratum(claims: Claims | BinTable, values: Sequence[float] | Float64s) -> Estimated:
    """The share-weighted mean of the strata's values; strata without claims have NaN and no share."""
    per = np.asarray(values, dtype=np.float64)
    known = ~np.isnan(per)
    return Estimated(float((claims.shares[known] * per[known]).sum()), per)


ClaimNotion = Literal["event", "confidence"]


def notion_looked_at(predictions: Predictions) -> ClaimNotion:
    """Return the default notion: "event" for two classes, else "confidence".

    >>> notion_looked_at(Predictions([[0.7, 0.3]], [1])), notion_looked_at(Predictions.from_confidence([0.7], [True]))
    ('event', 'confidence')
    """
    return "confidence" if predictions.event is None else "event"


def judged_notion(reduction: str | Reduction | None, *models: Predictions) -> str | Reduction:
    """The notion given; where it is None or ``BY_DEFAULT``, the event if all models have one, else the confidence.

    A tally has the one notion that it counts.

    >>> rows = Predictions([[0.7, 0.3]], [1])
    >>> judged_notion(None, rows), judged_notion("top-label", rows), judged_notion(None, rows, rows.answered)
    ('event', 'top-label', 'event')
    """
    if reduction is not None and reduction != BY_DEFAULT:
        return reduction
    own = [getattr(model, "notion", None) or notion_looked_at(model) for model in models]
    return own[0] if all(notion == own[0] for notion in own) else "confidence"


def claimed_rows(predictions: Predictions, notion: str | None = None) -> Predictions:
    """The rows as (confidence, correct), where "event" is meant with its risk for confidence and its event for correct.

    ``notion`` is "event", "confidence" (the rows as they are) or None, that of ``notion_looked_at``. Weights, groups,
    metadata, places of rows and which are abstained on stay, so that whatever looks at confidences looks at risks. Of
    a summary of two classes its counts; slices that it keeps are of the class predicted, and go. NotAnswerable where
    there is no event.

    >>> p = Predictions([[0.7, 0.3], [0.2, 0.8]], [1, 1])
    >>> made = claimed_rows(p)
    >>> made.confidence.tolist(), made.correct.tolist()
    ([0.3, 0.8], [True, True])
    """
    notion = notion or notion_looked_at(predictions)
    if notion == "confidence":
        return predictions
    if notion != "event":
        raise InputError(f"the notion is {notion!r}; rows are looked at by 'event' or by 'confidence'")
    claims: Any = claims_of(predictions, "event")
    if (summary := counts(predictions)) is not None:
        counted: Predictions = summary.of_single_claims(claims.cells)
        return counted
    assert predictions.event is not None
    # Rows that are abstained on keep their places: they are marked, not left out.
    rows = Predictions.from_confidence(
        predictions.rows.column(predictions.event),
        predictions.true_labels == predictions.event,
        weights=predictions.weights,
        metadata=predictions.metadata,
        groups=predictions.grouping,
        abstained=predictions.abstained,
    )
    return rows.as_discrete(predictions.discrete).with_bands_of(predictions)


def event_name(predictions: Predictions) -> str:
    """The name of the event's class, or of the outcome if the class is a code; empty where there is none."""
    return title_of_event(predictions)
