"""How often a judge errs, by what people marked, and the share right that its marks of the other rows then show."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from calib_core._base.arrays import Bools, Float64s
from calib_core._base.distributions import norm
from calib_core._base.distributions import t as student
from calib_core._base.notebook_display import OneLine
from calib_core.inference.intervals.clustered_rows import of_like_size, together
from calib_core.inference.intervals.elementary import around
from calib_core.inference.intervals.simulated_domain import LEVELS
from calib_core.predictions.row_groups import RowGroups
from calib_core.results.uncertainty import Interval
from calib_core.text import at_level, in_percent, share_range

FEWEST_OF_EACH = 5
"""Rows that people call right, and wrong, from which on the interval was simulated: with fewer it is a rough guide."""
FEWEST_OTHERS = 30
"""Rows that people did not mark, from which on it was."""
_METHOD = "Fieller's interval of Rogan and Gladen's estimate, with rows of both marks added"
_ABOUT = "the share right among the rows that people did not mark"


@dataclass(frozen=True, repr=False)
class JudgeErrors(OneLine):
    """What a judge makes of answers that people call right, and wrong; and the share right corrected for that.

    ``passes_right`` is the judge's mean mark of rows that people call right (of verdicts its sensitivity),
    ``passes_wrong`` that of rows they call wrong (1 less its specificity), of ``right`` and ``wrong`` rows; NaN where
    there are none. ``interval`` is that of the corrected share, None where it cannot be told, for the reason ``why``.
    """

    passes_right: float
    passes_wrong: float
    right: int
    wrong: int
    value: float
    interval: Interval | None
    why: str = ""

    @property
    def sentence(self) -> str:
        """How often the judge errs, and what follows; or why nothing does."""
        if self.interval is None:
            return f"The judge's errors alone cannot be corrected: {self.why}."
        ends = share_range(self.interval.low, self.interval.high)
        rough = "" if self.interval.tested else ", a rough guide"
        return (
            f"The judge's mean mark is {in_percent(self.passes_right)} where people say right and "
            f"{in_percent(self.passes_wrong)} where they say wrong; corrected for that alone, "
            f"{in_percent(self.interval.point)} of the other rows are right ({at_level(self.interval.level)} interval "
            f"{ends}{rough})."
        )

    def _line(self) -> str:
        found = self.why if self.interval is None else self.interval._line()
        return f"right {self.passes_right:.4f}, wrong {self.passes_wrong:.4f}; {found}"


def judge_errors(judge: Float64s, human: Float64s, known: Bools, groups: RowGroups | None, level: float) -> JudgeErrors:
    """The share right by the judge's marks of rows that people did not mark, corrected for how the judge errs.

    f_i in [0, 1] the judge's mark of row i, q its mean over the N rows that people did not mark, m1 and m0 its means
    over the rows that people call right and wrong:

        value = (q - m0) / (m1 - m0),   of verdicts (q + specificity - 1) / (sensitivity + specificity - 1).

    The interval is Fieller's: all shares p with (q - p m1 - (1 - p) m0)^2 <= z^2 V(p), V(p) = V_q + p^2 V_1 +
    (1 - p)^2 V_0 the variances of the three means, z the normal point of ``level``; with ``groups`` what rows of one
    add to q - p m1 - (1 - p) m0 is summed before it is squared, and z is Student's. Before that, rows of the largest
    and of the least mark, half each, are added: z^2 to the N, two to the right, two to the wrong ones.

    None, and ``why``, where people call no row right or none wrong, where they marked all, and where the means m1 and
    m0 do not differ beyond z: a judge who tells nothing apart cannot be corrected, and no share is excluded.

    What can mislead: it takes for granted that the judge errs as often in the other rows, right and wrong each, as in
    those that people marked. Shares of right rows may differ between the two (unlike in ``judged_share``); rows marked
    because the judge was in doubt, or because of its verdict, break it. ``value`` can lie outside [0, 1].

    References: Rogan & Gladen 1978; Fieller 1954; rows added as in Lang & Reiczigel 2014, eq. (7) and (16).
    """
    right, wrong = known & (human == 1), known & (human == 0)
    parts = [judge[where] for where in (~known, right, wrong)]
    means = [float(part.mean()) if len(part) else float("nan") for part in parts]
    (q, m1, m0), (others, n1, n0) = means, map(len, parts)
    value = (q - m0) / (m1 - m0) if m1 != m0 else float("nan")

    def refused(why: str) -> JudgeErrors:
        return JudgeErrors(m1, m0, n1, n0, float("nan"), None, why)

    if not others:
        return refused("people marked every row, and say themselves how many are right")
    if not n1 or not n0:
        empty, mark = ("right", "fails") if not n1 else ("wrong", "lets pass")
        return refused(f"people call no row {empty}, so that nobody knows how many of those the judge {mark}")
    ends = _fieller(judge, (~known, right, wrong), groups, level)
    if ends is None:
        return refused(
            f"it is not shown to tell right answers from wrong ones (mean mark {in_percent(m1)} of {n1:,} that people "
            f"call right, {in_percent(m0)} of {n0:,} that they call wrong)"
        )
    enough = min(n1, n0) >= FEWEST_OF_EACH and others >= FEWEST_OTHERS
    tested = groups is None and enough and LEVELS[0] <= level <= LEVELS[1]
    return JudgeErrors(m1, m0, n1, n0, value, around(value, ends, level, _METHOD, tested, _ABOUT))


def _fieller(
    judge: Float64s, parts: Sequence[Bools], groups: RowGroups | None, level: float
) -> tuple[float, float] | None:
    """Ends of the share; None where no share is excluded because right and wrong rows do not differ."""
    tail = (1 - level) / 2
    like = [_like(part, groups) for part in parts]
    z = float(norm.isf(tail)) if groups is None else float(student.isf(tail, max(min(like) - 1, 1)))
    extremes = np.array([judge.min(), judge.max()])
    means, added, extra = [], [], []
    for part, worth, more in zip(parts, like, (z * z, 2.0, 2.0), strict=True):
        rows = float(part.sum())
        each = rows / worth
        size = rows + more * each
        mean = float(judge[part].sum() + more * each * extremes.mean()) / size
        means.append(mean)
        added.append(together(np.where(part, (judge - mean) / size, 0.0), groups))
        extra.append(more * float(np.square(extremes - mean).mean()) * (each / size) ** 2)
    (q, m1, m0), (a, b, c), (more_q, more_1, more_0) = means, added, extra
    # The sum that is q - m0 - p (m1 - m0) is moved by u - p w.
    u, w = a - c, b - c
    square = (m1 - m0) ** 2 - z * z * (float(w @ w) + more_1 + more_0)
    cross = (q - m0) * (m1 - m0) - z * z * (float(u @ w) + more_0)
    rest = (q - m0) ** 2 - z * z * (float(u @ u) + more_q + more_0)
    if square <= 0:
        return None
    reach = float(np.sqrt(max(cross * cross - square * rest, 0.0)))
    low, high = (cross - reach) / square, (cross + reach) / square
    return min(max(low, 0.0), 1.0), max(min(high, 1.0), 0.0)


def _like(part: Bools, groups: RowGroups | None) -> float:
    """How many independent rows a part is worth, if all rows of a group were alike."""
    if groups is None:
        return float(part.sum())
    return of_like_size(groups.take(np.flatnonzero(part)), np.ones(int(part.sum())))
