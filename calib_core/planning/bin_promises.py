"""Plans for calibrators with bins: guarantees of histogram binning, balanced bins, and rows for scaling-binning."""

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
"""Error added by the random shift that breaks ties, as in histogram binning by default."""
_NOTIONS = ("top-label", "confidence", "class-wise")


@PLANS.register("histogram-binning", "Maximum error of histogram binning", reference="P1 Theorems 1 and 2")
@dataclass(frozen=True)
class HistogramBinning(Plan):
    """Largest distance between the outputs of histogram binning (the observed frequency in each bin) and the truth.

    eps = sqrt(log(2 B / alpha) / (2 (k - 1))) for all B = n / k bins jointly, k rows in each; the same with B = 1 for a
    single new row. For the mean ECE over calibration sets it is sqrt(1 / (2 k)). Class-wise: alpha / K for each of K
    classes.
    """

    notion: Annotated[
        str,
        Choice(_NOTIONS, titles=("Confidence by class", "Confidence", "Every class")),
        "Recalibrated probabilities",
        "probabilities that the method returns",
    ] = "top-label"
    points: Annotated[
        int, Range(2, 1_000_000, log=True), "Rows per bin", "calibration rows in each bin; more rows, fewer bins"
    ] = 50
    rows: Annotated[
        int | None,
        Range(2, 10**9, log=True),
        "Number of calibration rows",
        "rows with known labels that the bins are fitted on",
    ] = None
    classes: Annotated[int | None, Range(2, 100_000, log=True), "Number of classes", "number of classes"] = None
    rarest: Annotated[
        float | None,
        Range(1e-6, 1, log=True),
        "Share of the rarest predicted class",
        "share of rows with the rarest predicted class",
    ] = None
    error: Annotated[
        float, Range(0.001, 0.5, log=True), "Target bound", "largest acceptable distance of any output from the truth"
    ] = 0.1
    level: Annotated[float, Range(0.5, 0.999), "Level", "probability that the bound is valid"] = LEVEL

    along = "points"
    leaves = ("classes", "rarest")
    most = 2000
    x_title = "calibration rows in each bin"
    y_title = "maximum error"
    basis = (
        "A theorem without assumptions about the model. Calibration rows and new rows are independent and from one "
        "distribution. Ties in scores are broken, and each class covered has enough rows for its bins."
    )

    @property
    def idle(self) -> tuple[str, ...]:
        return {"top-label": ("classes",), "class-wise": ("rarest",)}.get(self.notion, ("classes", "rarest"))

    @property
    def _alpha(self) -> float:
        """Failure probability for each class."""
        return (1.0 - self.level) / ((self.classes or 1) if self.notion == "class-wise" else 1)

    def _every(self, points: int, rows: int | None = None) -> float:
        bins = max((rows or self.rows or points) / points, 1.0)
        return simultaneous_eps(points, bins, self._alpha, DELTA)

    def curves(self, amounts: Float64s) -> dict[str, Float64s]:
        return {
            "all outputs at once": each(self._every, amounts),
            "output for one new row": each(lambda k: marginal_eps(k, self._alpha, DELTA), amounts),
            "calibration error on average": each(lambda k: expected_ece(k, DELTA), amounts),
        }

    def needed(self) -> int | None:
        rows = self.rows or 0
        reachable = self._every(max(rows, 2)) <= self.error
        return fewest(lambda k: self._every(k) <= self.error, self.error - DELTA) if reachable else None

    def answer(self) -> str:
        rows, every = self.rows or 0, self._every(self.points)
        if self.points > rows:
            return f"{rows:,} rows cannot fill bins of {self.points:,}: there is no guarantee."
        new, mean = marginal_eps(self.points, self._alpha, DELTA), expected_ece(self.points, DELTA)
        sure = f"with probability at least {at_level(self.level)}"
        rare, among = self._too_rare(rows), ""
        what, error = "every output is", "The calibration error"
        if self.notion == "class-wise":
            what, error = "the outputs for every class are", "The calibration error averaged over classes"
        elif rare:
            what, error = (
                f"the outputs for classes predicted at least {self.points:,} times are",
                "Their calibration error",
            )
            among = " of such classes"
        bounded = not says_nothing(every)
        of_such, alike = " of such a class" if rare else "", "with the same probability" if bounded else sure
        first = (
            f"With {rows:,} calibration rows, {self.points:,} per bin, {what} within {points_up(every)} of the "
            f"true frequency, {sure}. {error} is then at most {points_up(every)}."
            if bounded
            else f"There is no guarantee for all outputs at once: bins of {self.points:,} rows are too small."
        )
        second = (
            f"There is no guarantee for the output for a new row{of_such}."
            if says_nothing(new)
            else f"This is for all outputs at once. One output can be guaranteed more closely: for a single new row"
            f"{of_such}, it is within {points_up(new)}, {alike} over random calibration rows and a random new row."
            if bounded
            else f"The output for a single new row{of_such} is within {points_up(new)}, {sure} over random calibration "
            "rows and a random new row."
        )
        return (
            f"{first} {second} The calibration error{among} varies with the calibration rows. On average over many "
            f"sets of them, it is at most {rounded_up(mean)}.{rare}"
        )

    def _too_rare(self, rows: int) -> str:
        """Sentence on the rarest predicted class if it does not fill a bin."""
        own = (self.rarest or 1.0) * rows
        if self.notion != "top-label" or own >= self.points - 0.5:
            return ""
        return (
            f" The rarest predicted class has about {about(own)} of these rows, fewer than one bin needs, so it "
            "has no guarantee."
        )

    def inverse(self) -> str:
        points, wanted = self.needed(), points_of(short_percent(self.error))
        if points is None:
            alone = fewest(lambda k: simultaneous_eps(k, 1, self._alpha, DELTA) <= self.error, self.error - DELTA)
            text = f"{self.rows:,} rows are too few for an error of {wanted} in every output: a single bin needs "
            return f"{text}{alone:,}.{self._of_the_rarest()}"
        bins = (self.rows or 0) // points
        most = f"{bins:,} bins" if bins != 1 else "one bin"
        return (
            f"For every output to be within {wanted}, each bin needs {points:,} calibration rows: at most {most} "
            f"with these {self.rows:,} rows.{self._of_the_rarest()}"
        )

    def _of_the_rarest(self) -> str:
        """Sentence on the rows that give the rarest predicted class a bin of its own."""
        rarest = self.rarest
        if self.notion != "top-label" or rarest is None:
            return ""

        def enough(rows: int) -> bool:
            points = int(rows * rarest)
            return points >= 2 and self._every(points, rows) <= self.error

        total = fewest(enough, self.error - DELTA)
        return (
            f" The rarest predicted class has {in_percent(rarest)} of the rows: the same bound for its own bin "
            f"needs about {about(total)} rows in all."
        )


@PLANS.register("balance", "Do bins with equal row counts stay balanced on new rows?", reference="P2 Lemma 4.3")
@dataclass(frozen=True)
class Balance(Plan):
    """Probability that a bin of equally many calibration rows gets less than half or more than twice its share later.

    A union bound over bins of exact probabilities. The mass of continuous scores between two of n order statistics is
    Beta(m, n + 1 - m), m the difference of their ranks. The lemma itself does not specify its constant.
    """

    bins: Annotated[int, Range(2, 200), "Number of bins", "bins of equally many calibration rows (equal-mass bins)"] = (
        BINS
    )
    rows: Annotated[
        int | None, Range(2, 10**9, log=True), "Number of calibration rows", "rows that set the bin edges"
    ] = None
    risk: Annotated[
        float, Range(1e-6, 0.5, log=True), "Accepted probability", "largest acceptable probability of an unbalanced bin"
    ] = 0.05
    tied: Annotated[
        float | None,
        Range(0, 1),
        "Rows with equal scores",
        "share of the calibration rows with the confidence of another row; the theorem needs 0",
    ] = None

    wanted = "risk"
    leaves = ("tied",)
    x_title = "calibration rows that set the bin edges"
    y_title = "maximum probability of unbalanced bins"
    basis = "Proven for independent rows without tied scores. For tied scores it is not proven."

    def curves(self, amounts: Float64s) -> dict[str, Float64s]:
        return {"chance of unbalanced bins": each(lambda n: unbalanced_probability(n, self.bins), amounts)}

    def needed(self) -> int:
        return rows_for_balance(self.bins, self.risk)

    def answer(self) -> str:
        if not self.tied:
            return self._untied()
        return (
            f"There is no guarantee for these rows: {in_percent(self.tied)} of them have the score of another row, "
            f"and the theorem needs scores without ties. Without ties: {inside(self._untied())}"
        )

    def _untied(self) -> str:
        chance = self.bound
        share = "every bin gets between half and twice its equal share of new rows"
        if chance >= 0.5:
            return f"{self.rows:,} rows are too few for {self.bins} bins to guarantee that {share}."
        level = min(math.floor(1e4 * (1.0 - chance)), 9_999) / 1e4
        return (
            f"With {self.rows:,} rows, equally many in each of {self.bins} bins, {share}, with probability at least "
            f"{at_level(level)}."
        )

    def inverse(self) -> str:
        rows = f"about {about(self.needed())} rows{' without ties' if self.tied else ''}"
        level = at_level(1.0 - self.risk)
        return (
            f"For every bin to get half to twice its share with a probability of at least {level}, {rows} are needed."
        )


@PLANS.register("scaling-binning", "Rows needed for scaling-binning, by number of bins", reference="P2 Theorem 4.1")
@dataclass(frozen=True)
class ScalingBinningPlan(Plan):
    """Rows for scaling-binning and histogram binning as the number of bins grows, relative to 10 bins.

    Scaling-binning: n >= c (B log B + log B / eps^2) rows reach CE^2 <= 2 min CE(g)^2 + eps^2 with probability 1 -
    delta. Histogram binning needs the order of B / eps^2. The constants are unknown, so only ratios are known.
    """

    bins: Annotated[int, Range(2, 1000, log=True), "Number of bins", "different outputs of the calibrator"] = BINS
    error: Annotated[
        float,
        Range(0.001, 0.5, log=True),
        "Target error",
        "root mean square error that the bins add to the error of the curve",
    ] = 0.02

    along, wanted = "bins", ""
    most = 100
    x_title = "number of bins"
    y_title = "rows for the same error, relative to 10 bins"
    unit = "score"
    basis = (
        "A theorem on orders of growth. Its constant depends on the family of scaling maps and on the probability, and "
        "is unknown, so it gives no number of rows. The error is added to the error of that family."
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
            "Scaling-binning fits a curve and averages it in bins; histogram binning averages the outcomes in bins. "
            f"For {self.bins:,} bins in place of 10, at an added error of {short_percent(self.error)}, scaling-binning "
            f"needs about {_times(ratio)} times the rows, and histogram binning {_times(beside)} times. This assumes "
            f"the growth that the theorem states. Half the error needs about {_times(half)} times the rows with "
            "scaling-binning."
        )


@PLANS.register(
    "estimating",
    "Rows for plug-in and debiased estimates, by number of bins",
    reference="P2 Theorems 5.3 and 5.4",
)
@dataclass(frozen=True)
class Estimating(Plan):
    """Rows to estimate a squared error with an uncertainty of half its size, by number of bins, relative to 10 bins.

    The debiased estimate needs c sqrt(B) log(B / delta) / E^2 rows, and the plug-in estimate c B log(B / delta) / E^2.
    The squared error is E^2, and delta the failure probability. The constants are unknown, so only ratios are known.
    """

    bins: Annotated[int, Range(2, 1000, log=True), "Number of bins", "bins, or distinct outputs of a model"] = BINS
    risk: Annotated[
        float,
        Range(1e-6, 0.5, log=True),
        "Accepted probability",
        "largest acceptable probability of a larger deviation",
    ] = 0.1

    along, wanted = "bins", ""
    most = 100
    x_title = "number of bins"
    y_title = "rows for the same precision, relative to 10 bins"
    unit = "score"
    basis = (
        "Theorems on sufficient numbers of rows. They assume only that every bin has at least half its equal share. "
        "Their constants are unknown, so they give no number of rows."
    )

    def curves(self, amounts: Float64s) -> dict[str, Float64s]:
        logs = np.log(amounts / self.risk) / math.log(10.0 / self.risk)
        return {"debiased": np.sqrt(amounts / 10.0) * logs, "plug-in": amounts / 10.0 * logs}

    def answer(self) -> str:
        debiased, plug_in = (float(curve[0]) for curve in self.curves(np.array([float(self.bins)])).values())
        return (
            "The plug-in estimate is the error by its formula; the debiased estimate is corrected for noise. The "
            f"squared error is estimated with an uncertainty of half its size. For {self.bins:,} bins in place of 10 "
            f"this takes about {_times(debiased)} times the rows with the debiased estimate, and about "
            f"{_times(plug_in)} times with the plug-in estimate. An error half as large needs 4 times the rows with "
            "either."
        )


def _times(ratio: float) -> str:
    """Format a ratio of orders of growth with two significant digits."""
    return f"{float(f'{ratio:.2g}'):,.6g}"
