"""Appendix: every class, with its rows, share and error, and small diagrams of some of them."""

from __future__ import annotations

from collections.abc import Iterator

from dashboard.exhibits import EXHIBITS
from dashboard.exhibits.by_class import together
from dashboard.report import exhibited
from dashboard.report.document import Block
from dashboard.report.request import Request
from dashboard.session import scene_of


def blocks(request: Request) -> Iterator[Block | None]:
    """Small diagrams, errors before and after, and the table of all classes."""
    scene, fixed = scene_of(request.selection), together(request.selection)
    chosen = {
        key: EXHIBITS.described(key, **{**dict(request.selection.exhibit(key).params), **options})
        for key, options in fixed.items()
    }
    panels = chosen["class-panels"]
    curve = panels.build().curve
    plain = EXHIBITS.described("class-panels", **{**dict(panels.params), "curve": "reliability"})
    yield from exhibited.blocks(plain, scene, title=None)
    if curve != "reliability":
        yield from exhibited.blocks(panels, scene, name="class-curves", title=None)
    if curve == "kernel":
        yield from exhibited.blocks(chosen["class-kernel"], scene)
    yield from exhibited.blocks(chosen["class-errors"], scene)
    yield from exhibited.blocks(chosen["classes"], scene)
