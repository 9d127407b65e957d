"""Slices of one column, or of two that cross: what each says, how often it is right, and which stand out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import pandas as pd

import calib_core as cc
from calib_core import NotAnswerable
from calib_core.diagrams import SliceDots
from calib_core.inference.significance.count_tests import counts_rows
from calib_core.registry.registry import Range, Text
from calib_core.text import count
from dashboard.exhibits import columns as of
from dashboard.exhibits.exhibit import EXHIBITS, Exhibit, Words
from dashboard.session import Call, Scene, call

_EXACT = (
    "Predicted: mean confidence of the slice's rows. Observed: the share of them that is right, with its exact "
    "interval (Clopper and Pearson 1934). Noise: 95 of 100 perfectly calibrated models with these confidences have a "
    "gap within it. Tests are exact (Poisson-binomial law of the rows)."
)
_BOUNDED = (
    "Predicted: mean confidence of the slice's rows. Observed: the share of them that is right. The rows belong to "
    "groups, or carry weights: they count as the fewer rows of equal weight they are worth, and intervals, noise (at "
    "least 95 of 100 perfectly calibrated models have a gap within it) and tests are Hoeffding's (1963), which hold "
    "for any dependence inside a group."
)

_SAYS, _RISK = "mean confidence of", "mean risk of"
_RIGHT, _OBSERVED = "Observed: the share of them that is right", "Observed: how often the event happened"

_COMPARED = (
    "Against the rest: the slice's gap less the gap of all other rows. Unlike the rest: that is more than chance "
    "(Newcombe 1998 or Hoeffding 1963; corrected for the slices of the column and for the columns)."
)
CORRECTED = (
    "p (corrected): Holm's correction (1979) within one family (the bins, the classes, the values of one column). It "
    "is then multiplied by the number of kinds of places, and for slices by the number of columns. At most 0.05 is "
    "significant: the chance of any false alarm among all bins, classes and slices is at most 5 %. This p-value "
    "is the same in every table, card and report."
)
"""How p-values of places are corrected: the same everywhere."""


MEANINGS = {
    "claimed": "mean confidence, or risk, of the slice",
    "right": "share of the slice that is right, or has the event",
    "gap": "right less claimed",
    "share": "share of all rows in the slice",
    "floor": "95 % point of the size of a calibrated model's gap",
    "adds": "share times (size of the gap - floor)",
    "beyond": "gap of the slice less that of all other rows",
    "p_beyond": "p of no difference from all other rows",
    "differs": "whether p_beyond, corrected by Holm's rule and for the columns, is at most 0.05",
    "where": "text of the slice in links",
    "groups": "groups of rows in the slice",
    "spread": "variance of the gaps between the slices of the column beyond noise",
    "p_holm": "p on the rows kept apart, corrected by Holm's rule",
    "first_gap": "gap on the rows that chose the slice",
    "first_rows": "rows of the slice among those",
    "column": "column whose value the slice is",
}
"""What the columns of slices are."""


@dataclass(frozen=True)
class BySlice(Exhibit):
    """Slices of the model looked at, by one column or two."""

    by: Annotated[str, Text(200), "Split by", "the column; empty: the one with the largest significant gap"] = ""
    crossed: Annotated[str, Text(200), "Crossed with", "a second column, if any"] = ""
    parts: Annotated[int, Range(2, 20), "Parts", "into how many ranges a column of many numbers is cut"] = 4
    edges: Annotated[str, Text(200), "Cut at", "numbers at which the column is cut instead, such as 18, 40, 65"] = ""

    terms = ("noise-floor",)

    def split(self, scene: Scene) -> tuple[str, ...]:
        """The columns that rows are split by; NotAnswerable where there are none."""
        chosen = tuple(dict.fromkeys(filter(None, (self.by, self.crossed))))
        return chosen or columns_of(scene)[:1]

    def lines(self, scene: Scene) -> Call[pd.DataFrame]:
        """The slices of the model looked at, tested."""
        columns = self.split(scene)
        by = columns[0] if len(columns) == 1 else columns
        edges = self._numbers()
        more: dict[str, Any] = {} if edges is None else {"edges": edges}
        if too_many(scene):
            more["columns"] = len(columns_of(scene))
        more["notion"] = notion_of(scene)
        return call(cc.slices.table, scene.model.predictions, by, parts=self.parts, stem="slices", **more)

    def _numbers(self) -> tuple[float, ...] | None:
        try:
            return tuple(float(part) for part in self.edges.replace(";", ",").split(",") if part.strip()) or None
        except ValueError:
            raise NotAnswerable(f"{self.edges[:80]!r} are no numbers to cut at; write 18, 40, 65") from None


ADDED = (
    "A column that says where a row comes from, such as camera, site or subject, tells whether the probabilities fail "
    "in one of them."
)
"""What a column would add."""
MOST_CELLS = 5_000_000
"""Rows times columns up to which every column is cut and tested to find the one that tells most apart."""


def notion_of(scene: Scene) -> str:
    """What slices are judged by: a summary keeps those of the class predicted alone."""
    return "confidence" if scene.undivided else scene.claims


def columns_of(scene: Scene) -> tuple[str, ...]:
    """The columns that rows can be split by, that of the largest significant gap first; NotAnswerable without any.

    Of very many rows and columns as they stand in the file, those that tell single rows apart among them.
    """
    if too_many(scene):
        return cc.slices.columns_of(scene.get(scene.model.predictions))
    return tuple(dict.fromkeys(map(str, scene.get(by_column(scene))["column"])))


def too_many(scene: Scene) -> bool:
    """Whether cutting and testing every column takes long."""
    metadata = scene.get(scene.model.predictions).metadata
    return metadata is not None and metadata.size > MOST_CELLS


def by_column(scene: Scene) -> Call[pd.DataFrame]:
    """The slices of every column of the model looked at."""
    return call(cc.slices.by_column, scene.model.predictions, notion=notion_of(scene), stem="slices")


@EXHIBITS.register("slices", "Slices")
@dataclass(frozen=True)
class Slices(BySlice):
    """Mean confidence and accuracy for each value of a column; the largest significant gap first."""

    reads = "counts"
    printed = 20

    meanings = MEANINGS

    def dots(self, scene: Scene) -> Call[SliceDots]:
        """What is drawn."""
        return call(cc.diagrams.slice_dots, self.lines(scene), notion=notion_of(scene))

    def table(self, scene: Scene) -> Call[pd.DataFrame]:
        return self.lines(scene)

    def columns(self, frame: pd.DataFrame) -> tuple[of.Column, ...]:
        return (
            *tested_columns(frame),
            of.probability("p", "p"),
            of.probability("p (corrected)", "p_corrected"),
            stands_out(),
        )

    def figure(self, scene: Scene) -> Call[Any]:
        return call("figures.slice_dots", self.dots(scene), model=scene.model.title, looks=scene.looks)

    def words(self, scene: Scene) -> Words:
        found = scene.get(self.dots(scene))
        columns = " and ".join(f"\u201c{name}\u201d" for name in self.split(scene))
        more = f" {count(found.more)} more slices are in the table." if found.more else ""
        return Words(
            f"{scene.model.title}, by {columns}; the largest significant gap first, then by p: {marks(scene)}{more}",
            f"Slices by {columns}: {found.headline}.",
            (
                how_tested(scene),
                f"{CORRECTED} Crossings and other cuts looked at in turn are further tests; the scan counts them all.",
            ),
            (f"{found.headline}.", found.basis),
        )


def marks(scene: Scene) -> str:
    """What the marks of a slice are."""
    if scene.claims == "event":
        return "open, mean predicted risk, with what noise alone shows; filled, observed frequency, with its interval."
    return "open, what it says, with what noise alone shows; filled, how often it is right, with its interval."


def how_tested(scene: Scene) -> str:
    """How the numbers of a slice are read."""
    text = _EXACT if counts_rows(scene.get(scene.model.predictions)) else _BOUNDED
    if scene.claims == "event":
        text = text.replace(_SAYS, _RISK).replace(_RIGHT, _OBSERVED).replace("these confidences", "these risks")
    return f"{text} {_COMPARED}"


def row_columns(frame: pd.DataFrame) -> tuple[of.Column, ...]:
    """How many rows, of how many groups, and what they are worth where that is less."""
    groups = (of.whole("groups"),) if "groups" in frame else ()
    fewer = bool((frame["worth"] < frame["rows"] - 1e-6 * frame["rows"]).any())
    return (of.whole("rows"), *groups, *((of.number("worth, rows", "worth"),) if fewer else ()))


def tested_columns(frame: pd.DataFrame) -> tuple[of.Column, ...]:
    """The printed columns that every table of slices begins with."""
    return (
        of.text("slice"),
        *row_columns(frame),
        of.share("predicted", "claimed"),
        of.share("observed", "right"),
        of.between("90 % interval", "low", "high"),
        of.gap(),
        of.error("noise", "floor"),
        of.points("against the rest", "beyond"),
        of.flag("unlike the rest", "differs"),
    )


def stands_out(heading: str = "significantly off") -> of.Column:
    """Whether a slice is significantly off."""
    return of.flag(heading, "stands_out")
