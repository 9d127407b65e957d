"""Interval, noise floor, test of calibration, ratio of events and verdict of an estimate, as plain values."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from calib_core._base.arrays import Float64s
from calib_core._base.notebook_display import OneLine
from calib_core.results.verdict_table import Word, in_full
from calib_core.text import at_level, between, chance, exact_tolerance, short_percent

RatioWord = Literal["within", "outside", "undecided"]


@dataclass(frozen=True, repr=False)
class Interval(OneLine):
    """A range for the true value: ``low`` and ``high``, at ``level``, by ``method``.

    ``about`` describes the true value; ``point`` is its estimate in the interval: the median of its distribution, or
    the nearest such value. ``tested``: whether this library's coverage table (or a proof) covers the case; ``sentence``
    is for the screen. ``p_value`` is that of this error or of a more significant error that it contains; then ``p_of``
    names that error, else it is empty. ``p_bound`` is that of a smaller error, if this error's own p-value is that of
    its noise floor. It is multiplied by ``p_times`` as the second test: ``p_with`` chooses.
    """

    low: float
    high: float
    level: float
    method: str
    tested: bool
    about: str
    point: float
    p_value: float | None = None
    p_of: str = ""
    p_bound: float | None = None
    p_times: float = 1.0

    def p_with(self, floor: float) -> tuple[float, str]:
        """Return the p-value, given that of the noise floor, and the name of its error if it is another one.

        >>> span = Interval(0.1, 0.3, 0.9, "", True, "", 0.2, p_of="ECE", p_bound=0.03, p_times=10)
        >>> span.p_with(0.2), span.p_with(0.002)
        ((0.03, 'ECE'), (0.02, ''))
        """
        if self.p_value is not None:
            return self.p_value, self.p_of
        own = min(1.0, self.p_times * floor)
        if self.p_bound is not None and self.p_bound < own:
            return self.p_bound, self.p_of
        return own, ""

    def __contains__(self, value: float) -> bool:
        return self.low <= value <= self.high

    def _line(self) -> str:
        trust = "" if self.tested else ", a rough guide"
        return f"{self.low:.4f} to {self.high:.4f} at {at_level(self.level)}, point {self.point:.4f}{trust}"

    def _facts(self) -> dict[str, object]:
        return {"interval": self.sentence, "point": f"{self.point:.4f}"}

    @property
    def sentence(self) -> str:
        """The interval with its method and coverage, in words."""
        trust = "its coverage is tested" if self.tested else "its coverage is not tested here: a rough guide"
        ends = f"{at_level(self.level)} interval {self.low:.4f} to {self.high:.4f}"
        return f"{ends} for {self.about} ({self.method}; {trust})"


@dataclass(frozen=True, eq=False, repr=False)
class NoiseFloor(OneLine):
    """Noise floor: ``draws`` (R,) of the statistic under perfect calibration, and the ``observed`` statistic.

    Conditional on the predictions, in the units of the statistic. What can mislead: an observed value below the floor
    does not show calibration; there may be too few rows to detect an error.
    """

    observed: float
    draws: Float64s
    higher_is_worse: bool = True

    @property
    def mean(self) -> float:
        """Mean of the statistic for calibrated models."""
        return float(self.draws.mean())

    @property
    def high(self) -> float:
        """The value that 95 % of calibrated models do not exceed (do not fall below, if higher is better)."""
        return float(np.quantile(self.draws, 0.95 if self.higher_is_worse else 0.05))

    @property
    def p_value(self) -> float:
        """(1 + #{T* >= T}) / (R + 1): the probability that a calibrated model reaches the observed value, never 0.

        Never too small, whatever the statistic. What can mislead: the statistic can take few values (the largest error
        of a hundred rows is that of one row). Many draws then equal the observed value, and the test rejects less often
        than its level.
        """
        worse, equal = self._ahead
        return (1 + worse + equal) / (len(self.draws) + 1)

    def exact_p_value(self, random_state: int) -> float:
        """The p-value with draws equal to the observed value ordered before or behind it at random: exact at any level.

        (1 + #{T* > T} + U) / (R + 1), U uniform on 0..#{T* = T}. Under calibration every rank is equally likely, so
        that P(p <= a) = a for a = 1/(R+1), 2/(R+1), ... What can mislead: the seed affects the answer where draws tie;
        choose it before looking. At most ``p_value``.

        References: Dufour 2006, Monte Carlo tests with nuisance parameters, Prop. 2.4.

        >>> NoiseFloor(0.0, np.zeros(999)).p_value, NoiseFloor(0.0, np.zeros(999)).exact_p_value(0) < 1
        (1.0, True)
        """
        worse, equal = self._ahead
        rank = int(np.random.default_rng(random_state).integers(equal + 1))
        return (1 + worse + rank) / (len(self.draws) + 1)

    @property
    def _ahead(self) -> tuple[int, int]:
        """Number of draws worse than the observed value, and equal to it."""
        # Sums in another order can differ in the last bit: smaller differences count as equal.
        slack = 1e-12 * max(1.0, abs(self.observed))
        over = self.draws - self.observed if self.higher_is_worse else self.observed - self.draws
        worse = int((over > slack).sum())
        return worse, int((over >= -slack).sum()) - worse

    @property
    def resamples(self) -> int:
        return len(self.draws)

    def _line(self) -> str:
        end = f"95 % {'up to' if self.higher_is_worse else 'from'} {self.high:.4f}"
        noise = f"noise {self.mean:.4f} on average, {end}"
        return f"observed {self.observed:.4f}, {noise}; {chance(self.p_value)} of {self.resamples:,} draws"


@dataclass(frozen=True, repr=False)
class TestOfCalibration(OneLine):
    """A test statistic with its p-value under perfect calibration.

    ``law``: the distribution used for the p-value, or the number of simulated samples; empty if not recorded or if
    outcomes were certain.
    """

    __test__ = False  # no test case, though its name begins like one

    name: str
    statistic: float
    p_value: float
    law: str = ""

    def _line(self) -> str:
        return f"{self.name} {self.statistic:.4g}, {chance(self.p_value)}"


@dataclass(frozen=True, repr=False)
class EventRatio(OneLine):
    """Ratio of observed to expected events, O / E, with its interval, compared with a tolerance.

    ``observed`` events happened, ``expected`` is the sum of the predicted risks, of ``rows`` rows (sums of weights
    where rows carry them). ``low`` to ``high`` is the interval of the expected O / E, each end at ``tail``. The
    tolerance is from 1 / ``tolerance`` to ``tolerance``. ``needed``: the expected events with which a calibrated model
    would be shown to lie within it in 8 of 10 samples. ``p_value`` is of the test that O / E is 1
    (``risk.in_the_large``), NaN where rows are weighted or belong to groups.
    """

    observed: float
    expected: float
    rows: float
    low: float
    high: float
    tail: float
    tolerance: float
    needed: float
    p_value: float = math.nan

    @property
    def value(self) -> float:
        """O / E."""
        return self.observed / self.expected

    @property
    def rate(self) -> float:
        """Observed frequency of the event."""
        return self.observed / self.rows

    @property
    def word(self) -> RatioWord:
        """Whether the whole interval is within the tolerance, or outside it."""
        if self.low > self.tolerance or self.high < 1 / self.tolerance:
            return "outside"
        return "within" if 1 / self.tolerance < self.low and self.high < self.tolerance else "undecided"

    @property
    def enough(self) -> bool:
        """True if there are at least ``needed`` expected events."""
        return self.expected >= self.needed

    def _line(self) -> str:
        tolerated = f"{1 / self.tolerance:.3g} to {self.tolerance:.3g}"
        return f"{self.value:.3g}, {self.low:.3g} to {self.high:.3g}; tolerance {tolerated}"


@dataclass(frozen=True, repr=False)
class Verdict(OneLine):
    """One of four verdicts, and the sentences that explain it: the answer, what to do, and the reason.

    - within: the upper end of the interval is below the tolerance ``eps``.
    - miscalibrated: the lower end is above it, and calibrated models show as much in no more than (1 - level)/2 of
      cases (p).
    - too close to call: the interval includes the tolerance, or calibrated models show as much more often.
    - too few rows to tell: it includes the tolerance, and would for a perfectly calibrated model too. Or the interval
      is below it and all rows are one group, with scores further apart than the tolerance.

    With about ``rows_needed`` rows a model with no error is within the tolerance in 8 of 10 samples. For an event it is
    within both tolerances (rows in groups: within each of them), as ``PLANS`` counts rows. With
    ``rows_with_error`` rows this is true of one whose error is half the tolerance (None where that is not known).
    ``low``, ``point`` and ``high`` are the interval on the scale of the tolerance. ``shown`` tests whether there is an
    error of any size, where it is too close to call. For an event ``ratio`` is that of observed to expected events,
    whose tolerance has to be met too. ``p_value`` belongs to the deciding measure: the error, or the ratio where only
    the ratio decides.
    """

    word: Word
    eps: float
    answer: str
    low: float
    point: float
    high: float
    shown: TestOfCalibration | None = None
    rows_needed: float | None = None
    rows_with_error: float | None = None
    ratio: EventRatio | None = None
    p_value: float | None = None
    reason: str = ""
    advice: str = ""

    @property
    def sentence(self) -> str:
        """The answer, then what to do, then the reason for the answer."""
        return " ".join(filter(None, (self.answer, self.advice, self.reason)))

    def _line(self) -> str:
        ends = between(self.low, self.high)
        return f"{in_full(self.word)}: {short_percent(self.point)}, {ends}; tolerance {exact_tolerance(self.eps)}"

    def _facts(self) -> dict[str, object]:
        return {"verdict": in_full(self.word), "tolerance": exact_tolerance(self.eps), "why": self.sentence}
