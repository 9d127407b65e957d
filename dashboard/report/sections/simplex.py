"""Three classes as a triangle: its cells with their arrows, canonical errors, and the calibrators' maps."""

from __future__ import annotations

from collections.abc import Iterator

from calib_core import InputError
from calib_core.text import begun
from dashboard import session
from dashboard.exhibits import EXHIBITS
from dashboard.report.document import Block, Paragraph
from dashboard.report.exhibited import folded, shown, side_by_side
from dashboard.report.request import Request


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
        yield Paragraph(f"The triangle shows three of the classes. {begun(session.parts(source).merging)}.")
    options, drawn = dict(request.selection.exhibit("triangle").params), []
    for i, partition in enumerate(scene.partitions, start=1):
        recipe = EXHIBITS.described("triangle", **options | {"partition": partition})
        found = yield from shown(recipe, scene.focused(cell=None), f"triangle-{i}")
        drawn.append((found, f"{scene.model.title}, {partition.title}"))
    maps = [((yield from shown(EXHIBITS.described("calibration-maps"), scene, "maps")), "")]
    if scene.models.recalibrated and session.truth(source):
        wrong = EXHIBITS.described("calibration-maps", wrong=True)
        title = "Remaining error: each calibrator minus the true map"
        maps.append(((yield from shown(wrong, scene, "maps-wrong")), title))
    # The maps of several calibrators are as wide as the page.
    single = len(scene.models.recalibrated) == 1
    if scene.partitions:
        validity = yield from shown(EXHIBITS.described("canonical-validity"), scene, "triangle-validity")
        drawn += [*(maps if single else []), (validity, "")]
    for i in range(0, len(drawn), 2):
        yield from side_by_side(*drawn[i : i + 2])
    if not (single and scene.partitions):
        for found, title in maps:
            yield from folded(found, title=title)
    if scene.partitions:
        yield from folded((yield from shown(EXHIBITS.described("canonical-errors"), scene, "canonical")))
