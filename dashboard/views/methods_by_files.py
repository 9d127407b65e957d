"""Papers' tables on the current files: chosen, computed on request, stoppable, and exportable."""

from __future__ import annotations

import streamlit as st

from calib_core.datasets import DEMOS
from calib_core.papers.tables import latex
from dashboard import session, widgets
from dashboard.exhibits import EXHIBITS
from dashboard.exhibits.papers import PaperTables
from dashboard.navigation import view
from dashboard.theme import markdown_plain
from dashboard.views.exhibited import exhibited
from dashboard.views.on_request import wanted

KEY = "paper-tables"


@view("tables", "Methods by files", 50, room="evidence")
def render() -> None:
    """Draw the view for the current choices."""
    scene = session.scene_of(widgets.selection())
    recipe = widgets.selection().exhibit(KEY)
    exhibit: PaperTables = recipe.build()
    st.markdown(f"#### {markdown_plain(EXHIBITS[KEY].title)}")
    st.caption(markdown_plain(EXHIBITS[KEY].caption))
    widgets.recipe_controls(recipe, key=f"exhibit.{KEY}", changed=widgets.change_exhibit)
    table = exhibit.whole(scene)
    files = len(scene.bases) + len(DEMOS) * exhibit.with_demos
    counted = "1 file" if files == 1 else f"{files} files"
    why = f"Every method is fitted {exhibit.splits} times on {counted}, which takes seconds to minutes per file."
    place = st.empty()
    with place.container():
        if not scene.knows(table) and not wanted(f"{KEY} {table.key}", why):
            return
    exhibited(KEY, scene, title=None, controls=False)
    place.empty()  # there is nothing left to cancel
    if scene.knows(table):
        name = f"{exhibit.published}.tex"
        widgets.download("Download this table (LaTeX)", name, lambda: latex(scene.get(table)).encode())
