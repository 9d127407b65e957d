"""Reliability view: the diagram, details of the focused place, and the numbers of all models."""

from __future__ import annotations

import streamlit as st

from dashboard import session, widgets
from dashboard.navigation import VIEWS, view
from dashboard.views import calibrators, pane
from dashboard.views.exhibited import exhibited, follow
from dashboard.views.workspace import workspace

BESIDE = 3
"""Number of models up to which the numbers get one column each; more get one line each."""


@view("reliability", "Reliability", 20, room="explore")
def render() -> None:
    """Draw the view for the current choices."""
    titles = [model.title for model in session.models(widgets.selection()).shown]
    for picture in ("reliability", pane.CLASSES, pane.MODELS):
        follow(picture, titles)
    scene = session.scene_of(widgets.selection())
    with workspace(scene):
        exhibited("reliability", scene, title=None, folded=True, tucked=True)
    widgets.refusals(scene.models.failed)
    with st.expander("Before and after, in numbers", key="reliability.numbers", on_change="rerun") as box:
        if box.open:
            calibrators.counting(scene)
            exhibited("summary", scene, title=None, turned=len(scene.models.shown) <= BESIDE)
    if "curves" in VIEWS:
        st.button(
            "Bin-free curves and consistency bands",
            on_click=lambda: widgets.change(view="curves"),
            key="reliability.curves",
            icon=":material/arrow_forward:",
            type="tertiary",
        )
