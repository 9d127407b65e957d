"""Test rows as a table: sortable, with the columns of the user's own file, and exportable."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from calib_core.text import count, percent
from dashboard import widgets
from dashboard.export import csv_bytes
from dashboard.theme import markdown_plain

ROWS_SHOWN = 5000
"""Maximum number of rows on screen; the download has all of them."""


def show(table: pd.DataFrame, title: str, *, key: str, file_name: str) -> None:
    """Draw a table of `calib_core.calls.row_table` under its title."""
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
