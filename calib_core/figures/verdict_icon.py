"""The icon of a verdict: a disc with a sign, so that the four words are told apart without colour."""

from __future__ import annotations

from typing import Any

ICONS = {
    "within": ("#2E8B57", "M -4.5 0.5 L -1.5 3.5 L 4.5 -3.5"),
    "miscalibrated": ("#C8324B", "M -3.5 -3.5 L 3.5 3.5 M -3.5 3.5 L 3.5 -3.5"),
    "too close to call": ("#94751C", "M -4 -2 L 4 -2 M -4 2 L 4 2"),
    "too few rows to tell": ("#787884", "M -0.5 -4 L 0.5 -4 M 0 -4 L 0 1 M -0.5 4 L 0.5 4"),
    "": ("#787884", "M -4 0 L 4 0"),
}
"""Colour and drawing of each verdict's icon: no colour of a model, 3:1 or better on both pages."""


def icon(word: str, across: float, up: float, radius: float = 9.0, **place: Any) -> list[dict[str, Any]]:
    """Shapes of a disc with its sign, its middle so many pixels beside and above an anchor.

    ``place`` says where that is: ``xref``, ``xanchor``, ``yref`` and ``yanchor`` of Plotly's shapes.
    """
    colour, path = ICONS[word]
    sizes = {"xsizemode": "pixel", "ysizemode": "pixel", **place}
    disc = {
        "type": "circle",
        "x0": across - radius,
        "x1": across + radius,
        "y0": up - radius,
        "y1": up + radius,
        "fillcolor": colour,
        "line": {"width": 0},
    }
    return [disc | sizes, _sign(path, across, up, radius / 9) | sizes]


def _sign(path: str, across: float, up: float, scale: float) -> dict[str, Any]:
    """A drawing around the disc's middle; pixels of a shape count upwards."""
    parts = iter(path.split())
    moved = " ".join(
        f"{command} {scale * float(next(parts)) + across:g} {up - scale * float(next(parts)):g}" for command in parts
    )
    return {"type": "path", "path": moved, "line": {"color": "#ffffff", "width": 2}}
