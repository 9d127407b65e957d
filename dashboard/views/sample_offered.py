"""Rows sampled in a summary: a click to use them where counts are not enough, and one to return."""

from __future__ import annotations

import streamlit as st

from calib_core import InputError
from calib_core.text import begun, count
from dashboard import session, widgets
from dashboard.session import Scene
from dashboard.theme import markdown_plain


def needed(why: str, scene: Scene, place: str) -> None:
    """Draw why rows are needed, and a button to use the sampled ones; ``place`` identifies one of several."""
    st.info(markdown_plain(f"{begun(why)}."))
    offer(scene, place)


def offer(scene: Scene, place: str) -> None:
    """Draw only the button; nothing if no rows are sampled."""
    if scene.rows_kept:
        st.button(
            f"Look at the {count(scene.rows_kept)} sampled rows",
            key=f"kept.{place}",
            help="All numbers are then for these rows only, a sample of those that were counted.",
            on_click=lambda: widgets.choose(session.of_kept_rows(widgets.selection())),
        )


def whole_view(title: str) -> bool:
    """Draw the offer in place of a view that needs rows; return False, and draw nothing, if rows are available."""
    try:
        scene = session.scene_of(widgets.selection())
    except InputError:
        return False
    if not scene.models.shown or not scene.undivided:
        return False
    needed(
        f"\u201c{title}\u201d needs rows, and a summary contains only counts: open the original file",
        scene,
        "view",
    )
    return True
