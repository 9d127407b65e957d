"""An exhibit on screen: its controls, its figure, its table, its words, and taking all of it home."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pandas as pd
import streamlit as st
from pandas.api.types import is_bool_dtype

from calib_core import NotAnswerable
from calib_core._text import count
from dashboard import session, widgets
from dashboard.chart import chart, waiting
from dashboard.chart.click import Click
from dashboard.exhibits import EXHIBITS, Exhibit, Words
from dashboard.exhibits.columns import Column, best_cells, written
from dashboard.export import csv_bytes
from dashboard.session import Scene
from dashboard.theme import markdown_plain

PATIENCE = 1.0
"""Seconds until a bar says what is being made."""
TALLEST = 460
"""Pixels of a table on screen at most; it scrolls."""
_BOLD = "background-color: rgba(213, 94, 0, 0.2)"
"""Lines that a page prints in bold."""
SHOWN = 5000
"""Lines put on screen; the download has all of them."""
_FOCUS: dict[str, tuple[str, type]] = {
    "model": ("model", str),
    "bin": ("zoom", int),
    "class": ("code", int),
    "cell": ("cell", int),
}
"""Names in the records of marks that say what is looked at: the choice each of them becomes, and its kind."""


def follow(name: str, titles: Collection[str]) -> None:
    """Look at what was clicked in the figure called ``name``, one of the models by these titles.

    Called before the page is built, which has to know it.
    """
    click = waiting(name)
    record = {} if click is None else click.record
    found = {field: record[key] for key, (field, kind) in _FOCUS.items() if isinstance(record.get(key), kind)}
    if found and found.get("model", "") in (*titles, ""):
        widgets.change(**found)


def exhibited(
    key: str,
    scene: Scene,
    *,
    name: str = "",
    title: str | None = "",
    controls: bool = True,
    folded: bool = False,
    turned: bool | None = None,
    limits: dict[str, Any] | None = None,
) -> Click | None:
    """Draw an exhibit with the options chosen for it; hand back a click on its figure.

    ``name`` tells several of one kind apart; ``title`` replaces its own (None: no heading); ``folded`` puts the table
    into an expander below the figure; ``turned`` writes it out, its best numbers in bold, with its lines as columns
    where it is true, instead of as a grid that can be sorted; ``limits`` fix some of its options for this place, which
    then have no control.
    """
    recipe, fixed = widgets.selection().exhibit(key), limits or {}
    exhibit: Exhibit = EXHIBITS.make(key, **{**dict(recipe.params), **fixed})
    name = name or key
    if title is not None:
        st.markdown(f"#### {markdown_plain(title or EXHIBITS[key].title)}")
    if controls and EXHIBITS[key].params:
        names, changed = scene.class_names, widgets.change_exhibit
        used = [param.name for param in EXHIBITS[key].params] if exhibit.used is None else exhibit.used
        free = [option for option in used if option not in fixed]
        widgets.recipe_controls(recipe, key=f"exhibit.{name}", changed=changed, class_names=names, only=free)
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
        plain = exhibit.static or turned is not None
        _written(exhibit, frame, bool(turned)) if plain else _table(exhibit, frame, name)
    below(words)
    _take_home(exhibit, scene, frame, name)
    return click


def below(words: Words) -> None:
    """The words below a figure or a table."""
    for text in filter(None, (words.caption, *words.notes)):
        st.caption(markdown_plain(text))


@contextmanager
def progress(scene: Scene) -> Iterator[Scene]:
    """The scene under a bar that says what is being made, once that has taken long enough to ask.

    A bar that comes and goes at once would move what somebody is about to click.
    """
    place = st.empty()
    bar: Any = None
    start = time.monotonic()

    def tell(what: str, percent: int) -> None:
        nonlocal bar
        if percent and time.monotonic() - start > PATIENCE:
            bar = bar or place.progress(0.0)
            bar.progress(min(percent, 100) / 100, text=what.rpartition(".")[2].replace("_", " "))

    try:
        yield replace(scene, progress=tell)
    finally:
        place.empty()


def _table(exhibit: Exhibit, frame: pd.DataFrame, name: str) -> None:
    """The frame, sortable, at four digits; what no column is made of stays in the download."""
    columns = exhibit.columns(frame)
    config = {part: setting for i, column in enumerate(columns) for part, setting in _settings(column, frame, i == 0)}
    # What is written from several texts is no column of the frame.
    shown, bold = frame.head(SHOWN), exhibit.bold(frame)
    marks = {c.heading: [line[0] for line in written(shown, (c,))] for c in columns if not c.digits and c.made_of[1:]}
    shown = shown.assign(**marks)
    st.dataframe(
        shown.style.apply(lambda line: [_BOLD * (line.name in bold)] * len(line), axis=1) if bold else shown,
        key=f"{name}.table",
        hide_index=True,
        width="stretch",
        height=min(widgets.table_height(len(frame)), TALLEST),
        column_order=list(config),
        column_config=config,
    )
    if len(frame) > SHOWN:
        st.caption(f"The first {count(SHOWN)} lines are shown; the download has all {count(len(frame))}.")


def _written(exhibit: Exhibit, frame: pd.DataFrame, turned: bool) -> None:
    """The table as readers see it, a heading to each line."""
    columns = exhibit.columns(frame)
    cells = [[markdown_plain(cell) for cell in line] for line in written(frame, columns)]
    for i, j in best_cells(frame, columns):
        cells[i][j] = f"**{cells[i][j]}**"
    headings = [markdown_plain(column.heading) for column in columns[1:]]
    table = pd.DataFrame([line[1:] for line in cells], [line[0] for line in cells], headings)
    st.table(table.T if turned else table)


def _settings(column: Column, frame: pd.DataFrame, first: bool) -> Iterator[tuple[str, Any]]:
    """How the parts of a column are shown; the first column stays where a wide table is scrolled."""
    if not column.digits:
        part = column.heading if column.made_of[1:] else column.made_of[0]
        yield part, st.column_config.Column(column.heading, pinned=first or None)
        return
    # Of an interval the ends are shown, not what marks it.
    for part in (part for part in column.made_of if not is_bool_dtype(frame[part])):
        heading = f"{column.heading}: {part}" if column.made_of[1:] else column.heading
        yield part, st.column_config.NumberColumn(heading, format=column.digits)


def _take_home(exhibit: Exhibit, scene: Scene, frame: pd.DataFrame, name: str) -> None:
    """The table as a file, and the Python and the command that make it again."""
    with st.container(horizontal=True):
        widgets.download("Download this table (CSV)", f"{name}.csv", lambda: csv_bytes(frame))
        with st.popover("Copy as code", icon=":material/code:", key=f"copied.{name}"):
            st.caption("Python, on the library alone.")
            st.code(exhibit.python(scene), language="python")
            st.caption("Command: this table.")
            chosen = widgets.selection().replace(model=scene.focus.model, reduction=scene.focus.notion)
            st.code(session.show_line(chosen, EXHIBITS.recipe(exhibit)), language="sh", wrap_lines=True)


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]
