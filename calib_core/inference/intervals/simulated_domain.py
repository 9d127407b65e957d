"""Cases in which intervals were simulated; outside, their coverage is a rough guide and reported as such."""

from __future__ import annotations

from dataclasses import dataclass

LEVELS = (0.8, 0.99)
"""Levels in the coverage table, least and most."""


@dataclass(frozen=True)
class Domain:
    """A range of cases in the coverage table: a largest number of classes and a smallest number of rows.

    Scores of every kind are in it: spread, near 0 and 1, atoms there, rounded, of networks, recalibrated. More rows
    than were simulated (60,000) only bring laws closer to their limits.
    """

    classes: int
    rows: int

    def holds(self, classes: int, rows: float, level: float) -> bool:
        """Return whether a case is inside."""
        return classes <= self.classes and rows >= self.rows and LEVELS[0] <= level <= LEVELS[1]


ANY = 1_000_000_000
"""Confidence makes one claim per row, however many classes there are."""
BINNED = {
    "confidence": Domain(ANY, 10),
    "class-specific": Domain(ANY, 10),
    "event": Domain(2, 10),
    "top-label": Domain(1000, 30),
    "class-wise": Domain(100, 80),
    "top-k-confidence": Domain(20, 200),
    "top-k-label": Domain(20, 200),
}
"""Mean absolute errors in bins, and squared ones if bins contain enough rows, by notion; an event is one class."""
OF_ROWS = {
    "confidence": Domain(ANY, 30),
    "class-specific": Domain(ANY, 30),
    "event": Domain(2, 30),
}
"""Kernel, smooth, convex, swept, cumulative and squared kernel errors, by notion; of others the table has no lines."""
CANONICAL = Domain(3, 500)
"""Errors on partitions of the simplex.

With 10 classes there were 4 truths, 11 Sierpinski cells, 2,000 rows and 200 runs each. The interval of the L1 error
covered. That of the L2 error contained the truth in .845 of the runs if the top probability was 0.05 too high: a
rough guide.
"""
CANONICAL_KERNEL = Domain(10, 1000)
"""The squared kernel error of whole vectors."""

GROUPED_ERRORS = Domain(ANY, 30)
"""Errors within the worst of several groups of rows (``group_errors.csv``), for independent rows."""

WEIGHTED_SHARE, WEIGHTED_ROWS = 0.5, 150
"""Unequal weights: smallest effective sample size, as a share of the rows and as a number."""


@dataclass(frozen=True)
class Facts:
    """Properties of a case: notion, kind of predictions, classes, rows, effective sample size (Kish), sparse cells."""

    notion: str | None
    kind: str
    classes: int
    rows: int
    worth: float
    sparse: bool = False

    @property
    def weighted(self) -> bool:
        """True if row weights are unequal."""
        return self.worth < self.rows * (1 - 1e-9)


def in_bins(facts: Facts, order: int | str, level: float) -> bool:
    """True if the coverage table contains cases like this interval of a binned error.

    Bounds of the largest error have a proof. Squared errors: in groups, or if cells contain enough rows.
    """
    if facts.kind == "per-class" and facts.notion not in ("confidence", "top-label"):
        return False
    if isinstance(order, str):
        return not facts.weighted
    domain = BINNED.get(facts.notion or "")
    if domain is None or not domain.holds(facts.classes, facts.rows, level) or not _weights(facts):
        return False
    return order == 1 or not facts.sparse


def of_rows(facts: Facts, level: float) -> bool:
    """True if the table contains cases like this interval of an error that uses the rows."""
    domain = OF_ROWS.get(facts.notion or "")
    inside = domain is not None and domain.holds(facts.classes, facts.rows, level)
    return inside and facts.kind != "per-class" and not facts.weighted


def within_groups(rows: int, level: float) -> bool:
    """True if the table of errors within groups contains cases with this number of rows."""
    return GROUPED_ERRORS.holds(1, rows, level)


def _weights(facts: Facts) -> bool:
    return not facts.weighted or (facts.worth >= WEIGHTED_SHARE * facts.rows and facts.worth >= WEIGHTED_ROWS)
