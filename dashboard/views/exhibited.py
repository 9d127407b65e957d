"""Exhibit on screen: its controls, figure, table, notes, and export.

The table on screen is sortable: numbers stay numbers, formatted as everywhere else.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any
from urllib.parse import urlencode

import pandas as pd
import streamlit as st
from pandas.io.formats.style import Styler
from streamlit.delta_generator import DeltaGenerator

from calib_core import NotAnswerable
from calib_core.inference import marked
from calib_core.registry.registry import Recipe
from calib_core.text import begun, count, listed
from dashboard import session, widgets
from dashboard.chart import chart, waiting
from dashboard.chart.click import Click
from dashboard.exhibits import EXHIBITS, Exhibit, Words
from dashboard.exhibits.columns import NOT_KNOWN, Column, best_cells, written
from dashboard.exhibits.exhibit import also_on
from dashboard.exhibits.line_words import READING
from dashboard.export import csv_bytes
from dashboard.glossary import named_in
from dashboard.glossary.popover import the_words
from dashboard.selection import Focus, Selection
from dashboard.session import Scene
from dashboard.theme import PERCENT, markdown_plain
from dashboard.views import sample_offered
from dashboard.views.grid_columns import FittedColumns, fitted
from dashboard.workers import turns

TALLEST = 460
"""Maximum height in pixels of a table on screen; a longer one scrolls."""
WHOLE = 18
"""Number of lines up to which a table is not cut: scrolling for the last few is not worth it."""
SHOWN = 5000
"""Maximum number of lines on screen; the download has all of them."""
WRITTEN = 2000
"""Number of lines whose cells are formatted individually; a longer table has one format per column, which is fast."""
CLOSE, WRAPS = 24, 66
"""Height in pixels of a line in the detail pane, and of the lowest line in which the grid wraps words."""
_LINE, _ROOM, _LETTERS = 18, 12, 60
"""Height in pixels of a line of a sentence, and of the free space around it, and its letters."""
_BOLD = "background-color: rgba(213, 94, 0, 0.2)"
"""Style of lines that a page prints in bold."""


def grid(
    exhibit: Exhibit,
    frame: pd.DataFrame,
    name: str,
    pick: Callable[[int], None] | None = None,
    least: int = 0,
) -> None:
    """Draw the table, sortable; values without a column are in the download only.

    ``pick`` receives the clicked line. All lines are then on screen, close together. With ``least``, they are close
    together too, and only as many are on screen without scrolling.
    """
    columns = exhibit.columns(frame)
    shown = words_added(frame.head(SHOWN).reset_index(drop=True), columns)
    whole = len(shown) <= WRITTEN
    fit = None if least else fitted(columns, frame, exhibit.aside, pick is not None)
    # A list to choose from is on screen as a whole: its lines are close, and long words are cut.
    lines = fit.lines if fit is not None and pick is None else max(_lines(column, frame) for column in columns)
    means = {each.name: each.meaning or None for each in exhibit.declared(frame)}
    config = {
        part: setting for i, each in enumerate(columns) for part, setting in _settings(each, i == 0, whole, means, fit)
    }
    key = f"{name}.table"
    row = max(_LINE * lines + _ROOM, WRAPS) if lines > 1 else CLOSE if least or pick is not None else None
    height = widgets.table_height(len(frame)) if row is None else widgets.table_height(0) + row * len(frame)
    height = height if len(frame) <= WHOLE else TALLEST
    heard: dict[str, Any] = {}
    if pick is not None:
        least = len(frame)
        heard = {"on_select": partial(_picked, key, pick), "selection_mode": "single-row"}
    if least:
        height = widgets.table_height(0) + (row or CLOSE) * min(len(frame), least)
    st.dataframe(
        styled(shown, columns, exhibit.bold(frame)) if whole else in_percent(shown, columns),
        key=key,
        hide_index=True,
        width="stretch",
        height=height,
        row_height=row,
        placeholder=NOT_KNOWN,
        column_order=list(config),
        column_config=config,
        **heard,
    )
    if fit is not None and fit.hidden:
        names = listed([f"“{each}”" for each in fit.hidden])
        more = "One more column" if len(fit.hidden) == 1 else f"{len(fit.hidden)} more columns"
        st.caption(markdown_plain(f"{more}: {names}. To show one, point at the table and click the eye above it."))
    if len(frame) > SHOWN:
        st.caption(f"The first {count(SHOWN)} rows are shown; the download has all {count(len(frame))}.")


def _lines(column: Column, frame: pd.DataFrame) -> int:
    """Return the number of lines that the longest sentence of a column needs."""
    if column.lines == 1 or frame.empty:
        return 1
    return min(column.lines, math.ceil(int(frame[column.made_of[0]].fillna("").str.len().max()) / _LETTERS))


_FORMATS = {"percent": PERCENT, "points": "%+.1f points"}
"""printf formats of shares, which are numbers in percent then."""


def _picked(key: str, pick: Callable[[int], None]) -> None:
    """Report the chosen line; nothing if a choice was undone."""
    for line in st.session_state[key].selection.rows:
        pick(line)


def words_added(frame: pd.DataFrame, columns: tuple[Column, ...]) -> pd.DataFrame:
    """Return the frame with an additional column for all texts that are displayed differently."""
    texts: dict[str, list[Any]] = {}
    for column in (column for column in columns if not column.digits):
        # A missing value stays missing: a dash would be one more word to sort.
        cells = [None if line[0] == NOT_KNOWN else line[0] for line in written(frame, (column,))]
        empty = frame[column.made_of[0]].tolist() if not column.made_of[1:] else cells
        texts[_place(column)] = [old if cell is None else cell for cell, old in zip(cells, empty, strict=True)]
    return frame.assign(**texts)


def in_percent(frame: pd.DataFrame, columns: tuple[Column, ...]) -> pd.DataFrame:
    """Return the frame with its shares in percent, for columns with one format in place of a text per cell."""
    shares = [name for column in columns if column.digits in _FORMATS for name in column.numbers]
    return frame.assign(**{name: 100 * frame[name] for name in shares})


def styled(frame: pd.DataFrame, columns: tuple[Column, ...], bold: tuple[int, ...]) -> Styler:
    """Return the frame with every number formatted as in the report, and the most important lines marked."""
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
    """Group lines in which equal values have equal texts, with the text of each value: few calls, not one per cell."""
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


def _settings(
    column: Column, first: bool, whole: bool, means: Mapping[str, str | None], fit: FittedColumns | None
) -> Iterator[tuple[str, Any]]:
    """Yield the display settings of a column's parts, with their meanings; the first stays in place while scrolling."""
    hidden = fit is not None and column.heading in fit.hidden
    if not column.digits:
        width: Any = "large" if column.lines > 1 else None
        setting = st.column_config.Column(
            column.heading,
            pinned=first or None,
            width=width if fit is None else fit.widths.get(column.heading, width),
            help=means[column.made_of[0]],
        )
        yield _place(column), {**setting, "hidden": hidden}
    for name, heading in column.headings().items():
        # A format would override the cells' texts.
        form = None if whole else _FORMATS.get(column.digits, column.digits)
        setting = st.column_config.NumberColumn(heading, format=form, help=means[name])
        yield name, {**setting, "hidden": hidden}


SHORT_KEY = 180
"""Maximum length of a key of marks that is shown below its figure; a longer one is only in the menu."""
PATIENCE = 1.0
"""Seconds until a progress bar appears."""
MOST_TURNED = 4
"""Maximum number of models shown side by side in a table with a column per model; more get a table that scrolls."""


def follow(name: str, titles: Collection[str]) -> None:
    """Focus what was clicked in the figure called ``name``, one of the models by these titles.

    Called before the page is built, which has to know it.
    """
    click = waiting(name)
    found = {} if click is None else Focus.chosen(click.record)
    if found and found.get("model", "") in (*titles, ""):
        widgets.change(**found)


def by_model(scene: Scene) -> bool | None:
    """Return the ``turned`` option of a table of many measures: a column per model, if these fit side by side."""
    return True if len(scene.models.shown) <= MOST_TURNED else None


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
    tucked: bool = False,
    pick: Callable[[int], None] | None = None,
    linked: Callable[[Any], Selection] | None = None,
    bar: Any = None,
    least: int = 0,
) -> Click | None:
    """Draw an exhibit with its chosen options; return a click on its figure.

    - ``name`` identifies one of several of a kind.
    - ``title`` replaces its own (None: no heading).
    - ``folded`` puts the table into an expander below the figure.
    - ``turned`` draws the table as text with its best numbers in bold, and with its lines as columns if True. By
      default it is a sortable grid.
    - ``limits`` fix some of its options for this place, which then have no control.
    - ``tucked`` puts the controls into the menu next to the headline.
    - ``pick`` receives the clicked line of the table.
    - ``linked`` returns the choices that a line of a text table links to.
    - ``bar`` is the place of the progress bar, by default the current one.
    - ``least`` lines of a grid are on screen, close together; by default as many as have room.
    """
    recipe, fixed = widgets.selection().exhibit(key), limits or {}
    exhibit: Exhibit = EXHIBITS.make(key, **{**dict(recipe.params), **fixed})
    name = name or key
    with st.container(key=f"exhibit-head-{name}", horizontal=True, wrap=False, gap="small"):
        above = st.container(width="stretch", gap="small")
        beside, corner = st.empty(), st.empty()
    if title is not None:
        above.markdown(f"#### {markdown_plain(title or EXHIBITS[key].title)}")
    draw = partial(_controls, exhibit, recipe, scene, name, fixed) if controls and EXHIBITS[key].params else None
    if draw is not None and not tucked:
        with exhibit_controls(name):
            draw()
    with progress(scene, bar) as scene:
        try:
            exhibit.check(scene)
        except NotAnswerable as why:
            sample_offered.needed(str(why), scene, name)
            _menu_of_controls(corner, name, draw if tucked else None)
            return None
        try:
            frame, words, drawn = scene.get(exhibit.table(scene)), exhibit.words(scene), exhibit.figure(scene)
            figure = None if drawn is None else scene.get(drawn)
        except NotAnswerable as why:
            st.info(markdown_plain(f"{begun(str(why))}."))
            _menu_of_controls(corner, name, draw if tucked else None)
            return None
    if words.headline:
        finding, *more = (markdown_plain(line) for line in words.headline)
        above.markdown("\n\n".join((f"##### {finding}", *more)))
    click = None
    if figure is not None:
        height = figure.layout.height or exhibit.height
        click = chart(figure, key=name, label=words.alt, height=height, focus=scene.focus.place)
        if words.headline and 0 < len(words.key) <= SHORT_KEY and not least:
            st.caption(markdown_plain(words.key))
    with st.expander("The numbers") if folded else st.container():
        plain = exhibit.static or turned is not None
        _written(exhibit, frame, name, bool(turned), linked) if plain else grid(exhibit, frame, name, pick, least)
        _marks_told(exhibit, frame)
    if READING in words.caption:  # the same below many tables, and longer than what is particular to this one
        words = replace(words, caption=words.caption.replace(f" {READING}", ""), notes=(READING, *words.notes))
    # A headline is the one sentence of its picture; how its marks are read is in the menu, and below it in a line.
    notes = tuple(filter(None, (words.below_figure, *words.notes))) if words.headline else words.notes
    if not words.headline:
        below(replace(words, notes=()))
    terms = *exhibit.terms_in(scene), *named_in(words.below_figure, *words.headline, *words.notes)
    if least:  # in the detail pane rows are a click away
        with beside:
            rows = f"Download {count(len(frame))} row{'' if len(frame) == 1 else 's'}"
            widgets.download(rows, f"{name}.csv", lambda: csv_bytes(frame), key=f"rows.{name}")
    with menu(corner, name):
        if draw is not None and tucked:
            draw()
        take_home(exhibit, scene, frame, name, notes, tuple(dict.fromkeys(terms)))
    return click


def exhibit_controls(name: str) -> DeltaGenerator:
    """Return the row of the controls of an exhibit, their fields in one line whatever their labels need."""
    return st.container(key=f"exhibit-controls-{name}", horizontal=True, vertical_alignment="bottom")


@contextmanager
def menu(place: Any, name: str) -> Iterator[None]:
    """Draw the menu of an exhibit: what can be done with it, and how to read it."""
    with widgets.popover(place, "Menu", key=f"menu-{name}", icon=":material/more_horiz:", type="tertiary"):
        yield


def _menu_of_controls(place: Any, name: str, draw: Callable[[], None] | None) -> None:
    """Draw the menu of an exhibit without an answer: another option may have one."""
    if draw is not None:
        with menu(place, name):
            draw()


def _controls(exhibit: Exhibit, recipe: Recipe, scene: Scene, name: str, fixed: Mapping[str, Any]) -> None:
    """Draw the options of an exhibit that have an effect here and are not ``fixed``."""
    shown = bool(scene.models.shown)
    wanted = exhibit.used_in(scene) if shown else exhibit.used
    used = [param.name for param in EXHIBITS[recipe.key].params] if wanted is None else wanted
    widgets.recipe_controls(
        recipe,
        key=f"exhibit.{name}",
        changed=widgets.change_exhibit,
        class_names=scene.class_names,
        only=[option for option in used if option not in fixed],
        without=exhibit.of_rows if shown and scene.undivided else {},
    )


def below(words: Words) -> None:
    """Draw the notes below a figure or a table."""
    for text in filter(None, (words.below_figure, *words.notes)):
        st.caption(markdown_plain(text))


@contextmanager
def progress(scene: Scene, place: Any = None) -> Iterator[Scene]:
    """Yield the scene under a progress bar, which appears only after a short delay.

    A short-lived bar would move what the user is about to click.
    """
    bar: Any = None if place is None else place.progress(0.0)  # requested work has a bar at once
    place = place or st.empty()
    start = time.monotonic()

    def tell(what: str, percent: int) -> None:
        nonlocal bar
        place_in_turn = turns.place()
        if place_in_turn is not None and time.monotonic() - start > PATIENCE:
            bar = bar or place.progress(0.0)
            bar.progress(0.0, text=f"{_named(what)} {place_in_turn.sentence}")
        elif percent and time.monotonic() - start > PATIENCE:
            bar = bar or place.progress(0.0)
            bar.progress(min(percent, 100) / 100, text=_named(what))

    try:
        yield replace(scene, progress=tell)
    finally:
        place.empty()


def _named(what: str) -> str:
    """Return the name of a function in words."""
    return re.split(r"[.:]", what)[-1].replace("_", " ")


def _written(
    exhibit: Exhibit, frame: pd.DataFrame, name: str, turned: bool, linked: Callable[[Any], Selection] | None = None
) -> None:
    """Draw the table as text, with a heading for each line, which may be a link; columns of numbers to the right."""
    columns = exhibit.columns(frame)
    cells = [[markdown_plain(cell) for cell in line] for line in written(frame, columns)]
    for i, j in best_cells(frame, columns):
        cells[i][j] = f"**{cells[i][j]}**"
    for line, row in zip(cells, frame.itertuples(), strict=True):
        if linked is not None:
            line[0] = f"[{line[0]}](?{urlencode(widgets.link_query(linked(row)))})"
    headings = [markdown_plain(column.heading) for column in columns[1:]]
    table = pd.DataFrame([line[1:] for line in cells], [line[0] for line in cells], headings)
    # No heading is empty, for those who hear it before each line.
    table = table.rename_axis(markdown_plain(columns[0].heading))
    right = range(len(table)) if turned else [i for i, column in enumerate(columns[1:]) if column.numeric]
    with st.container(key=f"written-{name}{''.join(f'-right{i}-' for i in right)}"):
        st.table(table.T.rename_axis(index="measure", columns=None) if turned else table)


def _marks_told(exhibit: Exhibit, frame: pd.DataFrame) -> None:
    """Draw the explanation of the letters next to intervals, right below the table that has them."""
    if any(column.heading == "mark" for column in exhibit.columns(frame)):
        for text in marked(zip(frame["about"], frame["tested"], strict=True))[1]:
            st.caption(markdown_plain(text))


def take_home(
    exhibit: Exhibit,
    scene: Scene,
    frame: pd.DataFrame,
    name: str,
    notes: tuple[str, ...] = (),
    terms: tuple[str, ...] = (),
) -> None:
    """Draw the export: the table as a file, the Python and the command that recompute it, and notes on reading it."""
    with st.container(key=f"take-home-{name}", gap="small"):
        widgets.download("Download this table (CSV)", f"{name}.csv", lambda: csv_bytes(frame))
        if notes:
            with st.expander("How to read this", key=f"read.{name}"):
                below(Words(notes=notes))
        the_words(*terms, place=name, inside=True)
        with st.expander("Copy as code", icon=":material/code:", key=f"copied.{name}"):
            st.caption(markdown_plain(f"Python, with the library {also_on(EXHIBITS.recipe(exhibit).key)}."))
            st.code(exhibit.python(scene), language="python")
            if scene.models.shown:  # the command is about a file
                st.caption("Command: this table.")
                chosen = widgets.selection().replace(model=scene.focus.model, notion=scene.focus.notion)
                st.code(session.show_line(chosen, EXHIBITS.recipe(exhibit)), language="sh", wrap_lines=True)


def numbers(key: str, scene: Scene, notes: tuple[str, ...] = (), terms: tuple[str, ...] = ()) -> None:
    """Draw the table of an exhibit whose figure is elsewhere, its export, and notes on reading it."""
    exhibit: Exhibit = EXHIBITS.make(key, **dict(widgets.selection().exhibit(key).params))
    frame = scene.get(exhibit.table(scene))
    _written(exhibit, frame, f"menu-{key}", len(frame) <= MOST_TURNED)  # whole: there is no room to scroll in
    _marks_told(exhibit, frame)
    take_home(exhibit, scene, frame, key, notes, terms)
