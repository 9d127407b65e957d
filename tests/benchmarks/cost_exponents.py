"""Growth of costs with rows and classes: every estimator's number, interval and floor, with a fitted exponent.

Process CPU seconds, and the most memory beyond the input. ``make bench`` prints the table; an exponent well above 1 is
a cost that grows wrongly. Small cases are dominated by start-up costs, so that exponents near 0 are uninformative.
"""

import argparse
import sys
import time
import tracemalloc

import numpy as np

from calib_core import ESTIMATORS, NotAnswerable, Predictions, estimate

ROWS, CLASSES = (2_000, 8_000, 32_000), (5, 20, 80)
LIMIT = 20.0
"""Seconds beyond which a larger case is not tried."""


def predictions(rows, classes):
    """Return overconfident softmax outputs."""
    rng = np.random.default_rng(0)
    z = rng.normal(size=(rows, classes)) * 2
    true, claimed = (np.exp(power * z) for power in (0.8, 1.0))
    upto = (true / true.sum(1, keepdims=True)).cumsum(1)
    labels = (rng.random(rows)[:, None] > upto[:, :-1]).sum(1)
    return Predictions((claimed / claimed.sum(1, keepdims=True)).astype(np.float32), labels)


def cost(p, notion, key, what):
    """Return CPU seconds, and megabytes beyond the input."""
    tracemalloc.start()
    begin = time.process_time()
    made = estimate(p, notion, key)
    if what != "point":
        begin = time.process_time()
        _ = made.interval() if what == "interval" else made.noise_floor
    seconds, (_, peak) = time.process_time() - begin, tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return seconds, peak / 1e6


def exponent(sizes, seconds):
    """Return the slope of log cost on log size."""
    return np.polyfit(np.log(sizes[: len(seconds)]), np.log(np.maximum(seconds, 1e-4)), 1)[0]


def line(notion, key, what, cases, sizes):
    found = []
    for case in cases:
        found.append(cost(case, notion, key, what))
        if found[-1][0] > LIMIT / 4:
            break
    seconds = [each[0] for each in found]
    slope = exponent(sizes, seconds) if len(seconds) > 1 else np.nan
    return f"{slope:6.2f} {' '.join(f'{s:8.2f}' for s in seconds):27s} {max(mb for _, mb in found):6.0f} MB"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keys", nargs="*", default=list(ESTIMATORS))
    parser.add_argument("--notions", nargs="*", default=["confidence", "class-wise"])
    chosen = parser.parse_args()
    by_rows = [predictions(n, 10) for n in ROWS]
    by_classes = [predictions(4_000, k) for k in CLASSES]
    head = f"{'':42s}{'rows':>6s} {'s':27s} {'':9s} {'classes':>7s} s\n"
    sys.stdout.write(head)
    for key in chosen.keys:
        for notion in chosen.notions:
            for what in ("point", "interval", "floor"):
                try:
                    parts = [line(notion, key, what, *each) for each in ((by_rows, ROWS), (by_classes, CLASSES))]
                except NotAnswerable as refusal:
                    parts = [str(refusal)[:60]]
                sys.stdout.write(f"{notion:11s} {key:20s} {what:9s} {' | '.join(parts)}\n")
                sys.stdout.flush()


if __name__ == "__main__":
    main()
