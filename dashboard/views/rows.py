"""Some test rows as a table: sortable, with the columns of the user's own file, to take home."""

from __future__ import annotations

import numpy as np
import pandas as pd
import streamlit as st
from numpy.typing import NDArray

from calib_core import Predictions
from calib_core._text import count, percent
from calib_core.division import Division
from dashboard import widgets
from dashboard.export import csv_bytes
from dashboard.theme import markdown_plain

ROWS_SHOWN = 5000
"""Rows put on screen; the download has all of them."""


def show(table: pd.DataFrame, title: str, *, key: str, file_name: str) -> None:
    """Draw a table made by `row_table` under its title."""
    right = percent(float(table["correct"].mean()))
    st.markdown(f"**{markdown_plain(title)}**: {count(len(table))}, {right} right")
    st.dataframe(
        table.head(ROWS_SHOWN),
        key=key,
        hide_index=True,
        width="stretch",
        height=min(widgets.table_height(len(table)), 360),
        column_config={
            name: st.column_config.NumberColumn(name, format="%.4f")
            for name in table.columns
            if _is_probability(str(name), table[name])
        },
    )
    if len(table) > ROWS_SHOWN:
        st.caption(f"The first {count(ROWS_SHOWN)} rows are shown; the download has all {count(len(table))}.")
    widgets.download("Download these rows (CSV)", file_name, lambda: csv_bytes(table))


def _is_probability(name: str, column: pd.Series) -> bool:
    return (name == "confidence" or name.startswith("P(")) and pd.api.types.is_float_dtype(column)


def row_table(
    parts: Division, predictions: Predictions, rows: NDArray[np.intp], *, probabilities: bool = False
) -> pd.DataFrame:
    """What is known of some test rows: where they stand in their file, what was said, what was true.

    With ``probabilities`` there is a column P(name) for every class, for predictions of few classes.
    """
    names = np.asarray(predictions.class_names or (), dtype=object)
    columns: dict[str, object] = {"row": parts.test_rows[rows]}
    if predictions.kind != "confidence":
        columns |= {"predicted": names[predictions.predicted[rows]], "label": names[predictions.true_labels[rows]]}
    columns |= {"confidence": predictions.confidence[rows], "correct": predictions.correct[rows]}
    if probabilities:
        columns |= {f"P({name})": predictions.rows.column(j)[rows] for j, name in enumerate(names)}
    table = pd.DataFrame(columns)
    if predictions.metadata is not None:
        extra = predictions.metadata.iloc[rows].reset_index(drop=True)
        table = table.join(extra.rename(columns=lambda name: f"{name} (file)" if name in columns else name))
    return table
