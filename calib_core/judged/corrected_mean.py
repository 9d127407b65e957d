"""Accuracy from a judge's marks of all rows and people's marks of a few, corrected for the judge's errors.

The module also estimates the judge's error rates from people's marks, and the accuracy that follows from them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from calib_core._base.arrays import Bools, Codes, Float64s
from calib_core._base.distributions import hypergeom, norm
from calib_core._base.distributions import t as student
from calib_core._base.errors import as_share
from calib_core._base.notebook_display import OneLine
from calib_core._base.pandas_input import plain
from calib_core.defaults import LEVEL
from calib_core.inference.intervals.clustered_rows import FEWEST, of_like_size, together
from calib_core.inference.intervals.elementary import around
from calib_core.inference.intervals.simulated_domain import LEVELS
from calib_core.predictions.predictions import InputError, NotAnswerable
from calib_core.predictions.row_groups import RowGroups, as_groups
from calib_core.results.uncertainty import Interval
from calib_core.text import at_level, begun, chance, in_percent, points, share_range

FEWEST_OF_EACH = 5
"""Fewest rows that people call right, and wrong, for a simulated interval; with fewer it is a rough guide."""
FEWEST_OTHERS = 30
"""Fewest rows not marked by people for a simulated interval."""
_JUDGED_METHOD = "Fieller's interval for Rogan and Gladen's estimate, with added rows of both marks"
_ABOUT_OTHERS = "the accuracy in the rows that people did not mark"


@dataclass(frozen=True, repr=False)
class JudgeErrors(OneLine):
    """Error rates of a judge by people's marks, and the accuracy corrected for them.

    ``passes_right`` is the judge's mean mark of rows that people call right (for verdicts its sensitivity), from
    ``right`` rows. ``passes_wrong`` is that of rows they call wrong (1 - specificity), from ``wrong`` rows. Each is NaN
    if there are none. ``interval`` is for the corrected share, None for the reason ``why``.
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
        """Error rates of the judge and the corrected accuracy, or the reason why there is no correction."""
        if self.interval is None:
            return f"No correction for the judge's errors: {self.why}."
        ends = share_range(self.interval.low, self.interval.high)
        rough = "" if self.interval.tested else ", a rough guide"
        return (
            f"The judge's mean mark is {in_percent(self.passes_right)} for answers that people call right, and "
            f"{in_percent(self.passes_wrong)} for answers that they call wrong. A second method corrects the judge's "
            f"marks of the other rows for these rates: {in_percent(self.interval.point)} of these rows are right "
            f"({at_level(self.interval.level)} interval {ends}{rough})."
        )

    def _line(self) -> str:
        found = self.why if self.interval is None else self.interval._line()
        return f"right {self.passes_right:.4f}, wrong {self.passes_wrong:.4f}; {found}"


def judge_errors(judge: Float64s, human: Float64s, known: Bools, groups: RowGroups | None, level: float) -> JudgeErrors:
    """Estimate the accuracy in rows that people did not mark from the judge's marks, corrected for its errors.

    The judge's mark of row i is f_i in [0, 1], and q is its mean over the N rows that people did not mark. Its means
    over the rows that people call right and wrong are m1 and m0:

        value = (q - m0) / (m1 - m0),   of verdicts (q + specificity - 1) / (sensitivity + specificity - 1).

    The interval is Fieller's: all shares p with (q - p m1 - (1 - p) m0)^2 <= z^2 V(p). Here V(p) = V_q + p^2 V_1 + (1 -
    p)^2 V_0 has the variances of the three means, and z is the normal quantile of ``level``. With ``groups``, the terms
    of q - p m1 - (1 - p) m0 are summed within groups before they are squared, and z is Student's. Before that, rows are
    added: z^2 to the N, two to the right, two to the wrong ones. Half of them have the largest and half the least mark.

    The interval is None, with ``why``, if people call no row right or no row wrong, or if they marked all rows. It is
    also None if m1 and m0 do not differ significantly. Such a judge cannot be corrected, and no share is excluded.

    What can mislead: it assumes that the judge has the same error rates in the other rows as in those that people
    marked. This is assumed for right and for wrong rows. Accuracies may differ between the two (unlike in
    ``judged_share``). Rows marked because the judge was uncertain, or because of its verdict, violate the assumption.
    ``value`` can be outside [0, 1].

    References: Rogan & Gladen 1978; Fieller 1954; added rows as in Lang & Reiczigel 2014, eq. (7) and (16).
    """
    right, wrong = known & (human == 1), known & (human == 0)
    parts = [judge[where] for where in (~known, right, wrong)]
    means = [float(part.mean()) if len(part) else float("nan") for part in parts]
    (q, m1, m0), (others, n1, n0) = means, map(len, parts)
    value = (q - m0) / (m1 - m0) if m1 != m0 else float("nan")

    def refused(why: str) -> JudgeErrors:
        return JudgeErrors(m1, m0, n1, n0, float("nan"), None, why)

    if not others:
        return refused("people marked every row, so their marks give the accuracy")
    if not n1 or not n0:
        empty, mark = ("right", "fails") if not n1 else ("wrong", "lets pass")
        return refused(f"people call no row {empty}, so it is unknown how many of those the judge {mark}")
    ends = _fieller(judge, (~known, right, wrong), groups, level)
    if ends is None:
        return refused(
            f"there is no evidence that it distinguishes right from wrong answers (mean mark {in_percent(m1)} for "
            f"{n1:,} that people call right, {in_percent(m0)} for {n0:,} that they call wrong)"
        )
    enough = min(n1, n0) >= FEWEST_OF_EACH and others >= FEWEST_OTHERS
    tested = groups is None and enough and LEVELS[0] <= level <= LEVELS[1]
    return JudgeErrors(m1, m0, n1, n0, value, around(value, ends, level, _JUDGED_METHOD, tested, _ABOUT_OTHERS))


def _fieller(
    judge: Float64s, parts: Sequence[Bools], groups: RowGroups | None, level: float
) -> tuple[float, float] | None:
    """Ends of the interval; None if no share is excluded because right and wrong rows do not differ."""
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
    # Added rows change q - m0 - p (m1 - m0) by u - p w.
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
    """Effective number of independent rows of a part, if all rows of a group were equal."""
    if groups is None:
        return float(part.sum())
    return of_like_size(groups.take(np.flatnonzero(part)), np.ones(int(part.sum())))


__all__ = ["FEWEST_LABELLED", "JudgedMean", "judged_gap", "judged_share"]

FEWEST_LABELLED = 20
"""Fewest rows marked by people for simulated intervals; with fewer they are a rough guide."""
_UNLIKE = 0.01
"""The p-value below which the judge's marks differ between rows that people marked and the others."""


@dataclass(frozen=True, repr=False)
class JudgedMean(OneLine):
    """Mean over rows with a judge's marks of all rows, and people's marks of a few.

    ``value`` is the estimate, ``standard_error`` its standard error, and ``interval`` its interval with a point inside.
    ``judge`` is the mean of the judge's marks, and ``alone`` the interval from people's marks only. ``power`` is the
    weight of the judge, from 0 to 1. ``note`` is a caveat, or empty. ``errors`` has the judge's error rates and the
    accuracy corrected for them; None for a gap.
    """

    value: float
    standard_error: float
    interval: Interval
    judge: float
    alone: Interval
    power: float
    rows: int
    labelled: int
    gap: bool = False
    note: str = ""
    errors: JudgeErrors | None = None

    def frame(self) -> pd.DataFrame:
        """Estimates by the judge only, by people only, by both, and by the judge corrected for its errors.

        ``rows`` is the number of rows used. The last estimate exists for shares only, if it is identified.

        >>> judged_share([1] * 30 + [0] * 70, [1] * 10 + [None] * 80 + [0] * 10).frame()["by"].tolist()
        ['judge alone', 'people alone', 'both', 'judge less its errors']
        """
        lines: list[tuple[str, float, float, float, int, bool]] = [
            ("judge alone", self.judge, np.nan, np.nan, self.rows, False)
        ]
        intervals = [("people alone", self.alone, self.labelled), ("both", self.interval, self.rows)]
        if self.errors is not None and self.errors.interval is not None:
            intervals.append(("judge less its errors", self.errors.interval, self.rows))
        lines += [(by, each.point, each.low, each.high, n, each.tested) for by, each, n in intervals]
        return pd.DataFrame(lines, columns=["by", "value", "low", "high", "rows", "tested"])

    @property
    def sentence(self) -> str:
        """Result, and the estimates by the judge and by people separately."""
        level = at_level(self.interval.level)
        if self.gap:
            ends = f"{points(self.interval.low).removesuffix(' points')} to {points(self.interval.high)}"
            found = f"Mean confidence minus accuracy is {points(self.interval.point)} ({level} interval {ends})"
        else:
            ends = share_range(self.interval.low, self.interval.high)
            found = f"{in_percent(self.interval.point)} of the answers are right ({level} interval {ends})"
        trust = "" if self.interval.tested else " The interval of the first number is a rough guide."
        errors = "" if self.errors is None else f" {self.errors.sentence}"
        note = f" {self.note}" if self.note else ""
        return f"{found}. {begun(self.apart)}.{trust}{errors}{note}"

    @property
    def apart(self) -> str:
        """Estimates by the judge only and by people only, as a clause."""
        if self.gap:
            judge, value = points(self.judge), points(self.alone.point)
            alone = f"{points(self.alone.low).removesuffix(' points')} to {points(self.alone.high)}"
        else:
            judge, value = in_percent(self.judge), in_percent(self.alone.point)
            alone = share_range(self.alone.low, self.alone.high)
        people = f"the {self.labelled:,} rows marked by people give {value} ({alone})"
        return f"for comparison: the judge's marks of all {self.rows:,} rows give {judge}, and {people}"

    def _line(self) -> str:
        return (
            f"{self.interval._line()}; judge alone {self.judge:.4f}, {self.labelled:,} of {self.rows:,} rows by people"
        )


def judged_share(
    judge: ArrayLike, human: ArrayLike, groups: ArrayLike | RowGroups | None = None, level: float = LEVEL
) -> JudgedMean:
    """Estimate the accuracy of answers if a judge marked all rows and people marked a few.

    With f_i the judge's mark of row i, and y_i people's mark of n of the rows (N others have no y_i):

        value = mean_n(y) + power (mean_N(f) - mean_n(f)),
        power = cov_n(y, f) / ((1 + n/N) var(f)), at least 0 and at most 1,

    so a judge with errors, even systematic ones, changes only the width of the interval:

        standard_error^2 = var_n(y - power f) / n + power^2 var_N(f) / N;

    with ``groups`` the terms are summed within groups before they are squared. The interval at ``level`` is Student's,
    with z^2 rows added to the n (z the normal quantile of the level). Half of them have y = 0 and the largest f, half y
    = 1 and the least f. A judge who agrees with people on 30 rows may still make errors.

    ``judge`` (rows,): verdicts (0 and 1, or True and False) or degrees from 0 to 1. ``human`` (rows,): 0, 1, or missing
    (None, NaN) if people did not mark the row. ``groups``: the question of every row, if several rows share one. Raises
    NotAnswerable for fewer than 10 rows (or groups) marked by people. The estimate is for rows like these.

    ``errors`` has the judge's error rates and the accuracy from these (``judge_errors``). It assumes equal error rates
    in marked and unmarked rows, but not equal accuracies.

    What can mislead: the rows that people mark must be drawn at random from all. If they are the uncertain ones, or the
    first ones, every number is wrong. ``note`` reports it only if the judge's marks differ between both sets of rows.
    People's marks count as the truth. Tuning the power on few rows makes intervals slightly too narrow: below
    FEWEST_LABELLED rows, and with groups, they are a rough guide.

    References: Angelopoulos, Duchi & Zrnic 2023, PPI++, eq. (6) and Example 6.1; Agresti & Coull 1998 (added rows).

    >>> judge = [1] * 80 + [0] * 20
    >>> human = [1] * 12 + [0] * 4 + [None] * 64 + [0] * 4 + [None] * 16  # of 16 that the judge lets pass 4 are wrong
    >>> found = judged_share(judge, human)
    >>> found.judge, round(found.value, 3), round(found.power, 3)
    (0.8, 0.6, 0.594)
    """
    f, y, known = _marks(judge, human)
    either = ((0.0, float(f.max())), (1.0, float(f.min())))
    return _mean(_Marked(y, f, f, known, as_groups(groups, None, len(f)), either), level, gap=False)


def judged_gap(
    confidence: ArrayLike,
    judge: ArrayLike,
    human: ArrayLike,
    groups: ArrayLike | RowGroups | None = None,
    level: float = LEVEL,
) -> JudgedMean:
    """Estimate mean confidence minus accuracy if a judge marked all rows and people marked a few.

    The mean of c_i - y_i, c_i the ``confidence`` (rows,) from 0 to 1: above 0 the answers are overconfident. It is
    computed as in ``judged_share``, from c_i - y_i and c_i - f_i; arguments, errors and caveats are the same. It is not
    a calibration error: gaps of opposite sign cancel.

    >>> judge = [1] * 80 + [0] * 20
    >>> human = [1] * 12 + [0] * 4 + [None] * 64 + [0] * 4 + [None] * 16
    >>> round(judged_gap([0.9] * 100, judge, human).value, 3)  # 0.9 less the 0.6 of judged_share
    0.3
    """
    f, y, known = _marks(judge, human)
    c = _numbers(confidence, "confidence")
    if c.shape != f.shape:
        raise InputError(f"confidence has {len(c):,} rows and judge {len(f):,}; give one of each per row")
    if not ((c >= 0) & (c <= 1)).all():
        row = int(np.argmin((c >= 0) & (c <= 1)))
        raise InputError(
            f"confidence row {row} is {c[row]:g}; confidences must be from 0 to 1 (divide percentages by 100)"
        )
    middle = float(c.mean())
    either = ((middle, middle - float(f.max())), (middle - 1.0, middle - float(f.min())))
    return _mean(_Marked(c - y, c - f, f, known, as_groups(groups, None, len(f)), either), level, gap=True)


@dataclass(frozen=True, eq=False)
class _Marked:
    """Marks of every row, (rows,), by people (y, NaN if missing) and by the judge (f).

    ``judge`` (rows,) are the judge's own marks; ``opposed``: y and f of rows in which both contradict each other.
    """

    y: Float64s
    f: Float64s
    judge: Float64s
    known: Bools
    groups: RowGroups | None
    opposed: Sequence[tuple[float, float]]

    @property
    def n(self) -> int:
        return int(self.known.sum())

    @property
    def rest(self) -> Float64s:
        """Judge's marks of the other rows."""
        return self.f[~self.known]

    @property
    def power(self) -> float:
        """Weight of the judge: PPI++ with power tuning."""
        y, f = self.y[self.known], self.f[self.known]
        spread = float(self.f.var(ddof=1))
        if not len(self.rest) or spread <= 0.0:
            return 0.0
        shared = float(((y - y.mean()) * (f - f.mean())).mean())
        return float(np.clip(shared / ((1 + self.n / len(self.rest)) * spread), 0.0, 1.0))

    @property
    def like(self) -> float:
        """Effective number of independent rows marked by people, if all rows of a group were equal."""
        if self.groups is None:
            return float(self.n)
        return of_like_size(self.groups.take(_places(self.known)), np.ones(self.n))

    def value(self, power: float) -> float:
        others = power * float(self.rest.mean()) if len(self.rest) else 0.0
        return others + float((self.y - power * self.f)[self.known].mean())

    def variance(self, power: float, middle: float, size: float) -> float:
        """Variance of the estimate from the terms of rows or groups, for a mean ``middle`` over ``size`` rows."""
        added = np.zeros(len(self.f))
        added[self.known] = ((self.y - power * self.f)[self.known] - middle) / size
        if len(self.rest):
            added[~self.known] = power * (self.rest - self.rest.mean()) / len(self.rest)
        return float(np.square(together(added, self.groups)).sum())

    def interval(self, power: float, level: float, possible: tuple[float, float]) -> Interval:
        """Student's interval with added rows in which judge and people contradict each other."""
        like = self.like
        tail = (1 - level) / 2
        further = float(norm.isf(tail)) ** 2
        each = self.n / like
        size = self.n + further * each
        apart = np.array([y - power * f for y, f in self.opposed])
        middle = (float((self.y - power * self.f)[self.known].sum()) + further * each * float(apart.mean())) / size
        added = further * float(np.square(apart - middle).mean()) * (each / size) ** 2
        spread = np.sqrt((self.variance(power, middle, size) + added) * like / (like - 1))
        centre = middle + (power * float(self.rest.mean()) if len(self.rest) else 0.0)
        reach = float(student.isf(tail, like - 1)) * float(spread)
        ends = (max(centre - reach, possible[0]), min(centre + reach, possible[1]))
        tested = self.groups is None and self.n >= FEWEST_LABELLED and LEVELS[0] <= level <= LEVELS[1]
        return around(self.value(power), ends, level, _METHOD, tested, _ABOUT)

    @property
    def unlike(self) -> str:
        """Caveat if the judge's marks differ between the rows that people marked and the others; else empty."""
        if not len(self.rest):
            return ""
        p = self._drawn_so()
        if p >= _UNLIKE:
            return ""
        marked, rest = self.judge[self.known].mean(), self.judge[~self.known].mean()
        return (
            f"The rows that people marked differ from the others: the judge's mean is {marked:.2g} in them and "
            f"{rest:.2g} in the others ({chance(p)}). Draw them at random from all rows."
        )

    def _drawn_so(self) -> float:
        """Two-sided p-value for a random draw of the marked rows; exact if the judge's marks are verdicts.

        Otherwise it uses a normal distribution with the sampling variance from all rows. The variance of a few marked
        rows is far too small if none of them is a rare one.
        """
        n, rows = self.n, len(self.judge)
        if self.groups is None and np.isin(self.judge, (0.0, 1.0)).all():
            yes, law = int(self.judge[self.known].sum()), (rows, int(self.judge.sum()), n)
            return min(1.0, 2 * min(hypergeom.cdf(yes, *law), hypergeom.sf(yes - 1, *law)))
        f = self.judge - self.judge.mean()
        added = np.where(self.known, f / n, -f / len(self.rest))
        drawn = float(np.square(f).sum()) / (rows - 1) * rows / (n * len(self.rest))
        error = float(np.sqrt(max(drawn, float(np.square(together(added, self.groups)).sum()))))
        return 2 * float(norm.sf(abs(float(added.sum())) / error)) if error > 0 else 1.0


_METHOD = "PPI++, Student's interval with added rows in which judge and people differ"
_ABOUT = "the mean over rows like these, by people's marks"


def _mean(marked: _Marked, level: float, gap: bool) -> JudgedMean:
    as_share(level, "level")
    n, what = marked.n, "rows" if marked.groups is None else "groups of similar size"
    if marked.like < FEWEST:
        raise NotAnswerable(
            f"people marked {n:,} rows"
            + (f", equivalent to {marked.like:.3g} {what}" if marked.groups is not None else "")
            + f"; the judge's error rates need at least {FEWEST} {what}. Have more rows marked, drawn at random"
        )
    possible = (-1.0, 1.0) if gap else (0.0, 1.0)
    power = marked.power
    middle = float((marked.y - power * marked.f)[marked.known].mean())
    span = marked.interval(power, level, possible)
    return JudgedMean(
        span.point,
        float(np.sqrt(marked.variance(power, middle, n))),
        span,
        float(marked.f.mean()),
        marked.interval(0.0, level, possible),
        power,
        len(marked.f),
        n,
        gap,
        marked.unlike,
        None if gap else judge_errors(marked.f, marked.y, marked.known, marked.groups, level),
    )


def _marks(judge: ArrayLike, human: ArrayLike) -> tuple[Float64s, Float64s, Bools]:
    """Judge's marks, people's marks, and a mask of rows with people's marks."""
    f, y = _numbers(judge, "judge"), _numbers(human, "human")
    if f.shape != y.shape:
        raise InputError(
            f"judge has {len(f):,} rows and human {len(y):,}; give one of each per row, None if not marked"
        )
    if not ((f >= 0) & (f <= 1)).all():
        row = int(np.argmin((f >= 0) & (f <= 1)))
        advice = "leave out rows that were not judged" if np.isnan(f[row]) else "divide marks of 1 to 10 by 10"
        raise InputError(f"judge row {row} is {f[row]:g}; verdicts are 0 or 1, degrees are in between: {advice}")
    known = ~np.isnan(y)
    if not np.isin(y[known], (0.0, 1.0)).all():
        row = int(np.flatnonzero(known & ~np.isin(y, (0.0, 1.0)))[0])
        raise InputError(f"human row {row} is {y[row]:g}; expected 1 for a right answer, 0 for a wrong one, or missing")
    return f, y, np.asarray(known)


def _numbers(values: ArrayLike, name: str) -> Float64s:
    given = pd.Series(plain(values), dtype=object)
    found = pd.to_numeric(given, errors="coerce")
    if (unclear := (found.isna() & given.notna()).to_numpy()).any():
        row = int(np.argmax(unclear))
        raise InputError(f"{name} row {row} is {str(given[row])[:80]!r}; expected a number per row, such as 1 or 0")
    return np.asarray(found.to_numpy(np.float64))


def _places(known: Bools) -> Codes:
    return np.flatnonzero(known)
