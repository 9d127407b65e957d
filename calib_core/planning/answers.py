"""Answers to plans, filled in from the data in use: one, or all of them as a table of sentences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from calib_core._base.errors import NotAnswerable
from calib_core._base.notebook_display import OneLine
from calib_core.binning.base import BinningScheme
from calib_core.defaults import TOLERANCE
from calib_core.planning.question import PLANS, Plan, RowsInUse
from calib_core.predictions.predictions import Predictions
from calib_core.registry.registry import Recipe


@dataclass(frozen=True, repr=False)
class PlanAnswer(OneLine):
    """What holds at the place planned, what it takes to reach what is wanted, and what both rest on.

    ``plan`` is the question with everything filled in. ``amount`` is the place along ``x_title``, ``bound`` what holds
    there; ``needed`` the least amount that reaches ``limit``, None where none does or nothing is wanted.
    """

    key: str
    title: str
    plan: Plan
    amount: float
    bound: float
    limit: float | None
    needed: float | None
    sentence: str
    inverse: str
    basis: str

    def _line(self) -> str:
        return self.sentence

    def frame(self) -> pd.DataFrame:
        """One line: the question, its answer and its numbers."""
        numbers = (self.amount, self.bound, self.limit, self.needed)
        return _frame([[self.key, self.title, self.sentence, self.inverse, self.basis, "", *numbers]])


_COLUMNS = ("key", "question", "answer", "inverse", "basis", "note", "amount", "bound", "limit", "needed")


def _frame(lines: list[list[object]]) -> pd.DataFrame:
    frame = pd.DataFrame(lines, columns=list(_COLUMNS))
    return frame.astype(dict.fromkeys(("amount", "bound", "limit", "needed"), float))


def answer(
    plan: str | Recipe | Plan,
    fit: Predictions | None = None,
    test: Predictions | None = None,
    bins: int | str | BinningScheme | None = None,
    tolerance: float = TOLERANCE,
) -> PlanAnswer:
    """What a plan promises, and how many rows it takes, filled in from the data where it leaves something open.

    ``fit`` are calibration rows, ``test`` the rows judged, in ``bins``; ``tolerance`` is the error that would not
    matter, where the plan does not say it. What can mislead: every sentence holds on what its ``basis`` says, which is
    a theorem for some plans and a rule of thumb for others. NotAnswerable where neither the plan nor the data say what
    it needs, or rows that belong together would be counted as independent.

    >>> answer(PLANS.make("histogram-binning", points=50, rows=5000)).bound.__round__(4)  # sqrt(log(2000) / 98)
    0.2785
    """
    member: Plan = PLANS.make(plan) if isinstance(plan, str) else plan.build() if isinstance(plan, Recipe) else plan
    whole = member.filled(RowsInUse(fit, test, bins, tolerance))
    entry = PLANS.find(member)
    assert entry is not None
    return PlanAnswer(
        entry.key,
        entry.title,
        whole,
        whole.amount,
        whole.bound,
        whole.limit,
        whole.needed(),
        whole.answer(),
        whole.inverse(),
        whole.basis,
    )


def answers(
    plans: Sequence[str | Recipe | Plan] | None = None,
    fit: Predictions | None = None,
    test: Predictions | None = None,
    bins: int | str | BinningScheme | None = None,
    tolerance: float = TOLERANCE,
) -> pd.DataFrame:
    """What is promised with the rows in use, and how many it takes, a question a line.

    A question that cannot be answered has its reason as a note. Parameters as in `answer`; ``plans`` None: all.

    >>> answers(["miscoverage"])["note"][0]
    'not known: correct rows held out; say a number, or give a file to take it from'
    """
    lines: list[list[object]] = []
    for plan in PLANS if plans is None else plans:
        recipe = PLANS.recipe(plan)
        try:
            lines += answer(recipe, fit, test, bins, tolerance).frame().to_numpy().tolist()
        except NotAnswerable as why:
            lines.append([recipe.key, PLANS[recipe.key].title, "", "", "", str(why), *[None] * 4])
    return _frame(lines)
