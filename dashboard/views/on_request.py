"""Exhibits that take long for many rows or classes: computed on request, and stoppable."""

from __future__ import annotations

from typing import Any

import streamlit as st

from calib_core import NotAnswerable
from dashboard import session, widgets
from dashboard.exhibits import EXHIBITS, Exhibit
from dashboard.session import Scene
from dashboard.theme import markdown_plain
from dashboard.views.exhibited import exhibited
from dashboard.workers.durations import about_seconds

_WANTED, _STOPPED = "calib.on-request", "calib.on-request.stopped"


def on_request(key: str, scene: Scene, *, title: str | None = "", **how: Any) -> None:
    """Draw an exhibit at once if that takes about a second or its result is cached; else a button to compute it."""
    exhibit: Exhibit = EXHIBITS.make(key, **dict(widgets.selection().exhibit(key).params))
    if _at_once(exhibit, scene):
        exhibited(key, scene, title=title, **how)
        return
    if title is not None:
        st.markdown(f"#### {markdown_plain(title or EXHIBITS[key].title)}")
    place = st.empty()
    with place.container():
        why = f"{EXHIBITS[key].caption} With this many classes, this takes {_how_long(exhibit, scene) or 'a while'}."
        if not wanted(f"{key} {exhibit.table(scene).key}", why):
            return
    exhibited(key, scene, title=None, **how)
    place.empty()  # there is nothing left to cancel


def _at_once(exhibit: Exhibit, scene: Scene) -> bool:
    try:
        return not (exhibit.costly and many(scene)) or scene.knows(exhibit.table(scene))
    except NotAnswerable:
        return True


def _how_long(exhibit: Exhibit, scene: Scene) -> str:
    rows = scene.get(scene.models.shown[0].predictions)
    return about_seconds(session.expected(exhibit.table(scene), rows))


def many(scene: Scene) -> bool:
    """Return True if rows and classes are so many that tables of several models, notions or bins take seconds."""
    rows = scene.get(scene.models.shown[0].predictions)
    return rows.n_rows * (rows.n_classes or 1) > MANY


MANY = 1_000_000
"""Number of probabilities that counts as many."""


def wanted(name: str, why: str, label: str = "Compute") -> bool:
    """Return True if this was requested; until then draw its button with the reason, and during the work a stop button.

    The current work, or that it was stopped, is shown next to the button before any result appears.
    """
    chosen: set[str] = st.session_state.setdefault(_WANTED, set())

    def stop() -> None:
        chosen.discard(name)
        st.session_state[_STOPPED] = name

    with st.container(horizontal=True, vertical_alignment="center"):
        if name in chosen:
            st.button("Cancel", key=f"cancel.{name}", on_click=stop)
            st.caption(f":material/hourglass_top: {markdown_plain(f'Computing. {why}')}")
            return True
        st.button(label, key=f"compute.{name}", on_click=chosen.add, args=(name,))
        stopped = "Stopped; no result was saved. " if st.session_state.pop(_STOPPED, "") == name else ""
        st.caption(markdown_plain(f"{stopped}{why}"))
    return False
