"""Parameters of a fitted calibrator by name, as images, and the map of a binary calibrator."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from calib_core._base.arrays import Float64s
from calib_core._base.diagram import Diagram
from calib_core._base.errors import NotAnswerable
from calib_core.calibrators.base import CALIBRATORS, Calibrator
from calib_core.calibrators.insides import MemberCurves, Number
from calib_core.calibrators.insides import NumberGrid as NumberGrid
from calib_core.calibrators.reduced import Reduced
from calib_core.predictions.event_names import titles_of_classes
from calib_core.predictions.predictions import Predictions
from calib_core.reductions.base import claims_of

__all__ = ["FittedParameters", "Number", "NumberGrid", "fitted_parameters"]


@dataclass(frozen=True, eq=False, repr=False)
class FittedParameters(Diagram):
    """The numbers of one fit: in few words (``short``), in a sentence, one by one, and as grids that can be drawn.

    A blend for two classes has the ``curves`` of its members.
    """

    title: str
    short: str
    sentence: str
    numbers: tuple[Number, ...]
    grids: tuple[NumberGrid, ...]
    curves: MemberCurves | None = None

    def frame(self) -> pd.DataFrame:
        """One line per number: what it is, its value, of which class or group, and where it applies."""
        lines = [(number.name, number.value, number.of, number.place) for number in self.numbers]
        return pd.DataFrame(lines, columns=["parameter", "value", "of", "place"]).astype({"value": float})


def fitted_parameters(calibrator: Calibrator, like: Predictions | None = None) -> FittedParameters:
    """Fitted parameters of a calibrator by name; its weights, or the losses of its selection, as grids.

    ``like`` lends the names of the classes. NotAnswerable where the calibrator shows no parameters. What can mislead:
    one number of many means little by itself, and two fits with different numbers can be nearly the same map.

    >>> rows = Predictions([[0.9, 0.1]] * 10, [0] * 8 + [1] * 2)
    >>> fitted = fitted_parameters(CALIBRATORS.make("temperature").fit_on(rows))
    >>> fitted.short, fitted.frame()["parameter"].tolist()
    ('T = 1.58', ['temperature T'])
    """
    inside = calibrator.insides(() if like is None else titles_of_classes(like))
    title = CALIBRATORS[CALIBRATORS.recipe(calibrator).key].title
    if not inside.short:
        raise NotAnswerable(f"{title} does not report its fitted parameters")
    return FittedParameters(title, inside.short, inside.sentence, tuple(inside.numbers()), inside.grids, inside.curves)


GRID = 501
CELLS = 50


@dataclass(frozen=True, eq=False, repr=False)
class BinaryMap(Diagram):
    """Map of a fitted stratum: ``output`` (m,) at ``score`` (m,), and the distribution of the data.

    ``density`` (c,) is the share of the stratum's rows in each of c equally wide cells of [0, 1]. The origin of the map
    is ``own``: the stratum's own, a pooled one ("pooled") or none, which keeps its scores ("none"). ``lower`` and
    ``upper`` (m,) are the ends of the probability interval of each score, where the map returns one.
    """

    stratum: str
    own: str
    score: Float64s
    output: Float64s
    density: Float64s
    rows: int
    lower: Float64s | None = None
    upper: Float64s | None = None

    def frame(self) -> pd.DataFrame:
        """One line per grid point, exactly the numbers drawn."""
        ends = {} if self.lower is None else {"lower": self.lower, "upper": self.upper}
        return pd.DataFrame({"score": self.score, "output": self.output, **ends})


def binary_map(calibrator: Reduced, predictions: Predictions, stratum: int = 0) -> BinaryMap:
    """The map a fitted multiclass-to-binary calibrator applies in one stratum, and the scores it meets there.

    What can mislead: where the density is 0 the map is extrapolation, however confidently it is drawn.

    >>> from calib_core import Predictions
    >>> from calib_core.calibrators import Histogram
    >>> from calib_core.reductions import Confidence
    >>> p = Predictions([[0.9, 0.1], [0.8, 0.2]], [0, 1])
    >>> cal = Reduced(Confidence(), Histogram(bins=1, delta=0)).fit_on(p)
    >>> binary_map(cal, p).output[0]
    np.float64(0.5)
    """
    name, fitted = calibrator.strata_[stratum], calibrator.maps_[stratum]
    scores = claims_of(predictions, calibrator.reduction).stratum(stratum).scores.astype(np.float64)
    grid = np.linspace(0.0, 1.0, GRID)
    # Steps are drawn where they are: the thresholds themselves, and a hair below them.
    steps = np.empty(0) if fitted is None else fitted.steps
    if len(steps) > GRID:
        steps = steps[:0]  # more than the grid has points: no picture tells them apart
    grid = np.unique(np.clip(np.concatenate([grid, steps, np.nextafter(steps, -1)]), 0, 1))
    output = grid if fitted is None else fitted.transform(grid)
    own = "none" if fitted is None else "pooled" if name in calibrator.pooled_ else "own"
    counts = np.histogram(scores, bins=CELLS, range=(0.0, 1.0))[0]
    ends = None if fitted is None else fitted.interval(grid)
    return BinaryMap(name, own, grid, output, counts / max(len(scores), 1), len(scores), *(ends or ()))
