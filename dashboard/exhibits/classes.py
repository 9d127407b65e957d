"""All classes: the list with their errors, and a small diagram of each."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Annotated, Any

import pandas as pd

import calib_core as cc
from calib_core import REDUCTIONS
from calib_core.diagrams import KERNEL_CURVE
from calib_core.diagrams.class_list import FEW_ROWS, PAGE, SORTS, gaps_cancel
from calib_core.estimators import KernelECE, draws_curve
from calib_core.inference.significance.count_tests import FEWEST, kinds_of_places
from calib_core.registry.registry import Choice, Part, Range, Text
from calib_core.text import begun, called, count, in_percent
from dashboard.exhibits import columns as of
from dashboard.exhibits.exhibit import EXHIBITS, Exhibit, Words
from dashboard.exhibits.stars import BINS_OF, BINS_OF_WORDS, grouped, grouping
from dashboard.selection import Selection
from dashboard.session import Call, Model, Scene, call

NOTIONS = tuple(key for key in REDUCTIONS if REDUCTIONS[key].flags.strata_are_classes)
SORTED_BY = tuple(key for key in SORTS if key != "error")
"""Orders that are offered: the largest errors of all are those of single rows."""
CLAIMS = Choice(NOTIONS, titles=tuple(REDUCTIONS[key].title for key in NOTIONS))
"""The notions that say something of each class."""
_FIRST = {
    "beyond": "the largest contribution to the error of {} first",
    "share": "largest share of its rows first",
    "rows": "fewest rows first",
    "name": "as they are listed",
}

ORDERS = ("Largest contribution first", "Largest share first", "Fewest rows first", "As listed")
"""What the orders of classes are called, in turn."""


@dataclass(frozen=True)
class ByClass(Exhibit):
    """Classes in one notion, of every model that makes claims of it."""

    notion: Annotated[
        str,
        CLAIMS,
        "Claims about classes",
        "which claims about classes are looked at",
    ] = "top-label"

    meanings = of.Meanings(
        {
            "rows": "rows that claim the class",
            "share": "share of all rows that claim it",
            "true_share": "share of all rows that are of it",
            "mean_score": "mean score of the claims",
            "mean_outcome": "share of the claims that comes true",
            "gap": "mean outcome less mean score",
            "error, *": "raw ECE of the class in the model",
            "calibrated, *": "mean raw ECE of calibrated models with these scores",
            "p, *": "chance of as large an error in a calibrated model",
            "p_holm, *": "the same, corrected for classes and kinds of places",
        }
    )

    def tables(self, scene: Scene) -> tuple[dict[str, Call[Any]], tuple[str, ...]]:
        """All classes of every model that has them, the one in focus first; and a sentence for each that has none."""
        models = sorted(scene.models.shown, key=lambda model: model is not scene.model)
        wanted = {m.title: call(cc.diagrams.class_table, m.predictions, self.notion, scene.bins) for m in models}
        return scene.answered(wanted)

    def predictions(self, scene: Scene) -> dict[str, Call[Any]]:
        """The test rows of those models."""
        able, _ = self.tables(scene)
        return {title: scene.predictions()[title] for title in able}

    def first(self, scene: Scene) -> tuple[str, Call[Any]]:
        """The model that classes are put in order by, the one in focus where it names classes, and its classes."""
        able, _ = self.tables(scene)
        return next(iter(able.items()))

    def tests(self, scene: Scene) -> tuple[dict[str, Call[pd.DataFrame]], tuple[str, ...]]:
        """A test of every class of every model that has them, and a sentence for each model that has none."""
        tested = {title: self._test(scene, rows) for title, rows in self.predictions(scene).items()}
        refused = {title: why for title, wanted in tested.items() if (why := scene.refusal(wanted))}
        kept = {title: wanted for title, wanted in tested.items() if title not in refused}
        return kept, tuple(f"{title}, no tests: {why}." for title, why in refused.items())

    def tested(self, scene: Scene) -> Call[pd.DataFrame] | None:
        """The tests of the model that classes are put in order by."""
        title, _ = self.first(scene)
        wanted = self._test(scene, self.predictions(scene)[title])
        return None if scene.refusal(wanted) else wanted

    def _test(self, scene: Scene, rows: Call[Any]) -> Call[pd.DataFrame]:
        """The test of every class, corrected as all places are."""
        kinds = kinds_of_places(scene.get(rows))
        return call(cc.inference.per_class_tests, rows, self.notion, scene.bins, families=kinds, fewest=FEWEST)

    def outstanding(self, scene: Scene) -> str:
        """Which classes stand out of the noise, in a sentence; none where there are no tests."""
        tested = self.tested(scene)
        if tested is None:
            return ""
        frame = scene.get(tested)
        codes, looks = cc.inference.standing_out(frame), int(frame["p_holm"].notna().sum())
        if not codes:
            return f"None of {count(looks)} classes is significantly off (corrected for multiple testing)."
        names = [str(frame["class"][code]) for code in codes[:3]]
        more = f" and {count(len(codes) - 3)} more" if len(codes) > 3 else ""
        listed = ", ".join(names) if more or len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
        verb = "is" if len(codes) == 1 else "are"
        return f"{count(len(codes))} of {count(looks)} classes {verb} significantly off: {listed}{more}."

    def worst(self, scene: Scene) -> str:
        """What the class that adds most says and what happens, in a sentence; none where none stands out."""
        tested = self.tested(scene)
        codes = () if tested is None else cc.inference.standing_out(scene.get(tested))
        if tested is None or not codes:
            return ""
        table, code = scene.get(self.first(scene)[1]), codes[0]
        score, outcome = in_percent(float(table.score[code])), in_percent(float(table.outcome[code]))
        rows = count(int(table.count[code]))
        error, name = float(scene.get(tested)["error"].iloc[code]), begun(called(table.names[code]))
        if gaps_cancel(float(table.score[code]), float(table.outcome[code]), error):
            return f"{name} contributes most to the error; its gaps cancel on average ({rows} rows)."
        if (table.share == 1).all():
            return (
                f"{name} contributes most to the error: mean probability {score}, observed in {outcome} of {rows} rows."
            )
        return f"{name} contributes most to the error: {score} claimed, {outcome} right ({rows} rows)."

    def noted(self, words: Words, scene: Scene) -> Words:
        """Words with a note on every model that is not shown."""
        return words.also(*self.tables(scene)[1])


@dataclass(frozen=True)
class InOrder(ByClass):
    """Classes that are sorted and searched."""

    sort: Annotated[
        str,
        Choice(SORTED_BY, titles=ORDERS),
        "Order",
        "furthest beyond noise, largest share or fewest rows first, or as listed",
    ] = "beyond"
    search: Annotated[str, Text(200), "Search", "only classes with this in their name"] = ""

    def order(self, scene: Scene, page: int | None = None) -> Call[tuple[int, ...]]:
        """Codes of the classes found, in order; a dozen of them with ``page``."""
        tests = self.tested(scene) if self.sort == "beyond" else None
        _, table = self.first(scene)
        return call(cc.diagrams.ranked_classes, table, self.sort, self.search, page, tests, stem="chosen")

    def rule(self, scene: Scene) -> str:
        """By which rule classes are put in order, where that is no plain number."""
        if self.sort != "beyond":
            return ""
        if self.tested(scene) is None:
            return f"Order: error times share; classes of fewer than {FEW_ROWS} rows follow."
        return (
            "Order: classes that are significantly off (exact test, corrected, 5 %), then those of "
            f"{FEW_ROWS} rows or more, then the others; each by what it adds to the error beyond what noise alone adds."
        )

    def which(self, scene: Scene, page: int | None = None) -> str:
        """Which classes, in which order, in words."""
        title, table = self.first(scene)
        found = len(scene.get(call(cc.diagrams.ranked_classes, table, "name", self.search)))
        named = f" with \u201c{self.search.strip()}\u201d in their name" if self.search.strip() else ""
        order, pages = _FIRST[self.sort].format(title), -(-found // PAGE)
        if page is None or pages == 1:
            return f"all {count(found)} classes{named}, {order}"
        return f"{PAGE} of {count(found)} classes{named}, {order}, page {min(page, pages)} of {count(pages)}"


@dataclass(frozen=True)
class Paged(InOrder):
    """A dozen classes of those that are sorted and searched."""

    page: Annotated[int, Range(1, 10_000), "Page", "which dozen of them"] = 1

    def chosen(self, scene: Scene) -> Call[tuple[int, ...]]:
        """Their codes."""
        return self.order(scene, self.page)


def together(selection: Selection) -> dict[str, dict[str, Any]]:
    """The options, by exhibit, in which those of classes follow one another where they stand on one page.

    Notion, order and page are those of the small diagrams; how curves are smoothed is chosen once for all.
    """
    panels = selection.exhibit("class-panels").build()
    order = {name: getattr(panels, name) for name in ("notion", "sort", "search")}
    curve = vars(selection.exhibit("kernel-curve").build())
    return {
        "class-panels": {"kernel": curve["kernel"]},
        "class-kernel": {"notion": panels.notion, **curve},
        "class-errors": {**order, "page": panels.page},
        "classes": order,
    }


@EXHIBITS.register("classes", "All classes")
@dataclass(frozen=True)
class Classes(InOrder):
    """All classes of all models: rows, share, error, and a test of every class corrected for their number."""

    printed = 200

    def table(self, scene: Scene) -> Call[pd.DataFrame]:
        rows, (tests, _) = self.predictions(scene), self.tests(scene)
        return call(cc.diagrams.class_list, rows, self.notion, scene.bins, classes=self.order(scene), tests=tests)

    def columns(self, frame: pd.DataFrame) -> tuple[of.Column, ...]:
        names = [name.removeprefix("error, ") for name in frame.columns if name.startswith("error, ")]
        tested = [
            (
                of.error(f"error, {name}"),
                *([of.error("calibrated", f"calibrated, {name}"), of.probability("p", f"p, {name}")] if not i else []),
                of.probability(f"p (corrected), {name}", f"p_holm, {name}"),
            )
            for i, name in enumerate(names)
        ]
        return (
            of.text("class"),
            of.whole("rows"),
            of.share("share"),
            of.share("true share", "true_share"),
            of.share("mean score", "mean_score"),
            of.share("mean outcome", "mean_outcome"),
            of.gap(),
            *(column for columns in tested for column in columns),
        )

    def words(self, scene: Scene) -> Words:
        title, _ = self.first(scene)
        which, notion = self.which(scene), REDUCTIONS[self.notion].title.lower()
        words = Words(
            f"One line per class ({notion}): {which}. Rows, shares, mean score, mean outcome and gap are of {title}. "
            "Errors are raw ECE, which noise inflates most where rows are few; bins: "
            f"{scene.in_bins}. Calibrated: what perfectly calibrated probabilities show on average. p: "
            "the chance of an error as large as this in a calibrated model, an exact test by bins; "
            "corrected for the number of classes and the kinds of places; at most 0.05 is significant. A class of few "
            "rows can hardly be shown to be off."
        )
        return self.noted(words.also(self.rule(scene)), scene).also(*self.tests(scene)[1])


@EXHIBITS.register("class-errors", "Errors of classes")
@dataclass(frozen=True)
class ClassErrors(Paged):
    """Error of each of a dozen classes, a mark per model, beside what noise alone shows."""

    printed = 0
    terms = ("top-label", "class-wise")

    def table(self, scene: Scene) -> Call[pd.DataFrame]:
        rows, chosen = self.predictions(scene), self.chosen(scene)
        title, tested = self.first(scene)[0], self.tested(scene)
        tests = False if tested is None else {title: tested}
        return call(cc.diagrams.class_list, rows, self.notion, scene.bins, classes=chosen, tests=tests)

    def columns(self, frame: pd.DataFrame) -> tuple[of.Column, ...]:
        errors = [name for name in frame.columns if name.startswith("error, ")]
        noise = [of.error("noise alone", name) for name in frame.columns if name.startswith("calibrated, ")][:1]
        return (
            of.text("class"),
            of.whole("rows"),
            of.share("share"),
            of.share("true share", "true_share"),
            of.share("says", "mean_score"),
            of.share("happens", "mean_outcome"),
            *noise,
            *map(of.error, errors),
        )

    def figure(self, scene: Scene) -> Call[Any]:
        tables, _ = self.tables(scene)
        tested = self.tested(scene)
        return call("figures.class_table", tables, classes=self.chosen(scene), tests=tested, looks=scene.looks)

    def words(self, scene: Scene) -> Words:
        which, notion = self.which(scene, self.page), REDUCTIONS[self.notion].title.lower()
        noise = (
            ""
            if self.tested(scene) is None
            else " Grey: mean raw ECE of a calibrated model, from noise alone; bold: significantly off."
        )
        title, _ = self.first(scene)
        words = Words(
            f"Raw ECE of each class ({notion}), inflated by noise: {which}.{noise} Hollow: fewer than {FEW_ROWS} rows.",
            f"Error of {count(len(scene.get(self.chosen(scene))))} classes, a mark per model, beside what noise shows.",
        ).also(
            self.rule(scene),
            f"Says and happens: mean score and share that comes true, of {title}. Bins: {scene.in_bins}.",
        )
        return self.noted(words.also(*self.tests(scene)[1][:1]), scene)


_DRAWN = {"reliability": "class_panels", "validity": "class_validity", "kernel": "class_curves"}
_CALLED = {
    "reliability": "Reliability class by class",
    "validity": "Share of a class's rows that is off by at most the value on the axis",
    "kernel": "Kernel reliability curves class by class, without bins",
}
_VALUES = {
    "reliability": (
        of.bin_ends("bin", "lower", "upper"),
        of.whole("rows", "count"),
        of.share("mean score", "mean_score"),
        of.share("mean outcome", "mean_outcome"),
        of.gap(),
    ),
    "validity": (of.text("plot"), of.error("off by at most", "eps"), of.share("share of rows", "share")),
    "kernel": (of.share("score"), of.share("share that comes true", "curve"), of.number("density")),
}


@EXHIBITS.register("class-panels", "Small diagrams of classes", reference="P1 Fig. 4 and 9")
@dataclass(frozen=True)
class ClassPanelsExhibit(Paged):
    """A small diagram for each of a dozen classes, all models in each."""

    curve: Annotated[
        str,
        Choice(tuple(_DRAWN), titles=("Bins", "Rows off by at most so much", "Curves without bins")),
        "Small diagrams show",
        "what the small diagrams show",
    ] = "reliability"
    kernel: Annotated[KernelECE, Part("ESTIMATORS", draws_curve), "Smoothing", "how kernel curves are smoothed"] = (
        KERNEL_CURVE
    )

    bins_of: Annotated[str, BINS_OF, "Whose bins", BINS_OF_WORDS] = "own"

    printed = 0
    terms = ("bins", "over-confident")

    meanings = of.Meanings(
        {
            "count": "claims in the bin",
            "mean_score": "mean score of the claims",
            "mean_outcome": "share of the claims that comes true",
            "gap": "mean outcome less mean score",
            "weight": "claims in the bin as a share of all rows",
            "eps": "how far the claims of a bin are off",
            "share": "share of the class's rows that is off by at most that",
            "plot": "before or after recalibration",
            "score": "place on the curve",
            "curve": "share that comes true there",
            "density": "how dense scores lie here, per unit of the scale that is smoothed",
        }
    )

    def table(self, scene: Scene) -> Call[pd.DataFrame]:
        return call(cc.calls.stacked, self._diagrams(scene))

    def columns(self, frame: pd.DataFrame) -> tuple[of.Column, ...]:
        return (of.text("model"), of.text("class"), *_VALUES[self.curve])

    def figure(self, scene: Scene) -> Call[Any]:
        return call(f"figures.{_DRAWN[self.curve]}", self._diagrams(scene), looks=scene.looks)

    def words(self, scene: Scene) -> Words:
        which, notion = self.which(scene, self.page), REDUCTIONS[self.notion].title.lower()
        hollow = f" Hollow: fewer than {FEW_ROWS} rows, not joined." if self.curve == "reliability" else ""
        words = Words(
            f"{_CALLED[self.curve]} ({notion}): {which}. In the headings the class's error in {self.first(scene)[0]}."
            f"{hollow}",
            f"Small {self.curve} diagrams of {count(len(scene.get(self.chosen(scene))))} classes.",
        )
        if self._grouped:
            words = words.also(grouped(grouping(scene).title), *self._shown(scene)[1])
        return self.noted(words.also(*self._paired(scene)), scene)

    @property
    def used(self) -> tuple[str, ...]:
        shown = {"bins_of": "reliability", "kernel": "kernel"}
        return tuple(f.name for f in fields(self) if shown.get(f.name, self.curve) == self.curve)

    @property
    def _grouped(self) -> bool:
        """Are all models judged in the bins of one?"""
        return self.curve == "reliability" and self.bins_of != "own"

    def _diagrams(self, scene: Scene) -> dict[str, Call[Any]]:
        return self._shown(scene)[0]

    def _shown(self, scene: Scene) -> tuple[dict[str, Call[Any]], tuple[str, ...]]:
        """The diagrams by title, and a sentence for each model that cannot be judged in the bins of another."""
        able, _ = self.tables(scene)
        wanted = {title: self._of(scene.models.titled(title), scene) for title in able}
        return scene.answered(wanted) if self._grouped else (wanted, ())

    def _of(self, model: Model, scene: Scene) -> Call[Any]:
        arguments = model.predictions, self.chosen(scene), self.notion, scene.bins
        if self.curve == "kernel":
            return call(cc.diagrams.class_curves, *arguments, method=self.kernel)
        if self.curve == "reliability":
            rows = grouping(scene).predictions if self._grouped else None
            return call(cc.diagrams.class_panels, *arguments, grouped_by=rows)
        beside = self._beside(model, scene)
        alone = model.is_base or scene.refusal(beside)
        return call(cc.diagrams.class_validity, *arguments) if alone else beside

    def _beside(self, model: Model, scene: Scene) -> Call[Any]:
        """A recalibrated model with the base model on the same bins of each class."""
        arguments = model.predictions, self.chosen(scene), self.notion, scene.bins
        return call(cc.diagrams.class_validity, *arguments, before=model.base.predictions)

    def _paired(self, scene: Scene) -> tuple[str, ...]:
        """What the dotted lines are, and which models have none."""
        able, _ = self.tables(scene)
        after = [m for m in scene.models.recalibrated if m.title in able]
        if self.curve != "validity" or not after:
            return ()
        alone = {m.title: why for m in after if (why := scene.refusal(self._beside(m, scene)))}
        dotted = "Dotted: the base model on the bins of a recalibrated one."
        return (
            *([dotted] if len(alone) < len(after) else []),
            *(f"{name} alone: {why}." for name, why in alone.items()),
        )
