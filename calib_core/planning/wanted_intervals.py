"""Plans for intervals: rows for a target width, to show an error within tolerance, and to verify few outputs."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Annotated, Self

import numpy as np

from calib_core._base.arrays import Float64s
from calib_core._base.errors import NotAnswerable
from calib_core.defaults import LEVEL, SEED, TOLERANCE
from calib_core.estimators.base import Question
from calib_core.guarantees.bounds import fewest
from calib_core.inference.intervals.elementary import clopper_pearson
from calib_core.inference.intervals.interval_methods import highs_of_most, power_by_rows
from calib_core.inference.intervals.inversion import CellGaps, Noise, square_high
from calib_core.inference.verdicts.events_needed import POWER, EventSampleSize, event_sample_size
from calib_core.inference.verdicts.primary_measure import primary
from calib_core.inference.verdicts.verdict import tolerated_ratios
from calib_core.planning.question import PLANS, Plan, RowsInUse
from calib_core.predictions.predictions import Predictions
from calib_core.registry.registry import Range
from calib_core.text import at_level, exact_tolerance, in_percent, of_rows, points_of, several, short_percent
from calib_core.text import events as counted_events
from calib_core.text import rows as about

_ROWS = Annotated[
    int | None,
    Range(2, 10**9, log=True),
    "Number of test rows",
    "rows with known outcomes that the interval is computed from",
]
_LEVEL = Annotated[
    float, Range(0.5, 0.999), "Level", "confidence level: how often such intervals contain the true value"
]
_WIDTH = Annotated[float, Range(0.0005, 0.5, log=True), "Target width", "distance between the ends of the interval"]
_RATIO = Annotated[
    float | None,
    Range(1.01, 10),
    "Tolerated ratio",
    "two classes: tolerated ratio of observed to expected events; 1.25 allows 0.8 to 1.25",
]
_TOLERANCE = Annotated[float | None, Range(0.0005, 0.5, log=True), "Tolerance", "largest error that does not matter"]
_FACTORS = tuple(2.0**power for power in range(-3, 7))
"""Multiples of the rows at hand with simulated upper ends; beyond, the curve follows the root of the rows."""
_DRAWS, _ERRORS = 9, 500
_LEAST_IN_BIN = 20


@PLANS.register(
    "accuracy-interval",
    "Rows for an interval of the accuracy, or of another rate",
    reference="Clopper & Pearson 1934",
)
@dataclass(frozen=True)
class AccuracyInterval(Plan):
    """Width of the exact interval for an accuracy, or any share of rows, by the number of rows.

    The Clopper-Pearson interval if the observed share equals the expected one; fractional numbers of rows are allowed.
    """

    accuracy: Annotated[
        float | None, Range(0, 1), "Expected share", "accuracy, or another share of rows, that you expect"
    ] = None
    rows: _ROWS = None
    width: _WIDTH = 0.02
    level: _LEVEL = LEVEL

    wanted, rows_of = "width", "test"
    x_title = "test rows"
    y_title = "width of the interval"
    basis = "Exact for independent rows if the observed share is as expected."

    def curves(self, amounts: Float64s) -> dict[str, Float64s]:
        low, high = clopper_pearson((self.accuracy or 0.0) * amounts, amounts, self.level)
        return {"width of the interval": high - low}

    def needed(self) -> int:
        return fewest(lambda n: self.curves(np.array([float(n)]))["width of the interval"][0] <= self.width, self.width)

    def answer(self) -> str:
        n, share = float(self.rows or 2), self.accuracy or 0.0
        (low,), (high,) = clopper_pearson(np.array([share * n]), np.array([n]), self.level)
        return (
            f"An accuracy, or another share, of {in_percent(share)} in {several(self.rows or 2)} has a "
            f"{at_level(self.level)} interval about {points_of(short_percent(self.bound))} wide: "
            f"{short_percent(low, 1).removesuffix(' %')} to {short_percent(high, 1)}."
        )

    def inverse(self) -> str:
        return f"A width of at most {points_of(short_percent(self.width))} needs {several(self.needed())}."


class _OfTheData(Plan):
    """Base class of plans whose curve is measured on the data in use, for the verdict's primary measure."""

    measured: tuple[tuple[float, float], ...]
    rows_of = "test"

    @property
    def tolerance(self) -> float:
        """Target error or width."""
        return self.limit or TOLERANCE

    def _test(self, rows: RowsInUse) -> Predictions:
        if rows.test is None:
            raise NotAnswerable("the number of rows depends on the scores, so a file of predictions is needed")
        return rows.test.answered

    def _alone(self, rows: RowsInUse) -> Predictions:
        """Test rows, which must not be grouped."""
        test = self._test(rows)
        if test.row_groups is not None:
            raise NotAnswerable(
                f"the rows belong to {test.row_groups.words}: their correlation is unknown before outcomes are seen, "
                "so there is no typical result. The verdict on these rows names the number of independent rows; "
                "rows in groups need more"
            )
        return test

    def _between(self, amounts: Float64s) -> Float64s:
        """Measured bounds, with log-log interpolation between them and the root of the rows beyond."""
        n, bound = np.array(self.measured).T
        falling = np.minimum.accumulate(np.maximum(bound, 1e-12))
        inside = np.exp(np.interp(np.log(amounts), np.log(n), np.log(falling)))
        beyond = np.sqrt(np.minimum(1.0, n[-1] / amounts) * np.maximum(1.0, n[0] / amounts))
        return np.asarray(np.minimum(inside * beyond, 1.0))

    def _least(self, limit: float) -> int:
        return fewest(lambda n: float(self._between(np.array([float(n)]))[0]) < limit, limit)


@PLANS.register("error-interval", "Rows for a narrow interval of the calibration error")
@dataclass(frozen=True)
class ErrorInterval(_OfTheData):
    """Width of the interval for the calibration error with more, or fewer, rows like those in use.

    The width of the current interval times sqrt(n / m) for m rows instead of n.
    """

    rows: _ROWS = None
    width: _WIDTH = 0.02
    level: _LEVEL = LEVEL
    measured: tuple[tuple[float, float], ...] = ()

    wanted, least = "width", _LEAST_IN_BIN
    x_title = "test rows"
    y_title = "width of the interval"
    basis = (
        "A rule of thumb, not a guarantee. The width of the current interval shrinks about as the root of the rows, if "
        "more rows are like these, and groups keep their size."
    )

    def filled(self, rows: RowsInUse) -> Self:
        test = self._test(rows)
        span = primary(test, TOLERANCE, self.level, rows.bins).estimate.interval(self.level)
        n = test.effective_rows
        return replace(self, rows=self.rows or max(int(n), 2), measured=((n, span.high - span.low),))

    def curves(self, amounts: Float64s) -> dict[str, Float64s]:
        ((n, width),) = self.measured
        return {"width of the interval": np.minimum(width * np.sqrt(n / amounts), 1.0)}

    def needed(self) -> int:
        ((n, width),) = self.measured
        return max(2, int(np.ceil(n * (width / self.width) ** 2 - 1e-9)))

    def answer(self) -> str:
        return (
            f"With {self.rows:,} rows like these, the {at_level(self.level)} interval of the calibration error would "
            f"be about {points_of(short_percent(self.bound))} wide."
        )

    def inverse(self) -> str:
        return f"A width of {points_of(short_percent(self.width))} needs about {about(self.needed())} rows."


BOTH = "within both tolerances"
"""Name of the curve for an event."""
_WITHIN = (
    "Simulated from the scores at hand, not proven. The number shown is for a model without error. A "
    "model with some error needs more rows. No number of rows is enough for a model whose error exceeds the tolerance."
)
_PRODUCT = (
    "The verdict on an event uses two tolerances. The share of samples within both is computed as the product of the "
    "two shares; the true one tends to be a little larger."
)


@PLANS.register("within", "Rows needed to show that the error is within tolerance")
@dataclass(frozen=True)
class Within(_OfTheData):
    """Sample size with which a calibrated model is shown to be within tolerance in 8 of 10 samples.

    Outcomes are drawn from the scores, for more and fewer rows with the same distribution of scores. A verdict of
    ``within tolerance`` needs an upper end of the error below the tolerance. The curve is the upper end in 8 of 10
    samples, and the number of rows needed is that of the verdict.

    The verdict on the event of two classes also needs a ratio of observed to expected events from 1 / ``ratio`` to
    ``ratio`` (`EventSampleSize`). There, the curves are the shares of samples within both tolerances, and within each.
    """

    rows: _ROWS = None
    error: _TOLERANCE = None
    ratio: _RATIO = None
    level: _LEVEL = LEVEL
    measured: tuple[tuple[float, float], ...] = ()
    event: EventSampleSize | None = None

    least = _LEAST_IN_BIN
    x_title = "test rows"
    y_title = "upper end in 8 of 10 samples of a calibrated model"

    @property
    def basis(self) -> str:  # type: ignore[override]
        """Assumptions of the answer."""
        return _WITHIN if self.event is None else f"{_WITHIN} {_PRODUCT}"

    @property
    def tolerance(self) -> float:
        """Tolerance of the error."""
        return self.error or TOLERANCE

    @property
    def limit(self) -> float:
        """Tolerance of the error; for an event the wanted share of samples."""
        return self.tolerance if self.event is None else POWER

    def titled(self, curve: str) -> str:
        return "share of samples of a calibrated model" if curve == BOTH else self.y_title

    def filled(self, rows: RowsInUse) -> Self:
        test, error = self._alone(rows), self.error or rows.tolerance
        first = primary(test, error, self.level, rows.bins)
        question, ratio = first.estimate.question, self.ratio or rows.ratio
        assert question is not None
        whole = replace(self, rows=self.rows or max(int(test.effective_rows), 2), error=error, ratio=None)
        if first.notion == "event" and ratio < math.inf:
            event = event_sample_size(question, error, self.level, ratio)
            if event is not None:
                return replace(whole, ratio=ratio, event=event)
        return replace(whole, measured=_highs_of_most(question, error, self.level))

    def curves(self, amounts: Float64s) -> dict[str, Float64s]:
        if self.event is None:
            return {"upper end in 8 of 10 samples": self._between(amounts)}
        return {
            BOTH: self.event.of_both(amounts),
            f"error below {exact_tolerance(self.tolerance)}": self.event.error.share(amounts),
            f"ratio within {tolerated_ratios(self.event.ratio)}": self.event.of_ratio(amounts),
        }

    def needed(self) -> int:
        return self._least(self.tolerance) if self.event is None else self.event.rows

    def answer(self) -> str:
        if self.event is not None:
            return self._answer_for(self.event)
        shown = "in at least 8" if self.bound < self.tolerance else "in fewer than 8"
        return (
            f"With {self.rows:,} rows, a calibrated model with these scores is shown to be within "
            f"{short_percent(self.tolerance)} {shown} of 10 samples. The upper end of the {at_level(self.level)} "
            f"interval is {short_percent(self.bound)} or less in 8 of 10."
        )

    def _answer_for(self, event: EventSampleSize) -> str:
        both, error, ratio = (_in_samples(float(share[0])) for share in self.curves(np.array([self.amount])).values())
        return (
            f"With {self.rows:,} rows like these, the error of a calibrated model is shown to be below "
            f"{exact_tolerance(self.tolerance)} in {error} of samples. Its ratio of observed to expected events is "
            f"shown to be within {tolerated_ratios(event.ratio)} in {ratio} of samples. Both are shown in {both} of "
            "samples."
        )

    def inverse(self) -> str:
        if self.event is not None:
            return _rows_for(self.event)
        return f"To show this in 8 of 10 samples, about {about(self.needed())} rows are needed."


def _rows_for(event: EventSampleSize) -> str:
    """Rows needed for both tolerances, and the tolerance that determines them, in sentences."""
    needed, of_error, of_ratio = about(event.rows), about(event.rows_of_error), about(event.rows_of_ratio)
    events = f"{counted_events(event.events)} expected events"
    if event.decides == "ratio":
        return (
            f"To show both in 8 of 10 samples, about {events} are needed, or about {needed} rows at a mean risk of "
            f"{short_percent(event.event_rate)}. The ratio determines this number: the error needs only about "
            f"{of_error} rows."
        )
    shown = f"To show both in 8 of 10 samples, about {needed} rows are needed."
    if event.decides == "error":
        return (
            f"{shown} The error determines this number: the ratio needs only about {events}, or about {of_ratio} rows."
        )
    return f"{shown} The error by itself needs about {of_error}; the ratio, about {of_ratio} ({events})."


def _in_samples(share: float) -> str:
    """Format a share of samples that was simulated: not exactly none or all."""
    if share < 0.01:
        return "less than 1 %"
    return "more than 99 %" if share > 0.99 else in_percent(share)


def _highs_of_most(question: Question, error: float, level: float) -> tuple[tuple[float, float], ...]:
    """Numbers of rows, and the upper ends that 8 of 10 samples stay below.

    The curve falls below the tolerance at the number of rows found by drawing samples of about as many. Between upper
    ends of few samples it could fall below it much earlier. This number is that of the verdict, or smaller than the
    rows at hand.
    """
    n = question.predictions.answered.effective_rows
    factors = tuple(factor for factor in _FACTORS if factor * n >= _LEAST_IN_BIN) or (1.0,)
    highs = highs_of_most(question, factors, level, SEED)
    measured = dict(zip(n * np.array(factors), map(float, highs), strict=True))
    needed = power_by_rows(question, error, level, SEED).rows
    measured = {m: max(high, error) if m < needed else high for m, high in measured.items()}
    measured[needed] = error * (1 - 1e-9)
    return tuple(sorted((float(m), high) for m, high in measured.items()))


@PLANS.register("verified", "Rows to bound the error of a calibrator with few outputs", reference="P2 Section 5")
@dataclass(frozen=True)
class Verified(_OfTheData):
    """Typical upper end for the error of a calibrated model with few outputs, such as scaling-binning, on new rows.

    The median upper end of the interval for the root mean square error, with B equal-mass bins and outcomes drawn from
    the bins' mean scores.
    """

    bins: Annotated[int, Range(2, 100), "Number of outputs", "number of distinct outputs, each equally frequent"] = 10
    rows: _ROWS = None
    accuracy: Annotated[
        float | None, Range(0.01, 0.99), "Mean confidence", "mean of the outputs, if no file is given"
    ] = None
    error: _TOLERANCE = None
    level: _LEVEL = LEVEL
    measured: tuple[tuple[float, float], ...] = ()

    x_title = "held-out rows"
    y_title = "typical upper end of a calibrated model"
    basis = (
        "Simulated, not proven, for calibrated outputs of equal frequency. Typical means in half of all samples. This "
        "is the error that the rows can verify, not a guarantee of the method."
    )

    def filled(self, rows: RowsInUse) -> Self:
        if rows.test is None and self.accuracy is None:
            raise NotAnswerable("“Mean confidence” (accuracy) is missing; give a number, or a file that determines it")
        if rows.test is None and self.rows is None:
            raise NotAnswerable("“Number of test rows” (rows) is missing; give a number, or a file that determines it")
        known = self.rows
        outputs = np.full(self.bins, self.accuracy or 0.5)
        if rows.test is not None:
            test = self._alone(rows)
            known = known or max(int(test.effective_rows), 2)
            if self.accuracy is None:
                outputs = _outputs(test, self.bins)
        least = _LEAST_IN_BIN * self.bins
        measured = tuple((n, _typical(outputs, n, self.level)) for n in least * 4.0 ** np.arange(7))
        mean = float(outputs.mean()) if self.accuracy is None else self.accuracy
        error = self.error or rows.tolerance
        return replace(self, rows=known, accuracy=mean, error=error, measured=measured)

    @property
    def least(self) -> float:  # type: ignore[override]
        """Fewest rows for a normal approximation in every bin."""
        return float(_LEAST_IN_BIN * self.bins)

    def curves(self, amounts: Float64s) -> dict[str, Float64s]:
        return {"typical upper end": np.where(amounts < self.least, np.nan, self._between(amounts))}

    def needed(self) -> int:
        return max(self._least(self.tolerance), int(self.least))

    def answer(self) -> str:
        if self.amount < self.least:
            return f"{self.rows:,} rows are too few to verify {self.bins} outputs: each needs at least {_LEAST_IN_BIN}."
        return (
            f"With {self.bins} outputs and {self.rows:,} new rows, the {at_level(self.level)} interval of a calibrated "
            f"model's root mean square error typically ends at {short_percent(self.bound)}."
        )

    def inverse(self) -> str:
        return f"To verify {short_percent(self.tolerance)} typically needs about {about(self.needed())} rows."


def _outputs(test: Predictions, bins: int) -> Float64s:
    """Mean confidences of equal-mass bins."""
    order = np.argsort(test.confidence, kind="stable")
    scores = test.confidence[order].astype(np.float64)
    weight = np.ones(len(scores)) if test.weights is None else test.weights[order]
    place = (bins * (np.cumsum(weight) - weight / 2) / weight.sum()).astype(np.intp)
    mass = np.bincount(place, weight, bins)
    if not (mass > 0).all():
        raise NotAnswerable(f"{of_rows(len(scores))} cannot fill {bins} bins")
    return np.asarray(np.bincount(place, weight * scores, bins) / mass)


def _typical(outputs: Float64s, rows: float, level: float) -> float:
    """Median upper end for calibrated outcomes in equal-mass bins with these mean scores."""
    bins = len(outputs)
    each = np.full(bins, rows / bins)
    errors = np.random.default_rng(SEED).standard_normal((_ERRORS, bins))
    drawn = np.random.default_rng(SEED + 1).binomial(int(rows / bins), outputs, (_DRAWS, bins)) / int(rows / bins)
    highs = []
    for outcome in drawn:
        residual = float((each * (outcome * (1 - outputs) ** 2 + (1 - outcome) * outputs**2)).sum())
        noise = Noise(1.0 / rows, residual, float((each * outcome * (1 - outcome)).sum()))
        highs.append(square_high(CellGaps(np.full(bins, 1.0 / bins), each, outcome, outputs), noise, level, errors))
    return min(1.0, float(np.median(highs)))
