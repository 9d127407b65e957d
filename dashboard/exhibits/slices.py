"""Slices of the rows by metadata columns: tables, small diagrams, a scan, and the worst group."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Any

import pandas as pd

import calib_core as cc
from calib_core import NotAnswerable
from calib_core.columns.conditions import no_columns
from calib_core.columns.cut import columns_looked_at
from calib_core.defaults import LEVEL
from calib_core.diagrams import SliceDots
from calib_core.diagrams.class_list import FEW_ROWS
from calib_core.inference.significance.count_tests import counts_rows, kinds_of_places, kinds_with_slices
from calib_core.registry.registry import Flag, Range, Text
from calib_core.slices import BetweenSites, Multicalibration, SliceScan
from calib_core.slices.findings import MOST_TESTED
from calib_core.text import at_level, count, first_few, listed
from dashboard.exhibits import columns as of
from dashboard.exhibits import event_words
from dashboard.exhibits.exhibit import EXHIBITS, Exhibit, Words
from dashboard.session import Call, Scene, call, in_sentence

_EXACT = (
    "Predicted: mean confidence of the slice's rows. Observed: the accuracy, with its exact interval for this "
    "slice (Clopper and Pearson 1934). Noise floor: 95 % of perfectly calibrated models with these "
    "confidences have a smaller gap. Tests are exact (Poisson-binomial distribution)."
)
_BOUNDED = (
    "Predicted: mean confidence of the slice's rows. Observed: the accuracy. The rows are grouped or weighted, so "
    "they count with their effective sample size. Noise floor: at least 95 % of perfectly calibrated models have a "
    "smaller gap. It and the tests use Hoeffding's bound (1963), which is valid for any dependence within a group. "
    "Intervals for grouped rows are Korn and Graubard's (1998), those for weighted rows Hoeffding's."
)

_SAYS, _RISK = "mean confidence of", "mean risk of"
_RIGHT, _OBSERVED = "Observed: the accuracy", "Observed: the frequency of the event"

_COMPARED = (
    "Against the rest: the slice's gap minus the gap of all other rows. A calibrated slice can also differ from them, "
    "if they contain a miscalibrated slice. Differs from the rest: this difference is significant (Newcombe 1998 or "
    "Hoeffding 1963; corrected for the numbers of slices and columns)."
)
_KINDS = ("bins", "predicted classes in bins", "predicted classes", "class probabilities")
"""Kinds of places besides slices, in the order in which predictions with more information have them."""


def correction(scene: Scene, notion: str = "confidence", of_slices: bool = False) -> str:
    """Describe the correction of p-values of places, with the numbers of kinds and columns.

    ``of_slices``: slices are tested, even if no column divides the rows unless it is chosen.
    """
    given = scene.get(scene.model.predictions)
    rows = cc.inference.claimed_rows(given, notion).answered
    kinds = kinds_with_slices(rows) if of_slices else kinds_of_places(rows)
    sliced = kinds_with_slices(rows) - 1
    named = [*_KINDS[:sliced], *["slices"][: kinds - sliced]]
    how = "p is corrected for the number of bins by Holm's method (1979)."
    if kinds > 1:
        also = ""
        if kinds > sliced and (columns := 0 if too_many(scene) else columns_looked_at(rows)) != 1:
            also = f", and for slices also by {f'{columns}, ' if columns else ''}the number of columns"
        same = (
            "Holm's method (1979) corrects for the number of subsets of the same kind. For slices, those of the same "
            "column count."
            if kinds > sliced
            else "Holm's method (1979) corrects for the number of subsets of the same kind."
        )
        then = f"Then p is multiplied by {kinds}, the number of kinds{also}."
        how = f"p is corrected for all subsets tested ({listed(named)}). {same} {then}"
    return (
        f"{how} A corrected p of at most 0.05 is significant: the probability of even one false alarm among all these "
        "subsets is at most 5 %. A subset has the same p in all tables of subsets."
    )


def bins_counted(scene: Scene) -> str:
    """Note on which bins the sentence above a diagram counts."""
    rows = scene.get(scene.model.predictions)
    test = "an exact test" if counts_rows(rows) else "Hoeffding's bound (1963)"
    counted = f"The sentences above the chart name only bins that are significantly off by {test}."
    if scene.claims == "confidence" and rows.kind != "confidence":
        counted += " A bin contains rows of all classes, so errors of classes can cancel in it."
    return f"{counted} {correction(scene, scene.claims)}"


def own_interval(scene: Scene) -> str:
    """Name the interval of a share of these rows, to follow "with its": exact for independent rows."""
    if scene.get(scene.model.predictions).row_groups is None:
        return f"exact {at_level(LEVEL)} interval"
    return f"{at_level(LEVEL)} interval (Korn and Graubard 1998: rows of a group count jointly)"


MEANINGS = {
    "claimed": "mean confidence or risk of the slice",
    "right": "accuracy in the slice, or observed frequency of the event",
    "gap": "observed minus predicted",
    "share": "share of all rows in the slice",
    "floor": "95 % quantile of the absolute gap of a calibrated model",
    "adds": "share times (absolute gap minus floor)",
    "beyond": "gap of the slice minus that of all other rows",
    "p_beyond": "p-value for no difference from all other rows",
    "differs": "whether p_beyond, Holm-corrected and corrected for the columns, is at most 0.05",
    "where": "text of the slice in links",
    "groups": "groups of rows in the slice",
    "spread": "variance of the gaps between the slices of the column beyond noise",
    "p_holm": "Holm-corrected p-value on the confirmation rows",
    "first_gap": "gap on the rows used to find the slice",
    "first_rows": "rows of the slice among those rows",
    "column": "column that defines the slice",
}
"""Meanings of the columns of slices."""


@dataclass(frozen=True)
class BySlice(Exhibit):
    """Slices of the selected model, by one or two columns."""

    by: Annotated[str, Text(200), "Split by", "a column; empty: the one with the largest significant gap"] = ""
    crossed: Annotated[str, Text(200), "Crossed with", "a second column, if any"] = ""
    parts: Annotated[int, Range(2, 20), "Parts", "ranges into which a numeric column with many values is divided"] = 4
    edges: Annotated[str, Text(200), "Cut at", "cut points to use instead, such as 18, 40, 65"] = ""

    terms = ("noise-floor",)

    def split(self, scene: Scene) -> tuple[str, ...]:
        """Return the columns that define the slices; NotAnswerable if there are none."""
        chosen = tuple(dict.fromkeys(filter(None, (self.by, self.crossed))))
        return chosen or columns_of(scene)[:1]

    def lines(self, scene: Scene) -> Call[pd.DataFrame]:
        """Return the tested slices of the selected model."""
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
            raise NotAnswerable(
                f"{self.edges[:80]!r} is not a list of numbers; write, for example, 18, 40, 65"
            ) from None


ADDED = "A column such as camera, site or subject would show whether the probabilities are off for one of its values."
"""Explains the use of a metadata column."""


def notion_of(scene: Scene) -> str:
    """Return the notion of slices: a summary stores those of the predicted class only."""
    return "confidence" if scene.undivided else scene.claims


def columns_of(scene: Scene) -> tuple[str, ...]:
    """Return the columns that can define slices, the largest significant gap first; NotAnswerable without any.

    For very many rows and columns: in file order, including columns with a different value in every row.
    """
    if too_many(scene):
        return cc.slices.columns_of(scene.get(scene.model.predictions))
    return tuple(dict.fromkeys(map(str, scene.get(by_column(scene))["column"])))


def too_many(scene: Scene) -> bool:
    """True if testing every column takes long."""
    metadata = scene.get(scene.model.predictions).metadata
    return metadata is not None and metadata.size > MOST_TESTED


def by_column(scene: Scene) -> Call[pd.DataFrame]:
    """Return the slices of every column for the selected model."""
    return call(cc.slices.by_column, scene.model.predictions, notion=notion_of(scene), stem="slices")


@EXHIBITS.register("slices", "Slices")
@dataclass(frozen=True)
class Slices(BySlice):
    """Mean confidence and accuracy for each value of a column; the largest significant gap first."""

    reads = "counts"
    printed = 20

    meanings = MEANINGS

    def dots(self, scene: Scene) -> Call[SliceDots]:
        """Return the diagram."""
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
        columns = listed([f"\u201c{name}\u201d" for name in self.split(scene)])
        more = f" {count(found.more)} more slices are in the table." if found.more else ""
        return Words(
            f"{scene.model.title}, by {columns}: the largest gap first; slices with too few rows last.{more}",
            f"Slices by {columns}: {found.headline}.",
            (
                how_tested(scene),
                f"{correction(scene, notion_of(scene), of_slices=True)} Crossed columns and other cut points that you "
                "try are additional tests. calib slices --scan (dashboard: “Search in all columns and crossings”) "
                "corrects for all of them.",
            ),
            (f"{found.headline}.", found.basis),
            marks(scene),
        )


_COLOURS = "Filled: significantly off. Hollow: significant only before correction. Gray: not significant."


def marks(scene: Scene) -> str:
    """Describe the marks of a slice."""
    if notion_of(scene) == "event":
        return (
            "Diamond: mean predicted risk, with the noise floor around it. Other mark: observed frequency, with its "
            f"interval. {_COLOURS}"
        )
    return (
        f"Diamond: mean confidence, with the noise floor around it. Other mark: accuracy, with its interval. {_COLOURS}"
    )


def how_tested(scene: Scene) -> str:
    """Describe the numbers of a slice."""
    text = _EXACT if counts_rows(scene.get(scene.model.predictions)) else _BOUNDED
    if notion_of(scene) == "event":
        text = text.replace(_SAYS, _RISK).replace(_RIGHT, _OBSERVED).replace("these confidences", "these risks")
    return f"{text} {_COMPARED}"


def row_columns(frame: pd.DataFrame) -> tuple[of.Column, ...]:
    """Return the columns for rows, groups and, if smaller, the effective sample size."""
    groups = (of.whole("groups"),) if "groups" in frame else ()
    fewer = bool((frame["worth"] < frame["rows"] - 1e-6 * frame["rows"]).any())
    return (of.whole("rows"), *groups, *((of.number("effective rows", "worth"),) if fewer else ()))


def tested_columns(frame: pd.DataFrame) -> tuple[of.Column, ...]:
    """Return the first printed columns of every table of slices."""
    return (
        of.text("slice"),
        *row_columns(frame),
        of.share("predicted", "claimed"),
        of.share("observed", "right"),
        of.between("90 % interval", "low", "high"),
        of.gap(),
        of.size("noise floor", "floor"),
        of.points("against the rest", "beyond"),
        of.flag("differs from the rest", "differs"),
    )


def stands_out(heading: str = "significantly off") -> of.Column:
    """Return the column that marks significant slices."""
    return of.flag(heading, "stands_out")


@dataclass(frozen=True)
class OfSites(BySlice):
    """Base class of the comparison of a risk's calibration between the values of a column."""

    def found(self, scene: Scene) -> Call[BetweenSites]:
        """Return the comparison for the selected model."""
        if scene.claims != "event":
            raise NotAnswerable("the comparison of sites needs an event of two classes; these rows have none")
        columns = self.split(scene)
        by = columns[0] if len(columns) == 1 else columns
        edges = self._numbers()
        more: dict[str, Any] = {} if edges is None else {"edges": edges}
        if math.isfinite(scene.ratio):
            more["ratio"] = scene.ratio
        return call(cc.slices.between, scene.model.predictions, by, parts=self.parts, stem="sites", **more)

    def sentences(self, scene: Scene) -> tuple[str, ...]:
        """Return the verdicts, and what a new value can have."""
        found = scene.get(self.found(scene))
        return found.sentence, found.spread


_POOLED = (
    "Random-effects meta-analysis (tau by restricted maximum likelihood, intervals by Hartung and Knapp). Tau: "
    "standard deviation of the true values between sites; for observed : expected, of its logarithm. I²: share of the "
    "variance of the estimates that is between sites. With few sites tau is hardly known: look at its interval."
)


@EXHIBITS.register("sites", "Differences between sites", reference="Debray et al. 2017")
@dataclass(frozen=True)
class Sites(OfSites):
    """Observed to expected events, intercept and slope of a risk for each value of a column, with verdicts."""

    printed = 30

    meanings = of.Meanings(
        {
            "where": MEANINGS["where"],
            "events": "observed events",
            "expected": "expected events: the sum of the risks",
            "ratio": "observed divided by expected events",
            "intercept": "shift of the log-odds that corrects the mean risk",
            "slope": "slope of a logistic regression on the log-odds",
            "differs": "whether the simultaneous 95 % interval of the ratio excludes 1",
            "pooled": "whether the value counts in the meta-analysis",
        }
    )

    def table(self, scene: Scene) -> Call[pd.DataFrame]:
        return self.found(scene).part("frame()")

    def figure(self, scene: Scene) -> Call[Any]:
        return call("figures.sites", self.found(scene))

    def columns(self, frame: pd.DataFrame) -> tuple[of.Column, ...]:
        return (
            of.text("slice"),
            of.whole("rows"),
            of.whole("events"),
            of.number("expected"),
            of.number("observed : expected", "ratio"),
            of.number_between("interval of the ratio", "ratio_low", "ratio_high"),
            of.verdict("verdict", "verdict"),
            of.flag("differs significantly from 1", "differs"),
            of.number("intercept"),
            of.number_between("interval of the intercept", "intercept_low", "intercept_high"),
            of.number("slope"),
            of.number_between("interval of the slope", "slope_low", "slope_high"),
        )

    def words(self, scene: Scene) -> Words:
        return Words(
            f"{scene.model.title}, by {listed(self.split(scene))}; the largest ratio first. Rows with a missing value "
            "are a group of their own.",
            f"Observed to expected events by {listed(self.split(scene))}. {self.sentences(scene)[0]}",
            headline=self.sentences(scene),
            key="Shaded: the tolerance. Diamond: the pooled ratio. Dotted: prediction for a new value.",
        ).also(
            "All 90 % intervals of one measure are valid jointly (Bonferroni). They are exact for ratio and intercept; "
            "for the slope, they use the profile likelihood with Firth's correction. The verdict compares the ratio "
            "with its tolerance. Within: shown to be fine. Miscalibrated: shown to be off. Too few rows: even a "
            "calibrated model with these risks would need more events.",
            "A verdict is about observed : expected only. In a slice with a ratio of 1, risks can be too high for some "
            "rows and too low for others.",
        )


@EXHIBITS.register("pooled-sites", "Sites, pooled", reference="Debray et al. 2017")
@dataclass(frozen=True)
class PooledSites(OfSites):
    """Random-effects meta-analysis of the values of a column: mean, differences, and prediction for a new value."""

    meanings = of.Meanings(
        {
            "measure": "short name of the measure",
            "reference": "value for a calibrated model",
            "sites": "values of the column that are pooled",
            "mean": "mean of the true values",
            "tau": "standard deviation of the true values; for the ratio, of its logarithm",
            "i2": "share of the variance of the estimates that is between values",
            "p": "p-value for no differences (Cochran's Q)",
            "new_low": "lower end of the prediction interval of a new value",
            "new_high": "upper end of the same",
        }
    )

    def table(self, scene: Scene) -> Call[pd.DataFrame]:
        return self.found(scene).part("pooled")

    def columns(self, frame: pd.DataFrame) -> tuple[of.Column, ...]:
        noted = (of.text("note"),) if frame["note"].astype(bool).any() else ()
        return (
            of.text("measure", "title"),
            of.whole("values", "sites"),
            of.number("mean"),
            of.number_between("90 % interval", "low", "high", ("reference",)),
            of.number("tau"),
            of.number_between("interval of tau", "tau_low", "tau_high"),
            of.share("I²", "i2"),
            of.probability("p (no differences)", "p"),
            of.number_between("a new value", "new_low", "new_high", ("reference",)),
            *noted,
        )

    def words(self, scene: Scene) -> Words:
        return Words(f"{scene.model.title}, by {listed(self.split(scene))}.", headline=self.sentences(scene)[1:]).also(
            _POOLED
        )


@EXHIBITS.register("slice-columns", "All columns")
@dataclass(frozen=True)
class SliceColumns(Exhibit):
    """Slices of every column; the column with the largest significant gap is first."""

    reads = "counts"
    printed = 40

    meanings = MEANINGS

    def dots(self, scene: Scene) -> Call[SliceDots]:
        """Return the findings in words."""
        return call(cc.diagrams.slice_dots, self.table(scene), notion=notion_of(scene))

    def table(self, scene: Scene) -> Call[pd.DataFrame]:
        return by_column(scene)

    def columns(self, frame: pd.DataFrame) -> tuple[of.Column, ...]:
        return (of.text("column"), *tested_columns(frame), of.probability("p (corrected)", "p_corrected"), stands_out())

    def words(self, scene: Scene) -> Words:
        found = scene.get(self.dots(scene))
        return Words(
            f"{scene.model.title}. The column with the largest significant gap is first. In each column, "
            "significant slices are first, by gap; the others follow by p.",
            headline=(f"{found.headline}.", found.basis),
            notes=(how_tested(scene), correction(scene, notion_of(scene), of_slices=True)),
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
            "mean_score": "mean confidence or risk of those rows",
            "mean_outcome": "accuracy of those rows, or observed frequency of the event",
            "gap": "mean outcome minus mean score",
            "weight": "rows of the bin as a share of all rows",
        }
    )

    def _diagrams(self, scene: Scene) -> tuple[dict[str, Call[Any]], tuple[str, ...]]:
        """Return the diagrams of every model with rows in all slices, and a sentence for each other model."""
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
            f"Reliability by slice: {which}.",
            f"Small reliability diagrams of {which}.",
            self._diagrams(scene)[1],
            key=f"Headings: raw ECE of the slice for {in_sentence(scene.titles[0])}, inflated by noise where rows are "
            f"few. Hollow: pooled bins of fewer than {FEW_ROWS} rows.",
        )


@EXHIBITS.register("slice-scan", "Scan of all columns and crossings")
@dataclass(frozen=True)
class Scan(Exhibit):
    """Search for the largest gaps: slices found on half of the rows and confirmed on the other half."""

    crossings: Annotated[bool, Flag(), "Cross two columns", "whether pairs of columns are crossed"] = True
    min_rows: Annotated[int, Range(10, 100_000), "Fewest rows", "slices with fewer rows are skipped"] = 50

    reads_columns = True
    printed = 30
    costly = True

    meanings = MEANINGS

    def found(self, scene: Scene) -> Call[SliceScan]:
        """Return the scan of the selected model."""
        options = {"crossings": self.crossings, "min_rows": self.min_rows, "notion": scene.claims}
        return call(cc.slices.scan, scene.model.predictions, stem="scanned", **options)

    def table(self, scene: Scene) -> Call[pd.DataFrame]:
        return self.found(scene).part("frame()")

    def columns(self, frame: pd.DataFrame) -> tuple[of.Column, ...]:
        return (
            *tested_columns(frame),
            of.points("gap in the search half", "first_gap"),
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
            f"{scene.model.title}, on the confirmation half.",
            f"Slices found by a scan. {found.headline}",
            (
                how_tested(scene),
                "Slices are found on half of the rows and tested on the other half, so the search does not bias "
                "the test. Half of the rows detect fewer errors than all rows would. Slices can share rows: "
                "several can be the same finding.",
                *found.notes,
            ),
            (found.headline, found.basis),
            marks(scene),
        )


_READ = (
    "Error of a group: take the range of predictions in which observed and predicted events differ most. The error is "
    "this difference, divided by the rows of the group. The multicalibration error is the largest of these errors, "
    "each multiplied by the group's share of all rows. So small groups have little weight. Noise floor: 95 % of "
    "perfectly calibrated models with these predictions have a smaller error."
)
_JOINT = (
    "This test differs from that of a slice's mean gap: errors of opposite sign do not cancel. The intervals are "
    "simultaneous. p is the probability that any group of a calibrated model exceeds its own noise floor by as much "
    "(single-step correction for overlapping groups). At most 0.05 is significant."
)
_BY_MEAN = "The test of mean gaps (table of slices), which is more powerful for errors in one direction, finds"


@EXHIBITS.register("multicalibration", "Error within the worst group", reference="Hébert-Johnson et al. 2018")
@dataclass(frozen=True)
class WithinGroups(Exhibit):
    """Calibration error within the worst group of rows, and within each group."""

    by: Annotated[str, Text(200), "Groups of", "a column whose values are groups; empty: every column"] = ""
    crossed: Annotated[
        str, Text(200), "Crossed with", "a second column, if any; adds its values and all combinations"
    ] = ""
    parts: Annotated[int, Range(2, 20), "Parts", "ranges into which a numeric column with many values is divided"] = 4

    reads_columns = True
    printed = 20
    costly = True
    terms = ("multicalibration", "noise-floor")

    meanings = of.Meanings(
        {
            "group": "group of rows",
            "rows": "rows of the group",
            "share": "share of all rows in the group",
            "error": "largest sum of outcome minus score over a range of scores, as a share of the group",
            "low": "lower end of the simultaneous 90 % interval of all groups",
            "high": "upper end of the same",
            "deviations": "error divided by its standard deviation in a calibrated model",
            "p": "probability that any group of a calibrated model has as many deviations",
            "stands_out": "whether p is at most 0.05",
        }
    )

    def found(self, scene: Scene) -> Call[Multicalibration]:
        """Return the errors of the selected model; NotAnswerable without a column for groups."""
        rows = scene.get(scene.model.predictions)
        if not cc.slices.columns_of(rows):
            raise no_columns(rows)
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
            of.share("share of all rows", "share"),
            of.error("error"),
            of.between("simultaneous 90 % interval", "low", "high"),
            of.probability("p (all groups jointly)", "p"),
            of.flag("significant", "stands_out"),
        )

    def words(self, scene: Scene) -> Words:
        found = scene.get(self.found(scene))
        what = f"predicted risk of {event_words.of_scene(scene)}" if scene.claims == "event" else "confidence"
        few = f"Too few rows to tell: {first_few(found.skipped)}." if found.skipped else ""
        off = 0 if found.found["stands_out"].any() else int(scene.get(by_column(scene))["stands_out"].sum())
        by_mean = f"{_BY_MEAN} {off} {'slice' if off == 1 else 'slices'} significantly off." if off else ""
        return Words(
            f"{scene.model.title}, {what}, on {scene.judged_rows}; the largest excess over the noise floor is first.",
            headline=(found.headline, found.sentence),
            notes=(_READ, _JOINT),
        ).also(by_mean, few)
