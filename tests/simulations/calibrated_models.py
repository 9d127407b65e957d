"""Share of calibrated models that ``choose`` leaves unchanged, and the harm done to the others.

Run `python tests/simulations/calibrated_models.py [--minutes 60] [--processes 1]` with the package installed. It writes
tests/simulations/calibrated_models.csv block by block and reuses existing blocks of ``RUNS`` runs. With `--check` it
computes nothing and ends with 1 if the goal is missed. The goal is that at least 95 % are left alone, up to the error
of the runs, with every number of classes and of rows. Plain cross-validation is the falsified twin; it must miss it.

Labels are drawn from the model's own probabilities. A model "sure" has logits with a standard deviation of 2. One that
is "even" is uniform on the simplex.

- left: runs in which the model stays, also where no advice is given;
- plain: runs in which no calibrator has a gain in cross-validation;
- refused: runs without advice;
- harm: mean over all runs of the divergence from the truth, in nats, on ``TEST`` further rows.
"""

import itertools
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

from resumable import LineTable, command
from verdict_shares import more_than

from calib_core import NotAnswerable, Predictions, choose
from calib_core.calibrators import as_calibrator
from calib_core.evaluation.candidates import IDENTITY

FILE = Path(__file__).with_suffix(".csv")
CLASSES, SIZES, RUNS, TEST, GOAL = (2, 10, 100, 3, 30), (100, 1000, 20_000, 300, 5000), 10, 2000, 0.95
TABLE = LineTable(
    "law,classes,rows,block,runs,left,plain,refused,harm",
    4,
    "# Calibrated models left alone, written by tests/simulations/calibrated_models.py\n",
)
LAWS = {
    "sure": lambda n, k, rng: _softmax(2 * rng.normal(size=(n, k))),
    "even": lambda n, k, rng: rng.dirichlet(np.ones(k), n),
}


def _softmax(z):
    q = np.exp(z - z.max(axis=1, keepdims=True))
    return q / q.sum(axis=1, keepdims=True)


def drawn(law, n, k, rng):
    """Return rows of a calibrated model."""
    p = LAWS[law](n, k, rng)
    return Predictions(p, (np.log(p) + rng.gumbel(size=p.shape)).argmax(axis=1))


@dataclass(frozen=True)
class Case:
    """Block of runs of one distribution and size."""

    law: str
    classes: int
    rows: int
    block: int

    @property
    def names(self):
        """Return the name of its line."""
        return [f"{self.law},{self.classes},{self.rows},{self.block}"]

    @property
    def note(self):
        """Return its description for the progress display."""
        return f"{self.law}, K = {self.classes}, n = {self.rows}, block {self.block}"


def cases():
    """Return all cases: the ends of the grid and the first blocks before all others; fewer blocks of slow cells."""
    sizes = sorted(itertools.product(CLASSES, SIZES), key=lambda each: each[0] in CLASSES[3:] or each[1] in SIZES[3:])
    blocks = [(block, law, k, n) for block in range(6) for law in LAWS for k, n in sizes]
    return [Case(law, k, n, block) for block, law, k, n in blocks if block < (6 if n * k <= 10_000 else 2)]


def run(law, k, n, seed):
    """Return whether the model stays, whether it stays by plain cross-validation, refusal, and harm."""
    rng = np.random.default_rng([seed, k, n, list(LAWS).index(law)])
    fit, test = drawn(law, n, k, rng), drawn(law, TEST, k, rng)
    try:
        found = choose(fit)
    except NotAnswerable:
        return True, True, True, 0.0
    plain = not (found.table["gain"].fillna(-np.inf) > 0).any()
    if found.recipe == IDENTITY:
        return True, plain, False, 0.0
    q = as_calibrator(found.recipe).fit_on(fit).apply(test).probs
    return False, plain, False, float((test.probs * np.log(test.probs / np.maximum(q, 1e-15))).sum(axis=1).mean())


def lines(case):
    """Return the line of a block."""
    every = [run(case.law, case.classes, case.rows, RUNS * case.block + i) for i in range(RUNS)]
    left, plain, refused, harm = np.sum(every, axis=0)
    return [f"{case.names[0]},{RUNS},{left:.0f},{plain:.0f},{refused:.0f},{harm / RUNS:.6f}"]


def by_size(frame):
    """Return the runs, those left alone and the mean harm, for each number of classes and rows."""
    sums = frame.assign(harm=frame["harm"] * frame["runs"]).groupby(["classes", "rows"])
    cells = sums[["runs", "left", "plain", "refused", "harm"]].sum().reset_index()
    return cells.assign(share=cells["left"] / cells["runs"], harm=cells["harm"] / cells["runs"])


def faults(frame):
    """Return a sentence for each cell that misses the goal, and one if the twin meets it everywhere."""
    cells = by_size(frame)
    found = [
        f"K = {line.classes}, n = {line.rows}: left alone in {line.left} of {line.runs}"
        for line in cells.itertuples()
        if more_than(1 - line.share, line.runs, 1 - GOAL)
    ]
    twin = cells["plain"].sum() / cells["runs"].sum()
    return [*found, *(["plain cross-validation leaves as many alone"] if twin >= GOAL else [])]


if __name__ == "__main__":
    command(__doc__, TABLE, cases(), lines, faults, FILE)
