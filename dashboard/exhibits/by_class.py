"""What the exhibits of classes share: the notion, the models that make claims of it, and the classes looked at."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import pandas as pd

import calib_core as cc
from calib_core import REDUCTIONS
from calib_core.diagrams.class_list import FEW_ROWS, PAGE, SORTS
from calib_core.diagrams.classes_standing_out import gaps_cancel
from calib_core.inference.significance.count_tests import FEWEST, kinds_of_places
from calib_core.registry.registry import Choice, Range, Text
from calib_core.text import count, in_percent
from dashboard.exhibits import columns as of
from dashboard.exhibits.exhibit import Exhibit, Words
from dashboard.selection import Selection
from dashboard.session import Call, Scene, call

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
        error = float(scene.get(tested)["error"].iloc[code])
        if gaps_cancel(float(table.score[code]), float(table.outcome[code]), error):
            return f"{table.names[code]} contributes most to the error; its gaps cancel on average ({rows} rows)."
        if (table.share == 1).all():
            return (
                f"{table.names[code]} contributes most to the error: mean probability {score}, observed in {outcome} "
                f"of {rows} rows."
            )
        return f"{table.names[code]} contributes most to the error: {score} claimed, {outcome} right ({rows} rows)."

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
