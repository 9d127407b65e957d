"""The reliability diagram of one or several models (P1 Fig. 1a)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import plotly.graph_objects as go

from calib_core._text import plain
from calib_core.diagrams import ReliabilityDiagram
from calib_core.figures.look import finished, style
from calib_core.figures.marks import FEW_ROWS, diagonal, numbered, records
from calib_core.figures.overlay import laid_over
from calib_core.figures.shown import draws

_HOVER = (
    "<b>%{meta[0]}</b>, bin %{customdata.interval}<br>"
    "%{customdata.count:,.6~g} rows, %{customdata.share:.1%} of all<br>"
    "mean confidence %{customdata.confidence:.4f}<br>"
    "accuracy %{customdata.accuracy:.4f}<br>"
    "class by class off by %{customdata.delta:.4f} on average"
    "<extra></extra>"
)


@draws(ReliabilityDiagram)
def reliability(
    diagrams: ReliabilityDiagram | Mapping[str, ReliabilityDiagram],
    *,
    over: Sequence[go.Figure] = (),
    looks: Sequence[str] | None = None,
) -> go.Figure:
    """Bars of row share, confidence stars and top-label plusses of one model, or of several by title.

    ``over`` is drawn under the stars: figures that `corp`, `corp_band`, `kernel_band`, `consistency_bands` or
    `wilson_intervals` made. A model keeps its colour among ``looks``, the titles of all that are shown.
    Every mark of a bin has a record as customdata: ``model``, ``bin``, ``interval`` and the bin's numbers.

    >>> import calib_core as cc
    >>> test = cc.Predictions([[0.75, 0.25]] * 4, [0, 0, 0, 1])
    >>> stars = reliability({"net": cc.diagrams.reliability(test, 5)}).data[2]
    >>> [stars.customdata[0][name] for name in ("model", "bin", "interval", "count")]
    ['net', 3, '[0.6, 0.8)', 4.0]
    """
    models = numbered(diagrams, looks)
    figure = go.Figure()
    figure.add_traces([_bars(place, len(models), *model) for place, model in enumerate(models)])
    figure.add_trace(diagonal())
    figure.add_traces([trace for drawn in over for trace in laid_over(drawn)])
    figure.add_traces([_stars(*model) for model in models])
    figure.add_traces([_plusses(*model) for model in models if not np.isnan(model[2].frame()["delta"]).all()])
    figure.add_traces([_legend(i, title) for i, title, _ in models])
    return finished(
        figure,
        barmode="overlay",
        bargap=0,
        xaxis={
            "title": "confidence in the predicted class",
            "range": [-0.01, 1.01],
            "dtick": 0.1,
            "constrain": "domain",
        },
        yaxis={"title": "accuracy; share of rows (bars)", "range": [-0.02, 1.04], "dtick": 0.2},
        legend={"tracegroupgap": 0, "traceorder": "normal"},
        uirevision="reliability",
        height=560,
    )


def _bars(place: int, n: int, i: int, title: str, diagram: ReliabilityDiagram) -> go.Bar:
    """Row shares; with several models each bin's width is divided between them."""
    frame = diagram.frame()
    bin_width = (frame["upper"] - frame["lower"]).to_numpy()
    width = bin_width * 0.94
    left = frame["lower"].to_numpy() + bin_width * 0.03 + width * place / n
    return go.Bar(
        x=left + width / n / 2,
        y=frame["share"].to_numpy(),
        width=width / n,
        name=f"{plain(title)}: row share",
        legendgroup=f"m{i}",
        showlegend=False,
        marker={"color": style(i).colour, "opacity": 0.28},
        meta=[plain(title)],
        customdata=_records(title, diagram),
        hovertemplate=_HOVER,
    )


def _stars(i: int, title: str, diagram: ReliabilityDiagram) -> go.Scatter:
    frame, look = diagram.frame(), style(i)
    few = frame["count"].to_numpy() < FEW_ROWS
    return go.Scatter(
        x=frame["confidence"].to_numpy(),
        y=frame["accuracy"].to_numpy(),
        mode="lines+markers",
        name=plain(title),
        legendgroup=f"m{i}",
        showlegend=False,
        line={"color": look.colour, "dash": look.dash, "width": 1},
        marker={
            "symbol": np.where(few, "star-open", "star").tolist(),
            "size": 14,
            "color": look.colour,
            "line": {"width": 1, "color": look.colour},
        },
        meta=[plain(title)],
        customdata=_records(title, diagram),
        hovertemplate=_HOVER,
    )


def _legend(i: int, title: str) -> go.Scatter:
    """A model's entry in the legend; a mark of its own, since a trace's entry takes the look of its first bin."""
    look = style(i)
    return go.Scatter(
        x=[None],
        y=[None],
        mode="lines+markers",
        name=plain(title),
        legendgroup=f"m{i}",
        line={"color": look.colour, "dash": look.dash, "width": 1},
        marker={"symbol": "star", "size": 14, "color": look.colour},
    )


def _plusses(i: int, title: str, diagram: ReliabilityDiagram) -> go.Scatter:
    frame, look = diagram.frame(), style(i)
    return go.Scatter(
        x=frame["confidence"].to_numpy(),
        y=frame["top_label"].to_numpy(),
        mode="markers",
        name=f"{plain(title)}: top-label",
        legendgroup=f"m{i}",
        showlegend=False,
        marker={"symbol": "cross-thin", "size": 13, "line": {"color": look.colour, "width": 3}},
        meta=[plain(title)],
        customdata=_records(title, diagram),
        hovertemplate=_HOVER,
    )


def _records(title: str, diagram: ReliabilityDiagram) -> list[dict[str, object]]:
    frame = diagram.frame()
    frame.insert(1, "interval", [diagram.label(int(b)) for b in frame["bin"]])
    return records(frame[["bin", "interval", "count", "share", "confidence", "accuracy", "delta"]], model=title)
