"""The symbol of a model beside its name: drawn, for few fonts have all of them."""

from __future__ import annotations

from typing import Any

from calib_core.palette import Style, outline


def symbol(look: Style, across: float, up: float, radius: float = 7.0, **place: Any) -> dict[str, object]:
    """A shape: the symbol of a look, with its middle so many pixels beside and above an anchor.

    ``place`` says where that is: ``xref``, ``xanchor``, ``yref`` and ``yanchor`` of Plotly's shapes.
    """
    # Pixels of a shape count upwards.
    corners = " L ".join(f"{across + radius * x:.2f} {up + radius * y:.2f}" for x, y in outline(look.symbol))
    drawn = {"type": "path", "path": f"M {corners} Z", "fillcolor": look.colour, "line": {"width": 0}}
    return drawn | {"xsizemode": "pixel", "ysizemode": "pixel", **place}
