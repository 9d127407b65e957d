"""The curve of a plan: what is promised against the number of rows, the place planned and the one that is needed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from calib_core._base.arrays import Float64s
from calib_core.binning.base import BinningScheme
from calib_core.defaults import TOLERANCE
from calib_core.diagrams.base import Diagram
from calib_core.planning.answers import PlanAnswer, answer
from calib_core.planning.question import Plan
from calib_core.predictions.predictions import Predictions
from calib_core.registry.registry import Recipe

PLANNED, WANTED, NEEDED = "planned", "wanted", "needed"
"""What the marks beside the curves are called."""


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
) -> PlanCurve:
    """What a plan promises for few and many rows, with the place planned and the one needed marked.

    Parameters, errors and what can mislead as in ``planning.answer``.

    >>> from calib_core.planning import PLANS
    >>> curve = plan_curve(PLANS.make("miscoverage", rows=40))
    >>> curve.frame().query("curve == 'needed'")["amount"].tolist()  # .95 ** 59 <= .05
    [59.0]
    """
    found = answer(plan, fit, test, bins, tolerance)
    amounts = found.plan.grid()
    curves = found.plan.curves(amounts)
    return PlanCurve(found, tuple(curves), amounts, np.array(list(curves.values())))
