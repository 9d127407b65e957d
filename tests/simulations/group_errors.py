"""Coverage of intervals of the multicalibration error over distributions, truths, sizes, groups and levels.

Run `python tests/simulations/group_errors.py [--minutes 60] [--processes 1]` with the package installed. It writes
calib_core/inference/verdicts/group_errors.csv, which the package ships. Existing lines are reused: delete the file (or
lines of it) to recompute them. With `--check` it computes nothing and ends with 1 if the guarantee is violated.

Groups are the values of two columns, and of a crossing if there are many of them; rows are assigned at random. The true
error is that of the true probabilities, by sums computed here. The falsified twin is the interval at half its width.
"""

import itertools
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

from coverage_promise import at_most
from resumable import LineTable, command
from score_laws import CLAIMS, seed_of, top_truth

from calib_core import Predictions
from calib_core.slices import multicalibration

FILE = Path(__file__).parents[2] / "calib_core" / "inference" / "verdicts" / "group_errors.csv"
NAMED_BY = 5
FEWEST = 10
COLUMNS = {"few": (2, 3), "many": (6, 5)}
"""Numbers of values of the two columns."""
TABLE = LineTable(
    "law,truth,rows,groups,level,runs,coverage,below,above,half,every_group,false_alarms,above_floor,true_error,mean_width",
    NAMED_BY,
    "# Coverage of multicalibration errors, written by tests/simulations/group_errors.py\n"
    "# coverage: of the value's interval; every_group: all groups' intervals at once; half: of the twin half as wide\n"
    "# false_alarms: runs with a group that is called off; above_floor: runs whose value lies above its noise floor\n",
)


@dataclass(frozen=True)
class Case:
    """Case of one line."""

    law: str
    truth: str
    rows: int
    groups: str
    level: float = 0.9
    runs: int = 150

    @property
    def names(self):
        """Return the names of its line."""
        return [f"{self.law},{self.truth},{self.rows},{self.groups},{self.level}"]

    @property
    def note(self):
        """Return its description for the progress display."""
        return self.names[0]


def cases():
    """Yield the cases: calibrated, one value of the first column off, or two off in opposite directions."""
    laws, truths = ("beta 5", "60 % at 1"), ("calibrated", "one", "opposed")
    yield from (Case("beta 5", truth, 30, "few") for truth in truths[:2])
    yield from itertools.starmap(Case, itertools.product(laws, truths, (100,), ("few", "many")))
    yield from (Case("beta 5", truth, 1000, "few", runs=100) for truth in ("calibrated", "opposed"))
    yield from (Case("beta 5", "one", 100, "many", level) for level in (0.8, 0.99))


def drawn(case, rng):
    """Return predictions without outcomes, their true probabilities, and the groups' rows by name."""
    scores = CLAIMS[case.law](case.rows, rng)
    first, second = (rng.integers(values, size=case.rows) for values in COLUMNS[case.groups])
    truth = top_truth(scores, first, "calibrated")
    if case.truth != "calibrated":
        truth = np.where(first == 0, np.maximum(truth - 0.15, 0), truth)
    if case.truth == "opposed":
        truth = np.where(first == 1, np.minimum(truth + 0.15, 1), truth)
    return scores, truth, pd.DataFrame({"site": first.astype(str), "shift": second.astype(str)})


def largest(moved):
    """Return the largest |sum| over runs of numbers in order."""
    path = np.concatenate([[0.0], np.cumsum(moved)])
    return float(path.max() - path.min())


def true_errors(scores, truth, columns, crossed):
    """Return the true error of every group by name, and the largest by its share of all rows."""
    groups = {"all rows": np.ones(len(scores), dtype=bool)}
    for name, values in columns.items():
        groups |= {f"{name} = {value}": (values == value).to_numpy() for value in values.unique()}
    if crossed:
        pairs = itertools.product(*(columns[name].unique() for name in columns))
        groups |= {
            f"site = {a}, shift = {b}": ((columns["site"] == a) & (columns["shift"] == b)).to_numpy() for a, b in pairs
        }
    found, most = {}, 0.0
    for name, inside in groups.items():
        if inside.sum() < FEWEST:
            continue
        order = np.lexsort((truth[inside], scores[inside]))
        moved, score = (truth - scores)[inside][order], scores[inside][order]
        sums = np.bincount(np.unique(score, return_inverse=True)[1], moved)  # equal scores never part
        found[name] = largest(sums) / inside.sum()
        most = max(most, found[name] * inside.mean())
    return found, most


def made(case):
    """Return the line of a case."""
    rng = np.random.default_rng([11, seed_of(*case.names)])
    crossed, counts, widths, aims = case.groups == "many", np.zeros(7), [], []
    for run in range(case.runs):
        scores, truth, columns = drawn(case, rng)
        found = multicalibration(
            Predictions.from_confidence(scores, rng.random(case.rows) < truth, metadata=columns),
            crossings=crossed,
            fewest=FEWEST,
            level=case.level,
            random_state=run,
        )
        each, aim = true_errors(scores, truth, columns, crossed)
        lines, ends = found.frame().set_index("group"), found.interval
        true = lines.index.map(each).to_numpy(float)
        low, high = ((end + ends.point) / 2 for end in (ends.low, ends.high))
        counts += [
            ends.low - 1e-12 <= aim <= ends.high + 1e-12,
            aim < ends.low - 1e-12,
            aim > ends.high + 1e-12,
            low <= aim <= high,
            ((lines["low"] - 1e-12 <= true) & (true <= lines["high"] + 1e-12)).all(),
            found.p_value <= 0.05,
            found.value > found.noise_floor.high,
        ]
        widths.append(ends.high - ends.low)
        aims.append(aim)
    shares = ",".join(f"{share:.3f}" for share in counts / case.runs)
    return [f"{case.names[0]},{case.runs},{shares},{np.mean(aims):.4f},{np.mean(widths):.4f}"]


def faults(table):
    """Return the lines below the guarantee, as for the coverage table, and false alarms on calibrated models."""
    miss, said = 1 - table["level"], []
    for name in ("coverage", "every_group"):
        low = table[at_most(table[name], table["runs"]) < 1 - 1.4 * miss]
        said += [f"{name} {row[6]}: {', '.join(map(str, row[1:6]))}" for row in low.itertuples()]
    calm = table[table["truth"] == "calibrated"]
    room = 0.05 + 3 * (0.05 * 0.95 / calm["runs"]) ** 0.5
    for name in ("false_alarms", "above_floor"):
        said += [f"{name}: {', '.join(map(str, row[1:6]))}" for row in calm[calm[name] > room].itertuples()]
    if not (at_most(table["half"], table["runs"]) < 1 - 1.4 * miss).any():
        said.append("intervals of half the width hold as well, so that these lines show nothing")
    return said


if __name__ == "__main__":
    command(__doc__, TABLE, list(cases()), made, faults, FILE)
