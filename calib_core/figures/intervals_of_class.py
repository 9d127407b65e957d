"""One predicted class, bin by bin: how often it is right, with its interval, beside what it says."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import plotly.graph_objects as go

from calib_core.diagrams.one_class import ClassBins
from calib_core.figures.look import REFERENCE, finished, style
from calib_core.figures.marks import numbered, records, symbols
from calib_core.figures.probability_axis import percent_ticks
from calib_core.figures.shown import draws
from calib_core.text import between, count, percent, plain

_LINE = 22
_HOVER = "right %{x:.1~%}, says %{customdata.says:.1~%}<br>%{customdata.count:,.6~g} rows<extra></extra>"


@draws(ClassBins)
def class_bins(
    diagram: ClassBins | Mapping[str, ClassBins],
    *,
    code: int | None = None,
    looks: Mapping[str, int] | None = None,
) -> go.Figure:
    """A line a bin: the share of its rows that is right with its exact interval, and a tick at what the model says.

    Of several models the first is drawn. Marks of fewer than 10 rows are hollow; their records have the ``bin``, and
    the ``code`` of the class where it is given.
    """
    i, title, bins = numbered(diagram, looks)[0]
    look, places = style(i), np.arange(len(bins.count))
    class_of = {} if code is None else {"code": code}
    marks = records(bins.frame()[["bin", "count", "says"]], model=title, **class_of)
    hollow = symbols(look, bins.count).tolist()
    gaps = np.full(len(places), np.nan)
    intervals = np.column_stack([bins.low, bins.high, gaps]).ravel()
    lines = go.Scatter(
        x=intervals, y=np.repeat(places, 3), mode="lines", name="interval", line={"color": look.colour, "width": 2},
        hoverinfo="skip",
    )  # fmt: skip
    says = go.Scatter(
        x=bins.says, y=places, mode="markers", name="says", hoverinfo="skip", customdata=marks,
        marker={"symbol": "line-ns-open", "size": 14, "color": REFERENCE, "line": {"width": 3}},
    )  # fmt: skip
    right = go.Scatter(
        x=bins.right, y=places, mode="markers", name="right", customdata=marks, hovertemplate=_HOVER, cliponaxis=False,
        marker={"symbol": hollow, "size": 11, "color": look.colour, "opacity": 1},
    )  # fmt: skip
    columns = [
        {"axis": "y", "low": j - 0.5, "high": j + 0.5, "record": class_of | {"bin": b}, "says": _words(bins, j)}
        for j, b in enumerate(bins.bins.tolist())
    ]
    return finished(
        go.Figure([lines, says, right]),
        height=34 + _LINE * len(places),
        margin={"l": 8, "r": 44, "t": 6, "b": 26},
        showlegend=False,
        xaxis={"range": [-0.02, 1.02], **percent_ticks([0, 0.5, 1]), "tickfont": {"size": 12}},
        yaxis={
            "tickvals": places.tolist(),
            "ticktext": [between(low, high) for low, high in zip(bins.lower, bins.upper, strict=True)],
            "range": [-0.5, len(places) - 0.5],
            "showgrid": False,
            "ticks": "",
            "tickfont": {"size": 12},
        },
        annotations=[_rows(bins, j) for j in places.tolist()],
        meta={"columns": columns},
        uirevision=f"class bins {plain(bins.name)}",
    )


def _rows(bins: ClassBins, j: int) -> dict[str, object]:
    return {
        "x": 1,
        "y": j,
        "xref": "paper",
        "xshift": 42,
        "text": count(round(bins.count[j])),
        "xanchor": "right",
        "showarrow": False,
        "font": {"size": 12},
    }


def _words(bins: ClassBins, j: int) -> str:
    place = between(bins.lower[j], bins.upper[j])
    return f"{place}: {count(round(bins.count[j]))} rows, says {percent(bins.says[j])}, right {percent(bins.right[j])}"
