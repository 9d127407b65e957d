"""Curves view: one curve at a time, with its controls next to the picture that they change."""

from __future__ import annotations

import streamlit as st

from dashboard import session, widgets
from dashboard.exhibits import EXHIBITS, Exhibit
from dashboard.navigation import view
from dashboard.views.estimators import in_its_notion, models, notions
from dashboard.views.exhibited import exhibited
from dashboard.views.explained import works
from dashboard.views.on_request import on_request
from dashboard.views.workspace import controls_beside

CURVES = {
    "kernel-curve": "Kernel",
    "corp": "Isotonic",
    "bins": "Bins with bands",
    "sweep": "Number of bins",
    "validity": "Validity",
    "trade": "Trade-off",
}
"""Exhibits and the labels of their buttons."""
OF_ONE_MODEL, IN_ONE_NOTION = ("kernel-curve", "corp", "bins"), ("validity",)
"""Curves of the focused model, and of the focused notion; the others show all models in fixed notions."""


@view("curves", "Curves", 30, room="evidence")
def render() -> None:
    """Draw the view for the current choices."""
    about = widgets.selection().about
    key = about if about in CURVES else next(iter(CURVES))
    scene = in_its_notion(session.scene_of(widgets.selection()))
    st.segmented_control(
        "Curve",
        tuple(CURVES),
        format_func=CURVES.__getitem__,
        label_visibility="collapsed",
        **widgets.tied_to(CURVES, "curves.which", key, lambda chosen: widgets.change(about=chosen)),
    )
    widgets.refusals(scene.models.failed)
    exhibit: Exhibit = EXHIBITS.make(key, **dict(widgets.selection().exhibit(key).params))
    if scene.undivided and exhibit.reads == "rows":
        exhibited(key, scene, title=None, controls=False)  # controls could not change its refusal
        return
    left, right = controls_beside("curves")
    with left:
        st.markdown(f"#### {EXHIBITS[key].title}")
        if key in OF_ONE_MODEL:
            models(scene)
        if key in IN_ONE_NOTION:
            notions(scene)
        recipe = widgets.selection().exhibit(key)
        names, changed = scene.class_names, widgets.change_exhibit
        widgets.recipe_controls(recipe, key=f"exhibit.{key}", changed=changed, class_names=names)
        _formula(key)
    with right:
        on_request(key, scene, title=None, controls=False, folded=True)


def _formula(key: str) -> None:
    cls = EXHIBITS[key].cls
    with st.popover("What is this curve?", key=f"meaning.{key}"):
        st.markdown(f"**{EXHIBITS[key].caption}**")
        if cls is not None and cls.formula:
            st.latex(cls.formula)
        works(EXHIBITS[key].reference)
