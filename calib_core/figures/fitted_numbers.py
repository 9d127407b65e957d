"""Figures of fitted numbers: heat maps, rows of dots, and the map of a binary calibrator."""

from __future__ import annotations

import base64
import io
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray
from PIL import Image
from plotly.colors import sample_colorscale

from calib_core._base.arrays import Float64s
from calib_core._base.errors import NotAnswerable
from calib_core.diagrams.fitted_numbers import BinaryMap, FittedParameters, NumberGrid
from calib_core.figures.look import DIVERGING, REFERENCE, SEQUENTIAL, finished, style
from calib_core.figures.marks import diagonal
from calib_core.figures.shown import draws
from calib_core.text import plain, short_percent

CELLS = 1600
"""Maximum number of cells drawn separately with hover texts; larger grids are one image."""
NAMES = 40
"""Maximum number of class names on an axis."""
_STEPS = 256
_FAINT = "#8C8C8C"
"""Color of what is behind: members of a blend, and bars of scores."""


@draws(FittedParameters)
def fitted_parameters(diagram: FittedParameters) -> go.Figure:
    """Draw each matrix of the fit in its own panel: colors for matrices, dots for one number per class.

    Of a blend for two classes, draw its curve, faint curves of its members, and their weights as bars. Raises
    NotAnswerable if the fit has neither.
    """
    if diagram.curves is not None:
        return _blended(diagram)
    if not diagram.grids:
        raise NotAnswerable(f"this fit has only {diagram.short}, so there is no figure")
    wide = [max(len(grid.columns), 3) for grid in diagram.grids]
    ends = np.cumsum([0, *wide]) / sum(wide)
    gap = 0.0 if len(wide) == 1 else 0.06
    figure = go.Figure()
    layout: dict[str, Any] = {}
    for i, grid in enumerate(diagram.grids):
        domain = [float(ends[i]) + gap * (i > 0), float(ends[i + 1])]
        layout |= _axes(i, grid, domain, names=i == 0)
        figure.add_traces(_dots(i, grid) if len(grid.columns) == 1 else _cells(i, grid))
        figure.add_annotation(_title(grid, domain[0]))
        if grid.values.size > CELLS and len(grid.columns) > 1:
            layout.setdefault("images", []).append(_image(i, grid))
        if grid.chosen is not None:
            layout.setdefault("shapes", []).append(_frame(i, *grid.chosen))
    lines = max(len(grid.rows) for grid in diagram.grids)
    return finished(
        figure,
        **layout,
        barmode="stack",
        bargap=0,
        showlegend=False,
        margin={"l": 60, "r": 12, "t": 30, "b": 44},
        uirevision=f"fitted {diagram.title}",
        height=int(np.clip(110 + 22 * lines, 220, 520)),
    )


def _blended(diagram: FittedParameters) -> go.Figure:
    """Curves of members behind that of their average, and weights as bars, the largest on top."""
    curves = diagram.curves
    assert curves is not None
    name, order = plain(curves.of), np.argsort(-curves.weights, kind="stable")
    titles = [plain(curves.titles[i]) for i in order]
    figure = go.Figure(diagonal())
    for i, title in zip(order, titles, strict=True):
        figure.add_trace(_curve(curves.scores, curves.outputs[i], title, {"color": _FAINT, "width": 1.2}))
    figure.add_trace(_curve(curves.scores, curves.average, "blend", {"color": style(1).colour, "width": 3}))
    figure.add_trace(
        go.Bar(
            x=curves.weights[order],
            y=np.arange(len(order)),
            width=0.4,
            orientation="h",
            xaxis="x2",
            yaxis="y2",
            marker={"color": _FAINT},
            hovertext=titles,
            hovertemplate="%{hovertext}: %{x:.0%}<extra></extra>",
        )
    )
    for line, (i, title) in enumerate(zip(order, titles, strict=True)):
        figure.add_annotation(
            text=f"{short_percent(float(curves.weights[i]))} {title}", x=0, y=line - 0.25, xref="x2", yref="y2",
            xanchor="left", yanchor="bottom", xshift=-3, showarrow=False,
        )  # fmt: skip
    return finished(
        figure,
        xaxis={"domain": [0, 0.56], "range": [-0.01, 1.01], "title": f"probability of {name} before"},
        yaxis={"range": [-0.02, 1.02], "title": f"probability of {name} after"},
        xaxis2={"domain": [0.64, 1], "anchor": "y2", "rangemode": "tozero", "tickformat": ".0%", "title": "weight"},
        yaxis2={"anchor": "x2", "range": [len(order) - 0.5, -0.75], "visible": False},
        showlegend=False,
        uirevision="blend",
        height=430,
    )


def _curve(scores: Float64s, outputs: Float64s, title: str, line: dict[str, object]) -> go.Scatter:
    hover = f"{title}<br>%{{x:.1~%}} becomes %{{y:.1~%}}<extra></extra>"
    return go.Scatter(x=scores, y=outputs, mode="lines", name=title, line=line, hovertemplate=hover)


def _axes(i: int, grid: NumberGrid, domain: list[float], names: bool) -> dict[str, dict[str, object]]:
    n = "" if i == 0 else str(i + 1)
    lines, columns = len(grid.rows), len(grid.columns)
    rows: dict[str, object] = {"range": [lines - 0.5, -0.5], "anchor": f"x{n}", "showgrid": False, "zeroline": False}
    if names and lines <= NAMES:
        rows |= {"tickvals": list(range(lines)), "ticktext": [plain(name)[:24] for name in grid.rows]}
    rows |= {"showticklabels": names, "title": plain(grid.row_title) if names else ""}
    across: dict[str, object] = {"domain": domain, "anchor": f"y{n}"}
    if columns > 1:
        across |= {"range": [-0.5, columns - 0.5], "showgrid": False, "zeroline": False}
        across |= {"title": plain(grid.column_title)}
        if columns <= NAMES:
            across |= {"tickvals": list(range(columns)), "ticktext": [plain(name)[:24] for name in grid.columns]}
    return {f"xaxis{n}": across, f"yaxis{n}": rows}


def _dots(i: int, grid: NumberGrid) -> list[go.Scatter]:
    """One number per class, and a line at the value without effect."""
    n, where = "" if i == 0 else str(i + 1), np.arange(len(grid.rows))
    values = grid.values[:, 0]
    marks = go.Scatter(
        x=values,
        y=where,
        mode="markers",
        uid=f"grid-{i}",
        xaxis=f"x{n}",
        yaxis=f"y{n}",
        marker={"color": style(1).colour, "size": 9, "opacity": 1},
        customdata=[{"code": int(c)} for c in where],
        hovertext=[plain(name) for name in grid.rows],
        hovertemplate="%{hovertext}: %{x:.4g}<extra></extra>",
    )
    if grid.middle is None:
        return [marks]
    line = go.Scatter(
        x=[grid.middle] * 2,
        y=[-0.5, len(grid.rows) - 0.5],
        mode="lines",
        xaxis=f"x{n}",
        yaxis=f"y{n}",
        line={"color": REFERENCE, "dash": "dash", "width": 1.5},
        hoverinfo="skip",
    )
    return [line, marks]


def _cells(i: int, grid: NumberGrid) -> list[go.Bar]:
    """Heat map as stacked bars, or only its corners if an image replaces it."""
    n, (lines, columns) = "" if i == 0 else str(i + 1), grid.values.shape
    if grid.values.size > CELLS:
        return [go.Bar(x=[0, columns - 1], y=[0, 0], base=[0, 0], xaxis=f"x{n}", yaxis=f"y{n}", hoverinfo="skip")]
    row, column = (index.ravel() for index in np.indices((lines, columns)))
    texts = [
        f"{plain(grid.rows[r])}, {plain(grid.columns[c])}: {grid.values[r, c]:.4g}"
        for r, c in zip(row, column, strict=True)
    ]
    return [
        go.Bar(
            x=column,
            y=np.ones(len(row)),
            base=row - 0.5,
            width=1,
            uid=f"grid-{i}",
            xaxis=f"x{n}",
            yaxis=f"y{n}",
            marker={"color": [_hex(c) for c in _colours(grid).reshape(-1, 3)], "line": {"width": 0}},
            hovertext=texts,
            hovertemplate="%{hovertext}<extra></extra>",
        )
    ]


def _colours(grid: NumberGrid) -> NDArray[np.uint8]:
    """Color of each cell, (rows, columns, 3): a diverging scale around the middle, or a sequential one."""
    values = np.nan_to_num(grid.values, posinf=0.0, neginf=0.0)
    if grid.middle is None:
        low, high = float(values.min()), float(np.quantile(values, 0.9))
        share = (values - low) / max(high - low, 1e-300)
    else:
        largest = max(float(np.abs(values - grid.middle).max()), 1e-300)
        share = 0.5 + (values - grid.middle) / (2 * largest)
    scale = SEQUENTIAL if grid.middle is None else [list(stop) for stop in DIVERGING]
    steps = sample_colorscale(scale, np.linspace(0, 1, _STEPS), colortype="tuple")
    table = np.round(255 * np.asarray(steps)).astype(np.uint8)
    return np.asarray(table[np.clip(np.round(share * (_STEPS - 1)), 0, _STEPS - 1).astype(int)])


def _hex(colour: NDArray[np.uint8]) -> str:
    return "#" + bytes(colour.tolist()).hex()


def _image(i: int, grid: NumberGrid) -> dict[str, object]:
    n, (lines, columns) = "" if i == 0 else str(i + 1), grid.values.shape
    drawn = io.BytesIO()
    Image.fromarray(_colours(grid), "RGB").save(drawn, format="PNG")
    where = {"x": -0.5, "y": -0.5, "xanchor": "left", "yanchor": "top", "sizex": columns, "sizey": lines}
    source = "data:image/png;base64," + base64.b64encode(drawn.getvalue()).decode("ascii")
    return {"source": source, "xref": f"x{n}", "yref": f"y{n}", **where, "sizing": "stretch", "layer": "above"}


def _title(grid: NumberGrid, x: float) -> dict[str, object]:
    at_top = {"xref": "paper", "yref": "paper", "y": 1, "xanchor": "left", "yanchor": "bottom"}
    return {"text": f"<b>{plain(grid.title)}</b>", "x": x, **at_top, "showarrow": False}


def _frame(i: int, row: int, column: int) -> dict[str, object]:
    """Frame of the chosen cell."""
    n = "" if i == 0 else str(i + 1)
    ends = {"x0": column - 0.5, "x1": column + 0.5, "y0": row - 0.5, "y1": row + 0.5}
    return {"type": "rect", "xref": f"x{n}", "yref": f"y{n}", **ends, "line": {"color": "#D55E00", "width": 3}}


@draws(BinaryMap)
def binary_map(diagram: BinaryMap) -> go.Figure:
    """Draw the map as a line with its interval, the identity, and bars of the test rows' scores."""
    figure = go.Figure()
    cells = len(diagram.density)
    figure.add_trace(
        go.Bar(
            x=(np.arange(cells) + 0.5) / cells,
            y=diagram.density,
            width=1 / cells,
            name="share of test rows",
            marker={"color": _FAINT, "opacity": 0.45},
            hovertemplate="%{y:.1~%} of the test rows have a score near %{x:.0%}<extra></extra>",
        )
    )
    figure.add_trace(diagonal())
    if diagram.lower is not None and diagram.upper is not None:
        figure.add_trace(
            go.Scatter(
                x=np.append(diagram.score, diagram.score[::-1]),
                y=np.append(diagram.lower, diagram.upper[::-1]),
                fill="toself",
                line={"width": 0, "color": style(1).colour},
                mode="lines",
                opacity=0.3,
                name="interval",
                hoverinfo="skip",
            )
        )
    figure.add_trace(
        go.Scatter(
            x=diagram.score,
            y=diagram.output,
            mode="lines",
            name="recalibrated score",
            line={"color": style(1).colour, "width": 2.5},
            hovertemplate="%{x:.1~%} becomes %{y:.1~%}<extra></extra>",
        )
    )
    return finished(
        figure,
        xaxis={"title": "score", "range": [-0.01, 1.01]},
        yaxis={"title": "recalibrated score; share of rows (bars)", "range": [-0.02, 1.04]},
        uirevision="binary map",
        height=430,
    )
