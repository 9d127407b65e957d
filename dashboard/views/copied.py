"""Below a figure or a table: the Python lines and the command that give its numbers again."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from dashboard import reproduce, session, widgets
from dashboard.selection import Selection
from dashboard.session import Model


def copied(
    shown: str,
    *,
    section: str,
    key: str,
    of: Model | None = None,
    among: Sequence[Model] = (),
    selection: Selection | None = None,
) -> None:
    """A button that opens the lines; ``shown`` is what the Python lines end with, ``section`` that of the report."""
    chosen = selection or widgets.selection()
    with st.popover("Copy as code", icon=":material/code:", key=f"copied.{key}"):
        st.caption("Python, on the library alone: these numbers end up in `shown`.")
        st.code(reproduce.python_for(chosen, shown, of, among), language="python")
        st.caption("Command: a report with this section.")
        st.code(session.report_line(chosen, section), language="sh", wrap_lines=True)
