"""Arena: calibrators compared over many experiments, as a picture, as mean ranks, or as a table of the papers."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import streamlit as st

from calib_core import InputError
from calib_core.datasets import DEMOS
from calib_core.papers.tables import latex
from calib_core.text import several
from dashboard import session, widgets
from dashboard.exhibits import EXHIBITS
from dashboard.exhibits.many_experiments import FILES, Arena, ArenaRanks, results
from dashboard.exhibits.papers import PaperTables
from dashboard.navigation import view
from dashboard.selection import Selection
from dashboard.session import Call, Scene
from dashboard.theme import markdown_plain
from dashboard.views.exhibited import exhibited
from dashboard.views.on_request import wanted

FORMS = {"arena": "Picture", "arena-ranks": "Mean ranks", "paper-tables": "Papers' table"}
"""Exhibits and the labels of their buttons."""


@view("arena", "Arena", 50, room="evidence", needs_data=False, of_models=False)
def render() -> None:
    """Draw the view for the current choices."""
    about = widgets.selection().about
    key = about if about in FORMS else next(iter(FORMS))
    scene = _scene()
    with st.container(key="arena-controls", horizontal=True, vertical_alignment="bottom"):
        st.segmented_control(
            "Form",
            tuple(FORMS),
            format_func=FORMS.__getitem__,
            label_visibility="collapsed",
            **widgets.tied_to(FORMS, "arena.form", key, lambda chosen: widgets.change(about=chosen)),
        )
        widgets.recipe_controls(widgets.selection().exhibit(key), key=f"exhibit.{key}", changed=widgets.change_exhibit)
    if key == "paper-tables":
        _papers(scene)
    else:
        _compared(key, scene)


def _scene() -> Scene:
    """Return the scene; stored results need no data, so there may be none."""
    try:
        return session.scene_of(widgets.selection())
    except InputError:
        return session.scene_of(Selection())


def _compared(key: str, scene: Scene) -> None:
    """Draw the leaderboard or the mean ranks, those of the loaded files on request."""
    exhibit: Arena | ArenaRanks = widgets.selection().exhibit(key).build()
    draw = partial(_drawn, key, scene, exhibit)
    if exhibit.benchmark != FILES:
        draw()
        return
    if _no_files(scene):
        return
    why = (
        f"Every calibrator is fitted on {several(len(scene.bases), 'files')}, which takes seconds to minutes per file."
    )
    _on_request(key, scene, results(FILES, scene), why, draw)


def _drawn(key: str, scene: Scene, exhibit: Arena | ArenaRanks) -> None:
    """Draw the picture, and below it the notes on methods and experiments that failed."""
    exhibited(key, scene, title=None, controls=False, folded=True)
    if isinstance(exhibit, Arena):
        for note in scene.get(exhibit.board(scene)).notes:
            st.caption(markdown_plain(note))


def _papers(scene: Scene) -> None:
    """Draw the papers' table of the loaded files on request, with its LaTeX."""
    key = "paper-tables"
    exhibit: PaperTables = widgets.selection().exhibit(key).build()
    st.caption(markdown_plain(EXHIBITS[key].caption))
    if _no_files(scene):
        return
    table = exhibit.whole(scene)
    files = several(len(scene.bases) + len(DEMOS) * exhibit.with_demos, "files")
    why = f"Every method is fitted {exhibit.splits} times on {files}, which takes seconds to minutes per file."
    _on_request(key, scene, table, why, partial(exhibited, key, scene, title=None, controls=False))
    if scene.knows(table):
        name = f"{exhibit.published}.tex"
        widgets.download("Download this table (LaTeX)", name, lambda: latex(scene.get(table)).encode())


def _on_request(key: str, scene: Scene, work: Call[Any], why: str, draw: Callable[[], object]) -> None:
    """Draw a result that is cached, or else a button that computes it, and one that stops the work."""
    place = st.empty()
    with place.container():
        if not scene.knows(work) and not wanted(f"{key} {work.key}", why):
            return
    draw()
    place.empty()  # there is nothing left to cancel


def _no_files(scene: Scene) -> bool:
    """Draw a button to choose data if there are none."""
    if not scene.bases:
        st.info("No file is loaded.")
        st.button("Choose data", on_click=lambda: widgets.change(view="data"))
    return not scene.bases
