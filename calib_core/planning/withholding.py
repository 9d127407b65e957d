"""Plans for a model that abstains: thresholds for a rate, sampling error of rates, and the gain from abstaining."""

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
"""Share and maximum number of the rows that Meta-Cal holds out for its threshold."""
EVERY_ROW, MOST_JUMPS = 400, 200
"""Number of rows up to which a curve with jumps is evaluated at each one, and jumps drawn beyond."""


@PLANS.register("miscoverage", "Rows to set a threshold above which a model abstains", reference="P4 eq. 5")
@dataclass(frozen=True)
class Miscoverage(Plan):
    """Probability that a threshold withholds too many correct rows, by the number of held-out correct rows.

    P(F0 > a) = sum_{j >= v} C(n, j) (1 - a)^j a^(n - j) for the v-th smallest of n scores. The strictest threshold is
    the largest score, v = n, with probability (1 - a)^n.
    """

    rows: Annotated[
        int | None,
        Range(1, 10**6, log=True),
        "Correct rows held out",
        "correctly classified calibration rows held out for the threshold: a tenth, at most 500",
    ] = None
    rate: Annotated[
        float, Range(0.001, 0.5, log=True), "Correct rows withheld", "maximum share of correct rows withheld"
    ] = 0.05
    risk: Annotated[
        float,
        Range(0.001, 0.5, log=True),
        "Accepted probability",
        "largest acceptable probability of withholding more than that",
    ] = 0.05

    wanted = "risk"
    least, most = 1, 500
    x_title = "correct calibration rows held out"
    y_title = "probability of withholding too many"
    basis = (
        "Exact for independent rows without tied scores; with ties it is a bound. With a file, a tenth of its correct "
        "calibration rows is set aside."
    )

    def _fact(self, name: str, rows: RowsInUse) -> Any:
        if name != "rows" or rows.fit is None:
            return None
        return max(1, min(int(counted(rows.fit).correct.sum() * HELD_OUT_SHARE), MOST_HELD_OUT))

    def curves(self, amounts: Float64s) -> dict[str, Float64s]:
        return {
            "threshold at the largest uncertainty": np.asarray((1.0 - self.rate) ** amounts),
            "the threshold of Ma and Blaschko": each(self._paper, amounts),
        }

    def grid(self) -> Float64s:
        """Every whole number of rows as far as distinguishable, then both ends of jumps of the second curve."""
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
        usual = f"With the threshold of Ma and Blaschko (2021), this probability is {short_percent(self._paper(rows))}."
        if paper_rank(rows, self.rate) > rows:
            usual = "The rule of Ma and Blaschko (2021) withholds nothing."
        given = (
            f"Suppose the model answers only rows with an uncertainty up to a threshold, set on "
            f"{several(rows, 'held-out correct rows')}."
        )
        allowed = f"more than {short_percent(self.rate)} of the correct rows"
        if rank is None:
            return (
                f"{given} No threshold limits the probability of withholding {allowed} to {short_percent(self.risk)}. "
                f"With the largest of their uncertainties as threshold, it is {short_percent(self.bound)}. {usual}"
            )
        chance = exceed_probability(rows, rank, self.rate)
        which = "the largest" if rank == rows else f"number {rank:,} of {rows:,} (smallest first)"
        return (
            f"{given} The threshold is {which} of these rows' uncertainties. Then the model withholds {allowed} with "
            f"probability {short_percent(chance)}. {usual}"
        )

    def inverse(self) -> str:
        needed = self.needed()
        whole = int(np.ceil(needed / HELD_OUT_SHARE))
        text = f"A probability of {short_percent(self.risk)} or less needs {several(needed, 'correct rows')} held out"
        if needed > MOST_HELD_OUT:
            return f"{text}. The method holds out at most {MOST_HELD_OUT}."
        return f"{text}. Only a tenth is held out, so {whole:,} correct calibration rows are needed."


@PLANS.register("abstaining-rates", "Sampling error of the rates of a model that abstains", reference="P4 eq. 4 and 7")
@dataclass(frozen=True)
class AbstainingRates(Plan):
    """Distance of a rate measured on test rows from the true rate, by the number of rows.

    P(|measured - r| >= d) <= 2 exp(-m d^2 / (2 r (1 - r))) for m rows: a normal approximation, shown with the normal
    distribution itself.
    """

    share: Annotated[
        str,
        Choice(("withheld", "right"), titles=("Correct rows withheld", "Accuracy of answered rows")),
        "Rate",
        "share of correct rows withheld, or accuracy of answered rows",
    ] = "withheld"
    rate: Annotated[float, Range(0.001, 0.999), "True rate", "true value of the rate, in the whole population"] = 0.05
    rows: Annotated[
        int | None,
        Range(1, 10**9, log=True),
        "Rows measured",
        "number of test rows that the rate is measured on: correct rows, or answered rows",
    ] = None
    error: Annotated[
        float, Range(0.001, 0.5, log=True), "Target distance", "target distance of the measured rate from the true rate"
    ] = 0.02
    level: Annotated[float, Range(0.5, 0.999), "Level", "probability of a smaller distance"] = LEVEL

    rows_of = "test"
    least = 10
    x_title = "test rows measured"
    y_title = "target distance of the measured rate from the true rate"
    basis = (
        "A normal approximation, not a guarantee. It needs several rows of both kinds, and assumes that the true rate "
        "is the one given. A threshold from a finite number of rows does not guarantee that."
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
        rate = "share of correct rows withheld" if self.share == "withheld" else "accuracy of answered rows"
        normal = normal_deviation(self.level, self.rate, self.rows or 1)
        most, usual = (points_of(short_percent(min(each, 1.0))) for each in (self.bound, normal))
        return (
            f"On {several(self.rows or 1)}, the measured {rate} is within {most} of a true rate of "
            f"{in_percent(self.rate)} with a probability of about {at_level(self.level)} or more. This is a "
            f"cautious bound; by the normal distribution, the rate is within {usual}."
        )

    def inverse(self) -> str:
        return f"A distance of {points_of(short_percent(self.error))} or less needs {several(self.needed())}."


@PLANS.register("abstaining-gain", "Minimum ECE in the worst bins if a model abstains", reference="P4 eq. 2 and 6")
@dataclass(frozen=True)
class AbstainingGain(Plan):
    """Confidence ECE that remains in some bins with any map, by the share of incorrect rows still answered.

    (1 - a) / K for maps that keep the accuracy a with K classes. If a share R0 of correct and 1 - R1 of incorrect rows
    is withheld, it is w (1 - a) / K, w = (1 - R0) a + R1 (1 - a).
    """

    accuracy: Annotated[float | None, Range(0.01, 0.999), "Accuracy", "share of correct rows"] = None
    classes: Annotated[int | None, Range(2, 100_000, log=True), "Number of classes", "number of classes"] = None
    withheld: Annotated[float, Range(0, 1), "Correct rows withheld", "share of correct rows withheld"] = 0.05
    missed: Annotated[
        float, Range(0, 1), "Incorrect rows answered", "share of incorrect rows that are answered nevertheless"
    ] = 0.5

    along, wanted, rows_of, counts = "missed", "", "test", False
    x_title = "share of incorrect rows that are answered nevertheless"
    y_title = "minimum ECE in the worst bins"
    basis = (
        "Ma and Blaschko's lower limit on the ECE computed on one set of rows, in the bins that maximize it. It does "
        "not limit the ECE in your bins. Withheld rows count as predictions of 1 / K."
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
            f"The accuracy is {in_percent(self.accuracy or 0.0)} with {self.classes:,} classes. In theory, every "
            f"calibrator that changes no predicted class then has a confidence ECE of at least {short_percent(every)} "
            f"in some choice of bins. Withholding {in_percent(self.withheld)} of the correct rows and "
            f"{in_percent(1 - self.missed)} of the incorrect rows lowers this limit to {short_percent(self.bound)}."
        )
