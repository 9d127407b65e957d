"""Where it is right and where it is not: each model with its bands, without bins, and one bin class by class."""

from __future__ import annotations

from collections.abc import Iterator

from dashboard.report.document import Block, Folded
from dashboard.report.exhibited import NUMBERS, folded, shown, side_by_side
from dashboard.report.exhibited import blocks as blocks_of
from dashboard.report.request import Request


def blocks(request: Request) -> Iterator[Block | None]:
    """What stands out; two diagrams side by side, the numbers below; then curves, levels, and the bin furthest off."""
    chosen, scene = request.selection.exhibit, request.scene
    first = scene.focused(model=scene.titles[0])
    yield from folded((yield from shown(chosen("findings"), first)), width="low")
    found = []
    for i, title in enumerate(scene.titles, start=1):
        found.append(((yield from shown(chosen("bins"), scene.focused(model=title), f"bins-{i}")), title))
    for i in range(0, len(found), 2):
        yield from side_by_side(*found[i : i + 2])
    corp, kernel = (yield from shown(chosen("corp"), scene)), (yield from shown(chosen("kernel-curve"), scene))
    yield from side_by_side((corp, ""), (kernel, ""))
    levels = yield from shown(chosen("levels"), scene)
    if not levels.refused:
        answering = yield from shown(chosen("selective"), scene)
        yield from side_by_side((levels, ""), (answering, ""))
        yield from blocks_of(chosen("skills"), scene)
    apart = yield from shown(chosen("bin"), scene)
    yield from apart.headed()
    yield from apart.drawn("low") or apart.everything
    if not apart.refused:
        yield Folded(NUMBERS, apart.numbers)
