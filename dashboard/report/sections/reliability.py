"""Reliability: each model with its bands, bin-free curves, and one bin by class."""

from __future__ import annotations

from collections.abc import Iterator

import calib_core as cc
from calib_core.inference import claimed_rows
from dashboard.report.document import Block, Folded
from dashboard.report.exhibited import NUMBERS, explained_once, folded, shown, side_by_side
from dashboard.report.exhibited import blocks as blocks_of
from dashboard.report.request import Request
from dashboard.report.sections.summary import OVERLAID
from dashboard.session import Scene, call

HALF = 0.5
"""Risk from which a picture with axes to 100 % is filled."""


def blocks(request: Request) -> Iterator[Block | None]:
    """Yield significant bins, two diagrams side by side, numbers, curves, levels, and the bin with the largest gap."""
    chosen, scene = request.selection.exhibit, request.scene
    first = scene.focused(model=scene.titles[0])
    yield from folded((yield from shown(chosen("findings"), first)))
    if request.of_event:
        yield from _of_risk(request)
        return
    found = []
    for i, title in enumerate(scene.titles, start=1):
        found.append((yield from shown(chosen("bins"), scene.focused(model=title), f"bins-{i}")))
    shared, parts = explained_once(found)
    yield from shared
    titled = list(zip(parts, scene.titles, strict=True))
    for i in range(0, len(titled), 2):
        yield from side_by_side(*titled[i : i + 2])
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


def _of_risk(request: Request) -> Iterator[Block | None]:
    """Yield further diagrams of an event: those not on page one, distances from the curve, and other curves."""
    chosen, scene = request.selection.exhibit, request.scene
    later = scene.models.shown[OVERLAID:]
    found = []
    for i, model in enumerate(later, start=OVERLAID + 1):
        found.append((yield from shown(chosen("reliability"), scene.among((model,)), f"risk-{i}")))
    shared, parts = explained_once(found)
    yield from shared
    for i in range(0, len(parts), 2):
        yield from side_by_side(*zip(parts[i : i + 2], (model.title for model in later[i : i + 2]), strict=True))
    for i, title in enumerate(scene.titles, start=1):
        yield from blocks_of(
            chosen("curve-gaps"),
            scene.focused(model=title),
            name=f"curve-gaps-{i}",
            title=f"Gap from the smooth curve: {title}",
        )
    # Their axes go to 100 %, where rare events have no rows.
    if highest_risk(scene) >= HALF:
        corp, kernel = (yield from shown(chosen("corp"), scene)), (yield from shown(chosen("kernel-curve"), scene))
        yield from side_by_side((corp, ""), (kernel, ""))


def highest_risk(scene: Scene) -> float:
    """Return the largest predicted risk of the event."""
    rows = scene.get(scene.model.predictions)
    if rows.grain == "counts":  # for a summary that of its highest bin
        return float(
            scene.get(call(cc.diagrams.reliability, scene.model.predictions, notion="event"))
            .frame()["confidence"]
            .max()
        )
    return float(claimed_rows(rows, "event").confidence.max())
