"""Reliability diagrams: all models together, then each with its bands, without bins, and one bin class by class."""

from __future__ import annotations

from collections.abc import Iterator

from dashboard.exhibits.stars import STAR
from dashboard.report import exhibited
from dashboard.report.document import Block, Paragraph
from dashboard.report.request import Request


def blocks(request: Request) -> Iterator[Block | None]:
    """Diagrams, the numbers drawn in them, and the bin that is furthest off class by class."""
    chosen, scene = request.selection.exhibit, request.scene
    if len(scene.titles) > 1:
        yield from exhibited.blocks(chosen("reliability"), scene, title=None)
    else:
        yield Paragraph(STAR)
    for i, title in enumerate(scene.titles, start=1):
        yield from exhibited.blocks(chosen("bins"), scene.focused(model=title), name=f"bins-{i}", title=title)
    for key in ("corp", "kernel-curve", "bin"):
        yield from exhibited.blocks(chosen(key), scene)
