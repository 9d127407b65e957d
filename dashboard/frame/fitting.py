"""Progress of calibrators fitted after a tick, and the recommended one ticked by default once it is known.

The first screen does not wait for the recommendation. A choice by the user, by a link or by a stop of the tour is not
changed.
"""

from __future__ import annotations

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from calib_core import InputError
from calib_core.evaluation.choice import CalibratorChoice
from dashboard import session, widgets
from dashboard.exhibits.recommendation import Recommendation
from dashboard.selection import Selection
from dashboard.session import Model, fits_under_way
from dashboard.theme import markdown_plain
from dashboard.workers.durations import about_seconds

PATIENCE = 1.0
"""Seconds before progress is shown: a short-lived bar would move what the user is about to click."""
_LOOK = 0.25
_STOPPED = "calib.fitting.stopped"
_STEPS = {"fitted": "Fitting {}", "recalibrated": "Recalibrating the rows with {}"}


def await_models(selection: Selection) -> None:
    """Wait until the ticked models are fitted; until then the page shows its previous content."""
    if stopped := st.session_state.pop(_STOPPED, ""):
        st.caption(markdown_plain(f"Stopped; no result of {stopped} was saved."))
    place = st.empty()
    for model in session.unmade(selection):
        if fits_under_way.wait(model, PATIENCE) is not None:
            _watched(model, place)


def _watched(model: Model, place: DeltaGenerator) -> None:
    with place.container(horizontal=True, vertical_alignment="center"):
        st.button("Stop", key=f"fitting.stop.{model.key}", on_click=_stop, args=(model,))
        words = st.empty()
    while (fit := fits_under_way.wait(model, _LOOK)) is not None:
        sentence = markdown_plain(doing(model.title, fit))
        # An empty bar would mean that nothing is done, although the progress is unknown.
        if fit.percent:
            words.progress(min(fit.percent, 100) / 100, text=sentence)
        else:
            words.caption(f":material/hourglass_top: {sentence}")
    place.empty()


def doing(title: str, fit: fits_under_way.Fit) -> str:
    """Return a description of the fit with elapsed time, estimated time and percent, or its place in the queue."""
    if fit.place is not None:
        return f"{title} {fit.place.sentence}"
    share = f", {min(fit.percent, 100)} % done" if fit.percent else ""
    # An estimate that has been exceeded is not repeated.
    whole = about_seconds(fit.expected) if fit.expected is not None and fit.seconds < fit.expected else ""
    of = f" of {whole}" if whole else ""
    return f"{_STEPS.get(fit.step, 'Preparing the rows for {}').format(title)}: {fit.seconds:.0f} s{of}{share}"


def _stop(model: Model) -> None:
    fits_under_way.leave(model)
    old = widgets.selection().calibrators
    widgets.change(calibrators=tuple(recipe for recipe in old if recipe != model.recipe))
    st.session_state[_STOPPED] = model.title


def follow_advice() -> None:
    """Tick the recommended calibrator if none was chosen and it is known, otherwise none."""
    selection = widgets.selection()
    if selection.tour or not widgets.unasked() or session.unfitted(selection):
        return
    try:
        best = Recommendation.known(session.scene_of(selection))
    except InputError:
        return
    widgets.tick_unasked(() if best is None else (best,))


def is_to_follow(found: CalibratorChoice | None) -> bool:
    """Return True if a new recommendation changes the tick, so that the page is drawn for another calibrator."""
    return (
        found is not None
        and found.recalibrate
        and widgets.unasked()
        and not widgets.selection().tour
        and widgets.selection().calibrators != (found.recipe,)
    )
