"""The estimators view: every estimator in the notion looked at, with what noise alone would show."""

from __future__ import annotations

import inspect

import streamlit as st

from calib_core import ESTIMATORS, REDUCTIONS
from calib_core.inference import coverage_table, rejection_table
from dashboard import session, widgets
from dashboard.exhibits.line_words import caption
from dashboard.navigation import view
from dashboard.selection import Selection
from dashboard.theme import markdown_plain
from dashboard.views.exhibited import exhibited


@view("estimators", "Estimators", 60)
def render() -> None:
    """Draw the view for the present choices."""
    selection = widgets.selection()
    scene = session.scene_of(selection)
    left, right = st.columns(2)
    widgets.model_box(left, scene.models.shown, scene.model, "estimators.model")
    right.selectbox(
        "Notion", tuple(REDUCTIONS), format_func=lambda key: REDUCTIONS[key].title, **widgets.bound("reduction")
    )
    widgets.refusals(scene.models.refused)
    exhibited("estimators", scene)
    exhibited("notions", scene)
    exhibited("unbinned", scene, folded=True)
    exhibited("tests", scene)
    exhibited("scores", scene)
    _coverage()
    _about(selection)
    exhibited("sweep", scene, folded=True)
    left, right = st.columns(2, gap="medium")
    with left:
        exhibited("validity", scene, folded=True)
    with right:
        exhibited("trade", scene, folded=True)


def _coverage() -> None:
    """How often the intervals shown hold the truth and the tests reject calibrated models, in simulations."""
    with st.expander("How often do these intervals hold? The simulated coverage of every case tried"):
        st.caption(caption(coverage_table))
        st.dataframe(coverage_table(), key="coverage", hide_index=True, width="stretch")
    with st.expander("How often is a calibrated model rejected? The simulated level of every case tried"):
        st.caption(caption(rejection_table))
        st.dataframe(rejection_table(), key="rejection", hide_index=True, width="stretch")


def _about(selection: Selection) -> None:
    """What an estimator computes, in its own words."""
    st.markdown("#### What is this number?")
    key = selection.about if selection.about in ESTIMATORS else next(iter(ESTIMATORS))
    st.selectbox(
        "Estimator",
        tuple(ESTIMATORS),
        format_func=lambda k: ESTIMATORS[k].title,
        **widgets.tied("estimators.about", key, lambda k: widgets.change(about=k)),
    )
    entry = ESTIMATORS[key]
    st.markdown(f"**{markdown_plain(entry.caption)}**")
    st.text((inspect.getdoc(entry.cls) or "").split("\n>>>")[0].replace("``", ""))
    if entry.reference:
        st.caption(markdown_plain(entry.reference))
    if ESTIMATORS[key].elsewhere:
        st.caption(markdown_plain(ESTIMATORS[key].elsewhere))
