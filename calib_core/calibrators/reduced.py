"""Multiclass-to-binary calibrators (P1 Alg. 1-7): a multiclass calibrator from a reduction and a binary one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, ClassVar, Literal, TypeVar

import numpy as np

from calib_core._base.arrays import Codes, Float64s, Floats, FloatType, Rows, frozen
from calib_core._base.parallel import Progress, chunks, counted_off, shared_out
from calib_core._base.sklearn_api import check_is_fitted, clone
from calib_core.calibrators.base import (
    BINARY_CALIBRATORS,
    BinaryCalibrator,
    Calibrator,
)
from calib_core.calibrators.calibration_rows import row_count
from calib_core.calibrators.histogram import Histogram
from calib_core.calibrators.insides import Insides, Number
from calib_core.claims.binary_claims import ColumnClaims, FlatClaims, Stratum
from calib_core.defaults import ALPHA
from calib_core.guarantees.promise import NONE, Promise, binning_promise, no_promise
from calib_core.predictions.predictions import InputError, NotAnswerable, Predictions
from calib_core.predictions.row_groups import refuse_groups
from calib_core.reductions.base import REDUCTIONS, Reduction, scope
from calib_core.reductions.top import TopLabel
from calib_core.registry.registry import Choice, Counts, Flag, Part
from calib_core.summaries.counted_claims import CountedClaims
from calib_core.text import first_few, several

T = TypeVar("T")

_STRATA = {"top": "predicted class", "classes": "class", "ranks": "rank"}
"""Nouns for the strata of notions with several."""


@dataclass(eq=False, repr=False)
class Reduced(Calibrator):
    """Recalibrates the binary claims of a notion, with a separate binary map for each stratum.

    The claims of the calibration rows are split into the notion's strata. In each, the binary calibrator is fitted on
    (score, outcome); new claims go through their stratum's map. A stratum with fewer rows than the binary calibrator
    needs is *small*. Small strata are pooled into one (``small="pool"``), or keep their scores (``small="leave"``, as
    in the authors' code). With fewer than two rows in all they keep their scores. ``pooled_`` and ``left_alone_`` list
    them by name. Weighted rows count as their effective sample size (Kish) unless the weights are whole numbers, which
    are copies.

    ``class_points`` = (k_1, ..., k_L) replaces the binary part's number of points per bin by one number per stratum.
    Class l of class-wise binning gets floor(n / k_l) bins of the n rows, as every row makes a claim about every class.
    A larger k_l makes the bound of class l tighter and its map coarser; the bound for all classes is the loosest one.
    Pooled small strata use their largest number.

    For the class-specific notion only the column of its class is recalibrated: the other columns do not change, and
    rows need not sum to one. For the event notion the risk r becomes m(r), and the other class 1 - m(r).

    References: P1 Algorithms 1-7; Algorithm 9 for ``class_points``.

    >>> from calib_core.reductions import Confidence
    >>> cal = Reduced(Confidence(), Histogram(bins=1, delta=0)).fit([[0.9, 0.1], [0.8, 0.2]], [0, 1])
    >>> cal.predict_proba([[0.6, 0.4]]).tolist()
    [0.5]
    """

    reduction: Annotated[Reduction, Part("REDUCTIONS"), "Notion", "the notion whose claims are recalibrated"] = field(
        default_factory=TopLabel
    )
    binary: Annotated[
        BinaryCalibrator, Part("BINARY_CALIBRATORS"), "Binary calibrator", "the calibrator fitted in each stratum"
    ] = field(default_factory=Histogram)
    small: Annotated[
        Literal["pool", "leave"],
        Choice(("pool", "leave"), titles=("Pool them", "Leave them unchanged")),
        "Classes with few rows",
        "strata too small for a calibrator of their own: pooled, or not calibrated",
    ] = "pool"
    normalise: Annotated[bool, Flag(), "Divide rows by their sum", "divide every row by its sum"] = False
    class_points: Annotated[
        tuple[float, ...],
        Counts(),
        "Rows per bin, class by class",
        "rows per bin for each class, in order; none: the same for all",
    ] = ()

    binary_maps: ClassVar[bool] = True

    @property
    def reads_counts(self) -> bool:
        claimed = scope(self.reduction).of in ("top", "classes", "class")
        return claimed and BINARY_CALIBRATORS.flags(self.binary).counts != "never"

    def discrete(self, given: bool = False) -> bool:
        return self.binary.discrete(given) and not self.normalise

    def _fit(self, predictions: Predictions, progress: Progress) -> None:
        claims = self._claims(predictions)
        self.strata_ = claims.strata
        self.pooled_: tuple[str, ...] = ()
        self.left_alone_: tuple[str, ...] = ()
        self.maps_: list[BinaryCalibrator | None] = [None] * len(claims.strata)
        parts = self._parts(len(claims.strata))
        if any(binary.divides for binary in parts):
            refuse_groups(predictions, "a map fitted on thirds of the rows", "use all rows for every step")

        def fitted(s: int, stratum: Stratum) -> tuple[int, BinaryCalibrator, Stratum] | None:
            if _rows(stratum) < (max(2, parts[s].min_rows) if len(parts) > 1 else 2):
                return s, parts[s], stratum
            self.maps_[s] = _fitted(parts[s], stratum)
            return None

        few = [small for small in _of_strata(claims, self.binary, fitted, progress) if small is not None]
        self._fit_small(few, predictions.n_rows)

    @property
    def note(self) -> str:
        check_is_fitted(self)
        notes: dict[str, list[str]] = {}
        for name, binary in zip(self.strata_, self.maps_, strict=True):
            if binary is not None and binary.note:
                notes.setdefault(binary.note, []).append(name)
        return " ".join(f"{first_few(names, 5)}: {note}" for note, names in notes.items())

    def remarks(self, most: int | None = None) -> tuple[str, ...]:
        check_is_fitted(self)
        few = ((self.pooled_, "pooled into one calibrator"), (self.left_alone_, "not recalibrated"))
        groups = (f"too few rows, {what}: {first_few(names, most or len(names))}." for names, what in few if names)
        return *groups, *super().remarks(most)

    def insides(self, names: Sequence[str] = ()) -> Insides:
        check_is_fitted(self)
        maps = {id(m): m.insides() for m in self.maps_ if m is not None}
        found = list(maps.values())
        if not found:
            return Insides("nothing", "Changes no row: there are too few calibration rows.")
        alone = len(found) == 1
        shared = "; those with few rows share one" if self.pooled_ else ""
        stratum = _STRATA.get(scope(self.reduction).of, "group of rows")
        each = "" if alone else f"There is one {found[0].unit} for each {stratum}{shared}. "
        return Insides(
            found[0].short if alone else several(len(found), f"{found[0].unit}s"),
            each + found[0].sentence + (" Rows are then divided by their sum." if self.normalise else ""),
            lambda: self._numbers(maps),
        )

    def _numbers(self, maps: Mapping[int, Insides]) -> list[Number]:
        """Numbers of every map; a shared map is listed once."""
        of = {id(m): name for name, m in reversed(list(zip(self.strata_, self.maps_, strict=True)))}
        few = dict.fromkeys(self.pooled_, "groups with few rows")
        single = len(self.strata_) == 1
        return [
            replace(number, of="" if single else few.get(of[key], of[key]))
            for key, inside in maps.items()
            for number in inside.numbers()
        ]

    def guarantee(self, alpha: float = ALPHA) -> Promise:
        """Guarantee of P1 Theorem 1 or 2 for histogram binning of confidences, top labels or classes; else none."""
        check_is_fitted(self)
        left_out = self.pooled_ + self.left_alone_
        own = [m for name, m in zip(self.strata_, self.maps_, strict=True) if m is not None and name not in left_out]
        cells = [bins for bins in (m.cells() for m in own) if bins is not None]
        of = scope(self.reduction).of
        if of not in ("top", "classes") or (own and not cells):
            return NONE
        if self.dependence:
            return no_promise(self.dependence)
        if self.normalise:
            return no_promise("dividing rows by their sum invalidates the guarantees for each class's bins")
        notion = REDUCTIONS.recipe(self.reduction).key
        return binning_promise(cells, alpha, notion, left_out, class_wise=of == "classes")

    def _parts(self, strata: int) -> list[BinaryCalibrator]:
        """Unfitted binary part of each stratum, with its own points per bin if given."""
        if not self.class_points:
            return [clone(self.binary)] * strata
        if "points_per_bin" not in self.binary.get_params():
            raise InputError(
                "class_points sets the rows per bin of each class, but this binary calibrator has no such parameter"
            )
        if len(self.class_points) != strata:
            raise InputError(
                f"class_points has {len(self.class_points)} numbers; expected {strata}, one per class in order"
            )
        return [clone(self.binary).set_params(points_per_bin=int(k)) for k in self.class_points]

    def _fit_small(self, few: list[tuple[int, BinaryCalibrator, Stratum]], n_rows: int) -> None:
        """Pool the strata that are too small for a map of their own, or leave them unchanged."""
        if not few:
            return
        names = tuple(self.strata_[s] for s, _, _ in few)
        pool = _together([stratum for _, _, stratum in few])
        if self.small == "leave" or min(_rows(pool), n_rows) < 2:
            self.left_alone_ = names
            return
        self.pooled_ = names
        shared = _fitted(max((binary for _, binary, _ in few), key=lambda binary: binary.min_rows), pool)
        for s, _, _ in few:
            self.maps_[s] = shared

    def _apply(self, predictions: Predictions, progress: Progress) -> Predictions:
        claims = self._claims(predictions)
        if isinstance(claims, ColumnClaims):
            maps = dict(zip(range(claims.rows.shape[1]), self.maps_, strict=True))
            return self._columns(maps, claims.dtype, predictions, progress)
        notion: Any = self.reduction
        of = scope(notion).of
        if of == "class":
            return self._columns({notion.cls: self.maps_[0]}, claims.dtype, predictions, progress)
        if of == "event":
            return _of_risk(self.maps_[0], claims.scores, predictions)
        values = np.empty(claims.scores.shape, dtype=claims.dtype)
        for binary, mine in zip(self.maps_, _places(claims), strict=True):
            if len(mine):
                values[mine] = claims.scores[mine] if binary is None else binary.transform(claims.scores[mine])
        return _ranked(values.reshape(-1, predictions.n_rows).T, predictions)

    def _columns(
        self,
        maps: Mapping[int, BinaryCalibrator | None],
        dtype: FloatType,
        predictions: Predictions,
        progress: Progress,
    ) -> Predictions:
        """Apply each class's map to its column; columns without a map do not change."""
        out = np.empty(predictions.rows.shape, dtype=dtype)

        def change(which: slice) -> None:
            columns = predictions.rows.columns(which)
            for s, column in zip(range(which.start, which.stop), columns, strict=True):
                binary = maps.get(s)
                if binary is not None:
                    column[:] = binary.transform(column)
            out[:, which] = columns.T

        blocks = _column_blocks(predictions.rows)
        for _ in counted_off(shared_out(change, blocks), len(blocks), progress):
            pass
        if self.normalise:
            return predictions.with_probs(_normalised(out))
        return Predictions.from_scores(
            frozen(out),
            predictions.true_labels,
            class_names=predictions.class_names,
            weights=predictions.weights,
            metadata=predictions.metadata,
            groups=predictions.grouping,
        )

    def _claims(self, predictions: Predictions) -> Any:
        if scope(self.reduction).of == "vector":
            raise NotAnswerable("a binary calibrator needs a notion with binary claims; choose another notion")
        return self.reduction.split(predictions)


def _of_risk(binary: BinaryCalibrator | None, risk: Floats, predictions: Predictions) -> Predictions:
    """Predictions of two classes with the recalibrated risk r of the event, and 1 - r of the other class."""
    if binary is None:
        return predictions
    recalibrated = binary.transform(risk)
    columns = (recalibrated, 1 - recalibrated)
    return predictions.with_probs(frozen(np.column_stack(columns if predictions.event == 0 else columns[::-1])))


def _ranked(values: Floats, predictions: Predictions) -> Predictions:
    """Predictions with the recalibrated claims only, and classes in the original model's order."""
    values = frozen(np.ascontiguousarray(values))
    if predictions.labels is None:
        return Predictions.from_confidence(
            values[:, 0],
            predictions.correct,
            weights=predictions.weights,
            metadata=predictions.metadata,
            groups=predictions.grouping,
        )
    return Predictions.from_confidence(
        values,
        predicted=predictions.top(values.shape[1])[0],
        labels=predictions.labels,
        class_names=predictions.class_names,
        weights=predictions.weights,
        metadata=predictions.metadata,
        groups=predictions.grouping,
    )


def _normalised(out: Floats) -> Floats:
    """Rows divided by their sum; a row of zeros becomes uniform."""
    sums = out.sum(axis=1, dtype=np.float64, keepdims=True)
    out[sums[:, 0] == 0] = 1.0 / out.shape[1]
    out /= np.where(sums == 0, 1.0, sums).astype(out.dtype)
    return frozen(out)


def _of_strata(
    claims: FlatClaims | ColumnClaims | CountedClaims,
    binary: BinaryCalibrator,
    work: Callable[[int, Stratum], T],
    progress: Progress,
) -> list[T]:
    """Results of ``work`` for every stratum, from one pass over the claims; a map lists counted claims itself."""
    strata = len(claims.strata)
    if isinstance(claims, CountedClaims):
        return [work(s, binary.listed(claims.stratum(s))) for s in counted_off(range(strata), strata, progress)]
    weights = claims.weights
    if isinstance(claims, ColumnClaims):
        rows, hit = claims.rows, claims.hit

        def each(which: slice) -> list[T]:
            columns = zip(range(which.start, which.stop), rows.columns(which), strict=True)
            return [work(s, Stratum(scores, hit == s, weights)) for s, scores in columns]

        blocks = _column_blocks(rows)
        done = counted_off(shared_out(each, blocks), len(blocks), progress)
        return [result for part in done for result in part]
    return [
        work(s, Stratum(claims.scores[mine], claims.outcomes[mine], None if weights is None else weights[mine]))
        for s, mine in enumerate(counted_off(_places(claims), strata, progress))
    ]


def _places(claims: FlatClaims) -> list[Codes]:
    """Positions of each stratum's claims, in their order."""
    strata = len(claims.strata)
    # Codes are smaller than the number of strata, and sorting few bits is faster.
    order = np.argsort(claims.codes.astype(np.min_scalar_type(strata)), kind="stable")
    return np.split(order, np.cumsum(np.bincount(claims.codes, minlength=strata))[:-1])


_COLUMNS, _BLOCK_BYTES = 64, 1 << 26
"""Columns read and written together, as they share cache lines, and their maximum bytes."""


def _column_blocks(rows: Rows) -> list[slice]:
    """Slices of adjacent columns that one thread reads together; fewer if they are long."""
    n, k = rows.shape
    return chunks(k, min(_COLUMNS, max(1, _BLOCK_BYTES // (n * rows.dtype.itemsize))))


def _fitted(binary: BinaryCalibrator, stratum: Stratum) -> BinaryCalibrator:
    return copy(binary).fit(stratum.scores, stratum.outcomes, sample_weight=stratum.weights)


def _rows(stratum: Stratum) -> float:
    return row_count(stratum.weights, len(stratum.scores))


def _together(strata: list[Stratum]) -> Stratum:
    weights = [s.weights for s in strata if s.weights is not None]
    joined: Float64s | None = np.concatenate(weights) if weights else None
    return Stratum(np.concatenate([s.scores for s in strata]), np.concatenate([s.outcomes for s in strata]), joined)
