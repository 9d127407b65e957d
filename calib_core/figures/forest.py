"""Forest plot of estimators by family, with numbers in columns at the right.

The module also has a ranked dot plot of slices: open marks for mean predictions, filled ones for observed frequency.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from textwrap import wrap
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import NDArray

from calib_core._base.arrays import Bools, Float64s
from calib_core.diagrams.forest import Forest, SliceDots
from calib_core.figures.classes import NOISE, numbers_at_right
from calib_core.figures.look import REFERENCE, Style, finished, style
from calib_core.figures.marks import Record, numbers, records
from calib_core.figures.paper import text_width
from calib_core.figures.probability_axis import percent_ticks
from calib_core.figures.shown import draws
from calib_core.figures.verdict_marks import icon
from calib_core.fonts import SCREEN
from calib_core.results.verdict_table import in_full
from calib_core.text import at_level, count, of_rows, percent, plain, points, rounded, share_range

_NAMES, _LONGEST, _COLUMNS = 0.25, 0.36, (0.66, 1.0)
"""Shares of the width: of the names, at most of long ones, and the columns of numbers; the plot is between them."""
_PAGE, _BEFORE = 836, 0.01
"""Pixels of the narrowest page, and the share of the width before the plot."""
_ENDS = {"points": 0.17, "interval": 0.51, "measured": 0.68, "noise": 0.82}
"""Right ends of the columns of numbers, in their part."""
_VERDICT = 0.95
_NARROW, _NARROW_ENDS = ((0.0, 0.42), (0.43, 0.75), (0.76, 1.0)), (-1.1, 1.5)
"""The same parts in a narrow column, and the range in which it shows the columns that it keeps."""
_COLUMN, _FOLDED_LINE = 428, 40
"""Pixels of the narrow column, and of a line if a name is folded there."""
_LINE, _ABOVE, _BELOW = 22, 46, 52
"""Pixels of a line, above the first line and below the last."""
_FIRST_GAP, _HEADING = 0.45, 0.85
"""Free lines after the first line, and for the name of a family."""
_FIXED = "primary measure<br>(fixed in advance)"
_FLOOR = "rgba(128, 128, 128, 0.3)"
_NOTHING = {"showticklabels": False, "showline": False, "showgrid": False, "zeroline": False, "ticks": ""}


@draws(Forest)
def forest(forest: Forest, *, looks: Mapping[str, int] | None = None) -> go.Figure:
    """Draw point and interval of every estimator, with the primary measure first and the tolerance dashed.

    A tick is the raw value, which includes noise, over the noise floor. Values and intervals beyond the axis are arrows
    at its end; a hollow point has no interval. A model keeps its style, by its number in ``looks``.
    """
    places = _Places.of(forest)
    look = style(numbers([forest.model], looks)[forest.model])
    names = _share_of_names(forest)
    every = _records(forest)
    figure = go.Figure(
        [
            _floors(forest, places, every),
            _values(forest, places, every),
            *_marks(forest, places, every, look),
            *_texts(forest, places, every),
            *_cut_short(forest, places, every, look),
            _verdicts(forest, places, every),
        ]
    )
    return finished(
        figure,
        shapes=[*_lines(forest, places), *_icons(forest, places)],
        annotations=_words(forest, places),
        meta={"narrow": _narrow(forest, places)},
        xaxis={
            "domain": (names + _BEFORE, _COLUMNS[0]),
            # Marks at 0 are not cut.
            "range": [-1.5 * forest.top, 100 * forest.top],
            "title": _axis(forest),
            "showline": False,
            "zeroline": True,
            "zerolinecolor": REFERENCE,
            "fixedrange": True,
        },
        xaxis2={"domain": _COLUMNS, "range": [0, 1], "anchor": "y", "fixedrange": True, **_NOTHING},
        xaxis3={"domain": (0.0, names), "range": [0, 1], "anchor": "y", "fixedrange": True, **_NOTHING},
        yaxis={"range": [places.last + 0.7, -0.8], "fixedrange": True, **_NOTHING},
        margin={"l": 8, "r": 8, "t": _ABOVE, "b": _BELOW},
        showlegend=False,
        uirevision="forest",
        height=_height(places, _LINE),
    )


def _share_of_names(forest: Forest) -> float:
    """Share of the width that the names need on the narrowest page."""
    longest = max((text_width(plain(title), SCREEN) for title in forest.lines["title"]), default=0.0)
    return min(max(_NAMES, longest / _PAGE), _LONGEST)


def _narrow(forest: Forest, places: _Places) -> dict[str, Any]:
    """Form in a narrow column: intervals, raw values and noise floors, which the marks show, have no numbers."""
    names, plot, columns = _NARROW
    titles = [plain(title) for title in forest.lines["title"]]
    folded = [_in_two(title, (names[1] - names[0]) * _COLUMN) for title in titles]
    high = {"height": _height(places, _FOLDED_LINE)} if folded != titles else {}
    return {
        "without": ["interval", "measured", "noise floor"],
        "texts": {"estimator": _bold_first(forest, folded)},
        "layout": {
            **high,
            "xaxis": {"domain": plot, "nticks": 4},
            "xaxis2": {"domain": columns, "range": _NARROW_ENDS},
            "xaxis3": {"domain": names},
            "annotations": _words(forest, places, ("points",)),
        },
    }


def _in_two(title: str, room: float) -> str:
    """A name in two lines of about the same length where one has no room."""
    wide = text_width(title, SCREEN)
    return title if wide <= room else "<br>".join(wrap(title, round(0.56 * len(title))))


def _bold_first(forest: Forest, texts: Iterable[str]) -> list[str]:
    keys = forest.lines["estimator"]
    return [f"<b>{text}</b>" if key == forest.first else text for text, key in zip(texts, keys, strict=True)]


def _height(places: _Places, line: int) -> int:
    return round(line * (places.last + 1.5)) + _ABOVE + _BELOW


@dataclass(frozen=True, eq=False)
class _Places:
    """Positions of the lines, the first at 0, and of the names of families."""

    y: np.ndarray[Any, Any]
    headings: dict[str, float]
    last: float

    @classmethod
    def of(cls, forest: Forest) -> _Places:
        y, headings, place = [], dict[str, float](), 0.0
        for i, line in enumerate(forest.lines.itertuples()):
            if i and line.family not in headings:
                place += _FIRST_GAP if i == 1 else 0.25
                headings[str(line.family)] = place
                place += _HEADING
            y.append(place)
            place += 1.0
        return cls(np.array(y), headings, place - 1.0)


def _records(forest: Forest) -> list[Record]:
    """Records of every line's marks; a trace has those of its lines."""
    kept = forest.lines[["estimator", "title", "points", "interval", "measured", "noise", "verdict", "chance"]].copy()
    kept["verdict"] = [in_full(word) if word else "no verdict" for word in kept["verdict"].fillna("").tolist()]
    kept["chance"] = [text and f" ({text})" for text in kept["chance"]]
    return records(kept, model=forest.model)


def _of(every: list[Record], which: pd.Series[bool] | Bools) -> list[Record]:
    return [record for record, mine in zip(every, which, strict=True) if mine]


_HOVER = (
    "%{customdata.title}, in %: %{customdata.points} (%{customdata.interval})<br>raw value %{customdata.measured}, "
    "noise floor %{customdata.noise}<br>"
    "%{customdata.verdict}%{customdata.chance}<extra></extra>"
)


def _floors(forest: Forest, places: _Places, every: list[Record]) -> go.Bar:
    lines = forest.lines
    return go.Bar(
        x=100 * np.minimum(lines["floor"], forest.top),
        y=places.y,
        width=0.55,
        orientation="h",
        marker={"color": _FLOOR},
        name="noise floor: 95 % of calibrated models are below it",
        customdata=every,
        hovertemplate=_HOVER,
    )


def _values(forest: Forest, places: _Places, every: list[Record]) -> go.Scatter:
    """Raw values, which include noise; an arrow at the end of the axis if one is beyond it."""
    known = (forest.lines["low"].notna() & forest.lines["value"].notna()).to_numpy()
    lines = forest.lines[known]
    beyond = lines["value"].to_numpy() > forest.top
    return go.Scatter(
        x=100 * np.minimum(lines["value"], forest.top),
        y=places.y[known],
        mode="markers",
        name="raw value",
        marker={
            "symbol": np.where(beyond, "triangle-right-open", "line-ns").tolist(),
            "size": np.where(beyond, 8, 13).tolist(),
            "opacity": 1,
            "color": REFERENCE,
            "line": {"width": 2, "color": REFERENCE},
        },
        cliponaxis=False,
        customdata=_of(every, known),
        hovertemplate=_HOVER,
    )


def _marks(forest: Forest, places: _Places, every: list[Record], look: Style) -> list[go.Scatter]:
    """One trace per kind of mark, so thousands of lines need four traces."""
    lines, top = forest.lines, forest.top
    beyond, sure = lines["point"] > top, lines["low"].notna()
    first = lines["estimator"] == forest.first
    kinds = (
        ("primary measure", first & sure & ~beyond, {"symbol": look.symbol, "size": 17}, 4.5),
        ("estimate with interval", ~first & sure & ~beyond, {"symbol": "circle", "size": 9}, 2.5),
        ("no interval yet", ~sure & ~beyond & lines["point"].notna(), {"symbol": "circle-open", "size": 10}, 0.0),
        ("off the scale", beyond, {"symbol": "triangle-right", "size": 13}, 1.5),
    )
    traces = []
    for name, which, marker, thick in kinds:
        part, line = lines[which], {"color": look.colour, "width": 2 if "open" in str(marker["symbol"]) else 0}
        error = {
            "type": "data",
            "symmetric": False,
            "array": 100 * np.maximum(np.minimum(part["high"], top * 1.05) - np.minimum(part["point"], top), 0.0),
            "arrayminus": 100 * np.maximum(np.minimum(part["point"], top) - part["low"], 0.0).fillna(0.0),
            "thickness": thick,
            "width": 2 + thick,
            "color": look.colour,
        }
        traces.append(
            go.Scatter(
                x=np.minimum(100 * part["point"], 100 * top),
                y=places.y[which.to_numpy()],
                mode="markers",
                name=name,
                # Plotly draws marks of several kinds transparent by default.
                marker={"color": look.colour, "opacity": 1, "line": line, **marker},
                cliponaxis=not beyond.any() or name != "off the scale",
                customdata=_of(every, which),
                hovertemplate=_HOVER,
                **({"error_x": error} if thick else {}),
            )
        )
    return traces


def _cut_short(forest: Forest, places: _Places, every: list[Record], look: Style) -> list[go.Scatter]:
    """Arrows at the end of the axis for intervals that extend beyond it while their points do not."""
    cut = ((forest.lines["point"] <= forest.top) & (forest.lines["high"] > forest.top)).to_numpy()
    if not cut.any():
        return []
    return [
        go.Scatter(
            x=np.full(int(cut.sum()), 100 * forest.top),
            y=places.y[cut],
            mode="markers",
            name="interval extends further",
            marker={"symbol": "triangle-right", "size": 9, "opacity": 1, "color": look.colour},
            cliponaxis=False,
            customdata=_of(every, cut),
            hovertemplate=_HOVER,
        )
    ]


def _texts(forest: Forest, places: _Places, every: list[Record]) -> list[go.Scatter]:
    """Names at the left, and right-aligned columns of numbers."""
    lines = forest.lines
    columns = {"title": (0.0, "x3", "middle right")} | {n: (x, "x2", "middle left") for n, x in _ENDS.items()}
    traces = []
    for column, (x, axis, where) in columns.items():
        traces.append(
            go.Scatter(
                x=np.full(len(lines), x),
                y=places.y,
                mode="text",
                text=_bold_first(forest, map(plain, lines[column])),
                textposition=where,
                cliponaxis=False,
                xaxis=axis,
                name={"title": "estimator", "noise": "noise floor"}.get(column, column),
                customdata=every,
                hovertemplate=_HOVER,
            )
        )
    return traces


def _verdicts(forest: Forest, places: _Places, every: list[Record]) -> go.Scatter:
    judged = forest.lines["verdict"].notna()
    return go.Scatter(
        x=np.full(int(judged.sum()), _VERDICT),
        y=places.y[judged.to_numpy()],
        mode="markers",
        xaxis="x2",
        name="verdict",
        # The icons are shapes, which have no hover texts.
        marker={"size": 18, "opacity": 0},
        cliponaxis=False,
        customdata=_of(every, judged),
        hovertemplate=_HOVER,
    )


def _icons(forest: Forest, places: _Places) -> list[dict[str, Any]]:
    words = zip(forest.lines["verdict"], places.y, strict=True)
    place = {"xref": "x2", "xanchor": _VERDICT, "yref": "y"}
    return [
        shape
        for word, y in words
        if isinstance(word, str)
        for shape in icon(word, 0, 0, 7.5, yanchor=float(y), **place)
    ]


def _lines(forest: Forest, places: _Places) -> list[dict[str, Any]]:
    """Band of the first line, tolerance, and a thin line before every family."""
    across = {"type": "line", "xref": "paper", "x0": 0, "x1": 1, "line": {"color": "rgba(128,128,128,.25)", "width": 1}}
    rules = [{**across, "y0": y - 0.55, "y1": y - 0.55} for y in places.headings.values()]
    band = {"type": "rect", "xref": "paper", "x0": -0.004, "x1": 1.004, "y0": -0.62, "y1": 0.62, "layer": "below"}
    eps = 100 * forest.tolerance
    return [
        *([{**band, "fillcolor": "rgba(0, 114, 178, 0.1)", "line": {"width": 0}}] if _first(forest) else []),
        *rules,
        {
            "type": "line",
            "x0": eps,
            "x1": eps,
            "y0": -0.8,
            "y1": places.last + 0.7,
            "line": {"color": REFERENCE, "dash": "dash", "width": 1.8},
        },
    ]


def _first(forest: Forest) -> bool:
    """Return True if the primary measure is present, as the first line."""
    return bool((forest.lines["estimator"] == forest.first).any())


def _words(forest: Forest, places: _Places, columns: Iterable[str] = _ENDS) -> list[dict[str, Any]]:
    """Headings of these columns, label of the tolerance, and names of the families."""
    head = {"yref": "paper", "y": 1, "yanchor": "bottom", "align": "right", "showarrow": False, "font": {"size": 13}}
    heads = {
        "points": "error, %",
        "interval": f"{at_level(forest.level)}<br>interval",
        "measured": "raw<br>value",
        "noise": "noise<br>floor",
    }
    words = [
        {**head, "xref": "x2", "x": _ENDS[column], "xanchor": "right", "xshift": 2, "text": heads[column]}
        for column in columns
    ]
    words.append({**head, "xref": "x2", "x": _VERDICT, "xanchor": "center", "text": "verdict"})
    eps = f"tolerance {100 * forest.tolerance:.6g} %"
    words.append({**head, "xref": "x", "x": 100 * forest.tolerance, "xanchor": "center", "text": f"<b>{eps}</b>"})
    if _first(forest) and forest.declared:
        words.append({**head, "xref": "x3", "x": 0, "xanchor": "left", "align": "left", "text": _FIXED})
    for family, y in places.headings.items():
        words.append(
            {
                "xref": "x3",
                "x": 0,
                "y": y,
                "xanchor": "left",
                "yanchor": "middle",
                "showarrow": False,
                "text": family,
                "font": {"size": 12, "color": REFERENCE},
            }
        )
    return words


def _axis(forest: Forest) -> str:
    return "calibration error, %" + (" of its maximum" if forest.shares else "")


_UNITS = (0.001, 0.002, 0.005, 0.01, 0.02)
"""Candidate steps of an axis for rare events."""
_DOT_LINE, _NAME = 26, 40
"""Pixels of a line, and maximum letters of a name."""
_OUT = "\u25cf "
"""Prefix of the bold name of a significant slice, so that color is not the only mark."""
_DOT_HOVER = (
    "<b>%{hovertext}</b><br>{claimed} %{customdata.claimed:.1~%}, {right} %{customdata.right:.1~%} "
    "(%{customdata.interval})<br>%{customdata.basis}<br>%{customdata.verdict}%{customdata.beside}<extra></extra>"
)


class Evidence(NamedTuple):
    """Look of the slices of these kinds of evidence, and its words in the legend."""

    of: tuple[str, ...]
    coloured: bool
    words: str


EVIDENCE = (
    Evidence(("significant",), True, "significantly off"),
    Evidence(("alone",), True, "only without correction"),
    Evidence(("none", "untested"), False, "not significantly off"),
)
"""Evidence for the gap of a slice, strongest first."""


@draws(SliceDots)
def slice_dots(dots: SliceDots, *, model: str = "model", looks: Mapping[str, int] | None = None) -> go.Figure:
    """Draw slices, the worst first: mean prediction, observed frequency and the noise floor of a calibrated model.

    The diamond is the mean confidence, and the gray bar around it contains 95 % of calibrated models. The other mark is
    the accuracy, with its interval. Its color is the evidence: the model's if the slice is significantly off, hollow if
    only without correction, gray if not. Significant slices have a line between the two, and a bold name
    after a dot. The model keeps its style, by its number in ``looks``.
    """
    says_word, right_word = ("mean risk", "observed") if dots.of_event else ("confidence", "accuracy")
    lines, look = dots.lines, style(numbers([model], looks)[model])
    places = np.arange(len(lines))
    says, right, low, high, floor = (
        lines[name].to_numpy(dtype=np.float64) for name in ("claimed", "right", "low", "high", "floor")
    )
    out = lines["stands_out"].to_numpy(dtype=bool)
    noise = np.clip(says - floor, 0, 1), np.clip(says + floor, 0, 1)
    same: dict[str, Any] = {
        "y": places,
        "customdata": _dot_records(dots, model),
        "hovertext": [plain(name) for name in lines["slice"]],
        "hovertemplate": _DOT_HOVER.replace("{claimed}", says_word).replace("{right}", right_word),
    }
    figure = go.Figure(
        [
            _segments(noise[0], noise[1], places, {"color": NOISE, "width": 15}, "calibrated models"),
            _segments(says[out], right[out], places[out], {"color": look.colour, "width": 7}, "significant", 0.35),
            go.Scatter(
                x=says,
                mode="markers",
                name=says_word,
                marker={"symbol": "diamond-open", "size": 11, "color": REFERENCE, "line": {"width": 2}, "opacity": 1},
                cliponaxis=False,
                **same,
            ),
        ]
    )
    figure.update_traces(showlegend=False, selector={"name": "significant"})
    for evidence in EVIDENCE:
        here = np.flatnonzero(np.isin(lines["evidence"], evidence.of))
        if not len(here):
            continue
        colour = look.colour if evidence.coloured else REFERENCE
        figure.add_scatter(
            x=right[here],
            mode="markers",
            name=f"{right_word}: {evidence.words}",
            marker={
                "symbol": look.symbol if evidence.of == ("significant",) else f"{look.symbol}-open",
                "size": 12,
                "color": colour,
                "opacity": 1,
            },
            error_x={
                "type": "data",
                "symmetric": False,
                "array": (high - right)[here],
                "arrayminus": (right - low)[here],
                "color": colour,
                "thickness": 1.5,
                "width": 4,
            },
            cliponaxis=False,
            **{name: value if isinstance(value, str) else [value[i] for i in here] for name, value in same.items()},
        )
    facts = [
        (rounded(100 * s, 1), rounded(100 * r, 1), count(round(n)))
        for s, r, n in zip(says, right, lines["rows"].tolist(), strict=True)
    ]
    title = "mean confidence and accuracy"
    if dots.of_event:
        title = "mean predicted risk and observed frequency"
    return finished(
        figure,
        height=110 + _DOT_LINE * len(lines),
        annotations=numbers_at_right(facts, (f"{says_word} %", f"{right_word} %", "rows")),
        margin={"r": 204, "t": 28},
        xaxis={"title": title, **_dot_axis(np.concatenate([low, high, *noise, says]))},
        yaxis={
            "tickvals": places.tolist(),
            "ticktext": [_name(name, stands) for name, stands in zip(lines["slice"], out, strict=True)],
            "range": [len(lines) - 0.5, -0.5],
            "showgrid": False,
            "ticks": "",
        },
        meta={"columns": _clicked(lines)},
        uirevision="slice dots",
    )


def _segments(
    start: Float64s, end: Float64s, places: NDArray[Any], line: dict[str, Any], name: str, opacity: float = 1.0
) -> go.Scatter:
    """Thick segments on these lines."""
    gaps = np.full(len(places), np.nan)
    return go.Scatter(
        x=np.column_stack([start, end, gaps]).ravel(),
        y=np.column_stack([places, places, gaps]).ravel(),
        mode="lines",
        line=line,
        name=name,
        opacity=opacity,
        hoverinfo="skip",
    )


def _dot_axis(shown: Float64s) -> dict[str, Any]:
    """Axis from the tenth below all marks to the one above, in finer steps for shares near 0."""
    known = shown[~np.isnan(shown)]
    unit = next((u for u in _UNITS if len(known) and known.max() <= 5 * u), 0.1)
    low, high = (int(np.floor(known.min() / unit)), int(np.ceil(known.max() / unit))) if len(known) else (0, 10)
    step = 1 if high - low <= 5 else 2
    ticks = [unit * i for i in range(low, high + 1, step)]
    room = 0.1 * unit
    return {"range": [low * unit - room, high * unit + room], "zeroline": False, **percent_ticks(ticks)}


def _name(title: str, stands_out: bool) -> str:
    short = title if len(title) <= _NAME else f"{title[: _NAME - 1].rstrip()}\u2026"
    return f"{_OUT}<b>{plain(short)}</b>" if stands_out else plain(short)


def _dot_records(dots: SliceDots, model: str) -> list[dict[str, object]]:
    lines = dots.lines
    ranges = [
        f"{share_range(low, high)}, {at_level(dots.level)} interval"
        for low, high in zip(lines["low"], lines["high"], strict=True)
    ]
    untested = lines["p"].isna()
    verdict = np.where(lines["stands_out"], "significant", "not significant")
    verdict = np.where(untested, "too few rows for a test", verdict)
    groups = lines["groups"] if "groups" in lines else [None] * len(lines)
    shown = pd.DataFrame(
        {
            "slice": lines["where"],
            "claimed": lines["claimed"],
            "right": lines["right"],
            "basis": [of_rows(*each) for each in zip(lines["rows"], lines["worth"], groups, strict=True)],
            "interval": ranges,
            "verdict": verdict,
            "beside": list(map(_beside, lines["beyond"], lines["differs"])),
        }
    )
    return records(shown, model=model)


def _beside(beyond: float, differs: bool) -> str:
    """Comparison of a slice with all other rows, if there are enough."""
    if np.isnan(beyond):
        return ""
    return f"<br>{points(beyond)} against all other rows{'' if differs else ' (not significant)'}"


def _clicked(lines: pd.DataFrame) -> list[dict[str, Any]]:
    """Clickable lines, each of which selects its slice."""
    texts = zip(lines["where"], lines["slice"], lines["claimed"], lines["right"], strict=True)
    return [
        {
            "axis": "y",
            "low": j - 0.5,
            "high": j + 0.5,
            "record": {"slice": where},
            "says": f"{plain(title)}: predicted {percent(claimed)}, observed {percent(right)}",
        }
        for j, (where, title, claimed, right) in enumerate(texts)
    ]
