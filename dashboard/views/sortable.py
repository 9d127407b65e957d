"""A table on screen that can be sorted: numbers stay numbers, written as readers see them everywhere else."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import pandas as pd
import streamlit as st
from pandas.io.formats.style import Styler

from calib_core.text import count
from dashboard import widgets
from dashboard.exhibits import Exhibit
from dashboard.exhibits.columns import NOT_KNOWN, Column, written

TALLEST = 460
"""Pixels of a table on screen at most; it scrolls."""
PICKED_FROM = 213
"""The same where a line is chosen, and shown below."""
"""Pixels of a longer table on screen at most; it scrolls."""
WHOLE = 18
"""Lines up to which a table is not cut: the last few are not worth scrolling for."""
SHOWN = 5000
"""Lines put on screen; the download has all of them."""
WRITTEN = 1000
"""Lines whose cells are written one by one; in a longer table a column has one format, which costs nothing a line."""
MANY = 10
"""Columns up to which a table fits beside the pane; of a wider one it is said that it scrolls."""
_LINE, _ROOM = 18, 12
"""Pixels of a line of a sentence, and of what is left free around it."""
_BOLD = "background-color: rgba(213, 94, 0, 0.2)"
"""Lines that a page prints in bold."""


def grid(exhibit: Exhibit, frame: pd.DataFrame, name: str, pick: Callable[[int], None] | None = None) -> None:
    """The table, sortable; what no column is made of stays in the download.

    ``pick`` hears which line was clicked: the table is then short, so that what is shown of the line is in sight.
    """
    columns = exhibit.columns(frame)
    shown = words_added(frame.head(SHOWN).reset_index(drop=True), columns)
    whole = len(shown) <= WRITTEN
    lines = max(column.lines for column in columns)
    means = {each.name: each.meaning or None for each in exhibit.declared(frame)}
    config = {
        part: setting for i, each in enumerate(columns) for part, setting in _settings(each, i == 0, whole, means)
    }
    key = f"{name}.table"
    tall = len(frame) * lines
    height = widgets.table_height(tall) if tall <= WHOLE else TALLEST
    heard: dict[str, Any] = {}
    if pick is not None:
        height = min(height, PICKED_FROM)
        heard = {"on_select": partial(_picked, key, pick), "selection_mode": "single-row"}
    st.dataframe(
        styled(shown, columns, exhibit.bold(frame)) if whole else shown,
        key=key,
        hide_index=True,
        width="stretch",
        height=height,
        row_height=_LINE * lines + _ROOM if lines > 1 else None,
        placeholder=NOT_KNOWN,
        column_order=list(config),
        column_config=config,
        **heard,
    )
    if len(config) > MANY:
        st.caption(f"{len(config)} columns; scroll sideways for those that do not fit.")
    if pick is not None and height < widgets.table_height(tall):
        st.caption(f"{count(len(frame))} entries; scroll for more.")
    if len(frame) > SHOWN:
        st.caption(f"The first {count(SHOWN)} lines are shown; the download has all {count(len(frame))}.")


def _picked(key: str, pick: Callable[[int], None]) -> None:
    """Tell which line was chosen; nothing where a choice was taken back."""
    for line in st.session_state[key].selection.rows:
        pick(line)


def words_added(frame: pd.DataFrame, columns: tuple[Column, ...]) -> pd.DataFrame:
    """The frame with a column for all words that readers see otherwise than they stand in it."""
    texts: dict[str, list[Any]] = {}
    for column in (column for column in columns if not column.digits):
        # What is not there stays so: a dash would be one more word to sort.
        cells = [None if line[0] == NOT_KNOWN else line[0] for line in written(frame, (column,))]
        empty = frame[column.made_of[0]].tolist() if not column.made_of[1:] else cells
        texts[_place(column)] = [old if cell is None else cell for cell, old in zip(cells, empty, strict=True)]
    return frame.assign(**texts)


def styled(frame: pd.DataFrame, columns: tuple[Column, ...], bold: tuple[int, ...]) -> Styler:
    """The frame with every number written as in the report, and the lines that matter most marked."""
    style = frame.style
    for name, texts in ((name, column.alone(frame, name)) for column in columns for name in column.numbers):
        for known, lines in _layers(frame[name].tolist(), texts):
            style = style.format(known.__getitem__, subset=(lines, [name]), na_rep=NOT_KNOWN)
    return (
        style.apply(lambda line: [_BOLD * (line.name in bold)] * len(line), axis=1)
        if 0 < len(bold) < len(frame)
        else style
    )


def _layers(values: list[Any], texts: list[str]) -> list[tuple[dict[Any, str], list[int]]]:
    """Lines in which equal values are written alike, with what each value is written as: few calls, not one a cell."""
    layers: list[tuple[dict[Any, str], list[int]]] = []
    for line, (value, text) in enumerate(zip(values, texts, strict=True)):
        layer = next((layer for layer in layers if layer[0].get(value, text) == text), None)
        if layer is None:
            layers.append(layer := ({}, []))
        layer[0][value] = text
        layer[1].append(line)
    return layers


def _place(column: Column) -> str:
    return column.made_of[0] if not column.made_of[1:] else column.heading


def _settings(column: Column, first: bool, whole: bool, means: Mapping[str, str | None]) -> Iterator[tuple[str, Any]]:
    """How the parts of a column are shown, with what they mean; the first stays where a wide table is scrolled."""
    if not column.digits:
        yield (
            _place(column),
            st.column_config.Column(
                column.heading,
                pinned=first or None,
                width="large" if column.lines > 1 else None,
                help=means[column.made_of[0]],
            ),
        )
    for name, heading in column.headings().items():
        # A format would win over what the cells are written as.
        yield name, st.column_config.NumberColumn(heading, format=None if whole else column.digits, help=means[name])
