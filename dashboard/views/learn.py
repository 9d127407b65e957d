"""Learn view: the stops of the guided tour, each with a link."""

from __future__ import annotations

import base64

import streamlit as st

from dashboard.glossary import TERMS
from dashboard.navigation import LEARN, view
from dashboard.theme import markdown_plain
from dashboard.tour import TOUR, Stop, enter

IN_A_ROW = 4


@view("learn", "Tour", 10, room=LEARN, needs_data=False)
def render() -> None:
    """Draw one card per stop."""
    st.markdown("## New to calibration? Eight stops, one question each")
    st.markdown("Each opens an example that comes with this program. Your own data do not change.")
    for first in range(0, len(TOUR), IN_A_ROW):
        places = zip(st.columns(IN_A_ROW, gap="small"), TOUR[first : first + IN_A_ROW], strict=False)
        for number, (place, stop) in enumerate(places, first + 1):
            with place, st.container(border=True, height="stretch", key=f"tile-stop-{number}"):
                _card(number, stop)


def _card(number: int, stop: Stop) -> None:
    term = TERMS[stop.terms[0]]
    picture, words = st.columns([1, 2.2], gap="small", vertical_alignment="center")
    encoded = base64.b64encode(term.picture.encode()).decode()
    picture.markdown(f"![{markdown_plain(term.alt)}](data:image/svg+xml;base64,{encoded})")
    words.markdown(f"### {number}. {markdown_plain(stop.title)}")
    words.markdown(markdown_plain(stop.question))
    st.button(
        "Start here" if number == 1 else "Open",
        key=f"learn.{number}",
        type="tertiary",
        icon=":material/arrow_forward:",
        icon_position="right",
        help=f"Stop {number}: {markdown_plain(stop.title)}",
        on_click=enter,
        args=(number,),
    )
