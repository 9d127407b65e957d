"""Base classes, contracts and registries of calibrators: binary maps of scores and multiclass maps of predictions.

A calibrator recalibrates the answered rows of predictions with abstentions and leaves the abstained rows unchanged.

Fitted maps of one score have four forms, which are applied here and exported to other languages: cells, lines, log-odds
and curves.
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
    """Piecewise linear map: slopes[b] * s + offsets[b], b the number of edges at or below s.

    ``edges`` has shape (B-1,); ``slopes`` and ``offsets`` have shape (B,).

    ``from_scores`` marks edges that are scores of calibration rows, so later scores can tie with them.

    >>> PiecewiseMap(np.array([0.5]), np.zeros(2), np.array([0.2, 0.7]))(np.array([0.4, 0.5])).tolist()
    [0.2, 0.7]
    """

    edges: Float64s
    slopes: Float64s
    offsets: Float64s
    from_scores: bool = True

    @classmethod
    def constant(cls, edges: ArrayLike, values: ArrayLike) -> PiecewiseMap:
        """Map with one value for every score of a cell."""
        offsets = np.asarray(values, dtype=np.float64)
        return cls(np.asarray(edges, dtype=np.float64), np.zeros(len(offsets)), offsets)

    def __call__(self, scores: Floats) -> Float64s:
        """Apply the map to scores (n,); edges are compared in the scores' dtype."""
        cells = places(self.edges.astype(scores.dtype), scores)
        if not self.slopes.any():
            return np.asarray(self.offsets.take(cells))
        return np.asarray(self.slopes.take(cells) * scores + self.offsets.take(cells), dtype=np.float64)


@dataclass(frozen=True, eq=False)
class Interpolated:
    """Linear interpolation between points (scores, values), constant beyond the outer ones; scores ascend."""

    scores: Float64s
    values: Float64s

    def __call__(self, scores: Floats) -> Float64s:
        """Apply the map to scores (n,)."""
        return np.asarray(np.interp(scores.astype(np.float64), self.scores, self.values))


@dataclass(frozen=True, eq=False)
class LogOddsMap:
    """Map sigmoid(yes * log s - no * log(1 - s) + intercept), both logarithms clipped at the common floor."""

    yes: float
    no: float
    intercept: float

    def __call__(self, scores: Floats) -> Float64s:
        """Apply the map to scores (n,)."""
        wide = scores.astype(np.float64)
        return np.asarray(expit(self.yes * safe_log(wide) - self.no * safe_log(1.0 - wide) + self.intercept))


@dataclass(frozen=True, eq=False)
class CurveMap:
    """Map sigmoid(p(z)), p a piecewise cubic polynomial in a score's log-odds z, clipped at the common floor.

    ``knots`` (m,) ascend. Row b of ``coefficients`` (m + 1, 4) contains c0 to c3 of the piece after b knots. This piece
    is c0 + c1 t + c2 t^2 + c3 t^3 in the distance t from its origin.

    >>> steep_above_half = CurveMap(np.zeros(1), np.array([[0.0, 1, 0, 0], [0, 2, 0, 0]]))
    >>> steep_above_half(np.array([0.2, 0.5, 0.8])).round(3).tolist()
    [0.2, 0.5, 0.941]
    """

    knots: Float64s
    coefficients: Float64s

    @property
    def origins(self) -> Float64s:
        """Origin of each piece (m + 1,): its left end, or the first knot for the first piece (0 without knots)."""
        return np.append(self.knots[:1], self.knots) if len(self.knots) else np.zeros(1)

    def __call__(self, scores: Floats) -> Float64s:
        """Apply the map to scores (n,)."""
        wide = scores.astype(np.float64)
        z = safe_log(wide) - safe_log(1.0 - wide)
        piece = np.searchsorted(self.knots, z, side="right")
        t = z - self.origins.take(piece)
        c0, c1, c2, c3 = (column.take(piece) for column in self.coefficients.T)
        return np.asarray(expit(((c3 * t + c2) * t + c1) * t + c0))


Map: TypeAlias = PiecewiseMap | Interpolated | LogOddsMap | CurveMap

SAME = PiecewiseMap(np.empty(0), np.ones(1), np.zeros(1), from_scores=False)
"""The identity map."""


def carried_back(edges: Float64s, increasing: Callable[[Float64s], Float64s]) -> Float64s:
    """Smallest score in [0, 1] that an increasing map sends to each edge or above; infinite where none does.

    >>> carried_back(np.array([0.25, 2.0]), np.square).tolist()
    [0.5, inf]
    """
    top = np.float64(1.0).view(np.int64)
    below = np.full(len(edges), -1, dtype=np.int64)
    # Doubles from 0 to 1 sort like their bits, so a search over 62 bits, five at a time, finds the score.
    for shift in (*range(57, 0, -5), 0):
        tried = below[:, None] + (np.arange(1, 32) << shift)
        values = increasing(np.clip(tried, 0, top).view(np.float64).ravel()).reshape(tried.shape)
        below += (values < edges[:, None]).sum(axis=1) << shift
    found = np.minimum(below + 1, top).view(np.float64)
    return np.where(below < top, found, np.inf)


def with_abstentions(predictions: Predictions, apply: Callable[[Predictions], Predictions]) -> Predictions:
    """Apply ``apply`` to the answered rows; abstained rows keep their probabilities and their mark.

    Raises NotAnswerable if the result has only top claims or rows that need not sum to one: these cannot be marked.
    """
    abstained = predictions.abstained
    if abstained is None:
        return apply(predictions)
    if abstained.all():
        return predictions
    calibrated = apply(predictions.answered)
    if calibrated.kind != "full":
        raise NotAnswerable(
            "the model abstains on some rows, and this calibrator returns single claims, which cannot mark an "
            "abstention: apply Meta-Cal last"
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
    """Properties of a calibrator, declared with it and enforced by tests over the registry.

    - output: kind of predictions it returns ("same": as given).
    - keeps_argmax: the predicted class never changes.
    - sums_to_one: rows stay distributions.
    - monotone: a higher score never gets a lower output (within a stratum).
    - min_rows: fewest calibration rows for a fit.
    - needs_matrix: works on full probability rows only.
    - may_refuse: it raises NotAnswerable if the calibration rows are insufficient for the requested guarantee.
    - abstains: it may leave rows unanswered.
    - exported: it can be written as steps (``exporting.steps_of``).
    - keeps_order: no two classes of a row change places, or only the claims made are recalibrated.
    - profile: its introduction for a user who chooses a calibrator.
    - classes: the only number of classes it supports.

    ``bins`` and ``rows`` name the parameter that sets the number of bins, or of rows per bin; empty if there is none.
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
        """Reason why predictions of this kind cannot be calibrated, without a final period; empty if they can.

        ``classes``: the number of classes, if known.

        >>> Contract("full", keeps_argmax=False, sums_to_one=True, classes=2).unfit("full", 3)
        'it works for 2 classes only, and these predictions have 3'
        >>> Contract("full", keeps_argmax=True, sums_to_one=True).unfit("confidence")
        'it needs the probability of every class, and these predictions have one number per row'
        """
        if self.needs_matrix and kind not in ("full", "per-class", self.output):
            return "it needs the probability of every class, and these predictions have one number per row"
        if self.profile.needs_classes and kind == "confidence":
            return "it needs the predicted classes, and these predictions do not include them"
        if self.classes is not None and classes not in (None, self.classes):
            return f"it works for {self.classes} classes only, and these predictions have {classes}"
        return ""


class BinaryCalibrator(Adjustable):
    """Base class of maps from scores in [0, 1] to probabilities, fitted on scores and binary outcomes.

    Subclasses are dataclasses whose annotated fields are their parameters; they implement ``_fit``, and
    ``score_map`` or ``_map``.
    """

    @property
    def min_rows(self) -> int:
        """Fewest claims for a regular fit."""
        return 2

    def discrete(self, given: bool = False) -> bool:
        """Return True if the map is declared to have few output values; ``given``: its inputs have few values.

        Each output depends on its own score only, so few distinct scores give few values under any map.
        """
        return given

    @property
    def note(self) -> str:
        """One-sentence caveat about the fitted map; empty if there is none."""
        return ""

    @property
    def steps(self) -> Float64s:
        """Thresholds of the fitted map, ascending; empty if it has none."""
        return np.empty(0)

    def interval(self, scores: Floats) -> tuple[Float64s, Float64s] | None:
        """Lower and upper ends of the probability interval for each score; None if the map has no intervals."""
        return None

    def insides(self) -> Insides:
        """Description of the fitted map in words and numbers."""
        return Insides()

    @property
    def divides(self) -> bool:
        """Return True if fitting splits the rows one by one, which would separate rows of the same group."""
        return False

    def cells(self) -> UniformMassCells | None:
        """Fitted bins in the form that the bounds of histogram binning need; None if the bounds do not apply."""
        return None

    def fit(self, scores: ArrayLike, outcomes: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit on scores (n,) in [0, 1] and outcomes (n,) of 0 and 1; InputError names the first invalid value."""
        s = check_scores(scores)
        z = np.asarray(outcomes)
        if z.shape != s.shape or not (z.dtype == bool or np.isin(z, (0, 1)).all()):
            raise InputError(f"outcomes must be {len(s)} values 0 or 1, one per score; got shape {z.shape}")
        w = None if sample_weight is None else check_weights(sample_weight, len(s))
        self._fit(s, z.astype(bool, copy=False), w)
        return self

    def transform(self, scores: ArrayLike) -> Float64s:
        """Return recalibrated scores (n,), each computed from its own score only."""
        check_is_fitted(self)
        return np.clip(self._map(check_scores(scores)), 0.0, 1.0)

    def fit_counts(self, stratum: CountedStratum) -> Self:
        """Fit on one stratum of a summary; NotAnswerable if it needs rows, or other edges than the grid's.

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
        """Claims of a summary in the form used for fitting: whole weights, each with its representative score."""
        starts_of(self._grid_edges)
        return claims_of(stratum, BINARY_CALIBRATORS.flags(self).counts)

    @property
    def _grid_edges(self) -> Float64s:
        """Edges that do not depend on the scores and must be edges of a summary's grid."""
        return np.empty(0)

    def _fit(self, scores: Floats, outcomes: Bools, weights: Float64s | None) -> None:
        raise NotImplementedError

    def score_map(self) -> Map:
        """Fitted map in a form that can be exported to other languages; NotAnswerable if it has none."""
        entry = BINARY_CALIBRATORS.find(self)
        name = type(self).__name__ if entry is None else entry.title
        raise NotAnswerable(f"{name} cannot be exported; save it as JSON, which calib_core.load_calibrator can read")

    def _map(self, scores: Floats) -> Float64s:
        return self.score_map()(scores)


class Calibrator(Adjustable):
    """Base class of maps from predictions to recalibrated predictions; a scikit-learn estimator.

    ``fit(X, y)`` and ``predict_proba(X)`` take probabilities (n, K), or ``Logits``; ``fit_on(predictions)`` and
    ``apply(predictions)`` take and return Predictions, and raise errors that explain what they cannot do.
    Subclasses implement ``_fit`` and ``_apply``.
    """

    classes_: NDArray[Any]

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Fitted attributes, and the parameters of subclasses."""

    wanted: ClassVar[str] = ""
    """Name of the parameter with the target rate, for calibrators that have an ``attained``; empty for others."""

    binary_maps: ClassVar[bool] = False
    """True if it has one binary map per stratum (``strata_``, ``maps_``), so its input rows need not sum to one."""

    by_sums: ClassVar[bool] = False
    """True if it is fitted by sums over the rows, so rows may come in parts (``_fit_parts``)."""

    @property
    def columns(self) -> tuple[str, ...]:
        """Metadata columns that it reads and that its calibration rows and inputs must therefore have."""
        return ()

    @property
    def reads_counts(self) -> bool:
        """Return True if it can be fitted on a ``Summary``, that is on counts in the cells of a grid."""
        return False

    def fit(self, X: ArrayLike | Logits, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit on probabilities (n, K) and labels (n,): codes 0..K-1, or names as scikit-learn's classifiers take them.

        Names are assigned to the columns in sorted order, or to the DataFrame columns of the same names. ``classes_``
        then contains the names, and ``predict`` returns them. Raises InputError if there are not K names.
        """
        predictions = _predictions(X, y, sample_weight)
        self.fit_on(predictions)
        if _are_names(y):
            self.classes_ = np.asarray(predictions.class_names)
        return self

    def fit_on(self, predictions: Predictions, progress: Progress = silent) -> Self:
        """Fit on the rows of these predictions that the model answers (all rows unless it abstains).

        A ``Summary`` is accepted if ``reads_counts``, otherwise it raises NotAnswerable. Slow fits call ``progress``
        with the percentage done, or repeatedly with 0 if it is unknown (steps towards a minimum). An exception raised
        by ``progress`` stops the fit. A fit that is stopped or refused leaves the calibrator unchanged.
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
        """Fit on rows in parts, such as those of a file larger than memory, which is read several times.

        Parameters
        ----------
        parts : a list of predictions, or a ``cc.readers.StreamedFile``: any iterable that can be iterated repeatedly.

        Calibrators with ``by_sums`` are fitted by sums of gradients and curvatures over the parts. The map equals that
        of all rows at once, up to rounding. Otherwise calibrators with ``reads_counts`` are fitted on a ``Summary`` of
        the parts, whose scores are those of the grid. Raises NotAnswerable for all others, which need every row at
        once, and for weights that are not counts of copies.

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
            raise NotAnswerable(f"{title} needs all calibration rows at once and cannot be fitted in parts")
        return self.fit_on(cast(Predictions, summary_of_parts(parts)))

    def _fitted_on(self, predictions: Predictions) -> Self:
        self.__dict__.pop("groups_", None)  # of an earlier fit
        if predictions.row_groups is not None:
            self.groups_ = predictions.row_groups.words
        self.classes_ = np.arange(predictions.n_classes or 2)
        return self

    def apply(self, predictions: Predictions, progress: Progress = silent) -> Predictions:
        """Return these predictions recalibrated, with the same labels, names, weights and metadata.

        They are marked ``discrete`` if this calibrator is declared to return few values. ``progress``: see ``fit_on``.
        """
        check_is_fitted(self)
        if predictions.grain == "counts":
            raise NotAnswerable(NEEDS_ROWS.format("recalibrating"))
        k = predictions.n_classes
        if k is not None and k != len(self.classes_):
            raise InputError(f"the predictions have {k} classes; this calibrator was fitted with {len(self.classes_)}")
        calibrated = with_abstentions(predictions, lambda rows: self._apply(rows, progress))
        return calibrated.as_discrete(self.discrete(predictions.discrete))

    def discrete(self, given: bool = False) -> bool:
        """Return True if its claims are declared to have few values (one per bin): each value is then one bin.

        ``given``: the predictions it is applied to have few values. Maps that preserve differences between scores, even
        only by interpolation or a shift, are not discrete; nor are rows divided by their sum.
        """
        return False

    def guarantee(self, alpha: float = ALPHA) -> Promise:
        """Distribution-free guarantee of the fitted calibrator with probability 1 - alpha, or that there is none."""
        check_is_fitted(self)
        return NONE

    @property
    def dependence(self) -> str:
        """Reason why there is no guarantee if the calibration rows are grouped; empty if they are independent."""
        groups = vars(self).get("groups_", "")
        return f"the calibration rows belong to {groups}, and the guarantee needs independent rows" if groups else ""

    @property
    def note(self) -> str:
        """One-sentence caveat about the fitted calibrator; empty if there is none."""
        return ""

    def insides(self, names: Sequence[str] = ()) -> Insides:
        """Description of the fitted calibrator in words and numbers; ``names``: class names, if known."""
        return Insides()

    def remarks(self, most: int | None = None) -> tuple[str, ...]:
        """Sentences about the fitted calibrator: groups too small for a map of their own, and its ``note``.

        ``most``: maximum number of group names listed.
        """
        return (self.note,) if self.note else ()

    def predict_proba(self, X: ArrayLike | Logits) -> Floats:
        """Return recalibrated probabilities, row by row, of the claims that this calibrator changes.

        The shape is (n, K) for calibrators of full rows and of single classes. Confidence and top-label calibrators
        return the probability of the predicted class only, (n,). Top-k calibrators return those of the k largest
        classes, (n, k). They do not recalibrate the other classes.
        """
        calibrated = self.apply(_predictions(X, None, None))
        if calibrated.kind in ("full", "per-class"):
            return calibrated.probs
        probs = calibrated.top(calibrated.n_ranked)[1]
        return probs[:, 0] if probs.shape[1] == 1 else probs

    def predict(self, X: ArrayLike | Logits) -> NDArray[np.generic]:
        """Return the predicted class of each row after recalibration (n,), as one of ``classes_``."""
        codes = self.apply(_predictions(X, None, None)).predicted
        return self.classes_[codes]

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import ClassifierTags

        tags = super().__sklearn_tags__()
        tags.estimator_type, tags.classifier_tags = "classifier", ClassifierTags()  # so that folds are stratified
        return tags

    def score(self, X: ArrayLike | Logits, y: ArrayLike) -> float:
        """Return minus the mean squared error of the top claim, 1{y = c} - h; higher is better, for every output."""
        calibrated = self.apply(_predictions(X, y, None))
        return -float(np.mean(np.square(calibrated.confidence.astype(np.float64) - calibrated.correct)))

    def to_json(self) -> str:
        """Return this fitted calibrator as JSON text without code; ``calib_core.load_calibrator`` reads it."""
        text: str = provided("calibrator text")(self)
        return text

    def _fit(self, predictions: Predictions, progress: Progress) -> None:
        """Fit on rows that the model answers; slow fits report their ``progress``."""
        raise NotImplementedError

    def _fit_parts(self, parts: Parts) -> None:
        raise NotImplementedError

    def _apply(self, predictions: Predictions, progress: Progress) -> Predictions:
        """Return the predictions recalibrated; slow maps report their ``progress``."""
        raise NotImplementedError


@dataclass(frozen=True)
class MapShape:
    """Declared properties of a binary calibrator's map; ``smooth``: it has few parameters and never decreases.

    ``bins`` and ``rows`` name the parameter that sets the number of bins, or of rows per bin. ``counts``: whether it
    can be fitted on counts in cells of a grid, and which score then represents a claim. It is the lower end of its cell
    ("edges") or the mean of all claims of its cell ("cells"). It can also be the mean of those with the claim's outcome
    ("outcomes"). ``numbers``: how many parameters it fits, if they are few.
    """

    smooth: bool = False
    bins: str = ""
    rows: str = ""
    counts: Counts = "never"
    numbers: int = 0


BINARY_CALIBRATORS: Registry[BinaryCalibrator] = Registry("BINARY_CALIBRATORS", flags=MapShape())
CALIBRATORS: Registry[Calibrator] = Registry("CALIBRATORS")


def as_calibrator(calibrator: str | Recipe | Calibrator) -> Calibrator:
    """Return the calibrator given by key, by recipe or as an object."""
    ready: Calibrator = CALIBRATORS.recipe(calibrator).build() if isinstance(calibrator, (str, Recipe)) else calibrator
    return ready


def check_scores(scores: ArrayLike) -> Floats:
    """Return scores (n,) in [0, 1]; InputError names the first one outside."""
    s = np.asarray(scores)
    s = s if s.dtype in (np.float32, np.float64) else s.astype(np.float64)
    if s.ndim != 1 or len(s) == 0:
        raise InputError(f"scores has shape {s.shape}; expected one dimension and at least one score")
    if not (s.min() >= 0 and s.max() <= 1):
        wrong = ~((s >= 0) & (s <= 1))
        i = int(wrong.argmax())
        raise InputError(f"score {i} is {s[i]:.6g}; scores must be in [0, 1] ({int(wrong.sum())} of {len(s)} are not)")
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
    """Return True if labels are text rather than codes."""
    y = np.asarray(labels)
    return y.dtype.kind in "UST" or (y.dtype.kind == "O" and y.size > 0 and isinstance(y.ravel()[0], str))


def _sorted_names(labels: ArrayLike, k: int) -> list[str]:
    """The K names among the labels, sorted as scikit-learn's classifiers sort their columns."""
    names = sorted({str(label) for label in np.asarray(labels).ravel()})
    if len(names) != k:
        raise InputError(
            f"the labels contain {len(names)} names but there are {k} columns, so names cannot be assigned to columns; "
            "use a DataFrame with the class names as column names"
        )
    return names
