"""Marks of one model in a reliability diagram: stars with intervals, plusses of classes, bars of rows, a gray ghost."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import ArrayLike, NDArray

from calib_core._base.arrays import Bools, Codes, Float64s
from calib_core.diagrams.bins_that_stand_out import ReliabilityBands, edges_said
from calib_core.diagrams.reliability import FEW_ROWS, ReliabilityDiagram, is_hollow, is_pooled
from calib_core.figures.look import CALIBRATED, REFERENCE
from calib_core.figures.marks import entry, records, symbols, taken, taken_from, with_gaps
from calib_core.figures.probability_axis import ProbabilityAxis
from calib_core.inference.significance.class_differences import differ
from calib_core.palette import Style, style
from calib_core.text import at_level, plain

PLUSSES = ("all", "significant", "printed", "none")
"""Plusses of classes: all, with a stem where classes differ; these only; with a stem in every bin, as in P1; none."""
ONE_BIN = "one bin"
STEM = "stem: classes differ"
PALE = "pale +: mean gap of classes; bracket: noise"
BOTH = "+: classes differ; pale: within noise"
PRINTED = "stem to +: mean error of classes"
HOLLOW = f" (hollow: pooled bins of fewer than {FEW_ROWS} rows)"
OF_CLASSES = "<br>mean error of classes %{customdata.delta:.1~%} (%{customdata.noise})"
"""Line of a hover text about the classes of a bin, which an event has none of."""
_HOVER = (
    "<b>%{meta.title}</b>, %{customdata.interval}<br>"
    "confidence %{customdata.confidence:.1~%}, accuracy %{customdata.accuracy:.1~%}<br>"
    f"%{{customdata.count:,.6~g}} rows, %{{customdata.share:.1~%}} of all{OF_CLASSES}<extra></extra>"
)
_POOL = (
    "<b>%{meta.title}</b>, %{customdata.interval}, %{customdata.pool} pooled<br>"
    "confidence %{customdata.confidence:.1~%}, accuracy %{customdata.accuracy:.1~%}<br>"
    "%{customdata.count:,.6~g} rows<extra></extra>"
)
_NAMES = {"plusses": "classes", "pale": "classes, within noise"}
_HATCHES = ("", "/", "x", "-", ".", "\\", "|")
_OUTSIDE = 0.015
_BESIDE, _BESIDE_SMALL = 0.009, 0.022
"""Distance of a bracket from its plus, as a share of the axis."""
_PALE = 0.75
"""Opacity of marks that show only noise."""


@dataclass(frozen=True)
class Panel:
    """Names of the axes of marks: confidence, accuracy, rows."""

    x: str = "x"
    y: str = "y"
    rows: str = "y2"


@dataclass(frozen=True, eq=False)
class BinMarks:
    """Marks of one model: number of its style, title, diagram; ``first``: the model whose marks it moves from.

    Bins of few rows share a star (``pooled_marks``) if ``pooled``.
    """

    number: int
    title: str
    diagram: ReliabilityDiagram
    axis: ProbabilityAxis
    first: str
    small: bool = False
    bands: ReliabilityBands | None = None
    pooled: bool = True

    @property
    def look(self) -> Style:
        return style(self.number)

    @cached_property
    def frame(self) -> pd.DataFrame:
        """One row per non-empty bin."""
        return self.diagram.frame()

    @cached_property
    def marks(self) -> pd.DataFrame:
        """One row per star, with its interval and band if there are bands."""
        if not self.pooled:
            alone = self.frame if self.bands is None else self.bands.frame()
            return alone.assign(last=alone["bin"])
        return self.diagram.marks() if self.bands is None else self.bands.marks()

    @cached_property
    def few(self) -> Bools:
        """Mask of hollow stars: they are of bins with few rows."""
        return is_hollow(self.marks)

    @property
    def symbols(self) -> NDArray[np.str_]:
        """Symbol of each star."""
        return symbols(self.look, np.where(self.few, 0, FEW_ROWS))

    @cached_property
    def star_records(self) -> list[dict[str, object]]:
        """Record of each star: that of its bin, or of the range of several."""
        marks, several = self.marks, is_pooled(self.marks)
        places = np.searchsorted(self.frame["bin"].to_numpy(), marks["bin"].to_numpy())
        pools = iter(self._pools(marks[several]))
        return [next(pools) if many else self.records[place] for place, many in zip(places, several, strict=True)]

    def _pools(self, marks: pd.DataFrame) -> list[dict[str, object]]:
        """Records of stars of several bins. A click selects their range."""
        ends = list(zip(marks["lower"].clip(lower=0.0), marks["upper"].clip(upper=1.0), strict=True))
        interval = [plain(edges_said(low, high)) for low, high in ends]
        own: dict[str, Any] = {"between": ends} if self.diagram.members is None else {}
        frame = marks.assign(interval=interval, pool=f"bins of fewer than {FEW_ROWS} rows", **own)
        names = ["pool", *own, "interval", "count", "confidence", "accuracy"]
        return records(frame[names], model=self.title)

    @cached_property
    def records(self) -> list[dict[str, object]]:
        """Record of each bin's marks."""
        frame = self.frame.copy()
        frame.insert(1, "interval", [plain(bin_words(self.diagram, int(b))) for b in frame["bin"]])
        p = frame["class_p"].to_numpy()
        words = np.where(differ(p), "classes differ significantly", "no significant difference of classes")
        frame["noise"] = np.where(np.isnan(p), "differences of classes not tested", words)
        names = ["interval", "count", "share", "confidence", "accuracy", "delta", "noise"]
        # A click cannot open a group of rows, which is not a bin of the model.
        own = ["bin"] if self.diagram.members is None else []
        return records(frame[own + names], model=self.title)

    @property
    def has_stems(self) -> bool:
        """True if classes are known, so there are plusses."""
        return not self.frame["delta"].isna().all()

    def stars(self, panel: Panel) -> go.Scatter:
        """One star per bin with its interval, hollow if it has few rows; the others are connected by a thin line."""
        places = with_gaps(~self.few)
        marks, hovers = self.marks, [_POOL if "pool" in record else _HOVER for record in self.star_records]
        return go.Scatter(
            x=taken(self.axis.place(marks["confidence"]), places),
            y=taken(self.axis.place(marks["accuracy"]), places),
            **({} if self.bands is None else {"error_y": self._whiskers(places)}),
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
            | {
                "customdata": taken_from(self.star_records, places),
                "hovertemplate": hovers[0] if len(set(hovers)) == 1 else [hovers[place] for place in places],
            },
        )

    def _whiskers(self, places: Codes) -> dict[str, Any]:
        """Intervals of stars; with few rows only if there is no other star, as they would span the picture."""
        marks, middle = self.marks, self.axis.place(self.marks["accuracy"])
        wide = (marks["count"] < FEW_ROWS).to_numpy() & (len(marks) > 1) & self.pooled
        low, high = (np.where(wide, np.nan, self.axis.place(marks[f"accuracy_{end}"])) for end in ("low", "high"))
        return {
            "type": "data",
            "symmetric": False,
            "array": taken(high - middle, places),
            "arrayminus": taken(middle - low, places),
            "color": self.look.colour,
            "thickness": 1.2,
            "width": 2 if self.small else 4,
        }

    def calibrated(self, panel: Panel, named: bool) -> go.Scatter:
        """Band of a calibrated model's stars with these confidences, in gray, over bins of enough rows."""
        if self.bands is None:
            raise ValueError("a band of calibrated models needs the bands of the bins")
        enough = (self.marks["count"] >= FEW_ROWS).to_numpy()
        frame = self.marks[enough if enough.sum() > 1 else np.ones_like(enough)]
        x, low, high = (self.axis.place(frame[name]) for name in ("confidence", "band_low", "band_high"))
        return go.Scatter(
            x=np.append(x, x[::-1]),
            y=np.append(low, high[::-1]),
            fill="toself",
            fillcolor=CALIBRATED,
            mode="lines",
            line={"width": 0},
            name=f"{at_level(self.bands.level)} of calibrated models",
            uid=f"consistency{panel.x}",
            legendrank=2000,
            hoverinfo="skip",
            showlegend=named,
            xaxis=panel.x,
            yaxis=panel.y,
        )

    def of_classes(self, panel: Panel, which: str) -> list[go.Scatter]:
        """Plusses of the bins' classes, with stems and brackets; ``which`` is one of `PLUSSES`."""
        if which == "none" or not self.has_stems:
            return []
        if which == "printed":
            far = self._place(self.frame["top_label"])
            few = self.frame["count"].to_numpy() < FEW_ROWS
            stems = self._lines(panel, ~few, "stems", "solid", self.frame["accuracy"], far)
            dotted = self._lines(panel, few, "edges", "dot", self.frame["accuracy"], far)
            every = np.ones(len(self.frame), dtype=np.bool_)
            return [stems, dotted, self._plusses(panel, every, "plusses", self.frame["top_label"], False)]
        # A bin of few rows has no star of its own that a plus could belong to.
        noise = ~self.signal & ~(self.pooled & (self.frame["count"] < FEW_ROWS).to_numpy())
        pale = [*self._brackets(panel), self._plusses(panel, noise, "pale", self.frame["top_label"], True)]
        return [
            *(pale if which == "all" else []),
            self._lines(panel, self.signal, "edges", "dot", self.frame["accuracy"], self._place(self.edges)),
            self._lines(panel, self.signal, "stems", "solid", self._inside(self.edges), self._place(self.ends)),
            self._plusses(panel, self.signal, "plusses", self.ends, False),
        ]

    @cached_property
    def signal(self) -> Bools:
        """Mask of bins whose classes differ significantly."""
        return differ(self.frame["class_p"].to_numpy())

    @property
    def _side(self) -> Float64s:
        """Directions of the stems: away from the diagonal, or towards it where there is more room."""
        star, far = (self.frame[name].to_numpy() for name in ("accuracy", "class_difference"))
        away = np.where(star > self.frame["confidence"], 1.0, -1.0)
        room = (star + away * far >= 0) & (star + away * far <= 1)
        return np.where(room | np.isnan(far), away, np.where(star > 0.5, -1.0, 1.0))

    @cached_property
    def ends(self) -> Float64s:
        """Heights of the strong plusses: as far from the star as the bin's classes are from the bin on average."""
        return np.asarray(self.frame["accuracy"] + self._side * self.frame["class_difference"])

    @cached_property
    def edges(self) -> Float64s:
        """Heights that the stems would have at most by chance."""
        return np.asarray(self.frame["accuracy"] + self._side * self.frame["class_edge"])

    @staticmethod
    def _inside(heights: ArrayLike) -> Float64s:
        """Heights; those below 0 or above 1 are just outside the range."""
        return np.clip(np.asarray(heights, dtype=np.float64), -_OUTSIDE, 1 + _OUTSIDE)

    def _place(self, heights: ArrayLike) -> Float64s:
        return self.axis.place(self._inside(heights))

    def _lines(self, panel: Panel, which: Bools, kind: str, dash: str, start: ArrayLike, end: Float64s) -> go.Scatter:
        """One line per bin from ``start`` (a probability) to ``end`` (a place)."""
        x, gaps = self.axis.place(self.frame["confidence"]), np.full(len(self.frame), np.nan)
        ends = self.axis.place(np.asarray(start)), end
        whole = [dict(record) for record, there in zip(self.records, which, strict=True) if there]
        return go.Scatter(
            x=np.column_stack([x, x, gaps])[which].ravel(),
            y=np.column_stack([*ends, gaps])[which].ravel(),
            mode="lines",
            line={"color": self.look.colour, "width": 2 if dash == "solid" else 1.5, "dash": dash},
            **self._shared(kind, panel.x, panel.y, f"{kind}: {plain(self.title)}")
            | {"customdata": [each for record in whole for each in (record, record, None)]}
            | {"hoverinfo": "skip", "hovertemplate": None},
        )

    def _plusses(self, panel: Panel, which: Bools, kind: str, heights: ArrayLike, pale: bool) -> go.Scatter:
        """One plus per bin, or an arrow if its height is below 0 or above 1."""
        height = np.asarray(heights, dtype=np.float64)[which]
        inside = np.where(height < 0, "triangle-down-open", "cross-thin")
        size = (5 if self.small else 7) if pale else (8 if self.small else 12)
        return go.Scatter(
            x=self.axis.place(self.frame["confidence"])[which],
            y=self._place(height),
            mode="markers",
            marker={
                "color": self.look.colour,
                "opacity": _PALE if pale else 1,
                "symbol": np.where(height > 1, "triangle-up-open", inside).tolist(),
                "size": size,
                "line": {"color": self.look.colour, "width": 1.2 if pale else 1.8 if self.small else 2.6},
            },
            **self._shared(kind, panel.x, panel.y, f"{plain(self.title)}: {_NAMES[kind]}")
            | {"customdata": [record for record, there in zip(self.records, which, strict=True) if there]},
        )

    @property
    def null_ends(self) -> tuple[Float64s, Float64s]:
        """Ends of the bracket of each bin whose classes do not differ significantly; NaN for the others."""
        says = self.frame["confidence"].to_numpy(np.float64)
        side = np.where(self.signal, np.nan, np.where(self.frame["top_label"] > says, 1, -1))
        low, high = (says + side * self.frame[name].to_numpy(np.float64) for name in ("null_low", "null_high"))
        return low, high

    def _brackets(self, panel: Panel) -> list[go.Scatter]:
        """A thin bracket beside each pale plus: where it would be if the bin's classes did not differ."""
        low, high = self.null_ends
        which, says = ~np.isnan(low), self.frame["confidence"].to_numpy()
        ends = self._place(low[which]), self._place(high[which])
        beside = (_BESIDE_SMALL if self.small else _BESIDE) * (self.axis.high - self.axis.low)
        middle, half = (ends[0] + ends[1]) / 2, np.abs(ends[1] - ends[0]) / 2
        return [
            go.Scatter(
                x=self.axis.place(says[which]) + beside,
                y=middle,
                error_y={
                    "type": "data", "array": half, "color": self.look.colour, "thickness": 0.8,
                    "width": 1.5 if self.small else 2.5,
                },
                opacity=_PALE,
                mode="markers",
                marker={"size": 0.1, "color": self.look.colour},
                **self._shared("nulls", panel.x, panel.y, f"{plain(self.title)}: noise")
                | {"customdata": [record for record, there in zip(self.records, which, strict=True) if there]}
                | {"hoverinfo": "skip", "hovertemplate": None},
            )
        ]  # fmt: skip

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
            textfont={"size": 11},
            textangle=0,
            cliponaxis=False,
            **self._shared("bars", panel.x, panel.rows, f"{plain(self.title)}: rows"),
        )

    def numbers(self, panel: Panel, height: float) -> go.Scatter:
        """Rows of each bin in figures, above the middle of the bin at this height."""
        ends = self.axis.place(self.frame["lower"]), self.axis.place(self.frame["upper"])
        return go.Scatter(
            x=(ends[0] + ends[1]) / 2,
            y=np.full(len(self.frame), height),
            mode="text",
            text=[f"{rows:,.6g}" for rows in self.frame["count"]],
            textfont={"size": 11, "color": self.look.colour},
            **self._shared("numbers", panel.x, panel.rows, f"{plain(self.title)}: number of rows")
            | {"hoverinfo": "skip", "hovertemplate": None},
        )

    def ghost(self, panel: Panel, k: int) -> go.Scatter:
        """The stars, including hollow ones, in gray without a line, behind those of another model."""
        return go.Scatter(
            x=self.axis.place(self.marks["confidence"]),
            y=self.axis.place(self.marks["accuracy"]),
            mode="markers",
            marker={"symbol": self.symbols.tolist(), "size": 8, "color": REFERENCE, "opacity": 1},
            **self._shared(f"ghost{k}", panel.x, panel.y, f"{plain(self.title)}, for comparison")
            | {"customdata": self.star_records, "hovertemplate": None, "hoverinfo": "skip"},
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


def key(marks: Sequence[BinMarks], plusses: str, ghosts: bool) -> list[go.Scatter]:
    """Legend entries for stars, plusses and hollow stars, as far as present."""
    entries: list[tuple[str, dict[str, Any]]] = []
    look = marks[0].look
    hollow = HOLLOW if any(each.few.any() for each in marks) else ""
    if ghosts:
        entries.append((f"{plain(marks[0].title)}, for comparison", {"symbol": look.symbol, "opacity": 1}))
        entries += [(hollow.strip(" ()"), {"symbol": "star-open"})] if hollow else []
    else:
        level = next((at_level(each.bands.level) for each in marks if each.bands is not None), "")
        entries.append((f"{ONE_BIN}{f', {level} interval' if level else ''}{hollow}", {"symbol": "star"}))
    classes = [each for each in marks if each.has_stems]
    strong = plusses == "printed" or any(each.signal.any() for each in classes)
    pale = plusses == "all" and any((~each.signal).any() for each in classes)
    if classes and plusses != "none" and (strong or pale):
        words = PRINTED if plusses == "printed" else BOTH if strong and pale else STEM if strong else PALE
        thin = {"opacity": _PALE, "size": 7, "line": {"width": 1.2, "color": REFERENCE}}
        thick = {"line": {"width": 2.6, "color": REFERENCE}}
        entries.append((words, {"symbol": "cross-thin", **(thick if strong else thin)}))
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
