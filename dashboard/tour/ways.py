"""Ways in, through and out of the tour; own files that were in use before it are in use again after it."""

from __future__ import annotations

import dataclasses

import streamlit as st

from dashboard import session, widgets
from dashboard.selection import Selection
from dashboard.tour.stops import TOUR

_BEFORE = "calib.tour.before"


def enter(number: int) -> None:
    """Show a stop, the first being 1."""
    choices = widgets.selection()
    if not choices.tour:
        st.session_state[_BEFORE] = choices
    widgets.choose(dataclasses.replace(TOUR[number - 1].selection, tour=number))


def arrive() -> None:
    """Open the stop that a link names when it says nothing else."""
    choices = widgets.selection()
    if choices.tour and dataclasses.replace(choices, tour=0) == Selection():
        enter(choices.tour)


def own() -> Selection | None:
    """The choices before the tour, where a file of one's own was in use then and an example is now."""
    before: Selection | None = st.session_state.get(_BEFORE)
    if before is None or _is_example(before) or not _is_example(widgets.selection()):
        return None
    return before if session.is_here(before.source.data) else None


def _is_example(choices: Selection) -> bool:
    return choices.source.data.startswith("demo:")


def leave() -> None:
    """Leave the tour: to the own file and its choices where there is one, else everything stays as it is."""
    widgets.choose(own() or dataclasses.replace(widgets.selection(), tour=0))


def finish() -> None:
    """After the last stop: to the own file, or to where one is opened."""
    before = own()
    leave()
    if before is None:
        widgets.change(view="data")
