"""Miss rates of 90 % intervals of an AUROC on each side, including few events.

Run `python tests/simulations/aurocs.py [--minutes 20]` with the package installed. It writes
tests/simulations/aurocs.csv line by line and reuses existing lines. With `--check` it computes nothing and ends with 1
if a guarantee is violated. A first violation is an end that misses in more than .05 of the runs, up to the error of the
runs, in any case, or over all cases. A second is an interval much wider than DeLong's with many rows of both kinds. A
third is a falsified twin (``delong_above``, ``delong_below``: DeLong's plain interval) that meets the guarantee
everywhere.

above: share of runs whose lower end is above the true AUROC; below: whose upper end is below it.
"""

import itertools
import sys
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

from auroc_laws import LAWS, misses, move_for
from resumable import LineTable, command
from score_laws import seed_of
from verdict_shares import more_than

FILE = Path(__file__).with_suffix(".csv")
TABLE = LineTable(
    "law,events,others,wanted,runs,auroc,above,below,delong_above,delong_below,width,delong_width",
    4,
    "# Intervals of an AUROC, written by tests/simulations/aurocs.py\n",
)
SIZES = (
    *((5, 995, 0.8), (5, 95, 0.95), (5, 45, 0.6), (10, 290, 0.75), (12, 1988, 0.98), (20, 380, 0.95)),
    *((30, 970, 0.995), (40, 1960, 0.98), (50, 50, 0.99), (60, 600, 0.9), (990, 10, 0.9)),
    *((100, 900, 0.995), (150, 150, 0.8), (200, 800, 0.95), (200, 1800, 0.85)),
)
WIDER = 1.2
"""Largest mean width relative to DeLong's, with more than 100 rows of each kind, AUROC below .88."""


@dataclass(frozen=True)
class Case:
    """Case of one line: a distribution, the numbers of events and other rows, the AUROC."""

    law: str
    events: int
    others: int
    wanted: float
    runs: int = 500

    @property
    def names(self):
        """Return the names of its line."""
        return [f"{self.law},{self.events},{self.others},{self.wanted}"]

    @property
    def note(self):
        """Return its description for the progress display."""
        return f"{self.law}, {self.events} events of {self.events + self.others}, AUROC {self.wanted}"


def cases():
    """Return all distributions at all sizes, except AUROCs that ties do not reach."""
    every = [Case(law, *size) for size, law in itertools.product(SIZES, LAWS)]
    return [case for case in every if abs(move_for(case.law, case.wanted)[1] - case.wanted) < 0.04]


def made(case):
    """Return the line of a case."""
    seed = seed_of("aurocs", case.law, case.events, case.others, case.wanted)
    found = misses(case.law, case.wanted, case.events, case.others, case.runs, seed)
    return [f"{case.names[0]},{case.runs},{','.join(f'{number:.4f}' for number in found)}"]


def faults(table):
    """Return the violations of the guarantees in the table, one sentence each."""
    said = []
    for row in table.itertuples():
        name = ", ".join(map(str, row[1:5]))
        # Some 130 cases with two ends each are checked: a violation in one has to be rarer than 1 in 100.
        said += [
            f"{end} in {share:.3f} of {row.runs}: {name}"
            for end, share in (("above", row.above), ("below", row.below))
            if more_than(share, row.runs, chance=0.01 / len(table))
        ]
        many = min(row.events, row.others) > 100 and row.auroc < 0.88
        if many and row.width > WIDER * row.delong_width:
            said.append(f"{row.width / row.delong_width:.2f} times as wide as DeLong's: {name}")
    for end in ("above", "below"):
        if table[end].mean() > 0.05:
            said.append(f"{end} in {table[end].mean():.3f} of all cases")
    if not any(more_than(max(row.delong_above, row.delong_below), row.runs, chance=1e-6) for row in table.itertuples()):
        said.append("DeLong's interval keeps the promise too: this table shows nothing")
    return said


if __name__ == "__main__":
    command(__doc__, TABLE, cases(), made, faults, FILE)
