"""First visit: the purpose of the dashboard, a place to drop a file, and examples with a lesson."""

from __future__ import annotations

import streamlit as st

from calib_core.datasets import DEMOS, Demo
from calib_core.text import begun, count, in_percent
from dashboard import widgets
from dashboard.hero import TILES, diagram_spark
from dashboard.navigation import view
from dashboard.theme import markdown_plain
from dashboard.tour import enter
from dashboard.views.data_trial import choose, destination

IN_A_ROW = 4


def headline() -> None:
    """Draw the question that brings people here."""
    st.markdown("# When your model says 90\u00a0%, how often is it right?")
    st.markdown(
        "Open its predictions with the true labels. See where its probabilities can be trusted, where not, and "
        "how to repair them."
    )


@view("start", "Start", 0, room="overview", needs_data=False, listed=False)
def render() -> None:
    """Draw the examples."""
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="bottom"):
        with st.container(horizontal=True, width="content", vertical_alignment="bottom"):
            st.markdown("## Or open an example", width="content")
            st.button(
                "New to this? Take the tour",
                key="tour.begin",
                type="tertiary",
                icon=":material/school:",
                help="Eight stops, one question each.",
                on_click=enter,
                args=(1,),
            )
        st.caption("Horizontal: confidence. Vertical: accuracy. They agree on the dashed line.", width="content")
    for first in range(0, len(DEMOS), IN_A_ROW):
        places = st.columns(IN_A_ROW, gap="small")
        for place, demo in zip(places, DEMOS[first : first + IN_A_ROW], strict=False):
            with place, st.container(border=True, height="stretch", key=f"tile-{demo.key}"):
                _tile(demo)


def _tile(demo: Demo) -> None:
    """Draw one example: its picture, its confidence next to its accuracy, its lesson, and its link."""
    tile = TILES[demo.key]
    picture, numbers = st.columns([1.5, 1], gap="small", vertical_alignment="bottom")
    picture.image(diagram_spark(tile.points), alt=f"{demo.title}: a tiny reliability diagram", width="stretch")
    numbers.markdown(
        f"mean confidence  \n**{markdown_plain(in_percent(tile.claimed))}**\n\n"
        f"accuracy  \n**{markdown_plain(in_percent(tile.right))}**"
    )
    moral, _, rest = demo.lesson.partition(": ")
    st.markdown(f"### {markdown_plain(moral)}")
    st.markdown(markdown_plain(begun(rest)))
    with st.container(horizontal=True, wrap=False, vertical_alignment="bottom"):
        st.caption(f"{markdown_plain(demo.title)}  \n{count(demo.rows)}\u00a0rows", width="stretch")
        st.button(
            "Open",
            key=f"start.{demo.key}",
            type="tertiary",
            icon=":material/arrow_forward:",
            icon_position="right",
            help=f"Open {markdown_plain(demo.title)}",
            on_click=_open,
            args=(f"demo:{demo.key}",),
        )


def _open(key: str) -> None:
    """Use a demo, without any changes to how another file was read, and show the answer."""
    choose("data", key)
    widgets.change(view=destination())
