"""Subgroups: the slices of the column with the largest differences, over time, of all columns, and the worst group."""

from __future__ import annotations

from collections.abc import Iterator

from calib_core import NotAnswerable
from calib_core.columns.periods import time_columns
from dashboard.exhibits import EXHIBITS
from dashboard.exhibits.slices import columns_of
from dashboard.report.document import Block
from dashboard.report.exhibited import blocks as exhibited
from dashboard.report.exhibited import folded, shown
from dashboard.report.request import Request


def blocks(request: Request) -> Iterator[Block | None]:
    """Yield the dot plot, small diagrams, one line per slice of every column, and the error within the worst group."""
    scene = request.scene.focused(model=request.chosen.title)
    chosen = request.selection.exhibit("slices")
    yield from exhibited(chosen, scene, title=None)
    # The small diagrams are of the slices above them.
    panels = yield from shown(EXHIBITS.described("slice-panels", **dict(chosen.params)), scene)
    yield from folded(panels, width="rows")
    if scene.claims == "event" and not scene.undivided:
        for key in ("sites", "pooled-sites"):
            compared = yield from shown(EXHIBITS.described(key, **dict(chosen.params)), scene)
            yield from folded(compared)
    if not scene.undivided and time_columns(scene.get(scene.model.predictions)):
        over_time = request.selection.exhibit("over-time")
        yield from exhibited(over_time, scene)
        if over_time.build().alarmed(scene):
            update = yield from shown(EXHIBITS.described("after-alarm", **dict(over_time.params)), scene)
            yield from folded(update)
    columns = yield from shown(request.selection.exhibit("slice-columns"), scene)
    yield from folded(columns)
    if not scene.undivided:
        groups = {name: value for name, value in chosen.params if name in ("by", "crossed", "parts")}
        within = yield from shown(EXHIBITS.described("multicalibration", **groups), scene)
        yield from folded(within)


def why_not(request: Request) -> str:
    """Return why there are none; empty if there are."""
    try:
        columns_of(request.scene)
    except NotAnswerable as why:
        return str(why)
    return ""
