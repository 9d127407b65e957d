"""Reliability diagram: up to two models overlaid, more side by side (P1 Fig. 1a)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from calib_core._base.arrays import Float64s
from calib_core._base.errors import InputError
from calib_core.diagrams.reliability import ReliabilityDiagram
from calib_core.figures.bin_marks import ONE_BIN, BinMarks, Panel, key
from calib_core.figures.direct_labels import DIRECT, along, label_places
from calib_core.figures.look import finished
from calib_core.figures.marks import diagonal, numbered, symbol
from calib_core.figures.overlay import laid_over
from calib_core.figures.probability_axis import ProbabilityAxis, axis_for, heading, name_lines, on_axis
from calib_core.figures.shown import draws
from calib_core.text import plain, short_percent

TOGETHER = ("auto", "overlay", "side by side")
"""Arrangements of several models; "auto" overlays two, and draws more side by side."""
MOST_LAID_OVER = 2
COLUMNS = 3
SAYS, RIGHT, ROWS = "confidence", "accuracy", "rows in the bin"
_STRIP, _BETWEEN = 0.14, 53
"""Height of the bars' strip, as a share, and pixels between it and the plot, for numbers and two titles."""
_HEIGHT, _TOP, _FOOT = 560, 34, 80
"""Pixels of an overlaid plot, and above and below its axes."""
_PANEL, _PANELS_ALONE = 262, 380
"""Pixels of a row of panels, and of a single row."""
_LABELLED = 22
"""Maximum number of bars with their numbers."""
_HALF_A_PAGE, _DIGIT, _GAP = 480, 6, 2
"""Pixels of the narrowest plot in which bars' numbers do not overlap, of a digit, and between numbers."""
_NARROWEST = 176
"""Pixels of a panel that its heading fits in."""
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
    stems: bool = True,
    tolerance: float | None = None,
    together: str = "auto",
    verdicts: pd.DataFrame | None = None,
    event: str = "",
) -> go.Figure:
    """Draw stars, stems to their plusses and bars of rows for one model, or several by title.

    Up to two models are overlaid; three or more have a panel each, with the first model in gray behind it, unless
    ``together`` is set. ``over`` is drawn under the stars of the first model, or of the named ones: figures from
    `corp`, `corp_band`, `kernel_band`, `consistency_bands` or `bin_intervals`. A model keeps its style, by its
    number in ``looks``. ``axis`` is one of ``probability_axis.AXES``, ``tolerance`` a band around the diagonal,
    ``verdicts`` a frame of `inference.verdicts` for the headings of panels. ``event`` is the name of the event if the
    diagrams are of a predicted risk. Every mark of a bin has a record as customdata: ``model``, ``bin``, ``interval``
    and the bin's numbers.

    >>> import calib_core as cc
    >>> test = cc.Predictions([[0.75, 0.25]] * 4, [0, 0, 0, 1])
    >>> figure = reliability({"net": cc.diagrams.reliability(test, 5, notion="confidence")})
    >>> (stars,) = (trace for trace in figure.data if trace.name == "net" and trace.customdata)
    >>> [stars.customdata[0][name] for name in ("model", "bin", "interval", "count")]
    ['net', 3, '60 to 80 %', 4.0]
    """
    models = numbered(diagrams, looks)
    if together not in TOGETHER:
        raise InputError(f"together is {together!r}; it must be one of {', '.join(TOGETHER)}")
    frames = [diagram.frame() for _, _, diagram in models]
    where = axis_for(axis, *(frame[name] for frame in frames for name in ("confidence", "accuracy", "top_label")))
    marks = [BinMarks(number, title, diagram, where, models[0][1]) for number, title, diagram in models]
    apart = together == "side by side" or (together == "auto" and len(marks) > MOST_LAID_OVER)
    apart = apart and len(marks) > 1
    marks = [replace(each, small=apart) for each in marks]
    laid = dict(over) if isinstance(over, Mapping) else {marks[0].title: over}
    stems = stems and any(each.has_stems for each in marks)
    figure = go.Figure()
    if apart:
        _side_by_side(figure, marks, laid, stems, tolerance, verdicts)
    else:
        _laid_over(figure, marks, [drawn for figures in laid.values() for drawn in figures], stems, tolerance)
    figure.add_traces(key(marks, stems, ghosts=apart))
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
    figure: go.Figure, marks: list[BinMarks], over: list[go.Figure], stems: bool, tolerance: float | None
) -> None:
    """Draw all models in one plot, with bars side by side below it."""
    panel, axis = Panel(), marks[0].axis
    figure.add_traces(_ground(axis, panel, tolerance, True))
    figure.add_traces([on_axis(trace, axis) for drawn in over for trace in laid_over(drawn)])
    # Either all models' bars have their numbers or none.
    written = len(marks) * max(len(each.frame) for each in marks) <= _LABELLED and _fit(marks)
    for place, each in enumerate(marks):
        figure.add_trace(each.bars(panel, place, len(marks), written))
        figure.add_traces([*each.stems(panel), each.plusses(panel)] if stems and each.has_stems else [])
    figure.add_traces([each.stars(panel) for each in marks])
    figure.add_traces([each.legend() for each in marks])
    scale = axis.layout()
    figure.update_layout(
        xaxis={**scale, "title": SAYS, "anchor": "y", "showgrid": False},
        yaxis={**scale, "domain": [_STRIP + _BETWEEN / (_HEIGHT - _TOP - _FOOT), 1]},
        yaxis2={**_rows_axis(marks), "domain": [0, _STRIP], "anchor": "x"},
        height=_HEIGHT,
        margin={"t": _TOP},
        meta={
            "columns": [c for each in marks for c in each.columns(panel)],
            "range": _ranged(axis),
            "strip": [_STRIP, _BETWEEN],
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
    _names(figure, marks, stems)


def _of_event(figure: go.Figure, event: str) -> None:
    """Replace the labels by those for the predicted risk of an event."""
    words = {
        SAYS: f"predicted risk of \u201c{plain(event)}\u201d",
        RIGHT: "observed frequency",
        "under-confident": "risk too low",
        "over-confident": "risk too high",
        ONE_BIN: "one bin (mean predicted risk, observed frequency)",
    }
    figure.for_each_trace(lambda trace: trace.update(name=words.get(trace.name, trace.name)))
    for text, own in words.items():
        figure.for_each_annotation(lambda a, t=text, s=own: a.update(text=a.text.replace(t, s)))
    for axes in (figure.select_xaxes(), figure.select_yaxes()):
        for axis in axes:
            if axis.title.text in words:
                axis.update(title_text=words[axis.title.text])


def _fit(marks: Sequence[BinMarks]) -> bool:
    """Return True if every bar is as wide as the number above it, on half a page."""
    axis = marks[0].axis
    pixels = _HALF_A_PAGE / (axis.high - axis.low) / len(marks)
    for each in marks:
        wide = pixels * (axis.place(each.frame["upper"]) - axis.place(each.frame["lower"]))
        needed = [_DIGIT * len(f"{rows:,.0f}") + _GAP for rows in each.frame["count"]]
        if not np.all(np.asarray(wide) >= needed):
            return False
    return True


def _side_by_side(
    figure: go.Figure,
    marks: list[BinMarks],
    over: dict[str, Any],
    stems: bool,
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
        figure.add_traces(_ground(axis, panel, tolerance, k == 0))
        below_stars = [on_axis(trace, axis) for drawn in over.get(each.title, ()) for trace in laid_over(drawn)]
        figure.add_traces([trace.update(xaxis=panel.x, yaxis=panel.y) for trace in below_stars])
        figure.add_traces([marks[0].ghost(panel, k)] if k else [])
        figure.add_trace(each.bars(panel))
        figure.add_traces([*each.stems(panel), each.plusses(panel)] if stems and each.has_stems else [])
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
                    **_rows_axis(marks),
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
        },
    )


def _panel(k: int) -> Panel:
    """Names of the axes of panel k."""
    x, y, rows = (str(i) if i > 1 else "" for i in (k + 1, 2 * k + 1, 2 * k + 2))
    return Panel(f"x{x}", f"y{y}", f"y{rows}")


def _ground(axis: ProbabilityAxis, panel: Panel, tolerance: float | None, named: bool) -> list[go.Scatter]:
    """Band of the tolerance, if any, with the diagonal on it."""
    line = diagonal(axis.low, axis.high, xaxis=panel.x, yaxis=panel.y, uid=f"diagonal{panel.x}")
    if tolerance is None:
        return [line]
    says = axis.between()
    ends = (np.clip(says + step, 0, 1) for step in (-tolerance, tolerance))
    x, (low, high) = axis.place(says), (axis.place(end) for end in ends)
    band = go.Scatter(
        x=np.append(x, x[::-1]),
        y=np.append(low, high[::-1]),
        fill="toself",
        fillcolor="rgba(128, 128, 128, 0.24)",
        mode="lines",
        line={"width": 0},
        name=f"within {short_percent(tolerance).removesuffix(' %')} points of the diagonal",
        uid=f"tolerance{panel.x}",
        legendrank=2000,
        hoverinfo="skip",
        showlegend=named,
        xaxis=panel.x,
        yaxis=panel.y,
    )
    return [band, line]


def _rows_axis(marks: Sequence[BinMarks]) -> dict[str, Any]:
    """Axis of the strip of bars: without numbers, which are at the bars or in hover texts."""
    most = max(float(each.frame["count"].max()) for each in marks)
    return {
        "range": [0, 1.3 * most],
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
    for text, spot, side in (("under-confident", (0.02, 0.97), "left"), ("over-confident", (0.98, 0.03), "right")):
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


def _names(figure: go.Figure, marks: Sequence[BinMarks], stems: bool) -> None:
    """Add the models' names next to their stars, if there is room."""
    axis = marks[0].axis
    wide = axis.high - axis.low

    def shares(frame: pd.DataFrame, name: str) -> Float64s:
        xy = np.column_stack([axis.place(frame["confidence"]), axis.place(frame[name])])
        return (xy - axis.low) / wide

    stars = {each.title: shares(each.frame, "accuracy") for each in marks}
    ends = {each.title: shares(each.frame, "top_label") for each in marks if stems and each.has_stems}
    line = along(np.array([[0.0, 0.0], [1.0, 1.0]]), 60)
    corners = np.array([[0.05, 0.95], [0.12, 0.95], [0.88, 0.05], [0.95, 0.05]])
    lines = [along(points) for points in stars.values()]
    pieces = [along(np.stack(pair), 12) for t in ends for pair in zip(stars[t], ends[t], strict=True)]
    whole = {each.title: stars[each.title][~each.few] if not each.few.all() else stars[each.title] for each in marks}
    placed = label_places(whole, [*stars.values(), line, corners, *lines, *pieces])
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


_BESIDE = {"left": (17, 8), "right": (-17, -8), "center": (8, -3)}
"""Horizontal offsets in pixels of a name's text and mark from its anchor, by the anchored end."""
_HIGHER = {"middle": 0, "bottom": 10, "top": -10}
_HALF_A_LETTER = 3.9
"""Half the width of a bold letter, in pixels."""
