"""Plans for calibrators that bin: what histogram binning promises, balanced bins, and how scaling-binning grows."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from calib_core._base.arrays import Float64s
from calib_core.defaults import BINS, LEVEL
from calib_core.guarantees.bounds import (
    expected_ece,
    fewest,
    marginal_eps,
    rows_for_balance,
    simultaneous_eps,
    unbalanced_probability,
)
from calib_core.guarantees.promise import points_up, rounded_up, says_nothing
from calib_core.planning.question import PLANS, Plan, each
from calib_core.registry.registry import Choice, Range
from calib_core.text import at_level, in_percent, inside, points_of, short_percent
from calib_core.text import rows as about

DELTA = 1e-10
"""What randomisation that breaks ties adds, as histogram binning adds it by default."""
_NOTIONS = ("top-label", "confidence", "class-wise")


@PLANS.register("histogram-binning", "How far off histogram binning can be", reference="P1 Theorems 1 and 2")
@dataclass(frozen=True)
class HistogramBinning(Plan):
    """How far the values that histogram binning returns can be from the truth, by the calibration rows in a bin.

    eps = sqrt(log(2 B / alpha) / (2 (k - 1))) for all B = n / k bins at once, k rows in each; B = 1 in it for a single
    new row; sqrt(1 / (2 k)) for the ECE on average over calibration sets. Class-wise: alpha / K for each of K classes.
    """

    notion: Annotated[
        str,
        Choice(_NOTIONS, titles=("Confidence by class", "Confidence", "Every class")),
        "What is recalibrated",
        "which probabilities the method returns",
    ] = "top-label"
    points: Annotated[int, Range(2, 1_000_000, log=True), "Rows per bin", "calibration rows in each bin"] = 50
    rows: Annotated[int | None, Range(2, 10**9, log=True), "Number of calibration rows", "calibration rows in all"] = (
        None
    )
    classes: Annotated[int | None, Range(2, 100_000, log=True), "Number of classes", "classes there are"] = None
    rarest: Annotated[
        float | None,
        Range(1e-6, 1, log=True),
        "Share of the rarest predicted class",
        "share of the rows that the rarest class is predicted for",
    ] = None
    error: Annotated[float, Range(0.001, 0.5, log=True), "Wanted bound", "how far off every value may be at most"] = 0.1
    level: Annotated[float, Range(0.5, 0.999), "Level", "probability with which the bound is to hold"] = LEVEL

    along = "points"
    leaves = ("classes", "rarest")
    most = 2000
    x_title = "calibration rows in each bin"
    y_title = "how far off at most"
    basis = (
        "A theorem without assumptions on the model or the data: calibration rows and new rows are independent and of "
        "one kind, ties in scores are broken, and every class that is promised for fills its bins."
    )

    @property
    def idle(self) -> tuple[str, ...]:
        return {"top-label": ("classes",), "class-wise": ("rarest",)}.get(self.notion, ("classes", "rarest"))

    @property
    def _alpha(self) -> float:
        """The chance of failure left to a class."""
        return (1.0 - self.level) / ((self.classes or 1) if self.notion == "class-wise" else 1)

    def _every(self, points: int, rows: int | None = None) -> float:
        bins = max((rows or self.rows or points) / points, 1.0)
        return simultaneous_eps(points, bins, self._alpha, DELTA)

    def curves(self, amounts: Float64s) -> dict[str, Float64s]:
        return {
            "every value": each(self._every, amounts),
            "a new row's value": each(lambda k: marginal_eps(k, self._alpha, DELTA), amounts),
            "calibration error on average": each(lambda k: expected_ece(k, DELTA), amounts),
        }

    def needed(self) -> int | None:
        rows = self.rows or 0
        reachable = self._every(max(rows, 2)) <= self.error
        return fewest(lambda k: self._every(k) <= self.error, self.error - DELTA) if reachable else None

    def answer(self) -> str:
        rows, every = self.rows or 0, self._every(self.points)
        if self.points > rows:
            return f"Bins of {self.points:,} rows cannot be filled from {rows:,}: nothing is promised."
        new, mean = marginal_eps(self.points, self._alpha, DELTA), expected_ece(self.points, DELTA)
        sure = f"With probability at least {at_level(self.level)}"
        rare, among = self._too_rare(rows), ""
        what = "every value it can return, and its calibration error,"
        if self.notion == "class-wise":
            what = "the values for every class, and the calibration error averaged over classes,"
        elif rare:
            what = f"every value for a class predicted at least {self.points:,} times, and the error of all these,"
            among = " among rows of such classes"
        bounded = not says_nothing(every)
        of_such, alike = " of such a class" if rare else "", "With the same probability" if bounded else sure
        first = (
            f"{sure} over the {rows:,} calibration rows, {self.points:,} in each bin, {what} is at most "
            f"{points_up(every)} off."
            if bounded
            else f"Nothing is promised of all values at once: bins of {self.points:,} rows are too small."
        )
        second = (
            f"Nothing is promised of the value of a new row{of_such}."
            if says_nothing(new)
            else f"{alike} over these rows and a new one{of_such}, that row's value is at most {points_up(new)} off."
        )
        return (
            f"{first} {second} On average over such calibration sets the calibration error{among} is at most "
            f"{rounded_up(mean)}.{rare}"
        )

    def _too_rare(self, rows: int) -> str:
        """What is promised for the rarest predicted class where it does not fill a bin."""
        own = (self.rarest or 1.0) * rows
        if self.notion != "top-label" or own >= self.points - 0.5:
            return ""
        return (
            f" The rarest predicted class has about {about(own)} of them, fewer than a bin: nothing is promised for it."
        )

    def inverse(self) -> str:
        points, wanted = self.needed(), points_of(short_percent(self.error))
        if points is None:
            alone = fewest(lambda k: simultaneous_eps(k, 1, self._alpha, DELTA) <= self.error, self.error - DELTA)
            text = f"{self.rows:,} rows are too few for every value to be within {wanted}: one bin alone takes "
            return f"{text}{alone:,}.{self._of_the_rarest()}"
        bins = (self.rows or 0) // points
        most = f"{bins:,} bins" if bins != 1 else "one bin"
        return (
            f"For every value to be within {wanted} each bin needs {points:,} calibration rows: at most {most} "
            f"in all from these {self.rows:,} rows.{self._of_the_rarest()}"
        )

    def _of_the_rarest(self) -> str:
        """The rows with which the rarest predicted class fills a bin of its own."""
        rarest = self.rarest
        if self.notion != "top-label" or rarest is None:
            return ""

        def enough(rows: int) -> bool:
            points = int(rows * rarest)
            return points >= 2 and self._every(points, rows) <= self.error

        total = fewest(enough, self.error - DELTA)
        return (
            f" The rarest predicted class has {in_percent(rarest)} of the rows: for a bin of its own as good "
            f"it takes about {about(total)} rows in all."
        )


@PLANS.register("balance", "Are bins of equal mass well balanced?", reference="P2 Lemma 4.3")
@dataclass(frozen=True)
class Balance(Plan):
    """The chance that bins of equal mass come out with less than half or more than twice their share of new rows.

    A union over bins of exact probabilities: the mass of continuous scores between two of n order statistics is
    Beta(m, n + 1 - m), m the difference of their ranks. The lemma itself leaves its constant open.
    """

    bins: Annotated[int, Range(2, 200), "Number of bins", "bins that share the rows equally"] = BINS
    rows: Annotated[
        int | None, Range(2, 10**9, log=True), "Number of calibration rows", "rows the bins are placed on"
    ] = None
    risk: Annotated[float, Range(1e-6, 0.5, log=True), "Risk", "chance of unbalanced bins that is allowed"] = 0.05
    tied: Annotated[
        float | None,
        Range(0, 1),
        "Rows with equal scores",
        "share of the calibration rows whose confidence another row has, too; of these the theorem says nothing",
    ] = None

    wanted = "risk"
    leaves = ("tied",)
    x_title = "calibration rows that bins are placed on"
    y_title = "chance of unbalanced bins, at most"
    basis = "Proven for independent rows whose scores have no ties; of tied scores it is not."

    def curves(self, amounts: Float64s) -> dict[str, Float64s]:
        return {"chance of unbalanced bins": each(lambda n: unbalanced_probability(n, self.bins), amounts)}

    def needed(self) -> int:
        return rows_for_balance(self.bins, self.risk)

    def answer(self) -> str:
        if not self.tied:
            return self._untied()
        return (
            f"For these rows nothing is promised: {in_percent(self.tied)} of them share their score with another row, "
            f"and the theorem needs scores without ties. Without ties it would say: {inside(self._untied())}"
        )

    def _untied(self) -> str:
        chance = self.bound
        share = "each bin holds between half and twice its equal share of new rows"
        if chance >= 0.5:
            return (
                f"From {self.rows:,} rows it cannot be promised that {share}: {self.bins} bins are too many for them."
            )
        level = min(math.floor(1e4 * (1.0 - chance)), 9_999) / 1e4
        return (
            f"With probability at least {at_level(level)} over {self.rows:,} rows that {self.bins} bins share, {share}."
        )

    def inverse(self) -> str:
        rows = f"{about(self.needed())} rows{' without ties' if self.tied else ''}"
        return f"With about {rows} the chance that some bin does not is at most {short_percent(self.risk)}."


@PLANS.register("scaling-binning", "How the rows of scaling-binning grow", reference="P2 Theorem 4.1")
@dataclass(frozen=True)
class ScalingBinningPlan(Plan):
    """How many times the rows more bins ask for: scaling-binning beside histogram binning, 10 bins being 1.

    Scaling-binning: n >= c (B log B + log B / eps^2) rows reach CE^2 <= 2 min CE(g)^2 + eps^2 with probability
    1 - delta; histogram binning: of the order B / eps^2. The constants are not known, so that only ratios can be told.
    """

    bins: Annotated[int, Range(2, 1000, log=True), "Number of bins", "values that the method can return"] = BINS
    error: Annotated[float, Range(0.001, 0.5, log=True), "Wanted error", "root mean square error to be added"] = 0.02

    along, wanted = "bins", ""
    most = 100
    x_title = "number of bins"
    y_title = "rows for the same error, times those of 10 bins"
    unit = "score"
    basis = (
        "A theorem on orders of growth: its constant depends on the family of scaling maps and on the probability, and "
        "is not known, so that no number of rows follows. The error is what comes on top of that family's own."
    )

    def _size(self, bins: Float64s, error: float) -> Float64s:
        return np.asarray(bins * np.log(bins) + np.log(bins) / error**2)

    def curves(self, amounts: Float64s) -> dict[str, Float64s]:
        reference = self._size(np.array([10.0]), self.error)
        return {"scaling-binning": self._size(amounts, self.error) / reference, "histogram binning": amounts / 10.0}

    def answer(self) -> str:
        bins = np.array([float(self.bins)])
        ratio, beside = (float(curve[0]) for curve in self.curves(bins).values())
        half = float((self._size(bins, self.error / 2) / self._size(bins, self.error))[0])
        return (
            f"Where rows grow just as the orders do, {self.bins:,} bins ask scaling-binning, for the same added error "
            f"of {short_percent(self.error)}, for about {_times(ratio)} times the rows that 10 bins do, and histogram "
            f"binning for {_times(beside)} times. Half the error takes scaling-binning about {_times(half)} times the "
            "rows."
        )


@PLANS.register("estimating", "How the rows to estimate an error grow", reference="P2 Theorems 5.3 and 5.4")
@dataclass(frozen=True)
class Estimating(Plan):
    """How many times the rows more bins ask for to estimate a squared error to half of itself, 10 bins being 1.

    Enough are c sqrt(B) log(B / delta) / E^2 rows for the debiased estimate and c B log(B / delta) / E^2 for the
    plug-in one, E^2 the squared error, delta the chance of failure. The constants are not known: only ratios are told.
    """

    bins: Annotated[int, Range(2, 1000, log=True), "Number of bins", "bins, or values that a model returns"] = BINS
    risk: Annotated[float, Range(1e-6, 0.5, log=True), "Risk", "chance of being further off that is allowed"] = 0.1

    along, wanted = "bins", ""
    most = 100
    x_title = "number of bins"
    y_title = "rows for the same precision, times those of 10 bins"
    unit = "score"
    basis = (
        "Theorems on what is enough, without assumptions but that every bin holds at least half its equal share; their "
        "constants are not known, so that no number of rows follows."
    )

    def curves(self, amounts: Float64s) -> dict[str, Float64s]:
        logs = np.log(amounts / self.risk) / math.log(10.0 / self.risk)
        return {"debiased": np.sqrt(amounts / 10.0) * logs, "plug-in": amounts / 10.0 * logs}

    def answer(self) -> str:
        debiased, plug_in = (float(curve[0]) for curve in self.curves(np.array([float(self.bins)])).values())
        return (
            f"To estimate the same squared error to half of itself, {self.bins:,} bins ask the debiased estimate for "
            f"about {_times(debiased)} times the rows that 10 bins do, and the plug-in estimate for about "
            f"{_times(plug_in)} times. Half the error takes either of them 4 times the rows."
        )


def _times(ratio: float) -> str:
    """A ratio of orders of growth, to the two digits that it may have."""
    return f"{float(f'{ratio:.2g}'):,.6g}"
