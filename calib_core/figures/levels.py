"""Figures of stated confidence levels, the risk-coverage curve, and validity."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import plotly.graph_objects as go

from calib_core.diagrams.levels import Levels
from calib_core.diagrams.selective import RiskCoverage
from calib_core.diagrams.validity import CUT, ROOM, ValidityPair, ValidityPlot, drawn_end
from calib_core.figures.look import REFERENCE, Style, finished, style
from calib_core.figures.marks import diagonal, entry, numbered, records, symbols
from calib_core.figures.probability_axis import ProbabilityAxis, percent_ticks
from calib_core.figures.shown import draws
from calib_core.text import count, percent, plain

_SMALLEST, _LARGEST = 7.0, 24.0
"""Pixels of a point without rows, and of one with all rows."""
_LABELLED = 30
"""Maximum number of points with their number of rows."""
_PALE = 0.45
"""Opacity of a point that is not significant."""
_HOVER = (
    "%{meta}<br>confidence %{customdata.confidence:.1~%}, accuracy %{customdata.right:.1~%} "
    "(%{customdata.low:.1~%} to %{customdata.high:.1~%})<br>%{customdata.rows:,.4~r} rows<extra></extra>"
)


@draws(Levels)
def levels(diagrams: Levels | Mapping[str, Levels], *, looks: Mapping[str, int] | None = None) -> go.Figure:
    """Draw one point per stated confidence for one model, or several by title, with the line of perfect calibration.

    A point's size shows its share of rows; it is pale if the level is not significant and hollow if it has
    fewer than 10 rows. The number of rows is next to the points of a single model. Points of several models with the
    same confidence are side by side. A model keeps its style, by its number in ``looks``.

    >>> import calib_core as cc
    >>> test = cc.Predictions.from_confidence([0.5, 0.5, 0.9], [True, False, True])
    >>> levels(cc.diagrams.levels(test)).data[1].text
    ('2', '1')
    """
    models = numbered(diagrams, looks)
    labelled = len(models) == 1 and len(models[0][2].confidence) <= _LABELLED
    axis = ProbabilityAxis("linear", 0.0, 1.0).layout()
    figure = go.Figure([diagonal(), *(_points(number, title, each, labelled) for number, title, each in models)])
    figure.add_traces([entry(title, number, showlegend=len(models) > 1) for number, title, _ in models])
    return finished(
        figure,
        xaxis={**axis, "title": "confidence", "showgrid": False},
        yaxis={**axis, "title": "accuracy"},
        # Bars at one level would hide each other.
        scattermode="group",
        scattergap=0.6,
        uirevision="levels",
        margin={"r": 34},
        height=480,
    )


def _points(number: int, title: str, diagram: Levels, labelled: bool) -> go.Scatter:
    frame, look = diagram.frame(), style(number)
    return go.Scatter(
        x=frame["confidence"],
        y=frame["right"],
        mode="markers+text" if labelled else "markers",
        text=[count(round(n)) for n in frame["rows"]] if labelled else None,
        textposition="middle right",
        textfont={"size": 12},
        error_y={
            "type": "data",
            "symmetric": False,
            "array": frame["high"] - frame["right"],
            "arrayminus": frame["right"] - frame["low"],
            "color": look.colour,
            "thickness": 1.8,
            "width": 3,
        },
        marker={
            "symbol": symbols(look, frame["rows"]).tolist(),
            "size": _SMALLEST + (_LARGEST - _SMALLEST) * np.sqrt(frame["share"]),
            "color": look.colour,
            "opacity": np.where(frame["stands_out"] != "", 1.0, _PALE).tolist(),
            "line": {"width": 1.2, "color": look.colour},
        },
        name=plain(title),
        meta=plain(title),
        legendgroup=f"m{number}",
        offsetgroup=str(number),
        showlegend=False,
        cliponaxis=False,
        customdata=records(frame.drop(columns=["share", "p", "p_holm"]), model=title),
        hovertemplate=_HOVER,
    )


_TICKS = (0, 0.2, 0.4, 0.6, 0.8, 1)
_FEW = 30
"""Maximum number of marked points; with more, only the line is drawn."""
_HOVER_OF_SHARES = (
    "%{meta}<br>most confident %{x:.1~%} of rows (confidence %{customdata.threshold:.2~%} or more): %{y:.1~%} wrong "
    "(%{customdata.low:.1~%} to %{customdata.high:.1~%})<extra></extra>"
)


@draws(RiskCoverage)
def selective(
    diagrams: RiskCoverage | Mapping[str, RiskCoverage],
    *,
    coverage: float | None = None,
    looks: Mapping[str, int] | None = None,
) -> go.Figure:
    """Draw one curve per model with its pointwise interval, and a faint line at its overall error rate.

    A curve on the faint line means that confidence is uninformative. A given ``coverage`` is marked.
    A model keeps its style, by its number in ``looks``.
    """
    models = numbered(diagrams, looks)
    figure = go.Figure([trace for number, title, each in models for trace in _curve(number, title, each)])
    if coverage is not None:
        figure.add_vline(x=coverage, line={"color": REFERENCE, "dash": "dot", "width": 1.5})
    return finished(
        figure,
        xaxis={"title": "share of rows answered, most confident first", "range": [0, 1.01], **percent_ticks(_TICKS)},
        yaxis={"title": "error rate of answered rows", "rangemode": "tozero", "tickformat": ".0%"},
        uirevision="selective",
        margin={"r": 34},
        height=420,
    )


def _curve(number: int, title: str, diagram: RiskCoverage) -> list[go.Scatter]:
    frame, look = diagram.frame(), style(number)
    group = {"legendgroup": f"m{number}", "showlegend": False, "hoverinfo": "skip"}
    band = go.Scatter(
        x=np.concatenate([frame["coverage"], frame["coverage"][::-1]]),
        y=np.concatenate([frame["low"], frame["high"][::-1]]),
        fill="toself",
        line={"width": 0, "color": look.colour},
        mode="lines",
        opacity=0.18,
        **group,
    )
    level = go.Scatter(
        x=[0, 1],
        y=[diagram.risk[-1]] * 2,
        mode="lines",
        line={"color": look.colour, "width": 1, "dash": "dot"},
        opacity=0.6,
        **group,
    )
    line = go.Scatter(
        x=frame["coverage"],
        y=frame["risk"],
        mode="lines+markers" if len(frame) <= _FEW else "lines",
        line={"color": look.colour, "dash": look.dash, "width": 2},
        marker={"symbol": look.symbol, "size": 9, "color": look.colour},
        name=plain(title),
        meta=plain(title),
        legendgroup=f"m{number}",
        showlegend=True,
        customdata=records(frame, model=title),
        hovertemplate=_HOVER_OF_SHARES,
    )
    return [band, level, line]


@draws(ValidityPlot)
def validity(
    plots: ValidityPlot | Mapping[str, ValidityPlot],
    *,
    looks: Mapping[str, int] | None = None,
    before: Mapping[str, str] | None = None,
) -> go.Figure:
    """Draw the share of rows with a claim error of at most epsilon, as one step line per model.

    The axis ends where every line has 99 % of its rows, and its title says so.
    A model keeps its style, by its number in ``looks``. ``before`` maps models before
    recalibration to the recalibrated models with the same bins; they are dotted in the same color.
    """
    earlier = dict(before or {})
    own = {} if isinstance(plots, ValidityPlot) else {t: plot for t, plot in plots.items() if t not in earlier}
    shown = numbered(own or plots, looks)
    of = {title: i for i, title, _ in shown}
    dotted = [_dotted(plots[t], t, style(of[after])) for t, after in earlier.items()]  # type: ignore[index]
    every = [plots] if isinstance(plots, ValidityPlot) else list(plots.values())
    end, most = drawn_end(every)
    name = "maximum error (L1 distance)" if any(plot.distance for plot in every) else "maximum error"
    off = {} if any(plot.distance for plot in every) else {"tickformat": "~%"}
    cut = {"range": [0, ROOM * end]} if most > ROOM * end > 0 else {"rangemode": "tozero"}
    title = f"{name}, up to its {percent(CUT, 0)} quantile" if "range" in cut else name
    return finished(
        go.Figure([*(steps(plot, title, style(i)) for i, title, plot in shown), *dotted, *_dots(dotted)]),
        xaxis={"title": title, **off, **cut},
        yaxis={"title": "share of rows", "range": [-0.02, 1.04], "tickformat": "~%"},
        uirevision="validity",
        height=400,
    )


def _dotted(plot: ValidityPlot, title: str, look: Style) -> go.Scatter:
    line = steps(plot, title, look, showlegend=False, opacity=0.75)
    return line.update(line={"dash": "dot", "width": 1.5})


def _dots(dotted: list[go.Scatter]) -> list[go.Scatter]:
    """One legend entry for all models before recalibration."""
    if not dotted:
        return []
    name = "before recalibration, in the same bins"
    return [
        go.Scatter(x=[None], y=[None], mode="lines", name=name, line={"color": REFERENCE, "dash": "dot", "width": 1.5})
    ]


@draws(ValidityPair)
def validity_pair(pair: ValidityPair) -> go.Figure:
    """Draw the model before and after recalibration, on the same groups of rows."""
    return validity({"before": pair.before, "after": pair.after})


def steps(plot: ValidityPlot, title: str, look: Style, **how: Any) -> go.Scatter:
    """V as a step line from (0, 0)."""
    off = "a distance of at most %{x:.2~f}" if plot.distance else "an error of at most %{x:.2~%}"
    return go.Scatter(
        x=np.append(0.0, plot.eps),
        y=np.append(0.0, plot.share),
        mode="lines",
        name=plain(title),
        line={"color": look.colour, "dash": look.dash, "width": 2, "shape": "hv"},
        hovertemplate=f"%{{y:.1~%}} of rows have {off}<extra></extra>",
        **how,
    )
