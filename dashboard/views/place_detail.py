"""Details of a class, or of a cell of the triangle: words first, then bins, confusions and rows.

Also the overview's list of the largest significant gaps, with links to each and to all.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pandas as pd
import streamlit as st

from calib_core import NotAnswerable
from calib_core.columns.conditions import Slice
from calib_core.slices.findings import BIN, CELL, OVERALL, SLICE
from calib_core.text import count, in_percent
from dashboard import widgets
from dashboard.chart import chart
from dashboard.exhibits import EXHIBITS, Exhibit
from dashboard.exhibits.columns import best_cells, written
from dashboard.exhibits.findings import Findings
from dashboard.exhibits.single_class import Bias
from dashboard.exhibits.stars import bin_of, stars
from dashboard.navigation import VIEWS
from dashboard.selection import NOWHERE
from dashboard.session import Scene
from dashboard.session.model_looks import mark
from dashboard.theme import markdown_plain
from dashboard.views.card import named
from dashboard.views.exhibited import exhibited, follow

BINS = "class-bins"
"""Key of the picture of a class's bins, whose lines can be clicked."""
ROWS = 5
"""Number of rows on screen in the detail pane; more are reached by scrolling."""
CONFUSIONS = 5
"""Number of confused classes that are listed."""


def of_class(scene: Scene) -> None:
    """Draw the focused class; NotAnswerable if the models on show have none."""
    if scene.focus.label is not None:
        _said(Bias().looked_at(scene))
        exhibited("class-rows", scene, title=None, least=ROWS)
        return
    exhibit: Exhibit = EXHIBITS.make("class")
    frame, words = scene.get(exhibit.table(scene)), exhibit.words(scene)
    _said(words.caption)
    lines(exhibit, scene, frame)
    _confusions(scene)
    _bins(scene)
    title = "Its rows" if scene.focus.bin is None else "Its rows in this bin"
    exhibited("class-rows", scene, title=title, least=ROWS)


def of_counts(scene: Scene) -> None:
    """Draw the focused bin if there are only counts: its line of the diagram's table."""
    frame = scene.get(stars(scene)).frame()
    line = frame[frame["bin"] == bin_of(scene)].iloc[0]
    says, right = in_percent(line["confidence"]), in_percent(line["accuracy"])
    words = f"mean confidence {says}, accuracy {right}"
    if scene.claims == "event":
        words = f"mean predicted risk {says}, observed frequency {right}"
    st.markdown(markdown_plain(f"{count(int(line['count']))} rows: {words}."))


def lines(exhibit: Exhibit, scene: Scene, frame: pd.DataFrame) -> None:
    """Draw one line per model, with its symbol; the best numbers in bold."""
    columns, best = exhibit.columns(frame), best_cells(frame, exhibit.columns(frame))
    cells = [[markdown_plain(cell) for cell in line] for line in written(frame, columns)]
    for i, j in best:
        cells[i][j] = f"**{cells[i][j]}**"
    index = [f"{mark(scene.looks[title])} {markdown_plain(title)}" for title in frame["model"]]
    headings = [markdown_plain(column.heading) for column in columns[1:]]
    st.table(pd.DataFrame([line[1:] for line in cells], index, headings).rename_axis("model"))


def of_finding(scene: Scene) -> None:
    """Draw the finding about the focused place: the clicked one first."""
    _said(Findings().looked_at(scene))


def _said(text: str) -> None:
    if text:
        st.markdown(markdown_plain(text))


def _confusions(scene: Scene) -> None:
    exhibit: Exhibit = EXHIBITS.make("class-confusions")
    frame = scene.get(exhibit.table(scene))
    _said(exhibit.words(scene).caption)
    if len(frame) > 1:
        columns = exhibit.columns(frame)
        with st.expander("Confused with"):
            lines = [[markdown_plain(cell) for cell in line] for line in written(frame.head(CONFUSIONS), columns)]
            st.table(pd.DataFrame([line[1:] for line in lines], [line[0] for line in lines], ["rows", "share"]))


def _bins(scene: Scene) -> None:
    exhibit: Exhibit = EXHIBITS.make("class-bins")
    if not scene.get(exhibit.table(scene))["count"].sum() > 0:
        return
    words, wanted = exhibit.words(scene), exhibit.figure(scene)
    assert wanted is not None
    figure = scene.get(wanted)
    st.markdown("**Its bins**")
    chart(figure, key=BINS, label=words.alt, height=figure.layout.height, focus={"bin": scene.focus.bin})
    st.caption(markdown_plain(words.below_figure))


def follow_bins(titles: tuple[str, ...]) -> None:
    """Focus the bin of the class that was clicked in the pane."""
    follow(BINS, titles)


def of_cell(scene: Scene) -> None:
    """Draw the focused cell."""
    selection = widgets.selection()
    part = min(selection.part, len(selection.partitions) - 1)
    limits = {"partition": selection.partitions[part]}
    exhibit: Exhibit = EXHIBITS.make("cell-rows", **limits)
    words = exhibit.words(scene)
    _said(words.caption)
    for note in words.notes:
        _said(note)
    exhibited("cell-rows", scene, title=None, controls=False, limits=limits, least=ROWS)


LISTED = 5
"""Number of sentences on the overview."""


def draw(scene: Scene) -> None:
    """Draw the list for the focused model; nothing if no place can be focused."""
    seen, exhibit = scene.focused(model=scene.model.title), Findings()
    try:
        worst, words = exhibit.worst(seen, LISTED), exhibit.words(seen)
    except NotAnswerable:
        return
    first, counts = words.headline
    with st.container(border=True, key="card-places"):
        leads = "all rows first, then" if len(worst) and worst["kind"].iloc[0] == OVERALL else "sorted"
        classes = "; a class before its bins" if len(worst) and (worst["kind"] == CELL).any() else ""
        st.caption(f"{named('What stands out', scene)} ({leads} by size of gap{classes})")
        if not len(worst):
            st.markdown(f"**{markdown_plain(first)}**")
        for i, line in enumerate(worst.to_dict("records")):
            sentence, way = st.columns([0.85, 0.15], vertical_alignment="center")
            sentence.markdown(markdown_plain(line["finding"]))
            where = place(line, seen)
            if where["view"] in VIEWS:
                with way:
                    leading(f"place-{i}", "Look closer", **where)
        st.markdown(markdown_plain(counts))
        leading("findings", "All findings", **NOWHERE, view="findings", model=seen.model.title)


def place(line: Mapping[Any, Any], scene: Scene) -> dict[str, Any]:
    """Return the choices that focus the place of a finding."""
    view = {BIN: "reliability", OVERALL: "reliability", SLICE: "slices"}.get(line["kind"], "findings")
    b = line["bin"] if line["kind"] == BIN or Findings().same_bins(scene) else None
    where: dict[str, Any] = {"view": view, "model": scene.model.title, "code": line["code"], "bin": b}
    if line["kind"] == SLICE:
        # The filter stays unchanged: the slice is shown among those of its column.
        (condition, *_) = Slice.read(str(line["slice"])).conditions
        by = EXHIBITS.described("slices", by=condition.column)
        where["exhibits"] = widgets.selection().with_exhibit(by).exhibits
    return {**NOWHERE, **where}


def leading(key: str, label: str, /, **where: Any) -> None:
    """Draw a button that leads to exactly these choices."""
    button(key, label, lambda: widgets.change(**where))


def button(key: str, label: str, lead: Callable[[], None]) -> None:
    """Draw a button that looks like a link."""
    st.button(
        label,
        key=f"way.{key}",
        type="tertiary",
        icon=":material/arrow_forward:",
        icon_position="right",
        on_click=lead,
    )
