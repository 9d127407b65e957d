"""Rejection rates of calibrated models at the 5 % level over distributions, sizes, classes, notions and estimators.

Run `python tests/simulations/null_rejection.py [--minutes 60] [--processes 1]` with the package installed. It writes
calib_core/inference/verdicts/rejection.csv, which the package ships. Existing lines are reused: delete the file (or
lines of it) to recompute them. All of it takes about an hour and a half on one core. With `--check` it computes nothing
and ends with 1 if calibrated models are rejected too often.

"spread rows" are softmax(3 * standard normal) over K classes; most confidences of "network" rows are above .95
(tests/support/score_laws.py). There is one set of predictions per case. The null distribution is drawn once by the
library (as many draws as runs), labels by numpy's own sampler. Both share the binomial error of a line, sqrt(.05 .95 (1
/ runs + 1 / draws)): 0.34 % with 8000. Estimators based on rows get half the runs.
"""

import itertools
import sys
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

from null_rates import LEVEL, rejection_rates, spread_rows
from resumable import LineTable, command
from score_laws import ROWS

FILE = Path(__file__).parents[2] / "calib_core" / "inference" / "verdicts" / "rejection.csv"
LAWS = {"spread rows": spread_rows, "network": ROWS["network"]}
SIZES = (100, 300, 1000, 3000, 10_000)
CLASSES = (2, 3, 10, 30, 100)
NOTIONS = ("confidence", "top-label", "class-wise")
COUNTED = ("ece", "rmsce", "mce", "debiased-l2", "debiased-ece", "ece-adaptive")
BY_ROWS = ("ece-convex", "smece", "ece-kde", "ece-sweep", "max-deviation", "skce")
TRUTHFUL = ("two-bin",)
TABLE = LineTable(
    "law,notion,classes,estimator,rows,runs,rejected,rejected_exact",
    5,
    f"# Share of calibrated models rejected at the {LEVEL:.0%} level, written by tests/simulations/null_rejection.py\n"
    "# rejected: by the p-value shown; rejected_exact: by the one whose ties are broken at random\n",
)


@dataclass(frozen=True)
class Case:
    """Case of the lines of one set of predictions: some notions, each with some estimators."""

    rows: int
    classes: int
    notions: tuple[str, ...]
    estimators: tuple[str, ...]
    law: str = "spread rows"
    runs: int = 8000

    @property
    def names(self):
        """Return the names of its lines."""
        pairs = itertools.product(self.notions, self.estimators)
        return [f"{self.law},{notion},{self.classes},{key},{self.rows}" for notion, key in pairs]

    @property
    def note(self):
        """Return its description for the progress display."""
        return f"{self.law}: {', '.join(self.notions)}, K = {self.classes}, n = {self.rows}"


def cases():
    """Return cases, networks first; few with row-based estimators, which are slow with many strata."""
    return [
        *(Case(n, k, NOTIONS, COUNTED, "network", 4000) for n, k in itertools.product((1000, 100), (10, 100, 3))),
        Case(1000, 1000, NOTIONS[:2], COUNTED, "network", 2000),
        *(Case(n, 10, NOTIONS[:1], BY_ROWS, "network", 2000) for n in (100, 1000)),
        *(Case(n, k, NOTIONS, COUNTED) for n, k in itertools.product(SIZES, CLASSES)),
        *(Case(n, k, NOTIONS[:1], BY_ROWS, runs=4000) for n, k in itertools.product(SIZES, CLASSES[::2])),
        *(Case(100, k, NOTIONS[1:], BY_ROWS, runs=4000) for k in (2, 3)),
        *(Case(n, 10, NOTIONS[:1], TRUTHFUL, "network", 2000) for n in (100, 1000)),
        *(Case(n, k, NOTIONS[:1], TRUTHFUL, runs=4000) for n, k in itertools.product((100, 1000, 10_000), (2, 10))),
        *(Case(100, k, NOTIONS[1:], TRUTHFUL, runs=4000) for k in (2, 3)),
    ]


def made(case):
    """Return the lines of a case."""
    draw = LAWS[case.law]
    found = rejection_rates(
        case.rows, case.classes, case.notions, case.estimators, case.runs, seed=1, draws=case.runs, draw=draw
    )
    return [f"{name},{case.runs},{a:.4f},{b:.4f}" for name, (a, b) in zip(case.names, found.values(), strict=True)]


def faults(table):
    """Return the lines whose share differs from the level by more than four standard errors of runs and draws."""
    off = 4 * (LEVEL * (1 - LEVEL) * 2 / table["runs"]) ** 0.5
    often = (table["rejected"] > LEVEL + off) | ((table["rejected_exact"] - LEVEL).abs() > off)
    return [", ".join(map(str, row[1:])) for row in table[often].itertuples()]


if __name__ == "__main__":
    command(__doc__, TABLE, cases(), made, faults, FILE)
