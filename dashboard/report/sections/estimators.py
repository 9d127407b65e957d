"""Evidence: every estimator for the main model, bin-free bounds and tests, curves."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

from calib_core import REDUCTIONS, NotAnswerable, Recipe
from dashboard.exhibits import line_words
from dashboard.report.document import Block, Folded, Heading, Paragraph
from dashboard.report.exhibited import NUMBERS, ExhibitParts, folded, shown, side_by_side
from dashboard.report.request import Request
from dashboard.session import Scene, scene_of

TWO_CLASSES = "With two classes, most of these notions describe nearly the same error as that of the event."


def blocks(request: Request) -> Iterator[Block | None]:
    """Yield the notion of the verdict, printed, the others collapsed, then tests and curves."""
    scene, chosen = scene_of(request.selection), request.selection.exhibit
    if request.large:
        yield Paragraph("With this many rows and classes, only one notion is reported.", aside=True)
    first = _deciding(scene) if not request.large else scene.notion
    classes = scene.get(scene.model.predictions).n_classes
    others_known = (notion for notion in REDUCTIONS if REDUCTIONS[notion].flags.adds_to(classes))
    notions = [first, *(notion for notion in others_known if notion != first and not request.large)]
    others: list[Block] = []
    for notion in notions:
        found = yield from shown(chosen("estimators"), scene.focused(notion=notion), f"estimators-{notion}")
        title = REDUCTIONS[notion].title
        if notion == first:
            yield Heading(f"{found.title}, {title.lower()}: {scene.model.title}")
            yield from found.drawn("rows") or found.everything
            if found.figure is not None:
                yield Folded(NUMBERS, found.numbers)
        else:
            others += [Heading(title), *((found.refused,) if found.refused else _shorter(found.numbers))]
    if others:
        if request.of_event:
            others.insert(0, Paragraph(TWO_CLASSES, aside=True))
        yield Folded("Results for all other notions", tuple(others))
    bounds = yield from shown(Recipe("EXHIBITS", "unbinned"), scene)
    yield from (*bounds.headed(), *_table_first(bounds))
    tests = yield from shown(Recipe("EXHIBITS", "tests"), scene)
    trade = yield from shown(chosen("trade"), scene)
    yield from (*tests.headed(), *tests.everything)
    yield from _traded(trade, selected=bool(chosen("trade").params))
    sweep = yield from shown(Recipe("EXHIBITS", "sweep"), scene)
    validity = yield from shown(Recipe("EXHIBITS", "validity"), scene)
    yield from side_by_side((sweep, ""), (validity, ""))


def _shorter(numbers: tuple[Block, ...]) -> Iterator[Block]:
    """Yield the numbers without the explanation of verdicts, which is below the first table."""
    explained = (line_words.WORDS, line_words.OF_ERROR)
    return (block for block in numbers if not (isinstance(block, Paragraph) and block.text in explained))


def _table_first(found: ExhibitParts) -> Iterator[Block]:
    """Yield the table, with the sentences that say the same collapsed and not printed."""
    yield from dataclasses.replace(found, notes=()).everything
    if found.notes:
        yield Folded("The same in sentences", found.notes)


def _traded(found: ExhibitParts, *, selected: bool) -> Iterator[Block]:
    """Yield the figure unless it is a single point, which compares nothing, and no option of it was chosen."""
    if selected or found.table is None or len(found.table.frame) > 1:
        yield from folded(found, width="flat")


def _deciding(scene: Scene) -> str:
    """Return the notion of the verdicts, otherwise the focused one."""
    try:
        return line_words.primary_notion(scene)
    except NotAnswerable:
        return scene.notion
