"""Calibration in the large: value, interval and a small plot per measure, each on a scale around its reference."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import plotly.graph_objects as go

from calib_core.diagrams.risk_diagram import LargeLines
from calib_core.figures.look import REFERENCE, finished
from calib_core.figures.marks import numbers
from calib_core.figures.shown import draws
from calib_core.palette import style
from calib_core.text import at_level, score, share_range, short_percent

ROW, HEAD, FOOT, LEFT = 44, 24, 2, 346
"""Pixels of a line, of the parts above and below the lines, and of the text at the left."""
_NARROW, _NARROW_VALUE, _NARROW_ENDS = 348, 138, 250
"""The same in a narrow column."""
_VALUE, _ENDS = 132, 246
"""Left ends of values and intervals, in pixels."""
_TITLES = {
    "observed": "Mean risk",
    "ratio": "Observed : expected",
    "intercept": "Calibration intercept",
    "slope": "Calibration slope",
}
_NARROWEST = 0.3
"""Minimum half width of a scale around 1 or in log-odds; for a frequency, as a share of the risk."""


@draws(LargeLines)
def large_lines(large: LargeLines, *, model: str = "model", looks: Mapping[str, int] | None = None) -> go.Figure:
    """Draw mean risk, observed to expected events, intercept and slope with intervals, next to their references.

    Every line has its own scale around the value of a calibrated model (dotted); the mean predicted risk is a bar. An
    interval beyond the line is cut. The ``model`` keeps its style, by its number in ``looks``.
    """
    own = style(numbers([model], looks)[model])
    lines = large.lines.to_dict("records")
    figure = go.Figure()
    notes = [_text(_VALUE, -1, "value", small=True), _text(_ENDS, -1, f"{at_level(large.found.level)} interval", True)]
    for i, line in enumerate(lines):
        half = _half(line)
        low, value, high = (_place(line[name], line["reference"], half) for name in ("low", "value", "high"))
        words = f"{_TITLES[line['measure']]}: {_value(large, line)}, {_ends(line)}".replace("<br>", ", ")
        figure.add_scatter(
            x=[value] if math.isfinite(value) else [None],
            y=[i],
            error_x={
                "array": [high - value if math.isfinite(high - value) else 0],
                "arrayminus": [value - low if math.isfinite(value - low) else 0],
                "symmetric": False, "thickness": 2.5, "width": 6, "color": own.colour,
            },
            mode="markers",
            marker={"color": own.colour, "symbol": own.symbol, "size": 13, "line": {"width": 1, "color": "#ffffff"}},
            name=model,
            customdata=[{"model": model, **{n: line[n] for n in ("value", "low", "high") if math.isfinite(line[n])}}],
            hovertext=[words.replace("<b>", "").replace("</b>", "")],
            hoverinfo="text",
            showlegend=False,
            cliponaxis=False,
        )  # fmt: skip
        notes += [
            _text(0, i, _TITLES[line["measure"]]),
            _text(_VALUE, i, _value(large, line)),
            _text(_ENDS, i, _ends(line)),
        ]
    notes.append(
        {"x": 0.5, "xref": "paper", "y": 1, "yref": "paper", "yanchor": "bottom", "yshift": 4, "showarrow": False,
         "text": "<b>▮</b> predicted  <b>┊</b> calibrated model", "font": {"size": 12.5}, "opacity": 0.85},
    )  # fmt: skip
    rows = range(len(lines))
    rails = [_line(-1, i, 1, i, width=1, opacity=0.35) for i in rows]
    rules = [_rule(i - 0.5) for i in rows]
    bar = [_line(0, -0.28, 0, 0.28, width=5, color=None)]
    dots = [_line(0, i - 0.34, 0, i + 0.34, width=1.5, dash="dot") for i in rows if i]
    return finished(
        figure.update_layout(shapes=[*rules, *rails, *bar, *dots], annotations=notes),
        xaxis={"range": [-1.12, 1.12], "visible": False, "showticklabels": False, "fixedrange": True},
        yaxis={"range": [3.5, -0.5], "visible": False, "showticklabels": False, "fixedrange": True},
        meta={"narrow": _narrow(notes)},
        margin={"l": LEFT, "r": 12, "t": HEAD, "b": FOOT, "autoexpand": False},
        height=HEAD + FOOT + ROW * len(lines),
        uirevision="in the large",
    )


def _narrow(notes: list[dict[str, Any]]) -> dict[str, Any]:
    """Form in a narrow column: closer columns of text, and the key of the marks above their headings."""
    *texts, key = notes
    moved = {0 - LEFT: -_NARROW, _VALUE - LEFT: _NARROW_VALUE - _NARROW, _ENDS - LEFT: _NARROW_ENDS - _NARROW}
    above = {**key, "x": 1, "xanchor": "right", "yshift": 20}
    return {
        "layout": {
            "annotations": [*({**note, "xshift": moved[note["xshift"]]} for note in texts), above],
            "margin": {"l": _NARROW, "t": HEAD + 18},
            "height": HEAD + 18 + FOOT + 4 * ROW,
        }
    }


def _half(line: Mapping[Any, Any]) -> float:
    """Half width of a line's scale."""
    reference = float(line["reference"])
    away = [abs(line[name] - reference) for name in ("low", "value", "high") if math.isfinite(line[name])]
    least = _NARROWEST * (reference or 1e-9) if line["measure"] == "observed" else _NARROWEST
    return max(1.1 * max(away, default=0.0), least)


def _place(value: float, reference: float, half: float) -> float:
    """Position of a value on a line from -1 to 1, cut at its ends; NaN if there is none."""
    if math.isnan(value):
        return math.nan
    return max(-1.0, min(1.0, (value - reference) / half))


def _value(large: LargeLines, line: Mapping[Any, Any]) -> str:
    found = large.found
    if line["measure"] == "observed":
        return (
            f"predicted <b>{short_percent(found.mean_predicted)}</b><br>observed <b>{short_percent(found.observed)}</b>"
        )
    if line["measure"] == "ratio":
        return f"<b>{number(line['value'])}</b> ({_count(found.events)} : {_count(found.expected)})"
    return f"<b>{number(line['value'])}</b>"


def _ends(line: Mapping[Any, Any]) -> str:
    low, high = line["low"], line["high"]
    if math.isnan(low) or math.isnan(high):
        return "–"
    return share_range(low, high) if line["measure"] == "observed" else f"{number(low)} to {number(high)}"


def number(value: float) -> str:
    """Format a ratio, an intercept or a slope as in tables, with a dash for missing values.

    >>> number(-0.583), number(float("inf")), number(float("nan")), number(12.3)
    ('−0.583', '∞', '–', '12.3')
    """
    if math.isnan(value):
        return "–"
    return score(value) if math.isfinite(value) else "∞" if value > 0 else "−∞"


def _count(events: float) -> str:
    return f"{events:,.0f}" if events >= 10 or events == round(events) else f"{events:.1f}"


def _text(across: int, row: float, words: str, small: bool = False) -> dict[str, Any]:
    """Text at this distance from the left in pixels, in a row; above the first row if the row is -1."""
    place = {"xref": "paper", "x": 0, "xanchor": "left", "xshift": across - LEFT, "align": "left", "showarrow": False}
    above = {"yref": "paper", "y": 1, "yanchor": "bottom", "yshift": 4}
    return (
        place
        | (above if row < 0 else {"y": row})
        | {
            "text": words,
            "font": {"size": 12.5 if small else 13.5},
            "opacity": 0.85 if small else 1,
        }
    )


def _line(x0: float, y0: float, x1: float, y1: float, **look: Any) -> dict[str, Any]:
    opacity = look.pop("opacity", 1)
    line = {"color": REFERENCE} | {name: value for name, value in look.items() if value is not None}
    return {"type": "line", "x0": x0, "x1": x1, "y0": y0, "y1": y1, "line": line, "opacity": opacity, "layer": "below"}


def _rule(y: float) -> dict[str, Any]:
    """Thin line above a row, including its text."""
    return {
        "type": "line", "xref": "paper", "xsizemode": "pixel", "xanchor": 0, "x0": -LEFT, "x1": 4000, "y0": y, "y1": y,
        "line": {"color": REFERENCE, "width": 0.5}, "opacity": 0.4, "layer": "below",
    }  # fmt: skip
