"""Slices of the rows by their other columns: tables, small diagrams, a scan, and one number for all groups."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import pandas as pd

import calib_core as cc
from calib_core import NotAnswerable
from calib_core.defaults import LEVEL
from calib_core.diagrams import SliceDots
from calib_core.diagrams.class_list import FEW_ROWS
from calib_core.inference.significance.count_tests import counts_rows
from calib_core.registry.registry import Flag, Range, Text
from calib_core.slices import Multicalibration, SliceScan
from calib_core.slices.conditions import no_columns
from calib_core.text import at_level, count, first_few
from dashboard.exhibits import columns as of
from dashboard.exhibits import event_words
from dashboard.exhibits.exhibit import EXHIBITS, Exhibit, Words
from dashboard.session import Call, Scene, call

_EXACT = (
    "Predicted: mean confidence of the slice's rows. Observed: the share of them that is right, with its exact "
    "interval (Clopper and Pearson 1934), of this slice alone. Noise: 95 of 100 perfectly calibrated models with these "
    "confidences have a gap within it. Tests are exact (Poisson-binomial law of the rows)."
)
_BOUNDED = (
    "Predicted: mean confidence of the slice's rows. Observed: the share of them that is right. The rows belong to "
    "groups, or carry weights: they count as the fewer rows of equal weight they are worth. Noise (at least 95 of 100 "
    "perfectly calibrated models have a gap within it) and tests are Hoeffding's (1963), which hold for any dependence "
    "inside a group. Intervals of rows in groups are Korn and Graubard's (1998), those of weighted rows Hoeffding's."
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


def bins_counted(scene: Scene) -> str:
    """Which bins the sentence above a diagram counts, by the test that these rows have."""
    test = "an exact test" if counts_rows(scene.get(scene.model.predictions)) else "Hoeffding's bound (1963)"
    return f"The sentence above the diagram counts a bin where {test} finds it off. {CORRECTED}"


def own_interval(scene: Scene) -> str:
    """The interval of a share of these rows, as "with its ..." goes on: exact where rows are independent."""
    if scene.get(scene.model.predictions).row_groups is None:
        return f"exact {at_level(LEVEL)} interval"
    return f"{at_level(LEVEL)} interval (Korn and Graubard 1998: rows of a group are counted together)"


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


ADDED = "A column such as camera, site or subject would show whether the probabilities fail for one of its values."
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
    if notion_of(scene) == "event":
        return "open, mean predicted risk, with what noise alone shows; filled, observed frequency, with its interval."
    return "open, what it says, with what noise alone shows; filled, how often it is right, with its interval."


def how_tested(scene: Scene) -> str:
    """How the numbers of a slice are read."""
    text = _EXACT if counts_rows(scene.get(scene.model.predictions)) else _BOUNDED
    if notion_of(scene) == "event":
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


@EXHIBITS.register("slice-columns", "All columns")
@dataclass(frozen=True)
class SliceColumns(Exhibit):
    """The slices of every column, first those of the column with the largest significant gap."""

    reads = "counts"
    printed = 40

    meanings = MEANINGS

    def dots(self, scene: Scene) -> Call[SliceDots]:
        """What is found, in words."""
        return call(cc.diagrams.slice_dots, self.table(scene), notion=notion_of(scene))

    def table(self, scene: Scene) -> Call[pd.DataFrame]:
        return by_column(scene)

    def columns(self, frame: pd.DataFrame) -> tuple[of.Column, ...]:
        return (of.text("column"), *tested_columns(frame), of.probability("p (corrected)", "p_corrected"), stands_out())

    def words(self, scene: Scene) -> Words:
        found = scene.get(self.dots(scene))
        return Words(
            f"{scene.model.title}. The column with the largest significant gap first; in each, the "
            "largest significant gap first, then by p.",
            headline=(f"{found.headline}.", found.basis),
            notes=(how_tested(scene), CORRECTED),
        )


MOST = 12


@EXHIBITS.register("slice-panels", "Reliability by slice")
@dataclass(frozen=True)
class SlicePanelsExhibit(BySlice):
    """A small reliability diagram for each of the first dozen slices, all models in each."""

    reads = "counts"
    printed = 0
    terms = ("bins",)

    meanings = of.Meanings(
        {
            "count": "rows of the slice in the bin",
            "mean_score": "mean confidence, or risk, of those rows",
            "mean_outcome": "share of those rows that is right, or has the event",
            "gap": "mean outcome less mean score",
            "weight": "rows of the bin as a share of all rows",
        }
    )

    def _diagrams(self, scene: Scene) -> tuple[dict[str, Call[Any]], tuple[str, ...]]:
        """The small diagrams of every model with rows in all of the slices, and a sentence for each without."""
        where = tuple(scene.get(self.lines(scene))["where"].head(MOST))
        return scene.answered(
            scene.each(lambda m: call(cc.slices.panels, m.predictions, where, bins=scene.bins, notion=notion_of(scene)))
        )

    def table(self, scene: Scene) -> Call[pd.DataFrame]:
        return call(cc.calls.stacked, self._diagrams(scene)[0])

    def columns(self, frame: pd.DataFrame) -> tuple[of.Column, ...]:
        return (
            of.text("model"),
            of.text("slice"),
            of.bin_ends("bin", "lower", "upper"),
            of.whole("rows", "count"),
            of.share("mean score", "mean_score"),
            of.share("mean outcome", "mean_outcome"),
            of.gap(),
        )

    def figure(self, scene: Scene) -> Call[Any]:
        return call("figures.class_panels", self._diagrams(scene)[0], looks=scene.looks)

    def words(self, scene: Scene) -> Words:
        lines = scene.get(self.lines(scene))
        shown = min(MOST, len(lines))
        which = f"the first {shown} of {count(len(lines))} slices" if shown < len(lines) else f"{shown} slices"
        return Words(
            f"Reliability slice by slice: {which}. In the headings the slice's error in {scene.titles[0]}, which noise "
            f"pushes up where rows are few. Hollow: fewer than {FEW_ROWS} rows, not joined.",
            f"Small reliability diagrams of {which}.",
            self._diagrams(scene)[1],
        )


@EXHIBITS.register("slice-scan", "Scan of all columns and crossings")
@dataclass(frozen=True)
class Scan(Exhibit):
    """Where the model is furthest off: every slice looked at on half of the rows, confirmed on the other half."""

    crossings: Annotated[bool, Flag(), "Cross two columns", "whether columns are crossed two by two"] = True
    min_rows: Annotated[int, Range(10, 100_000), "Fewest rows", "slices of fewer rows are not looked at"] = 50

    reads_columns = True
    printed = 30
    costly = True

    meanings = MEANINGS

    def found(self, scene: Scene) -> Call[SliceScan]:
        """The scan of the model looked at."""
        options = {"crossings": self.crossings, "min_rows": self.min_rows, "notion": scene.claims}
        return call(cc.slices.scan, scene.model.predictions, stem="scanned", **options)

    def table(self, scene: Scene) -> Call[pd.DataFrame]:
        return self.found(scene).part("frame()")

    def columns(self, frame: pd.DataFrame) -> tuple[of.Column, ...]:
        return (
            *tested_columns(frame),
            of.points("gap that chose it", "first_gap"),
            of.probability("p (Holm)", "p_holm"),
            stands_out("confirmed"),
        )

    def figure(self, scene: Scene) -> Call[Any] | None:
        if not len(scene.get(self.table(scene))):
            return None
        dots = call(cc.diagrams.slice_dots, self.table(scene), notion=scene.claims)
        return call("figures.slice_dots", dots, model=scene.model.title, looks=scene.looks)

    def words(self, scene: Scene) -> Words:
        found = scene.get(self.found(scene))
        return Words(
            f"{scene.model.title}, on the rows kept apart: {marks(scene)}",
            f"Slices found by a scan. {found.headline}",
            (
                how_tested(scene),
                "Chosen on half of the rows, tested on the other half: what is confirmed was not made by looking at "
                "much. In half of the rows less is seen than in all, and slices found share rows: several can be one "
                "finding.",
                *found.notes,
            ),
            (found.headline, found.basis),
        )


_READ = (
    "Error: of the rows of a group, the run of neighbouring confidences whose claims are off by most together, as a "
    "share of the group. The value is the largest of them times the group's share of all rows, so that a small group "
    "counts little in it; its own line tells of it. The noise floor is what 95 of 100 perfectly calibrated models with "
    "these confidences stay within."
)
_JOINT = (
    "This is another test than that of a slice's mean gap: errors of opposite sign do not cancel in it. All intervals "
    "hold at once, and p is the chance that any of the groups of a calibrated model is as far beyond its "
    "own noise (single-step correction, however the groups overlap); at most 0.05 is significant."
)


@EXHIBITS.register("multicalibration", "Error within the worst group", reference="Hébert-Johnson et al. 2018")
@dataclass(frozen=True)
class WithinGroups(Exhibit):
    """How far from calibrated the model is within the worst group of rows, and within each."""

    by: Annotated[str, Text(200), "Groups of", "the column whose values are groups; empty: every column"] = ""
    crossed: Annotated[
        str, Text(200), "Crossed with", "a second column, if any: its values, too, and those that meet"
    ] = ""
    parts: Annotated[int, Range(2, 20), "Parts", "into how many ranges a column of many numbers is cut"] = 4

    reads_columns = True
    printed = 20
    costly = True
    terms = ("multicalibration", "noise-floor")

    meanings = of.Meanings(
        {
            "group": "group of rows",
            "rows": "rows of the group",
            "share": "share of all rows in the group",
            "error": "largest sum of outcome less score over a run of scores, as a share of the group",
            "low": "lower end of the interval, of all groups together at 90 %",
            "high": "upper end of the same",
            "deviations": "error in units of its standard deviation in a calibrated model",
            "p": "chance that any group of a calibrated model has as many deviations",
            "stands_out": "whether p is at most 0.05",
        }
    )

    def found(self, scene: Scene) -> Call[Multicalibration]:
        """The errors of the model looked at; NotAnswerable where there is nothing to group by."""
        rows = scene.get(scene.model.predictions)
        if not cc.slices.columns_of(rows):
            raise NotAnswerable(no_columns(rows))
        options: dict[str, Any] = {"parts": self.parts, "reduction": scene.claims}
        if chosen := tuple(dict.fromkeys(filter(None, (self.by, self.crossed)))):
            options |= {"groups": chosen, "crossings": len(chosen) > 1}
        return call(cc.slices.multicalibration, scene.model.predictions, stem="within", **options)

    def table(self, scene: Scene) -> Call[pd.DataFrame]:
        return self.found(scene).part("frame()")

    def columns(self, frame: pd.DataFrame) -> tuple[of.Column, ...]:
        return (
            of.text("group"),
            of.whole("rows"),
            of.share("of all", "share"),
            of.error("error"),
            of.between("90 % interval, all at once", "low", "high"),
            of.probability("p of this error, all groups at once", "p"),
            of.flag("error above noise", "stands_out"),
        )

    def words(self, scene: Scene) -> Words:
        found = scene.get(self.found(scene))
        what = f"predicted risk of {event_words.of_scene(scene)}" if scene.claims == "event" else "confidence"
        few = f"Too few rows to tell: {first_few(found.skipped)}." if found.skipped else ""
        return Words(
            f"{scene.model.title}, {what}, on {scene.judged_rows}; the group furthest beyond its noise first.",
            headline=(found.headline, found.sentence),
            notes=(_READ, _JOINT),
        ).also(few)
