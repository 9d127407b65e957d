"""Tiny pictures beside words that say the same: drawn in colours that read on a light and on a dark page."""

from __future__ import annotations

import math
from collections.abc import Iterable

from calib_core.diagrams import ReliabilityDiagram, StandingOut
from calib_core.figures.look import REFERENCE
from calib_core.palette import style

_OPEN = '<svg xmlns="http://www.w3.org/2000/svg" width="{0}" height="{1}" viewBox="0 0 {0} {1}" fill="none">'
DASHED = ' stroke-dasharray="4 3"'

Point = tuple[float, float, float]
"""What is said, how often it is right, and the share of rows."""
SMALLEST = 0.004
"""Share of rows of a point that is drawn: less would draw noise as large as everything else."""


def points_of(diagram: ReliabilityDiagram) -> tuple[Point, ...]:
    """The bins of a reliability diagram that have rows enough to be drawn this small."""
    frame = diagram.frame()
    columns = (frame[name].tolist() for name in ("confidence", "accuracy", "share"))
    return tuple(point for point in zip(*columns, strict=True) if point[2] >= SMALLEST)


def diagram_spark(points: Iterable[Point], size: int = 132) -> str:
    """Points as SVG: across what it says, up how often it is right, larger dots for more rows."""
    margin, colour = 10, style(0).colour
    span = size - 2 * margin

    def place(says: float, right: float) -> tuple[float, float]:
        return margin + span * says, margin + span * (1 - right)

    parts = [
        f'<rect x="{margin}" y="{margin}" width="{span}" height="{span}" stroke="{REFERENCE}" stroke-opacity=".5"/>',
        line(*place(0, 0), *place(1, 1), REFERENCE, 1.3, DASHED),
    ]
    for says, right, share in points:
        x, y = place(says, right)
        parts.append(line(*place(says, says), x, y, colour, 1.6, ' stroke-opacity=".75"'))
        parts.append(dot(x, y, 2.2 + 5 * math.sqrt(share), colour))
    return svg(size, size, parts)


def class_spark(classes: StandingOut, most: int = 10, width: int = 168, height: int = 112) -> str:
    """Classes as SVG, worst first: a bar at what is said, a dot at how often it is right; grey for what is noise."""
    shown = range(min(most, len(classes.names)))
    values = [float(v) for i in shown for v in (classes.claimed[i], classes.right[i])]
    low = min(values, default=0.0)
    low, high = min(low, 0.95), max([*values, low + 0.05])
    step = (width - 16) / max(len(shown), 1)

    def y(value: float) -> float:
        return 8 + (height - 16) * (high - value) / (high - low)

    parts: list[str] = []
    for i in shown:
        colour = style(0).colour if classes.stands_out[i] else REFERENCE
        x, says, right = 8 + step * (i + 0.5), y(float(classes.claimed[i])), y(float(classes.right[i]))
        parts.append(line(x, says, x, right, colour, 2))
        parts.append(line(x - 5, says, x + 5, says, colour, 2.4))
        parts.append(dot(x, right, 4 if i else 5, colour))
    return svg(width, height, parts)


def line(x1: float, y1: float, x2: float, y2: float, colour: str, width: float, more: str = "") -> str:
    """A straight line; ``more`` are further attributes."""
    return f'<path d="M{x1:.1f} {y1:.1f}L{x2:.1f} {y2:.1f}" stroke="{colour}" stroke-width="{width}"{more}/>'


def dot(x: float, y: float, radius: float, colour: str) -> str:
    """A disc."""
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}" fill="{colour}"/>'


def svg(width: int, height: int, parts: Iterable[str]) -> str:
    """The parts as a picture of so many pixels."""
    return _OPEN.format(width, height) + "".join(parts) + "</svg>"
