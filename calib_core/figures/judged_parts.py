"""Accuracy by a judge, by people and by both for each part, with the mean confidence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import plotly.graph_objects as go

from calib_core.figures.classes import numbers_at_right
from calib_core.figures.look import REFERENCE, finished, style
from calib_core.figures.marks import numbers, records
from calib_core.figures.probability_axis import percent_ticks
from calib_core.figures.shown import draws
from calib_core.judged.marked_answers import JudgedAnswers
from calib_core.text import at_level, count, plain, rounded, share_range

_LINE, _NAME = 46, 40
"""Pixels of a part, and maximum letters of its name."""
_OFFSETS = {"judge alone": -0.27, "people alone": -0.09, "both": 0.09, "judge less its errors": 0.27}
"""Vertical offset of each method's marks from the middle of a part's line."""
_SYMBOLS = {"judge alone": "circle-open", "people alone": "square", "both": "", "judge less its errors": "triangle-up"}
"""Symbol of each method; the model's own symbol for the primary one."""
_HOVER = (
    "<b>%{hovertext}</b><br>%{customdata.by}: accuracy %{customdata.right:.1~%}%{customdata.interval}"
    "<br>mean confidence %{customdata.confidence:.1~%}<br>%{customdata.basis}<extra></extra>"
)


@draws(JudgedAnswers)
def judged_answers(
    answers: JudgedAnswers, *, model: str = "model", looks: Mapping[str, int] | None = None
) -> go.Figure:
    """Draw the accuracy of each part by each method, with intervals, and the mean confidence; all rows are first.

    The distance between the mean confidence, the diamond, and the model's mark is the overconfidence of the part. The
    judge's own estimate, hollow, has no interval, as its error is systematic.
    """
    lines, look = answers.lines, style(numbers([model], looks)[model])
    parts = list(dict.fromkeys(lines["part"]))
    place = lines["part"].map({name: j for j, name in enumerate(parts)}).to_numpy(dtype=np.float64)
    every = _records(answers, model)
    figure = go.Figure()
    first = lines.drop_duplicates("part")
    figure.add_trace(
        go.Scatter(
            x=first["confidence"],
            y=np.arange(len(parts)),
            mode="markers",
            name="mean confidence",
            marker={"symbol": "diamond-open", "size": 13, "color": REFERENCE, "line": {"width": 2}, "opacity": 1},
            cliponaxis=False,
            customdata=[every[i] for i in first.index],
            hovertext=[plain(name) for name in parts],
            hovertemplate="<b>%{hovertext}</b><br>mean confidence %{customdata.confidence:.1~%}<extra></extra>",
        )
    )
    for by, offset in _OFFSETS.items():
        mine = np.flatnonzero((lines["by"] == by).to_numpy())
        chosen = lines.iloc[mine]
        decides = by == "both"
        colour = look.colour if decides else REFERENCE
        error: dict[str, Any] = {
            "type": "data",
            "symmetric": False,
            "array": (chosen["right_high"] - chosen["right"]).fillna(0.0),
            "arrayminus": (chosen["right"] - chosen["right_low"]).fillna(0.0),
            "color": colour,
            "thickness": 2.5 if decides else 1.5,
            "width": 4,
        }
        figure.add_trace(
            go.Scatter(
                x=chosen["right"],
                y=place[mine] + offset,
                mode="markers",
                name="both, judge and people" if decides else by,
                marker={
                    "symbol": _SYMBOLS[by] or look.symbol,
                    "size": 13 if decides else 9,
                    "color": colour,
                    "line": {"width": 2 if by == "judge alone" else 0, "color": colour},
                    "opacity": 1,
                },
                error_x=None if by == "judge alone" else error,
                cliponaxis=False,
                customdata=[every[i] for i in mine.tolist()],
                hovertext=[plain(name) for name in chosen["part"]],
                hovertemplate=_HOVER,
            )
        )
    both = lines[lines["by"] == "both"]
    right: dict[str, float] = dict(zip(both["part"].tolist(), both["right"].tolist(), strict=True))
    facts = [
        (rounded(100 * right[part], 1) if part in right else "\u2013", count(rows), count(marked))
        for part, rows, marked in zip(first["part"], first["rows"].tolist(), first["marked"].tolist(), strict=True)
    ]
    return finished(
        figure,
        height=150 + _LINE * len(parts),
        annotations=numbers_at_right(facts, ("accuracy %", "rows", "people")),
        margin={"r": 200, "t": 28},
        xaxis={"title": "accuracy", **_axis(answers)},
        yaxis={
            "tickvals": list(range(len(parts))),
            "ticktext": [_name(name) for name in parts],
            "range": [len(parts) - 0.5, -0.5],
            "showgrid": False,
            "ticks": "",
        },
        legend={"orientation": "h", "y": -0.25 if len(parts) > 2 else -0.45},
        uirevision="judged answers",
    )


def _axis(answers: JudgedAnswers) -> dict[str, Any]:
    """Axis from the tenth below all marks to the one above."""
    shown = answers.lines[["right", "right_low", "right_high", "confidence"]].to_numpy(dtype=np.float64)
    low, high = int(np.floor(10 * np.nanmin(shown))), int(np.ceil(10 * np.nanmax(shown)))
    ticks = [tenth / 10 for tenth in range(low, high + 1, 1 if high - low <= 5 else 2)]
    return {"range": [low / 10 - 0.01, high / 10 + 0.01], "zeroline": False, **percent_ticks(ticks)}


def _name(title: str) -> str:
    return plain(title if len(title) <= _NAME else f"{title[: _NAME - 1].rstrip()}\u2026")


def _records(answers: JudgedAnswers, model: str) -> list[dict[str, object]]:
    lines = answers.lines
    known = lines["right_low"].notna()
    ends = [
        f" ({share_range(low, high)}, {at_level(answers.level)} interval)" if sure else ""
        for low, high, sure in zip(lines["right_low"], lines["right_high"], known, strict=True)
    ]
    basis = [
        f"{count(marked)} of {count(rows)} rows by people"
        for rows, marked in zip(lines["rows"], lines["marked"], strict=True)
    ]
    return records(lines[["part", "by", "right", "confidence"]].assign(interval=ends, basis=basis), model=model)
