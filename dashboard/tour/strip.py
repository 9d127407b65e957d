"""Strip of the tour above a page, and the ways to enter and leave the tour."""

from __future__ import annotations

import dataclasses

import streamlit as st

from calib_core import InputError
from calib_core.datasets import DEMOS
from calib_core.text import listed
from dashboard import session, widgets
from dashboard.glossary.popover import the_words
from dashboard.navigation import STOPS, VIEWS
from dashboard.selection import Selection, Source
from dashboard.theme import markdown_plain, unbroken
from dashboard.tour.stops import TOUR, Stop

_BEFORE = "calib.tour.before"


def enter(number: int) -> None:
    """Show a stop, the first being 1."""
    choices = widgets.selection()
    if not choices.tour:
        st.session_state[_BEFORE] = choices
    widgets.choose(dataclasses.replace(TOUR[number - 1].selection, tour=number))


def arrive() -> None:
    """Open the stop that a link names if it contains nothing else."""
    choices = widgets.selection()
    if choices.tour and dataclasses.replace(choices, tour=0, calibrators=()) == Selection(calibrators=()):
        enter(choices.tour)


def own() -> Selection | None:
    """Return the choices before the tour, if a file of the user's own was open then and an example is now."""
    before: Selection | None = st.session_state.get(_BEFORE)
    if before is None or _is_example(before) or not _is_example(widgets.selection()):
        return None
    return before if session.is_here(before.source.data) else None


def _is_example(choices: Selection) -> bool:
    return choices.source.data.startswith("demo:")


def leave() -> None:
    """Leave the tour: return to the own file and its choices if there is one, otherwise change nothing."""
    before = own()
    widgets.choose(before or dataclasses.replace(widgets.selection(), tour=0))
    if before is None:
        widgets.keep_ticked()


def finish() -> None:
    """Finish after the last stop: return to the own file, or to the page that opens one."""
    before = own()
    leave()
    if before is None:
        widgets.change(view="data")
        widgets.tick_unasked(())  # those of the last stop are its own


def strip(selection: Selection) -> None:
    """Draw the strip of the current stop; nothing outside the tour."""
    if not selection.tour:
        return
    stop = TOUR[selection.tour - 1]
    here = _same_rows(selection.source, stop.selection.source)
    with st.container(key="tour", gap=None):
        with st.container(key="tour-ways", horizontal=True, vertical_alignment="center", gap="small"):
            place = f":primary-background[{selection.tour} of {STOPS}]"
            st.markdown(f"{place} **{markdown_plain(unbroken(stop.question))}**", width="stretch")
            _ways(selection, stop, here)
        if here:
            words = stop.answer(session.scene_of(stop.selection.replace(reading=selection.source.reading)))
            st.markdown(f"{markdown_plain(unbroken(words))} **{markdown_plain(stop.look)}**")
        else:
            title = next(demo.title for demo in DEMOS if f"demo:{demo.key}" == stop.selection.source.data)
            st.markdown(markdown_plain(f"This stop uses the example “{title}”, which is not open now."))


def _same_rows(source: Source, own: Source) -> bool:
    """Return True if these are the rows of a stop, whichever of two classes is their event."""
    if dataclasses.replace(source, reading=own.reading) != own:
        return False
    try:
        readings = (session.reading(each.data, each.reading).replace(event=None) for each in (source, own))
        return next(readings) == next(readings)
    except InputError:
        return False


def _ways(selection: Selection, stop: Stop, here: bool) -> None:
    """Draw the buttons: previous, next, exit, and return to the picture for those who have looked around."""
    number = selection.tour
    if not here or selection.view != stop.selection.view:
        back = "Back to this stop"
        st.button(back, key="tour.again", on_click=enter, args=(number,), help=f"Shows {_where(stop)} again.")
    the_words(*stop.terms, place="tour")
    st.button("Back", key="tour.back", disabled=number == 1, on_click=enter, args=(number - 1,))
    if number < STOPS:
        st.button("Next", key="tour.next", type="primary", on_click=enter, args=(number + 1,))
    else:
        st.button("My own data", key="tour.finish", type="primary", on_click=finish)
    st.button("Leave tour", key="tour.leave", on_click=leave, help=_left())


def _where(stop: Stop) -> str:
    return f"“{VIEWS[stop.selection.view].title}”"


def _left() -> str:
    """Return a description of what leaving does."""
    before = own()
    if before is None:
        return "Hides this strip; the page stays."
    return markdown_plain(f"Back to {listed(session.file_names(before))}, as it was left.")
