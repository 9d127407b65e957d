"""Every calibrator side by side: errors with intervals and floors, guarantees, side effects, maps."""

from __future__ import annotations

from collections.abc import Iterator

from dashboard.exhibits.binary_map import made_of_maps
from dashboard.exhibits.rates import keeping_rates
from dashboard.report.document import Block
from dashboard.report.exhibited import blocks as exhibit
from dashboard.report.request import Request
from dashboard.session import scene_of


def blocks(request: Request) -> Iterator[Block | None]:
    """Numbers, promises, what recalibration does to the decisions, and the maps."""
    scene, chosen = scene_of(request.selection), request.selection.exhibit
    yield from exhibit(chosen("calibrator-errors"), scene, name="calibrators-errors", title=None)
    yield from exhibit(chosen("scores"), scene, name="calibrators-scores", title=None)
    if len(scene.models.shown) > 1:
        yield from exhibit(chosen("pairs"), scene, name="differences")
    if scene.models.recalibrated:
        yield from exhibit(chosen("promises"), scene)
        yield from exhibit(chosen("side-effects"), scene)
    for i, model in enumerate(made_of_maps(scene), start=1):
        title = "" if i == 1 else None
        yield from exhibit(chosen("binary-map"), scene.focused(model=model.title), name=f"map-{i}", title=title)
    if chosen("rates").build().refit:
        for i, model in enumerate(keeping_rates(scene), start=1):
            yield from exhibit(chosen("rates"), scene.focused(model=model.title), name=f"constraint-{i}", title=None)
