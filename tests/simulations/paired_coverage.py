"""Prints how often 90 % intervals of the difference of two models' errors hold it, over models, sizes and classes.

Run `python tests/simulations/paired_coverage.py [RUNS]` with the package installed; 400 runs take some half an hour.
"""

import itertools
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

from paired_truths import MODELS, held, held_class_wise

SIZES = (500, 2000, 10_000)
GROUPS = (1, 10)
ESTIMATORS = ("debiased-l2", "ece")


def main(runs):
    for n, classes, power in itertools.product(SIZES[:2], (3, 10), (0.6, 1.05, 1.5)):
        inside = held_class_wise(power, n, classes, runs, resamples=300, seed=1)
        sys.stdout.write(f"class-wise {n:6d} rows {classes:3d} classes, to the power {power}: covered {inside:.3f}\n")
        sys.stdout.flush()
    for estimator, n, groups in itertools.product(ESTIMATORS, SIZES, GROUPS):
        for first, second in itertools.combinations(MODELS, 2):
            inside, rejected = held(first, second, estimator, n, groups, runs, resamples=300, seed=1)
            sys.stdout.write(
                f"{estimator:12s} {n:6d} rows {groups:3d} classes {first} / {second}: "
                f"covered {inside:.3f}, p at most 5 %: {rejected:.3f}\n"
            )
            sys.stdout.flush()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 400)
