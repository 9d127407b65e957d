"""How often the default 90 % interval holds the true binned error, over truths, sizes, notions and bins.

Run `python tests/simulations/interval_coverage.py [RUNS] [PROCESSES]` with the package installed; it writes
calib_core/inference/coverage.csv, which the package ships, and keeps the cases that are already in it: delete the file
to make it anew. 400 runs take an hour on two cores.

Predictions are softmax(scale * standard normal) over K classes, four sets of them in every cell of the table; each run
draws labels anew from the true class probabilities, which are a function of the predictions (TRUTHS). The target is
the binned error with each bin's mean outcome replaced by the mean of its rows' true probabilities; for estimators
that look at the rows, their value when every row's outcome is its true probability (for the swept error: on the bins
that the run's walk chose).
"""

import itertools
import sys
import zlib
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from scipy.spatial.distance import cdist

from calib_core import ESTIMATORS, Predictions, estimate, reductions
from calib_core.binning import EqualMass, EqualWidth, Grid, Sierpinski, simplex_table
from calib_core.claims import ColumnClaims, Tally
from calib_core.estimators import Binned, DebiasedL2
from calib_core.estimators.skce import pair_sums
from calib_core.inference import interval
from calib_core.inference.counted import of_counts

FILE = Path(__file__).parents[2] / "calib_core" / "inference" / "coverage.csv"
LEVEL = 0.9
SETS = 4
SCALE = {2: 2.0, 3: 2.5, 10: 3.0, 100: 4.5}


def with_top(p, top):
    """Rows whose largest entry is replaced by ``top``, the others rescaled to fit."""
    at = np.arange(len(p)), p.argmax(1)
    top = np.clip(top, 0.0, 1.0)
    q = p * ((1 - top) / np.maximum(1 - p[at], 1e-12))[:, None]
    q[at] = top
    return q / q.sum(1, keepdims=True)


def powered(p, t):
    q = p**t
    return q / q.sum(1, keepdims=True)


TRUTHS = {
    "calibrated": lambda p: p,
    "over-confident": lambda p: powered(p, 0.6),
    "under-confident": lambda p: powered(p, 1.4),
    "shifted": lambda p: with_top(p, p.max(1) - 0.05),
    "oscillating": lambda p: with_top(p, p.max(1) + 0.08 * np.sin(12 * np.pi * p.max(1))),
    "one interval": lambda p: with_top(p, p.max(1) - 0.3 * ((p.max(1) > 0.85) & (p.max(1) < 0.9))),
}


@dataclass(frozen=True)
class Case:
    notion: str
    classes: int
    binning: str
    bins: int
    rows: int
    truth: str

    @property
    def seed(self):
        return zlib.crc32(repr(self).encode())

    @property
    def share_of_runs(self):
        """Notions with several strata cost up to twenty times as much a run."""
        return 1.0 if self.notion == "confidence" else 0.4

    @property
    def heads(self):
        """The start of this case's lines in the file."""
        parts = (self.binning, self.bins, self.rows, self.truth)
        return [",".join(map(str, (self.notion, self.classes, name, *parts))) for name in ("ece", "rmsce")]

    @property
    def estimators(self):
        scheme = EqualMass(self.bins) if self.binning == "equal-mass" else EqualWidth(self.bins)
        return [Binned(scheme, order) for order in (1, 2)]

    def targets(self, predictions, reduction, q):
        claims = reduction.split(predictions)
        tables = [of_counts(e, claims).table for e in self.estimators]
        pairs = zip(self.estimators, tables, strict=True)
        return [e.of_table(expected(claims, table, q, predictions)).value for e, table in pairs]


NAMES = ("ece-convex", "ece-kde", "smece", "max-deviation", "skce", "ece-sweep")


@dataclass(frozen=True)
class RowCase(Case):
    """Estimators that look at the rows; those with bins have ``bins`` equally wide ones."""

    @property
    def share_of_runs(self):
        return 0.75 if self.notion == "confidence" else 0.25

    @property
    def heads(self):
        schemes = [("equal-width", self.bins), *[("", "")] * 4, ("chosen", "")]
        parts = [(name, *scheme, self.rows, self.truth) for name, scheme in zip(NAMES, schemes, strict=True)]
        return [",".join(map(str, (self.notion, self.classes, *part))) for part in parts]

    @property
    def estimators(self):
        return [ESTIMATORS.make(name, **({"bins": self.bins} if name == "ece-convex" else {})) for name in NAMES]

    def targets(self, predictions, reduction, q):
        """The value for rows that stand once for every class, weighed by its true probability."""
        n, k = q.shape
        rows, labels = np.repeat(np.arange(n), k), np.tile(np.arange(k), n)
        whole = Predictions(predictions.probs[rows], labels, weights=q.ravel())
        claims = reduction.split(predictions)
        aims = [e(reduction.split(whole)).value for e in self.estimators[:4]]
        return [*aims, squared(claims, predictions, q, self.estimators[4].scale), None]


def squared(claims, predictions, q, scale):
    """The squared kernel error of true probabilities: different rows are paired, not a row with itself.

    Leaving out the pairs of a row with itself can make it a hair negative; the error of the model is then 0.
    """
    ranked = np.argsort(-predictions.probs, axis=1, kind="stable")[:, 0]
    total = 0.0
    for s, share in enumerate(claims.shares):
        mine = np.arange(len(q)) if isinstance(claims, ColumnClaims) else np.flatnonzero(claims.codes == s)
        true = q[mine, s] if isinstance(claims, ColumnClaims) else q[mine, ranked[mine]]
        scores, n = claims.stratum(s).scores, len(mine)
        order = np.argsort(scores)
        if n > 1:
            total += share * pair_sums(scores[order], (true - scores)[order], scale) / (n * (n - 1) / 2)
    return max(0.0, float(total))


GRID = [
    *itertools.product(["confidence"], [10], ["equal-width"], [15], [250, 1000, 5000, 20_000]),
    *itertools.product(["confidence"], [10], ["equal-width"], [30], [1000, 20_000]),
    *itertools.product(["confidence"], [10], ["equal-mass"], [15], [1000]),
    *itertools.product(["top-label"], [10], ["equal-width"], [15], [1000]),
]


@dataclass(frozen=True)
class BlockCase(Case):
    """The kernel calibration error of whole vectors, whose interval comes from blocks of rows."""

    @property
    def share_of_runs(self):
        return 0.75

    @property
    def heads(self):
        return [",".join(map(str, (self.notion, self.classes, "skce", "", "", self.rows, self.truth)))]

    @property
    def estimators(self):
        return [ESTIMATORS.make("skce")]

    def targets(self, predictions, reduction, q):
        """The mean over all pairs of different rows of the true gaps' products."""
        p, gap, n = predictions.probs, q - predictions.probs, self.rows
        pairs = (gap @ gap.T) * np.exp(-0.5 * cdist(p, p, "cityblock"))
        return [max(0.0, float(pairs.sum() - np.trace(pairs)) / (n * (n - 1)))]


SIMPLEX = {
    "sierpinski": {4: Sierpinski(1), 13: Sierpinski(2)},
    "grid": {9: Grid(3), 25: Grid(5)},
}


@dataclass(frozen=True)
class SimplexCase(Case):
    """Canonical errors on a partition of the simplex into ``bins`` cells."""

    @property
    def share_of_runs(self):
        return 0.5

    @property
    def heads(self):
        parts = (self.binning, self.bins, self.rows, self.truth)
        return [",".join(map(str, ("canonical", self.classes, name, *parts))) for name in CANONICAL]

    @property
    def estimators(self):
        scheme = SIMPLEX[self.binning][self.bins]
        return [Binned(scheme, 1), Binned(scheme, 2), DebiasedL2(scheme)]

    def targets(self, predictions, reduction, q):
        """The binned error with every cell's label frequencies replaced by its rows' mean true probabilities."""
        absolute, square, debiased = self.estimators
        table = simplex_table(reduction.split(predictions), absolute.binning)
        true = np.array([np.bincount(table.codes, column, minlength=len(table.cells)) for column in q.T]).T
        values = [float(e.of_labels(table, true[None])[0]) for e in (absolute, square)]
        return [*values, values[1] if debiased.root else values[1] ** 2]


CANONICAL = ("ece", "rmsce", "debiased-l2")
SIMPLEX_GRID = [
    *((3, "sierpinski", cells, rows) for cells in (4, 13) for rows in (500, 2000)),
    *((3, "grid", cells, rows) for cells in (9, 25) for rows in (500, 2000)),
]
ROW_GRID = [
    *itertools.product(["confidence"], [10], [""], [15], [250, 1000]),
    *itertools.product(["class-wise"], [3], [""], [15], [500]),
    *itertools.product(["top-label"], [10], [""], [15], [1000]),
    *itertools.product(["confidence"], [10], [""], [15], [5000]),
]
# Where a run costs most: fewer truths.
COSTLY = [
    *itertools.product(["class-wise"], [2, 3], ["equal-width"], [15], [500]),
    *itertools.product(["top-k-label"], [3], ["equal-width"], [15], [1000]),
    *itertools.product(["top-label"], [100], ["equal-width"], [15], [1000]),
    *itertools.product(["class-wise"], [10], ["equal-width"], [15], [1000]),
]
FEW = ("calibrated", "over-confident", "shifted", "one interval")
CASES = [
    *(Case(*cell, truth) for cell in GRID for truth in TRUTHS),
    *(Case(*cell, truth) for cell in COSTLY for truth in FEW),
    *(BlockCase("canonical", k, "", 0, 1000, truth) for k in (3, 10) for truth in FEW),
    *(RowCase(*cell, truth) for cell in ROW_GRID for truth in FEW),
    *(RowCase(*cell, "oscillating") for cell in ROW_GRID[:3]),
    *(SimplexCase("canonical", *cell, truth) for cell in SIMPLEX_GRID for truth in FEW),
]


def drawn(p, rng):
    return (rng.random(len(p))[:, None] > np.cumsum(p, 1)[:, :-1]).sum(1)


def expected(claims, table, q, predictions):
    """The table with every bin's outcome sum replaced by its expectation under the true probabilities q."""
    if isinstance(claims, ColumnClaims):
        bins = table.count.shape[1]
        edges = [lower[1:][~np.isnan(lower[1:])] for lower in table.lower]
        at = [np.searchsorted(edges[j], claims.rows.column(j), side="right") for j in range(q.shape[1])]
        outcome = np.array([np.bincount(at[j], q[:, j], minlength=bins) for j in range(q.shape[1])])
    else:
        ranked = np.argsort(-predictions.probs, axis=1, kind="stable")[:, : len(claims.scores) // len(q)]
        true = np.take_along_axis(q, ranked, 1).T.ravel()
        outcome = np.bincount(table.cells(claims.scores, claims.codes), true, minlength=table.count.size).reshape(
            table.count.shape
        )
    return replace(table, tally=Tally(table.tally.count, table.tally.score, outcome))


def coverage(case, runs):
    runs = int(runs * case.share_of_runs)
    rng = np.random.default_rng(case.seed)
    reduction = reductions.as_reduction(case.notion)
    estimators = case.estimators
    found = np.zeros((len(estimators), runs, 2))
    true = np.zeros((len(estimators), runs))
    for i in range(runs):
        if i % -(-runs // SETS) == 0:
            z = SCALE[case.classes] * rng.standard_normal((case.rows, case.classes))
            p = np.exp(z - z.max(1, keepdims=True))
            p /= p.sum(1, keepdims=True)
            q = TRUTHS[case.truth](p)
            predictions = Predictions(p, np.zeros(len(p), dtype=int))
            aims = case.targets(predictions, reduction, q)
        run = predictions.relabelled(drawn(q, rng))
        for j, estimator in enumerate(estimators):
            made = estimate(run, reduction, estimator)
            got = interval(made.question, LEVEL)
            assert got.tested
            found[j, i], true[j, i] = (got.low, got.high), aims[j]
            if aims[j] is None:
                true[j, i] = Binned().of_table(expected(reduction.split(run), made.bins, q, run)).value
    lines = []
    for j, head in enumerate(case.heads):
        low, high = found[j].T
        below, above = (true[j] < low).mean(), (true[j] > high).mean()
        numbers = f"{1 - below - above:.3f},{below:.3f},{above:.3f},{true[j].mean():.4f},{(high - low).mean():.4f}"
        lines.append(f"{head},{runs},{numbers}")
    return lines


HEAD = (
    f"# Coverage of the default {LEVEL:.0%} interval, written by tests/simulations/interval_coverage.py\n"
    "# below: share of runs whose interval lies above the truth; above: share whose interval lies below it\n"
    "notion,classes,estimator,binning,bins,rows,truth,runs,coverage,below,above,true_error,mean_width\n"
)


def main(runs, processes):
    held = FILE.read_text(encoding="utf-8").splitlines() if FILE.exists() else []
    lines = {case: [line for head in case.heads for line in held if line.startswith(head + ",")] for case in CASES}
    missing = [case for case in CASES if not lines[case]]
    with ProcessPoolExecutor(processes) as pool:
        for case, found in zip(missing, pool.map(coverage, missing, itertools.repeat(runs)), strict=True):
            lines[case] = found
            FILE.write_text(HEAD + "".join(f"{line}\n" for each in lines.values() for line in each), encoding="utf-8")
    lines = [line for each in lines.values() for line in each]
    got = np.array([float(line.split(",")[8]) for line in lines])
    sys.stdout.write(f"{len(got)} cells: least {got.min():.3f}, at least .88 in {(got >= 0.88).mean():.1%}\n")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 400, int(sys.argv[2]) if len(sys.argv) > 2 else 2)
