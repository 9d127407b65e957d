"""What a fitted calibrator consists of: its numbers by name, and those with rows and columns as a picture."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from calib_core.calibrators.base import CALIBRATORS, Calibrator
from calib_core.calibrators.insides import Number
from calib_core.calibrators.insides import NumberGrid as NumberGrid
from calib_core.diagrams.base import Diagram
from calib_core.predictions.event_names import titles_of_classes
from calib_core.predictions.predictions import NotAnswerable, Predictions

__all__ = ["FittedParameters", "Number", "NumberGrid", "fitted_parameters"]


@dataclass(frozen=True, eq=False, repr=False)
class FittedParameters(Diagram):
    """The numbers of one fit: in few words (``short``), in a sentence, one by one, and as grids that can be drawn."""

    title: str
    short: str
    sentence: str
    numbers: tuple[Number, ...]
    grids: tuple[NumberGrid, ...]

    def frame(self) -> pd.DataFrame:
        """One line per number: what it is, its value, of which class or group, and where it applies."""
        lines = [(number.name, number.value, number.of, number.place) for number in self.numbers]
        return pd.DataFrame(lines, columns=["parameter", "value", "of", "place"]).astype({"value": float})


def fitted_parameters(calibrator: Calibrator, like: Predictions | None = None) -> FittedParameters:
    """The numbers that a calibrator has learnt, by name; its weights, or the losses it chose by, as grids.

    ``like`` lends the names of the classes. NotAnswerable where the calibrator says nothing of its insides. What can
    mislead: one number of many means little by itself, and two fits with different numbers can be nearly the same map.

    >>> rows = Predictions([[0.9, 0.1]] * 10, [0] * 8 + [1] * 2)
    >>> fitted = fitted_parameters(CALIBRATORS.make("temperature").fit_on(rows))
    >>> fitted.short, fitted.frame()["parameter"].tolist()
    ('T = 1.58', ['temperature T'])
    """
    inside = calibrator.insides(() if like is None else titles_of_classes(like))
    title = CALIBRATORS[CALIBRATORS.recipe(calibrator).key].title
    if not inside.short:
        raise NotAnswerable(f"{title} does not say what it has fitted")
    return FittedParameters(title, inside.short, inside.sentence, tuple(inside.numbers()), inside.grids)
