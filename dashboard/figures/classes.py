"""Classes side by side: errors before and after, and small diagrams of some (P1 Fig. 4 and 9)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray
from plotly.subplots import make_subplots

from calib_core.diagrams import ClassPanels, ClassTable, KernelCurve
from dashboard.figures.marks import FEW_ROWS, diagonal
from dashboard.theme import error, percent, plain, style

COLUMNS = 4
_HOVER = "%{x}<br>error %{y:.4f}<br>%{customdata[0]:,.6~g} rows, %{customdata[1]:.2%} of all<extra></extra>"


def draw_class_errors(models: Sequence[tuple[str, ClassTable]], classes: Sequence[int]) -> go.Figure:
    """Error of each chosen class, a bar per model, with the class's share of rows as a line of dots."""
    figure = go.Figure()
    names = [plain(models[0][1].names[c])[:24] for c in classes]
    chosen = np.asarray(classes, dtype=np.intp)
    for i, (name, table) in enumerate(models):
        figure.add_trace(
            go.Bar(
                x=names,
                y=table.error[chosen],
                name=plain(name),
                marker={"color": style(i).colour},
                customdata=np.stack([table.count[chosen], table.share[chosen], chosen.astype(float)], axis=1),
                hovertemplate=_HOVER,
            )
        )
    figure.add_trace(
        go.Scatter(
            x=names,
            y=_shares(models[0][1])[chosen],
            mode="markers",
            name="share of rows",
            marker={"symbol": "diamond-open", "size": 10, "color": "#8C8C8C", "line": {"width": 2}},
            hovertemplate="%{x}<br>share of rows %{y:.2%}<extra></extra>",
        )
    )
    return figure.update_layout(
        height=340,
        barmode="group",
        xaxis={"type": "category", "tickangle": -30},
        yaxis={"title": "error; share of rows", "rangemode": "tozero"},
        uirevision="class errors",
    )


def draw_class_panels(
    models: Sequence[tuple[str, ClassPanels]],
    curve: str = "reliability",
    kernels: Sequence[Sequence[KernelCurve]] = (),
) -> go.Figure:
    """A small reliability diagram, validity plot or kernel curve for every chosen class, all models in each."""
    first = models[0][1]
    n = len(first.classes)
    rows = -(-n // COLUMNS)
    figure = make_subplots(
        rows=rows,
        cols=COLUMNS,
        subplot_titles=[_title(first, j) for j in range(n)],
        shared_xaxes=False,
        horizontal_spacing=0.045,
        vertical_spacing=min(0.1, 0.3 / rows),
    )
    for j in range(n):
        where = {"row": j // COLUMNS + 1, "col": j % COLUMNS + 1}
        if curve != "validity":
            figure.add_trace(diagonal(), **where)
        for i, (name, panels) in enumerate(models):
            if curve == "kernel":
                trace = _smooth(i, name, kernels[i][j], j)
            else:
                trace = _points(i, name, panels, j) if curve == "reliability" else _steps(i, name, panels, j)
            figure.add_trace(trace, **where)
    axis = {"rangemode": "tozero"} if curve == "validity" else {"range": [-0.03, 1.03], "dtick": 0.5}
    figure.update_xaxes(**axis, tickfont={"size": 11})
    figure.update_yaxes(range=[-0.05, 1.05], dtick=0.5, tickfont={"size": 11})
    figure.update_annotations(font={"size": 13})
    return figure.update_layout(height=90 + 210 * rows, margin={"t": 40}, uirevision=f"class panels {curve}")


def _title(panels: ClassPanels, j: int) -> str:
    share = "" if panels.share[j] == 1 else f", {percent(float(panels.share[j]))}"
    return f"{plain(panels.names[j])[:20]}: error {error(float(panels.error[j]))}{share}"


def _shares(table: ClassTable) -> NDArray[np.float64]:
    """Share of rows predicted as each class; where every row speaks of every class, the share that is of it."""
    return table.true_share if (table.share == 1).all() else table.share


def _points(i: int, name: str, panels: ClassPanels, j: int) -> go.Scatter:
    s, look = panels.classes[j], style(i)
    held = panels.bins.count[s] > 0
    count = panels.bins.count[s][held]
    return go.Scatter(
        x=panels.bins.mean_score[s][held],
        y=panels.bins.mean_outcome[s][held],
        mode="lines+markers",
        name=plain(name),
        legendgroup=f"m{i}",
        showlegend=j == 0,
        line={"color": look.colour, "dash": look.dash, "width": 1},
        marker={"symbol": np.where(count < FEW_ROWS, look.symbol + "-open", look.symbol).tolist(), "size": 8},
        customdata=count,
        hovertemplate="said %{x:.4f}<br>happened %{y:.4f}<br>%{customdata:,.6~g} rows<extra></extra>",
    )


def _smooth(i: int, name: str, curve: KernelCurve, j: int) -> go.Scatter:
    look = style(i)
    return go.Scatter(
        x=curve.score,
        y=curve.curve,
        mode="lines",
        name=plain(name),
        legendgroup=f"m{i}",
        showlegend=j == 0,
        line={"color": look.colour, "dash": look.dash, "width": 2},
        hovertemplate="said %{x:.4f}<br>happens %{y:.4f}<extra></extra>",
    )


def _steps(i: int, name: str, panels: ClassPanels, j: int) -> go.Scatter:
    plot, look = panels.validity[j], style(i)
    return go.Scatter(
        x=np.append(0.0, plot.eps),
        y=np.append(0.0, plot.share),
        mode="lines",
        name=plain(name),
        legendgroup=f"m{i}",
        showlegend=j == 0,
        line={"color": look.colour, "dash": look.dash, "width": 2, "shape": "hv"},
        hovertemplate="%{y:.1%} of rows are off by at most %{x:.4f}<extra></extra>",
    )
