"""Reliability diagram: up to two models overlaid, more side by side (P1 Fig. 1a)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import ArrayLike

from calib_core._base.arrays import Float64s
from calib_core._base.errors import InputError
from calib_core.diagrams.bins_that_stand_out import ReliabilityBands
from calib_core.diagrams.reliability import ReliabilityDiagram
from calib_core.figures.bin_marks import OF_CLASSES, PLUSSES, BinMarks, Panel, key
from calib_core.figures.direct_labels import DIRECT, along, label_places
from calib_core.figures.look import REFERENCE, finished
from calib_core.figures.marks import diagonal, numbered, symbol
from calib_core.figures.overlay import CURVES, laid_over
from calib_core.figures.probability_axis import ProbabilityAxis, axis_for, heading, name_lines, on_axis
from calib_core.figures.shown import draws
from calib_core.text import exact_tolerance, plain

TOGETHER = ("auto", "overlay", "side by side")
"""Arrangements of several models; "auto" overlays two, and draws more side by side."""
MOST_LAID_OVER = 2
COLUMNS = 3
SAYS, RIGHT, ROWS = "confidence", "accuracy", "rows in the bin"
_STRIP, _BETWEEN = 0.14, 66
"""Height of the bars' strip, as a share, and pixels between it and the plot, for the axis and its title."""
_HEIGHT, _TOP, _FOOT = 560, 28, 40
"""Pixels of an overlaid plot, and above and below its axes."""
_PANEL, _PANELS_ALONE = 262, 380
"""Pixels of a row of panels, and of a single row."""
_HALF_A_PAGE, _DIGIT, _GAP, _ROUNDING = 480, 6, 2, 1e-6
"""Pixels of the narrowest plot in which bars' numbers do not overlap, of a digit, and between numbers."""
_NARROWEST = 176
"""Pixels of a panel that its heading fits in."""
_LINE_OF_NUMBERS = 0.38
"""Height of a line of numbers above the bars, as a share of the highest bar."""
FIT = {"ratio": 0.8, "less": 330}
"""The page makes a plot ``ratio`` as high as wide, and at most as high as the screen less so many pixels."""
_LINE, _NUMBERS, _BARS, _UNDER = 18, 44, 26, 110
"""Pixels of a heading line, of the numbers with the title below a panel, of the bars, and of the legend.

Without room for the legend below all panels, bars would touch the next heading.
"""


@draws(ReliabilityDiagram)
def reliability(
    diagrams: ReliabilityDiagram | Mapping[str, ReliabilityDiagram],
    *,
    over: Sequence[go.Figure] | Mapping[str, Sequence[go.Figure]] = (),
    looks: Mapping[str, int] | None = None,
    axis: str = "linear",
    plusses: str = "all",
    bands: ReliabilityBands | Mapping[str, ReliabilityBands] | None = None,
    tolerance: float | None = None,
    together: str = "auto",
    verdicts: pd.DataFrame | None = None,
    event: str = "",
) -> go.Figure:
    """Draw stars with intervals, plusses of classes and bars of rows for one model, or several by title.

    Where the classes of a bin differ significantly (``class_p`` of the diagram), a stem leads from the star to a strong
    plus. Its length is the classes' mean distance from the bin's own error; it is dotted as far as noise reaches.
    In other bins a pale plus is at their mean error (``top_label``), beside a bracket of its range where classes do not
    differ. ``plusses`` is "all", "significant" (without the pale ones), "printed" (as P1 prints them: at ``top_label``,
    with a stem, whatever noise shows) or "none".

    Up to two models are overlaid; three or more have a panel each, with the first model in gray behind it, unless
    ``together`` is set. ``over`` is drawn under the stars of the first model, or of the named ones: figures from
    `corp`, `corp_band`, `kernel_band`, `consistency_bands` or `bin_intervals`. A model keeps its style, by its
    number in ``looks``. ``bands`` of the same bins, of one model or by title, add intervals to the stars. They also
    add, in gray, the consistency band of a calibrated model. An overlay has the band of the first model. ``axis``
    is one of ``probability_axis.AXES``, ``tolerance`` is two dotted lines beside the diagonal, ``verdicts`` a frame of
    `inference.verdicts` for the headings of panels. ``event`` is the name of the event if the diagrams are of a
    predicted risk. Every mark of a bin has a record as customdata: ``model``, ``bin``, ``interval`` and the bin's
    numbers.

    >>> import calib_core as cc
    >>> test = cc.Predictions([[0.75, 0.25]] * 4, [0, 0, 0, 1])
    >>> figure = reliability({"net": cc.diagrams.reliability(test, 5, notion="confidence")})
    >>> (stars,) = (trace for trace in figure.data if trace.name == "net" and trace.customdata)
    >>> [stars.customdata[0][name] for name in ("model", "bin", "interval", "count")]
    ['net', 3, '60 to 80 %', 4.0]
    """
    models = numbered(diagrams, looks)
    if plusses not in PLUSSES:
        raise InputError(f"plusses is {plusses!r}; it must be one of {', '.join(PLUSSES)}")
    if together not in TOGETHER:
        raise InputError(f"together is {together!r}; it must be one of {', '.join(TOGETHER)}")
    frames = [diagram.frame() for _, _, diagram in models]
    where = axis_for(axis, *(frame[name] for frame in frames for name in ("confidence", "accuracy", "top_label")))
    found = {} if bands is None else bands if isinstance(bands, Mapping) else {models[0][1]: bands}
    marks = [
        BinMarks(
            number,
            title,
            diagram,
            where,
            models[0][1],
            bands=_checked(diagram, found.get(title)),
            pooled=plusses != "printed",
        )
        for number, title, diagram in models
    ]
    apart = together == "side by side" or (together == "auto" and len(marks) > MOST_LAID_OVER)
    apart = apart and len(marks) > 1
    marks = [replace(each, small=apart) for each in marks]
    laid = dict(over) if isinstance(over, Mapping) else {marks[0].title: over}
    figure = go.Figure()
    if apart:
        _side_by_side(figure, marks, laid, plusses, tolerance, verdicts)
    else:
        over = [drawn for figures in laid.values() for drawn in figures]
        _laid_over(figure, marks, over, plusses, tolerance, next(iter(found), None))
    figure.add_traces(key(marks, plusses, ghosts=apart))
    if event:
        _of_event(figure, event)
    return finished(
        figure,
        barmode="overlay",
        bargap=0,
        legend={"tracegroupgap": 0, "traceorder": "normal", "font": {"size": 12}},
        uirevision=f"reliability {axis}" if axis != "linear" else "reliability",
    )


def _laid_over(
    figure: go.Figure,
    marks: list[BinMarks],
    over: list[go.Figure],
    plusses: str,
    tolerance: float | None,
    banded: str | None,
) -> None:
    """Draw all models in one plot, with bars side by side below it."""
    panel, axis = Panel(), marks[0].axis
    figure.add_traces([each.calibrated(panel, True) for each in marks if each.title == banded])
    figure.add_traces(_ground(axis, panel, tolerance, True))
    figure.add_traces([on_axis(trace, axis) for drawn in over for trace in laid_over(drawn)])
    written = _numbers(marks)
    for place, each in enumerate(marks):
        figure.add_trace(each.bars(panel, place, len(marks), written == "on bars"))
        figure.add_traces(each.of_classes(panel, plusses))
    most = _most(marks)
    if written == "in lines":
        lines = [(1.2 + _LINE_OF_NUMBERS * place) * most for place in range(len(marks))]
        figure.add_traces([each.numbers(panel, line) for each, line in zip(marks, lines[::-1], strict=True)])
    figure.add_traces([each.stars(panel) for each in marks])
    labelled = _names(figure, marks, plusses)
    together = len(labelled) == len(marks)
    figure.add_traces([each.legend().update(_entry(together and each.title in labelled)) for each in marks])
    scale = axis.layout()
    figure.update_layout(
        xaxis={**scale, "title": SAYS, "anchor": "y", "showgrid": False},
        yaxis={**scale, "domain": [_STRIP + _BETWEEN / (_HEIGHT - _TOP - _FOOT), 1]},
        yaxis2={
            **_rows_axis(most * (1.3 + _LINE_OF_NUMBERS * (len(marks) - 1) * (written == "in lines"))),
            "domain": [0, _STRIP],
            "anchor": "x",
        },
        height=_HEIGHT,
        margin={"t": _TOP},
        meta={
            "columns": [c for each in marks for c in each.columns(panel)],
            "range": _ranged(axis),
            "strip": [_STRIP, _BETWEEN],
            "fit": {**FIT, "frame": _TOP + _FOOT},
        },
    )
    for text, y in ((RIGHT, 1.0), (ROWS, _STRIP)):
        figure.add_annotation(
            text=f"<b>{text}</b>",
            x=0,
            y=y,
            xref="paper",
            yref="paper",
            xanchor="left",
            yanchor="bottom",
            yshift=6,
            xshift=-34,
            showarrow=False,
        )
    _corners(figure, "x", "y")


def _of_event(figure: go.Figure, event: str) -> None:
    """Replace the labels by those for the predicted risk of an event."""
    words = {
        SAYS: f"predicted risk of \u201c{plain(event)}\u201d",
        RIGHT: "observed frequency",
        "underconfident": "risk too low",
        "overconfident": "risk too high",
    }
    hovers = {"confidence %": "predicted risk %", "accuracy %": "observed frequency %", OF_CLASSES: ""}
    for trace in figure.data:
        trace.update(name=words.get(trace.name, trace.name))
        for old, own in hovers.items():
            if isinstance(trace.hovertemplate, str):
                trace.hovertemplate = trace.hovertemplate.replace(old, own)
            elif trace.hovertemplate is not None:
                trace.hovertemplate = [text.replace(old, own) for text in trace.hovertemplate]
    for text, own in words.items():
        figure.for_each_annotation(lambda a, t=text, s=own: a.update(text=a.text.replace(t, s)))
    for axes in (figure.select_xaxes(), figure.select_yaxes()):
        for axis in axes:
            if axis.title.text in words:
                axis.update(title_text=words[axis.title.text])


def _numbers(marks: Sequence[BinMarks]) -> str:
    """Place of the numbers of rows on half a page: "on bars", "in lines" above them, or "nowhere".

    They are on the bars of all models or of none.
    """
    if _fit(marks, len(marks)):
        return "on bars"
    return "in lines" if len(marks) > 1 and _fit(marks, 1) else "nowhere"


def _fit(marks: Sequence[BinMarks], n: int) -> bool:
    """Return True if the number of every bin fits into an ``n``-th of it."""
    axis = marks[0].axis
    pixels = _HALF_A_PAGE / (axis.high - axis.low) / n
    for each in marks:
        wide = pixels * (axis.place(each.frame["upper"]) - axis.place(each.frame["lower"]))
        needed = [_DIGIT * len(f"{rows:,.0f}") + _GAP for rows in each.frame["count"]]
        if not np.all(np.asarray(wide) >= np.asarray(needed) - _ROUNDING):
            return False
    return True


def _checked(diagram: ReliabilityDiagram, bands: ReliabilityBands | None) -> ReliabilityBands | None:
    """The bands; InputError if they are not of the diagram's bins."""
    if bands is not None and bands.frame()["bin"].tolist() != diagram.frame()["bin"].tolist():
        raise InputError("the bands and the diagram have different bins")
    return bands


def _side_by_side(
    figure: go.Figure,
    marks: list[BinMarks],
    over: dict[str, Any],
    plusses: str,
    tolerance: float | None,
    verdicts: pd.DataFrame | None,
) -> None:
    """Draw a panel per model, with the first model's stars in gray behind the others'."""
    axis, n = marks[0].axis, len(marks)
    across = 2 if n in (2, 4) else COLUMNS
    down = -(-n // across)
    names = max(len(name_lines(each.title)) for each in marks)
    pixels = (_PANEL if down > 1 else _PANELS_ALONE) + _LINE * (names - 1)
    head = _LINE * (names + (2.2 if verdicts is not None else 0.4)) / pixels
    below = (_NUMBERS + _BARS) / pixels
    columns: list[dict[str, object]] = []
    boxes: list[tuple[float, ...]] = []
    annotations: list[dict[str, Any]] = []
    shapes: list[dict[str, Any]] = []
    for k, each in enumerate(marks):
        column, row = k % across, k // across
        panel = _panel(k)
        left, right = column / across + (0.015 if column else 0), (column + 1) / across - 0.015
        top, foot, high = 1 - row / down, 1 - (row + 1) / down, 1 / down
        picture = [foot + high * below, top - high * head]
        boxes.append((column / across, (column + 1) / across, foot, top))
        figure.add_traces([] if each.bands is None else [each.calibrated(panel, k == 0)])
        figure.add_traces(_ground(axis, panel, tolerance, k == 0))
        below_stars = [on_axis(trace, axis) for drawn in over.get(each.title, ()) for trace in laid_over(drawn)]
        figure.add_traces([trace.update(xaxis=panel.x, yaxis=panel.y) for trace in below_stars])
        figure.add_traces([marks[0].ghost(panel, k)] if k else [])
        figure.add_trace(each.bars(panel))
        figure.add_traces(each.of_classes(panel, plusses))
        figure.add_trace(each.stars(panel))
        number, scale, small = panel.x.removeprefix("x"), axis.layout(0.04, few=True), {"tickfont": {"size": 11}}
        last = k + across >= n
        figure.update_layout(
            {
                f"xaxis{number}": {
                    **scale,
                    **small,
                    "domain": [left, right],
                    "anchor": panel.y,
                    "showgrid": False,
                    **({"matches": "x"} if k else {}),
                    **({"title": {"text": SAYS, "font": {"size": 12}}} if last and column == 0 else {}),
                },
                f"yaxis{panel.y.removeprefix('y')}": {
                    **scale,
                    **small,
                    "domain": picture,
                    "anchor": panel.x,
                    **({"matches": "y"} if k else {}),
                    "showticklabels": column == 0,
                    **({"title": {"text": RIGHT, "font": {"size": 12}}} if column == 0 else {}),
                },
                f"yaxis{panel.rows.removeprefix('y')}": {
                    **_rows_axis(1.3 * _most(marks)),
                    "domain": [foot + high * 0.02, foot + high * _BARS / pixels],
                    "anchor": panel.x,
                    **({"matches": "y2"} if k else {}),
                },
            }
        )
        above = heading(each.title, each.look, verdicts, left, picture[1])
        annotations, shapes = [*annotations, *above["annotations"]], [*shapes, *above["shapes"]]
        columns += each.columns(panel)
    figure.update_layout(annotations=annotations, shapes=shapes)
    figure.update_layout(
        height=_UNDER + pixels * down,
        margin={"t": 8},
        meta={
            "columns": columns,
            "range": _ranged(axis),
            "panels": {"boxes": boxes, "high": pixels, "gap": 0, "least": _NARROWEST},
            "fit": {
                **FIT,
                "frame": _UNDER,
                "across": across,
                "share": (1 - head - below) / down,
                "least": pixels * down,
            },
        },
    )


def _panel(k: int) -> Panel:
    """Names of the axes of panel k."""
    x, y, rows = (str(i) if i > 1 else "" for i in (k + 1, 2 * k + 1, 2 * k + 2))
    return Panel(f"x{x}", f"y{y}", f"y{rows}")


def _ground(axis: ProbabilityAxis, panel: Panel, tolerance: float | None, named: bool) -> list[go.Scatter]:
    """The diagonal, with the lines of the tolerance beside it, if any."""
    line = diagonal(axis.low, axis.high, xaxis=panel.x, yaxis=panel.y, uid=f"diagonal{panel.x}")
    if tolerance is None:
        return [line]
    says, gap = axis.between(), np.array([np.nan])
    sides = [(says, says + step) for step in (-tolerance, tolerance)]
    inside = [(x[(y >= 0) & (y <= 1)], y[(y >= 0) & (y <= 1)]) for x, y in sides]
    x, y = (np.concatenate([inside[0][i], gap, inside[1][i]]) for i in (0, 1))
    lines = go.Scatter(
        x=axis.place(x),
        y=axis.place(y),
        mode="lines",
        line={"width": 1, "dash": "dot", "color": REFERENCE},
        name=f"tolerance of {exact_tolerance(tolerance)}",
        uid=f"tolerance{panel.x}",
        legendrank=2000,
        hoverinfo="skip",
        showlegend=named,
        xaxis=panel.x,
        yaxis=panel.y,
    )
    return [lines, line]


def _most(marks: Sequence[BinMarks]) -> float:
    """Rows of the fullest bin."""
    return max(float(each.frame["count"].max()) for each in marks)


def _rows_axis(high: float) -> dict[str, Any]:
    """Axis of the strip of bars: without numbers, which are at the bars or in hover texts."""
    return {
        "range": [0, high],
        "showgrid": False,
        "showticklabels": False,
        "ticks": "",
        "showline": False,
        "fixedrange": True,
    }


def _ranged(axis: ProbabilityAxis) -> bool | str:
    """Selection of a range of the axis: free, or by bins if its numbers are not confidences."""
    return True if axis.kind == "linear" else "columns"


def _corners(figure: go.Figure, x: str, y: str) -> None:
    """Add labels of both sides of the diagonal."""
    for text, spot, side in (("underconfident", (0.02, 0.97), "left"), ("overconfident", (0.98, 0.03), "right")):
        figure.add_annotation(
            text=f"<i>{text}</i>",
            x=spot[0],
            y=spot[1],
            xref=f"{x} domain",
            yref=f"{y} domain",
            xanchor=side,
            yanchor="top" if side == "left" else "bottom",
            showarrow=False,
            opacity=0.8,
        )


def _entry(labelled: bool) -> dict[str, Any]:
    """Properties of a legend entry: hidden if there is a direct label, except in columns that are too narrow for it."""
    return {"showlegend": False, "meta": {DIRECT: True}} if labelled else {}


def _names(figure: go.Figure, marks: Sequence[BinMarks], plusses: str) -> list[str]:
    """Add the models' names next to their stars, if there is room, and those of lines; return the models added."""
    axis = marks[0].axis
    wide = axis.high - axis.low

    def shares(across: ArrayLike, heights: ArrayLike) -> Float64s:
        xy = np.column_stack([axis.place(across), axis.place(np.clip(heights, 0, 1))])
        return (xy - axis.low) / wide

    stars = {each.title: shares(each.marks["confidence"], each.marks["accuracy"]) for each in marks}
    line = along(np.array([[0.0, 0.0], [1.0, 1.0]]), 60)
    corners = np.array([[0.05, 0.95], [0.12, 0.95], [0.88, 0.05], [0.95, 0.05]])
    lines = [along(points) for points in stars.values()]
    pieces = [
        along(np.stack(pair), 12)
        for each in marks
        for across, *heights in _spans(each, plusses)
        for pair in zip(*(shares(across, end) for end in heights), strict=True)
    ]
    whole = {each.title: stars[each.title][~each.few] if not each.few.all() else stars[each.title] for each in marks}
    others = [*stars.values(), line, corners, *lines, *(p for p in pieces if len(p))]
    placed = label_places(whole, others)
    _names_of_lines(figure, axis, [*others, *(_covered(name, *placed[name]) for name in placed)])
    for each in marks:
        if each.title not in placed:
            continue
        x, y, xanchor, yanchor = placed[each.title]
        across, up = axis.low + x * wide, axis.low + y * wide
        text, sign = _BESIDE[xanchor]
        half = _HALF_A_LETTER * len(each.title) if xanchor == "center" else 0.0
        figure.add_annotation(
            text=f"<b>{plain(each.title)}</b>",
            x=across,
            y=up,
            xanchor=xanchor,
            yanchor=yanchor,
            xshift=text,
            showarrow=False,
            name=DIRECT,
        )
        place: dict[str, Any] = {"xref": "x", "xanchor": across, "yref": "y", "yanchor": up}
        figure.add_shape(symbol(each.look, sign - half, _HIGHER[yanchor], name=DIRECT, **place))
    return list(placed)


def _covered(name: str, x: float, y: float, xanchor: str, yanchor: str) -> Float64s:
    """Points of the box of a label that is placed here."""
    long, high = 0.03 + 0.0125 * len(name), 0.05
    left = x - {"left": 0.0, "center": long / 2, "right": long}[xanchor]
    low = y - {"bottom": 0.0, "middle": high / 2, "top": high}[yanchor]
    grid = np.meshgrid(np.linspace(left, left + long, 12), np.linspace(low, low + high, 4))
    return np.column_stack([part.ravel() for part in grid])


def _names_of_lines(figure: go.Figure, axis: ProbabilityAxis, others: list[Float64s]) -> None:
    """Add the names of band, tolerance and curves next to them in place of the legend, if there is room."""
    wide = axis.high - axis.low
    candidates, drawn = dict[str, Float64s](), dict[str, Any]()
    for trace in figure.data:
        kind = str(trace.uid)
        if not (kind.startswith(("consistency", "tolerance")) or trace.name in CURVES):
            continue
        points = (np.column_stack([np.asarray(trace.x, float), np.asarray(trace.y, float)]) - axis.low) / wide
        others = [*others, along(points, 40)]
        whole = points[~np.isnan(points).any(axis=1)]
        # The lower edge of the band, and the lower line of the tolerance, from the right: the last point is best.
        candidates[trace.name] = whole[: len(whole) // 2][::-1] if trace.name not in CURVES else whole[::6]
        drawn[trace.name] = trace
    for name, (x, y, xanchor, yanchor) in label_places(candidates, others).items():
        figure.add_annotation(
            text=plain(name),
            x=axis.low + x * wide,
            y=axis.low + y * wide,
            xanchor=xanchor,
            yanchor=yanchor,
            showarrow=False,
            name=DIRECT,
            # Of a curve in its color, which has just the contrast of text; others are gray.
            **({"font": {"color": drawn[name].line.color}} if name in CURVES else {"opacity": 0.85}),
        )
        drawn[name].update(_entry(labelled=True))


def _spans(each: BinMarks, plusses: str) -> list[tuple[Any, Any, Any]]:
    """Vertical lines of a model's bins, at a confidence from height to height: intervals, stems or brackets."""
    found: list[tuple[Any, Any, Any]] = []
    if each.bands is not None:
        marks = each.marks
        found.append((marks["confidence"], marks["accuracy_low"], marks["accuracy_high"]))
    star = each.frame["confidence"], each.frame["accuracy"]
    if plusses == "printed":
        found.append((*star, each.frame["top_label"]))
    elif plusses != "none":
        found.append((*star, np.where(each.signal, each.ends, np.nan)))
    if plusses == "all" and each.has_stems:
        found.append((each.frame["confidence"], *each.null_ends))
    return found


_BESIDE = {"left": (17, 8), "right": (-17, -8), "center": (8, -3)}
"""Horizontal offsets in pixels of a name's text and mark from its anchor, by the anchored end."""
_HIGHER = {"middle": 0, "bottom": 10, "top": -10}
_HALF_A_LETTER = 3.9
"""Half the width of a bold letter, in pixels."""
