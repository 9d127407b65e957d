"""Card of the current data: size, accuracy, class shares, identity, and measures not available for its kind."""

from __future__ import annotations

import numpy as np
import pandas as pd
import streamlit as st

from calib_core import Predictions
from calib_core.evaluation.splitting import CONTENTS
from calib_core.text import count, percent
from dashboard import session
from dashboard.theme import PERCENT, markdown_plain

ALL_CLASSES = 30
"""Maximum number of classes listed in full; of more, the largest and the smallest."""
EXTREMES = 5

NEVER = {
    "top-label": ("Log loss", "Brier score", "CW-ECE"),
    "confidence": ("Log loss", "Brier score", "TL-ECE", "CW-ECE", "TL-MCE", "TL-MCE of bins"),
}
"""Measures that a kind of predictions cannot give."""


def draw(key: str, changed: str) -> None:
    """Draw the card of a file with its current reading."""
    file, predictions = session.file(key), session.whole(key, changed)
    _numbers(predictions)
    st.caption(kind_sentence(predictions))
    _shares(predictions)
    of = f"{markdown_plain(file.demo.source)}. File" if file.demo else "File"
    st.caption(f"{of} {markdown_plain(file.table.name)}, content hash {file.digest[:12]}.")
    for note in predictions.notes:
        st.caption(markdown_plain(note))


def kind_sentence(predictions: Predictions) -> str:
    """Return the content of the predictions and the analyses that are not available."""
    what, never = CONTENTS[predictions.kind], NEVER.get(predictions.kind, ())
    if predictions.grain == "counts":
        return (
            f"Counts of rows that contain {what}, and a sample of the rows. Views that need all rows are not available."
        )
    if not never:
        return f"Contains {what}. Every calibration error can be computed."
    lacks = "classes" if predictions.n_classes is None else "the other classes' probabilities"
    return (
        f"Contains {what}. Not available: {', '.join(never)}, and everything else that needs {lacks}. The log loss "
        "next to advice is that of the confidence, as the probability of being right."
    )


def class_shares(predictions: Predictions) -> pd.DataFrame:
    """Return class, rows and share of every class, or of the largest and smallest of many.

    If the classes are unknown, the lines are right and wrong rows.
    """
    if predictions.class_names is None:
        right = round(predictions.accuracy * predictions.n_rows)
        names, rows = ["right", "wrong"], np.array([right, predictions.n_rows - right])
    else:
        names = list(predictions.class_names)
        rows = predictions.rows_of_classes
    frame = pd.DataFrame({"class": names, "rows": rows, "share": rows / predictions.n_rows})
    if len(frame) <= ALL_CLASSES:
        return frame
    ordered = frame.sort_values("rows", ascending=False, kind="stable")
    return pd.concat([ordered.head(EXTREMES), ordered.tail(EXTREMES)], ignore_index=True)


def _numbers(predictions: Predictions) -> None:
    classes = "unknown" if predictions.n_classes is None else count(predictions.n_classes)
    with st.container(horizontal=True, gap="medium"):
        st.metric("Rows", count(predictions.n_rows), width="content")
        st.metric("Classes", classes, width="content")
        st.metric("Accuracy, all rows", percent(predictions.accuracy), width="content")
        st.metric("Mean confidence", percent(predictions.mean_confidence), width="content")


def _shares(predictions: Predictions) -> None:
    frame = class_shares(predictions)
    st.dataframe(
        frame.assign(share=100 * frame["share"]),
        hide_index=True,
        # All rows visible for a dozen classes, a scroll bar for more.
        height=min(36 + 35 * len(frame), 400),
        column_config={
            "rows": st.column_config.NumberColumn(width="small", format="localized"),
            "share": st.column_config.ProgressColumn(format=PERCENT, min_value=0.0, max_value=100.0),
        },
        alt="Rows and share of each class",
    )
    k = predictions.n_classes or 0
    if k > ALL_CLASSES:
        st.caption(f"The {EXTREMES} largest and the {EXTREMES} smallest of {count(k)} classes by rows.")
