"""An exhibit on screen: its controls, its figure, its table, its words, and taking all of it home."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from typing import Any
from urllib.parse import urlencode

import pandas as pd
import streamlit as st

from calib_core import NotAnswerable
from calib_core.inference import marked
from calib_core.text import begun
from dashboard import session, widgets
from dashboard.chart import chart, waiting
from dashboard.chart.click import Click
from dashboard.exhibits import EXHIBITS, Exhibit, Words
from dashboard.exhibits.columns import best_cells, written
from dashboard.exhibits.exhibit import also_on
from dashboard.export import csv_bytes
from dashboard.glossary import the_words
from dashboard.selection import Focus, Selection
from dashboard.session import Scene
from dashboard.theme import markdown_plain
from dashboard.views import sample_offered
from dashboard.views.sortable import grid
from dashboard.workers import turns

PATIENCE = 1.0
"""Seconds until a bar says what is being made."""
MOST_TURNED = 4
"""Models beside one another at most where a table has a column a model; more are put into a table that scrolls."""


def follow(name: str, titles: Collection[str]) -> None:
    """Look at what was clicked in the figure called ``name``, one of the models by these titles.

    Called before the page is built, which has to know it.
    """
    click = waiting(name)
    found = {} if click is None else Focus.chosen(click.record)
    if found and found.get("model", "") in (*titles, ""):
        widgets.change(**found)


def by_model(scene: Scene) -> bool | None:
    """How a table of many measures is ``turned``: a column a model, where they are few enough to stand side by side."""
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
) -> Click | None:
    """Draw an exhibit with the options chosen for it; hand back a click on its figure.

    ``name`` tells several of one kind apart; ``title`` replaces its own (None: no heading); ``folded`` puts the table
    into an expander below the figure; ``turned`` writes it out, its best numbers in bold, with its lines as columns
    where it is true, instead of as a grid that can be sorted; ``limits`` fix some of its options for this place, which
    then have no control; ``tucked`` puts the controls behind a button beside the headline; ``pick`` hears which line of
    the table was clicked; ``linked`` gives the choices that a line of a written table is a link to; ``bar`` is the
    place of the progress bar, here where there is none.
    """
    recipe, fixed = widgets.selection().exhibit(key), limits or {}
    exhibit: Exhibit = EXHIBITS.make(key, **{**dict(recipe.params), **fixed})
    name = name or key
    if title is not None:
        st.markdown(f"#### {markdown_plain(title or EXHIBITS[key].title)}")
    above: Any = st
    where: Any = nullcontext()
    if tucked:
        above, beside = st.columns([0.8, 0.2], vertical_alignment="top")
        if not scene.models.shown or exhibit.used_in(scene) != ():
            where = widgets.popover(beside, "Picture", key=f"{name}.options", width="stretch", icon=":material/tune:")
    if controls and EXHIBITS[key].params:
        names, changed = scene.class_names, widgets.change_exhibit
        wanted = exhibit.used_in(scene) if scene.models.shown else exhibit.used
        used = [param.name for param in EXHIBITS[key].params] if wanted is None else wanted
        free = [option for option in used if option not in fixed]
        with where:
            lacking = exhibit.of_rows if scene.models.shown and scene.undivided else {}
            widgets.recipe_controls(
                recipe, key=f"exhibit.{name}", changed=changed, class_names=names, only=free, without=lacking
            )
    with progress(scene, bar) as scene:
        try:
            exhibit.check(scene)
        except NotAnswerable as why:
            sample_offered.needed(str(why), scene, name)
            return None
        try:
            frame, words, drawn = scene.get(exhibit.table(scene)), exhibit.words(scene), exhibit.figure(scene)
            figure = None if drawn is None else scene.get(drawn)
        except NotAnswerable as why:
            st.info(markdown_plain(f"{begun(str(why))}."))
            return None
    if words.headline:
        finding, *more = (markdown_plain(line) for line in words.headline)
        above.markdown("\n\n".join((f"##### {finding}", *more)))
    click = None
    if figure is not None:
        height = figure.layout.height or exhibit.height
        click = chart(figure, key=name, label=words.alt, height=height, focus=scene.focus.place)
    with st.expander("The numbers") if folded else st.container():
        plain = exhibit.static or turned is not None
        _written(exhibit, frame, bool(turned), linked) if plain else grid(exhibit, frame, name, pick)
        _marks_told(exhibit, frame)
    below(replace(words, notes=()))
    _take_home(exhibit, scene, frame, name, words.notes, exhibit.terms_in(scene))
    return click


def below(words: Words) -> None:
    """The words below a figure or a table."""
    for text in filter(None, (words.caption, *words.notes)):
        st.caption(markdown_plain(text))


@contextmanager
def progress(scene: Scene, place: Any = None) -> Iterator[Scene]:
    """The scene under a bar that says what is being made, once that has taken long enough to ask.

    A bar that comes and goes at once would move what somebody is about to click.
    """
    bar: Any = None if place is None else place.progress(0.0)  # what was asked for has a bar at once
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
    """The name of a function in words."""
    return re.split(r"[.:]", what)[-1].replace("_", " ")


def _written(
    exhibit: Exhibit, frame: pd.DataFrame, turned: bool, linked: Callable[[Any], Selection] | None = None
) -> None:
    """The table as readers see it, a heading to each line, which may be a link."""
    columns = exhibit.columns(frame)
    cells = [[markdown_plain(cell) for cell in line] for line in written(frame, columns)]
    for i, j in best_cells(frame, columns):
        cells[i][j] = f"**{cells[i][j]}**"
    for line, row in zip(cells, frame.itertuples(), strict=True):
        if linked is not None:
            line[0] = f"[{line[0]}](?{urlencode(widgets.link_query(linked(row)))})"
    headings = [markdown_plain(column.heading) for column in columns[1:]]
    table = pd.DataFrame([line[1:] for line in cells], [line[0] for line in cells], headings)
    st.table(table.T if turned else table)


def _marks_told(exhibit: Exhibit, frame: pd.DataFrame) -> None:
    """What the letters beside intervals stand for, right below the table that has them."""
    if any(column.heading in ("about", "mark") for column in exhibit.columns(frame)):
        for text in marked(zip(frame["about"], frame["tested"], strict=True))[1]:
            st.caption(markdown_plain(text))


def _take_home(
    exhibit: Exhibit,
    scene: Scene,
    frame: pd.DataFrame,
    name: str,
    notes: tuple[str, ...] = (),
    terms: tuple[str, ...] = (),
) -> None:
    """The table as a file, the Python and the command that make it again, and what to know when reading it."""
    with st.container(horizontal=True, key=f"take-home-{name}"):
        widgets.download("Download this table (CSV)", f"{name}.csv", lambda: csv_bytes(frame))
        with st.popover("Copy as code", icon=":material/code:", key=f"copied.{name}"):
            st.caption(markdown_plain(f"Python, on the library {also_on(EXHIBITS.recipe(exhibit).key)}."))
            st.code(exhibit.python(scene), language="python")
            if scene.models.shown:  # the command is about a file
                st.caption("Command: this table.")
                chosen = widgets.selection().replace(model=scene.focus.model, notion=scene.focus.notion)
                st.code(session.show_line(chosen, EXHIBITS.recipe(exhibit)), language="sh", wrap_lines=True)
        the_words(*terms, place=name)
        if notes:
            with st.popover("How to read this", key=f"read.{name}"):
                below(Words(notes=notes))


def numbers(key: str, scene: Scene) -> None:
    """The table of an exhibit whose figure stands elsewhere, and the ways to take it home."""
    exhibit: Exhibit = EXHIBITS.make(key, **dict(widgets.selection().exhibit(key).params))
    frame = scene.get(exhibit.table(scene))
    _written(exhibit, frame, len(frame) <= MOST_TURNED)  # whole: there is no room to scroll in
    _marks_told(exhibit, frame)
    _take_home(exhibit, scene, frame, key)
