"""Gaps of every class where another is predicted: a picture of all pairs, or of many classes the pairs that lead."""

from __future__ import annotations

from collections.abc import Mapping
from textwrap import wrap
from typing import Any

import numpy as np
import plotly.graph_objects as go

from calib_core.diagrams.class_bias import MOST_CLASSES, ClassBias
from calib_core.figures.findings import findings
from calib_core.figures.look import DIVERGING, finished
from calib_core.figures.marks import records
from calib_core.figures.shown import draws
from calib_core.text import plain, points

_LINE, _LONGEST, _WIDE = 26, 14, 64
"""Pixels of a class, and the most letters of a name and of a line under the pointer."""
_CELL = 0.95
"""The side of a cell, where classes are 1 apart."""


@draws(ClassBias)
def class_bias(bias: ClassBias, *, model: str = "model", looks: Mapping[str, int] | None = None) -> go.Figure:
    """A line a predicted class, a column a class: blue where it is rarer than said, vermillion where more frequent.

    Dots mark pairs that stand out. Of more than 25 classes the worst pairs are drawn as `findings` are. Records have
    the predicted ``class`` and the other's ``label_code``.
    """
    frame = bias.frame()
    if len(bias.names) > MOST_CLASSES:
        return findings(frame.assign(bin=None), model=model, looks=looks)
    lines = np.unique(bias.predicted)
    row, gap = np.searchsorted(lines, bias.predicted), bias.right - bias.says
    most = float(np.abs(gap).max(initial=0.0)) or 1.0
    steps = np.array([-1, -0.5, 0, 0.5, 1]) * most
    ticks = {"tickvals": steps.tolist(), "ticktext": list(map(points, steps.tolist()))}
    bar = {**ticks, "title": {"text": "happens minus says", "side": "right"}}
    cells = go.Bar(
        orientation="h",
        base=bias.label - _CELL / 2,
        x=np.full(len(row), _CELL),
        y=row,
        width=_CELL,
        marker={"color": gap, "cmin": -most, "cmax": most, "colorscale": DIVERGING, "colorbar": bar, "line_width": 0},
        hoverinfo="skip",
        showlegend=False,
    )
    marks = go.Scatter(
        x=bias.label,
        y=row,
        mode="markers",
        name="stands out",
        marker={"size": 8, "color": "#2f2d2b", "opacity": np.where(bias.stands_out, 1.0, 0.0).tolist()},
        customdata=records(
            frame[["code", "label_code", "rows", "says", "right"]].rename(columns={"label_code": "label"}), model=model
        ),
        hovertext=["<br>".join(map(plain, wrap(text, _WIDE))) for text in frame["finding"]],
        hovertemplate="%{hovertext}<extra></extra>",
        cliponaxis=False,
    )
    names = [plain(name if len(name) <= _LONGEST else f"{name[: _LONGEST - 1]}…") for name in bias.names]
    shared: dict[str, Any] = {"showgrid": False, "zeroline": False, "ticks": ""}
    return finished(
        go.Figure([cells, marks]),
        height=110 + _LINE * max(len(lines), 4),
        margin={"l": 8, "r": 8, "t": 8, "b": 8},
        barmode="overlay",
        xaxis={
            "tickvals": list(range(len(names))),
            "ticktext": names,
            "range": [-0.5, len(names) - 0.5],
            "title": "class",
            **shared,
        },
        yaxis={
            "tickvals": list(range(len(lines))),
            "ticktext": [names[c] for c in lines],
            "range": [len(lines) - 0.5, -0.5],
            "title": "predicted",
            **shared,
        },
        uirevision="class bias",
    )
