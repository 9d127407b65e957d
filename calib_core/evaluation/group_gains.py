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
_NOTHING = 1e-12
"""Gain below which the losses of a group are unchanged, up to rounding."""


@dataclass(frozen=True, eq=False, repr=False)
class GroupGains(OneLine):
    """Gain of a calibrator over the model in each group of a column, the least first.

    ``lines`` has one line per group: group, rows, before (the model's mean loss), gain, and its interval low to high.
    A group with fewer than ``FEWEST`` rows is last and has no numbers. Intervals are at ``level`` for all other groups
    together (Bonferroni). ``overall`` is the gain over all rows. ``tested``: whether intervals are valid at their
    level. ``where`` begins the sentence if these are not the judged rows.
    """

    column: str
    score: str
    level: float
    overall: float
    lines: pd.DataFrame
    tested: bool = True
    where: str = ""

    @classmethod
    def of(cls, trial: FoldTrial, after: Predictions, gains: Float64s, column: str) -> GroupGains:
        """Return the gains (n,) of rows ``after`` a calibrator, by group of the trial's rows."""
        every = coded(trial.rows, column)
        judged = sum(len(places) >= FEWEST for _, places in every)
        level = 1.0 - (1.0 - trial.level) / max(judged, 1)
        lines = []
        for group, places in every:
            numbers = (np.nan,) * 4
            if len(places) >= FEWEST:
                part = trial.part(places)
                gain = part.test(after.take(places), gains[places], level)[0]
                numbers = (part.mean(part.losses), gain.point, gain.low, gain.high)
            lines.append((group.title, len(places), *numbers))
        table = pd.DataFrame(lines, columns=["group", "rows", "before", "gain", "low", "high"])
        tested = trial.rows.weights is None and trial.rows.row_groups is None
        table = table.sort_values("gain", ignore_index=True, kind="stable")
        return cls(column, trial.score, trial.level, trial.mean(gains), table, tested)

    def frame(self) -> pd.DataFrame:
        """One line per group, the least gain first."""
        return self.lines

    @property
    def judged(self) -> pd.DataFrame:
        """Lines of the groups with enough rows."""
        return self.lines[self.lines["rows"] >= FEWEST]

    def records(self) -> list[dict[str, object]]:
        """The lines as plain values, None where there is no number."""
        lines = self.lines.astype(object).where(self.lines.notna(), None)
        return [{str(name): value for name, value in line.items()} for line in lines.to_dict("records")]

    @property
    def least(self) -> float:
        """The least gain of a group; infinite without groups."""
        return float(self.judged["gain"].min()) if len(self.judged) else np.inf

    @property
    def harmed(self) -> pd.DataFrame:
        """Groups in which the calibrator is significantly worse than the model, by more than ``HARM`` of its gain."""
        return self.lines[self.lines["high"] < -max(HARM * self.overall, _NOTHING)]

    @property
    def sentence(self) -> str:
        """Sentences on the group that is harmed or gains least, and on groups that are not judged."""
        few, left_out = f"fewer than {FEWEST} rows", len(self.lines) - len(self.judged)
        if not len(self.judged):
            return f"By {self.column}, no group is judged: all have {few}."
        harmed = len(self.harmed) > 0
        line = (self.harmed if harmed else self.lines).iloc[0]
        start = f"{line['group']} {'is harmed' if harmed else 'gains least'}: {self._effect(line)}."
        groups = "1 group has" if left_out == 1 else f"{count(left_out)} groups have"
        left = f" {groups} {few} and {'is' if left_out == 1 else 'are'} not judged." if left_out else ""
        return f"{self.where}{start}{left}"

    def _effect(self, line: pd.Series) -> str:
        name, gain, low, high = name_of_score(self.score), *(float(line[each]) for each in ("gain", "low", "high"))
        if max(abs(gain), abs(low), abs(high)) <= _NOTHING:
            return f"{name} is unchanged"
        size = written(abs(gain))
        way = f"{name} {'falls' if gain > 0 else 'rises'} by {size}"
        if not np.isfinite(low):
            return f"{way} (too few rows for an interval)"
        number = f", corrected for {count(len(self.judged))} groups" if len(self.judged) > 1 else ""
        guide = "" if self.tested else ", a rough guide"
        interval = f"{at_level(self.level)} interval"
        ends = f"{number}: {written(low)} to {written(high)}{guide}"
        if low <= 0 <= high:
            return f"{name} does not clearly change (gain {written(gain)}; {interval}{ends})"
        return f"{way} ({interval} of the gain{ends})"
