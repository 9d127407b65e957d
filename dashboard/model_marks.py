"""Symbol of a model in running text: a small colored picture embedded in Markdown."""

from __future__ import annotations

import base64
from functools import cache

from calib_core.palette import outline, style


@cache
def mark(number: int) -> str:
    """Return the Markdown of the symbol of the model with this number in the scene.

    >>> mark(0).startswith("![★](data:image/svg+xml;base64,")
    True
    """
    look = style(number)
    points = " ".join(f"{8 + 7.4 * x:.2f},{8 - 7.4 * y:.2f}" for x, y in outline(look.symbol))
    svg = (
        '<svg xmlns="http://www.w3.org/2000/svg" width="16" height="16" viewBox="0 0 16 16">'
        f'<polygon points="{points}" fill="{look.colour}"/></svg>'
    )
    return f"![{look.glyph}](data:image/svg+xml;base64,{base64.b64encode(svg.encode()).decode()})"
