"""Prints P5's Figure 2 as numbers: the 95th percentile of each estimator's relative error, by size of the test set.

Run `python tests/simulations/p5_estimators.py [SEEDS] [DRAWS]` with the package installed. One seed is nine mixtures
and 36 models (the paper: 45 and 540) and takes about five minutes on one core with 100 draws (the paper: 200).
"""

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

from p5_experiment import percentiles

from calib_core import ESTIMATORS

SIZES = (30, 60, 120, 250, 500)
BINNED = ("ece-convex", "ece-adaptive", "ece-adaptive-convex")
MEMBERS = {
    "ece, 15 bins": ESTIMATORS.make("ece"),
    "ece, sqrt(n) bins": ESTIMATORS.make("ece", binning="sqrt-equal-width"),
    **{f"{key}, 15 bins": ESTIMATORS.make(key, bins=15) for key in BINNED},
    **{f"{key}, sqrt(n) bins": ESTIMATORS.make(key) for key in BINNED},
    **{key: ESTIMATORS.make(key) for key in ("ece-kde", "ece-sweep", "debiased-ece", "smece") if key in ESTIMATORS},
}


def main(seeds: int, draws: int) -> None:
    for notion in ("confidence", "class-wise"):
        runs = [
            percentiles(list(MEMBERS.values()), notion, SIZES, draws=draws, holdout=200_000, seed=seed)
            for seed in range(seeds)
        ]
        sys.stdout.write(f"\n{notion}: 95th percentile of |estimate - truth| / truth, median over models\n")
        sys.stdout.write(f"{'rows':32s}" + "".join(f"{size:8d}" for size in SIZES) + "\n")
        for name, line in zip(MEMBERS, np.mean(runs, axis=0), strict=True):
            sys.stdout.write(f"{name:32s}" + "".join(f"{value:8.3f}" for value in line) + "\n")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1, int(sys.argv[2]) if len(sys.argv) > 2 else 100)
