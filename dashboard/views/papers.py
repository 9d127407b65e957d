"""Papers view: each figure or table, its result here, a rerun on request, and a link to its live version."""

from __future__ import annotations

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
    exhibited("papers", scene, pick=_choose)
    recipe = widgets.selection().exhibit(KEY)
    exhibit: Reproduced = recipe.build()
    entry = REPRODUCTIONS[exhibit.which]
    st.markdown(f"#### {markdown_plain(EXHIBITS[KEY].title)}")
    # Side by side, so that the numbers of a line clicked above come into sight.
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
    exhibited(KEY, scene, title=None, controls=False)
    place.empty()  # there is nothing left to cancel


def _choose(line: int) -> None:
    """Show the entry in this line of the list."""
    chosen = dict(widgets.selection().exhibit(KEY).params) | {"which": overview()["key"][line]}
    widgets.change_exhibit(EXHIBITS.described(KEY, **chosen))


def _scene() -> Scene:
    """Return the scene; the view does not need the current data, so these may be gone."""
    try:
        return session.scene_of(widgets.selection())
    except InputError:
        return session.scene_of(Selection())
