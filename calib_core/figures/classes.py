"""Classes side by side: errors of models with that of a calibrated model, and small diagrams (P1 Fig. 4, 9).

The module also draws gaps of every class by predicted class: all pairs, or the largest ones for many classes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from textwrap import wrap
from typing import Any, TypeVar

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from calib_core.diagrams.class_bias import MOST_CLASSES, ClassBias
from calib_core.diagrams.class_list import ClassGaps, ClassTable, ranked_classes
from calib_core.diagrams.reliability import FEW_ROWS, is_hollow, is_pooled, pooled_marks
from calib_core.diagrams.small_diagrams import ClassCurves, ClassPanels, ClassValidity, SmallDiagrams
from calib_core.figures.findings import findings
from calib_core.figures.levels import steps
from calib_core.figures.look import DIVERGING, REFERENCE, finished, style
from calib_core.figures.marks import diagonal, entry, numbered, records, symbols, taken, taken_from, with_gaps
from calib_core.figures.paper import text_width
from calib_core.figures.probability_axis import heading, percent_ticks
from calib_core.figures.shown import draws
from calib_core.inference.significance.count_tests import standing_out
from calib_core.palette import Style
from calib_core.text import at_level, count, percent, plain, points, rounded

Small = TypeVar("Small", bound=SmallDiagrams)

COLUMNS = 4
_PICTURE, _BETWEEN, _NARROWEST = 118, 54, 120
"""Pixels of a small diagram's axes in narrow columns, between two, and their least width."""
_AROUND, _ROW = 84, 172
"""Pixels around all small diagrams, and of a row of them at its lowest."""
_FIT = {"ratio": 0.6, "less": 560}
"""Shape of a small diagram on a wide page, as `FIT` of the reliability diagram."""
SHOWN = 12
"""Default number of classes in `class_table`."""
NOISE = "rgba(128, 128, 128, 0.35)"
"""Color of a calibrated model's mean error."""
_LINE, _APART = 24, 0.56
"""Pixels of a class's line, and the part of it with the models' marks."""
_FEWEST = 2
"""Minimum number of lines for which the figure has room: Plotly gives a legend at most half of its height."""
_LEGEND, _SIGN = 560, 46
"""Pixels of a legend's line on a narrow page, and of a sign in it."""
_HOVER = (
    "<b>%{hovertext}</b><br>error %{x:.1~%}<br>%{customdata.count:,.6~g} rows, %{customdata.share:.1~%} of all"
    "<extra></extra>"
)


@draws(ClassTable)
def class_table(
    tables: ClassTable | Mapping[str, ClassTable],
    *,
    classes: Sequence[int] | None = None,
    tests: pd.DataFrame | None = None,
    looks: Mapping[str, int] | None = None,
) -> go.Figure:
    """Draw the error of every model per class, with the first model's mean prediction and observed frequency at right.

    ``classes`` are positions, by default the dozen worst of the first model. With its ``per_class_tests`` the mean
    error of calibrated probabilities is a gray bar, and names of classes with a significant error are bold. Marks
    of fewer than 10 rows are hollow. A model keeps its style, by its number in ``looks``.
    """
    models = numbered(tables, looks)
    first = models[0][2]
    ranked = ranked_classes(first, tests=tests)[:SHOWN] if classes is None else classes
    chosen = np.asarray(ranked, dtype=np.intp)
    # Positions, not names: long names with the same beginning would share a position.
    places = np.arange(len(chosen))
    figure = go.Figure()
    if tests is not None:
        figure.add_trace(_noise(tests, chosen, places))
    for i, (number, title, table) in enumerate(models):
        offset = (i - (len(models) - 1) / 2) * _APART / len(models)
        figure.add_trace(_errors(number, title, table, chosen, places + offset))
    outstanding = set() if tests is None else set(standing_out(tests))
    names = [plain(first.names[c][:24]) for c in chosen]
    bold = [f"<b>{name}</b>" if c in outstanding else name for c, name in zip(chosen.tolist(), names, strict=True)]
    facts = [_facts(first, c) for c in chosen.tolist()]
    columns = [
        {
            "axis": "y",
            "low": j - 0.5,
            "high": j + 0.5,
            "record": {"code": c},
            "says": f"{plain(first.names[c])}: predicted {facts[j][0]} %, observed {facts[j][1]} %, {facts[j][2]} rows",
        }
        for j, c in enumerate(chosen.tolist())
    ]
    return finished(
        figure,
        height=76 + _LINE * max(len(chosen), _FEWEST) + _legend_height([title for _, title, _ in models]),
        barmode="overlay",
        annotations=numbers_at_right(facts, ("predicted %", "observed %", "rows")),
        margin={"r": 204, "t": 28},
        xaxis={"title": "raw ECE of the class; gray: calibrated model", "rangemode": "tozero", "tickformat": "~%"},
        yaxis={
            "tickvals": places.tolist(),
            "ticktext": bold,
            "range": [len(chosen) - 0.5, -0.5],
            "showgrid": False,
            "ticks": "",
        },
        meta={"columns": columns},
        uirevision="class errors",
    )


def _legend_height(titles: Sequence[str]) -> int:
    """Pixels of the legend below marks of these models; Plotly sets entries that need several lines in columns."""
    widths = [_SIGN + text_width(name, 14) for name in ("calibrated model", *titles)]
    columns = len(widths) if sum(widths) <= _LEGEND else max(1, int(_LEGEND / max(widths)))
    return 20 * math.ceil(len(widths) / columns)


def _noise(tests: pd.DataFrame, chosen: np.ndarray[Any, Any], places: np.ndarray[Any, Any]) -> go.Bar:
    return go.Bar(
        x=tests["calibrated"].to_numpy()[chosen],
        y=places,
        orientation="h",
        width=0.8,
        name="calibrated model",
        marker={"color": NOISE},
        customdata=records(pd.DataFrame({"code": chosen})),
        hovertemplate="a calibrated model has %{x:.1~%} on average<extra></extra>",
    )


def _errors(
    i: int, title: str, table: ClassTable, chosen: np.ndarray[Any, Any], places: np.ndarray[Any, Any]
) -> go.Scatter:
    look = style(i)
    columns = {"code": chosen, "count": table.count[chosen], "share": table.share[chosen]}
    hollow = symbols(look, table.count[chosen])
    return go.Scatter(
        x=table.error[chosen],
        y=places,
        mode="markers",
        name=plain(title),
        marker={"color": look.colour, "symbol": hollow.tolist(), "size": 11, "opacity": 1},
        hovertext=[plain(table.names[c]) for c in chosen],
        customdata=records(pd.DataFrame(columns), model=title),
        hovertemplate=_HOVER,
        cliponaxis=False,
    )


def _facts(table: ClassTable, c: int) -> tuple[str, str, str]:
    """Mean prediction, observed frequency and rows of a class, over all rows if all have a prediction for it."""
    if not table.count[c] > 0:
        return "–", "–", "0"
    return rounded(100 * table.score[c], 1), rounded(100 * table.outcome[c], 1), count(round(table.count[c]))


_GAPS, _HEAD, _FOOT = 230, 40, 16
"""Pixels of a model's axes, above them for its heading, and below them without the names of classes."""
_SHORT, _LETTER = 12, 7
"""Maximum letters of the name of a class below its line, and pixels of a letter."""
_CLOSE = 60
"""Number of classes above which names are in two rows, by turns: in one, those of a narrow page would overlap."""


@draws(ClassGaps)
def class_gaps(gaps: ClassGaps | Mapping[str, ClassGaps], *, looks: Mapping[str, int] | None = None) -> go.Figure:
    """Draw one line per class: from a tick at its mean prediction to a dot at its observed frequency.

    The gray bar is the range of calibrated models. Classes that are not significantly off are hollow. Each model has
    a panel; all have the same classes in the same order. A model keeps its style, by its number in ``looks``.
    """
    models = numbered(gaps, looks)
    letters = max(len(name[:_SHORT]) for _, _, each in models for name in each.names)
    rows = 1 + any(len(each.code) > _CLOSE for _, _, each in models)
    high, n = _HEAD + _GAPS + _FOOT + rows * _LETTER * letters, len(models)
    figure, columns = go.Figure(), list[dict[str, object]]()
    least = min(float(np.nanmin([each.score, each.outcome, each.low], initial=1.0)) for _, _, each in models)
    floor = max(0.0, np.floor(10 * least) / 10)
    ticks = percent_ticks([tenth / 10 for tenth in range(round(10 * floor), 11, 2)])
    for k, (number, title, each) in enumerate(models):
        x, y, look = f"x{k + 1 if k else ''}", f"y{k + 1 if k else ''}", style(number)
        figure.add_traces([trace.update(xaxis=x, yaxis=y) for trace in _gap_marks(look, title, each, named=not k)])
        foot = 1 - (k * high + _HEAD + _GAPS) / (n * high)
        domain = [foot, foot + _GAPS / (n * high)]
        places = np.arange(len(each.code))
        figure.update_layout(
            {
                f"xaxis{x[1:]}": {
                    "anchor": y,
                    "tickvals": places.tolist(),
                    "ticktext": _by_turns([plain(name[:_SHORT]) for name in each.names], rows, letters),
                    "tickangle": -90,
                    "tickfont": {"size": 11 if len(places) <= _CLOSE else 10},
                    "range": [-0.7, len(places) - 0.3],
                    "showgrid": False,
                    "ticks": "",
                },
                f"yaxis{y[1:]}": {"anchor": x, "domain": domain, "range": [floor - 0.02, 1.02], **ticks},
            }
        )
        above = heading(title, look, None, 0.0, domain[1])
        off = "" if each.off is None else f"   {each.off:,} of {each.tested:,} classes significantly off"
        for annotation in above["annotations"]:
            figure.add_annotation({**annotation, "text": f"{annotation['text']}{off}"})
        for shape in above["shapes"]:
            figure.add_shape(shape)
        columns += [
            {
                "axis": x,
                "low": j - 0.5,
                "high": j + 0.5,
                "record": {"model": title, "code": c},
                "says": plain(text).replace(" %", " percent"),
            }
            for j, (c, text) in enumerate(zip(each.code, _gap_words(each), strict=True))
        ]
    return finished(
        figure,
        height=n * high,
        barmode="overlay",
        legend={"orientation": "h", "x": 1, "xanchor": "right", "y": 1, "yanchor": "top", "yref": "container"},
        margin={"t": 8, "b": 8},
        meta={"columns": columns},
        uirevision="class gaps",
    )


def _by_turns(names: Sequence[str], rows: int, letters: int) -> list[str]:
    """Names on vertical lines, every second one below the others if there are two rows: spaces keep it there."""
    below = "\N{NO-BREAK SPACE}" * (3 * letters)  # a space has a third of a letter's width
    return [f"{name}{below}" if rows > 1 and j % 2 else name for j, name in enumerate(names)]


def _gap_words(gaps: ClassGaps) -> list[str]:
    """Sentence about each class."""
    return [
        f"{name}: predicted {percent(says)}, observed {percent(right)}, {count(round(rows))} rows"
        for name, says, right, rows in zip(gaps.names, gaps.score, gaps.outcome, gaps.rows, strict=True)
    ]


def _gap_marks(look: Style, title: str, gaps: ClassGaps, named: bool) -> list[go.Bar | go.Scatter]:
    """Marks of a model's classes, with legend entries if ``named``."""
    places, none = np.arange(len(gaps.code)), np.full(len(gaps.code), np.nan)
    frame = pd.DataFrame({"code": gaps.code, "rows": gaps.rows})
    noise = go.Bar(
        x=places,
        y=gaps.high - gaps.low,
        base=gaps.low,
        width=0.72,
        marker={"color": NOISE, "line": {"width": 0}},
        name=f"{at_level(gaps.level)} of calibrated models",
        hoverinfo="skip",
        showlegend=named,
    )
    lines = go.Scatter(
        x=np.column_stack([places, places, none]).ravel(),
        y=np.column_stack([gaps.score, gaps.outcome, none]).ravel(),
        mode="lines",
        line={"color": look.colour, "width": 1.6},
        hoverinfo="skip",
        showlegend=False,
    )
    tick = {"symbol": "line-ew-open", "size": 9, "color": REFERENCE, "line": {"width": 2.4, "color": REFERENCE}}
    says = go.Scatter(
        x=places, y=gaps.score, mode="markers", marker=tick, name="predicted", hoverinfo="skip", showlegend=named
    )
    dots = go.Scatter(
        x=places,
        y=gaps.outcome,
        mode="markers",
        name=plain(title),
        marker={
            "symbol": np.where(gaps.stands_out, "circle", "circle-open").tolist(),
            "size": 8,
            "opacity": 1,
            "color": look.colour,
            "line": {"width": 1.4, "color": look.colour},
        },
        customdata=records(frame, model=title),
        hovertext=list(map(plain, _gap_words(gaps))),
        hovertemplate="%{hovertext}<extra></extra>",
        cliponaxis=False,
        showlegend=False,
    )
    entries = [("observed", "circle"), ("not significantly off", "circle-open")]
    legend = [
        go.Scatter(
            x=[None], y=[None], mode="markers", name=name, marker={"symbol": symbol, "size": 9, "color": REFERENCE}
        )
        for name, symbol in entries
    ]
    return [noise, lines, says, dots, *(legend if named else [])]


def numbers_at_right(facts: Sequence[tuple[str, str, str]], heads: tuple[str, str, str]) -> list[dict[str, object]]:
    """Right-aligned numbers at the right of every line, under their headings."""
    bold = tuple(f"<b>{head}</b>" for head in heads)
    lines = [(-0.5, bold, "bottom"), *((j, f, "middle") for j, f in enumerate(facts))]
    return [
        {
            "x": 1,
            "y": y,
            "xref": "paper",
            "xshift": shift,
            "text": text,
            "xanchor": "right",
            "yanchor": anchor,
            "showarrow": False,
            "font": {"size": 13},
        }
        for y, texts, anchor in lines
        for text, shift in zip(texts, (62, 156, 200), strict=True)
    ]


@draws(ClassPanels)
def class_panels(
    panels: ClassPanels | Mapping[str, ClassPanels], *, looks: Mapping[str, int] | None = None
) -> go.Figure:
    """Draw a small reliability diagram per chosen class, with all models in each.

    A model keeps its style, by its number in ``looks``.
    """
    models = numbered(panels, looks)
    figure = _grid(models, _points, "reliability", lambda j: _bins(models, j))
    # Marks of few rows are hollow, so the legend has separate entries.
    return figure.update_traces(showlegend=False).add_traces([entry(title, i) for i, title, _ in models])


@draws(ClassCurves)
def class_curves(
    curves: ClassCurves | Mapping[str, ClassCurves], *, looks: Mapping[str, int] | None = None
) -> go.Figure:
    """Draw the kernel reliability curve per chosen class, with all models in each small diagram.

    A model keeps its style, by its number in ``looks``.
    """
    return _grid(numbered(curves, looks), _smooth, "kernel")


@draws(ClassValidity)
def class_validity(
    plots: ClassValidity | Mapping[str, ClassValidity], *, looks: Mapping[str, int] | None = None
) -> go.Figure:
    """Draw V(epsilon) per chosen class, with all models in each small diagram, dotted before recalibration.

    A model keeps its style, by its number in ``looks``.
    """
    return _grid(numbered(plots, looks), _steps, "validity")


def _grid(
    models: list[tuple[int, str, Small]],
    marks: Callable[[int, str, Small, int, dict[str, Any]], list[go.Scatter]],
    curve: str,
    columns: Callable[[int], list[dict[str, Any]]] | None = None,
) -> go.Figure:
    """Small diagram per class, with the marks of its position in each model.

    ``columns`` of a position are clickable; without them a click anywhere selects the class.
    """
    first = models[0][2]
    n = len(first.classes)
    rows = -(-n // COLUMNS)
    figure = make_subplots(
        rows=rows,
        cols=COLUMNS,
        subplot_titles=[_title(first, j) for j in range(n)],
        shared_xaxes=False,
        horizontal_spacing=0.045,
        vertical_spacing=min(0.16, 0.36 / rows),
    )
    clicked = []
    for j in range(n):
        where = {"row": j // COLUMNS + 1, "col": j % COLUMNS + 1}
        if curve != "validity":
            figure.add_trace(diagonal(), **where)
        for i, title, diagram in models:
            for trace in marks(i, title, diagram, j, {"legendgroup": f"m{i}", "showlegend": j == 0}):
                figure.add_trace(trace, **where)
        whole = [{"low": 0.0, "high": 1.0, "record": first.record(j), "says": plain(first.names[j])}]
        clicked += [{"axis": f"x{j + 1 if j else ''}", **column} for column in (columns(j) if columns else whole)]
    shares = percent_ticks([0, 0.5, 1])
    axis = {"rangemode": "tozero", "tickformat": ".0%"} if curve == "validity" else {"range": [-0.03, 1.03], **shares}
    figure.update_xaxes(**axis, tickfont={"size": 11})
    figure.update_yaxes(range=[-0.05, 1.05], **shares, tickfont={"size": 11})
    # Only the leftmost diagram of a row has numbers, as others would overlap the adjacent diagram.
    for column in range(2, COLUMNS + 1):
        figure.update_yaxes(showticklabels=False, col=column)
    figure.update_annotations(font={"size": 13})
    axes = [(figure.layout[f"xaxis{j or ''}"], figure.layout[f"yaxis{j or ''}"]) for j in (0, *range(2, n + 1))]
    boxes = [(*x.domain, *y.domain) for x, y in axes]
    panels = {
        "boxes": boxes,
        "high": _PICTURE,
        "gap": _BETWEEN,
        "least": max([_NARROWEST, *(text_width(_title(first, j), 13) + 16 for j in range(n))]),
    }
    least, share = _ROW * rows, boxes[0][3] - boxes[0][2]
    fit = {**_FIT, "frame": _AROUND, "across": COLUMNS, "share": share, "lowest": share * least, "least": least}
    meta = {"columns": clicked, "panels": panels, "fit": fit}
    return finished(figure, height=_AROUND + least, margin={"t": 30}, meta=meta, uirevision=f"class panels {curve}")


def _title(panels: SmallDiagrams, j: int) -> str:
    return f"<b>{plain(panels.names[j][:20])}</b>: error {percent(float(panels.error[j]))}"


def _bins(models: list[tuple[int, str, ClassPanels]], j: int) -> list[dict[str, Any]]:
    """Bins of a class in which any model has rows; the first model's bins if edges differ."""
    first, c = models[0][2], models[0][2].classes[j]
    lower, upper = first.bins.lower[c], first.bins.upper[c]
    alike = [panels.bins for _, _, panels in models if np.array_equal(panels.bins.lower[c], lower, equal_nan=True)]
    filled = np.flatnonzero(np.any([bins.count[c] > 0 for bins in alike], axis=0))
    return [
        {
            "low": float(lower[b]),
            "high": float(upper[b]),
            "record": {**first.record(j), "bin": b},
            "says": f"{plain(first.names[j])}, {percent(lower[b])} to {percent(upper[b])}",
        }
        for b in filled.tolist()
    ]


def _points(i: int, title: str, panels: ClassPanels, j: int, how: dict[str, Any]) -> list[go.Scatter]:
    c, look = panels.classes[j], style(i)
    filled = np.flatnonzero(panels.bins.count[c] > 0)
    names = {"count": "count", "confidence": "mean_score", "accuracy": "mean_outcome"}
    bins = {name: getattr(panels.bins, source)[c][filled] for name, source in names.items()}
    marks = pooled_marks(pd.DataFrame({"bin": filled, **bins}))
    hollow = is_hollow(marks)
    own = marks["bin"].astype(object).where(~is_pooled(marks), None)
    places = with_gaps(~hollow)
    points = go.Scatter(
        x=taken(marks["confidence"], places),
        y=taken(marks["accuracy"], places),
        mode="lines+markers",
        name=plain(title),
        line={"color": look.colour, "dash": look.dash, "width": 1},
        marker={
            "symbol": symbols(look, np.where(hollow, 0, FEW_ROWS))[places].tolist(),
            "size": 8,
            "opacity": 1,
        },
        customdata=taken_from(records(marks[["count"]].assign(bin=own), model=title, **panels.record(j)), places),
        hovertemplate="predicted %{x:.1~%}<br>observed %{y:.1~%}<br>%{customdata.count:,.6~g} rows<extra></extra>",
        cliponaxis=False,
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
        hovertemplate="predicted %{x:.1~%}<br>observed %{y:.1~%}<extra></extra>",
        **how,
    )
    return [line]


def _steps(i: int, title: str, plots: ClassValidity, j: int, how: dict[str, Any]) -> list[go.Scatter]:
    after = steps(plots.plots[j], title, style(i), **how)
    if not plots.before:
        return [after]
    before = steps(plots.before[j], f"before, bins of {title}", style(i), **how)
    return [before.update(line={"dash": "dot", "width": 1.2}), after]


_BIAS_LINE, _LONGEST, _WIDE = 26, 14, 64
"""Pixels of a class, and maximum letters of a name and of a hover line."""
_CELL = 0.95
"""Side of a cell, relative to the distance between classes."""


@draws(ClassBias)
def class_bias(bias: ClassBias, *, model: str = "model", looks: Mapping[str, int] | None = None) -> go.Figure:
    """Draw gaps by predicted class (rows) and class (columns): blue if rarer than predicted, else vermilion.

    Dots mark significant pairs. For more than 25 classes the largest pairs are drawn like `findings`. Records have
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
    bar = {**ticks, "title": {"text": "observed minus predicted", "side": "right"}}
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
        name="significant",
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
        height=110 + _BIAS_LINE * max(len(lines), 4),
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
