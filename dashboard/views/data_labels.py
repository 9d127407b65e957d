"""Labels in another file: joined with the scores on trial into one file, which is then looked at like any other."""

from __future__ import annotations

import streamlit as st

from calib_core.readers import all_endings
from dashboard import session, uploads
from dashboard.views.data_choice import take

_WIDGET = "data.labels"


def draw(key: str) -> None:
    """Draw the field that takes the file of labels; both together are a file named after them."""
    with st.expander("The labels are in another file", icon=":material/link:", key="data.labels.box"):
        in_order = st.checkbox(
            "Both files have their rows in the same order, and no column that tells rows apart",
            key="data.labels.in_order",
            help="Else rows are joined by the column that both files have and that tells them apart, such as id.",
        )
        file = uploads.uploader("Drop the file of labels here", key=_WIDGET, types=all_endings())
    if file is None:
        return

    with st.spinner("Joining the files"):
        take("data", lambda: session.join(key, file.getvalue(), file.name, () if in_order else None))
    uploads.forget(file, key=_WIDGET)
    st.rerun()  # the page was drawn for the data of before
