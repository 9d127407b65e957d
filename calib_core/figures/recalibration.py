"""Recalibration diagrams of three classes, and calibration maps over a background colored by the error (P3)."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import NDArray

from calib_core.diagrams.calibration_map import CalibrationMap, shared_scale, small_triangles
from calib_core.diagrams.recalibration import RecalibrationDiagram
from calib_core.figures.look import CELLS, REFERENCE, finished
from calib_core.figures.marks import records
from calib_core.figures.shown import draws
from calib_core.figures.triangle import (
    arrow_traces,
    arrows,
    cloud,
    frame_traces,
    ground,
    image,
    panel,
    panel_axes,
    to_xy,
    with_gaps,
)
from calib_core.text import count, percent, plain

PLACES = 16
"""Number of positions along a side with hover texts, with or without rows."""
BESIDE, EVERY = 0.006, 0.02
"""Distance of a cell's hover positions from its edge on both sides, and their spacing along it."""

CELL_HOVER = "%{meta}<extra></extra>"


@draws(RecalibrationDiagram)
def recalibration(diagram: RecalibrationDiagram, *, min_rows: int = 10, selected: int | None = None) -> go.Figure:
    """Draw test rows in ten colors by cell, cell edges, and an arrow per cell from its mean to its recalibrated vector.

    Cells with fewer than ``min_rows`` test or calibration rows have no arrow. A mark's record
    has its ``cell``, a position in the diagram's arrays; ``selected`` is such a position, if present.
    """
    arrowed = diagram.holding(min_rows)
    path = arrows(to_xy(diagram.mean[arrowed]), to_xy(diagram.target[arrowed]))
    figure = go.Figure(frame_traces(diagram.class_names))
    figure.add_trace(_edges(diagram))
    if selected is not None and selected < len(diagram.outlines):
        figure.add_trace(_chosen(diagram, selected))
    texts = [_in_words(diagram, b) for b in range(len(diagram.count))]
    figure.add_traces(_places(diagram, texts))
    figure.add_traces(arrow_traces(path))
    figure.add_trace(_means(diagram, arrowed, texts))
    return finished(
        figure,
        **panel_axes(0),
        images=[image(cloud(to_xy(diagram.points), diagram.cells, CELLS))],
        margin={"l": 8, "r": 8, "t": 8, "b": 8},
        showlegend=False,
        uirevision=f"recalibration {diagram.title}",
        height=420,
        meta={"fit": {**SIZE, "frame": _EDGE}},
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


def _places(diagram: RecalibrationDiagram, texts: Sequence[str]) -> list[go.Scatter]:
    """Invisible hover positions in all cells with rows: the one nearest to the pointer is in the same cell.

    They are inside the cells, and in pairs on both sides of every edge, with the edge halfway between.
    """
    inside = to_xy(small_triangles(PLACES).mean(axis=1))
    beside = [_beside(to_xy(polygon)) for cell in diagram.all_outlines for polygon in cell]
    places = np.concatenate([inside, *beside])
    cells = cells_at(places, diagram)
    # Edges are shared: a position of two cells occurs once.
    _, first = np.unique(np.round(places, 3), axis=0, return_index=True)
    known = np.sort(first[cells[first] >= 0])
    return [_unseen(b, places[known[cells[known] == b]], text) for b, text in enumerate(texts)]


def _beside(corners: NDArray[np.float64]) -> NDArray[np.float64]:
    """Positions on both sides of a polygon's edges."""
    found = []
    for start, end in zip(corners, np.roll(corners, -1, axis=0), strict=True):
        length = float(np.hypot(*(end - start)))
        if length < 2 * BESIDE:
            continue
        along = (end - start) / length
        steps = np.arange(max(round(length / EVERY), 1))[:, None] + 0.5
        on_edge = start + along * steps * (length / len(steps))
        aside = BESIDE * np.array([-along[1], along[0]])
        found += [on_edge + aside, on_edge - aside]
    return np.concatenate(found) if found else np.empty((0, 2))


def cells_at(places: NDArray[np.float64], diagram: RecalibrationDiagram) -> NDArray[np.intp]:
    """Index of the cell around each position (m, 2), -1 if it has no rows."""
    found = np.full(len(places), -1, dtype=np.intp)
    for b, polygons in enumerate(diagram.outlines):
        for polygon in polygons:
            corners = to_xy(polygon)
            side, away = np.roll(corners, -1, axis=0) - corners, places[:, None] - corners
            turn = side[:, 0] * away[..., 1] - side[:, 1] * away[..., 0]
            # All on one side; a degenerate cell (a point) has no side.
            within = (turn >= 0).all(axis=1) | (turn <= 0).all(axis=1)
            found[within & (turn != 0).any(axis=1)] = b
    return found


def _unseen(b: int, place: NDArray[np.float64], text: str) -> go.Scatter:
    """Invisible marks with the number of their cell."""
    return go.Scatter(
        x=place[:, 0].astype(np.float32),
        y=place[:, 1].astype(np.float32),
        mode="markers",
        name="places",
        # As small as possible: Plotly assigns everything under a mark to it.
        marker={"size": 1, "opacity": 0},
        customdata=[{"cell": b}] * len(place),
        meta=text,
        hovertemplate=CELL_HOVER,
        showlegend=False,
    )


def _means(diagram: RecalibrationDiagram, arrowed: NDArray[np.bool_], texts: Sequence[str]) -> go.Scatter:
    """Mean prediction of every cell, hollow if there are too few rows for an arrow."""
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
        hovertemplate="%{text}<extra></extra>",
        showlegend=False,
    )


def _in_words(diagram: RecalibrationDiagram, b: int) -> str:
    """Hover text of a cell: its rows and both vectors."""
    lines = [
        f"<b>{plain(diagram.places[b][:80])}</b>",
        f"{count(int(diagram.count[b]))} test rows, {count(int(diagram.fit_count[b]))} calibration rows",
        "mean prediction → recalibrated",
    ]
    for name, mean, target in zip(diagram.class_names, diagram.mean[b], diagram.target[b], strict=True):
        lines.append(f"{plain(name[:30])}: {percent(mean)} → {percent(target)}")
    return "<br>".join(lines)


SIZE = {"ratio": 0.97, "less": 420}
"""The page makes every triangle as large as its column and the screen allow, all of them alike."""
_ALONE, _PANEL, _LINE, _CHARACTERS = 380, 236, 18, 30
"""Pixels of a single triangle, of one of several, of a title line, and characters per line."""
_EDGE = 16
"""Pixels of both margins."""

_HOVER = (
    "%{meta[0]}: %{customdata[0]:.1~%} → %{customdata[3]:.1~%}<br>"
    "%{meta[1]}: %{customdata[1]:.1~%} → %{customdata[4]:.1~%}<br>"
    "%{meta[2]}: %{customdata[2]:.1~%} → %{customdata[5]:.1~%}<extra></extra>"
)


@draws(CalibrationMap)
def calibration_map(
    maps: CalibrationMap | Sequence[CalibrationMap], *, scale: float | None = None, across: int = 2
) -> go.Figure:
    """Draw one triangle per map: an arrow from each prediction to its output, on a common color scale.

    ``scale`` is the change with full color, such as the ``map_scale`` of the rows, which does not depend on the maps
    drawn. By default it is the largest one of the maps (`shared_scale`). ``across`` is the number of maps in a row.
    """
    maps = [maps] if isinstance(maps, CalibrationMap) else maps
    largest = shared_scale(maps) if scale is None else scale
    columns = min(max(across, 1), len(maps))
    rows = -(-len(maps) // columns)
    titles = [textwrap.wrap(mapping.title, _CHARACTERS, max_lines=4, placeholder=" …") for mapping in maps]
    above = 10 + _LINE * max(len(lines) for lines in titles)
    figure, images, tall = go.Figure(), [], _ALONE if len(maps) == 1 else _PANEL
    layout: dict[str, Any] = {}
    for i, mapping in enumerate(maps):
        x, y = _domains(i, columns, rows, above, tall)
        layout |= panel_axes(i, x, y)
        figure.add_traces(_panel(i, mapping))
        figure.add_annotation(_title(titles[i], sum(x) / 2, y[1]))
        images.append(image(ground(error_colours(mapping.ground, largest), mapping.cells), i))
    return finished(
        figure,
        **layout,
        images=images,
        margin={"l": 8, "r": 8, "t": 8, "b": 8},
        showlegend=False,
        uirevision=f"maps {len(maps)}",
        height=_EDGE + rows * (tall + above),
        meta={
            "fit": {
                **SIZE,
                "frame": _EDGE,
                "across": columns,
                "share": tall / (tall + above) / rows,
                "least": rows * (tall + above),
            }
        },
    )


def error_colours(error: NDArray[np.float64], scale: float) -> NDArray[np.uint8]:
    """RGBA (m, 4) of error vectors (m, 3): a class's channel is 127.5 (1 + error / scale), so gray is no change.

    Class 1 is red, class 2 green, class 3 blue; NaN is transparent.

    >>> error_colours(np.array([[0.0, 0.0, 0.0], [0.5, -0.5, 0.0]]), 0.5)[:, :3].tolist()
    [[128, 128, 128], [255, 0, 128]]
    """
    known = np.isfinite(error).all(axis=1)
    colours = np.zeros((len(error), 4), dtype=np.uint8)
    colours[known, :3] = np.round(127.5 * (1 + np.clip(error[known] / scale, -1, 1)))
    colours[known, 3] = 255
    return colours


def _domains(i: int, columns: int, rows: int, above: int, tall: int) -> tuple[tuple[float, float], tuple[float, float]]:
    """Domains of panel i in the figure, below the pixels for its title."""
    column, row = i % columns, i // columns
    top = 1 - row / rows
    bottom = max(top - 1 / rows, 0.0)
    return (column / columns, (column + 0.98) / columns), (bottom, top - above / (tall + above) / rows)


def _title(lines: Sequence[str], middle: float, bottom: float) -> dict[str, object]:
    return {
        "text": "<br>".join(f"<b>{plain(line)}</b>" for line in lines),
        "x": middle,
        "y": bottom,
        "xref": "paper",
        "yref": "paper",
        "xanchor": "center",
        "yanchor": "bottom",
        "showarrow": False,
        "font": {"size": 12},
    }


def _panel(i: int, mapping: CalibrationMap) -> list[go.Scatter]:
    known = np.asarray(np.isfinite(mapping.to).all(axis=1))
    path = arrows(to_xy(mapping.start[known]), to_xy(mapping.to[known]))
    name = mapping.title
    return [
        *frame_traces(mapping.class_names, **panel(i)),
        *arrow_traces(path, 1.2, name=f"arrows of {plain(name)}", **panel(i)),
        _points(i, mapping, known),
    ]


def _points(i: int, mapping: CalibrationMap, known: NDArray[np.bool_]) -> go.Scatter:
    """Hover points at the arrows' tails."""
    place = to_xy(mapping.start[known])
    names = [plain(name[:30]) for name in mapping.class_names]
    return go.Scatter(
        x=place[:, 0],
        y=place[:, 1],
        mode="markers",
        name=f"points of {plain(mapping.title)}",
        marker={"size": 10, "opacity": 0},
        meta=names,
        # Few numbers for many points: the prediction, then the output, by the classes in `meta`.
        customdata=np.concatenate([mapping.start[known], mapping.to[known]], axis=1),
        hovertemplate=_HOVER,
        showlegend=False,
        **panel(i),
    )
