"""Planner: required sample sizes and guarantees; sliders and clicks move the mark on the curve."""

from __future__ import annotations

from typing import Any

import numpy as np
import streamlit as st

from calib_core import NotAnswerable, Recipe
from calib_core.defaults import RATIO, TOLERANCE
from calib_core.planning import PLANS
from calib_core.registry.registry import Param, Range
from calib_core.text import begun, inside, short_percent
from dashboard import session, widgets
from dashboard.chart import waiting
from dashboard.exhibits import EXHIBITS
from dashboard.exhibits.plan_answers import FIRST, PlanShown
from dashboard.navigation import view
from dashboard.selection import Selection
from dashboard.session import Scene
from dashboard.theme import markdown_plain
from dashboard.views.exhibited import exhibited
from dashboard.views.workspace import controls_beside

WITHOUT_DATA = {
    "error": TOLERANCE,
    "rows": 1000,
    "classes": 10,
    "accuracy": 0.9,
    "rarest": 0.05,
    "tied": 0.0,
    "ratio": RATIO,
    "event_rate": 0.1,
    "auroc": 0.75,
}
"""Initial values of a plan without data."""
_LEAD = "How many rows do you need, and what do the rows in use guarantee?"
_STEPS = (1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0)
_MOST_ROWS = 1_000_000


@view("planner", "Planner", 45, room="evidence", needs_data=False)
def render() -> None:
    """Draw the view for the current choices."""
    _follow()
    scene = session.scene_of(widgets.selection())
    chosen = _chosen()
    whole, shown, usual = _filled(chosen, scene)
    st.caption(markdown_plain(f"{_LEAD} Drag the mark along its curve, or a slider; or click in the picture."))
    left, right = controls_beside("planner")
    with left:
        _question(chosen)
        if usual:
            st.caption(markdown_plain(usual))
        idle = chosen.build().idle
        for param in (param for param in PLANS[chosen.key].params if param.name not in idle):
            _control(param, chosen, whole[param.name])
        if any(param.default is None and param.name in dict(chosen.params) for param in PLANS[chosen.key].params):
            st.button(
                "Use the numbers of the loaded data", key="planner.data", on_click=lambda: _put(_unfilled(chosen))
            )
    with right:
        exhibited("plan", scene, title=None, controls=False, folded=True, limits={"plan": shown})
    exhibited("plans", scene, linked=lambda line: _asking(Recipe("PLANS", line.key)))
    if scene.models.shown:
        exhibited("bin-balance", scene)


def _chosen() -> Recipe:
    """Return the question and its chosen numbers."""
    chosen = dict(widgets.selection().exhibit("plan").params).get("plan", Recipe("PLANS", FIRST))
    assert isinstance(chosen, Recipe)
    return chosen


def _asking(plan: Recipe) -> Selection:
    """Return the page with this question."""
    return widgets.selection().with_exhibit(EXHIBITS.described("plan", plan=plan))


def _put(plan: Recipe) -> None:
    widgets.choose(_asking(plan))


def _with(plan: Recipe, name: str, value: Any) -> Recipe:
    return PLANS.described(plan.key, **{**dict(plan.params), name: value})


def _unfilled(plan: Recipe) -> Recipe:
    """Return the same question with every value that data can provide left open."""
    return plan.without(*(param.name for param in PLANS[plan.key].params if param.default is None))


def _filled(chosen: Recipe, scene: Scene) -> tuple[dict[str, Any], Recipe, str]:
    """Return every number of the question, and the question answered, with default values where data give none.

    Third, a sentence that lists the default values as opposed to those of the current data; empty if there are none.
    """
    try:
        plan = scene.get(PlanShown(chosen.build()).found(scene)).answer.plan
        return {param.name: getattr(plan, param.name) for param in PLANS[chosen.key].params}, chosen, ""
    except NotAnswerable as why:
        values = {param.name: param.default for param in PLANS[chosen.key].params} | dict(chosen.params)
        usual = {name: WITHOUT_DATA[name] for name, value in values.items() if value is None and name in WITHOUT_DATA}
        labels = [inside(PLANS[chosen.key].param(name).label) for name in usual if name != "error"]
        sentence = f"Typical numbers, not those of the loaded data: {', '.join(labels)}. {begun(str(why))}."
        whole = PLANS.described(chosen.key, **{**dict(chosen.params), **usual})
        return values | usual, whole, sentence if labels and scene.models.shown else ""


def _question(chosen: Recipe) -> None:
    keys = list(PLANS)
    tied = widgets.tied_to(keys, "planner.question", chosen.key, lambda key: _put(Recipe("PLANS", key)))
    st.selectbox("Question", keys, format_func=lambda key: PLANS[key].title, **tied)
    st.caption(markdown_plain(PLANS[chosen.key].caption))


def _control(param: Param, chosen: Recipe, value: Any) -> None:
    """Draw a slider for every number, with even steps or even ratios; nothing for an unknown number."""
    key, domain = f"planner.{chosen.key}.{param.name}", param.domain
    if not isinstance(domain, Range):
        widgets.recipe_controls(chosen, key=key, changed=_put, only=[param.name])
        return
    if value is None:
        return
    text = f"{begun(param.help)}."
    look: dict[str, Any] = {"label": param.label, "help": markdown_plain(text)}

    def put(new: Any) -> None:
        _put(_with(chosen, param.name, new))

    if domain.log:
        options = _ratios(domain, param.integer, value)
        plain = param.integer or param.name in PLANS[chosen.key].cls.scores  # type: ignore[union-attr]
        written = "{:,}".format if plain else short_percent
        st.select_slider(**look, options=options, format_func=written, **widgets.tied(key, value, put))
    elif param.integer:
        ends: dict[str, Any] = {"min_value": int(domain.low), "max_value": int(domain.high)}
        st.slider(**look, **ends, **widgets.tied(key, int(value), put))
    elif domain.low >= 1:
        ratios: dict[str, Any] = {"min_value": float(domain.low), "max_value": float(domain.high), "step": 0.01}
        st.slider(**look, **ratios, **widgets.tied(key, float(value), lambda new: put(round(new, 6))))
    else:
        shares = widgets.tied(key, 100.0 * value, lambda new: put(round(new / 100.0, 6)))
        st.slider(
            **look, min_value=100.0 * domain.low, max_value=100.0 * domain.high, step=0.1, format="%.4g %%", **shares
        )


def _ratios(domain: Range, integer: bool, value: float) -> list[Any]:
    """Return ten numbers per factor of ten, and the value itself."""
    most = max(min(domain.high, _MOST_ROWS), value)
    decades = range(int(np.floor(np.log10(domain.low))), int(np.ceil(np.log10(most))) + 1)
    every = [round(step * 10.0**decade, 9) for decade in decades for step in _STEPS]
    kept = {int(number) if integer else number for number in every if domain.low <= number <= most}
    return sorted(kept | {value})


def _follow() -> None:
    """Move the mark to the clicked place along the curve, above it, on it or below."""
    click, chosen = waiting("plan"), _chosen()
    amount = None if click is None else click.record.get("amount")
    param = PLANS[chosen.key].param(PLANS[chosen.key].cls.along)  # type: ignore[union-attr]
    if isinstance(amount, int | float) and isinstance(param.domain, Range):
        place = param.domain.nearest(round(amount) if param.integer else float(amount))
        _put(_with(chosen, param.name, place))
