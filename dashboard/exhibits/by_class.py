"""What the exhibits of classes share: the notion, the models that make claims of it, and the classes looked at."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import calib_core as cc
from calib_core import REDUCTIONS
from calib_core._text import count
from calib_core.diagrams.class_list import PAGE, SORTS
from calib_core.registry import Choice, Range, Text
from dashboard.exhibits.exhibit import Exhibit, Words
from dashboard.selection import Selection
from dashboard.session import Call, Scene, call

NOTIONS = tuple(key for key in REDUCTIONS if REDUCTIONS[key].flags.strata_are_classes)
_FIRST = {
    "error": "largest error of {} first",
    "share": "largest share of its rows first",
    "rows": "fewest rows first",
    "name": "as they are listed",
}


@dataclass(frozen=True)
class ByClass(Exhibit):
    """Classes in one notion, of every model that makes claims of it."""

    notion: Annotated[str, Choice(NOTIONS), "which claims about classes are looked at"] = "top-label"

    def tables(self, scene: Scene) -> tuple[dict[str, Call[Any]], tuple[str, ...]]:
        """All classes of every model that has them, and a sentence for each model that has none."""
        return scene.answered(
            scene.each(lambda m: call(cc.diagrams.class_table, m.predictions, self.notion, scene.bins))
        )

    def predictions(self, scene: Scene) -> dict[str, Call[Any]]:
        """The test rows of those models."""
        able, _ = self.tables(scene)
        return {title: rows for title, rows in scene.predictions().items() if title in able}

    def first(self, scene: Scene) -> tuple[str, Call[Any]]:
        """The model that classes are put in order by, and its classes."""
        able, _ = self.tables(scene)
        return next(iter(able.items()))

    def noted(self, words: Words, scene: Scene) -> Words:
        """Words with a note on every model that is not shown."""
        return words.also(*self.tables(scene)[1])


@dataclass(frozen=True)
class InOrder(ByClass):
    """Classes that are sorted and searched."""

    sort: Annotated[str, Choice(SORTS), "largest error, largest share, fewest rows first, or as listed"] = "error"
    search: Annotated[str, Text(200), "only classes with this in their name"] = ""

    def which(self, scene: Scene, page: int | None = None) -> str:
        """Which classes, in which order, in words."""
        title, table = self.first(scene)
        found = len(scene.get(call(cc.diagrams.ranked_classes, table, search=self.search)))
        named = f" with \u201c{self.search.strip()}\u201d in their name" if self.search.strip() else ""
        order, pages = _FIRST[self.sort].format(title), -(-found // PAGE)
        if page is None or pages == 1:
            return f"all {count(found)} classes{named}, {order}"
        return f"{PAGE} of {count(found)} classes{named}, {order}, page {min(page, pages)} of {count(pages)}"


@dataclass(frozen=True)
class Paged(InOrder):
    """A dozen classes of those that are sorted and searched."""

    page: Annotated[int, Range(1, 10_000), "which dozen of them"] = 1

    def chosen(self, scene: Scene) -> Call[tuple[int, ...]]:
        """Their codes."""
        _, table = self.first(scene)
        return call(cc.diagrams.ranked_classes, table, self.sort, self.search, self.page, stem="chosen")


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
