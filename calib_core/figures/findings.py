"""Findings sorted by significant gap: observed frequency with its interval in each place, and the mean score."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from calib_core.figures.look import REFERENCE, finished, style
from calib_core.figures.marks import Record, numbers, records
from calib_core.figures.probability_axis import percent_ticks
from calib_core.slices.findings import BIN, OVERALL, SHOWN
from calib_core.text import count, plain

_TOPS = (0.004, 0.01, 0.02, 0.04, 0.1, 0.2, 0.4)
"""Candidate ends of an axis for rare events."""
_LINE, _LONGEST, _WIDE = 26, 40, 64
"""Pixels of a line, and maximum letters of a name and of a hover line."""


def findings(
    table: pd.DataFrame, *, model: str = "model", places: bool = True, looks: Mapping[str, int] | None = None
) -> go.Figure:
    """Draw a table of `calib_core.findings`: observed frequency with its interval and a tick at the mean prediction.

    It draws the first dozen of the tested places; hollow marks are not significant. With ``places`` the records of
    marks have the ``bin`` and the ``class``, else the range of confidences ``between``; that of a slice has its
    text.
    """
    lines = table[table["p"].notna()].head(SHOWN).reset_index(drop=True)
    look, y = style(numbers([model], looks)[model]), np.arange(len(lines))
    marks = [_record(line, model, places) for line in lines.to_dict("records")]
    gaps = np.full(len(lines), np.nan)
    intervals = go.Scatter(
        x=np.column_stack([lines["low"], lines["high"], gaps]).ravel(), y=np.repeat(y, 3), mode="lines",
        name="interval", line={"color": look.colour, "width": 2.2}, hoverinfo="skip",
    )  # fmt: skip
    shared: dict[str, Any] = {"y": y, "mode": "markers", "customdata": marks, "cliponaxis": False}
    tick = {"symbol": "line-ns-open", "size": 14, "color": REFERENCE, "line": {"width": 3}}
    says = go.Scatter(x=lines["says"], name="says", hoverinfo="skip", marker=tick, **shared)
    symbols = np.where(lines["stands_out"], look.symbol, f"{look.symbol}-open").tolist()
    right = go.Scatter(
        x=lines["right"],
        name="right",
        hovertext=["<br>".join(map(plain, textwrap.wrap(text, _WIDE))) for text in lines["finding"]],
        hovertemplate="%{hovertext}<extra></extra>",
        marker={"symbol": symbols, "size": 11, "color": look.colour, "opacity": 1},
        **shared,
    )
    names = [text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…" for text in lines["place"]]
    columns = [
        {"axis": "y", "low": i - 0.5, "high": i + 0.5, "record": record, "says": plain(text)}
        for i, (record, text) in enumerate(zip(marks, lines["finding"], strict=True))
    ]
    rows = {"x": 1, "xref": "paper", "xanchor": "right", "xshift": 58, "showarrow": False, "font": {"size": 12}}
    heading = {**rows, "y": 1, "yref": "paper", "yanchor": "bottom", "text": "<b>rows</b>"}
    return finished(
        go.Figure([intervals, says, right]),
        height=84 + _LINE * max(len(lines), 3),
        margin={"l": 8, "r": 60, "t": 24, "b": 48},
        showlegend=False,
        xaxis={**_axis(lines), "title": {"text": "tick: mean prediction; mark: observed"}},
        yaxis={
            "tickvals": y.tolist(),
            "ticktext": list(map(plain, names)),
            "range": [len(lines) - 0.5, -0.5],
            "showgrid": False,
            "ticks": "",
        },
        annotations=[
            heading,
            *({**rows, "y": i, "text": count(round(n))} for i, n in enumerate(lines["rows"].tolist())),
        ],
        meta={"columns": columns, "exact": True},
        uirevision="findings",
    )


def _axis(lines: pd.DataFrame) -> dict[str, Any]:
    """Axis from 0 to 1, or to the first round share above all marks if that is far less."""
    most = float(np.nanmax(lines[["says", "right", "high"]].to_numpy(dtype=np.float64), initial=0.0))
    top = next((top for top in _TOPS if most <= top), 1.0)
    return {"range": [-0.02 * top, 1.02 * top], **percent_ticks([top * part / 4 for part in range(5)])}


def _record(line: Mapping[Any, Any], model: str, places: bool) -> Record:
    """Target of a click on a line, and its numbers."""
    places = places or line.get("kind") == BIN  # the same bins as in the reliability diagram
    known = {"code": line["code"], "bin": line["bin"] if places else None}
    known |= {"slice": line.get("slice"), "label": line.get("label_code")}
    if line.get("kind") == OVERALL:
        known["between"] = [0.0, 1.0]
    elif line["bin"] is not None and not places:
        known["between"] = [max(0.0, line["lower"]), min(1.0, line["upper"])]
    numbers = pd.DataFrame([{name: line[name] for name in ("rows", "says", "right")}])
    return records(numbers, model=model, **{name: value for name, value in known.items() if value is not None})[0]
