"""The curve of a plan, and attained against target rates of Meta-Cal (P4 Fig. 1 and 2)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from calib_core._base.arrays import Codes, Float64s
from calib_core._base.diagram import Diagram
from calib_core._base.errors import InputError, NotAnswerable
from calib_core._base.sklearn_api import clone
from calib_core.binning.base import BinningScheme
from calib_core.calibrators.base import Calibrator, as_calibrator
from calib_core.defaults import RATIO, SEED, TOLERANCE
from calib_core.planning.question import Plan, PlanAnswer, answer
from calib_core.predictions.predictions import Predictions
from calib_core.registry.registry import Recipe

PLANNED, WANTED, NEEDED = "planned", "wanted", "needed"
"""Names of the marks next to the curves."""


@dataclass(frozen=True, eq=False, repr=False)
class PlanCurve(Diagram):
    """The ``answer``, and around it bounds (curves, m) by the ``names`` of their curves, over ``amounts`` (m,)."""

    answer: PlanAnswer
    names: tuple[str, ...]
    amounts: Float64s
    bounds: Float64s

    def frame(self) -> pd.DataFrame:
        """One line per point of a curve, and the marks: exactly the numbers drawn."""
        lines = [
            pd.DataFrame({"curve": name, "amount": self.amounts, "bound": bounds})
            for name, bounds in zip(self.names, self.bounds, strict=True)
        ]
        found, (first, last) = self.answer, (self.amounts[0], self.amounts[-1])
        marks: list[tuple[str, float, float]] = [(PLANNED, found.amount, found.bound)]
        if found.limit is not None:
            marks += [(WANTED, first, found.limit), (WANTED, last, found.limit)]
            marks += [] if found.needed is None else [(NEEDED, found.needed, found.limit)]
        lines.append(pd.DataFrame(marks, columns=["curve", "amount", "bound"]))
        return pd.concat(lines).dropna().reset_index(drop=True)

    def _line(self) -> str:
        return self.answer.sentence


def plan_curve(
    plan: str | Recipe | Plan,
    fit: Predictions | None = None,
    test: Predictions | None = None,
    bins: int | str | BinningScheme | None = None,
    tolerance: float = TOLERANCE,
    ratio: float = RATIO,
) -> PlanCurve:
    """Guarantee of a plan by sample size, with marks for the planned and the needed size.

    Parameters, errors and what can mislead as in ``planning.answer``.

    >>> from calib_core.planning import PLANS
    >>> curve = plan_curve(PLANS.make("miscoverage", rows=40))
    >>> curve.frame().query("curve == 'needed'")["amount"].tolist()  # .95 ** 59 <= .05
    [59.0]
    """
    found = answer(plan, fit, test, bins, tolerance, ratio)
    amounts = found.plan.grid()
    curves = found.plan.curves(amounts)
    return PlanCurve(found, tuple(curves), amounts, np.array(list(curves.values())))


REPEATS = 40
"""Splits over which a calibrator that controls a rate is tried."""


@dataclass(frozen=True, eq=False, repr=False)
class ConstraintDiagram(Diagram):
    """Attained rate for each wanted rate, over repeated splits; arrays are (targets,), NaN where every split refused.

    ``rate`` is "miscoverage" or "accuracy". ``attained`` is the mean over splits and ``deviation`` their standard
    deviation; bars extend two of them to either side, as in P4. ``coverage`` is the mean share of rows answered.
    ``kept`` is the share of splits that met the rate (miscoverage at most, accuracy at least the wanted one).
    ``refused`` is the number of splits, out of ``repeats``, with too few calibration rows for it.
    """

    rate: str
    wanted: Float64s
    attained: Float64s
    deviation: Float64s
    coverage: Float64s
    kept: Float64s
    refused: Codes
    repeats: int

    @property
    def lower(self) -> Float64s:
        """Two standard deviations below the mean."""
        return self.attained - 2.0 * self.deviation

    @property
    def upper(self) -> Float64s:
        """Two standard deviations above the mean."""
        return self.attained + 2.0 * self.deviation

    def frame(self) -> pd.DataFrame:
        """One line per wanted rate, exactly the numbers drawn."""
        columns = {
            "wanted": self.wanted,
            "attained": self.attained,
            "deviation": self.deviation,
            "lower": self.lower,
            "upper": self.upper,
            "coverage": self.coverage,
            "kept": self.kept,
            "refused": self.refused,
        }
        return pd.DataFrame(columns)


def wanted_rates(predictions: Predictions, calibrator: str | Recipe | Calibrator) -> tuple[float, ...]:
    """The rates at which a calibrator that controls one is tried, ascending.

    Miscoverage: the same few for all data. Accuracy: from the accuracy a of all rows, a fifth to nine tenths of the way
    to 1, a + s (1 - a). Answering every row already attains a.

    >>> p = Predictions([[0.9, 0.1], [0.6, 0.4]], [0, 1])
    >>> wanted_rates(p, "metacal-accuracy"), wanted_rates(p, "metacal-miscoverage")
    ((0.6, 0.7, 0.8, 0.9, 0.95), (0.01, 0.02, 0.05, 0.1, 0.2))
    """
    if as_calibrator(calibrator).wanted != "accuracy":
        return (0.01, 0.02, 0.05, 0.1, 0.2)
    floor = predictions.accuracy
    return tuple(floor + (1 - floor) * step for step in (0.2, 0.4, 0.6, 0.8, 0.9))


def constraint(
    predictions: Predictions,
    calibrator: str | Recipe | Calibrator = "metacal-miscoverage",
    targets: Sequence[float] | None = None,
    repeats: int = REPEATS,
    share: float = 0.5,
    random_state: int = SEED,
    progress: Callable[[int], object] | None = None,
) -> ConstraintDiagram:
    """Fits the calibrator on ``share`` of the rows for every wanted rate, ``repeats`` times, and looks at the others.

    Each repeat has a split and held-out rows of its own, seeded; all targets (``wanted_rates`` where none are given)
    share them. What can mislead: the splits overlap, so the bars show how one data set behaves and are narrower than
    for new data. Half the splits missing the rate is what the paper's rule guarantees.

    References: P4 §5.2, Fig. 1 and 2.

    >>> p = Predictions([[0.9, 0.1], [0.6, 0.4]] * 200, [0, 0, 0, 1] * 100)
    >>> constraint(p, "metacal-accuracy", [0.99], repeats=2).frame()[["wanted", "attained", "kept"]].values.tolist()
    [[0.99, 1.0, 1.0]]
    """
    method = as_calibrator(calibrator)
    if not method.wanted:
        raise InputError(f"{type(method).__name__} controls no rate; use a Meta-Cal calibrator")
    targets = wanted_rates(predictions, method) if targets is None else targets
    if repeats < 1 or not len(targets):
        raise InputError(f"{repeats} repeats of {len(targets)} targets; at least one of each is needed")
    runs = np.full((repeats, len(targets), 2), np.nan)
    for r in range(repeats):
        if progress is not None:
            progress(100 * r // repeats)
        fit, test = predictions.split(share, random_state=random_state + r)
        for t, target in enumerate(targets):
            runs[r, t] = _run(method, fit, test, float(target), random_state + r)
    return _summary(method.wanted, np.asarray(targets, dtype=np.float64), runs)


def _run(method: Calibrator, fit: Predictions, test: Predictions, target: float, seed: int) -> tuple[float, float]:
    """Attained rate and coverage of one split; NaN when the calibrator refuses the rows."""
    fresh: Any = clone(method).set_params(**{method.wanted: target, "random_state": seed})
    try:
        calibrated = fresh.fit_on(fit).apply(test)
    except NotAnswerable:
        return float("nan"), float("nan")
    return fresh.attained(test, calibrated), calibrated.coverage


def _summary(rate: str, wanted: Float64s, runs: Float64s) -> ConstraintDiagram:
    attained, known = runs[:, :, 0], ~np.isnan(runs[:, :, 0])
    count = known.sum(axis=0)
    kept = attained <= wanted if rate == "miscoverage" else attained >= wanted
    with np.errstate(invalid="ignore"):  # 0 of 0 splits: not a number
        mean = np.where(known, attained, 0.0).sum(axis=0) / count
        variance = np.where(known, np.square(attained - mean), 0.0).sum(axis=0) / (count - 1)
        coverage = np.where(known, runs[:, :, 1], 0.0).sum(axis=0) / count
        share = (kept & known).sum(axis=0) / count
    deviation = np.where(count > 1, np.sqrt(np.maximum(variance, 0.0)), np.nan)
    return ConstraintDiagram(rate, wanted, mean, deviation, coverage, share, len(runs) - count, len(runs))
