"""Gain of a calibrator in each group of rows, and the group that gains least."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from calib_core._base.arrays import Float64s
from calib_core._base.notebook_display import OneLine
from calib_core.columns.cut import coded
from calib_core.evaluation.candidates import FoldTrial
from calib_core.evaluation.row_losses import name_of_score
from calib_core.predictions.predictions import Predictions
from calib_core.text import at_level, count
from calib_core.text import score as written

FEWEST = 20
"""Rows below which a group is not judged."""
HARM = 0.1
"""Share of the gain over all rows by which a group must be worse than with the model to count as harmed."""


@dataclass(frozen=True, eq=False, repr=False)
class GroupGains(OneLine):
    """Gain of a calibrator over the model in each group of a column, the least first.

    ``lines`` has one line per group with at least ``FEWEST`` rows: group, rows, before (the model's mean loss), gain,
    and its interval low to high. Intervals are at ``level`` for all groups together (Bonferroni).
    """

    column: str
    score: str
    level: float
    overall: float
    """Gain over all rows."""
    lines: pd.DataFrame

    @classmethod
    def of(cls, trial: FoldTrial, after: Predictions, gains: Float64s, column: str) -> GroupGains:
        """Return the gains (n,) of rows ``after`` a calibrator, by group of the trial's rows."""
        groups = [(where, places) for where, places in coded(trial.rows, column) if len(places) >= FEWEST]
        level = 1.0 - (1.0 - trial.level) / max(len(groups), 1)
        lines = []
        for where, places in groups:
            part = trial.part(places)
            gain = part.test(after.take(places), gains[places], level)[0]
            lines.append((where.title, len(places), part.mean(part.losses), gain.point, gain.low, gain.high))
        table = pd.DataFrame(lines, columns=["group", "rows", "before", "gain", "low", "high"])
        return cls(
            column,
            trial.score,
            trial.level,
            trial.mean(gains),
            table.sort_values("gain", ignore_index=True, kind="stable"),
        )

    def frame(self) -> pd.DataFrame:
        """One line per group, the least gain first."""
        return self.lines

    def records(self) -> list[dict[str, object]]:
        """The lines as plain values."""
        return [{str(name): value for name, value in line.items()} for line in self.lines.to_dict("records")]

    @property
    def least(self) -> float:
        """The least gain of a group; infinite without groups."""
        return float(self.lines["gain"].min()) if len(self.lines) else np.inf

    @property
    def harmed(self) -> pd.DataFrame:
        """Groups in which the calibrator is significantly worse than the model, by more than ``HARM`` of its gain."""
        return self.lines[self.lines["high"] < -HARM * max(self.overall, 0.0)]

    @property
    def sentence(self) -> str:
        """Sentence on the group that gains least; empty without groups."""
        if not len(self.lines):
            return ""
        line, name = self.lines.iloc[0], name_of_score(self.score)
        if line["low"] == line["high"] == 0:
            return f"{line['group']} gains least: its probabilities are unchanged."
        ends = f"{written(line['low'])} to {written(line['high'])}"
        number = f"corrected for {count(len(self.lines))} groups" if len(self.lines) > 1 else "of the only group"
        harmed = "" if not len(self.harmed) else " So the calibrator harms this group."
        size = written(abs(line["gain"]))
        effect = f"{name} {'falls' if line['gain'] >= 0 else 'rises'} by {size} ("
        if line["low"] <= 0 <= line["high"]:
            effect = f"{name} does not clearly change (gain {'−' if line['gain'] < 0 else ''}{size}, "
        return f"{line['group']} gains least: {effect}{at_level(self.level)} interval, {number}: {ends}).{harmed}"
