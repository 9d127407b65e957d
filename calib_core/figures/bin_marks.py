"""Marks of one model in a reliability diagram: stars on a line, stems to plusses, bars of rows, a gray ghost."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import NDArray

from calib_core._base.arrays import Bools, Float64s
from calib_core.diagrams.bins_that_stand_out import edges_said
from calib_core.diagrams.reliability import ReliabilityDiagram
from calib_core.figures.look import REFERENCE
from calib_core.figures.marks import FEW_ROWS, entry, records, symbols, taken, taken_from, with_gaps
from calib_core.figures.probability_axis import ProbabilityAxis
from calib_core.palette import Style, style
from calib_core.text import plain

ONE_BIN = "one bin (mean confidence, accuracy)"
STEM, HOLLOW = "stem to +: mean error of classes", f"hollow: fewer than {FEW_ROWS} rows, not connected"
_HOVER = (
    "<b>%{meta.title}</b>, %{customdata.interval}<br>"
    "confidence %{customdata.confidence:.1~%}, accuracy %{customdata.accuracy:.1~%}<br>"
    "%{customdata.count:,.6~g} rows, %{customdata.share:.1~%} of all<br>"
    "mean error of classes %{customdata.delta:.1~%}"
    "<extra></extra>"
)
_HATCHES = ("", "/", "x", "-", ".", "\\", "|")
_OUTSIDE = 0.015


@dataclass(frozen=True)
class Panel:
    """Names of the axes of marks: confidence, accuracy, rows."""

    x: str = "x"
    y: str = "y"
    rows: str = "y2"


@dataclass(frozen=True, eq=False)
class BinMarks:
    """Marks of one model: number of its style, title, diagram; ``first``: the model whose marks it moves from."""

    number: int
    title: str
    diagram: ReliabilityDiagram
    axis: ProbabilityAxis
    first: str
    small: bool = False

    @property
    def look(self) -> Style:
        return style(self.number)

    @cached_property
    def frame(self) -> pd.DataFrame:
        """One row per non-empty bin."""
        return self.diagram.frame()

    @cached_property
    def few(self) -> Bools:
        """Mask of bins with so few rows that their marks are hollow."""
        return self.frame["count"].to_numpy() < FEW_ROWS

    @property
    def symbols(self) -> NDArray[np.str_]:
        """Symbol of each bin's star."""
        return symbols(self.look, self.frame["count"])

    @cached_property
    def records(self) -> list[dict[str, object]]:
        """Record of each bin's marks."""
        frame = self.frame.copy()
        frame.insert(1, "interval", [plain(bin_words(self.diagram, int(b))) for b in frame["bin"]])
        names = ["interval", "count", "share", "confidence", "accuracy", "delta"]
        # A click cannot open a group of rows, which is not a bin of the model.
        own = ["bin"] if self.diagram.members is None else []
        return records(frame[own + names], model=self.title)

    @property
    def has_stems(self) -> bool:
        """True if classes are known, so there are plusses."""
        return not self.frame["delta"].isna().all()

    def stars(self, panel: Panel) -> go.Scatter:
        """One star per bin, hollow if it has few rows; the others are connected by a thin line."""
        places = with_gaps(~self.few)
        return go.Scatter(
            x=taken(self.axis.place(self.frame["confidence"]), places),
            y=taken(self.axis.place(self.frame["accuracy"]), places),
            mode="lines+markers",
            line={"color": self.look.colour, "dash": self.look.dash, "width": 1},
            marker={
                "symbol": self.symbols[places].tolist(),
                "size": 10 if self.small else 14,
                "opacity": 1,
                "color": self.look.colour,
                "line": {"width": 1.2, "color": self.look.colour},
            },
            **self._shared("stars", panel.x, panel.y, plain(self.title))
            | {"customdata": taken_from(self.records, places)},
        )

    def stems(self, panel: Panel) -> list[go.Scatter]:
        """Lines from each star to its plus, dotted if it has few rows."""
        return [self._stems(panel, ~self.few, "stems", "solid"), self._stems(panel, self.few, "fewstems", "dot")]

    def _stems(self, panel: Panel, which: Any, kind: str, dash: str) -> go.Scatter:
        frame = self.frame[which]
        x, gaps = self.axis.place(frame["confidence"]), np.full(len(frame), np.nan)
        ends = self.axis.place(frame["accuracy"]), self.ends[which]
        whole = [dict(record) for record, there in zip(self.records, which, strict=True) if there]
        return go.Scatter(
            x=np.column_stack([x, x, gaps]).ravel(),
            y=np.column_stack([*ends, gaps]).ravel(),
            mode="lines",
            line={"color": self.look.colour, "width": 1.5, "dash": dash},
            **self._shared(kind, panel.x, panel.y, f"{kind}: {plain(self.title)}")
            | {"customdata": [each for record in whole for each in (record, record, None)]}
            | {"hoverinfo": "skip", "hovertemplate": None},
        )

    @cached_property
    def ends(self) -> Float64s:
        """Heights of the plusses; those below 0 or above 1 are just outside the range."""
        return self.axis.place(np.clip(self.frame["top_label"].to_numpy(), -_OUTSIDE, 1 + _OUTSIDE))

    def plusses(self, panel: Panel) -> go.Scatter:
        """One plus per bin, at the mean error of its classes from the diagonal.

        It is an arrow if that is below 0 or above 1.
        """
        height = self.frame["top_label"].to_numpy()
        inside = np.where(height < 0, "triangle-down-open", "cross-thin")
        return go.Scatter(
            x=self.axis.place(self.frame["confidence"]),
            y=self.ends,
            mode="markers",
            marker={
                "color": self.look.colour,
                "opacity": 1,
                "symbol": np.where(height > 1, "triangle-up-open", inside).tolist(),
                "size": 7 if self.small else 10,
                "line": {"color": self.look.colour, "width": 1.6 if self.small else 2.2},
            },
            **self._shared("plusses", panel.x, panel.y, f"{plain(self.title)}: top-label"),
        )

    def bars(self, panel: Panel, place: int = 0, n: int = 1, written: bool = False) -> go.Bar:
        """Rows of each bin, as one of ``n`` bars side by side; each except the first has its own hatching."""
        ends = self.axis.place(self.frame["lower"]), self.axis.place(self.frame["upper"])
        width = (ends[1] - ends[0]) * 0.86 / n
        left = ends[0] + (ends[1] - ends[0]) * 0.07 + width * place
        hatched = {
            "shape": _HATCHES[place % len(_HATCHES)],
            "fgcolor": self.look.colour,
            "fillmode": "replace",
            "size": 5,
            "solidity": 0.5,
        }
        return go.Bar(
            x=left + width / 2,
            y=self.frame["count"].to_numpy(),
            width=width,
            marker={
                "color": self.look.colour,
                "line": {"width": 1, "color": self.look.colour},
                **({"pattern": hatched} if hatched["shape"] else {}),
            },
            **({"text": [f"{rows:,.6g}" for rows in self.frame["count"]]} if written else {}),
            textposition="outside" if written else "none",
            textfont={"size": 10},
            textangle=0,
            cliponaxis=False,
            **self._shared("bars", panel.x, panel.rows, f"{plain(self.title)}: rows"),
        )

    def ghost(self, panel: Panel, k: int) -> go.Scatter:
        """The stars, including hollow ones, in gray without a line, behind those of another model."""
        return go.Scatter(
            x=self.axis.place(self.frame["confidence"]),
            y=self.axis.place(self.frame["accuracy"]),
            mode="markers",
            marker={"symbol": self.symbols.tolist(), "size": 8, "color": REFERENCE, "opacity": 0.6},
            **self._shared(f"ghost{k}", panel.x, panel.y, f"{plain(self.title)}, for comparison"),
        )

    def legend(self) -> go.Scatter:
        """Legend entry of the model."""
        return entry(self.title, self.number, uid=name_of("legend", self.title))

    def columns(self, panel: Panel) -> list[dict[str, object]]:
        """Clickable columns of the non-empty bins."""
        ends = self.axis.place(self.frame["lower"]), self.axis.place(self.frame["upper"])
        words = [
            f"{bin_words(self.diagram, int(line['bin']))}: {line['count']:,.6g} rows, confidence "
            f"{100 * line['confidence']:.3g} percent, accuracy {100 * line['accuracy']:.3g} percent"
            for line in self.frame.to_dict("records")
        ]
        return [
            {
                "axis": panel.x,
                "low": float(low),
                "high": float(high),
                "from": float(line["lower"]),
                "to": float(line["upper"]),
                "record": {"model": self.title} | ({"bin": int(line["bin"])} if self.diagram.members is None else {}),
                "says": says,
            }
            for low, high, line, says in zip(*ends, self.frame.to_dict("records"), words, strict=True)
        ]

    def _shared(self, kind: str, x: str, y: str, name: str) -> dict[str, Any]:
        """Common properties of a model's marks: stable names, records, and the start of their motion."""
        start = {} if self.first == self.title else {"from": name_of(kind, self.first)}
        return {
            "xaxis": x,
            "yaxis": y,
            "name": name,
            "uid": name_of(kind, self.title),
            "legendgroup": f"m{self.number}",
            "showlegend": False,
            "meta": {"title": plain(self.title), **start},
            "customdata": self.records,
            "hovertemplate": _HOVER,
            **({} if kind == "bars" else {"cliponaxis": False}),
        }


def name_of(kind: str, title: str) -> str:
    """Stable name for a trace of a model, with letters and digits only for style sheets.

    >>> name_of("stars", "Model A") == name_of("stars", "Model A") != name_of("stars", "model A")
    True
    """
    return f"{kind}{hashlib.blake2b(title.encode(), digest_size=5).hexdigest()}"


def bin_words(diagram: ReliabilityDiagram, b: int) -> str:
    """Range of a bin in percent."""
    return edges_said(float(diagram.lower[b]), float(diagram.upper[b]))


def key(marks: Sequence[BinMarks], stems: bool, ghosts: bool) -> list[go.Scatter]:
    """Legend entries for stars, stems and hollow stars, as far as present."""
    entries = []
    look = marks[0].look
    if ghosts:
        entries.append((f"{plain(marks[0].title)}, for comparison", {"symbol": look.symbol, "opacity": 0.6}))
    else:
        entries.append((ONE_BIN, {"symbol": "star"}))
    if stems:
        entries.append((STEM, {"symbol": "cross-thin", "line": {"width": 2.2, "color": REFERENCE}}))
    if any(each.few.any() for each in marks):
        entries.append((HOLLOW, {"symbol": "star-open"}))
    return [
        go.Scatter(
            x=[None],
            y=[None],
            mode="markers",
            name=name,
            uid=name_of("key", name),
            marker={"size": 11, "color": REFERENCE, **marker},
        )
        for name, marker in entries
    ]
