"""Plan for the external validation of a predicted risk: rows for precise O:E, slope, AUROC and net benefit."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Annotated, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from calib_core._base.arrays import Float64s
from calib_core._base.distributions import beta as beta_law
from calib_core._base.distributions import norm
from calib_core._base.errors import InputError, NotAnswerable, as_share
from calib_core._base.notebook_display import OneLine
from calib_core.guarantees.bounds import fewest
from calib_core.inference.intervals.event_rows import EventRows, log_odds
from calib_core.planning.question import PLANS, Plan, RowsInUse, independent
from calib_core.registry.registry import Range
from calib_core.text import at_level, in_percent, listed, score, several

TITLES = {
    "ratio": "O:E",
    "slope": "calibration slope",
    "auroc": "AUROC",
    "benefit": "standardized net benefit",
}
"""Names of the criteria."""
_QUANTILES = 4000
LEVEL_OF_VALIDATION = 0.95
"""Level of the intervals in the published criteria."""


@dataclass(frozen=True, eq=False, repr=False)
class ValidationSize(OneLine):
    """Widths of the intervals of a validation by its number of rows, and the rows for the ``targets``.

    ``targets`` are widths by criterion (``TITLES``). ``slope_variance`` and ``benefit_variance`` are the variances of
    the slope and the standardized net benefit times the number of rows; ``benefit`` is the latter's expected value.
    Both are NaN without a threshold.
    """

    event_rate: float
    auroc: float
    slope_variance: float
    benefit: float
    benefit_variance: float
    targets: dict[str, float]
    level: float

    def widths(self, rows: ArrayLike) -> dict[str, Float64s]:
        """Expected widths of the intervals, by criterion, at these numbers of rows (m,)."""
        n = np.asarray(rows, dtype=np.float64)
        z, rate, c = float(norm.isf((1 - self.level) / 2)), self.event_rate, self.auroc
        half = n / 2 - 1
        of_auroc = c * (1 - c) * (1 + half * (1 - c) / (2 - c) + half * c / (1 + c)) / (n * n * rate * (1 - rate))
        found = {
            "ratio": 2 * np.sinh(z * np.sqrt((1 - rate) / (rate * n))),
            "slope": 2 * z * np.sqrt(self.slope_variance / n),
            "auroc": 2 * z * np.sqrt(of_auroc),
            "benefit": 2 * z * np.sqrt(self.benefit_variance / n),
        }
        return {name: found[name] for name in self.targets}

    def needed(self, criterion: str) -> int:
        """Fewest rows with an interval of at most the target width."""
        target = self.targets[criterion]
        return fewest(lambda n: float(self.widths(float(n))[criterion]) <= target * (1 + 1e-12), target)

    @property
    def rows(self) -> int:
        """Fewest rows for all criteria."""
        return max(map(self.needed, self.targets))

    @property
    def events(self) -> float:
        """Expected events among them."""
        return self.rows * self.event_rate

    @property
    def decides(self) -> str:
        """Criterion that needs most rows."""
        return max(self.targets, key=self.needed)

    def frame(self) -> pd.DataFrame:
        """One line per criterion: measure, title, expected value, target width, rows and events needed."""
        value = {"ratio": 1.0, "slope": 1.0, "auroc": self.auroc, "benefit": self.benefit}
        needed = {name: self.needed(name) for name in self.targets}
        lines = [
            (name, TITLES[name], value[name], width, needed[name], needed[name] * self.event_rate)
            for name, width in self.targets.items()
        ]
        return pd.DataFrame(lines, columns=["measure", "title", "value", "width", "rows", "events"])

    @property
    def sentence(self) -> str:
        """Rows and events needed, the criterion that determines them, and the rows for the others."""
        others = [f"{TITLES[name]} {self.needed(name):,}" for name in self.targets if name != self.decides]
        widths = [f"{TITLES[name]} {score(width)}" for name, width in self.targets.items()]
        return (
            f"Intervals of the target widths ({listed(widths)}) need {self.rows:,} rows, with about "
            f"{math.ceil(self.events - 1e-9):,} events. The {TITLES[self.decides]} determines this number. The others "
            f"need fewer rows: {listed(others)}."
        )

    def _line(self) -> str:
        return self.sentence


def validation_size(
    risks: ArrayLike,
    weights: ArrayLike | None = None,
    *,
    event_rate: float | None = None,
    auroc: float | None = None,
    threshold: float | None = None,
    ratio_width: float = 0.2,
    slope_width: float = 0.2,
    auroc_width: float = 0.1,
    benefit_width: float = 0.2,
    level: float = LEVEL_OF_VALIDATION,
) -> ValidationSize:
    """Sample size for the external validation of a risk model: rows for intervals of stated widths.

    Each criterion is the width of a normal interval for a calibrated model, with event rate f, AUROC C and N rows:

    - O:E, se(log O:E) = sqrt((1 - f) / (f N));
    - calibration slope, se = sqrt(I00 / (N (I00 I11 - I01^2))). I00, I01 and I11 are the means of v, v x and v x^2
      over the risks p, x their log-odds and v = p (1 - p).
    - AUROC, se^2 = C (1 - C) (1 + h (1 - C) / (2 - C) + h C / (1 + C)) / (N^2 f (1 - f)), h = N / 2 - 1 (Newcombe);
    - with a ``threshold`` t, standardized net benefit NB / f. Here s and q are sensitivity
      and specificity, and w = (1 - f) / f * t / (1 - t). Its se^2 is (s (1 - s) / f + w^2 q (1 - q) / (1 - f) +
      w^2 (1 - q)^2 / (f (1 - f))) / N.

    Parameters
    ----------
    risks : expected distribution of the predicted risks, (n,), between 0 and 1, with ``weights`` (n,).
    event_rate, auroc : None takes those of a calibrated model with these risks.
    threshold : risk above which someone would act, between 0 and 1; None: no criterion for the net benefit.
    ratio_width, slope_width, auroc_width, benefit_width : target widths, above 0.
    level : level of the intervals.

    What can mislead: the numbers are for a model that is calibrated in the new rows, and for risks distributed as
    stated. A miscalibrated slope or another distribution needs other numbers. The error of O:E is that of a frequency:
    where risks differ much, the true one is smaller. The criteria are about precision; a
    verdict with a stated power is another question (``plan within``, ``risk.events_needed``). NotAnswerable for risks
    that are all equal, since then there is no slope.

    References: Riley et al. 2021, Statistics in Medicine 40, 4230; Newcombe 2006.

    >>> x = norm.ppf((np.arange(4000) + 0.5) / 4000) * 2.5 - 5  # log-odds with mean -5 and deviation 2.5
    >>> size = validation_size(1 / (1 + np.exp(-x)), event_rate=0.018, auroc=0.8, ratio_width=1)
    >>> size.frame()["rows"].tolist()  # the authors, by simulation: 905, 4,544 and 4,252
    [906, 4554, 4252]
    """
    as_share(level, "level")
    p = np.asarray(risks, dtype=np.float64)
    if p.ndim != 1 or not len(p) or not ((p >= 0) & (p <= 1)).all():
        raise InputError("risks must be a list of numbers between 0 and 1, one per row")
    w = np.full(len(p), 1 / len(p)) if weights is None else np.asarray(weights, dtype=np.float64)
    if w.shape != p.shape or not (w >= 0).all() or not w.sum() > 0:
        raise InputError(f"weights must be {len(p):,} numbers of at least 0, as many as risks, and not all 0")
    w = w / w.sum()
    if event_rate is not None:
        as_share(event_rate, "event_rate")
    if auroc is not None and not 0.5 < auroc < 1:
        raise InputError(f"auroc is {auroc!r:.80}; it must be above 0.5 and below 1")
    targets = {"ratio": ratio_width, "slope": slope_width, "auroc": auroc_width}
    if threshold is not None:
        as_share(threshold, "threshold")
        targets["benefit"] = benefit_width
    for name, width in targets.items():
        if not (width > 0 and math.isfinite(width)):
            raise InputError(f"{name}_width is {width!r:.80}; it must be a number above 0")
    rate = float(w @ p) if event_rate is None else event_rate
    if not 0 < rate < 1:
        raise NotAnswerable("all risks are 0, or all are 1: then there is nothing to validate")
    benefit, benefit_variance = (math.nan,) * 2 if threshold is None else _benefit(p, w, rate, threshold)
    return ValidationSize(
        event_rate=rate,
        auroc=calibrated_auroc(p, w) if auroc is None else auroc,
        slope_variance=_slope_variance(p, w),
        benefit=benefit,
        benefit_variance=benefit_variance,
        targets=targets,
        level=level,
    )


def _slope_variance(p: Float64s, w: Float64s) -> float:
    """Variance of the calibration slope of a calibrated model, times the number of rows."""
    x, v = log_odds(p), w * p * (1 - p)
    information, middle = float(v.sum()), float(v @ x)
    spread = float(v @ np.square(x - middle / information)) if information > 0 else 0.0
    if not spread > 1e-12:
        raise NotAnswerable("all risks are equal: a calibration slope needs risks that differ")
    return 1 / spread


def _benefit(p: Float64s, w: Float64s, rate: float, threshold: float) -> tuple[float, float]:
    """Standardized net benefit of a calibrated model, and its variance times the number of rows."""
    acted = p > threshold
    hit = float(w @ (p * acted)) / float(w @ p)
    spared = float(w @ ((1 - p) * ~acted)) / float(w @ (1 - p))
    odds = (1 - rate) / rate * threshold / (1 - threshold)
    variance = (
        hit * (1 - hit) / rate
        + odds**2 * spared * (1 - spared) / (1 - rate)
        + odds**2 * (1 - spared) ** 2 / (rate * (1 - rate))
    )
    return hit - odds * (1 - spared), variance


def calibrated_auroc(risks: Float64s, weights: Float64s) -> float:
    """AUROC of a calibrated model with these risks: two rows' chance to be in order, given that one has the event.

    >>> round(calibrated_auroc(np.array([0.2, 0.8]), np.array([0.5, 0.5])), 2)  # .8 * .8 + half of 2 * .8 * .2
    0.8
    """
    order = np.argsort(risks, kind="stable")
    p, w = risks[order], weights[order]
    value, place = np.unique(p, return_inverse=True)
    mass = np.bincount(place, w, len(value))
    events, others = mass * value, mass * (1 - value)
    below = np.cumsum(others) - others / 2
    return float(events @ below / (events.sum() * others.sum()))


def beta_risks(alpha: float, beta: float) -> Float64s:
    """Evenly spaced quantiles of the Beta distribution of risks, (4000,).

    >>> round(float(beta_risks(1, 3).mean()), 4)
    0.25
    """
    for name, value in (("alpha", alpha), ("beta", beta)):
        if not (value > 0 and math.isfinite(value)):
            raise InputError(f"{name} is {value!r:.80}; a parameter of a Beta distribution must be above 0")
    return np.asarray(beta_law.ppf((np.arange(_QUANTILES) + 0.5) / _QUANTILES, alpha, beta))


def beta_of(event_rate: float, auroc: float) -> tuple[float, float]:
    """Parameters of the Beta distribution of risks of a calibrated model with this event rate and AUROC.

    alpha = f k and beta = (1 - f) k; the AUROC falls from 1 to 1/2 as k rises.

    >>> alpha, beta = beta_of(0.25, 0.75)
    >>> round(alpha / (alpha + beta), 3), round(calibrated_auroc(beta_risks(alpha, beta), np.full(4000, 1 / 4000)), 3)
    (0.25, 0.75)
    """
    from scipy.optimize import brentq  # slow to import

    as_share(event_rate, "event_rate")
    if not 0.501 <= auroc <= 0.999:
        raise InputError(f"auroc is {auroc!r:.80}; it must be between 0.501 and 0.999")
    flat = np.full(_QUANTILES, 1 / _QUANTILES)

    def beyond(log_sum: float) -> float:
        total = math.exp(log_sum)
        return calibrated_auroc(beta_risks(event_rate * total, (1 - event_rate) * total), flat) - auroc

    total = math.exp(brentq(beyond, *_bracket(beyond), xtol=1e-6))
    return event_rate * total, (1 - event_rate) * total


def _bracket(beyond: Callable[[float], float]) -> tuple[float, float]:
    """Ends between which a falling function has its zero."""
    low, high = 0.0, 1.0
    while beyond(low) < 0:
        low -= 1.0
    while beyond(high) > 0:
        high += 1.0
    return low, high


_WIDTH = Range(0.02, 2, log=True)


@PLANS.register(
    "validation", "Rows to validate a predicted risk on new data", reference="Riley et al. 2021, Stat Med 40, 4230"
)
@dataclass(frozen=True)
class Validation(Plan):
    """Widths of the intervals of O:E, calibration slope, AUROC and net benefit, by the number of rows.

    The distribution of risks is that of the file, or Beta(``alpha``, ``beta``). Without either it is the Beta
    distribution of a calibrated model with the stated event rate and AUROC. See ``planning.validation_size``.
    """

    rows: Annotated[
        int | None, Range(2, 10**9, log=True), "Number of test rows", "number of rows of the validation"
    ] = None
    event_rate: Annotated[
        float | None, Range(0.0005, 0.95, log=True), "Share of events", "expected share of rows with the event"
    ] = None
    auroc: Annotated[float | None, Range(0.51, 0.99), "AUROC", "expected AUROC (C statistic)"] = None
    alpha: Annotated[
        float | None,
        Range(0.01, 1000, log=True),
        "Beta: alpha",
        "first parameter of a Beta distribution of risks, instead of event rate and AUROC",
    ] = None
    beta: Annotated[
        float | None, Range(0.01, 1000, log=True), "Beta: beta", "second parameter of this distribution"
    ] = None
    threshold: Annotated[
        float, Range(0, 0.99), "Threshold", "risk above which someone acts, for the net benefit; 0: left out"
    ] = 0.0
    ratio_width: Annotated[float, _WIDTH, "Width for O:E", "target width of the interval of O:E"] = 0.2
    slope_width: Annotated[
        float, _WIDTH, "Width for the slope", "target width of the interval of the calibration slope"
    ] = 0.2
    auroc_width: Annotated[
        float, Range(0.01, 0.5, log=True), "Width for AUROC", "target width of the interval of the AUROC"
    ] = 0.1
    benefit_width: Annotated[
        float, _WIDTH, "Width for the net benefit", "target width of the interval of the standardized net benefit"
    ] = 0.2
    level: Annotated[float, Range(0.5, 0.999), "Level", "confidence level of the intervals"] = LEVEL_OF_VALIDATION
    size: ValidationSize | None = None

    wanted, rows_of = "", "test"
    leaves = ("alpha", "beta")
    scores = ("ratio_width", "slope_width", "auroc_width", "benefit_width", "alpha", "beta")
    least = 50
    x_title = "number of rows of the validation"
    y_title = "width of the interval / target width"
    unit = "score"
    basis = (
        "Published criteria for the external validation of a risk model (Riley et al. 2021), with normal "
        "approximations. The model is assumed to be calibrated, with risks distributed as in the file or as stated. "
        "The widths are those expected; in half of all samples intervals are wider."
    )

    @property
    def idle(self) -> tuple[str, ...]:
        return () if self.threshold else ("benefit_width",)

    @property
    def limit(self) -> float:
        """Ratio of width and target width with which every interval is narrow enough."""
        return 1.0

    def filled(self, rows: RowsInUse) -> Self:
        risks, weights, known = self._risks(rows)
        if known is None:
            raise NotAnswerable("“Number of test rows” (rows) is missing; give a number, or a file that determines it")
        size = validation_size(
            risks,
            weights,
            event_rate=self.event_rate,
            auroc=self.auroc,
            threshold=self.threshold or None,
            ratio_width=self.ratio_width,
            slope_width=self.slope_width,
            auroc_width=self.auroc_width,
            benefit_width=self.benefit_width,
            level=self.level,
        )
        return replace(self, rows=known, event_rate=size.event_rate, auroc=size.auroc, size=size)

    def _risks(self, rows: RowsInUse) -> tuple[Float64s, Float64s | None, int | None]:
        """Distribution of risks, with weights, and the number of rows."""
        test, known = rows.test, self.rows
        if (self.alpha is None) != (self.beta is None):
            raise NotAnswerable("a Beta distribution needs both of its parameters: give alpha and beta")
        if test is not None:
            known = known or max(int(independent(test).effective_rows), 2)
            if self.alpha is None:
                trials = EventRows.of(independent(test)).trials
                return trials.score, trials.rows, known
        if self.alpha is not None and self.beta is not None:
            return beta_risks(self.alpha, self.beta), None, known
        for name, value in (("event_rate", self.event_rate), ("auroc", self.auroc)):
            if value is None:
                raise NotAnswerable(
                    f"“{PLANS['validation'].param(name).label}” ({name}) is missing; give a number, or a file of "
                    "predicted risks"
                )
        return beta_risks(*beta_of(self.event_rate or 0.0, self.auroc or 0.0)), None, known

    def curves(self, amounts: Float64s) -> dict[str, Float64s]:
        assert self.size is not None
        each = {name: width / self.size.targets[name] for name, width in self.size.widths(amounts).items()}
        widest = np.max(list(each.values()), axis=0)
        return {"widest of all": widest} | {TITLES[name]: widths for name, widths in each.items()}

    def needed(self) -> int:
        assert self.size is not None
        return self.size.rows

    def answer(self) -> str:
        assert self.size is not None
        widths = [f"{TITLES[name]} {score(float(width))}" for name, width in self.size.widths(self.amount).items()]
        events = f"about {several(round(self.amount * self.size.event_rate), 'events')}"
        return (
            f"With {several(self.rows or 2)} ({events}), the {at_level(self.level)} intervals of a calibrated model "
            f"would be about this wide: {listed(widths)}. This is for an event rate of "
            f"{in_percent(self.size.event_rate)} and an AUROC of {score(self.size.auroc)}."
        )

    def inverse(self) -> str:
        assert self.size is not None
        return self.size.sentence
