"""The icon of a verdict: a disc with a sign, so that the four words are told apart without colour."""

from __future__ import annotations

from typing import Any

from calib_core.results.verdict_table import VERDICTS

_NO_VERDICT = ("#787884", "M -4 0 L 4 0")
"""Colour and drawing where there is none."""


def icon(word: str, across: float, up: float, radius: float = 9.0, **place: Any) -> list[dict[str, Any]]:
    """Shapes of a disc with its sign, its middle so many pixels beside and above an anchor.

    ``place`` says where that is: ``xref``, ``xanchor``, ``yref`` and ``yanchor`` of Plotly's shapes.
    """
    colour, path = (VERDICTS[word].colour, VERDICTS[word].drawing) if word else _NO_VERDICT
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
