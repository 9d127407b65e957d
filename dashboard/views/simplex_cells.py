"""The recalibration diagrams of the simplex view: one per partition, their numbers, and a cell taken apart."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from calib_core import BINNINGS, Estimate, NotAnswerable, Recipe, figures, row_table
from calib_core._text import count, error
from calib_core.diagrams import RecalibrationDiagram
from calib_core.figures.recalibration import speaking
from calib_core.inference import EstimateLine, plain_line, sharpen
from dashboard import compute, session, widgets
from dashboard.chart import chart, waiting
from dashboard.export import csv_bytes
from dashboard.lines import AT_LEVEL, below, marks
from dashboard.selection import Selection
from dashboard.session import Model
from dashboard.theme import markdown_plain
from dashboard.views import rows
from dashboard.views.copied import copied

_CANONICAL = {"ece": "L1", "rmsce": "L2"}
"""Estimators of the canonical error shown for every partition, and the norms they stand for."""

HEIGHT = 450
AT_ONCE = 20_000
"""Up to so many test rows intervals and noise floors are made without being asked for."""

Drawn = tuple[Recipe, RecalibrationDiagram]


def draw(model: Model) -> None:
    """Draw every ticked partition of a model's predictions, then what can be said about the cells."""
    try:
        diagrams = [(scheme, compute.recalibration(model, scheme)) for scheme in widgets.selection().partitions]
    except NotAnswerable as why:
        st.warning(f"There are no cells to draw: {markdown_plain(why)}.", icon=":material/warning:")
        return
    if not diagrams:
        st.info("Tick a partition: the triangle cut into its cells appears here.")
        return
    _follow_click(diagrams)
    selection = widgets.selection()
    places = _side_by_side(selection, model, diagrams)
    for part, (place, drawn) in enumerate(zip(places, diagrams, strict=True)):
        with place:
            _about(selection, model, part, *drawn)
    _taken_apart(selection, model, diagrams)
    _validity(model, diagrams)


def _follow_click(diagrams: Sequence[Drawn]) -> None:
    """A click on a mark chooses its partition and cell."""
    for part, (_, diagram) in enumerate(diagrams):
        click = waiting(_key(part))
        cell = None if click is None else click.record.get("cell")
        if isinstance(cell, int) and cell < len(diagram.count):
            widgets.change(part=part, cell=cell)


def _key(part: int) -> str:
    return f"simplex-{part}"


def _side_by_side(selection: Selection, model: Model, diagrams: Sequence[Drawn]) -> list[DeltaGenerator]:
    """The diagrams two in a row, one alone beside its numbers; places are left for these, which take longer."""
    places = []
    for part, (picture, beside) in enumerate(_places(len(diagrams))):
        scheme, diagram = diagrams[part]
        with picture:
            st.markdown(f"##### {markdown_plain(scheme.title)}")
            chosen = _chosen(selection, part, diagram)
            figure = figures.recalibration(diagram, min_rows=selection.min_rows, selected=chosen)
            chart(figure, key=_key(part), label=_in_words(scheme, diagram, selection.min_rows), height=HEIGHT)
        with beside:
            places.append(st.container())
            _settings(selection, part)
            _copied(model, _diagram(scheme), str(part))
    st.caption(
        "Points: test rows, in the colour of their cell; ten colours, taken round. Arrow: from the mean prediction of "
        "a cell's test rows to the class frequencies of its calibration rows. Click into a cell to take it apart. "
        "L1: the sum of the three absolute differences between frequencies and mean prediction of the test rows (at "
        "most 2), on average over rows; L2: the root of the average sum of their squares."
    )
    return places


def _diagram(scheme: Recipe) -> str:
    """What `compute.recalibration` does, in Python."""
    return f"cc.diagrams.recalibration({scheme.python()}, cal.apply(fit), cal.apply(test)).frame()"


def _copied(model: Model, shown: str, key: str) -> None:
    source = dataclasses.replace(model.source, like=None)
    triangle = dataclasses.replace(widgets.selection(), source=source, three=source.corners)
    copied(shown, section="simplex", key=f"simplex.{key}", of=model, selection=triangle)


def _places(n: int) -> Iterator[tuple[DeltaGenerator, DeltaGenerator]]:
    """Where each of n diagrams stands, and where its numbers do: beside a single one, below one of several."""
    if n == 1:
        picture, beside = st.columns([0.62, 0.38], gap="medium", vertical_alignment="center")
        yield picture, beside
        return
    for start in range(0, n, 2):
        for column in st.columns(2, gap="medium")[: n - start]:
            yield column, column


def _chosen(selection: Selection, part: int, diagram: RecalibrationDiagram) -> int | None:
    """The chosen cell where it is one of this diagram."""
    cell = selection.cell
    return cell if part == selection.part and cell is not None and cell < len(diagram.count) else None


def _settings(selection: Selection, part: int) -> None:
    """The parameters of one partition."""
    recipe = selection.partitions[part]

    def changed(new: Recipe) -> None:
        held = widgets.selection().partitions
        widgets.change(partitions=tuple(dict.fromkeys((*held[:part], new, *held[part + 1 :]))), cell=None)

    with st.expander("Settings"):
        entry = BINNINGS[recipe.key]
        st.caption(markdown_plain(entry.caption) + (f" ({markdown_plain(entry.reference)})" if entry.reference else ""))
        widgets.recipe_controls(recipe, key=f"simplex.{part}.{recipe.key}", changed=changed)


def _in_words(scheme: Recipe, diagram: RecalibrationDiagram, min_rows: int) -> str:
    """A recalibration diagram for people who do not see it."""
    held = speaking(diagram, min_rows)
    length = np.abs(diagram.target - diagram.mean).sum(axis=1)[held]
    longest = f"; the longest of them changes the probabilities by {error(float(length.max()))}" if held.any() else ""
    return f"{scheme.title}: {len(held)} cells with test rows, {int(held.sum())} arrows{longest}."


def _about(selection: Selection, model: Model, part: int, scheme: Recipe, diagram: RecalibrationDiagram) -> None:
    """How many cells there are, and the canonical error on them with what surrounds it."""
    held = speaking(diagram, selection.min_rows)
    said = [f"{count(len(held))} cells with test rows, {int((~held).sum()) or 'none'} of them without an arrow."]
    estimates = []
    for key, norm in _CANONICAL.items():
        try:
            estimates.append((norm, compute.estimate(model, "canonical", key, scheme)))
        except NotAnswerable as why:
            said.append(f"Canonical error, {norm}: {markdown_plain(why)}.")
    every = [made for _, made in estimates]
    if len(diagram.cells) <= AT_ONCE:
        sharpen(every)
    lines = [(norm, _line(selection, made)) for norm, made in estimates]
    known = [line for _, line in lines]
    for (norm, line), mark in zip(lines, marks(known), strict=True):
        said.append(f"**Canonical error, {norm}: {_told(line)}**{_around(line)}{markdown_plain(mark)}.")
    st.caption(" ".join([*said, *map(markdown_plain, below(known))]))
    if not all(map(compute.sharpened, every)):
        st.button("Intervals and noise floors", key=f"simplex.sharpen.{part}", on_click=sharpen, args=(every,))


def _line(selection: Selection, made: Estimate) -> EstimateLine:
    """The estimate's line, with its interval and noise floor once they are made."""
    return compute.line(made, selection) if compute.sharpened(made) else plain_line(made)


def _told(line: EstimateLine) -> str:
    """The estimate that the interval is about, else the value."""
    return line.written(line.value if line.point is None else line.point)


def _around(line: EstimateLine) -> str:
    """The interval, the value by the formula and the noise floor, once they are made."""
    if line.point is None:
        return ""
    value, floor = line.written(line.value), line.written(line.floor)
    return f" ({AT_LEVEL} {line.interval}; value by the formula {value}, noise floor {floor})"


def _taken_apart(selection: Selection, model: Model, diagrams: Sequence[Drawn]) -> None:
    """All cells of one partition as a table, and the rows of the chosen one."""
    st.markdown("#### Cells, and the rows of one")
    part = min(selection.part, len(diagrams) - 1)
    _, diagram = diagrams[part]
    first, second, _ = st.columns([0.3, 0.4, 0.3])
    parts = range(len(diagrams))
    first.selectbox(
        "Partition",
        parts,
        format_func=lambda i: f"{i + 1}: {diagrams[i][0].title}",
        **widgets.tied_to(parts, "simplex.part", part, lambda i: widgets.change(part=i, cell=None)),
    )
    chosen = _chosen(selection, part, diagram)
    cells = range(len(diagram.count))
    second.selectbox(
        "Cell",
        cells,
        format_func=lambda b: f"{b}: {diagram.places[b]}",
        placeholder="click into one above, or choose",
        **widgets.tied_to(cells, "simplex.cell", chosen, lambda b: widgets.change(part=part, cell=b)),
    )
    _table(model, *diagrams[part])
    if chosen is None:
        st.info("Click into a cell of a triangle: its rows appear here.")
        return
    predictions = compute.judged(model)
    table = row_table(predictions, diagram.rows(chosen), session.parts(model.source).test_rows, probabilities=True)
    title = f"Rows of cell {chosen}, {diagram.places[chosen]}"
    rows.show(table, title, key="simplex.rows", file_name="rows-of-cell.csv")


def _table(model: Model, scheme: Recipe, diagram: RecalibrationDiagram) -> None:
    table = cell_table(diagram)
    numbers = [name for name in table.columns if pd.api.types.is_float_dtype(table[name])]
    whole = ("count", "fit_count")
    st.dataframe(
        table,
        key="simplex.table",
        hide_index=True,
        height=min(widgets.table_height(len(table)), 290),
        column_config={
            name: st.column_config.NumberColumn(name, format="%.6g" if name in whole else "%.4f") for name in numbers
        },
    )
    st.caption(
        "count, mean: test rows and their mean prediction. fit_count, target: calibration rows and their class "
        "frequencies. off by: sum of the absolute differences of the two. bound: how far, in the same sum, the target "
        f"can be from the truth of this one cell with probability {1 - diagram.alpha:.0%}, from the number of its "
        "calibration rows alone (the better of the Bretagnolle-Huber-Carol and Weissman bounds)."
        + (
            " No bound holds here: rows have weights or tie on the cells' edges."
            if np.isnan(diagram.bound).any()
            else ""
        )
    )
    with st.container(horizontal=True):
        widgets.download("Download these cells (CSV)", "cells.csv", lambda: csv_bytes(table))
        _copied(model, _diagram(scheme), "table")


def cell_table(diagram: RecalibrationDiagram) -> pd.DataFrame:
    """The diagram's frame with the cells' places, class names in the place of numbers, and the arrows' lengths."""
    frame = diagram.frame()
    frame.insert(1, "place", list(diagram.places))
    frame.insert(4, "off by", np.abs(diagram.target - diagram.mean).sum(axis=1))
    names = enumerate(diagram.class_names)
    return frame.rename(columns={f"{what}_{j}": f"{what} {name}" for j, name in names for what in ("mean", "target")})


def _validity(model: Model, diagrams: Sequence[Drawn]) -> None:
    """Base model and the model recalibrated cell by cell, on the same cells."""
    st.markdown("#### Validity: how far off are how many rows")
    plots = []
    for scheme, _ in diagrams:
        try:
            pair = compute.canonical_validity(model, scheme)
        except NotAnswerable as why:
            st.caption(f"{markdown_plain(scheme.title)}: {markdown_plain(why)}.")
            continue
        plots += [(f"{model.title}, {scheme.title}", pair.before), (f"Recalibrated, {scheme.title}", pair.after)]
    if plots:
        label = "Share of test rows whose cell is off by at most epsilon in L1, before and after recalibration."
        chart(figures.validity(dict(plots)), key="simplex-validity", label=label)
        st.caption(
            "Off by: L1 distance between what a cell's test rows were told on average and what they turned out to be."
        )
        _copied(model, f"[{', '.join(_pair(scheme) for scheme, _ in diagrams)}]", "validity")


def _pair(scheme: Recipe) -> str:
    """What `compute.canonical_validity` does, in Python."""
    after = f"{compute.by_cell(scheme).python()}.fit_on(cal.apply(fit)).apply(cal.apply(test))"
    return f"cc.diagrams.canonical_validity(cal.apply(test), {after}, {scheme.python()}, cal.apply(fit)).frame()"
