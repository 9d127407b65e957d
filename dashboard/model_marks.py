"""The mark of a model in running text: its symbol in its colour, as a small picture that Markdown can hold."""

from __future__ import annotations

import base64
from functools import cache

from calib_core.palette import outline, style


@cache
def mark(number: int) -> str:
    """Markdown of the mark of the model with this number among the scene's looks.

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
