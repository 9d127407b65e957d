"""Figures for print: at the width of a journal's column, with type of 7 to 9 pt and the legend above the axes."""

from __future__ import annotations

import base64
import html
import io
import math
import re
import textwrap
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import plotly.graph_objects as go
from PIL import ImageFont

from calib_core._base.arrays import Float64s
from calib_core._base.errors import InputError
from calib_core.figures.direct_labels import DIRECT
from calib_core.figures.look import figure_template
from calib_core.fonts import FAMILY, MOST_FOR_LEGEND, PER_INCH, PER_POINT, SCREEN, WIDTHS, ColumnWidth, face
from calib_core.palette import SYMBOLS, outline

__all__ = ["WIDTHS", "on_paper", "shortened", "text_width"]

_SMALLEST, _LARGEST = 7.0, 9.0
"""Points of type."""
HEIGHT = 420
"""Pixels of a figure on screen that names no height."""
_AWAY = 4
"""Pixels between a mark and its label."""
_SHORT, _LONG = 230, 0.62
"""Pixels that a text above the axes may always have, and its largest share of their width beside their title."""
_NUMBERS, _BESIDE = 28, 14
"""Pixels between two panels side by side, for the last number of one axis and the first of the next."""
_NARROW = 600
"""Pixels of the screen below which a figure takes its narrow form."""
_LOW = 200
"""Pixels of a vertical axis below which labels next to marks would meet: their places are shares of its height."""
LEGEND = "legend"
"""Name of the annotations of a legend."""
_SPARE = 12
"""Pixels by which Plotly may widen the left margin, which the legend begins at."""
_BELOW = 38
"""Pixels below axes whose legend has moved away."""
_KEY, _APART, _LINE, _AROUND = 26, 11, 18, 6
"""Pixels before a legend's text, between its entries, of a line, and around all lines."""


def on_paper(figure: go.Figure, width: str = "double") -> go.Figure:
    """Return a figure for print in a column of a journal.

    ``width`` is "single" (3.4 inches) or "double" (7 inches). It is drawn at the width that suits
    the type of the screen, then scaled: distances between texts keep their proportions. Panels wrap, and the legend is
    above the axes. Type has 7 to 9 pt in Arimo, which is as wide as Arial. Sizes are in CSS pixels, 96 to the inch.

    >>> import calib_core as cc
    >>> rows = cc.Predictions([[0.75, 0.25]] * 4, [0, 0, 0, 1])
    >>> printed = on_paper(cc.figures.draw(cc.diagrams.reliability(rows)), "single")
    >>> printed.layout.width / 96, printed.layout.font.size * 72 / 96
    (3.3958333333333335, 7.5)
    """
    if width not in WIDTHS:
        raise InputError(f"width is {width!r}; it must be one of {', '.join(WIDTHS)}")
    return go.Figure(at_width(figure.to_plotly_json(), WIDTHS[width]), skip_invalid=True)


def at_width(spec: dict[str, Any], column: ColumnWidth, legend: float = MOST_FOR_LEGEND) -> dict[str, Any]:
    """Arrange a figure's plain values of JSON for print in a column of any width, and return them.

    ``legend`` is the largest share of the figure's height for its legend.
    """
    wide = column.inches * PER_INCH / column.scale
    layout = spec.setdefault("layout", {})
    layout.setdefault("height", HEIGHT)
    margin = {"l": 56, "r": 16, "t": 24, "b": 40} | layout.get("margin", {})
    layout |= {"width": wide, "margin": margin}
    _narrowed(spec, wide)
    _sides(layout, column)
    _wrapped(layout, wide)
    _scales(spec)
    _upward(layout)
    _thinned(spec, column)
    _legend(spec, wide, column, legend)
    layout["template"] = figure_template(dark=False).to_plotly_json()
    layout["font"] = {**layout.get("font", {}), "family": FAMILY, "color": "#1a1a1a", "size": SCREEN}
    _type(spec, column)
    _scale(spec, column)
    layout["width"], layout["height"] = column.pixels, round(layout["height"])
    for kind in ("annotations", "shapes"):
        if layout.get(kind) == []:
            del layout[kind]
    return spec


def _narrowed(spec: dict[str, Any], wide: float) -> None:
    """Give a figure its narrow form in a narrow column, if its ``meta`` has one, and no labels without room."""
    layout = spec["layout"]
    narrow = _meta(layout).get("narrow")
    if wide < _NARROW or _upright(layout) < _LOW:
        _with_legend_for_labels(spec)
    if wide >= _NARROW or narrow is None:
        return
    for name, value in narrow["layout"].items():
        both = isinstance(value, dict) and isinstance(layout.get(name), dict)
        layout[name] = {**layout[name], **value} if both else value
    spec["data"] = [trace for trace in spec["data"] if trace.get("name") not in narrow.get("without", ())]
    for trace in spec["data"]:
        if trace.get("name") in narrow.get("texts", ()):
            trace["text"] = narrow["texts"][trace["name"]]


def _upright(layout: Mapping[str, Any]) -> float:
    """Return the length of the first vertical axis in pixels."""
    low, high = (layout.get("yaxis") or {}).get("domain") or (0, 1)
    return float((high - low) * (layout["height"] - layout["margin"]["t"] - layout["margin"]["b"]))


def _with_legend_for_labels(spec: dict[str, Any]) -> None:
    """Name marks in the legend instead of in labels next to them."""
    layout = spec["layout"]
    for kind in ("annotations", "shapes"):
        layout[kind] = [thing for thing in layout.get(kind, ()) if thing.get("name") != DIRECT]
    for trace in spec["data"]:
        if isinstance(trace.get("meta"), dict) and trace["meta"].get(DIRECT):
            trace["showlegend"] = True


def _meta(layout: Mapping[str, Any]) -> Mapping[str, Any]:
    meta = layout.get("meta")
    return meta if isinstance(meta, Mapping) else {}


_Box = tuple[float, float, float, float]
"""Left, right, lower and upper end."""


# -- panels -----------------------------------------------------------------------------------------------------


def _wrapped(layout: dict[str, Any], wide: float) -> None:
    """Wrap the panels that ``meta`` declares into as many columns as leave each its least width."""
    panels = _meta(layout).get("panels")
    if panels is None:
        return
    boxes, margin = [tuple(box) for box in panels["boxes"]], layout["margin"]
    inner = wide - margin["l"] - margin["r"]
    before = len({box[0] for box in boxes})
    across = min(before, max(1, int(inner // panels["least"])))
    if across == before and wide >= _NARROW:
        return
    down, gap = -(-len(boxes) // across), panels["gap"]
    height = down * panels["high"] + (down - 1) * gap
    between = (_NUMBERS if panels["gap"] else _BESIDE) / inner if across > 1 else 0.0
    broad = (1 - between * (across - 1)) / across
    places = []
    for i in range(len(boxes)):
        left, top = (i % across) * (broad + between), 1 - (i // across) * (panels["high"] + gap) / height
        places.append((left, left + broad, top - panels["high"] / height, top))
    _rehung(layout, boxes, places)
    _relabelled(layout, places, across)
    layout["height"] = height + margin["t"] + margin["b"]


def _rehung(layout: dict[str, Any], boxes: list[_Box], places: list[_Box]) -> None:
    """Move everything placed on the paper with the panel it is in."""
    of = {name: _panel_of(layout, name, boxes) for name in layout if name.startswith(("xaxis", "yaxis"))}
    for name, axis in layout.items():
        if name in of:
            i = of[name]
            k = 0 if name.startswith("x") else 2
            axis["domain"] = [_moved(end, boxes[i][k : k + 2], places[i][k : k + 2]) for end in axis["domain"]]
    for thing in (*layout.get("annotations", ()), *layout.get("shapes", ())):
        x, y = ("xanchor", "yanchor") if "type" in thing else ("x", "y")
        if thing.get("xref") == thing.get("yref") == "paper" and x in thing and y in thing:
            i = _inside(thing[x], thing[y], boxes)
            thing[x] = _moved(thing[x], boxes[i][:2], places[i][:2])
            thing[y] = _moved(thing[y], boxes[i][2:], places[i][2:])


def _panel_of(layout: Mapping[str, Any], name: str, boxes: list[_Box]) -> int:
    """Panel of an axis, by the middle of its domain and of its partner's."""
    axis = layout[name]
    partner = layout[axis["anchor"].replace("x", "xaxis").replace("y", "yaxis")]
    middle, other = (sum(each["domain"]) / 2 for each in (axis, partner))
    return _inside(*((middle, other) if name.startswith("x") else (other, middle)), boxes)


def _inside(x: float, y: float, boxes: list[_Box]) -> int:
    """Panel that a point is in or nearest to; a point on the line between two is in the right or the lower one."""

    def away(box: _Box) -> float:
        return max(box[0] - x, x - box[1] + 1e-6, 0.0) + max(box[2] + 1e-6 - y, y - box[3], 0.0)

    return min(range(len(boxes)), key=lambda i: away(boxes[i]))


def _moved(value: float, old: tuple[float, ...], new: tuple[float, ...]) -> float:
    share = (value - old[0]) / (old[1] - old[0])
    return min(1.0, max(0.0, new[0] + share * (new[1] - new[0])))


def _relabelled(layout: dict[str, Any], places: list[_Box], across: int) -> None:
    """Give numbers and titles to the axes at the left and at the bottom, as before."""
    axes = {name: axis for name, axis in layout.items() if name.startswith(("xaxis", "yaxis"))}
    upward = next((axis["title"] for name, axis in axes.items() if name[0] == "y" and _titled(axis)), None)
    titled = [axis["title"] for name, axis in axes.items() if name[0] == "x" and _titled(axis)]
    for name, axis in axes.items():
        i = _panel_of(layout, name, places)
        column, last = i % across, i + across >= len(places)
        if name[0] == "x":
            axis.pop("title", None)
            if last and titled and (len(titled) > 1 or column == 0):
                axis["title"] = titled[0]
        elif axis.get("showticklabels", True) or _strip_free(axis):
            axis["showticklabels"] = column == 0
            axis.pop("title", None)
            if column == 0 and upward:
                axis["title"] = upward


def _titled(axis: Mapping[str, Any]) -> bool:
    return bool((axis.get("title") or {}).get("text"))


def _strip_free(axis: Mapping[str, Any]) -> bool:
    """Return True if an axis without numbers has the scale of one with numbers, rather than of a strip of bars."""
    return axis.get("ticks") != ""


# -- text beside and between marks --------------------------------------------------------------------------------


def _sides(layout: dict[str, Any], column: ColumnWidth) -> None:
    """Fold a long text above the axes, and widen the margins for the texts in them, so that none grows when drawn."""
    layout["margin"]["l"] = _left(layout)
    inner = layout["width"] - layout["margin"]["l"] - layout["margin"]["r"]
    for note in layout.get("annotations", ()):
        above = note.get("yref") == "paper" and note.get("y") == 1 and note.get("yanchor") == "bottom"
        if above and "<br>" not in note["text"] and text_width(note["text"], SCREEN) > max(_LONG * inner, _SHORT):
            letters = int(len(note["text"]) * _LONG * inner / text_width(note["text"], SCREEN))
            note["text"] = "<br>".join(_even(note["text"], max(letters, 12)))
            note["align"] = note["xanchor"] if note.get("xanchor") in ("left", "right") else "center"
            layout["margin"]["t"] += 17 * note["text"].count("<br>")
            layout["height"] += 17 * note["text"].count("<br>")
    needs = [layout["margin"]["r"]]
    for note in layout.get("annotations", ()):
        if note.get("xref") == "paper" and note.get("x") == 1 and note.get("xanchor") == "left":
            size = _in_range(note.get("font", {}).get("size", SCREEN), column)
            needs.append(note.get("xshift", 0) + text_width(note["text"], size) + 4)
    layout["margin"]["r"] = max(needs)


def _even(text: str, letters: int) -> list[str]:
    """Fold a text into lines of about the same length, at most this many letters.

    >>> _even("below it, risks are too high", 24)
    ['below it, risks', 'are too high']
    """
    lines = len(textwrap.wrap(text, letters))
    folded = (textwrap.wrap(text, width) for width in range(max(1, len(text) // lines), letters + 1))
    return next(found for found in folded if len(found) == lines)


def _scales(spec: dict[str, Any]) -> None:
    """Make a figure tall enough for the title of its color scale, which is written upwards."""
    layout = spec["layout"]
    for trace in spec["data"]:
        title = (trace.get("marker", {}).get("colorbar") or {}).get("title", {}).get("text", "")
        if title:
            above = layout["margin"]["t"] + layout["margin"]["b"]
            layout["height"] = max(layout["height"], above + text_width(title, SCREEN) + 3 * SCREEN)


def _upward(layout: dict[str, Any]) -> None:
    """Fold the title of an axis that is longer than the axis."""
    inner = layout["height"] - layout["margin"]["t"] - layout["margin"]["b"]
    for name, axis in layout.items():
        if name.startswith("yaxis") and _titled(axis):
            low, high = axis.get("domain", (0, 1))
            title, long = axis["title"]["text"], (high - low) * inner
            if "<br>" not in title and text_width(title, SCREEN) > long:
                letters = max(12, int(len(title) * long / text_width(title, SCREEN)))
                axis["title"] = {**axis["title"], "text": "<br>".join(textwrap.wrap(title, letters))}


def _thinned(spec: dict[str, Any], column: ColumnWidth) -> None:
    """Leave out the label of a mark that would meet that of an earlier mark, and all numbers of bars if some meet."""
    layout, size = spec["layout"], _in_range(0, column)
    margin = layout["margin"]
    inner = layout["width"] - margin["l"] - margin["r"], layout["height"] - margin["t"] - margin["b"]
    for trace in spec["data"]:
        if trace.get("mode") == "markers+text" and isinstance(trace.get("text"), (list, tuple)):
            _without_meeting(layout, trace, inner, size)
    bars = [trace for trace in spec["data"] if trace.get("type") == "bar" and trace.get("text") is not None]
    middles = sorted(place for trace in bars for place in _labels(layout, trace, inner[0], size))
    if any(left + a + 3 > right - b for (left, a), (right, b) in pairwise(middles)):
        for trace in bars:
            trace.pop("text")
    lines = [trace for trace in spec["data"] if str(trace.get("uid", "")).startswith("numbers")]
    ends = [pairwise(_labels(layout, trace, inner[0], size)) for trace in lines]
    if any(left + a + 3 > right - b for line in ends for (left, a), (right, b) in line):
        for trace in lines:
            trace["visible"] = False


def _without_meeting(layout: Mapping[str, Any], trace: dict[str, Any], inner: tuple[float, float], size: float) -> None:
    across = _placed(layout, trace, "x", inner[0])
    up = _placed(layout, trace, "y", inner[1])
    if across is None or up is None:
        return
    rise = (size + _AWAY) * str(trace.get("textposition", "")).startswith("top")
    kept: list[_Box] = []
    texts = list(trace["text"])
    for i, (text, x, y) in enumerate(zip(texts, across[0], up[0] + rise, strict=True)):
        half = text_width(str(text), size) / 2 + 1
        box = (x - half, x + half, y - size * 0.6, y + size * 0.6)
        if text and (box[3] > up[1] or any(_overlap(box, other) for other in kept)):
            texts[i] = ""
        elif text:
            kept.append(box)
    trace["text"] = texts


def _overlap(a: _Box, b: _Box) -> bool:
    return a[0] < b[1] and b[0] < a[1] and a[2] < b[3] and b[2] < a[3]


def _labels(
    layout: Mapping[str, Any], trace: Mapping[str, Any], pixels: float, size: float
) -> list[tuple[float, float]]:
    """Middle and half width in pixels of each bar's label."""
    placed = _placed(layout, trace, "x", pixels)
    if trace.get("orientation") == "h" or placed is None:
        return []
    texts = zip(placed[0].tolist(), trace["text"], strict=True)
    return [(x, text_width(str(text), size) / 2) for x, text in texts if text]


def _placed(
    layout: Mapping[str, Any], trace: Mapping[str, Any], name: str, pixels: float
) -> tuple[Float64s, float] | None:
    """Pixels of a trace's marks along an axis and the length of the axis; None if Plotly chooses its ends."""
    axis = layout.get(f"{name}axis{trace.get(f'{name}axis', name)[1:]}", {})
    ends, domain, values = axis.get("range"), axis.get("domain", (0, 1)), _numbers(trace.get(name))
    if not ends or axis.get("type") == "log" or values is None:
        return None
    long = pixels * (domain[1] - domain[0])
    return long * (values - ends[0]) / (ends[1] - ends[0]), long


def _numbers(values: Any) -> Float64s | None:
    """Numbers of a trace as Plotly writes them; None for names."""
    if isinstance(values, dict):
        return np.frombuffer(base64.b64decode(values["bdata"]), values["dtype"]).astype(np.float64)
    found = np.asarray(values)
    return found.astype(np.float64) if found.dtype.kind in "fiu" else None


# -- legend -----------------------------------------------------------------------------------------------------


def _legend(spec: dict[str, Any], wide: float, column: ColumnWidth, most: float) -> None:
    """Write the legend above the figure in lines as long as its width, and make the figure tall enough for it."""
    layout = spec["layout"]
    entries, layout["showlegend"] = _entries(spec), False
    if not entries:
        return
    if layout.get("legend", {}).get("yref") == "container":  # its line below the axes is free
        free = max(0, min(_LINE, layout["margin"]["b"] - _BELOW))
        layout["margin"]["b"] -= free
        layout["height"] -= free
    left = layout["margin"]["l"]
    size = _in_range(0, column)
    room = wide - _SPARE
    lines = list(_lines(entries, size, room))
    if _around(lines) > MOST_FOR_LEGEND * layout["height"]:
        lines = list(_lines([trace for trace in entries if not _explains(trace)] or entries, size, room))
    high = _around(lines)
    top = layout["margin"]["t"]
    layout["margin"]["t"] = top + high
    layout["height"] = max(layout["height"] + high, math.ceil(high / most))
    notes, shapes = [], []
    for i, line in enumerate(lines):
        up = top + high - _LINE * (i + 0.5) - 2
        for across, trace in line:
            notes.append(
                {"text": trace["name"], "x": 0, "y": 1, "xref": "paper", "yref": "paper", "xanchor": "left",
                 "yanchor": "middle", "xshift": across + _KEY - left, "yshift": up, "showarrow": False,
                 "font": {"size": size}, "name": LEGEND},
            )  # fmt: skip
            shapes += _sign(trace, across - left, up)
    layout["annotations"] = [*layout.get("annotations", ()), *notes]
    layout["shapes"] = [*layout.get("shapes", ()), *shapes]


def _explains(trace: Mapping[str, Any]) -> bool:
    """Return True for a legend entry on the meaning of marks, which the caption of a figure gives too."""
    return list(trace.get("x", ())) == [None] and trace.get("mode") == "markers" and "legendgroup" not in trace


def _around(lines: list[Any]) -> float:
    return _LINE * len(lines) + _AROUND


def _entries(spec: dict[str, Any]) -> list[dict[str, Any]]:
    """Traces of the legend in its order."""
    layout, data = spec["layout"], spec["data"]
    if layout.get("showlegend") is False:
        return []
    named = [trace for trace in data if trace.get("name") and trace.get("showlegend", True)]
    wanted = layout.get("showlegend") or any(trace.get("showlegend") for trace in named)
    if len(named) < 2 and not wanted:
        return []
    return sorted(named, key=lambda trace: trace.get("legendrank", 1000))


def _lines(entries: list[dict[str, Any]], size: float, wide: float) -> Iterator[list[tuple[float, dict[str, Any]]]]:
    """Lines of the legend: entries with the distance of each from the left; too long a name is cut."""
    line: list[tuple[float, dict[str, Any]]] = []
    across = 0.0
    for trace in entries:
        name = shortened(str(trace["name"]), wide - _KEY, size)
        long = _KEY + text_width(name, size)
        if line and across + long > wide:
            yield line
            line, across = [], 0.0
        line.append((across, trace | {"name": name}))
        across += long + _APART
    if line:
        yield line


def _left(layout: Mapping[str, Any]) -> float:
    """Left margin that Plotly will need for numbers and title, so that nothing moves when it is drawn."""
    margin: float = layout["margin"]["l"]
    if layout["margin"].get("autoexpand") is False:
        return margin
    needs = [margin]
    for name, axis in layout.items():
        if name.startswith("yaxis") and axis.get("showticklabels", True) and axis.get("visible", True):
            texts = axis.get("ticktext") or ["0.0000"]
            needs.append(22 + max(text_width(str(text), SCREEN) for text in texts) + (26 if _titled(axis) else 0))
    return max(needs)


_GRAY, _CLEAR = "#8c8c8c", "rgba(0,0,0,0)"
_CORNERS = {
    "diamond": ((0, 1), (1, 0), (0, -1), (-1, 0)),
    "square": ((-0.8, 0.8), (0.8, 0.8), (0.8, -0.8), (-0.8, -0.8)),
}


def _sign(trace: Mapping[str, Any], across: float, up: float) -> list[dict[str, Any]]:
    """Shapes of a trace's key, 20 pixels wide from this place on: an area, or a line and a mark."""
    shared = {
        "xref": "paper", "yref": "paper", "xsizemode": "pixel", "ysizemode": "pixel", "xanchor": 0, "yanchor": 1,
        "opacity": trace.get("opacity", 1),
    }  # fmt: skip
    filled = trace.get("type") == "bar" or trace.get("fill", "none") != "none"
    parts = _area(trace, across, up) if filled else _line_and_mark(trace, across, up)
    return [part | shared for part in parts]


def _area(trace: Mapping[str, Any], across: float, up: float) -> list[dict[str, Any]]:
    marker = trace.get("marker", {})
    colour = trace.get("fillcolor") or _first(marker.get("color"), _GRAY)
    pattern = marker.get("pattern", {})
    ends = {"y0": up - 5, "y1": up + 5}
    area = {"type": "rect", "x0": across + 2, "x1": across + 22, **ends}
    if not pattern.get("shape"):
        return [area | {"fillcolor": colour, "line": {"width": 0}}]
    line = {"line": {"color": pattern.get("fgcolor") or colour, "width": 1}}
    slants = [{"type": "line", "x0": across + x, "x1": across + x + 8, **ends, **line} for x in (3, 8, 13)]
    return [area | {"fillcolor": _CLEAR} | line, *slants]


def _line_and_mark(trace: Mapping[str, Any], across: float, up: float) -> list[dict[str, Any]]:
    line, mode = trace.get("line", {}), trace.get("mode", "lines" if "line" in trace else "markers")
    own = {name: line[name] for name in ("color", "dash") if name in line}
    own = {"color": _GRAY, **own, "width": min(line.get("width", 2), 9)}
    drawn = {"type": "line", "x0": across + 2, "x1": across + 22, "y0": up, "y1": up, "line": own}
    mark = _mark(trace.get("marker", {}), across + 12, up) if "markers" in mode else []
    return [*([drawn] if "lines" in mode else []), *mark]


def _mark(marker: Mapping[str, Any], x: float, y: float) -> list[dict[str, Any]]:
    symbol = str(_first(marker.get("symbol"), "circle"))
    border = marker.get("line", {})
    colour = _first(marker.get("color"), None) or _first(border.get("color"), _GRAY)
    kind, hollow = symbol.removesuffix("-open"), symbol.endswith("-open")
    upright = {"type": "line", "x0": x, "x1": x, "y0": y - 6, "y1": y + 6}
    if kind.startswith("line-ns"):
        return [upright | {"line": {"color": colour, "width": _first(border.get("width"), 2)}}]
    if kind.startswith("cross"):
        line = {"line": {"color": colour, "width": 2}}
        return [upright | line, line | {"type": "line", "x0": x - 6, "x1": x + 6, "y0": y, "y1": y}]
    edge = {"color": colour, "width": 1.2 * hollow}
    look = {"fillcolor": _CLEAR if hollow else colour, "line": edge}
    if kind in _CORNERS or kind in SYMBOLS:
        corners = _CORNERS.get(kind) or outline(kind)
        path = " L ".join(f"{x + 6.5 * a:.2f} {y + 6.5 * b:.2f}" for a, b in corners)
        return [{"type": "path", "path": f"M {path} Z"} | look]
    return [{"type": "circle", "x0": x - 5, "x1": x + 5, "y0": y - 5, "y1": y + 5} | look]


def _first(value: Any, otherwise: Any) -> Any:
    """A value, or the first of several that is text or a number."""
    if value is None or isinstance(value, (str, int, float)):
        return otherwise if value is None else value
    return next((each for each in value if isinstance(each, str) and not each.endswith("-open")), next(iter(value)))


# -- sizes ------------------------------------------------------------------------------------------------------


def _in_range(size: float, column: ColumnWidth) -> float:
    """Size of type on screen whose size on paper is from 7 to 9 pt."""
    least, most = (points * PER_POINT / column.scale for points in (_SMALLEST, _LARGEST))
    return min(most, max(least, size))


def _type(spec: dict[str, Any], column: ColumnWidth) -> None:
    """Make numbers of axes and labels of marks the smallest type, and titles that of the text."""
    layout = spec["layout"]
    small = {"size": _in_range(0, column)}
    axis = {"ticklen": 5, "tickwidth": 1, "linewidth": 1, "gridwidth": 1, "zerolinewidth": 1, "tickfont": small}
    template = layout["template"]["layout"]
    for name in ("xaxis", "yaxis"):
        template[name] = {**template[name], **axis, "title": {"standoff": 8, "font": {"size": SCREEN}}}
    for trace in spec["data"]:
        bar = trace.get("marker", {}).get("colorbar")
        if bar is not None:
            bar |= {"tickfont": small, "title": {**bar.get("title", {}), "font": {"size": SCREEN}}}
    for name, value in layout.items():
        if name.startswith(("xaxis", "yaxis")):
            value.pop("tickfont", None)
            value.pop("ticklabelstandoff", None)  # in whole pixels, which a scaled length is not
            if "title" in value:
                value["title"].pop("font", None)
    bars = layout["template"]["data"]["bar"]
    layout["template"]["data"]["bar"] = [bars[0] | {"constraintext": "none", "textfont": small}]
    layout["template"]["data"]["scatter"] = [
        {"type": "scatter", "line": {"width": 2}, "marker": {"size": 6}, "textfont": small}
    ]


_LENGTHS = frozenset(
    {
        *("standoff", "ticklen", "tickwidth", "linewidth", "gridwidth", "zerolinewidth"),
        *("thickness", "xshift", "yshift", "ax", "ay", "borderpad", "arrowwidth", "height"),
        *("l", "r", "t", "b", "pad", "xpad", "ypad"),
    }
)
"""Names of lengths in pixels wherever they stand."""
_WIDTHS_OF = frozenset(("line", "error_x", "error_y"))


def _scale(value: Any, column: ColumnWidth, parent: str = "") -> None:
    """Scale every length in pixels below a part of a figure."""
    if isinstance(value, list):
        for each in value:
            _scale(each, column, parent)
        return
    if not isinstance(value, dict):
        return
    for name in [name for name in ("x", "y") if value.get(f"{name}sizemode") == "pixel"]:
        for end in (f"{name}0", f"{name}1"):
            if end in value:
                value[end] *= column.scale
    if "path" in value and value.get("xsizemode") == "pixel":
        value["path"] = _NUMBER.sub(lambda number: f"{float(number[0]) * column.scale:.2f}", value["path"])
    for name, part in value.items():
        if name == "size" and parent.endswith("font"):
            value[name] = _in_range(part, column) * column.scale
        elif (name == "size" and parent == "marker") or name in _LENGTHS or (name == "width" and parent in _WIDTHS_OF):
            value[name] = _times(part, column.scale)
        elif name == "sizeref":
            value[name] = part / column.scale
        elif name not in ("meta", "customdata", "x", "y", "text", "hovertext"):
            _scale(part, column, name)


_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")


def _times(value: Any, scale: float) -> Any:
    if isinstance(value, (int, float)):
        return value * scale
    if isinstance(value, dict) or value is None:
        return value
    return [each * scale for each in value]


# -- type -------------------------------------------------------------------------------------------------------

_TAG = re.compile(r"<[^>]*>")


def text_width(text: str, size: float) -> float:
    """Pixels of a text of a figure at this size, the longest line of several; its tags are not letters.

    >>> round(text_width("<b>star</b>", 10), 1), text_width("a<br>aa", 10) == text_width("aa", 10)
    (18.4, True)
    """
    lines = text.split("<br>")
    return max(_font("<b>" in text).getlength(html.unescape(_TAG.sub("", line))) for line in lines) * size / _MEASURED


def shortened(text: str, room: float, size: float) -> str:
    """Text of a figure in one line of at most this many pixels, cut if it is longer.

    >>> shortened("<b>a long name</b>", 50, 10), shortened("a name", 50, 10)
    ('<b>a long n…</b>', 'a name')
    """
    if text_width(text, size) <= room:
        return text
    bold, letters = "<b>" in text, html.unescape(_TAG.sub("", text))
    while letters:
        letters = letters[:-1]
        cut = f"{html.escape(letters, quote=False)}…"
        cut = f"<b>{cut}</b>" if bold else cut
        if text_width(cut, size) <= room:
            return cut
    return "…"


_MEASURED = 100


@cache
def _font(bold: bool) -> ImageFont.FreeTypeFont:
    return ImageFont.truetype(
        io.BytesIO(face("Bold" if bold else "Regular")), _MEASURED, layout_engine=ImageFont.Layout.BASIC
    )
