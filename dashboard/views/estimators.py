"""Estimators view: every estimator of one model in one notion as a forest plot, with explanations."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

import streamlit as st

from calib_core import ESTIMATORS, REDUCTIONS, NotAnswerable
from calib_core.inference import in_full
from calib_core.reductions import notions_of
from calib_core.text import begun
from dashboard import session, widgets
from dashboard.chart import waiting
from dashboard.exhibits import EXHIBITS
from dashboard.exhibits.estimators import Estimators
from dashboard.navigation import view
from dashboard.session import Scene
from dashboard.theme import markdown_plain
from dashboard.views.exhibited import exhibited, progress
from dashboard.views.explained import estimator_dialog, notion_box

NAME = "estimators"
"""Name of the chart."""


@view("estimators", "Estimators", 10, room="evidence")
def render() -> None:
    """Draw the view for the current choices."""
    click = waiting(NAME)
    scene = in_its_notion(session.scene_of(widgets.selection()))
    with st.container(horizontal=True, vertical_alignment="center"):
        notions(scene)
        models(scene)
    widgets.refusals(scene.models.failed)
    exhibit: Estimators = widgets.selection().exhibit("estimators").build()
    _compute(scene, exhibit)
    exhibited(NAME, scene, title=None, controls=False, folded=True)
    with st.container(horizontal=True):
        _slow(scene, exhibit)
        notion_box(scene.notion)
        explain = st.button("What is this number?", key="estimators.about")
    if click is not None and click.record.get("estimator") in ESTIMATORS:
        estimator_dialog(str(click.record["estimator"]), _lines(scene, exhibit))
    elif explain:
        about = widgets.selection().about
        estimator_dialog(about if about in ESTIMATORS else next(iter(ESTIMATORS)), _lines(scene, exhibit))


def _compute(scene: Scene, exhibit: Estimators) -> None:
    """Compute the estimates under a progress bar, with a button that omits slow ones again."""
    cancel = st.empty()
    try:
        if exhibit.slow and not scene.knows(exhibit.table(scene)):
            cancel.button("Cancel", on_click=_choose, args=(False,), key="estimators.cancel")
        with progress(scene) as watched:
            watched.get(exhibit.table(watched))
    except NotAnswerable:
        pass  # the exhibit gives the reason
    cancel.empty()


def _choose(slow: bool) -> None:
    widgets.change_exhibit(EXHIBITS.described("estimators", slow=slow))


def in_its_notion(scene: Scene) -> Scene:
    """Return the scene in a notion available for the focused model: chosen, else the verdict's, else the first."""
    known = notions_of(scene.get(scene.model.predictions))
    return scene.focused(notion=scene.notion if scene.notion in known else known[0])


def notions(scene: Scene) -> None:
    """Draw the choice of distinct notions available for these predictions, including the chosen one."""
    rows = scene.get(scene.model.predictions)
    added = [notion for notion in notions_of(rows) if REDUCTIONS[notion].flags.adds_to(rows.n_classes)]
    known = tuple(notion for notion in notions_of(rows) if notion in added or notion == scene.notion)
    if len(known) > 1:
        st.segmented_control(
            "Notion",
            known,
            format_func=lambda key: REDUCTIONS[key].title,
            label_visibility="collapsed",
            width="content",
            wrap=True,
            **widgets.tied_to(known, "evidence.notion", scene.notion, lambda key: widgets.change(notion=key)),
        )


def models(scene: Scene) -> None:
    """Draw the choice of the focused model; none if there is only one model."""
    titles = list(scene.titles)
    if len(titles) > 1:
        st.segmented_control(
            "Model",
            titles,
            format_func=markdown_plain,
            label_visibility="collapsed",
            width="content",
            wrap=True,
            **widgets.tied_to(titles, "evidence.model", scene.model.title, lambda title: widgets.change(model=title)),
        )


def _slow(scene: Scene, exhibit: Estimators) -> None:
    """Draw the button that computes missing estimates, and the one that omits them again."""
    if exhibit.slow:
        st.button("Leave out slow intervals", on_click=_choose, args=(False,), key="estimators.quick")
        return
    try:
        missing = scene.get(exhibit.forest(scene)).missing
    except NotAnswerable:
        return
    if missing:
        text = f"Compute the {len(missing)} missing intervals" if len(missing) > 1 else "Compute the missing interval"
        st.button(
            text,
            on_click=_choose,
            args=(True,),
            help="Takes up to a minute for thousands of rows, longer with hundreds of classes. Any click stops it.",
            key="estimators.slow",
        )


def _lines(scene: Scene, exhibit: Estimators) -> dict[str, str]:
    """Return the result of every estimator for the focused model, in a sentence."""
    try:
        lines = scene.get(exhibit.forest(scene)).frame().to_dict("records")
    except NotAnswerable:
        return {}
    return {line["estimator"]: _sentence(scene.model.title, line) for line in lines}


def _sentence(title: str, line: Mapping[Hashable, Any]) -> str:
    word, known = line["verdict"], isinstance(line["verdict"], str)
    judged = f", {in_full(word)}" if known else ""
    raw = (
        f"the raw value, by the formula below, is {line['measured']} points; its noise floor is {line['noise']} points."
    )
    if line["interval"] == "not computed":
        return f"{title}: {raw}"
    return f"{title}: {line['points']} points ({line['interval']}), corrected for noise{judged}. {begun(raw)}"
