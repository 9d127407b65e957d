"""Slices in the order of their significant gaps: mean confidence, accuracy, and what noise alone would show."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from calib_core._base.errors import as_share, as_whole
from calib_core.defaults import LEVEL
from calib_core.diagrams.base import Diagram
from calib_core.text import at_level, first_few, of_rows, points, share_range, told_apart

MOST_LINES = 30
_NAMED = 3
"""So many slices of too few rows are called by their names."""


@dataclass(frozen=True, eq=False, repr=False)
class SliceDots(Diagram):
    """Lines of a table of slices (``slices.table``), those drawn and how many more there are.

    ``tests`` were made, ``outstanding`` slices are significantly off after correction, and those in
    ``untested`` have too few rows. ``of_event``: they are about the predicted risk of an event, not about confidence.
    """

    lines: pd.DataFrame
    more: int
    tests: int
    outstanding: int
    untested: tuple[str, ...]
    level: float
    of_event: bool = False

    @property
    def worst(self) -> pd.Series | None:
        """The significant slice with the largest gap; None where none is significantly off."""
        if not self.outstanding:
            return None
        return self.lines.iloc[int(np.where(self.lines["stands_out"], self.lines["gap"].abs(), -1.0).argmax())]

    @property
    def headline(self) -> str:
        """The slice with the largest significant gap; or that none is significantly off."""
        if not len(self.lines):
            return "There is nothing to slice"
        worst = self.worst
        if worst is None:
            return "No slice is significantly off" if self.tests else "Every slice has too few rows to tell"
        says, right = told_apart(float(worst["claimed"]), float(worst["right"]))
        if self.of_event:
            return f"{worst['slice']}: mean risk {says}, observed {right}"
        return f"{worst['slice']}: mean confidence {says}, accuracy {right}"

    @property
    def basis(self) -> str:
        """What it rests on: rows and interval, and how many slices are off, of how many."""
        corrected = " (corrected for multiple testing)" if self.tests > 1 else ""
        few, worst = self._few, self.worst
        if worst is None:
            if not self.tests:
                return few.strip()
            if self.tests == 1:
                return f"The only slice tested is not significantly off.{few}"
            return f"None of the {self.tests:,} slices differs from chance{corrected}.{few}"
        ends = share_range(float(worst["low"]), float(worst["high"]))
        some = of_rows(worst["rows"], worst["worth"], worst.get("groups"))
        right = f"observed {ends}" if self.of_event else f"accuracy {ends}"
        rows = f"{some}; {right} ({at_level(self.level)} interval){self._beside(worst)}"
        count = f"{self.outstanding:,} of {self.tests:,} slices" if self.tests > 1 else "The only slice tested"
        are = "is" if self.outstanding == 1 else "are"
        largest = " This is the largest significant gap." if self.outstanding > 1 else ""
        return f"{rows}.{largest} {count} {are} significantly off{corrected}.{few}"

    def _beside(self, line: pd.Series) -> str:
        """How the gap of a slice compares with that of all other rows."""
        if pd.isna(line["p_beyond"]):
            return ""
        away = points(line["beyond"]).lstrip("+\u2212")
        if not line["differs"]:
            return f". Its gap does not differ significantly from that of the other rows ({points(line['beyond'])})"
        rest = line["gap"] - line["beyond"]
        if line["beyond"] * line["gap"] > 0 and rest * line["gap"] >= 0:
            return f". Its gap is {away} larger than that of the other rows"
        return f". Its gap differs from that of the other rows by {away}"

    @property
    def _few(self) -> str:
        if not self.untested:
            return ""
        number = "1 slice has" if len(self.untested) == 1 else f"{len(self.untested):,} slices have"
        return f" {number} too few rows to be tested: {first_few(self.untested, _NAMED)}."

    def frame(self) -> pd.DataFrame:
        """One line a slice, the worst first, exactly the numbers drawn."""
        return self.lines


def slice_dots(
    table: pd.DataFrame, most: int = MOST_LINES, level: float = LEVEL, notion: str = "confidence"
) -> SliceDots:
    """The first ``most`` lines of a table of slices, to be drawn one below the other.

    ``table`` is that of ``slices.table`` or ``slices.by_column``, or the frame of a ``slices.scan``, its intervals at
    ``level``; ``notion`` "event" where it is about the predicted risk of one. What can mislead: the
    order is by the size of significant gaps, so that a small slice far off stands above a large one a little off.

    >>> import calib_core as cc
    >>> site = pd.DataFrame({"site": ["a"] * 40 + ["b"] * 40})
    >>> right = [True] * 30 + [False] * 10 + [True, False] * 20
    >>> p = cc.Predictions.from_confidence([0.75] * 80, right, metadata=site)
    >>> found = slice_dots(cc.slices.table(p, "site"))
    >>> found.headline
    'site = b: mean confidence 75 %, accuracy 50 %'
    >>> found.basis.partition(". ")[0]
    '40 rows; accuracy 36 to 64 % (90 % interval)'
    """
    as_whole(most, "most", 1)
    as_share(level, "level")
    tested = table["p"].notna()
    lines = table.head(most).reset_index(drop=True)
    untested = tuple(table.loc[~tested, "slice"])
    found = int(tested.sum()), int(table["stands_out"].sum())
    return SliceDots(lines, len(table) - len(lines), *found, untested, level, notion == "event")
