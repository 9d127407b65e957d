"""An exhibit on screen: its controls, its figure, its table, its words, and taking all of it home."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pandas as pd
import streamlit as st

from calib_core import NotAnswerable
from dashboard import session, widgets
from dashboard.chart import chart
from dashboard.chart.click import Click
from dashboard.exhibits import EXHIBITS, Exhibit, Words
from dashboard.export import csv_bytes
from dashboard.session import Scene
from dashboard.theme import markdown_plain

TALLEST = 460
"""Pixels of a table on screen at most; it scrolls."""


def exhibited(
    key: str,
    scene: Scene,
    *,
    name: str = "",
    title: str | None = "",
    controls: bool = True,
    folded: bool = False,
    limits: dict[str, Any] | None = None,
) -> Click | None:
    """Draw an exhibit with the options chosen for it; hand back a click on its figure.

    ``name`` tells several of one kind apart; ``title`` replaces its own (None: no heading); ``folded`` puts the table
    into an expander below the figure; ``limits`` fix some of its options for this place.
    """
    recipe = widgets.selection().exhibit(key)
    if limits:
        recipe = EXHIBITS.described(key, **{**dict(recipe.params), **limits})
    exhibit: Exhibit = recipe.build()
    name = name or key
    if title is not None:
        st.markdown(f"#### {markdown_plain(title or EXHIBITS[key].title)}")
    if controls and EXHIBITS[key].params:
        names = scene.class_names
        widgets.recipe_controls(recipe, key=f"exhibit.{name}", changed=widgets.change_exhibit, class_names=names)
    with progress(scene) as scene:
        try:
            frame, words, drawn = scene.get(exhibit.table(scene)), exhibit.words(scene), exhibit.figure(scene)
            figure = None if drawn is None else scene.get(drawn)
        except NotAnswerable as why:
            st.info(markdown_plain(f"{_sentence(str(why))}."))
            return None
    click = None
    if figure is not None:
        click = chart(figure, key=name, label=words.alt, height=figure.layout.height or exhibit.height)
    with st.expander("The numbers") if folded else st.container():
        _table(exhibit, frame, name)
    below(words)
    _take_home(exhibit, scene, frame, name)
    return click


def below(words: Words) -> None:
    """The words below a figure or a table."""
    for text in filter(None, (words.caption, *words.notes)):
        st.caption(markdown_plain(text))


@contextmanager
def progress(scene: Scene) -> Iterator[Scene]:
    """The scene under a bar that says what is being made, where that takes long enough to see."""
    place = st.empty()
    bar: Any = None

    def tell(what: str, percent: int) -> None:
        nonlocal bar
        if percent:
            bar = bar or place.progress(0.0)
            bar.progress(min(percent, 100) / 100, text=what.rpartition(".")[2].replace("_", " "))

    try:
        yield replace(scene, progress=tell)
    finally:
        place.empty()


def _table(exhibit: Exhibit, frame: pd.DataFrame, name: str) -> None:
    """The frame, sortable, at four digits; what no column is made of stays in the download."""
    columns = exhibit.columns(frame)
    config = {
        part: st.column_config.NumberColumn(
            column.heading if len(column.made_of) == 1 else f"{column.heading}: {part}", format=column.digits or None
        )
        if column.digits
        else st.column_config.TextColumn(column.heading)
        for column in columns
        for part in column.made_of
        if part in frame
    }
    st.dataframe(
        frame,
        key=f"{name}.table",
        hide_index=True,
        width="stretch",
        height=min(widgets.table_height(len(frame)), TALLEST),
        column_order=list(config),
        column_config=config,
    )


def _take_home(exhibit: Exhibit, scene: Scene, frame: pd.DataFrame, name: str) -> None:
    """The table as a file, and the Python and the command that make it again."""
    with st.container(horizontal=True):
        widgets.download("Download this table (CSV)", f"{name}.csv", lambda: csv_bytes(frame))
        with st.popover("Copy as code", icon=":material/code:", key=f"copied.{name}"):
            st.caption("Python, on the library alone.")
            st.code(exhibit.python(scene), language="python")
            st.caption("Command: this table.")
            st.code(session.show_line(widgets.selection(), EXHIBITS.recipe(exhibit)), language="sh", wrap_lines=True)


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]
