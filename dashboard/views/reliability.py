"""The reliability view: the diagram with its numbers, the bin that was clicked, and what stands behind both."""

from __future__ import annotations

import streamlit as st

from dashboard import session, widgets
from dashboard.exhibits import EXHIBITS
from dashboard.exhibits.stars import bin_of, stars
from dashboard.navigation import view
from dashboard.session import Scene
from dashboard.views import calibrators
from dashboard.views.exhibited import exhibited, follow

BESIDE = 3
"""Up to this many models the numbers stand beside the diagram, a column each; more get a line each below it."""
CLOSER = ("bins", "kernel-curve", "corp")
"""Exhibits of the model looked at, made when they are opened."""


@view("reliability", "Reliability", 20)
def render() -> None:
    """Draw the view for the present choices."""
    follow("reliability", [model.title for model in session.models(widgets.selection()).shown])
    scene = session.scene_of(widgets.selection())
    few = len(scene.models.shown) <= BESIDE
    left, right = st.columns([0.6, 0.4], gap="medium") if few else (st.container(), st.container())
    with left:
        exhibited("reliability", scene, title=None, folded=True)
        st.caption("Click a bin to take it apart.")
    with right:
        calibrators.counting(scene)
        exhibited("summary", scene, turned=few)
        widgets.refusals(scene.models.refused)
    _taken_apart(scene)
    for key in CLOSER:
        box = st.expander(EXHIBITS[key].title, key=f"closer.{key}", on_change="rerun")
        if box.open:
            with box:
                exhibited(key, scene, title=None)


def _taken_apart(scene: Scene) -> None:
    """A bin of the model looked at: class by class, then row by row."""
    st.markdown("#### One bin, taken apart")
    diagram, chosen = scene.get(stars(scene)), bin_of(scene)
    bins = diagram.frame()["bin"].tolist()
    first, second, _ = st.columns([0.3, 0.3, 0.4])
    widgets.model_box(first, scene.models.shown, scene.model, "zoom.model")
    second.selectbox(
        "Bin of the confidence",
        bins,
        format_func=diagram.label,
        placeholder="click a bin above, or choose one",
        **widgets.tied_to(bins, "zoom.bin", chosen, lambda b: widgets.change(zoom=b)),
    )
    if chosen is None:
        st.info("Click a star, a plus or a bar of the diagram: its classes and its rows appear here.")
        return
    exhibited("bin", scene, title=None)
    exhibited("bin-rows", scene, title=None)
