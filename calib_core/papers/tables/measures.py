"""What the cells of a table of methods can hold: errors, scores, fitted numbers, rates kept, seconds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from calib_core.binning.base import BINNINGS
from calib_core.calibrators.base import Calibrator
from calib_core.estimators.base import estimate
from calib_core.evaluation.study import every_measure
from calib_core.inference.verdicts.estimate_line import unit_of
from calib_core.predictions.predictions import InputError, NotAnswerable, Predictions
from calib_core.registry.registry import Recipe
from calib_core.text import Unit


@dataclass(frozen=True, eq=False)
class MethodTrial:
    """One method on one split: fitted, the test rows before and after, those its table is over, and the seconds."""

    calibrator: Calibrator
    before: Predictions
    after: Predictions
    counted: Predictions
    seconds: float


@dataclass(frozen=True)
class TableMeasure:
    """One number a cell can hold: its name, how it is read, and whether more is better (None: neither is).

    ``estimator``, ``reduction`` and ``bins`` as for ``estimate``; without an estimator ``special`` says what it is and
    ``part`` of what: "seconds", "coverage", "attained" (the rate of that name), "fitted" (the number of that name).
    """

    name: str
    unit: Unit = "share"
    higher_is_better: bool | None = False
    estimator: str = ""
    reduction: str | None = None
    bins: Recipe | None = None
    special: str = ""
    part: str = ""

    def value(self, trial: MethodTrial) -> float:
        """The number of one trial; NotAnswerable where it has none."""
        if self.estimator:
            bins = None if self.bins is None else self.bins.build()
            return float(estimate(trial.counted, self.reduction, self.estimator, bins).value)
        return float(_SPECIAL[self.special](trial, self.part))


def _attained(trial: MethodTrial, rate: str) -> float:
    method: Any = trial.calibrator
    if method.wanted != rate:
        raise NotAnswerable("this method keeps no such rate")
    return float(method.attained(trial.before, trial.after))


def _fitted(trial: MethodTrial, name: str) -> float:
    found = [number.value for number in trial.calibrator.insides().numbers() if number.name == name]
    if not found:
        raise NotAnswerable(f"this method fits no {name}")
    return found[-1]


_SPECIAL: dict[str, Callable[[MethodTrial, str], float]] = {
    "seconds": lambda trial, _: trial.seconds,
    "coverage": lambda trial, _: trial.after.coverage,
    "attained": _attained,
    "fitted": _fitted,
}

_EQUAL_MASS = BINNINGS.described("equal-mass", bins=15)

TABLE_MEASURES = {
    measure.name: measure
    for measure in (
        *(TableMeasure(m.name, unit_of(m.estimator), m.higher_is_better, m.estimator, m.reduction)
          for m in every_measure()),
        TableMeasure("conf-ECE, equal mass", estimator="ece", reduction="confidence", bins=_EQUAL_MASS),
        TableMeasure("CW-ECE, equal mass", estimator="ece", reduction="class-wise", bins=_EQUAL_MASS),
        TableMeasure("Coverage", higher_is_better=None, special="coverage"),
        TableMeasure("Miscoverage", higher_is_better=None, special="attained", part="miscoverage"),
        TableMeasure("Coverage accuracy", higher_is_better=None, special="attained", part="accuracy"),
        TableMeasure("Neighbours, share of rows", higher_is_better=None, special="fitted",
                     part="share of the calibration rows q"),
        TableMeasure("Threshold", "score", None, special="fitted", part="threshold t"),
        TableMeasure("Seconds", "score", special="seconds"),
    )
}  # fmt: skip
"""Measures by name: every error and score of ``study.every_measure``, and what the papers' tables hold besides."""


def as_measure(measure: str | TableMeasure) -> TableMeasure:
    """A measure as it is, or by its name whatever the case; InputError names those there are.

    >>> as_measure("tl-ece").reduction
    'top-label'
    """
    if isinstance(measure, TableMeasure):
        return measure
    by_name = {name.lower(): known for name, known in TABLE_MEASURES.items()}
    if measure.lower() not in by_name:
        raise InputError(f"there is no measure {measure[:80]!r}; those there are: {'; '.join(TABLE_MEASURES)}")
    return by_name[measure.lower()]
