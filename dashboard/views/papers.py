"""Papers view: each figure or table, its result here, a rerun on request, and a link to its live version."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qsl

import streamlit as st

from calib_core import InputError
from calib_core.papers.reproductions import REPRODUCTIONS, overview
from calib_core.papers.reproductions.gallery import duration
from dashboard import session, widgets
from dashboard.exhibits import EXHIBITS
from dashboard.exhibits.papers import FULL, KEPT, Reproduced
from dashboard.navigation import view
from dashboard.selection import Selection
from dashboard.session import Scene
from dashboard.theme import markdown_plain
from dashboard.views.exhibited import exhibited
from dashboard.views.on_request import wanted

KEY = "reproduction"


@view("papers", "Papers", 70, room="evidence", needs_data=False)
def render() -> None:
    """Draw the view for the current choices."""
    scene = _scene()
    _entry(scene)
    exhibited("papers", scene, pick=_choose)


def _entry(scene: Scene) -> None:
    """Draw the chosen figure or table: its picture beside its numbers."""
    recipe = widgets.selection().exhibit(KEY)
    exhibit: Reproduced = recipe.build()
    entry = REPRODUCTIONS[exhibit.which]
    st.markdown(f"#### {markdown_plain(EXHIBITS[KEY].title)}")
    for place, options in zip(st.columns([0.7, 0.3]), (exhibit.used[:1], exhibit.used[1:]), strict=True):
        with place:
            widgets.recipe_controls(recipe, key=f"exhibit.{KEY}", changed=widgets.change_exhibit, only=options)
    with st.container(horizontal=True):
        for label, link in {"Open it live": entry.link, **entry.also}.items():
            if link:
                st.link_button(label, f"?{link}", icon=":material/open_in_new:")
    if entry.needs:
        st.caption("To compare your files with the published numbers, name their folder in this command:")
        st.code(f"calib reproduce {entry.key} --files FOLDER", language="sh")
    table = exhibit.table(scene)
    place = st.empty()
    with place.container():
        how_long = f"This takes {duration(entry.seconds[exhibit.size == FULL])} on one core."
        ready = exhibit.size == KEPT or entry.needs or scene.knows(table)
        if not ready and not wanted(f"{KEY} {table.key}", how_long, "Run"):
            return
    drawn = _drawn(entry.link)
    with st.container(key="papers-entry"):
        left, right = st.columns([0.42, 0.58], gap="medium") if drawn else (None, st.container())
    with right:
        exhibited(KEY, scene, title=None, controls=False)
        place.empty()  # there is nothing left to cancel
    if drawn is not None and left is not None:
        with left:
            _picture(*drawn)


_VIEWS = {
    "reliability": "reliability",
    "classes": "class-panels",
    "estimators": "estimators",
    "calibrators": "movement",
}
"""Exhibits that are the picture of a view."""
_SLOW = ("lab-errors", "trade")
"""Exhibits that take more than a few seconds."""


def _drawn(link: str) -> tuple[str, Selection, dict[str, Any]] | None:
    """Return the exhibit that a link is about, with its choices and fixed options; None if nothing can be drawn."""
    if not link:
        return None
    selection, _ = Selection.from_query(dict(parse_qsl(link)))
    if selection.view == "calibrators" and not session.scene_of(selection).models.recalibrated:
        return None  # the example data have too few rows for the calibrator
    if selection.view == "simplex":
        if not selection.partitions:
            return "calibration-maps", selection, {"across": 1}
        return "triangle", selection, {"partition": selection.partitions[0]}
    if selection.view == "lab":
        last = selection.exhibits[-1]
        return last.key, selection, dict(last.params)
    key = selection.about if selection.view == "curves" else _VIEWS[selection.view]
    return key, selection, dict(selection.exhibit(key).params)


def _picture(key: str, selection: Selection, options: dict[str, Any]) -> None:
    """Draw the figure of the example that the link opens."""
    name = f"{KEY}-picture"
    if key in _SLOW and not wanted(f"{name} {key} {options}", "The picture takes some seconds.", "Draw"):
        return
    exhibited(key, session.scene_of(selection), name=name, title=None, controls=False, folded=True, limits=options)
    st.caption("The picture shows example data. The numbers are for the rows named below them.")


def _choose(line: int) -> None:
    """Show the entry in this line of the list, above it."""
    key = overview()["key"][line]
    chosen = dict(widgets.selection().exhibit(KEY).params) | {"which": key}
    st.toast(f"{REPRODUCTIONS[key].place} is shown at the top.")
    widgets.change_exhibit(EXHIBITS.described(KEY, **chosen))


def _scene() -> Scene:
    """Return the scene; the view does not need the current data, so these may be gone."""
    try:
        return session.scene_of(widgets.selection())
    except InputError:
        return session.scene_of(Selection())
