"""What a calibrator is: binary maps of scores, multiclass maps of predictions, their contracts and registries.

Predictions with abstentions pass through a calibrator: what is answered is recalibrated, the rest stays.

Fitted maps of one score, as they are applied here and written in other languages: cells, lines, log-odds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, TypeAlias, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit

from calib_core._base.arrays import Bools, Float64s, Floats, frozen, safe_log
from calib_core._base.lazy_modules import provided
from calib_core._base.pandas_input import plain
from calib_core._base.parallel import Progress, silent
from calib_core._base.sklearn_api import Adjustable, check_is_fitted
from calib_core.calibrators.calibration_rows import Counts, claims_of, summary_of_parts
from calib_core.calibrators.fitting.softmax_loss import Parts
from calib_core.calibrators.insides import Insides, Profile
from calib_core.claims.binary_claims import Stratum
from calib_core.claims.exact_sums import places
from calib_core.defaults import ALPHA
from calib_core.guarantees.promise import NONE, Promise, UniformMassCells
from calib_core.predictions.predictions import InputError, Logits, NotAnswerable, Predictions
from calib_core.predictions.validation import check_weights
from calib_core.registry.registry import Recipe, Registry
from calib_core.summaries.cells import starts_of
from calib_core.summaries.counted_claims import NEEDS_ROWS, CountedStratum


@dataclass(frozen=True, eq=False)
class PiecewiseMap:
    """slopes[b] * s + offsets[b] in the b-th cell, b the number of edges at or below s: edges (B-1,), the others (B,).

    ``from_scores`` says that the edges are scores of calibration rows, so that later scores can be tied with them.

    >>> PiecewiseMap(np.array([0.5]), np.zeros(2), np.array([0.2, 0.7]))(np.array([0.4, 0.5])).tolist()
    [0.2, 0.7]
    """

    edges: Float64s
    slopes: Float64s
    offsets: Float64s
    from_scores: bool = True

    @classmethod
    def constant(cls, edges: ArrayLike, values: ArrayLike) -> PiecewiseMap:
        """One value for every score of a cell."""
        offsets = np.asarray(values, dtype=np.float64)
        return cls(np.asarray(edges, dtype=np.float64), np.zeros(len(offsets)), offsets)

    def __call__(self, scores: Floats) -> Float64s:
        """The map of scores (n,); edges are compared as numbers of the scores' type."""
        cells = places(self.edges.astype(scores.dtype), scores)
        if not self.slopes.any():
            return np.asarray(self.offsets.take(cells))
        return np.asarray(self.slopes.take(cells) * scores + self.offsets.take(cells), dtype=np.float64)


@dataclass(frozen=True, eq=False)
class Interpolated:
    """The line between the points (scores, values) around s; constant beyond the outer ones. Scores ascend."""

    scores: Float64s
    values: Float64s

    def __call__(self, scores: Floats) -> Float64s:
        """The map of scores (n,)."""
        return np.asarray(np.interp(scores.astype(np.float64), self.scores, self.values))


@dataclass(frozen=True, eq=False)
class LogOddsMap:
    """sigmoid(yes * log s - no * log(1 - s) + intercept), both logarithms from the one floor up."""

    yes: float
    no: float
    intercept: float

    def __call__(self, scores: Floats) -> Float64s:
        """The map of scores (n,)."""
        wide = scores.astype(np.float64)
        return np.asarray(expit(self.yes * safe_log(wide) - self.no * safe_log(1.0 - wide) + self.intercept))


Map: TypeAlias = PiecewiseMap | Interpolated | LogOddsMap

SAME = PiecewiseMap(np.empty(0), np.ones(1), np.zeros(1), from_scores=False)
"""The score as it is."""


def carried_back(edges: Float64s, increasing: Callable[[Float64s], Float64s]) -> Float64s:
    """The smallest score in [0, 1] that an increasing map sends to each edge or above; infinite where none does.

    >>> carried_back(np.array([0.25, 2.0]), np.square).tolist()
    [0.5, inf]
    """
    top = np.float64(1.0).view(np.int64)
    below = np.full(len(edges), -1, dtype=np.int64)
    # Doubles from 0 to 1 are ordered as their bits are: 62 bits, five at a time, find the one.
    for shift in (*range(57, 0, -5), 0):
        tried = below[:, None] + (np.arange(1, 32) << shift)
        values = increasing(np.clip(tried, 0, top).view(np.float64).ravel()).reshape(tried.shape)
        below += (values < edges[:, None]).sum(axis=1) << shift
    found = np.minimum(below + 1, top).view(np.float64)
    return np.where(below < top, found, np.inf)


def with_abstentions(predictions: Predictions, apply: Callable[[Predictions], Predictions]) -> Predictions:
    """``apply`` to the rows the model answers; rows it abstains on keep their probabilities and their mark.

    NotAnswerable where the result holds top claims only or rows that need not sum to one: it has no place for a mark.
    """
    abstained = predictions.abstained
    if abstained is None:
        return apply(predictions)
    if abstained.all():
        return predictions
    calibrated = apply(predictions.answered)
    if calibrated.kind != "full":
        raise NotAnswerable(
            "the model abstains on some rows, and this calibrator returns single claims, which cannot say so: "
            "let Meta-Cal come last"
        )
    out = predictions.probs.astype(calibrated.rows.dtype, copy=True)
    out[~abstained] = calibrated.probs
    silent = abstained.copy()
    if calibrated.abstained is not None:
        silent[np.flatnonzero(~abstained)[calibrated.abstained]] = True
    return predictions.with_probs(frozen(out), abstained=silent)


Output = Literal["full", "per-class", "top-label", "top-k", "same"]


@dataclass(frozen=True)
class Contract:
    """What a calibrator promises, declared beside it and enforced by tests over the registry.

    output: kind of predictions it returns ("same": as given); keeps_argmax: the predicted class never changes;
    sums_to_one: rows stay distributions; monotone: a higher score never gets a lower output (within a stratum);
    min_rows: fewest calibration rows it can be fitted on; needs_matrix: works on full probability rows only;
    may_refuse: calibration rows that cannot carry what was asked for are refused in a sentence (NotAnswerable);
    abstains: it may leave rows unanswered; exported: it can be written as steps (``exporting.steps_of``);
    keeps_order: no two classes of a row change places, or only the claims made are recalibrated; profile: how it is
    introduced to somebody who chooses one; classes: the only number of classes it is for. ``bins`` and ``rows`` name
    the parameter that says how many bins it has, or how many rows each holds; empty where none does.
    """

    output: Output
    keeps_argmax: bool
    sums_to_one: bool
    monotone: bool = False
    min_rows: int = 1
    needs_matrix: bool = True
    may_refuse: bool = False
    abstains: bool = False
    exported: bool = True
    keeps_order: bool = False
    profile: Profile = field(default_factory=Profile)
    bins: str = ""
    rows: str = ""
    classes: int | None = None

    def unfit(self, kind: str, classes: int | None = None) -> str:
        """Why predictions of this kind cannot be calibrated so, in one sentence without its stop; empty where they can.

        ``classes``: how many classes they have, where that is known.

        >>> Contract("full", keeps_argmax=False, sums_to_one=True, classes=2).unfit("full", 3)
        'it is for 2 classes, and these rows have 3'
        >>> Contract("full", keeps_argmax=True, sums_to_one=True).unfit("confidence")
        'it needs the probability of every class, and these rows hold one number each'
        """
        if self.needs_matrix and kind not in ("full", "per-class", self.output):
            return "it needs the probability of every class, and these rows hold one number each"
        if self.profile.needs_classes and kind == "confidence":
            return "it needs the predicted classes, and these rows do not say them"
        if self.classes is not None and classes not in (None, self.classes):
            return f"it is for {self.classes} classes, and these rows have {classes}"
        return ""


class BinaryCalibrator(Adjustable):
    """A map from scores in [0, 1] to probabilities in [0, 1], fitted on scores and binary outcomes.

    Subclasses are dataclasses whose annotated fields are their parameters; they implement ``_fit``, and
    ``score_map`` or ``_map``.
    """

    @property
    def min_rows(self) -> int:
        """Fewest claims it can be fitted on as it is meant."""
        return 2

    def discrete(self, given: bool = False) -> bool:
        """Whether it returns few values, by declaration; ``given`` tells whether the scores it maps are few.

        Each output follows from its own score, so that few scores become few values whatever the map.
        """
        return given

    @property
    def note(self) -> str:
        """What a reader of the fitted map must know, in one sentence; empty where there is nothing."""
        return ""

    @property
    def steps(self) -> Float64s:
        """Thresholds of the fitted map, ascending; empty where it has none."""
        return np.empty(0)

    def interval(self, scores: Floats) -> tuple[Float64s, Float64s] | None:
        """The ends of the probability interval that the map returns with each score; None where it returns none."""
        return None

    def insides(self) -> Insides:
        """What the fitted map consists of, in words and numbers."""
        return Insides()

    @property
    def divides(self) -> bool:
        """Does it divide the rows it is fitted on, one by one, so that rows that belong together would be parted?"""
        return False

    def cells(self) -> UniformMassCells | None:
        """The fitted bins as the bounds of histogram binning need them; None for maps that bounds say nothing of."""
        return None

    def fit(self, scores: ArrayLike, outcomes: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit on scores (n,) in [0, 1] and outcomes (n,) of 0 and 1; InputError names the first bad one."""
        s = check_scores(scores)
        z = np.asarray(outcomes)
        if z.shape != s.shape or not (z.dtype == bool or np.isin(z, (0, 1)).all()):
            raise InputError(f"outcomes must be {len(s)} values 0 or 1, one a score; got shape {z.shape}")
        w = None if sample_weight is None else check_weights(sample_weight, len(s))
        self._fit(s, z.astype(bool, copy=False), w)
        return self

    def transform(self, scores: ArrayLike) -> Float64s:
        """Recalibrated scores (n,), each from its own score alone."""
        check_is_fitted(self)
        return np.clip(self._map(check_scores(scores)), 0.0, 1.0)

    def fit_counts(self, stratum: CountedStratum) -> Self:
        """Fit on one stratum of a summary's claims; NotAnswerable where it needs rows, or other edges than the grid's.

        >>> from calib_core.calibrators import BINARY_CALIBRATORS
        >>> from calib_core.reductions import Confidence
        >>> from calib_core.summaries import Summary
        >>> counts = Summary.of(Predictions.from_confidence([0.7, 0.7, 0.9, 0.9], [True, False, True, True]))
        >>> histogram = BINARY_CALIBRATORS.make("equal-width-histogram", bins=5)
        >>> histogram.fit_counts(Confidence().split(counts).stratum(0)).transform([0.65, 0.95]).tolist()
        [0.5, 1.0]
        """
        claims = self.listed(stratum)
        return self.fit(claims.scores, claims.outcomes, sample_weight=claims.weights)

    def listed(self, stratum: CountedStratum) -> Stratum:
        """Claims of a summary as it is fitted on them: whole weights, each with the score that stands for it."""
        starts_of(self._grid_edges)
        return claims_of(stratum, BINARY_CALIBRATORS.flags(self).counts)

    @property
    def _grid_edges(self) -> Float64s:
        """Edges that it places without looking at scores, and a summary's grid must have."""
        return np.empty(0)

    def _fit(self, scores: Floats, outcomes: Bools, weights: Float64s | None) -> None:
        raise NotImplementedError

    def score_map(self) -> Map:
        """The fitted map in a form that other languages can write; NotAnswerable where it has none."""
        entry = BINARY_CALIBRATORS.find(self)
        name = type(self).__name__ if entry is None else entry.title
        raise NotAnswerable(f"{name} has no export; save it as JSON, which calib_core.load_calibrator reads back")

    def _map(self, scores: Floats) -> Float64s:
        return self.score_map()(scores)


class Calibrator(Adjustable):
    """A map from predictions to better predictions, fitted on calibration rows; a scikit-learn estimator.

    ``fit(X, y)`` and ``predict_proba(X)`` take probabilities (n, K), or ``Logits``; ``fit_on(predictions)`` and
    ``apply(predictions)`` take and return Predictions, and say themselves what they cannot do.
    Subclasses implement ``_fit`` and ``_apply``.
    """

    classes_: NDArray[Any]

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """What fitting leaves, and the parameters of subclasses."""

    wanted: ClassVar[str] = ""
    """Name of the parameter that holds the rate it keeps, and then has an ``attained``; empty where it keeps none."""

    binary_maps: ClassVar[bool] = False
    """Is it a binary map a stratum (``strata_``, ``maps_``), so that rows it is applied to need not sum to one?"""

    by_sums: ClassVar[bool] = False
    """Is it fitted by sums over the rows, which then may come in parts (``_fit_parts``)?"""

    @property
    def columns(self) -> tuple[str, ...]:
        """Metadata columns that it reads, so that rows to be fitted on or recalibrated must have them."""
        return ()

    @property
    def reads_counts(self) -> bool:
        """Can it be fitted on a ``Summary``: are counts in cells of a grid all it looks at?"""
        return False

    def fit(self, X: ArrayLike | Logits, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit on probabilities (n, K) and labels (n,): codes 0..K-1, or names as scikit-learn's classifiers take them.

        Names belong to the columns in sorted order, or to the columns of a DataFrame that are called so; ``classes_``
        then contains the names, and ``predict`` returns them. InputError where there are not K names.
        """
        predictions = _predictions(X, y, sample_weight)
        self.fit_on(predictions)
        if _are_names(y):
            self.classes_ = np.asarray(predictions.class_names)
        return self

    def fit_on(self, predictions: Predictions, progress: Progress = silent) -> Self:
        """Fit on the rows of these predictions that the model answers: all of them unless it abstains.

        A ``Summary`` will do where ``reads_counts``; NotAnswerable elsewhere. Where a fit takes long, ``progress`` is
        told how much is done, in percent, or 0 again and again where nobody knows (steps towards a minimum). What it
        raises stops the fit; a fit that is stopped or refused leaves the calibrator as it was.
        """
        if predictions.grain == "counts" and not self.reads_counts:
            raise NotAnswerable(NEEDS_ROWS.format(f"fitting {CALIBRATORS.recipe(self).title}"))
        before = dict(self.__dict__)
        try:
            self._fit(predictions.answered, progress)
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(before)
            raise
        return self._fitted_on(predictions)

    def fit_parts(self, parts: Iterable[Predictions]) -> Self:
        """Fit on rows that come in parts, such as those of a file larger than memory, which is read several times.

        Parameters
        ----------
        parts : a list of predictions, or a ``cc.readers.StreamedFile``: whatever gives the parts each time anew.

        What ``by_sums`` says is fitted by sums of gradients and curvatures over the parts: the map is that of all rows
        at once, but for rounding. Else what ``reads_counts`` says is fitted on the ``Summary`` of the parts, made on
        the way: its scores are those of the grid. NotAnswerable for all others, which need every row at once, and for
        weights that are no counts of copies.

        >>> from calib_core.calibrators import CALIBRATORS
        >>> p = Predictions([[0.9, 0.1]] * 10, [0] * 8 + [1] * 2)
        >>> cal = CALIBRATORS.make("temperature").fit_parts([p.take(range(5)), p.take(range(5, 10))])
        >>> cal.predict_proba([[0.9, 0.1]]).round(6).tolist()
        [[0.8, 0.2]]
        """
        if self.by_sums:
            rows = Parts(parts)
            self._fit_parts(rows)
            return self._fitted_on(next(iter(rows)))
        if not self.reads_counts:
            title = CALIBRATORS.recipe(self).title
            raise NotAnswerable(f"{title} looks at all calibration rows at once, and cannot be fitted in parts")
        return self.fit_on(cast(Predictions, summary_of_parts(parts)))

    def _fitted_on(self, predictions: Predictions) -> Self:
        self.__dict__.pop("groups_", None)  # of an earlier fit
        if predictions.row_groups is not None:
            self.groups_ = predictions.row_groups.words
        self.classes_ = np.arange(predictions.n_classes or 2)
        return self

    def apply(self, predictions: Predictions, progress: Progress = silent) -> Predictions:
        """These predictions recalibrated; labels, names, weights and metadata come along.

        They carry the mark ``discrete`` where this calibrator declares that it returns few values. ``progress``: as in
        ``fit_on``.
        """
        check_is_fitted(self)
        if predictions.grain == "counts":
            raise NotAnswerable(NEEDS_ROWS.format("recalibrating"))
        k = predictions.n_classes
        if k is not None and k != len(self.classes_):
            raise InputError(f"{k} classes given; this calibrator was fitted with {len(self.classes_)}")
        calibrated = with_abstentions(predictions, lambda rows: self._apply(rows, progress))
        return calibrated.as_discrete(self.discrete(predictions.discrete))

    def discrete(self, given: bool = False) -> bool:
        """Whether its claims take few values (one a bin), by declaration: they are then judged one bin a value.

        ``given`` tells whether the predictions it is applied to do. Maps that keep differences between scores, if only
        by interpolation or a shift, are not discrete; nor are rows divided by their sum.
        """
        return False

    def guarantee(self, alpha: float = ALPHA) -> Promise:
        """What holds for the fitted calibrator whatever the data, with probability 1 - alpha; or that nothing does."""
        check_is_fitted(self)
        return NONE

    @property
    def dependence(self) -> str:
        """Why nothing is promised: the rows it was fitted on belong together; empty where each stands alone."""
        groups = vars(self).get("groups_", "")
        return (
            f"the calibration rows belong to {groups}, and what is promised is for independent rows" if groups else ""
        )

    @property
    def note(self) -> str:
        """What a reader of the fitted calibrator must know, in one sentence; empty where there is nothing."""
        return ""

    def insides(self, names: Sequence[str] = ()) -> Insides:
        """What the fitted calibrator consists of, in words and numbers; ``names`` of the classes, where known."""
        return Insides()

    def remarks(self, most: int | None = None) -> tuple[str, ...]:
        """Sentences on the fitted calibrator: groups too small to be calibrated on their own, and its ``note``.

        ``most``: so many names of groups are listed at most.
        """
        return (self.note,) if self.note else ()

    def predict_proba(self, X: ArrayLike | Logits) -> Floats:
        """Recalibrated probabilities, row by row: what the calibrator says, and no more.

        (n, K) from calibrators of full rows and of single classes; the probability of the predicted class alone,
        (n,), from confidence and top-label calibrators, of the k largest classes, (n, k), from top-k ones:
        they recalibrate only the claims made and say nothing of the other classes.
        """
        calibrated = self.apply(_predictions(X, None, None))
        if calibrated.kind in ("full", "per-class"):
            return calibrated.probs
        probs = calibrated.top(calibrated.n_ranked)[1]
        return probs[:, 0] if probs.shape[1] == 1 else probs

    def predict(self, X: ArrayLike | Logits) -> NDArray[np.generic]:
        """The predicted class of each row after recalibration (n,), as one of ``classes_``."""
        codes = self.apply(_predictions(X, None, None)).predicted
        return self.classes_[codes]

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import ClassifierTags

        tags = super().__sklearn_tags__()
        tags.estimator_type, tags.classifier_tags = "classifier", ClassifierTags()  # so that folds are stratified
        return tags

    def score(self, X: ArrayLike | Logits, y: ArrayLike) -> float:
        """Minus the mean squared error of the top claim, 1{y = c} - h: higher is better, for every output kind."""
        calibrated = self.apply(_predictions(X, y, None))
        return -float(np.mean(np.square(calibrated.confidence.astype(np.float64) - calibrated.correct)))

    def to_json(self) -> str:
        """This fitted calibrator as JSON text, which ``calib_core.load_calibrator`` reads back; no code is in it."""
        text: str = provided("calibrator text")(self)
        return text

    def _fit(self, predictions: Predictions, progress: Progress) -> None:
        """Fit on rows that the model answers; a fit that takes long reports its ``progress``."""
        raise NotImplementedError

    def _fit_parts(self, parts: Parts) -> None:
        raise NotImplementedError

    def _apply(self, predictions: Predictions, progress: Progress) -> Predictions:
        """The predictions recalibrated; what takes long reports its ``progress``."""
        raise NotImplementedError


@dataclass(frozen=True)
class MapShape:
    """What a binary calibrator declares of its map; ``smooth``: it has few parameters and never decreases.

    ``bins`` and ``rows`` name the parameter that says how many bins it has, or how many rows each holds. ``counts``:
    whether it is fitted on counts in cells of a grid as on rows, and which score then stands for a claim: the lower
    end of its cell ("edges"), the mean of all claims of its cell ("cells"), or of those that came true, or did not, as
    the claim itself ("outcomes"). ``numbers``: how many it fits, where they are few.
    """

    smooth: bool = False
    bins: str = ""
    rows: str = ""
    counts: Counts = "never"
    numbers: int = 0


BINARY_CALIBRATORS: Registry[BinaryCalibrator] = Registry("BINARY_CALIBRATORS", flags=MapShape())
CALIBRATORS: Registry[Calibrator] = Registry("CALIBRATORS")


def as_calibrator(calibrator: Any) -> Calibrator:
    """A calibrator given by key, by recipe, or as it is."""
    if isinstance(calibrator, (str, Recipe)):
        calibrator = CALIBRATORS.recipe(calibrator).build()
    ready: Calibrator = calibrator
    return ready


def check_scores(scores: ArrayLike) -> Floats:
    """Scores (n,) in [0, 1]; InputError names the first that is not."""
    s = np.asarray(scores)
    s = s if s.dtype in (np.float32, np.float64) else s.astype(np.float64)
    if s.ndim != 1 or len(s) == 0:
        raise InputError(f"scores has shape {s.shape}; one dimension and at least one score are needed")
    if not (s.min() >= 0 and s.max() <= 1):
        wrong = ~((s >= 0) & (s <= 1))
        i = int(wrong.argmax())
        raise InputError(f"score {i} is {s[i]:.6g}; scores lie in [0, 1] ({int(wrong.sum())} of {len(s)} do not)")
    return s


def _predictions(X: ArrayLike | Logits, y: ArrayLike | None, weights: ArrayLike | None) -> Predictions:
    values = X.values if isinstance(X, Logits) else np.asarray(X)
    labels = np.zeros(len(values), dtype=np.intp) if y is None else y
    named = _are_names(labels) and all(isinstance(name, int) for name in getattr(X, "columns", (0,)))
    names = _sorted_names(labels, values.shape[-1]) if named else None
    if isinstance(X, Logits):
        return Predictions.from_logits(X, labels, class_names=names, weights=weights)
    # Without labels a frame's columns have nothing to name.
    return Predictions(plain(X) if y is None or named else X, labels, class_names=names, weights=weights)


def _are_names(labels: ArrayLike) -> bool:
    """Whether labels are text rather than codes."""
    y = np.asarray(labels)
    return y.dtype.kind in "UST" or (y.dtype.kind == "O" and y.size > 0 and isinstance(y.ravel()[0], str))


def _sorted_names(labels: ArrayLike, k: int) -> list[str]:
    """The K names among the labels, in the order of the columns of a scikit-learn classifier."""
    names = sorted({str(label) for label in np.asarray(labels).ravel()})
    if len(names) != k:
        raise InputError(
            f"the labels contain {len(names)} names and there are {k} columns, so that it is not known which is which; "
            "use a DataFrame whose columns have the class names"
        )
    return names
