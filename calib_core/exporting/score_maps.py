"""Fitted binary calibrators as maps of one score that other languages can write: steps, lines and log-odds.

Every map's result is clipped to [0, 1].
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import singledispatch
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from calib_core._base.arrays import Float64s
from calib_core.binning.interval_schemes import EqualWidth
from calib_core.calibrators.base import BINARY_CALIBRATORS, BinaryCalibrator
from calib_core.calibrators.beta import Beta
from calib_core.calibrators.binary_identity import BinaryIdentity
from calib_core.calibrators.binary_kernel import BinaryKernel
from calib_core.calibrators.binary_temperature import BinaryTemperature
from calib_core.calibrators.equal_width_histogram import EqualWidthHistogram
from calib_core.calibrators.histogram import Histogram
from calib_core.calibrators.isotonic import Isotonic
from calib_core.calibrators.lece_histogram import LeceHistogram
from calib_core.calibrators.platt import Platt
from calib_core.calibrators.scaling_binning import ScalingBinning
from calib_core.calibrators.venn_abers import VennAbers
from calib_core.predictions.predictions import NotAnswerable


@dataclass(frozen=True, eq=False)
class PiecewiseMap:
    """slopes[b] * s + offsets[b] in the b-th bin, b the number of edges at or below s: edges (B-1,), the others (B,).

    ``from_scores`` says that the edges are scores of calibration rows, so that later scores can be tied with them.
    """

    edges: Float64s
    slopes: Float64s
    offsets: Float64s
    from_scores: bool = True


@dataclass(frozen=True, eq=False)
class Interpolated:
    """The line between the points (scores, values) around s; constant beyond the outer ones. Scores ascend."""

    scores: Float64s
    values: Float64s


@dataclass(frozen=True, eq=False)
class LogOddsMap:
    """sigmoid(yes * log s - no * log(1 - s) + intercept), both logarithms from the one floor up."""

    yes: float
    no: float
    intercept: float


Map: TypeAlias = PiecewiseMap | Interpolated | LogOddsMap

SAME = PiecewiseMap(np.empty(0), np.ones(1), np.zeros(1), from_scores=False)
"""The score as it is."""


def described_map(binary: BinaryCalibrator | None, exact: bool) -> Map:
    """A fitted binary calibrator as a map; None is a stratum left alone.

    ``exact`` says that the scores come in as they are. Scores that were computed differ in their last digits from
    language to language; edges are then moved by as much, so that scores tied with an edge stay on its side.
    NotAnswerable where no map can be written.
    """
    score_map = SAME if binary is None else map_of(binary)
    if exact or not isinstance(score_map, PiecewiseMap) or not score_map.from_scores:
        return score_map
    return replace(score_map, edges=_roomy(score_map.edges))


@singledispatch
def map_of(binary: BinaryCalibrator) -> Map:
    """A fitted binary calibrator as a map; register a function here for one of your own."""
    entry = BINARY_CALIBRATORS.find(binary)
    name = type(binary).__name__ if entry is None else entry.title
    raise NotAnswerable(f"{name} has no export; save it as JSON, which calib_core.load_calibrator reads back")


@map_of.register
def _same(binary: BinaryIdentity) -> Map:
    return SAME


@map_of.register
def _histogram(binary: Histogram) -> Map:
    return _steps(binary.thresholds_, binary.values_)


@map_of.register
def _equal_width(binary: EqualWidthHistogram) -> Map:
    known = np.asarray(binary.counts_) > 0
    return PiecewiseMap(
        EqualWidth(binary.bins).fixed_edges(), np.where(known, 0.0, 1.0), np.where(known, binary.values_, 0.0), False
    )


@map_of.register
def _shifted(binary: LeceHistogram) -> Map:
    errors = _numbers(binary.errors_)
    placed = binary.binning.fixed_edges() is None
    return PiecewiseMap(_numbers(binary.edges_), np.ones(len(errors)), -errors, placed)


@map_of.register(BinaryKernel)
@map_of.register(Isotonic)
def _curve(binary: BinaryKernel | Isotonic) -> Map:
    return Interpolated(_numbers(binary.scores_), _numbers(binary.values_))


@map_of.register
def _venn_abers(binary: VennAbers) -> Map:
    return _steps(binary.steps, binary.values)


@map_of.register
def _platt(binary: Platt) -> Map:
    return LogOddsMap(float(binary.a_), float(binary.a_), float(binary.b_))


@map_of.register
def _beta(binary: Beta) -> Map:
    return LogOddsMap(float(binary.a_), float(binary.b_), float(binary.c_))


@map_of.register
def _temperature(binary: BinaryTemperature) -> Map:
    inverse = 1.0 / float(binary.temperature_)
    return LogOddsMap(inverse, inverse, 0.0)


@map_of.register
def _scaling_binning(binary: ScalingBinning) -> Map:
    # The bins' edges are values of the smooth map. Carried back to the scale of the score they need no logarithm,
    # whose last digit would decide on which side a calibration score falls.
    edges = _numbers(binary.thresholds_)
    return _steps(carried_back(edges, binary.map_.transform) if len(edges) else edges, binary.values_)


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


def _steps(edges: ArrayLike, values: ArrayLike) -> PiecewiseMap:
    offsets = _numbers(values)
    return PiecewiseMap(_numbers(edges), np.zeros(len(offsets)), offsets)


def _roomy(edges: Float64s) -> Float64s:
    """Less by what rounding in a softmax can make of a score: some 128 units in the last place of its log-odds.

    An edge a hair above another one, which ends the bin of that one score, is more by as much.
    """
    finite = np.where(np.isfinite(edges), edges, 0.0)
    rounding = np.finfo(np.float64).eps * finite * (2.0 + 128.0 * np.clip(1.0 - finite, 0.0, 1.0))
    ends_one_score = np.append(False, edges[1:] <= np.nextafter(edges[:-1], 2.0))[: len(edges)]
    return np.maximum.accumulate(np.where(ends_one_score, edges + rounding, edges - rounding))


def _numbers(values: ArrayLike) -> Float64s:
    return np.asarray(values, dtype=np.float64)
