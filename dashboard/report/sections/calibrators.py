"""Effects of recalibration: errors and scores before and after, guarantees, side effects, fitted maps."""

from __future__ import annotations

from collections.abc import Iterator

from dashboard.exhibits import EXHIBITS
from dashboard.exhibits.calibration_maps import made_of_maps
from dashboard.exhibits.decisions import at_these_costs
from dashboard.exhibits.ranking import keeping_rates
from dashboard.report.document import Block
from dashboard.report.exhibited import blocks as exhibit
from dashboard.report.exhibited import finding, folded, shown, side_by_side
from dashboard.report.request import Request
from dashboard.session import scene_of


def blocks(request: Request) -> Iterator[Block | None]:
    """Yield numbers, differences, guarantees, effects on decisions, and the maps."""
    scene, chosen = scene_of(request.selection), request.selection.exhibit
    yield from finding((yield from shown(chosen("recommendation"), scene)))
    if request.of_event:
        yield from exhibit(chosen("update-test"), scene)
    yield from exhibit(chosen("calibrator-errors"), scene, name="calibrators-errors")
    yield from exhibit(chosen("scores"), scene, name="calibrators-scores")
    if len(scene.models.shown) > 1:
        yield from exhibit(chosen("pairs"), scene, name="differences")
    if scene.models.recalibrated:
        yield from exhibit(chosen("promises"), scene)
        # Collapsed: on paper, accuracy and scores before and after are in the tables above.
        for key in ("side-effects", "uses"):
            yield from folded((yield from shown(chosen(key), scene)))
        if chosen("score-parts").build().slow:
            yield from exhibit(chosen("score-parts"), scene)
    if chosen("decisions").params:
        yield from exhibit(chosen("decisions"), scene)
        threshold = at_these_costs(request.selection, scene)
        for key in ("decision-curve", "net-benefit"):
            recipe = EXHIBITS.described(key, **{**dict(chosen(key).params), **threshold})
            yield from exhibit(recipe, scene)
    maps = []
    for i, model in enumerate(made_of_maps(scene), start=1):
        found = yield from shown(chosen("binary-map"), scene.focused(model=model.title), f"map-{i}")
        maps.append((found, f"{model.title}: score in, score out"))
    if chosen("rates").build().refit:
        for i, model in enumerate(keeping_rates(scene), start=1):
            found = yield from shown(chosen("rates"), scene.focused(model=model.title), f"constraint-{i}")
            maps.append((found, f"{model.title}: rates over repeated splits"))
    for i in range(0, len(maps), 2):
        yield from side_by_side(*maps[i : i + 2])
