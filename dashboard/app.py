"""The dashboard page: its frame and the current view. Streamlit runs this module."""

from __future__ import annotations

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from calib_core import InputError
from dashboard import extensions, frame, session, tour, widgets
from dashboard.exhibits import doubt_words
from dashboard.frame.header import tabs
from dashboard.navigation import DATA, LEARN
from dashboard.selection import NONE, Selection
from dashboard.session import Scene, server_limits
from dashboard.theme import markdown_plain
from dashboard.views import VIEWS, View, data, data_choice, data_trial, presenter, rows_judged, sample_offered, start
from dashboard.workers.pool import Lost

# Views on which a file can be opened. (Streamlit would print a docstring here on the page.)
_OPENS = ("start", "data")
# Rooms whose models are chosen by chips; the other rooms choose models in their own way.
_CHOOSES = ("explore", "evidence", "report")


def main() -> None:
    """Draw the page for the current choices of the session."""
    failures = extensions.load_installed()
    st.set_page_config(page_title="calib", layout="wide", initial_sidebar_state="collapsed")
    widgets.follow_history()
    widgets.selection()
    data.open_launched()
    tour.arrive()
    selection = widgets.selection()
    if VIEWS[selection.view].needs_data and VIEWS[selection.view].of_models:
        frame.follow_advice()
        selection = widgets.selection()
    tiles = data_choice.tiles_style() if selection.view == "data" else ""
    awaits = VIEWS[selection.view].needs_data and selection.source.data == NONE
    frame.dress(present=selection.present, opens=awaits or selection.view in _OPENS, also=tiles)
    frame.header(selection)
    with st.container(key="frame-tour"):
        tour.strip(selection)
    view = VIEWS[selection.view]
    # Each element has its own slot, filled or not. If a slot came or went, the elements below would move, the browser
    # would recreate them, and a file being uploaded would be lost.
    with st.container(key="frame-choices", horizontal=True, vertical_alignment="center", gap="small"):
        with st.container(key="frame-tabs", width="content", horizontal=True, vertical_alignment="center", gap="small"):
            tabs(selection)
            if view.key == "overview":  # in other rooms their views are here
                rows_judged.draw()
        with st.container(key="frame-chips", width="content"):
            if view.room in _CHOOSES and view.needs_data and view.of_models:
                frame.model_chips(selection)
        widgets.reserve_for_focus(st.container(key="frame-focus", width="content"))
        if view.needs_data and view.of_models:
            frame.settings(selection)
    with st.container(key="frame-problems"):
        # On a public server these messages go to the terminal, for the owner.
        own = () if server_limits.terms().private else failures
        for problem in (*own, *widgets.link_problems(), *widgets.left_out()):
            st.warning(markdown_plain(problem), icon=":material/warning:")
    frame.answer()
    if selection.present:
        frame.presenting_keys()
    with st.container(key="frame-above"):
        if view.key == "start":
            start.headline()
    with st.container(key="frame-opening"):
        data_choice.opening()
    _views(view, st.container(key="frame-fitting"))
    widgets.write_link()
    if view.room in _CHOOSES and view.needs_data and view.of_models:
        frame.settle_chips(widgets.selection())


def _views(shown: View, fitting: DeltaGenerator) -> None:
    """Draw the current view in its own slot; a shared slot would show remains of the previous view."""
    places = {key: st.container(key=f"view-{key}") if view is shown else st.empty() for key, view in VIEWS.items()}
    if shown.listed and shown.room not in (DATA, LEARN):
        with fitting:
            frame.await_models(widgets.selection())
    with places[shown.key]:
        _view(widgets.selection(), shown)


def _view(selection: Selection, view: View) -> None:
    """Draw one view; for unusable data, show the error and a link to the data page."""
    if view.needs_data:
        try:
            session.parts(selection.source)
        except InputError as why:
            if selection.source.data == NONE:
                data_trial.keep_wish(view.key)
                st.info(f"“{view.title}” needs a predictions file. Open one, and this view shows it.")
            else:
                st.error(markdown_plain(why), icon=":material/error:")
            st.button("Choose data", on_click=lambda: widgets.change(view="data"))
            return
        data_trial.keep_wish("")
        if view.reads == "rows" and sample_offered.whole_view(view.title):
            return
    try:
        if view.needs_data and view.of_models:
            _doubts(session.scene_of(widgets.selection()))
        (presenter.draw if presenter.presents(selection, view) else view.render)()
    except Lost as why:
        st.error(markdown_plain(f"{why}. Your data and choices are still here."), icon=":material/error:")
        st.button("Try again", key="lost.again")


def _doubts(scene: Scene) -> None:
    """Draw a warning for each doubt about the labels or scores of the models shown."""
    for i, sentence in enumerate(doubt_words.sentences(scene)):
        with st.container(key=f"doubt-{i}"):
            st.warning(markdown_plain(sentence), icon=":material/warning:")


main()
