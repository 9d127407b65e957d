"""Classes side by side: errors before and after, and small diagrams of some (P1 Fig. 4 and 9)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import NDArray
from plotly.subplots import make_subplots

from calib_core._text import error, percent, plain
from calib_core.diagrams import ClassCurves, ClassPanels, ClassTable, ClassValidity, ranked_classes
from calib_core.diagrams.small_diagrams import SmallDiagrams
from calib_core.figures.look import finished, style
from calib_core.figures.marks import FEW_ROWS, diagonal, numbered, records
from calib_core.figures.shown import draws
from calib_core.figures.validity import steps

Small = TypeVar("Small", bound=SmallDiagrams)

COLUMNS = 4
SHOWN = 12
"""Without a choice, `class_table` draws this many classes."""
_HOVER = (
    "%{hovertext}<br>error %{y:.4f}<br>%{customdata.count:,.6~g} rows, %{customdata.share:.2%} of all<extra></extra>"
)


@draws(ClassTable)
def class_table(
    tables: ClassTable | Mapping[str, ClassTable],
    *,
    classes: Sequence[int] | None = None,
    looks: Sequence[str] | None = None,
) -> go.Figure:
    """Error of each class, a bar per model, with the class's share of rows as a dot.

    ``classes`` are positions, by default the dozen with the largest error of the first model. A model keeps its colour
    among ``looks``, the titles of all that are shown.
    """
    models = numbered(tables, looks)
    first = models[0][2]
    chosen = np.asarray(ranked_classes(first)[:SHOWN] if classes is None else classes, dtype=np.intp)
    names = [first.names[c] for c in chosen]
    # Places, not names: long names that begin alike would share a place.
    places, whole = list(range(len(names))), [plain(name) for name in names]
    figure = go.Figure()
    for i, title, table in models:
        columns = {"class": chosen, "count": table.count[chosen], "share": table.share[chosen]}
        figure.add_trace(
            go.Bar(
                x=places,
                hovertext=whole,
                y=table.error[chosen],
                name=plain(title),
                marker={"color": style(i).colour},
                customdata=records(pd.DataFrame(columns), model=title),
                hovertemplate=_HOVER,
            )
        )
    figure.add_trace(
        go.Scatter(
            x=places,
            hovertext=whole,
            y=_shares(first)[chosen],
            mode="markers",
            name="share of rows",
            marker={"symbol": "diamond-open", "size": 10, "color": "#8C8C8C", "line": {"width": 2}},
            customdata=records(pd.DataFrame({"class": chosen})),
            hovertemplate="%{hovertext}<br>share of rows %{y:.2%}<extra></extra>",
        )
    )
    return finished(
        figure,
        height=340,
        barmode="group",
        xaxis={"tickvals": places, "ticktext": [plain(name[:24]) for name in names], "tickangle": -30},
        yaxis={"title": "error; share of rows", "rangemode": "tozero"},
        uirevision="class errors",
    )


@draws(ClassPanels)
def class_panels(panels: ClassPanels | Mapping[str, ClassPanels], *, looks: Sequence[str] | None = None) -> go.Figure:
    """A small reliability diagram for every chosen class, all models in each.

    A model keeps its colour among ``looks``, the titles of all that are shown.
    """
    return _grid(numbered(panels, looks), _points, "reliability")


@draws(ClassCurves)
def class_curves(curves: ClassCurves | Mapping[str, ClassCurves], *, looks: Sequence[str] | None = None) -> go.Figure:
    """The kernel reliability curve of every chosen class, all models in each small diagram.

    A model keeps its colour among ``looks``, the titles of all that are shown.
    """
    return _grid(numbered(curves, looks), _smooth, "kernel")


@draws(ClassValidity)
def class_validity(
    plots: ClassValidity | Mapping[str, ClassValidity], *, looks: Sequence[str] | None = None
) -> go.Figure:
    """V(epsilon) of every chosen class, all models in each small diagram, dotted before recalibration on its bins.

    A model keeps its colour among ``looks``, the titles of all that are shown.
    """
    return _grid(numbered(plots, looks), _steps, "validity")


def _grid(
    models: list[tuple[int, str, Small]],
    marks: Callable[[int, str, Small, int, dict[str, Any]], list[go.Scatter]],
    curve: str,
) -> go.Figure:
    """A small diagram for every class, with the marks of its place in each model."""
    first = models[0][2]
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
        for i, title, diagram in models:
            for trace in marks(i, title, diagram, j, {"legendgroup": f"m{i}", "showlegend": j == 0}):
                figure.add_trace(trace, **where)
    axis = {"rangemode": "tozero"} if curve == "validity" else {"range": [-0.03, 1.03], "dtick": 0.5}
    figure.update_xaxes(**axis, tickfont={"size": 11})
    figure.update_yaxes(range=[-0.05, 1.05], dtick=0.5, tickfont={"size": 11})
    figure.update_annotations(font={"size": 13})
    return finished(figure, height=90 + 210 * rows, margin={"t": 40}, uirevision=f"class panels {curve}")


def _title(panels: SmallDiagrams, j: int) -> str:
    share = "" if panels.share[j] == 1 else f", {percent(float(panels.share[j]))}"
    return f"{plain(panels.names[j][:20])}: error {error(float(panels.error[j]))}{share}"


def _shares(table: ClassTable) -> NDArray[np.float64]:
    """Share of rows predicted as each class; where every row speaks of every class, the share that is of it."""
    return table.true_share if (table.share == 1).all() else table.share


def _points(i: int, title: str, panels: ClassPanels, j: int, how: dict[str, Any]) -> list[go.Scatter]:
    c, look = panels.classes[j], style(i)
    filled = np.flatnonzero(panels.bins.count[c] > 0)
    count = panels.bins.count[c][filled]
    points = go.Scatter(
        x=panels.bins.mean_score[c][filled],
        y=panels.bins.mean_outcome[c][filled],
        mode="lines+markers",
        name=plain(title),
        line={"color": look.colour, "dash": look.dash, "width": 1},
        marker={"symbol": np.where(count < FEW_ROWS, look.symbol + "-open", look.symbol).tolist(), "size": 8},
        customdata=records(pd.DataFrame({"class": c, "bin": filled, "count": count}), model=title),
        hovertemplate="said %{x:.4f}<br>happened %{y:.4f}<br>%{customdata.count:,.6~g} rows<extra></extra>",
        **how,
    )
    return [points]


def _smooth(i: int, title: str, curves: ClassCurves, j: int, how: dict[str, Any]) -> list[go.Scatter]:
    look, curve = style(i), curves.curves[j]
    line = go.Scatter(
        x=curve.score,
        y=curve.curve,
        mode="lines",
        name=plain(title),
        line={"color": look.colour, "dash": look.dash, "width": 2},
        hovertemplate="said %{x:.4f}<br>happens %{y:.4f}<extra></extra>",
        **how,
    )
    return [line]


def _steps(i: int, title: str, plots: ClassValidity, j: int, how: dict[str, Any]) -> list[go.Scatter]:
    after = steps(plots.plots[j], title, style(i), **how)
    if not plots.before:
        return [after]
    before = steps(plots.before[j], f"before, bins of {title}", style(i), **how)
    return [before.update(line={"dash": "dot", "width": 1.2}), after]
