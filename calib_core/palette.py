"""Appearance of series: color, symbol and dash are redundant, and a model has the same ones in every figure."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

__all__ = [
    "COLOURS",
    "ON_DARK",
    "REFERENCE",
    "SYMBOLS",
    "Style",
    "dark_style",
    "looks",
    "outline",
    "preferred_look",
    "style",
]

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#B57A00", "#8F6BD9", "#C565A0", "#1A93AE")
"""Colors of series: each 3.4:1 or better on the light and on the dark page (W3C's contrast)."""
ON_DARK = dict(zip(COLOURS, ("#56B4E9", "#F0883E", "#34C79A", "#E0A63A", "#B79CF2", "#E08FC2", "#4FC3D9"), strict=True))
"""Color of each series on the dark page, 4.5:1 or better there; paper and the light page keep the others."""
REFERENCE = "#808080"
"""Color of references (the diagonal, zero lines), with a contrast of 3.9:1 or better on both pages."""
_SYMBOLS = (
    ("star", "★"),
    ("star-diamond", "✦"),
    ("hexagram", "✶"),
    ("star-square", "■"),
    ("star-triangle-up", "▲"),
    ("star-triangle-down", "▼"),
    ("hourglass", "⧗"),
    ("diamond-tall", "♦"),
)


def _spikes(n: int, inner: float, turn: float = 0.0) -> tuple[tuple[float, float], ...]:
    """A star of n points around (0, 0), the first at the top or turned by this angle in degrees."""
    steps = (math.radians(90 + turn + 180 * i / n) for i in range(2 * n))
    return tuple(
        (math.cos(a) * radius, math.sin(a) * radius) for a, radius in zip(steps, [1.0, inner] * n, strict=True)
    )


_OUTLINES = {
    "star": _spikes(5, 0.382),
    "star-diamond": _spikes(4, 0.42),
    "hexagram": _spikes(6, 0.577),
    "star-square": _spikes(4, 0.52, 45),
    "star-triangle-up": _spikes(3, 0.38),
    "star-triangle-down": _spikes(3, 0.38, 180),
    "hourglass": ((-0.9, 0.9), (0.9, 0.9), (-0.9, -0.9), (0.9, -0.9)),
    "diamond-tall": ((0.0, 1.0), (0.6, 0.0), (0.0, -1.0), (-0.6, 0.0)),
}
SYMBOLS = frozenset(_OUTLINES)
"""Names of the symbols with an `outline`."""
_DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")


@dataclass(frozen=True)
class Style:
    """The look of series `i`: color, symbol and dash are redundant, for readers who see few colors.

    ``symbol`` is Plotly's name of the marker, ``glyph`` the sign most like it where nothing can be drawn: few fonts
    have them all.
    """

    colour: str
    symbol: str
    dash: str
    glyph: str


def style(i: int) -> Style:
    """Return the look of series `i`; equal numbers look equal in every figure.

    The three lists have lengths without a small common multiple, so the first 168 series all differ.

    >>> style(0).symbol, style(0).dash
    ('star', 'solid')
    >>> style(7).colour == style(0).colour, style(7) == style(0)
    (True, False)
    """
    return Style(COLOURS[i % len(COLOURS)], _SYMBOLS[i % len(_SYMBOLS)][0], _DASHES[i % len(_DASHES)], _glyph(i))


def dark_style(*colours: str) -> str:
    """Style element of an SVG image that changes these colors of series, or all, where the page is dark.

    >>> dark_style("#0072B2")[:74]
    '<style>@media (prefers-color-scheme: dark){[fill="#0072B2"]{fill:#56B4E9}['
    """
    both = ((part, colour) for colour in colours or COLOURS for part in ("fill", "stroke"))
    rules = (f'[{part}="{colour}"]{{{part}:{ON_DARK[colour]}}}' for part, colour in both)
    return f"<style>@media (prefers-color-scheme: dark){{{''.join(rules)}}}</style>"


def _glyph(i: int) -> str:
    return _SYMBOLS[i % len(_SYMBOLS)][1]


def outline(symbol: str) -> tuple[tuple[float, float], ...]:
    """Corners of a series' symbol around (0, 0), none further than about 1 from it; the second number counts upwards.

    >>> len(outline("star")), outline("star")[0][1]
    (10, 1.0)
    """
    return _OUTLINES[symbol]


def preferred_look(place: int) -> int:
    """The number a calibrator likes best: its place, from 1 on, with the first model's color passed over.

    >>> [preferred_look(place) for place in (1, 6, 7)]
    [1, 6, 8]
    """
    return place + (place - 1) // (len(COLOURS) - 1)


def looks(preferred: Iterable[tuple[str, int]]) -> dict[str, int]:
    """The number of every title: the one it likes where its color is free, else the next whose color and symbol are.

    Titles are served in the order given, so that those which shall never change come first. With more titles than
    colors, colors are taken again with another symbol. Numbers always differ.

    >>> looks([("base", 0), ("a", 1), ("b", 1), ("c", 8)])
    {'base': 0, 'a': 1, 'b': 2, 'c': 11}
    """
    found: dict[str, int] = {}
    for title, number in preferred:
        found[title] = _free(number, set(found.values()))
    return found


def _free(number: int, taken: set[int]) -> int:
    colours = {i % len(COLOURS) for i in taken}
    symbols = {i % len(_SYMBOLS) for i in taken}
    reach = range(number, number + len(COLOURS) * len(_SYMBOLS) + len(taken) + 1)
    # A color of its own matters more than a symbol of its own.
    wishes = [
        (i % len(COLOURS) in colours, i % len(_SYMBOLS) in symbols, place)
        for place, i in enumerate(reach)
        if i not in taken
    ]
    return reach[min(wishes)[-1]]
