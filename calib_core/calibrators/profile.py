"""What a person who chooses a calibrator needs to know of it before it is fitted: its family, a sentence, its rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Family = Literal["scaling", "binning", "rows", "abstaining", "advanced"]

FAMILY_TITLES: dict[str, tuple[str, str]] = {
    "scaling": ("Scaling", "a few numbers; needs the fewest rows"),
    "binning": ("Binning", "frequencies of similar rows; can carry a guarantee"),
    "rows": ("Whole rows", "compares rows as a whole; needs many of them"),
    "abstaining": ("Abstaining", "answers fewer rows, and those better"),
    "advanced": ("Advanced", "wrappers to fill yourself, and chains"),
}
"""Families in the order they are shown: the title of each, and what its members have in common."""


@dataclass(frozen=True)
class Profile:
    """How a calibrator is introduced, declared beside it.

    family: with which others it stands. sentence: what it does, in plain words. rows = (a, b, c): it needs about
    a + b K + c K^2 calibration rows of K classes, fifty for every number it fits or bin it fills. needs_classes: the
    predicted classes must be known. promises: some fits carry a guarantee that holds whatever the data. first_for:
    the kinds of predictions for which it is among the first to try, and ``why_first`` the reason in one sentence.
    first_for_event: whether it is among the first to try with the risk of an event.
    candidate_for: the kinds for which it is tried where a calibrator is chosen by cross-validation; of ``most_classes``
    at most.

    >>> Profile(rows=(0, 100, 0)).rows_needed(10)
    1000
    """

    family: Family = "advanced"
    sentence: str = ""
    rows: tuple[int, int, int] = (0, 0, 0)
    needs_classes: bool = False
    promises: bool = False
    first_for: tuple[str, ...] = ()
    why_first: str = ""
    candidate_for: tuple[str, ...] = ()
    most_classes: int | None = None
    first_for_event: bool = False

    def rows_needed(self, classes: int) -> int:
        """About so many calibration rows of this many classes; 0 where nothing is declared."""
        a, b, c = self.rows
        return a + b * classes + c * classes * classes
