"""Where intervals were simulated: outside of it their coverage is a rough guide, and is said to be."""

from __future__ import annotations

from dataclasses import dataclass

LEVELS = (0.8, 0.99)
"""Levels in the coverage table."""
MOST_CLASSES = 1000
"""Classes in the coverage table."""
FEWEST_ROWS = 10
"""Rows in the coverage table; more rows only bring every law closer to its limit."""


@dataclass(frozen=True)
class Facts:
    """What of a case decides: the kind of predictions, unequal weights, classes, rows, too few rows in most cells."""

    kind: str
    weighted: bool
    classes: int
    rows: int
    sparse: bool


def in_bins(facts: Facts, order: int | str, level: float) -> bool:
    """Does the coverage table hold cases like this interval of a binned error?

    Any scores, atoms at 0 and 1 and ties included; any number of rows a cell for mean absolute errors; squared errors
    in groups or where cells hold enough rows; bounds of the largest error have a proof.
    """
    if facts.weighted or facts.kind == "per-class":
        return False
    if isinstance(order, str):
        return True
    inside = LEVELS[0] <= level <= LEVELS[1] and facts.classes <= MOST_CLASSES and facts.rows >= FEWEST_ROWS
    return inside and (order == 1 or not facts.sparse)
