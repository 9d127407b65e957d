"""Additions by other packages: each of their exhibits, or why it shows nothing."""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator

from calib_core import Recipe
from dashboard.exhibits import EXHIBITS, added, broken
from dashboard.report.document import Block, Figure, Heading, Paragraph, TypesetTable
from dashboard.report.exhibited import shown
from dashboard.report.picture import printed
from dashboard.report.request import Request

NAMED = "added-"
"""Prefix of the file names of its tables and figures."""


def title(_: Request) -> str:
    """Return the packages it is about."""
    return f"Added by {', '.join(added())}"


def why_not(_: Request) -> str:
    """Return why it is not included."""
    return "" if added() else "no other package adds a figure or table"


def blocks(request: Request) -> Iterator[Block | None]:
    """Yield every exhibit with the options chosen on screen; errors of other packages become sentences."""
    packages = added()
    for package, keys in packages.items():
        for key in keys:
            heading = EXHIBITS[key].title
            yield Heading(f"{heading} ({package})" if len(packages) > 1 else heading)
            try:
                exhibit = yield from _exhibit(request.selection.exhibit(key), request)
            except Exception as why:
                yield Paragraph(broken(package, why), lead="Not available.", aside=True)
            else:
                yield from exhibit


def _exhibit(recipe: Recipe, request: Request) -> Generator[None, None, tuple[Block, ...]]:
    """Build the blocks of an exhibit and write them once here, so that a failure to write appears here."""
    name = re.sub(r"\W+", "-", f"{NAMED}{recipe.key}", flags=re.ASCII)
    everything = (yield from shown(recipe, request.scene, name)).everything
    for block in everything:
        if isinstance(block, TypesetTable):
            block.latex()
            block.csv()
        elif isinstance(block, Figure):
            printed(block.drawn)
    return everything
