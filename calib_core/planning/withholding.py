"""Plans for a model that abstains: thresholds that keep a rate, how far rates swing, and what abstaining can gain."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from calib_core._base.arrays import Float64s
from calib_core.defaults import LEVEL
from calib_core.guarantees.bounds import (
    exceed_probability,
    fewest,
    guaranteed_rank,
    likely_deviation,
    normal_deviation,
    paper_rank,
    rows_for_miscoverage,
    worst_ece_at_least,
)
from calib_core.planning.question import PLANS, Plan, RowsInUse, counted, each, independent
from calib_core.registry.registry import Choice, Range
from calib_core.text import at_level, in_percent, points_of, several, short_percent

HELD_OUT_SHARE, MOST_HELD_OUT = 0.1, 500
"""Meta-Cal holds out a tenth of the rows, up to so many, to find its threshold."""
EVERY_ROW, MOST_JUMPS = 400, 200
"""Numbers of rows up to which a curve that jumps is evaluated at each, and jumps that are drawn beyond."""


@PLANS.register("miscoverage", "Rows held out to limit what is withheld", reference="P4 eq. 5")
@dataclass(frozen=True)
class Miscoverage(Plan):
    """The chance that a threshold withholds more right answers than allowed, by the correct rows held out for it.

    P(F0 > a) = sum_{j >= v} C(n, j) (1 - a)^j a^(n - j) for the v-th smallest of n scores; the strictest threshold is
    the largest score, v = n, with chance (1 - a)^n.
    """

    rows: Annotated[
        int | None,
        Range(1, 10**6, log=True),
        "Correct rows held out",
        "rightly classified calibration rows that find the threshold: a tenth of them, 500 at most",
    ] = None
    rate: Annotated[
        float, Range(0.001, 0.5, log=True), "Right answers withheld", "share of right answers that may be withheld"
    ] = 0.05
    risk: Annotated[float, Range(0.001, 0.5, log=True), "Risk", "chance of withholding more than that"] = 0.05

    wanted = "risk"
    least, most = 1, 500
    x_title = "correct calibration rows held out"
    y_title = "chance of withholding too many"
    basis = "Exact for independent rows whose scores have no ties; with ties it is a bound."

    def _fact(self, name: str, rows: RowsInUse) -> Any:
        if name != "rows" or rows.fit is None:
            return None
        return max(1, min(int(counted(rows.fit).correct.sum() * HELD_OUT_SHARE), MOST_HELD_OUT))

    def curves(self, amounts: Float64s) -> dict[str, Float64s]:
        return {
            "the strictest threshold": np.asarray((1.0 - self.rate) ** amounts),
            "the threshold of Ma and Blaschko": each(self._paper, amounts),
        }

    def grid(self) -> Float64s:
        """Every whole number of rows as far as they can be told apart, then both ends of jumps of the second curve."""
        places = super().grid()
        jumps = np.ceil(np.arange(1, int((places[-1] + 1) * self.rate) + 1) / self.rate - 1e-9) - 1.0
        jumps = jumps[jumps > EVERY_ROW]
        jumps = jumps[np.unique(np.geomspace(1, len(jumps), MOST_JUMPS).astype(int)) - 1] if len(jumps) else jumps
        whole = np.arange(1.0, min(EVERY_ROW, places[-1]) + 1.0)
        return np.unique(np.concatenate([places, whole, jumps - 1.0, jumps]))

    def _paper(self, rows: int) -> float:
        return exceed_probability(rows, paper_rank(rows, self.rate), self.rate)

    def needed(self) -> int:
        return rows_for_miscoverage(self.rate, self.risk)

    def answer(self) -> str:
        rows = self.rows or 1
        rank = guaranteed_rank(rows, self.rate, self.risk)
        usual = f"the threshold that Ma and Blaschko take does so with a chance of {short_percent(self._paper(rows))}"
        if paper_rank(rows, self.rate) > rows:
            usual = "the rule of Ma and Blaschko withholds nothing"
        allowed = f"more than {short_percent(self.rate)} of the right answers"
        if rank is None:
            return (
                f"From {several(rows, 'correct rows')} no threshold keeps the chance of withholding {allowed} to "
                f"{short_percent(self.risk)}: the strictest one leaves {short_percent(self.bound)}, and {usual}."
            )
        chance = exceed_probability(rows, rank, self.rate)
        return (
            f"A threshold at score number {rank:,} of {rows:,} from below withholds {allowed} with a chance of "
            f"{short_percent(chance)}; {usual}."
        )

    def inverse(self) -> str:
        needed = self.needed()
        whole = int(np.ceil(needed / HELD_OUT_SHARE))
        text = f"It takes {several(needed, 'correct rows')} held out for a chance of {short_percent(self.risk)} or less"
        if needed > MOST_HELD_OUT:
            return f"{text}, more than the {MOST_HELD_OUT} that the method holds out at most."
        return f"{text}; as a tenth of the correct rows is held out, {whole:,} correct calibration rows."


@PLANS.register("abstaining-rates", "How far rates swing on test rows", reference="P4 eq. 4 and 7")
@dataclass(frozen=True)
class AbstainingRates(Plan):
    """How far a rate measured on test rows is from the true one, by the number of rows it is measured on.

    P(|measured - r| >= d) <= 2 exp(-m d^2 / (2 r (1 - r))) among m rows: a normal approximation, here beside the normal
    law itself.
    """

    share: Annotated[
        str,
        Choice(("withheld", "right"), titles=("Right answers withheld", "Answers that are right")),
        "Which rate",
        "withheld among right answers, or right among answers given",
    ] = "withheld"
    rate: Annotated[float, Range(0.001, 0.999), "True rate", "the rate as it is among all rows"] = 0.05
    rows: Annotated[
        int | None, Range(1, 10**9, log=True), "Rows it is measured on", "test rows: right ones, or those answered"
    ] = None
    error: Annotated[float, Range(0.001, 0.5, log=True), "Wanted distance", "how far off it may be"] = 0.02
    level: Annotated[float, Range(0.5, 0.999), "Level", "probability with which it is no further off"] = LEVEL

    rows_of = "test"
    least = 10
    x_title = "test rows the rate is measured on"
    y_title = "distance from the true rate"
    basis = (
        "A normal approximation, not a guarantee: it needs some rows of either kind, and takes the true rate to be the "
        "one given, of which a threshold found on finitely many rows gives no assurance."
    )

    def _fact(self, name: str, rows: RowsInUse) -> Any:
        if name != "rows" or rows.test is None:
            return None
        test = independent(rows.test)
        if test.weights is not None:
            return super()._fact(name, rows)
        return max(1, int(test.correct.sum()) if self.share == "withheld" else test.n_rows)

    def curves(self, amounts: Float64s) -> dict[str, Float64s]:
        return {
            "bound of Ma and Blaschko": each(lambda m: likely_deviation(self.level, self.rate, m), amounts),
            "normal law": each(lambda m: normal_deviation(self.level, self.rate, m), amounts),
        }

    def needed(self) -> int:
        return fewest(lambda m: likely_deviation(self.level, self.rate, m) <= self.error, self.error, least=1)

    def answer(self) -> str:
        rate = "share of right answers withheld" if self.share == "withheld" else "share of answers that are right"
        normal = normal_deviation(self.level, self.rate, self.rows or 1)
        most, usual = (points_of(short_percent(min(each, 1.0))) for each in (self.bound, normal))
        return (
            f"Measured on {several(self.rows or 1)}, a {rate} that is truly {in_percent(self.rate)} comes out at most "
            f"{most} off with a probability of about {at_level(self.level)} or more; by the normal law at most {usual}."
        )

    def inverse(self) -> str:
        return f"For {points_of(short_percent(self.error))} or less it takes {several(self.needed())}."


@PLANS.register("abstaining-gain", "What abstaining can gain at most", reference="P4 eq. 2 and 6")
@dataclass(frozen=True)
class AbstainingGain(Plan):
    """The confidence ECE that remains in some bins, whatever map is used, by the wrong rows that are still answered.

    (1 - a) / K for maps that keep the accuracy a among K classes; w (1 - a) / K where a share R0 of right and 1 - R1 of
    wrong rows is withheld, w = (1 - R0) a + R1 (1 - a).
    """

    accuracy: Annotated[float | None, Range(0.01, 0.999), "Accuracy", "share of rows that are right"] = None
    classes: Annotated[int | None, Range(2, 100_000, log=True), "Number of classes", "classes there are"] = None
    withheld: Annotated[float, Range(0, 1), "Right rows withheld", "share of right rows that are not answered"] = 0.05
    missed: Annotated[float, Range(0, 1), "Wrong rows answered", "share of wrong rows that are answered"] = 0.5

    along, wanted, rows_of, counts = "missed", "", "test", False
    x_title = "share of the wrong rows that are answered"
    y_title = "ECE in some bins, at least"
    basis = (
        "Ma and Blaschko's limit on the ECE as it is computed on one set of rows, in the bins that make it largest: no "
        "such map can go below it there, which says little of your bins. Rows withheld count as claims of one in K."
    )

    def curves(self, amounts: Float64s) -> dict[str, Float64s]:
        accuracy, classes = self.accuracy or 0.0, self.classes or 2
        every = worst_ece_at_least(accuracy, classes)
        bounds = [worst_ece_at_least(accuracy, classes, self.withheld, float(missed)) for missed in amounts]
        return {"with abstaining": np.array(bounds), "without abstaining": np.full(len(amounts), every)}

    def grid(self) -> Float64s:
        return np.unique(np.append(np.linspace(0.0, 1.0, 51), self.missed))

    def answer(self) -> str:
        every = worst_ece_at_least(self.accuracy or 0.0, self.classes or 2)
        return (
            f"At an accuracy of {in_percent(self.accuracy or 0.0)} among {self.classes:,} classes, a map that keeps "
            f"every decision leaves a confidence ECE of at least {short_percent(every)} in some bins. Withholding "
            f"{in_percent(self.withheld)} of the right rows and all but {in_percent(self.missed)} of the wrong ones "
            f"lowers that limit to {short_percent(self.bound)}."
        )
