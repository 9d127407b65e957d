"""Triangle of three classes in Cartesian coordinates: corners, grid, ticks, and lines with gaps."""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import ArrayLike, NDArray
from PIL import Image

from calib_core.figures.look import REFERENCE
from calib_core.text import plain

Floats = NDArray[np.float64]

HEIGHT = float(np.sqrt(3) / 2)
"""Height of the triangle with sides of 1."""

CORNERS = np.array([[0.5, HEIGHT], [1.0, 0.0], [0.0, 0.0]])
"""Corners of the classes: the first at the top, the second on the right, the third on the left."""

X_RANGE, Y_RANGE = (-0.12, 1.12), (-0.14, HEIGHT + 0.11)
STEPS = (0.2, 0.4, 0.6, 0.8)

HEAD, SPREAD = 0.022, np.deg2rad(26)
"""Length of an arrow head's two strokes, and the angle between one of them and the shaft."""

_LONGEST_NAME, _CENTRED = 22, 9
"""Maximum characters of a corner's name, and of one centered below its corner."""


def to_xy(points: ArrayLike) -> Floats:
    """Cartesian positions (..., 2) of barycentric points (..., 3): weighted means of the corners.

    >>> to_xy([[1, 0, 0], [0, 0.5, 0.5]]).round(3).tolist()
    [[0.5, 0.866], [0.5, 0.0]]
    """
    return np.asarray(np.asarray(points, dtype=np.float64) @ CORNERS)


def from_xy(places: ArrayLike) -> Floats:
    """Barycentric points (..., 3) with sum 1 at these positions (..., 2); below 0 outside the triangle.

    >>> from_xy([[0.5, 0.0]]).tolist()
    [[0.0, 0.5, 0.5]]
    """
    x, y = np.moveaxis(np.asarray(places, dtype=np.float64), -1, 0)
    top = y / HEIGHT
    right = x - top / 2
    return np.stack([top, right, 1 - top - right], axis=-1)


def with_gaps(lines: Sequence[ArrayLike]) -> Floats:
    """Polylines (m_i, 2) in one array, each followed by a row of NaN, so that one trace draws them all.

    >>> with_gaps([[[0, 0], [1, 1]]]).tolist()
    [[0.0, 0.0], [1.0, 1.0], [nan, nan]]
    """
    gap = np.full((1, 2), np.nan)
    parts = [part for line in lines for part in (np.asarray(line, dtype=np.float64), gap)]
    return np.concatenate(parts) if parts else np.empty((0, 2))


ARROW_POINTS = 6
"""Entries of one arrow in `arrows`: tail, head, end of one stroke, head again, end of the other stroke, gap."""


def arrows(tails: ArrayLike, heads: ArrayLike) -> Floats:
    """Arrows between positions (m, 2) as one line with gaps, (6 m, 2); heads are at most as long as their arrows.

    >>> arrows([[0, 0]], [[1, 0]])[:2].tolist()
    [[0.0, 0.0], [1.0, 0.0]]
    """
    tail, head = np.asarray(tails, dtype=np.float64), np.asarray(heads, dtype=np.float64)
    back = tail - head
    length = np.hypot(*back.T)[:, None]
    stroke = back * (np.minimum(HEAD, 0.6 * length) / np.where(length > 0, length, 1.0))
    turned = [stroke @ _turn(angle) for angle in (SPREAD, -SPREAD)]
    gap = np.full_like(tail, np.nan)
    return np.stack([tail, head, head + turned[0], head, head + turned[1], gap], axis=1).reshape(-1, 2)


def arrow_traces(path: Floats, width: float = 1.6, name: str = "arrows", **where: Any) -> list[go.Scatter]:
    """Traces of all arrows and of a light edge around them, for visibility on any background."""
    x, y = path.T
    common = {"x": x, "y": y, "mode": "lines", "hoverinfo": "skip", "showlegend": False, **where}
    return [
        go.Scatter(**common, name=f"{name}, edge", line={"color": "rgba(255, 255, 255, 0.85)", "width": 2.6 * width}),
        go.Scatter(**common, name=name, line={"color": "#3A3836", "width": width}),
    ]


def frame_traces(class_names: Sequence[str], **where: Any) -> list[go.Scatter]:
    """Traces of the triangle: grid lines every 0.2, edges, tick labels, and names of its corners."""
    grid = with_gaps([line for step in STEPS for line in _parallels(step)])
    edge = CORNERS[[0, 1, 2, 0]]
    line = {"mode": "lines", "hoverinfo": "skip", "showlegend": False, **where}
    return [
        go.Scatter(
            x=grid[:, 0], y=grid[:, 1], name="grid", opacity=0.4, line={"color": REFERENCE, "width": 0.7}, **line
        ),
        go.Scatter(x=edge[:, 0], y=edge[:, 1], name="edge", line={"color": REFERENCE, "width": 1.4}, **line),
        _ticks(**where),
        _names(class_names, **where),
    ]


def panel(i: int) -> dict[str, str]:
    """Axes of a trace in panel i, counted from 0."""
    number = "" if i == 0 else str(i + 1)
    return {"xaxis": f"x{number}", "yaxis": f"y{number}"}


def panel_axes(i: int, x: tuple[float, float] = (0.0, 1.0), y: tuple[float, float] = (0.0, 1.0)) -> dict[str, object]:
    """Layout of panel i: equal scales in its part of the figure, with invisible axes."""
    name = panel(i)
    hidden = {"visible": False, "constrain": "domain"}
    return {
        name["xaxis"].replace("x", "xaxis"): {
            **hidden, "range": list(X_RANGE), "domain": list(x), "anchor": name["yaxis"]
        },
        name["yaxis"].replace("y", "yaxis"): {
            **hidden, "range": list(Y_RANGE), "domain": list(y), "anchor": name["xaxis"], "scaleanchor": name["xaxis"]
        },
    }  # fmt: skip


def image(source: str, i: int = 0) -> dict[str, object]:
    """Image (a data URI) of the square from `X_RANGE` and `Y_RANGE`, under the traces of panel i."""
    name = panel(i)
    return {
        "source": source,
        "xref": name["xaxis"],
        "yref": name["yaxis"],
        "x": X_RANGE[0],
        "y": Y_RANGE[1],
        "sizex": X_RANGE[1] - X_RANGE[0],
        "sizey": Y_RANGE[1] - Y_RANGE[0],
        "sizing": "stretch",
        "layer": "below",
    }


def _turn(angle: float) -> Floats:
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, s], [-s, c]])


def _parallels(step: float) -> list[Floats]:
    """Three lines on which one class has the probability ``step``."""
    ends = np.array([[step, 1 - step, 0.0], [step, 0.0, 1 - step]])
    return [to_xy(np.roll(ends, turn, axis=1)) for turn in range(3)]


def _ticks(**where: Any) -> go.Scatter:
    """Tick labels of each class's probability, on the edge to its corner from the next class's."""
    starts = [np.roll([step, 1 - step, 0.0], turn) for turn in range(3) for step in STEPS]
    # Slightly outside, so that the numbers are not on the edge.
    place = to_xy(np.array(starts)) + np.repeat([[0.008, 0.006], [0.0, -0.008], [-0.008, 0.006]], len(STEPS), axis=0)
    sides = np.repeat(["middle right", "bottom center", "middle left"], len(STEPS))
    return go.Scatter(
        x=place[:, 0],
        y=place[:, 1],
        mode="text",
        name="ticks",
        text=[f"{step:g}" for _ in range(3) for step in STEPS],
        textposition=sides.tolist(),
        textfont={"size": 11, "color": REFERENCE},
        hoverinfo="skip",
        showlegend=False,
        **where,
    )


def _short(name: str) -> str:
    return name if len(name) <= _LONGEST_NAME else name[: _LONGEST_NAME - 1] + "…"


def _lower(name: str, corner: int) -> str:
    """Name of a corner; a long name at the bottom is a line lower, below the numbers of the edge."""
    short = _short(name)
    return f"{'<br>' * (corner > 0 and len(short) > _CENTRED)}<b>{plain(short)}</b>"


def _names(class_names: Sequence[str], **where: Any) -> go.Scatter:
    """Names at their corners: short ones are centered, longer ones end at the side of the figure."""
    place, sides = [[0.5, HEIGHT + 0.01]], ["top center"]
    for corner, side, edge in ((1.0, "bottom left", X_RANGE[1] - 0.01), (0.0, "bottom right", X_RANGE[0] + 0.01)):
        short = len(_short(class_names[len(place)])) <= _CENTRED
        place.append([corner if short else edge, -0.035])
        sides.append("bottom center" if short else side)
    x, y = np.array(place).T
    return go.Scatter(
        x=x,
        y=y,
        mode="text",
        name="corners",
        text=[_lower(name, i) for i, name in enumerate(class_names)],
        textposition=sides,
        textfont={"size": 13},
        cliponaxis=False,
        hoverinfo="skip",
        showlegend=False,
        **where,
    )


CLOUD, GROUND = 640, 320
"""Pixels per side of the triangle, for fine points and for slowly changing colors."""

_INK = 0.62
"""Opacity of one point; two overlapping points have 1 - (1 - ink)^2, and so on."""
_RADII = ((4_000, 2.3), (30_000, 1.5), (150_000, 1.0))
"""Maximum numbers of points with the radius of their discs in pixels; beyond, a point is one pixel."""


def cloud(places: Floats, codes: NDArray[np.intp], colours: Sequence[str]) -> str:
    """Image (a data URI) of points at positions (n, 2), in the colors of their codes, used cyclically.

    A pixel with points of several colors has their mean.
    """
    width, height = _size(CLOUD)
    column = ((places[:, 0] - X_RANGE[0]) * CLOUD).astype(np.intp)
    row = ((Y_RANGE[1] - places[:, 1]) * CLOUD).astype(np.intp)
    stamp = _stamp(len(places))
    index = np.concatenate([(row + down) * width + column + right for down, right in stamp])
    count = np.bincount(index, minlength=width * height)
    covered = np.flatnonzero(count)
    pixels = np.zeros((width * height, 4), dtype=np.uint8)
    ink = np.array([_rgb(colour) for colour in colours], dtype=np.float64)[codes % len(colours)]
    for channel in range(3):
        total = np.bincount(index, np.tile(ink[:, channel], len(stamp)), minlength=width * height)
        pixels[covered, channel] = total[covered] / count[covered]
    pixels[covered, 3] = 255 * (1 - (1 - _INK) ** count[covered])
    return _data_uri(pixels.reshape(height, width, 4))


def _stamp(n: int) -> list[tuple[int, int]]:
    """Offsets of the pixels that a point covers."""
    radius = next((r for most, r in _RADII if n <= most), 0.0)
    reach = range(-int(radius), int(radius) + 1)
    return [(i, j) for i in reach for j in reach if i * i + j * j <= radius * radius]


def ground(colours: NDArray[np.uint8], cells: int) -> str:
    """Image (a data URI) of the small triangles with ``cells`` per side, in colors (cells^2, 4) RGBA.

    The order is that of `calib_core.diagrams.calibration_map.small_triangles`.
    """
    inside, triangle = _triangles(cells)
    width, height = _size(GROUND)
    pixels = np.zeros((width * height, 4), dtype=np.uint8)
    pixels[inside] = colours[triangle]
    return _data_uri(pixels.reshape(height, width, 4))


@cache
def _triangles(cells: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Pixels inside the triangle, with their small triangles."""
    width, height = _size(GROUND)
    x = X_RANGE[0] + (np.arange(width) + 0.5) / GROUND
    y = Y_RANGE[1] - (np.arange(height) + 0.5) / GROUND
    points = from_xy(np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2))
    inside = np.flatnonzero((points >= 0).all(axis=1))
    return inside, triangle_of(points[inside], cells)


def triangle_of(points: Floats, n: int) -> NDArray[np.intp]:
    """Index in `small_triangles` of the one of n^2 small triangles that contains each barycentric point (m, 3).

    >>> triangle_of(np.array([[0.9, 0.05, 0.05], [0.34, 0.33, 0.33], [0.05, 0.05, 0.9]]), 2).tolist()
    [0, 3, 2]
    """
    whole = np.clip(np.floor(points * n), 0, n - 1).astype(np.intp)
    same = whole.sum(axis=1) == n - 1
    level = np.where(same, n - 1, n - 2)
    # In descending order of (i, j): before (i, j) are the rows of every larger i, and the larger j of its own.
    before = level - whole[:, 0]
    rank = before * (before + 1) // 2 + (before - whole[:, 1])
    return np.asarray(np.where(same, rank, n * (n + 1) // 2 + rank))


def _size(pixels: int) -> tuple[int, int]:
    """Width and height of the image for a triangle with this number of pixels per side."""
    return round(pixels * (X_RANGE[1] - X_RANGE[0])), round(pixels * (Y_RANGE[1] - Y_RANGE[0]))


def _rgb(colour: str) -> tuple[int, ...]:
    return tuple(int(colour[i : i + 2], 16) for i in (1, 3, 5))


def _data_uri(pixels: NDArray[np.uint8]) -> str:
    buffer = io.BytesIO()
    # Level 1: four times faster than the default, and a tenth larger.
    Image.fromarray(pixels).save(buffer, "PNG", compress_level=1)
    return "data:image/png;base64," + base64.b64encode(buffer.getvalue()).decode("ascii")
