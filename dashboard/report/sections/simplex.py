"""Three classes as a triangle: its cells with their arrows, canonical errors, and the calibrators' maps."""

from __future__ import annotations

from collections.abc import Iterator

from calib_core import InputError
from calib_core.text import begun
from dashboard import session
from dashboard.exhibits import EXHIBITS
from dashboard.report.document import Block, Paragraph
from dashboard.report.exhibited import ExhibitParts, folded, shown, side_by_side
from dashboard.report.request import Request
from dashboard.session import Scene


def why_not(request: Request) -> str:
    """Return why no triangle is drawn; empty if there is one: of three classes, or of three of more, as on screen."""
    try:
        session.triangle(request.selection.source, request.selection.three)
    except InputError as why:
        return str(why)
    return ""


def blocks(request: Request) -> Iterator[Block | None]:
    """Yield the recalibration diagram of every chosen partition, then the maps of all calibrators."""
    scene = session.scene_of(request.selection).triangle
    source = scene.model.source
    if source.corners:
        yield Paragraph(f"{begun(session.parts(source).merging)}.")
    options = dict(request.selection.exhibit("triangle").params)
    drawn: list[tuple[ExhibitParts, str]] = []
    for i, partition in enumerate(scene.partitions, start=1):
        recipe = EXHIBITS.described("triangle", **options | {"partition": partition})
        found = yield from shown(recipe, scene.focused(cell=None), f"triangle-{i}")
        drawn.append((found, f"{scene.model.title}, {partition.title}"))
    maps: list[tuple[ExhibitParts, str | None]] = []
    for i, few in enumerate(_two_at_a_time(scene)):
        name = f"maps-{i + 1}" if i else "maps"
        maps.append(((yield from shown(EXHIBITS.described("calibration-maps"), few, name)), None if i else ""))
    if scene.models.recalibrated and session.truth(source):
        wrong = EXHIBITS.described("calibration-maps", wrong=True)
        title = "Remaining error: each calibrator minus the true map"
        maps.append(((yield from shown(wrong, scene, "maps-wrong")), title))
    # The maps of several calibrators are as wide as the page.
    single = len(scene.models.recalibrated) == 1
    if scene.partitions:
        validity = yield from shown(EXHIBITS.described("canonical-validity"), scene, "triangle-validity")
        drawn += [*((found, "") for found, _ in maps if single), (validity, "")]
    for i in range(0, len(drawn), 2):
        yield from side_by_side(*drawn[i : i + 2])
    if not (single and scene.partitions):
        for found, heading in maps:
            yield from folded(found, title=heading, width="full")
    if scene.partitions:
        yield from folded((yield from shown(EXHIBITS.described("canonical-errors"), scene, "canonical")))


def _two_at_a_time(scene: Scene) -> Iterator[Scene]:
    """Yield scenes with the first model and two calibrators each, so that no figure is as high as a page."""
    base = tuple(model for model in scene.models.shown if model.is_base)
    calibrated = scene.models.recalibrated
    for i in range(0, max(len(calibrated), 1), 2):
        yield scene.among((*base, *calibrated[i : i + 2]))
