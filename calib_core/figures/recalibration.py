"""The recalibration diagram of three classes: rows coloured by cell, an arrow from what a cell says to what happens."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import NDArray

from calib_core._text import count, error, plain
from calib_core.diagrams import RecalibrationDiagram
from calib_core.diagrams.calibration_map import small_triangles
from calib_core.figures.look import CELLS, REFERENCE, finished
from calib_core.figures.marks import records
from calib_core.figures.raster import cloud
from calib_core.figures.shown import draws
from calib_core.figures.triangle import arrow_traces, arrows, frame_traces, image, panel_axes, to_xy, with_gaps

MARKS = 250
"""Rows that can be pointed at, at most; all others are in the picture below them."""
PLACES = 16
"""Places along a side that can be pointed at, whether a row lies there or not."""

CELL_HOVER = "%{text}<extra></extra>"


@draws(RecalibrationDiagram)
def recalibration(diagram: RecalibrationDiagram, *, min_rows: int = 10, selected: int | None = None) -> go.Figure:
    """Test rows in ten colours by cell, cell edges, and an arrow per cell from its mean to its recalibrated vector.

    Cells with fewer than ``min_rows`` test or calibration rows get no arrow. A mark's record
    has its ``cell``, a position in the diagram's arrays; ``selected`` is such a position, where it has that cell.
    """
    arrowed = diagram.holding(min_rows)
    path = arrows(to_xy(diagram.mean[arrowed]), to_xy(diagram.target[arrowed]))
    figure = go.Figure(frame_traces(diagram.class_names))
    figure.add_trace(_edges(diagram))
    if selected is not None and selected < len(diagram.outlines):
        figure.add_trace(_chosen(diagram, selected))
    texts = [_in_words(diagram, b) for b in range(len(diagram.count))]
    figure.add_trace(_rows(diagram, texts))
    figure.add_trace(_places(diagram, texts))
    figure.add_traces(arrow_traces(path))
    figure.add_trace(_means(diagram, arrowed, texts))
    return finished(
        figure,
        **panel_axes(0),
        images=[image(cloud(to_xy(diagram.points), diagram.cells, CELLS))],
        margin={"l": 8, "r": 8, "t": 8, "b": 8},
        showlegend=False,
        uirevision=f"recalibration {diagram.title}",
        height=520,
    )


def _edges(diagram: RecalibrationDiagram) -> go.Scatter:
    lines = with_gaps([_closed(polygon) for cell in diagram.all_outlines for polygon in cell])
    return _line(lines, "cells", {"color": REFERENCE, "width": 1})


def _chosen(diagram: RecalibrationDiagram, b: int) -> go.Scatter:
    lines = with_gaps([_closed(polygon) for polygon in diagram.outlines[b]])
    return _line(lines, "chosen cell", {"color": CELLS[b % len(CELLS)], "width": 4})


def _closed(polygon: NDArray[np.float64]) -> NDArray[np.float64]:
    return to_xy(np.concatenate([polygon, polygon[:1]]))


def _line(path: NDArray[np.float64], name: str, line: dict[str, object]) -> go.Scatter:
    return go.Scatter(
        x=path[:, 0], y=path[:, 1], mode="lines", name=name, line=line, hoverinfo="skip", showlegend=False
    )


def _rows(diagram: RecalibrationDiagram, texts: Sequence[str]) -> go.Scatter:
    """Some rows of every cell, unseen: what the pointer finds."""
    chosen = _some(diagram.cells, MARKS)
    return _unseen("rows", to_xy(diagram.points[chosen]), diagram.cells[chosen], texts)


def _places(diagram: RecalibrationDiagram, texts: Sequence[str]) -> go.Scatter:
    """Places all over the cells that hold rows, unseen: a click well inside a cell finds one of its own."""
    places = to_xy(small_triangles(PLACES).mean(axis=1))
    cells = cells_at(places, diagram)
    return _unseen("places", places[cells >= 0], cells[cells >= 0], texts)


def cells_at(places: NDArray[np.float64], diagram: RecalibrationDiagram) -> NDArray[np.intp]:
    """Position of the cell around each place (m, 2), -1 where none with rows is."""
    found = np.full(len(places), -1, dtype=np.intp)
    for b, polygons in enumerate(diagram.outlines):
        for polygon in polygons:
            corners = to_xy(polygon)
            side, away = np.roll(corners, -1, axis=0) - corners, places[:, None] - corners
            turn = side[:, 0] * away[..., 1] - side[:, 1] * away[..., 0]
            # All on one side; a cell that is a point has no side.
            within = (turn >= 0).all(axis=1) | (turn <= 0).all(axis=1)
            found[within & (turn != 0).any(axis=1)] = b
    return found


def _unseen(name: str, place: NDArray[np.float64], cells: NDArray[np.intp], texts: Sequence[str]) -> go.Scatter:
    """Marks that say which cell they lie in."""
    return go.Scatter(
        x=place[:, 0].astype(np.float32),
        y=place[:, 1].astype(np.float32),
        mode="markers",
        name=name,
        marker={"size": 9, "opacity": 0},
        customdata=records(pd.DataFrame({"cell": cells})),
        text=[texts[b] for b in cells.tolist()],
        hovertemplate=CELL_HOVER,
        showlegend=False,
    )


def _some(cells: NDArray[np.intp], most: int) -> NDArray[np.intp]:
    """Positions of up to ``most`` rows, spread over the cells: no cell has more than its part, unless others have less.

    >>> _some(np.array([0, 0, 0, 0, 1]), 2).tolist()
    [0, 4]
    """
    order = np.argsort(cells, kind="stable")
    sizes = np.bincount(cells)
    # The how-manieth row of its cell each row is: of every cell the first ones are taken, in turn.
    turn = np.arange(len(cells)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return np.sort(order[np.argsort(turn, kind="stable")[:most]])


def _means(diagram: RecalibrationDiagram, arrowed: NDArray[np.bool_], texts: Sequence[str]) -> go.Scatter:
    """The mean prediction of every cell, hollow where the rows are too few for an arrow."""
    place = to_xy(diagram.mean)
    cells = range(len(diagram.count))
    return go.Scatter(
        x=place[:, 0],
        y=place[:, 1],
        mode="markers",
        name="cell means",
        marker={
            "size": 10,
            "symbol": np.where(arrowed, "circle", "circle-open").tolist(),
            "color": [CELLS[b % len(CELLS)] for b in cells],
            "line": {"width": 1.5, "color": "#FFFFFF"},
        },
        customdata=records(pd.DataFrame({"cell": cells})),
        text=list(texts),
        hovertemplate=CELL_HOVER,
        showlegend=False,
    )


def _in_words(diagram: RecalibrationDiagram, b: int) -> str:
    """A cell's rows and both its vectors, for the pointer."""
    lines = [
        f"<b>{plain(diagram.places[b][:80])}</b>",
        f"{count(int(diagram.count[b]))} test rows, {count(int(diagram.fit_count[b]))} calibration rows",
        "mean prediction → recalibrated",
    ]
    for name, mean, target in zip(diagram.class_names, diagram.mean[b], diagram.target[b], strict=True):
        lines.append(f"{plain(name[:30])}: {error(mean)} → {error(target)}")
    return "<br>".join(lines)
