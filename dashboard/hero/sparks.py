"""Tiny pictures next to words with the same content, in colors legible on light and dark pages."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from calib_core.diagrams import ReliabilityDiagram, StandingOut
from calib_core.palette import REFERENCE, dark_style, style

_OPEN = '<svg xmlns="http://www.w3.org/2000/svg" width="{0}" height="{1}" viewBox="0 0 {0} {1}" fill="none">'
DASHED = ' stroke-dasharray="4 3"'

Point = tuple[float, float, float]
"""Predicted probability, observed frequency, and share of rows."""
SMALLEST = 0.004
"""Smallest share of rows for which a point is drawn; noise would dominate smaller ones."""


def points_of(diagram: ReliabilityDiagram) -> tuple[Point, ...]:
    """Return the bins of a reliability diagram with enough rows to be drawn this small."""
    frame = diagram.frame()
    columns = (frame[name].tolist() for name in ("confidence", "accuracy", "share"))
    return tuple(point for point in zip(*columns, strict=True) if point[2] >= SMALLEST)


def diagram_spark(points: Iterable[Point], size: int = 132, most: float = 1.0) -> str:
    """Return points as SVG: confidence across, accuracy up, larger dots for more rows; both axes up to ``most``."""
    margin, colour = 10, style(0).colour
    span = size - 2 * margin

    def place(says: float, right: float) -> tuple[float, float]:
        return margin + span * says / most, margin + span * (1 - right / most)

    parts = [
        f'<rect x="{margin}" y="{margin}" width="{span}" height="{span}" stroke="{REFERENCE}" stroke-opacity=".5"/>',
        line(*place(0, 0), *place(most, most), REFERENCE, 1.3, DASHED),
    ]
    for says, right, share in points:
        x, y = place(says, right)
        parts.append(line(*place(says, says), x, y, colour, 1.6, ' stroke-opacity=".75"'))
        parts.append(dot(x, y, 2.2 + 5 * math.sqrt(share), colour))
    return svg(size, size, parts)


def class_spark(classes: StandingOut, most: int = 10, width: int = 168, height: int = 112) -> str:
    """Return classes as SVG, worst first: a bar at the confidence, a dot at the accuracy; gray if not significant."""
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


def group_spark(
    expected: Sequence[float], observed: Sequence[float], off: Sequence[bool], width: int = 150, height: int = 104
) -> str:
    """Return groups as SVG, from low to high risk: a wide gray bar of expected events, a narrow one of observed events.

    Observed events of a group that is not significantly off are pale.
    """
    most = max([*expected, *observed, 1e-9])
    step = (width - 12) / max(len(expected), 1)
    parts = [line(6, height - 8, width - 6, height - 8, REFERENCE, 1)]
    for i, (wanted, seen, out) in enumerate(zip(expected, observed, off, strict=True)):
        for number, wide, colour, opacity in (
            (wanted, 0.8, REFERENCE, 0.4),
            (seen, 0.46, style(0).colour, 1.0 if out else 0.55),
        ):
            tall = (height - 20) * number / most
            x, y, w = 6 + step * (i + (1 - wide) / 2), height - 8 - tall, step * wide
            parts.append(
                f'<rect x="{x:.1f}" y="{y:.1f}" width="{w:.1f}" height="{tall:.1f}" fill="{colour}" '
                f'fill-opacity="{opacity}"/>'
            )
    return svg(width, height, parts)


def line(x1: float, y1: float, x2: float, y2: float, colour: str, width: float, more: str = "") -> str:
    """Return a straight line; ``more`` are further attributes."""
    return f'<path d="M{x1:.1f} {y1:.1f}L{x2:.1f} {y2:.1f}" stroke="{colour}" stroke-width="{width}"{more}/>'


def dot(x: float, y: float, radius: float, colour: str) -> str:
    """Return a disc."""
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}" fill="{colour}"/>'


def svg(width: int, height: int, parts: Iterable[str]) -> str:
    """Return the parts as a picture of this size in pixels."""
    return _OPEN.format(width, height) + dark_style() + "".join(parts) + "</svg>"
