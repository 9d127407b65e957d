"""What the detail pane says of a class, or of a cell of the triangle: words first, then bins, confusions and rows."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from calib_core.text import count, in_percent
from dashboard import widgets
from dashboard.chart import chart
from dashboard.exhibits import EXHIBITS, Exhibit
from dashboard.exhibits.columns import best_cells, written
from dashboard.exhibits.findings import Findings
from dashboard.exhibits.single_class import Bias
from dashboard.exhibits.stars import bin_of, stars
from dashboard.model_marks import mark
from dashboard.session import Scene
from dashboard.theme import markdown_plain
from dashboard.views.exhibited import exhibited, follow

BINS = "class-bins"
"""Key of the picture of a class's bins, whose lines can be clicked."""
CONFUSIONS = 5
"""Classes it is taken for that are listed."""


def of_class(scene: Scene) -> None:
    """The class looked at; NotAnswerable where the models on show have none."""
    if scene.focus.label is not None:
        _said(Bias().looked_at(scene))
        exhibited("class-rows", scene, title=None)
        return
    exhibit: Exhibit = EXHIBITS.make("class")
    frame, words = scene.get(exhibit.table(scene)), exhibit.words(scene)
    _said(words.caption)
    lines(exhibit, scene, frame)
    _confusions(scene)
    _bins(scene)
    st.markdown("**Its rows**" if scene.focus.bin is None else "**Its rows in this bin**")
    exhibited("class-rows", scene, title=None)


def of_counts(scene: Scene) -> None:
    """The bin looked at where rows are not known one by one: what its line of the diagram's table says."""
    frame = scene.get(stars(scene)).frame()
    line = frame[frame["bin"] == bin_of(scene)].iloc[0]
    says, right = in_percent(line["confidence"]), in_percent(line["accuracy"])
    words = f"says {says}, right {right}"
    if scene.claims == "event":
        words = f"mean predicted risk {says}, observed frequency {right}"
    st.markdown(markdown_plain(f"{count(int(line['count']))} rows: {words}."))


def lines(exhibit: Exhibit, scene: Scene, frame: pd.DataFrame) -> None:
    """A line a model, with its mark; the best numbers in bold."""
    columns, best = exhibit.columns(frame), best_cells(frame, exhibit.columns(frame))
    cells = [[markdown_plain(cell) for cell in line] for line in written(frame, columns)]
    for i, j in best:
        cells[i][j] = f"**{cells[i][j]}**"
    index = [f"{mark(scene.looks[title])} {markdown_plain(title)}" for title in frame["model"]]
    headings = [markdown_plain(column.heading) for column in columns[1:]]
    st.table(pd.DataFrame([line[1:] for line in cells], index, headings).rename_axis("model"))


def of_finding(scene: Scene) -> None:
    """What the view of findings says of the place looked at: the question that was clicked, before all others."""
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
        with st.expander("What it is taken for"):
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
    st.caption(markdown_plain(words.caption))


def follow_bins(titles: tuple[str, ...]) -> None:
    """Look at the bin of the class that was clicked in the pane."""
    follow(BINS, titles)


def of_cell(scene: Scene) -> None:
    """The cell looked at."""
    selection = widgets.selection()
    part = min(selection.part, len(selection.partitions) - 1)
    limits = {"partition": selection.partitions[part]}
    exhibit: Exhibit = EXHIBITS.make("cell-rows", **limits)
    words = exhibit.words(scene)
    _said(words.caption)
    for note in words.notes:
        _said(note)
    exhibited("cell-rows", scene, title=None, controls=False, limits=limits)
