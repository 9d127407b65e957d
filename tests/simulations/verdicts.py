"""Error rates of verdicts: a true error just next to the tolerance of .02, and models without any.

Run `python tests/simulations/verdicts.py [--minutes 30]` with the package installed. It writes
tests/simulations/verdicts.csv line by line and reuses existing lines. With `--check` it computes nothing and ends with
1 if a guarantee is violated. Each of three rates must be 5 % of runs or fewer, up to the error of the runs. They are
"within" at a true error of .0204, "miscalibrated" at .0196, and either "miscalibrated" or a test that rejects at a true
error of 0. The falsified twin (``half_within``: an interval of half the width decides) must violate its guarantee
somewhere.
"""

import itertools
import sys
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

from resumable import LineTable, command
from score_laws import CLAIMS
from verdict_shares import WORDS, judge, more_than

FILE = Path(__file__).with_suffix(".csv")
EPS = 0.02
TABLE = LineTable(
    "law,truth,classes,rows,notion,estimator,eps,runs,within,miscalibrated,too_close,too_few,"
    "rejected,spiegelhalter,alarms,half_within",
    7,
    "# Shares of verdicts, written by tests/simulations/verdicts.py\n"
    "# rejected: p at most 5 %; alarms: miscalibrated or rejected; half_within: within by half the width\n",
)


@dataclass(frozen=True)
class Case:
    """Case of one line: a distribution, a truth and a size."""

    law: str
    truth: str
    rows: int
    classes: int = 10
    notion: str = "confidence"
    estimator: str = "ece"
    runs: int = 400

    @property
    def names(self):
        """Return the names of its line."""
        parts = (self.law, self.truth, self.classes, self.rows, self.notion, self.estimator, EPS)
        return [",".join(map(str, parts))]

    @property
    def note(self):
        """Return its description for the progress display."""
        return f"{self.notion}: {self.law}, {self.truth}, K = {self.classes}, n = {self.rows}"


def cases():
    """Return equal claims with many runs (they cost nothing), then other distributions, notions and estimators."""
    sure, sizes = ("certain", "all .995"), (30, 100, 400, 2000)
    truths = ("shift .0204", "shift .0196", "calibrated")
    alike = [Case(law, t, n, runs=10_000) for n, law, t in itertools.product(sizes, sure, truths)]
    laws = ("beta 200", "60 % at 1", "two decimals", "beta 5")
    spread = [
        Case(law, truth, n)
        for n, truth, law in itertools.product((400, 2000), (*truths, "region .0204", "region .0196"), laws)
        if not (law == "beta 200" and truth.startswith("region"))
    ]
    rest = [
        *(Case("network", "calibrated", n, k, notion) for n, k in ((300, 10), (1000, 100)) for notion in _NOTIONS),
        *(Case(law, t, 1000, 20, "top-label") for law in ("beta 200", "beta 5") for t in truths),
        *(Case(law, t, 1000, estimator="rmsce") for law in ("beta 200", "beta 5") for t in truths),
    ]
    return [*alike, *spread, *rest]


_NOTIONS = ("confidence", "top-label", "class-wise")


def made(case):
    """Return the line of a case."""
    found = judge(case.law, case.truth, case.rows, case.classes, case.notion, case.estimator, EPS, case.runs)
    counts = (found.rejected, found.spiegelhalter, found.alarms, found.half_within)
    shares = [*(found.share(word) for word in WORDS), *(count / found.runs for count in counts)]
    return [f"{case.names[0]},{found.runs},{','.join(f'{share:.4f}' for share in shares)}"]


def faults(table):
    """Return the violations of the guarantees in the table, one sentence each."""
    said, caught = [], False
    for row in table.itertuples():
        name = ", ".join(map(str, row[1:8]))
        if str(row.truth).endswith(".0204"):
            caught |= more_than(row.half_within, row.runs)
        # Order 2 of an error is at least the error: only shifts have exactly the tolerance's neighbours there.
        wrong = {".0204": ("within", row.within), ".0196": ("miscalibrated", row.miscalibrated)}
        checks = [wrong[end] for end in wrong if str(row.truth).endswith(end)]
        if row.truth == "calibrated":
            checks = [("alarms", row.alarms), ("alarms of Spiegelhalter's test", row.spiegelhalter)]
        said += [f"{what} in {share:.4f} of {row.runs}: {name}" for what, share in checks if more_than(share, row.runs)]
        if row.within + row.miscalibrated + row.too_close + row.too_few < 0.999:
            said.append(f"other words than the four: {name}")
    if not caught:
        said.append("half the width keeps the promise too: this table shows nothing")
    return said


if __name__ == "__main__":
    assert set(CLAIMS) >= {case.law for case in cases() if case.law != "network"}
    command(__doc__, TABLE, cases(), made, faults, FILE)
