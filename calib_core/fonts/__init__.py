"""Type of figures on paper and its sizes: Arimo, whose letters are as wide as those of Arial and Helvetica.

Where its files are not read, as in many drawing programs, Arial takes its place and every label keeps its room. The
files are under the SIL Open Font License.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

__all__ = [
    "FAMILY",
    "MOST_FOR_LEGEND",
    "NAME",
    "PER_INCH",
    "PER_POINT",
    "SCREEN",
    "STYLES",
    "WIDTHS",
    "ColumnWidth",
    "face",
    "face_files",
]

NAME = "Arimo"
FAMILY = "Arimo, Arial, Helvetica, Liberation Sans, sans-serif"
"""The typeface and, in order, what replaces it."""
STYLES = ("Regular", "Bold", "Italic")

MOST_FOR_LEGEND = 0.12
"""Largest share of a figure's height for its legend."""
SCREEN = 14.0
"""Pixels of the type on screen, to which every other length of a figure was chosen."""
PER_INCH, PER_POINT = 96, 96 / 72
"""CSS pixels."""


def face(style: str = "Regular") -> bytes:
    """The TrueType file of a style, one of ``STYLES``.

    >>> face()[:4].hex()
    '00010000'
    """
    return files(__name__).joinpath(f"{NAME}-{style}.ttf").read_bytes()


def face_files() -> tuple[Path, ...]:
    """The files of all styles, for programs that read fonts from a disk."""
    return tuple(Path(str(files(__name__).joinpath(f"{NAME}-{style}.ttf"))) for style in STYLES)


@dataclass(frozen=True)
class ColumnWidth:
    """Column width of a journal in inches, and the size in points of most type in it."""

    name: str
    inches: float
    points: float

    @property
    def scale(self) -> float:
        """Ratio of every length on paper to the same length on screen."""
        return self.points * PER_POINT / SCREEN

    @property
    def pixels(self) -> int:
        """Width in CSS pixels, 96 to the inch."""
        return round(self.inches * PER_INCH)


WIDTHS = {width.name: width for width in (ColumnWidth("single", 3.4, 7.5), ColumnWidth("double", 7.0, 8.0))}
"""Column widths by name."""
