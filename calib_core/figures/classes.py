"""Classes side by side: errors before and after, and small diagrams of some (P1 Fig. 4 and 9)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray
from plotly.subplots import make_subplots

from calib_core._text import error, percent, plain
from calib_core.diagrams import ClassPanels, ClassTable, KernelCurve, ValidityPair, ValidityPlot
from calib_core.figures.look import style
from calib_core.figures.marks import FEW_ROWS, diagonal

COLUMNS = 4
_HOVER = "%{hovertext}<br>error %{y:.4f}<br>%{customdata[0]:,.6~g} rows, %{customdata[1]:.2%} of all<extra></extra>"


def draw_class_errors(models: Sequence[tuple[str, ClassTable]], classes: Sequence[int]) -> go.Figure:
    """Error of each chosen class, a bar per model, with the class's share of rows as a line of dots."""
    figure = go.Figure()
    names = [models[0][1].names[c] for c in classes]
    # Places, not names: long names that begin alike would share a place.
    places, whole = list(range(len(names))), [plain(name) for name in names]
    chosen = np.asarray(classes, dtype=np.intp)
    for i, (name, table) in enumerate(models):
        figure.add_trace(
            go.Bar(
                x=places,
                hovertext=whole,
                y=table.error[chosen],
                name=plain(name),
                marker={"color": style(i).colour},
                customdata=np.stack([table.count[chosen], table.share[chosen], chosen.astype(float)], axis=1),
                hovertemplate=_HOVER,
            )
        )
    figure.add_trace(
        go.Scatter(
            x=places,
            hovertext=whole,
            y=_shares(models[0][1])[chosen],
            mode="markers",
            name="share of rows",
            marker={"symbol": "diamond-open", "size": 10, "color": "#8C8C8C", "line": {"width": 2}},
            hovertemplate="%{hovertext}<br>share of rows %{y:.2%}<extra></extra>",
        )
    )
    return figure.update_layout(
        height=340,
        barmode="group",
        xaxis={"tickvals": places, "ticktext": [plain(name[:24]) for name in names], "tickangle": -30},
        yaxis={"title": "error; share of rows", "rangemode": "tozero"},
        uirevision="class errors",
    )


def draw_class_panels(
    models: Sequence[tuple[str, ClassPanels]],
    curve: str = "reliability",
    kernels: Sequence[Sequence[KernelCurve]] = (),
    pairs: Sequence[Sequence[ValidityPair] | None] = (),
) -> go.Figure:
    """A small reliability diagram, validity plot or kernel curve for every chosen class, all models in each.

    ``kernels`` holds each model's curves of the classes; ``pairs`` each recalibrated model's validity plots beside the
    base model's on the same bins, None for a model judged on its own.
    """
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
            for trace in _traces(curve, i, name, panels, j, kernels, pairs):
                figure.add_trace(trace, **where)
    axis = {"rangemode": "tozero"} if curve == "validity" else {"range": [-0.03, 1.03], "dtick": 0.5}
    figure.update_xaxes(**axis, tickfont={"size": 11})
    figure.update_yaxes(range=[-0.05, 1.05], dtick=0.5, tickfont={"size": 11})
    figure.update_annotations(font={"size": 13})
    return figure.update_layout(height=90 + 210 * rows, margin={"t": 40}, uirevision=f"class panels {curve}")


def _traces(
    curve: str,
    i: int,
    name: str,
    panels: ClassPanels,
    j: int,
    kernels: Sequence[Sequence[KernelCurve]],
    pairs: Sequence[Sequence[ValidityPair] | None],
) -> list[go.Scatter]:
    """What one model adds to the panel of one class."""
    if curve == "kernel":
        return [_smooth(i, name, kernels[i][j], j)]
    if curve == "reliability":
        return [_points(i, name, panels, j)]
    both = pairs[i] if pairs else None
    if both is None:
        return [_steps(i, name, panels.validity[j], j)]
    before = _steps(i, f"before, bins of {name}", both[j].before, j)
    return [before.update(line={"dash": "dot", "width": 1.2}), _steps(i, name, both[j].after, j)]


def _title(panels: ClassPanels, j: int) -> str:
    share = "" if panels.share[j] == 1 else f", {percent(float(panels.share[j]))}"
    return f"{plain(panels.names[j][:20])}: error {error(float(panels.error[j]))}{share}"


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


def _steps(i: int, name: str, plot: ValidityPlot, j: int) -> go.Scatter:
    look = style(i)
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
