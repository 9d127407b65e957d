"""Calibration maps of three classes side by side: arrows over a ground whose colour is the error (P3 Fig. 1 and 2)."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from calib_core.diagrams.calibration_map import CalibrationMap, shared_scale
from calib_core.figures.look import finished
from calib_core.figures.raster import ground
from calib_core.figures.shown import draws
from calib_core.figures.triangle import arrow_traces, arrows, frame_traces, image, panel, panel_axes, to_xy
from calib_core.text import plain

COLUMNS = 2
_ALONE, _PANEL, _LINE, _CHARACTERS = 380, 236, 18, 30
"""Pixels of one triangle and of one of several, of a line of its title, and how much a line holds."""

_HOVER = (
    "%{meta[0]}: %{customdata[0]:.1~%} → %{customdata[3]:.1~%}<br>"
    "%{meta[1]}: %{customdata[1]:.1~%} → %{customdata[4]:.1~%}<br>"
    "%{meta[2]}: %{customdata[2]:.1~%} → %{customdata[5]:.1~%}<extra></extra>"
)


@draws(CalibrationMap)
def calibration_map(maps: CalibrationMap | Sequence[CalibrationMap], *, scale: float | None = None) -> go.Figure:
    """One triangle per map: an arrow from each prediction to the answer, on colours of one scale.

    ``scale`` is the change that has full colour, such as the ``map_scale`` of the rows, which stays when another map is
    drawn; without it the largest of the maps (`shared_scale`).
    """
    maps = [maps] if isinstance(maps, CalibrationMap) else maps
    largest = shared_scale(maps) if scale is None else scale
    columns = min(COLUMNS, len(maps))
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
        height=16 + rows * (tall + above),
    )


def error_colours(error: NDArray[np.float64], scale: float) -> NDArray[np.uint8]:
    """RGBA (m, 4) of error vectors (m, 3): a class's channel is 127.5 (1 + error / scale), so grey is no change.

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
    """The part of the figure that panel i takes, below the pixels for its title."""
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
    """What the pointer finds at an arrow's tail."""
    place = to_xy(mapping.start[known])
    names = [plain(name[:30]) for name in mapping.class_names]
    return go.Scatter(
        x=place[:, 0],
        y=place[:, 1],
        mode="markers",
        name=f"points of {plain(mapping.title)}",
        marker={"size": 10, "opacity": 0},
        meta=names,
        # A few numbers of many points: of the prediction, then of the answer, by the classes that `meta` names.
        customdata=np.concatenate([mapping.start[known], mapping.to[known]], axis=1),
        hovertemplate=_HOVER,
        showlegend=False,
        **panel(i),
    )
