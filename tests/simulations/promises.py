"""Simulation of guarantees outside the other tables: weights in one bin, slices, the slider, "about N rows".

Run `python tests/simulations/promises.py [--minutes 60] [--only TEXT]` with the package installed. It writes
tests/simulations/promises.csv line by line and reuses existing lines. All of it takes about 15 minutes on one core.
With `--check` it computes nothing and ends with 1 if a guarantee is violated (``promised``), or if a falsified twin
meets it everywhere.

weights: most of the weight of one bin is in few of its rows. For a calibrated model a bin, or a place on the slider, is
marked in at most 5 % of samples. The bars of that bin miss in at most 10 %, for any truth. Twin: the effective sample
size of all rows, divided among the bins by weight; on the slider every place's own interval.

slices: the p-value of a slice of 100 rows of a calibrated model is at most .05 in at most 5 % of samples. The twin is
the smaller tail, not doubled. If the slice is off, a small p-value occurs about as often as by the z-test with the
rows' own variance (``reference``). The twin is a binomial law of the mean confidence.

slider: a gap is marked somewhere in at most 5 % of samples of a calibrated model (twin: every place's own interval). If
a fifth of the rows is off by 15 points, one is marked about as often as exact tests of ten bins find one, with Holm's
correction (``reference``). The twin is Hoeffding's bound at every place, corrected for their number.

rows: a verdict of few rows states a number of rows (``named``, on average). With that number, a model with no error, or
with one of half the tolerance, is within the tolerance in about 80 % of samples (twin: half as many rows).
"""

import itertools
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from scipy.special import expit, logit
from scipy.stats import norm

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

from resumable import LineTable, command
from score_laws import seed_of
from verdict_shares import less_than, more_than

from calib_core import Predictions, estimate
from calib_core.diagrams import bins_standing_out, local_accuracy, local_frequency, reliability, zoom
from calib_core.inference import holm, on_scale_of
from calib_core.inference.intervals.elementary import clopper_pearson, share_test
from calib_core.inference.significance.count_tests import p_of_cells

FILE = Path(__file__).with_suffix(".csv")
TABLE = LineTable(
    "promise,law,truth,rows,measure,runs,share,twin,reference,named",
    5,
    "# Promises and falsified twins, written by tests/simulations/promises.py\n",
)
LEVEL, FEW, EPS = 0.9, 10, 0.02


@dataclass(frozen=True)
class Case:
    """Case of the lines of one guarantee, distribution, truth and size, from the same runs."""

    promise: str
    law: str
    truth: str
    rows: int
    runs: int

    @property
    def names(self):
        """Return the names of its lines."""
        return [f"{self.head},{measure}" for measure in MEASURES[self.promise](self)]

    @property
    def head(self):
        """Return the start of each of its lines."""
        return f"{self.promise},{self.law},{self.truth},{self.rows}"

    @property
    def note(self):
        """Return its description for the progress display."""
        return f"{self.promise}: {self.law}, {self.truth}, n = {self.rows}"

    def streams(self):
        """Return a generator for each run, the same for any number of runs."""
        seed = seed_of(self.promise, self.law, self.truth, self.rows)
        return (np.random.default_rng([seed, run]) for run in range(self.runs))


def cases():
    """Return all cases, one of each guarantee in turn: an interrupted table is representative."""
    rounds = itertools.zip_longest(_of_slider(), _of_weights(), _of_slices(), _of_rows())
    return [case for each in rounds for case in each if case is not None]


def _of_weights():
    for rows, law, truth in itertools.product((1000, 5000), HEAVY, ("calibrated", "heavy rows off")):
        yield Case("weights", law, truth, rows, 500)


def _of_slices():
    for law, truth in itertools.product(SLICE, ("calibrated", "off 2.8 sd", "off 3.4 sd")):
        yield Case("slices", law, truth, 100, 3000 if truth == "calibrated" else 500)


def _of_slider():
    for rows, law, truth in itertools.product((300, 2000), (*CLAIMED, *RISKS), ("calibrated", "a fifth off .15")):
        # A rare event cannot be 15 points too high.
        if not (truth != "calibrated" and law == "risk near 2 %"):
            yield Case("slider", law, truth, rows, 400 if truth == "calibrated" else 100)


def _of_rows():
    for law in NAMED:
        # Fewer of the last kind are enough.
        rows = 150 if law == "confidence near 1" else 400
        yield Case("rows", law, "calibrated", rows, 200)
        # For a rare event a point is no small share: the ratio decides.
        if law != "event near 3 %":
            yield Case("rows", law, "off .01", rows, 200)


# -- laws ------------------------------------------------------------------------------------------------------

HEAVY = {
    "4 % of rows weigh 30": lambda rng, n: np.where(rng.random(n) < 0.04, 30.0, 1.0),
    "1.5 % of rows weigh 100": lambda rng, n: np.where(rng.random(n) < 0.015, 100.0, 1.0),
    "log-normal": lambda rng, n: rng.lognormal(0.0, 1.6, n),
}
"""Weights of the rows of one bin; all others weigh 1."""
SLICE = {
    "spread": lambda rng, n: rng.beta(0.5, 0.5, n).clip(1e-6, 1 - 1e-6),
    "sure": lambda rng, n: rng.beta(20, 1, n).clip(0, 1 - 1e-6),
    "two kinds": lambda rng, n: np.where(rng.random(n) < 0.5, 0.55, 0.97),
    "all alike": lambda rng, n: np.full(n, 0.8),
}
CLAIMED = {
    "uniform": lambda rng, n: rng.uniform(0.4, 1, n),
    "mostly sure": lambda rng, n: rng.beta(9, 1.5, n),
    "tenths": lambda rng, n: rng.choice(np.arange(4, 11) / 10, n),
}
RISKS = {"risk of 30 %": lambda rng, n: rng.beta(3, 7, n), "risk near 2 %": lambda rng, n: rng.beta(1, 45, n)}


def _event(a, b):
    return lambda rng, n: _two(rng.beta(a, b, n))


def _two(s):
    return np.column_stack([1 - s, s])


NAMED = {
    "event of 25 %": ("event", _event(2, 6)),
    "event near 3 %": ("event", _event(1, 32)),
    "confidence": ("confidence", lambda rng, n: _two(1 - rng.beta(1.5, 7, n) / 2)),
    "confidence near 1": ("confidence", lambda rng, n: _two(1 - rng.beta(1, 60, n))),
    "top-label of 5": ("top-label", lambda rng, n: rng.dirichlet(np.full(5, 0.3), n)),
    "top-label of 5 in thirds": ("top-label", lambda rng, n: rng.dirichlet((4, 2, 1, 0.5, 0.5), n)),
}
"""Notion judged, and rows (n, K)."""


# -- weights in one bin ----------------------------------------------------------------------------------------

BIN, BINS, CLASSES = 8, 10, 3


def weights_measures(case):
    """Return the measures; marks are counted for calibrated models only."""
    return ("bin marked", "place marked", *_BARS) if case.truth == "calibrated" else _BARS


_BARS = ("bar misses", "a class's bar misses", "the slider's bar misses")


def weights(case):
    """Return results for bins, classes of a bin and slider places if few rows of one bin have most of its weight."""
    found = []
    for rng in case.streams():
        h = np.where(rng.random(case.rows) < 0.08, rng.uniform(0.8, 0.9, case.rows), rng.uniform(0.5, 0.8, case.rows))
        here = h >= 0.8
        w = np.where(here, HEAVY[case.law](rng, case.rows), 1.0) / np.pi  # no weight is a number of copies
        chance = h - 0.15 * (here & (w > 2 / np.pi)) if case.truth != "calibrated" else h
        said, right = rng.integers(CLASSES, size=case.rows), rng.random(case.rows) < chance
        rows = Predictions.from_confidence(
            h, predicted=said, labels=np.where(right, said, (said + 1) % CLASSES), class_names=list("abc"), weights=w
        )
        found.append(_weighed(rows, w, chance, here))
    marks = slice(None) if case.truth == "calibrated" else slice(2, None)
    return dict(zip(weights_measures(case), np.mean(found, axis=0)[marks], strict=True))


def _weighed(rows, w, chance, here):
    """Return for each measure if it occurred, and if it did by the global effective sample size."""
    h, right = rows.confidence, rows.correct
    everywhere = w.sum() / np.square(w).sum()

    def bar(mask):
        number = w[mask].sum() * everywhere
        return clopper_pearson(np.average(right[mask], weights=w[mask]) * number, number, LEVEL)

    def misses(low, high, mask):
        true = np.average(chance[mask], weights=w[mask])
        return not low - 1e-9 <= true <= high + 1e-9

    table = bins_standing_out({"": rows}, BINS)
    mine = table[table["bin"] == BIN].iloc[0]
    masks = [np.clip((BINS * h).astype(int), 0, BINS - 1) == b for b in table["bin"]]
    p = [
        share_test(*(np.array([np.average(x[m], weights=w[m])]) for x in (right, h)), w[m].sum() * everywhere, True)[0]
        for m in masks
    ]
    classes = zoom(rows, reliability(rows, BINS), BIN)
    of_class = [here & (rows.predicted == c) for c in classes.classes]
    ends = list(zip(classes.low, classes.high, of_class, strict=True))
    local = local_accuracy(rows)
    answer = local.answer(0.85)
    near = (h >= answer.lower - 1e-9) & (h <= answer.upper + 1e-9)
    return [
        ((table["stands_out"] != "").any(), (4 * holm(np.array(p)) <= 0.05).any()),
        (local.shown.any(), _alone(local)),
        (misses(mine["low"], mine["high"], here), misses(*bar(here), here)),
        (any(misses(*end) for end in ends), any(misses(*bar(m), m) for m in of_class)),
        (misses(answer.low, answer.high, near), misses(*bar(near), near)),
    ]


def _alone(local):
    """Return True if some place's own interval excludes the prediction for its rows."""
    enough = local.rows >= FEW
    return bool((enough & ((local.low > local.claimed) | (local.high < local.claimed))).any())


# -- slices ----------------------------------------------------------------------------------------------------

OTHERS = 300
ALPHA = {"off 2.8 sd": (0.05,), "off 3.4 sd": (0.01,), "calibrated": (0.05,)}


def slices_measures(case):
    """Return the measures of p-values up to these levels."""
    return [f"p at most {alpha}" for alpha in ALPHA[case.truth]]


@cache
def moved_by(law, deviations):
    """Return the shift of log-odds that makes a slice's number right this many standard deviations too low."""
    s = SLICE[law](np.random.default_rng(0), 20_000)
    unit = np.sqrt(np.mean(s * (1 - s)) / 100)
    low, high = 0.0, 20.0
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if np.mean(s - expit(logit(s) - middle)) < deviations * unit else (low, middle)
    return low


def of_slices(case):
    """Return the p-value of a slice, its twin's and that of the z-test."""
    p = []
    off = moved_by(case.law, float(case.truth.split()[1])) if case.truth != "calibrated" else 0.0
    cell = np.repeat([0, 1], [case.rows, OTHERS])
    for rng in case.streams():
        h, rest = SLICE[case.law](rng, case.rows), rng.uniform(0.5, 1, OTHERS)
        right = rng.random(case.rows) < expit(logit(h) - off)
        rows = Predictions.from_confidence(np.append(h, rest), np.append(right, rng.random(OTHERS) < rest))
        mine = p_of_cells(rows, cell, 2)[0]
        z = abs(right.sum() - h.sum()) / np.sqrt((h * (1 - h)).sum())
        binomial = share_test(np.array([right.mean()]), np.array([h.mean()]), np.array([case.rows]), True)[0]
        p.append((mine, mine / 2 if off == 0.0 else binomial, 2 * norm.sf(z)))
    return {f"p at most {a}": np.mean(np.array(p) <= a, axis=0) for a in ALPHA[case.truth]}


# -- the slider ------------------------------------------------------------------------------------------------


def slider(case):
    """Return True if any place is marked."""
    found = []
    for rng in case.streams():
        s = (CLAIMED | RISKS)[case.law](rng, case.rows)
        low, high = np.quantile(s, [0.4, 0.6])
        off = (s >= low) & (s <= high) & (case.truth != "calibrated")
        right = rng.random(case.rows) < np.clip(s - 0.15 * off, 0, 1)
        if case.law in RISKS:
            local = local_frequency(Predictions(_two(s), right.astype(int)))
        else:
            local = local_accuracy(Predictions.from_confidence(s, right))
        if case.truth == "calibrated":
            found.append((local.shown.any(), _alone(local), np.nan))
        else:
            found.append((local.shown.any(), _careful(local), _ten_bins(s, right)))
    return {"marked": np.mean(found, axis=0)}


def _careful(local):
    """Return True if Hoeffding's bound shows a gap at a place, corrected for the number of places."""
    enough = local.rows >= FEW
    p = share_test(local.right[enough], local.claimed[enough], local.rows[enough], False)
    return bool((p * enough.sum() <= 0.05).any())


def _ten_bins(s, right):
    """Return True if an exact test of ten bins of equal size finds one that is off, corrected by Holm."""
    bins = np.array_split(np.argsort(s, kind="stable"), 10)
    p = share_test(*(np.array([x[b].mean() for b in bins]) for x in (right, s)), np.array([len(b) for b in bins]), True)
    return bool((holm(p) <= 0.05).any())


# -- about N rows ----------------------------------------------------------------------------------------------

SETS = 4


def named_rows(case):
    """Return True if fresh rows, in the number stated by a small sample's verdict, are within the tolerance."""
    notion, law = NAMED[case.law]
    error = 0.0 if case.truth == "calibrated" else EPS / 2
    seed = seed_of("a small sample", case.law)
    needed = [_named(law(rng, case.rows), notion, error, rng) for rng in map(np.random.default_rng, _seeds(seed))]
    found = []
    for run, rng in enumerate(case.streams()):
        n = needed[run % SETS]
        found.append([_within(_drawn(law(rng, size), error, rng, notion), notion) for size in (n, n // 2)])
    return {"within": (*np.mean(found, axis=0), np.nan, np.mean(needed))}


def _seeds(seed):
    return [[seed, i] for i in range(SETS)]


def _named(probs, notion, error, rng):
    """Return the number of rows in the verdict of these rows, for any outcomes."""
    for _ in range(20):
        found = estimate(_drawn(probs, 0.0, rng, notion), notion).verdict(EPS)
        number = found.rows_with_error if error else found.rows_needed
        if number is not None:
            return int(np.ceil(number))
    raise ValueError("no verdict of this sample names a number of rows")


def _within(rows, notion):
    measured = estimate(rows, notion)
    # The number of rows in other words takes ten times as long as the interval.
    return measured.interval(LEVEL).high < on_scale_of(measured, EPS) and measured.verdict(EPS).word == "within"


def _drawn(probs, error, rng, notion):
    """Return rows whose top claim (or risk) comes true less often than stated by ``error``; negative: more often."""
    k = 1 if notion == "event" else probs.argmax(1)
    at = (np.arange(len(probs)), k)
    true = probs.copy()
    true[at] = np.where(probs[at] >= error, probs[at] - error, probs[at] + error)
    left = 1 - probs[at]
    others = np.divide(1 - true[at], left, out=np.ones(len(probs)), where=left > 0)
    stated = true[at]
    true *= others[:, None]
    true[at] = stated
    label = (np.cumsum(true, axis=1) / true.sum(1, keepdims=True) < rng.random((len(probs), 1))).sum(1)
    return Predictions(probs, np.minimum(label, probs.shape[1] - 1))


# -- the table -------------------------------------------------------------------------------------------------

WORK = {"weights": weights, "slices": of_slices, "slider": slider, "rows": named_rows}
MEASURES = {
    "weights": weights_measures,
    "slices": slices_measures,
    "slider": lambda case: ("marked",),
    "rows": lambda case: ("within",),
}


def made(case):
    """Return the lines of a case."""
    found = WORK[case.promise](case)
    return [f"{case.head},{measure},{case.runs},{_joined(numbers)}" for measure, numbers in found.items()]


def _joined(numbers):
    """Return share, twin, reference and named; empty if there is none."""
    padded = [*map(float, numbers), *[np.nan] * 4][:4]
    return ",".join("" if np.isnan(number) else f"{number:.4g}" for number in padded)


AT_MOST = {
    ("weights", "bin marked"): 0.05,
    ("weights", "place marked"): 0.05,
    **{("weights", bar): 1 - LEVEL for bar in _BARS},
    ("slices", "p at most 0.05"): 0.05,
    ("slider", "marked"): 0.05,
}
"""Maximum guaranteed shares: marks of calibrated models, bars for any truth."""
BEHIND = {"slices": 0.05, "slider": 0.1}
BEHIND_WITH_FEW_ERRORS = 0.16
"""Allowed shortfall of the found share from the reference.

In a slice of about five errors in 100 rows, a test that is exact in each tail cannot use its level. The z-test has all
of its own in one tail.
"""
NEAR = (0.7, 0.92)
"""Range of "about 80 %"."""


def promised(row):
    """Return the smallest and largest share that the guarantee of a line allows."""
    if row.promise == "rows":
        return NEAR
    if row.truth == "calibrated" or "misses" in row.measure:
        return 0.0, AT_MOST[row.promise, row.measure]
    behind = BEHIND_WITH_FEW_ERRORS if row.law == "sure" else BEHIND[row.promise]
    return row.reference - behind, 1.0


def broken(table, name):
    """Return lines whose share of this name is shown to be outside its guarantee, in words."""
    said, chance = [], 0.01 / len(table)
    for row, share in zip(table.itertuples(), table[name], strict=True):
        least, most = promised(row)
        if more_than(share, row.runs, most, chance) or less_than(share, row.runs, least, chance):
            said.append(
                f"{share:.4g} of {row.runs}, {least:.3g} to {most:.3g} promised: {', '.join(map(str, row[1:6]))}"
            )
    return said


def faults(table):
    """Return the violations of the guarantees in the table, one sentence each."""
    said = broken(table, "share")
    for (promise, measure), lines in table[_careful_lines(table)].groupby(["promise", "measure"]):
        most, mean = AT_MOST[promise, measure], np.average(lines["share"], weights=lines["runs"])
        if more_than(mean, lines["runs"].sum(), most):
            said.append(f"{mean:.4g} of all lines, {most:.3g} promised: {promise}, {measure}")
    kinds = ["promise", "measure", table["truth"] == "calibrated"]
    said += [
        f"the twin keeps it too, so that these lines show nothing: {kind[0]}, {kind[1]}"
        for kind, lines in table.groupby(kinds)
        if not broken(lines, "twin")
    ]
    return said


def _careful_lines(table):
    """Return the lines with a maximum guaranteed share."""
    return (table["promise"] != "rows") & ((table["truth"] == "calibrated") | table["measure"].str.contains("misses"))


if __name__ == "__main__":
    command(__doc__, TABLE, cases(), made, faults, FILE)
