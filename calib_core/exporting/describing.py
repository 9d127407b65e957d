"""Describe calibrators as steps; a calibrator without a description here raises NotAnswerable."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import singledispatch
from typing import Any, Literal

import numpy as np

from calib_core._base.arrays import Float64s
from calib_core._base.sklearn_api import check_is_fitted
from calib_core.calibrators.base import CALIBRATORS, SAME, BinaryCalibrator, Calibrator, Interpolated, Map, PiecewiseMap
from calib_core.calibrators.blend import Blend
from calib_core.calibrators.composed import Composed
from calib_core.calibrators.ensemble_temperature import EnsembleTemperature
from calib_core.calibrators.identity import Identity
from calib_core.calibrators.kernel_recalibration import KernelRecalibration
from calib_core.calibrators.label_shift import PriorShift
from calib_core.calibrators.linear_maps import Dirichlet, MatrixScaling, VectorScaling
from calib_core.calibrators.meta_cal import MetaCal
from calib_core.calibrators.neighbours import Lecd, Lece
from calib_core.calibrators.order_preserving import OrderPreserving
from calib_core.calibrators.reduced import Reduced
from calib_core.calibrators.risk_updates import RiskUpdate
from calib_core.calibrators.shared_process import GaussianProcess
from calib_core.calibrators.structured import StructuredScaling
from calib_core.calibrators.temperature import Temperature
from calib_core.exporting.nodes import (
    Affine,
    Bent,
    Chosen,
    EachClass,
    Either,
    Finite,
    InputRow,
    Log,
    Mixed,
    Moved,
    Node,
    Normalised,
    Program,
    Ranked,
    Scaled,
    Softmax,
    Uniform,
    Unsure,
)
from calib_core.predictions.predictions import NotAnswerable
from calib_core.reductions.base import scope
from calib_core.registry.registry import Recipe, RegistryError


@dataclass(frozen=True)
class State:
    """A row during the description: its probabilities, raw logits if available, and where the model abstains.

    ``kind`` is as in Predictions; ``exact`` means that the probabilities are those of the input.
    """

    row: Node
    n_classes: int
    logits: Node | None = None
    abstained: Node | None = None
    kind: Literal["full", "per-class", "ranked"] = "full"
    exact: bool = False

    def with_row(self, row: Node, logits: Node | None = None) -> State:
        """Return the same state with other probabilities."""
        return State(row, self.n_classes, logits)


class NeedsLogitsError(Exception):
    """The calibrator was fitted on raw logits, but the input row has none."""


def program(calibrator: Calibrator, *, logits: bool = False) -> Program:
    """Describe a fitted calibrator as steps on probabilities; or on raw logits, on request or if it needs them.

    NotAnswerable gives the reason if there is no description.

    >>> cal = CALIBRATORS.make("temperature").fit([[0.9, 0.1]] * 5, [0, 0, 0, 0, 1])
    >>> [type(node).__name__ for node in program(cal).nodes()]
    ['InputRow', 'Log', 'Scaled', 'Softmax']
    """
    check_is_fitted(calibrator)
    k = len(calibrator.classes_)
    given = InputRow("logits" if logits else "probabilities", k)
    start = State(Softmax(given), k, logits=given) if logits else State(given, k, exact=True)
    try:
        final = described(calibrator, start)
    except NeedsLogitsError:
        return program(calibrator, logits=True)
    return Program(given, final.row, final.abstained)


def described(calibrator: Calibrator, state: State) -> State:
    """Return the state after this calibrator; abstained rows are unchanged."""
    if state.kind == "ranked" or (state.kind == "per-class" and not calibrator.binary_maps):
        raise NotAnswerable(
            f"{_title(calibrator)} after a calibrator of single claims has no export as Python or ONNX, because it "
            "needs rows that sum to one"
        )
    after = steps_of(calibrator, replace(state, abstained=None))
    if state.abstained is None:
        return after
    if after.kind != "full":
        raise NotAnswerable(
            f"{_title(calibrator)} returns single claims, which cannot express where the previous model abstains"
        )
    abstained = state.abstained if after.abstained is None else Either(state.abstained, after.abstained)
    return replace(state.with_row(Chosen(state.abstained, state.row, after.row)), abstained=abstained)


@singledispatch
def steps_of(calibrator: Calibrator, state: State) -> State:
    """Return the state after this calibrator; register a function here for a custom one."""
    raise NotAnswerable(
        f"{_title(calibrator)} has no export as Python or ONNX; save it as JSON, which calib_core.load_calibrator reads"
    )


@steps_of.register(Lece)
@steps_of.register(Lecd)
@steps_of.register(KernelRecalibration)
def _neighbours(calibrator: Calibrator, state: State) -> State:
    raise NotAnswerable(
        f"{_title(calibrator)} has no export as Python or ONNX, because it needs all calibration rows for each "
        "prediction. Save it as JSON, which calib_core.load_calibrator reads"
    )


@steps_of.register
def _identity(calibrator: Identity, state: State) -> State:
    return state


@steps_of.register
def _composed(calibrator: Composed, state: State) -> State:
    return described(calibrator.then_, described(calibrator.first_, state))


@steps_of.register
def _blend(calibrator: Blend, state: State) -> State:
    members = tuple(described(member, state).row for member in calibrator.members_)
    return state.with_row(Mixed(members, tuple(map(float, calibrator.weights_))))


@steps_of.register
def _temperature(calibrator: Temperature, state: State) -> State:
    inverse = 1.0 / float(calibrator.temperature_)
    logits = None if state.logits is None else Scaled(state.logits, inverse)
    return state.with_row(_softened(state, inverse), logits)


@steps_of.register
def _ensemble(calibrator: EnsembleTemperature, state: State) -> State:
    soft = _softened(state, 1.0 / float(calibrator.temperature_))
    w1, w2, w3 = (float(w) for w in calibrator.weights_)
    return state.with_row(Mixed((soft, state.row, Uniform(state.n_classes)), (w1, w2, w3)))


@steps_of.register(VectorScaling)
@steps_of.register(MatrixScaling)
@steps_of.register(Dirichlet)
def _affine(calibrator: VectorScaling | MatrixScaling | Dirichlet, state: State) -> State:
    if calibrator.input_ == "logits" and state.logits is None:
        raise NeedsLogitsError
    source = _source(state) if calibrator.input_ == "logits" else Log(state.row)
    weights, intercepts = np.asarray(calibrator.weights_, float), np.asarray(calibrator.intercepts_, float)
    return state.with_row(Softmax(Affine(source, weights, intercepts)))


@steps_of.register
def _prior_shift(calibrator: PriorShift, state: State) -> State:
    return state.with_row(Softmax(Affine(Log(state.row), np.ones(state.n_classes), calibrator.offsets)))


@steps_of.register
def _risk_update(calibrator: RiskUpdate, state: State) -> State:
    if calibrator.by:
        raise NotAnswerable(
            f"{_title(calibrator)} by the values of {calibrator.by!r} has no export as Python or ONNX, because a row "
            "of probabilities does not contain that column. Save it as JSON, which calib_core.load_calibrator reads"
        )
    intercepts = np.zeros(2)
    intercepts[calibrator.event_] = calibrator.intercept_
    return state.with_row(Softmax(Affine(Log(state.row), np.full(2, float(calibrator.slope_)), intercepts)))


@steps_of.register
def _order_preserving(calibrator: OrderPreserving, state: State) -> State:
    ends, heights = calibrator.corners()
    slopes = np.asarray(calibrator.slopes_, float)
    lines = PiecewiseMap(np.asarray(calibrator.knots_, float), slopes, heights - slopes * ends, from_scores=False)
    return state.with_row(Softmax(Bent(Log(state.row), lines)))


@steps_of.register
def _structured(calibrator: StructuredScaling, state: State) -> State:
    soft, share = _softened(state, 1.0 / float(calibrator.temperature_)), float(calibrator.share_)
    drawn = Mixed((soft, Uniform(state.n_classes)), (1.0 - share, share))
    weights, intercepts = np.asarray(calibrator.weights_, float), np.asarray(calibrator.intercepts_, float)
    return state.with_row(Softmax(Affine(Log(drawn), weights, intercepts)))


@steps_of.register
def _gaussian_process(calibrator: GaussianProcess, state: State) -> State:
    curve = Interpolated(np.asarray(calibrator.points_, float), np.asarray(calibrator.shifts_, float))
    return state.with_row(Softmax(Moved(Log(state.row), curve)))


@steps_of.register
def _reduced(calibrator: Reduced, state: State) -> State:
    # A map that several strata share stays a single map.
    by_binary = {id(binary): described_map(binary, state.exact) for binary in calibrator.maps_}
    maps = tuple(by_binary[id(binary)] for binary in calibrator.maps_)
    reduction: Any = calibrator.reduction
    of = scope(reduction).of
    if of == "classes":
        return _of_columns(calibrator, state, maps)
    if of == "class":
        columns: list[Map] = [SAME] * state.n_classes
        columns[reduction.cls] = maps[0]
        return _of_columns(calibrator, state, tuple(columns))
    return replace(state.with_row(Ranked(state.row, _by_rank(calibrator, maps, state.n_classes))), kind="ranked")


def _of_columns(calibrator: Reduced, state: State, maps: tuple[Map, ...]) -> State:
    row = EachClass(state.row, maps)
    if calibrator.normalise:
        return state.with_row(Normalised(row))
    return replace(state.with_row(row), kind="per-class")


@steps_of.register
def _meta_cal(calibrator: MetaCal, state: State) -> State:
    # Rows tied with the threshold stay on its side, despite rounding of the entropy.
    unsure = Unsure(state.row, float(calibrator.threshold_) * (1.0 + 1e-12) + 1e-14)
    base = described(calibrator.base_, state)
    return replace(state.with_row(Chosen(unsure, Uniform(state.n_classes), base.row)), abstained=unsure)


def _by_rank(calibrator: Reduced, maps: tuple[Map, ...], k: int) -> tuple[tuple[Map, ...], ...]:
    """Return the maps of Reduced's strata in the form of Ranked."""
    declared = scope(calibrator.reduction)
    if declared.of not in ("top", "ranks"):
        name, why = type(calibrator.reduction).__name__, ", because it returns no prediction for a whole row"
        raise NotAnswerable(
            f"a calibrator of {name} claims has no export as Python or ONNX{why * (declared.of != 'event')}"
        )
    of_one_rank = k if declared.by_class else 1
    return tuple(maps[start : start + of_one_rank] for start in range(0, len(maps), of_one_rank))


def _softened(state: State, inverse: float) -> Node:
    return Softmax(Scaled(_source(state), inverse))


def _source(state: State) -> Node:
    return Log(state.row) if state.logits is None else Finite(state.logits)


def recipe_of(calibrator: Calibrator) -> Recipe | None:
    """Return the recipe of a calibrator; None if no registry key creates it."""
    try:
        return CALIBRATORS.recipe(calibrator)
    except RegistryError:
        return None


def _title(calibrator: Calibrator) -> str:
    entry = CALIBRATORS.find(calibrator)
    return type(calibrator).__name__ if entry is None else entry.title


def described_map(binary: BinaryCalibrator | None, exact: bool) -> Map:
    """Describe a fitted binary calibrator as a map; None is an unchanged stratum.

    ``exact`` means that the scores are those of the input. Computed scores differ in their last digits between
    languages. Edges are then shifted by this amount, so that scores tied with an edge stay on its side. NotAnswerable
    if no map can be written.
    """
    score_map = SAME if binary is None else binary.score_map()
    if exact or not isinstance(score_map, PiecewiseMap) or not score_map.from_scores:
        return score_map
    return replace(score_map, edges=_roomy(score_map.edges))


def _roomy(edges: Float64s) -> Float64s:
    """Lower edges by the rounding error of a softmax: about 128 units in the last place of the score's log-odds.

    An edge immediately above another one, which ends the bin of that single score, is raised by the same amount.
    """
    finite = np.where(np.isfinite(edges), edges, 0.0)
    rounding = np.finfo(np.float64).eps * finite * (2.0 + 128.0 * np.clip(1.0 - finite, 0.0, 1.0))
    ends_one_score = np.append(False, edges[1:] <= np.nextafter(edges[:-1], 2.0))[: len(edges)]
    return np.maximum.accumulate(np.where(ends_one_score, edges + rounding, edges - rounding))
