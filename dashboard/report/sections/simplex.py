"""Three classes as a triangle: its cells with their arrows, canonical errors, and the calibrators' maps."""

from __future__ import annotations

from collections.abc import Iterator

from calib_core import InputError
from dashboard import session
from dashboard.exhibits import EXHIBITS
from dashboard.report.document import Block, Paragraph
from dashboard.report.exhibited import blocks as exhibited
from dashboard.report.request import Request


def why_not(request: Request) -> str:
    """Why no triangle is drawn; empty where there is one: of three classes, or of three of more, as on screen."""
    try:
        session.triangle(request.selection.source, request.selection.three)
    except InputError as why:
        return str(why)
    return ""


def blocks(request: Request) -> Iterator[Block | None]:
    """The recalibration diagram of every partition chosen, then the maps of all calibrators."""
    scene = session.scene_of(request.selection).triangle
    source = scene.model.source
    if source.corners:
        yield Paragraph(f"Three corners of more classes: {session.parts(source).rule}.")
    options = dict(request.selection.exhibit("triangle").params)
    for i, partition in enumerate(scene.partitions, start=1):
        recipe = EXHIBITS.described("triangle", **options | {"partition": partition})
        title = f"{scene.model.title}, {partition.title}"
        yield from exhibited(recipe, scene.focused(cell=None), name=f"triangle-{i}", title=title)
    if scene.partitions:
        yield from exhibited(EXHIBITS.described("canonical-errors"), scene, name="canonical")
        yield from exhibited(EXHIBITS.described("canonical-validity"), scene, name="triangle-validity")
    yield from exhibited(EXHIBITS.described("calibration-maps"), scene, name="maps")
    if scene.models.recalibrated and session.truth(source):
        title = "What is still wrong: each map minus the true one"
        yield from exhibited(EXHIBITS.described("calibration-maps", wrong=True), scene, name="maps-wrong", title=title)
