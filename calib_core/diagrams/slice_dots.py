"""Slices ranked by how far they are off: what each says, how often it is right, and what noise alone would show."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from calib_core._base.arguments import as_share, as_whole
from calib_core.defaults import LEVEL
from calib_core.diagrams.base import Diagram
from calib_core.text import at_level, first_few, of_rows, points, share_range, told_apart

MOST_LINES = 30
_ON_AVERAGE = ": on average at most 5 % of those that do are false alarms"
_CORRECTIONS = {"p_bh": "Benjamini and Hochberg", "p_by": "Benjamini and Yekutieli", "p_holm": "Holm"}
_NAMED = 3
"""So many slices of too few rows are called by their names."""


@dataclass(frozen=True, eq=False, repr=False)
class SliceDots(Diagram):
    """Lines of a table of slices (``slices.table``), those drawn and how many more there are.

    ``tests`` were made, ``outstanding`` slices stand out after the ``correction``, and those in ``untested`` have too
    few rows. ``of_event``: they are about the predicted risk of an event, not about confidence.
    """

    lines: pd.DataFrame
    more: int
    tests: int
    outstanding: int
    untested: tuple[str, ...]
    correction: str
    level: float
    of_event: bool = False

    @property
    def headline(self) -> str:
        """The slice that adds most among those that stand out; or that none does."""
        if not len(self.lines):
            return "There is nothing to slice"
        if not self.outstanding:
            return "No slice stands out" if self.tests else "Every slice has too few rows to tell"
        worst = self.lines.iloc[0]
        says, right = told_apart(float(worst["claimed"]), float(worst["right"]))
        if self.of_event:
            return f"{worst['slice']}: mean risk {says}, observed {right}"
        return f"{worst['slice']}: says {says}, right {right}"

    @property
    def basis(self) -> str:
        """What it rests on: rows and interval, how many stand out of how many, after which correction."""
        corrected = "" if self.tests < 2 else f", corrected for {self.tests:,} tests ({self.correction})"
        if corrected and self.outstanding and self.correction != _CORRECTIONS["p_holm"]:
            corrected += _ON_AVERAGE
        few = self._few
        if not self.outstanding:
            return f"None of {self.tests:,} can be told from noise{corrected}.{few}" if self.tests else few.strip()
        worst = self.lines.iloc[0]
        ends = share_range(float(worst["low"]), float(worst["high"]))
        some = of_rows(worst["rows"], worst["worth"], worst.get("groups"))
        right = f"observed {ends}" if self.of_event else f"right {ends} of the time"
        rows = f"{some}; {right} ({at_level(self.level)} interval){self._beside(worst)}"
        count = f"{self.outstanding:,} of {self.tests:,} slices" if self.tests > 1 else "The only slice tested"
        stand = "stands" if self.outstanding == 1 else "stand"
        return f"{rows}. {count} {stand} out of the noise{corrected}.{few}"

    def _beside(self, line: pd.Series) -> str:
        """How a slice compares with all other rows."""
        if pd.isna(line["p_beyond"]):
            return ""
        away = points(line["beyond"])
        if not line["differs"]:
            return f". It is not shown to differ from all other rows ({away})"
        more = "more than" if (line["beyond"] > 0) == (line["gap"] > 0) else "otherwise than"
        return f". It is off {more} all other rows, by {away.lstrip('+−')}"

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
    ``level``; ``notion`` "event" where it is about the predicted risk of one. What can mislead: the order is by what a
    slice adds to the error, so that a large slice a little off stands above a small one far off.

    >>> import calib_core as cc
    >>> site = pd.DataFrame({"site": ["a"] * 40 + ["b"] * 40})
    >>> right = [True] * 30 + [False] * 10 + [True, False] * 20
    >>> p = cc.Predictions.from_confidence([0.75] * 80, right, metadata=site)
    >>> found = slice_dots(cc.slices.table(p, "site"))
    >>> found.headline
    'site = b: says 75 %, right 50 %'
    >>> found.basis.partition(". ")[0]
    '40 rows; right 36 to 64 % of the time (90 % interval)'
    """
    as_whole(most, "most", 1)
    as_share(level, "level")
    tested = table["p"].notna()
    lines = table.head(most).reset_index(drop=True)
    untested = tuple(table.loc[~tested, "slice"])
    found = int(tested.sum()), int(table["stands_out"].sum())
    correction = next(name for column, name in _CORRECTIONS.items() if column in table)
    return SliceDots(lines, len(table) - len(lines), *found, untested, correction, level, notion == "event")
