"""Every estimator in every notion for the model looked at, and curves over bins and tolerances for all."""

from __future__ import annotations

from collections.abc import Iterator

from calib_core import REDUCTIONS, Recipe
from dashboard.report import exhibited
from dashboard.report.document import Block, Paragraph
from dashboard.report.request import Request
from dashboard.session import scene_of


def blocks(request: Request) -> Iterator[Block | None]:
    """A table a notion; bounds and tests without bins; curves over bins and tolerances"""
    scene, chosen = scene_of(request.selection), request.selection.exhibit
    if request.large:
        yield Paragraph("With this many rows and classes one notion is reported.", aside=True)
    for notion in (scene.focus.notion,) if request.large else tuple(REDUCTIONS):
        name, title = f"estimators-{notion}", REDUCTIONS[notion].title
        yield from exhibited.blocks(chosen("estimators"), scene.focused(notion=notion), name=name, title=title)
    for key in ("unbinned", "tests", "sweep", "validity"):
        yield from exhibited.blocks(Recipe("EXHIBITS", key), scene)
    yield from exhibited.blocks(chosen("trade"), scene)
