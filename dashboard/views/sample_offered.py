"""The rows that a summary keeps: a click that looks at them where counts do not say, and one that goes back."""

from __future__ import annotations

import streamlit as st

from calib_core import InputError
from calib_core.text import begun, count
from dashboard import session, widgets
from dashboard.session import Scene
from dashboard.theme import markdown_plain


def needed(why: str, scene: Scene, place: str) -> None:
    """Why rows are needed, and the click that looks at those that are kept; ``place`` tells several apart."""
    st.info(markdown_plain(f"{begun(why)}."))
    offer(scene, place)


def offer(scene: Scene, place: str) -> None:
    """The click alone; nothing where no rows are kept."""
    if scene.rows_kept:
        st.button(
            f"Look at the {count(scene.rows_kept)} rows it keeps",
            key=f"kept.{place}",
            help="All numbers are then for these rows only, a sample of those that were counted.",
            on_click=lambda: widgets.choose(session.of_kept_rows(widgets.selection())),
        )


def whole_view(title: str) -> bool:
    """Say it in place of a view that reads rows; False, and nothing drawn, where rows are at hand."""
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
