"""Results by class: small diagrams, errors before and after, and the table of all classes."""

from __future__ import annotations

from collections.abc import Iterator

from calib_core.risk.multinomial import FEWEST_CLASSES, MOST_CLASSES
from dashboard.exhibits import EXHIBITS
from dashboard.exhibits.classes import together
from dashboard.report import exhibited
from dashboard.report.document import Block, Folded
from dashboard.report.exhibited import NUMBERS, shown
from dashboard.report.request import Request
from dashboard.session import scene_of


def blocks(request: Request) -> Iterator[Block | None]:
    """Yield small diagrams, errors before and after, and the table of all classes."""
    scene, fixed = scene_of(request.selection), together(request.selection)
    chosen = {
        key: EXHIBITS.described(key, **{**dict(request.selection.exhibit(key).params), **options})
        for key, options in fixed.items()
    }
    panels = chosen["class-panels"]
    curve = panels.build().curve
    plain = EXHIBITS.described("class-panels", **{**dict(panels.params), "curve": "reliability"})
    drawn = [(plain, "")]
    if curve != "reliability":
        drawn.append((panels, "class-curves"))
    if curve == "kernel":
        drawn.append((chosen["class-kernel"], ""))
    drawn.append((chosen["class-errors"], ""))
    for recipe, name in drawn:
        found = yield from shown(recipe, scene, name)
        yield from exhibited.folded(found, title=None if recipe.key == "class-panels" else "", width="rows")
    table = yield from shown(chosen["classes"], scene)
    yield from table.headed()
    yield from table.everything[:1]
    if table.notes:
        yield Folded(NUMBERS, table.notes)
    if FEWEST_CLASSES <= len(scene.class_names) <= MOST_CLASSES:
        slopes = yield from shown(request.selection.exhibit("class-slopes"), scene)
        yield from exhibited.folded(slopes)
