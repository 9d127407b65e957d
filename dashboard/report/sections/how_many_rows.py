"""Required sample sizes: the planner's question with its curve, then one line per question."""

from __future__ import annotations

from collections.abc import Iterator

from calib_core import Recipe
from calib_core.planning import PLANS
from dashboard.exhibits.plan_answers import PlanShown
from dashboard.report import exhibited
from dashboard.report.document import Block
from dashboard.report.exhibited import folded, shown
from dashboard.report.request import Request


def blocks(request: Request) -> Iterator[Block | None]:
    """Yield the answers for the current rows, by the numbers chosen in the planner."""
    recipe = request.selection.exhibit("plan")
    question: PlanShown = recipe.build()
    plan = yield from shown(recipe, request.scene)
    yield from folded(plan, title=PLANS.recipe(question.plan).title)
    yield from exhibited.blocks(Recipe("EXHIBITS", "plans"), request.scene)
    balance = yield from shown(Recipe("EXHIBITS", "bin-balance"), request.scene)
    yield from exhibited.finding(balance)
