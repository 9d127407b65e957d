"""Exhibits that do not depend on a file: they are the same for all data."""

OF_NO_DATA: frozenset[str] = frozenset(
    (
        *("arena", "arena-ranks", "lab-curve", "lab-errors", "lab-distances"),
        *("papers", "reproduction", "coverage", "rejection"),
    )
)
