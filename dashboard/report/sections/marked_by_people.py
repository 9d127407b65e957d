"""Accuracy by a judge, by people, and by both."""

from __future__ import annotations

from collections.abc import Iterator

from dashboard.exhibits.people_marks import marking
from dashboard.report.document import Block
from dashboard.report.exhibited import blocks as exhibited
from dashboard.report.request import Request


def blocks(request: Request) -> Iterator[Block | None]:
    """Yield the picture and its numbers, for the parts chosen on screen."""
    yield from exhibited(request.selection.exhibit("judged-answers"), request.scene, title=None)


def why_not(request: Request) -> str:
    """Return why there are none; empty if there are."""
    scene = request.scene
    if not scene.undivided and scene.get(marking(scene)):
        return ""
    return "no metadata column marks only some of the rows as right or wrong, as human labels would"
