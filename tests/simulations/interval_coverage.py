"""Coverage of default intervals over distributions of scores, truths, sizes, notions, bins and levels.

Run `python tests/simulations/interval_coverage.py [--minutes 60] [--processes 1]` with the package installed. It writes
calib_core/inference/verdicts/coverage.csv, which the package ships, line by line. Existing lines are reused: delete the
file (or lines of it) to recompute them. The first case of every family comes first, so that an interrupted table is
representative. With `--check` it computes nothing and prints the lines below the guarantee and the families whose
falsified twin covers. It ends with 1 if there are any. The option `--only class-wise` selects some cases, `--out FILE`
writes elsewhere.

A case is four samples of one distribution (tests/support/score_laws.py), in turn; every run draws new outcomes from the
true probabilities. Run i of a case is the same on every machine. The number of runs that fit into a case's seconds is
not, and is in the table. The target of the interval is computed in tests/support/true_errors.py. The falsified twin is
the interval shrunk to half its width towards its point (column ``half``).
"""

import itertools
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

from coverage_promise import broken
from resumable import LineTable, command
from score_laws import sample, seed_of
from true_errors import target

from calib_core import NotAnswerable, estimate
from calib_core.binning import EqualMass, Grid, Sierpinski
from calib_core.inference import interval

FILE = Path(__file__).parents[2] / "calib_core" / "inference" / "verdicts" / "coverage.csv"
SETS = 4
LEAST_RUNS = 40
SECONDS = 15.0
BINNED = ("ece", "rmsce")
NAMED_BY = 10
TABLE = LineTable(
    "family,law,truth,classes,rows,notion,estimator,binning,bins,level,"
    "rows_a_cell,runs,coverage,below,above,half,true_error,mean_width,tested",
    NAMED_BY,
    "# Coverage of default intervals, written by tests/simulations/interval_coverage.py\n"
    "# below: share of runs whose truth lies below the interval; above: whose truth lies above it\n"
    "# half: coverage of the falsified twin, half as wide; tested: 1 where the library called an interval tested\n",
)


@dataclass(frozen=True)
class Case:
    """Case of one line for every estimator and level, all from the same runs."""

    family: str
    law: str
    truth: str
    rows: int
    classes: int = 10
    notion: str | None = "confidence"
    estimators: tuple[str, ...] = BINNED
    binning: str = "default"
    bins: int = 15
    levels: tuple[float, ...] = (0.9,)
    runs: int = 400
    seconds: float = SECONDS
    weighted: bool = False

    @property
    def note(self):
        """Return its description for the progress display."""
        return f"{self.family}: {self.law}, {self.truth}, {self.notion}, K = {self.classes}, n = {self.rows}"

    @property
    def names(self):
        """Return the names of its lines."""
        return list(self.heads.values())

    @property
    def heads(self):
        """Return the start of this case's lines, one for every estimator and level."""
        law = f"{self.law} (weighted)" if self.weighted else self.law
        start = (self.family, law, self.truth, self.classes, self.rows, self.notion or "whole")
        return {
            (key, level): ",".join(map(str, (*start, key, *self.placed(key), level)))
            for key, level in itertools.product(self.estimators, self.levels)
        }

    def placed(self, key):
        """Return the placement of an estimator's bins, in the table's terms."""
        if key == "ece-sweep":
            return "chosen", ""
        with_bins = self.notion is not None and key not in (
            "ece-kde",
            "smece",
            "max-deviation",
            "skce",
            "two-bin",
            "canonical-kde",
        )
        return (self.binning, self.bins) if with_bins else ("", "")

    @property
    def scheme(self):
        """Return the argument ``bins=``; None for the default."""
        schemes = {"equal-mass": EqualMass, "equal-width": int, "sierpinski": _sierpinski, "grid": _grid}
        return None if self.binning == "default" else schemes[self.binning](self.bins)


def _sierpinski(cells):
    return Sierpinski({4: 1, 13: 2}[cells])


def _grid(cells):
    return Grid(round(cells**0.5))


# -- attempts -------------------------------------------------------------------------------------------------


def _near_one():
    laws = ("certain", "all .995", "beta 200", "60 % at 1", "atoms at 0 and 1", "tiny", "all .999")
    yield from (Case("near 0 and 1", law, "shift .0204", n) for n in (30, 400, 100, 2000, 10) for law in laws)
    yield from (Case("near 0 and 1", law, "calibrated", n) for n in (30, 400) for law in laws)
    yield from (Case("near 0 and 1", law, "shift .1", n) for n in (30, 400) for law in laws[1:6])


def _spread():
    laws, truths = ("beta 5", "two decimals", "uniform", "forest"), ("shift .1", "calibrated")
    yield from (Case("spread", law, t, n) for n in (1000, 100) for t in truths for law in laws)
    yield from (
        Case("spread", law, t, n)
        for n in (1000, 5000)
        for t in ("region .0204", "wave .05", "over-confident", "shift .0196")
        for law in laws[:2]
    )
    yield from (Case("spread", law, t, n) for n in (30, 5000, 50_000) for t in truths for law in laws[:2])


def _given():
    for n, (binning, bins), (law, truth) in itertools.product(
        (1000, 20_000),
        (("equal-width", 15), ("equal-mass", 15), ("equal-width", 50)),
        (("two decimals", "shift .1"), ("beta 200", "shift .0204"), ("network", "over-confident")),
    ):
        yield Case("bins given", law, truth, n, binning=binning, bins=bins, runs=300)


def _top_label():
    def case(law, truth, n, k, **more):
        return Case("top-label", law, truth, n, k, "top-label", **{"runs": 250, **more})

    laws = ("all .97", "beta 200", "three levels", "beta 5", "certain")
    for truth, k, law in itertools.product(("shift .1", "calibrated"), (100, 20), laws):
        yield case(law, truth, 1000, k)
    yield from (case(law, "shift .1", n, 100) for n in (300, 5000) for law in laws)
    yield from (case(law, truth, 5000, 1000) for law in ("beta 200", "beta 5") for truth in ("shift .1", "calibrated"))
    yield from (case(law, "class .01", 1000, 20) for law in laws[:3])
    yield from (
        case(law, truth, n, 3)
        for n in (30, 100)
        for law, truth in (("beta 5", "shift .1"), ("beta 200", "shift .0204"), ("certain", "shift .1"))
    )
    cells = (("all .97", 100), ("beta 5", 20), ("beta 5", 100))
    yield from (case(law, "shift .1", 1000, k, binning="equal-width") for law, k in cells)
    # Many cells rich in outcomes, each off by about its own noise.
    for (n, k), off in itertools.product(((20_000, 20), (50_000, 50), (6000, 5)), ("ripple .9", "ripple 1.5")):
        yield case("beta 5", off, n, k, estimators=("ece",))
    yield from (case("beta 200", truth, 50_000, 1000, runs=150) for truth in ("calibrated", "shift .1"))


def _networks():
    notions = ("confidence", "top-label")
    cells = [
        *itertools.product((1000,), ("over-confident", "calibrated", "shift .1"), (100, 10, 20, 1000), notions),
        *itertools.product((300,), ("over-confident",), (100, 10, 20, 1000), notions),
        *itertools.product((5000,), ("over-confident", "calibrated"), (100, 20), notions),
    ]
    yield from (Case("networks", "network", truth, n, k, notion, runs=250) for n, truth, k, notion in cells)


def _class_wise():
    def case(law, truth, n, k, **more):
        return Case("class-wise", law, truth, n, k, "class-wise", **{"runs": 200, "seconds": 25.0, **more})

    laws = {"network": 1000, "one-hot .999": 300, "spread rows": 1000}
    for k, law in itertools.product((20, 100, 3, 50), laws):
        yield case(law, "calibrated", laws[law], k)
    for k, (law, truth) in itertools.product(
        (20, 100, 3, 50),
        (
            ("network", "over-confident"),
            ("spread rows", "over-confident"),
            ("network", "shift .1 neighbour"),
            ("one-hot .999", "shift .1 neighbour"),
        ),
    ):
        yield case(law, truth, laws[law], k)
    for k, (law, truth) in itertools.product(
        (20, 100), (("network", "flat"), ("network", "shift .1"), ("one-hot .999", "shift .1"))
    ):
        yield case(law, truth, laws[law], k)
    yield from (case("network", "class .02 neighbour", 1000, k) for k in (20, 3))
    yield from (case("network", truth, n, 20) for n in (80, 2000) for truth in ("calibrated", "over-confident"))
    for truth in ("calibrated", "shift .1"):
        yield case("network", truth, 300, 1000, estimators=("ece",), seconds=40.0)
    # Between 20 and 100 classes with cells rich enough for inversion.
    for (n, k), truth in itertools.product(((20_000, 20), (60_000, 50)), ("over-confident", "calibrated")):
        yield case("network", truth, n, k, estimators=("ece",), seconds=120.0)


def _top_k():
    for k, truth, notion in itertools.product(
        (20, 3), ("over-confident", "calibrated", "shift .1"), ("top-k-label", "top-k-confidence")
    ):
        yield Case("top-k", "network", truth, 1000, k, notion, runs=200)
        yield Case("top-k", "network", truth, 200, k, notion, runs=200)


def _by_rows():
    quick, slow = ("ece-convex", "max-deviation", "skce", "ece-sweep"), ("smece", "ece-kde")
    laws = ("all .999", "60 % at 1", "tiny", "beta 5")
    cells = [
        *itertools.product((30,), laws, ("shift .0204",)),
        *itertools.product((1000,), ("network",), ("over-confident", "calibrated")),
        *itertools.product((1000,), laws, ("shift .0204",)),
        *itertools.product((100,), laws, ("shift .1",)),
        *itertools.product((300,), ("network",), ("over-confident", "calibrated")),
    ]
    for n, law, truth in cells:
        yield Case("rows", law, truth, n, estimators=quick, runs=250)
        if n in (30, 1000):
            yield Case("rows", law, truth, n, estimators=slow, runs=120)
        yield Case("rows", law, truth, n, estimators=("two-bin",), runs=250)
    for k, notion in ((3, "class-wise"), (10, "top-label"), (10, "class-wise"), (100, "top-label")):
        for truth, keys in itertools.product(("over-confident", "calibrated"), (quick, ("two-bin",))):
            yield Case("rows", "network", truth, 500, k, notion, keys, runs=120)


def _scores():
    keys = ("accuracy", "brier", "log-loss")
    for n, (law, truth, k) in itertools.product(
        (100, 1000),
        (
            ("one-hot .999", "shift .1", 2),
            ("one-hot .999", "shift .0204", 2),
            ("one-hot .999", "shift .0204", 10),
            ("network", "calibrated", 10),
            ("network", "over-confident", 2),
            ("spread rows", "shift .1", 3),
        ),
    ):
        yield Case("scores", law, truth, n, k, None, keys, runs=300)


def _canonical():
    keys = ("ece", "rmsce", "debiased-l2")
    for truth, rows, (binning, cells) in itertools.product(
        ("over-confident", "calibrated"),
        (500, 2000),
        (("sierpinski", 4), ("grid", 9), ("sierpinski", 13), ("grid", 25)),
    ):
        yield Case(
            "canonical", "spread rows", truth, rows, 3, "canonical", keys, binning, cells, runs=200, seconds=60.0
        )
        if truth == "over-confident" and rows == 500:
            yield Case("canonical", "network", truth, rows, 3, "canonical", keys, binning, cells, runs=200)
    for k, truth in itertools.product((3, 10), ("over-confident", "calibrated")):
        yield Case("canonical", "spread rows", truth, 1000, k, "canonical", ("skce",), runs=200)
    for n, k, truth in itertools.product((200, 500), (3, 10), ("over-confident", "calibrated")):
        yield Case("canonical", "spread rows", truth, n, k, "canonical", ("canonical-kde",), runs=200, seconds=60.0)


def _recalibrated():
    for n, law, notion in itertools.product(
        (1000, 5000),
        ("network after top-label-hb", "network after temperature"),
        ("top-label", "confidence", "class-wise"),
    ):
        if law == "network after temperature" or notion != "class-wise":
            yield Case("recalibrated", law, "over-confident", n, 10, notion, runs=300)


def _weighted():
    for n, (law, truth) in itertools.product(
        (300, 2000),
        (("beta 5", "shift .1"), ("all .995", "shift .0204"), ("beta 200", "calibrated"), ("uniform", "wave .05")),
    ):
        yield Case("weights", law, truth, n, weighted=True)
    yield Case("weights", "network", "over-confident", 1000, 20, "class-wise", weighted=True, runs=200)
    yield Case("weights", "beta 5", "shift .1", 1000, 20, "top-label", weighted=True, runs=200)


def _levels():
    for law, truth, n, notion in (
        ("beta 5", "shift .1", 1000, "confidence"),
        ("all .995", "shift .0204", 100, "confidence"),
        ("60 % at 1", "shift .0204", 400, "confidence"),
        ("beta 200", "shift .1", 1000, "top-label"),
        ("network", "over-confident", 500, "class-wise"),
    ):
        yield Case("levels", law, truth, n, 10, notion, ("ece",), levels=(0.8, 0.95, 0.99))


def _debiased():
    for n, (law, k, notion) in itertools.product(
        (1000, 300), (("beta 5", 100, "top-label"), ("beta 5", 10, "confidence"), ("network", 10, "class-wise"))
    ):
        keys = ("debiased-l2", "debiased-ece", "mce", "ece-adaptive")
        yield Case("other forms", law, "shift .1", n, k, notion, keys, runs=250)


FAMILIES = (
    _near_one, _top_label, _networks, _class_wise, _spread, _by_rows, _scores,
    _recalibrated, _given, _levels, _top_k, _debiased, _weighted, _canonical,
)  # fmt: skip


def cases():
    """Return all cases, one of every family in turn: the first of each comes first."""
    rounds = itertools.zip_longest(*(list(family()) for family in FAMILIES))
    return [case for each in rounds for case in each if case is not None]


# -- one case -------------------------------------------------------------------------------------------------


def made(case):
    """Return the results of runs until there are enough of them or the case's seconds are over."""
    ends, seed = time.monotonic() + case.seconds, seed_of(*sorted(case.heads.values()))
    sets = []
    for i in range(SETS):
        one = sample(case.law, case.truth, case.rows, case.classes, i, case.weighted)
        asked = {key: _asked(one.predictions, case, key) for key in case.estimators}
        try:
            aims = {key: target(each, one, case.notion, key) for key, each in asked.items()}
        except NotAnswerable:
            aims = None
        sets.append((one, aims))
    heads = case.heads
    if any(aims is None for _, aims in sets):
        return [f"{head},,0,,,,,,,0" for head in heads.values()]
    found = {name: [] for name in heads}
    for run in range(case.runs):
        if run >= LEAST_RUNS and time.monotonic() > ends:
            break
        one, aims = sets[run % SETS]
        drawn = one.drawn(np.random.default_rng([seed, run]))
        for key in case.estimators:
            each = _asked(drawn, case, key)
            true = target(each, one, case.notion, key)[0] if key == "ece-sweep" else aims[key][0]
            for level in case.levels:
                got = interval(each.question, level)
                found[key, level].append((got.low, got.high, got.point, true, got.tested))
    cells = {key: np.mean([aims[key][1] for _, aims in sets]) for key in case.estimators}
    return [f"{head},{cells[key]:.4g},{_summed(found[key, level])}" for (key, level), head in heads.items()]


def _asked(predictions, case, key):
    binned = case.placed(key)[0] not in ("", "chosen", "default")
    return estimate(predictions, case.notion, key, case.scheme if binned else None)


def _summed(found):
    low, high, point, true, tested = np.array(found, dtype=float).T
    slack = 1e-9 * np.maximum(1.0, np.abs(true))
    below, above = true < low - slack, true > high + slack
    half = (true >= point - (point - low) / 2 - slack) & (true <= point + (high - point) / 2 + slack)
    shares = (1 - below.mean() - above.mean(), below.mean(), above.mean(), half.mean())
    numbers = ",".join(f"{share:.3f}" for share in shares)
    return f"{len(found)},{numbers},{true.mean():.4f},{(high - low).mean():.4f},{int(tested.any())}"


def faults(table):
    """Return the faults of the table, after a line on its content."""
    seen = table[table["tested"] > 0]
    sys.stdout.write(
        f"{len(seen)} tested lines: least coverage {seen['coverage'].min():.3f}, at least .88 in "
        f"{(seen['coverage'] >= 0.88).mean():.1%}; half the width {seen['half'].mean():.3f} on average\n"
    )
    return broken(table, NAMED_BY)


if __name__ == "__main__":
    command(__doc__, TABLE, cases(), made, faults, FILE)
