"""Other models' predictions on the same rows, compared with the current ones."""

from __future__ import annotations

import streamlit as st

from calib_core import InputError
from dashboard import session, widgets
from dashboard.selection import MOST_OTHERS, Selection
from dashboard.theme import markdown_plain
from dashboard.views import data_findings
from dashboard.views.data_choice import another, demo_keys, files_of_session


def draw() -> None:
    """Draw the models compared and the ways to add one."""
    selection = widgets.selection()
    st.caption(
        "Files with other models' predictions for the same rows in the same order. Every view then shows all "
        "models, and the Recalibrate room their paired differences. One file may contain all models: choose the "
        "column with the model's name under “How it is read”."
    )
    for i in range(len(selection.others)):
        _in_use(selection, i)
    if len(selection.others) >= MOST_OTHERS:
        st.caption(f"At most {MOST_OTHERS + 1} models can be compared at once.")
        return
    keys = [key for key in (*files_of_session(), *demo_keys()) if key not in selection.files]
    another("more", "Another model from", keys, "File of another model")


def _in_use(selection: Selection, i: int) -> None:
    """Draw one model compared, a button to remove it, and why it cannot be compared, if so."""
    left, right = st.columns([0.7, 0.3], vertical_alignment="center")
    left.markdown(f"**{markdown_plain(session.file_names(selection)[i + 1])}**")
    right.button("Remove model", key=f"data.more.drop.{i}", on_click=leave_out, args=(i,))
    try:
        session.parts(selection.sources[i + 1])
    except InputError as why:
        data_findings.sentence(str(why))


def leave_out(place: int) -> None:
    """Remove a model from the comparison."""
    others = widgets.selection().others
    widgets.change(others=(*others[:place], *others[place + 1 :]), model="")
