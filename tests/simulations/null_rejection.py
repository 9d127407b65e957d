"""Prints how often calibrated models are rejected at the 5 % level, over sizes, classes, notions and estimators.

Run `python tests/simulations/null_rejection.py [RUNS]` with the package installed; 2000 runs take some ten minutes.
"""

import itertools
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

from null_rates import rejection_rate

SIZES = (100, 1000, 10_000)
CLASSES = (2, 10, 100)
NOTIONS = ("confidence", "top-label", "class-wise")
ESTIMATORS = ("ece", "rmsce", "mce", "debiased-l2")


def main(runs):
    for case in itertools.product(SIZES, CLASSES, NOTIONS, ESTIMATORS):
        rate = rejection_rate(*case, runs=runs if case[0] * case[1] < 100_000 else runs // 4, seed=1)
        sys.stdout.write("{:6d} rows {:3d} classes {:10s} {:12s} {:.4f}\n".format(*case, rate))
        sys.stdout.flush()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 2000)
