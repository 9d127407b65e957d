"""Miss rates of ends that respect the order of errors, their widths, and their power.

Run `python tests/simulations/nested_errors.py [--minutes 10] [--processes 1]` with the package installed. It writes
tests/simulations/nested_errors.csv line by line and reuses existing lines. With `--check` it computes nothing and ends
with 1 if a guarantee is violated. A first violation is an end that misses in more than .05 of the runs, up to the error
of the runs. A second is a falsified twin (``all_at_full``: every line's lower end at the full level, without the joint
one) that meets the guarantee everywhere. A third is a line whose width does not fall with the rows.

above: share of runs whose lower end is above the true error, below: whose upper end is below it; found: share of lower
ends above .02. The true error of a line is that of the bins its interval is about (tests/support/true_errors.py).
"""

import itertools
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

from resumable import LineTable, command
from score_laws import sample, seed_of
from true_errors import target
from verdict_shares import more_than

from calib_core import estimate
from calib_core.inference.intervals.error_hierarchy import Chain
from calib_core.inference.verdicts.verdict import on_scale_of

FILE = Path(__file__).with_suffix(".csv")
SETS, LEVEL = 4, 0.9
TABLE = LineTable(
    "law,truth,classes,rows,notion,runs,above,all_at_full,below,found,true_error,mean_width,tail",
    5,
    "# Ends that respect the order of errors, written by tests/simulations/nested_errors.py\n",
)


@dataclass(frozen=True)
class Case:
    """Case of the lines of one distribution, truth and size, from the same runs."""

    law: str
    truth: str
    rows: int
    classes: int
    notions: tuple[str, ...]
    runs: int = 100

    @property
    def heads(self):
        """Return the start of each notion's line."""
        return {notion: f"{self.law},{self.truth},{self.classes},{self.rows},{notion}" for notion in self.notions}

    @property
    def names(self):
        """Return the names of its lines."""
        return list(self.heads.values())

    @property
    def note(self):
        """Return its description for the progress display."""
        return f"{self.law}, {self.truth}, K = {self.classes}, n = {self.rows}"


CLAIMED, ALL = ("confidence", "top-label"), ("confidence", "top-label", "class-wise")


def cases():
    """Return all cases, one of every kind in turn: an interrupted table is representative."""
    rounds = itertools.zip_longest(_found(), _calm(), _of_classes(), _of_two(), _widths(), _many(), _above())
    return [case for each in rounds for case in each if case is not None]


def _found():
    for (law, k), n in itertools.product((("network", 20), ("beta 5", 20), ("network", 100)), (1000, 300)):
        yield Case(law, "shift .05", n, k, CLAIMED)


def _calm():
    laws = [("network", 3), ("network", 10), ("beta 5", 10), ("beta 200", 10), ("forest", 10), ("tiny", 10)]
    for n, truth, (law, k) in itertools.product((1000, 100), ("calibrated", "shift .0196"), laws):
        if not (law == "tiny" and n == 100 and truth != "calibrated"):
            yield Case(law, truth, n, k, CLAIMED, 100)


def _of_classes():
    for (n, k), truth in itertools.product(
        ((300, 3), (300, 10), (300, 20)), ("calibrated", "over-confident", "shift .02 neighbour")
    ):
        yield Case("network", truth, n, k, ("class-wise",), 60)


def _of_two():
    for n, truth in itertools.product((100, 300, 1000), ("calibrated", "over-confident", "class .02")):
        yield Case("network", truth, n, 2, ("confidence", "event", "class-wise", "top-label"), 60)


def _above():
    """Yield errors that are never smaller than the mean absolute one in the same bins."""
    for (law, k, n, notion), truth in itertools.product(
        (("network", 2, 300, "event"), ("beta 5", 10, 300, "confidence"), ("network", 10, 1000, "class-wise")),
        ("calibrated", "over-confident"),
    ):
        yield Case(law, truth, n, k, (f"{notion} rmsce", f"{notion} mce"))
    yield Case("two decimals", "region .0204", 1000, 10, ("confidence rmsce", "confidence mce"))


def _widths():
    for n, truth in itertools.product((1000, 2000, 5000, 10_000), ("over-confident", "calibrated")):
        yield Case("network", truth, n, 100, CLAIMED, 60)


def _many():
    for n, k in ((4000, 10), (4000, 20)):
        yield Case("network", "shift .0196", n, k, CLAIMED, 100)
    yield Case("two decimals", "region .0204", 1000, 10, CLAIMED, 400)
    yield Case("network", "class .01", 4000, 20, CLAIMED, 60)


def made(case):
    """Return the lines of a case."""
    seed = seed_of("nested errors", case.law, case.truth, case.rows, case.classes)
    sets = [sample(case.law, case.truth, case.rows, case.classes, i) for i in range(SETS)]
    aims = [
        {name: max(_true(one, *_of(name)), _true(one, _of(name)[0], "ece")) for name in case.notions} for one in sets
    ]
    found = {notion: [] for notion in case.notions}
    for run in range(case.runs):
        drawn = sets[run % SETS].drawn(np.random.default_rng([seed, run]))
        for notion in case.notions:
            asked = _asked(drawn, notion)
            lines, ends = Chain.of(asked.question, 0), asked.interval(LEVEL)
            full = lines.lowest_at((1 - LEVEL) / 2)
            if _of(notion)[1] != "ece":
                full = max(on_scale_of(asked, full), lines._bins.interval(asked.question.estimator, LEVEL).low)
            true = aims[run % SETS][notion]
            slack = 1e-9 + 1e-9 * true
            found[notion].append(
                (
                    ends.low > true + slack,
                    full > true + slack,
                    ends.high < true - slack,
                    ends.low > on_scale_of(asked, 0.02),
                    true,
                    ends.high - ends.low,
                    lines.tail(LEVEL),
                )
            )
    return [f"{case.heads[notion]},{case.runs},{_means(found[notion])}" for notion in case.notions]


def _true(one, notion, measure):
    """Return the true error in the evaluated bins.

    Root mean squares can be judged in wider bins than mean absolute errors, where they may be smaller. Bounded is the
    larger of the two, which is no more than the root mean square in the finer bins.
    """
    return target(estimate(one.predictions, notion, measure), one, notion, measure)[0]


def _of(name):
    """Return the notion and the measure of a line, which is the ECE unless named."""
    notion, _, measure = name.partition(" ")
    return notion, measure or "ece"


def _asked(rows, name):
    return estimate(rows, *_of(name))


def _means(found):
    return ",".join(f"{value:.4f}" for value in np.mean(np.array(found, dtype=float), axis=0))


def faults(table):
    """Return the violations of the guarantees in the table, one sentence each."""
    said = []
    for row in table.itertuples():
        name = ", ".join(map(str, row[1:6]))
        said += [
            f"{end} in {share:.3f} of {row.runs}: {name}"
            for end, share in (("above", row.above), ("below", row.below))
            if more_than(share, row.runs)
        ]
    if not any(more_than(row.all_at_full, row.runs) for row in table.itertuples()):
        said.append("without a joint level the promise is kept too: this table shows nothing")
    for name, lines in table.groupby(["law", "truth", "classes", "notion"]):
        widths = lines.sort_values("rows")["mean_width"].to_numpy()
        if (np.diff(widths) >= 0).any():
            said.append(f"wider with more rows: {', '.join(map(str, name))}")
    return said


if __name__ == "__main__":
    command(__doc__, TABLE, cases(), made, faults, FILE)
