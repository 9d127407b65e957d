"""Calibrators being fitted after a tick: which one, how far, and the button that stops it."""

from __future__ import annotations

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dashboard import session, widgets
from dashboard.selection import Selection
from dashboard.session import Model, fits
from dashboard.theme import markdown_plain

PATIENCE = 1.0
"""Seconds before anything is shown: what comes and goes at once would move what somebody is about to click."""
_LOOK = 0.25
_STOPPED = "calib.fitting.stopped"
_STEPS = {"fitted": "Fitting {}", "recalibrated": "Recalibrating the rows with {}"}


def await_models(selection: Selection) -> None:
    """Wait until the models ticked are made; what the page showed before stays until then."""
    if stopped := st.session_state.pop(_STOPPED, ""):
        st.caption(markdown_plain(f"Stopped: nothing of {stopped} is kept."))
    place = st.empty()
    for model in session.unmade(selection):
        if fits.wait(model, PATIENCE) is not None:
            _watched(model, place)


def _watched(model: Model, place: DeltaGenerator) -> None:
    with place.container(horizontal=True, vertical_alignment="center"):
        st.button("Stop", key=f"fitting.stop.{model.key}", on_click=_stop, args=(model,))
        words = st.empty()
    while (fit := fits.wait(model, _LOOK)) is not None:
        said = markdown_plain(doing(model.title, fit))
        # An empty bar would say that nothing is done, where nobody knows how much is.
        if fit.percent:
            words.progress(min(fit.percent, 100) / 100, text=said)
        else:
            words.caption(f":material/hourglass_top: {said}")
    place.empty()


def doing(title: str, fit: fits.Fit) -> str:
    """What is being done, for how long, and how much of it where that is known."""
    share = f", {min(fit.percent, 100)} % done" if fit.percent else ""
    return f"{_STEPS.get(fit.step, 'Preparing the rows for {}').format(title)}: {fit.seconds:.0f} s{share}"


def _stop(model: Model) -> None:
    fits.leave(model)
    old = widgets.selection().calibrators
    widgets.change(calibrators=tuple(recipe for recipe in old if recipe != model.recipe))
    st.session_state[_STOPPED] = model.title
