"""Durations of fits by calibrator, rows and classes: the data of dashboard/workers/durations.csv, and their accuracy.

python -m tests.benchmarks.work_times --write # measures, a quarter of an hour on one core python -m
tests.benchmarks.work_times --check # sizes that are not in the table, predicted before they are measured

Processor time, so that others on the machine count little; in units of what `durations.unit` takes here.
"""

from __future__ import annotations

import argparse
import csv
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

import calib_core as cc
from calib_core import CALIBRATORS, InputError, Predictions
from calib_core.calibrators import Calibrator
from calib_core.evaluation.splitting import Division
from dashboard.workers import durations
from dashboard.workers.durations import TABLE, Costs, Work

SIZES = ((1000, 3), (10_000, 3), (3000, 10), (20_000, 10), (2000, 100), (10_000, 100), (3000, 400))
OTHERS = ((5000, 2), (30_000, 4), (8000, 20), (4000, 200))
SLOW = 80
"""Units from which a duration is reported: about a third of a second."""
LONGEST = 40.0
"""Maximum expected seconds of a measurement."""


def rows(n: int, classes: int) -> Predictions:
    """Return overconfident predictions like a network's."""
    rng = np.random.default_rng(n)
    z = rng.normal(0, 2, (n, classes)) + 4 * np.eye(classes)[rng.integers(0, classes, n)]
    p = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
    soft = p**0.6 / (p**0.6).sum(axis=1, keepdims=True)
    return Predictions(p, (soft.cumsum(axis=1) < rng.random((n, 1))).sum(axis=1).clip(0, classes - 1))


def jobs(n: int, classes: int) -> Iterator[tuple[str, Callable[[], object]]]:
    """Yield kinds of work on this many rows to fit on, with their functions."""
    divided = cc.calls.divide(rows(2 * n, classes))
    yield "choose", lambda: cc.choose(divided.fit)
    for key in CALIBRATORS:
        made: list[Calibrator] = []
        yield f"fitted {key}", partial(_fit, divided, key, made)
        if made:
            yield f"recalibrated {key}", partial(cc.calls.recalibrated, divided, made[0])


def _fit(divided: Division, key: str, made: list[Calibrator]) -> None:
    made.append(cc.calls.fitted(divided, key))


def measured(sizes: tuple[tuple[int, int], ...]) -> Iterator[tuple[Work, float, float | None]]:
    """Yield each kind of work at each size with its units, and the predicted ones; refused work is left out."""
    learned = Costs()
    for n, classes in sizes:
        for kind, do in jobs(n, classes):
            work = Work(kind, n, classes)
            told, so_far = durations.COSTS.seconds(work), learned.seconds(work)
            if (so_far or told or 0) > LONGEST:
                continue
            unit = durations.probed(time.process_time)
            start = time.process_time()
            try:
                do()
            except InputError:
                continue
            took = time.process_time() - start
            learned.learn(work, took)
            sys.stderr.write(f"{work} {took:.3f} s\n")
            yield work, took / unit, None if told is None else told / durations.unit()


def main() -> None:
    """Write the table, or print the error of its predictions."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--write", action="store_true")
    what.add_argument("--check", action="store_true")
    if parser.parse_args().write:
        lines = [(w.kind, w.rows, w.classes, f"{units:.3g}") for w, units, _ in measured(SIZES)]
        with TABLE.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows([("kind", "rows", "classes", "units"), *sorted(lines)])
        return
    found = [(told, units) for _, units, told in measured(OTHERS) if told]
    off = np.array([max(told / took, took / told) for told, took in found if max(told, took) > SLOW])
    sys.stdout.write(f"{len(off)} that take long: within 2 {np.mean(off <= 2):.0%}, 4 {np.mean(off <= 4):.0%}, ")
    sys.stdout.write(f"at most {off.max():.1f}\n")


if __name__ == "__main__":
    main()
