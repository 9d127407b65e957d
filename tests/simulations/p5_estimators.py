"""Simulation for P5's Figure 2: the 95th percentile of each estimator's relative error, by size of the test set.

Run `python tests/simulations/p5_estimators.py [MIXTURES] [DRAWS]` with the package installed. One mixture a shape is 36
models (the paper: 540, of 45 mixtures and three training sets each, and 200 draws) and takes minutes.
"""

import sys

import calib_core as cc
from calib_core import ESTIMATORS, lab

SIZES = (30, 60, 120, 250, 500)
BINNED = ("ece-convex", "ece-adaptive", "ece-adaptive-convex")
MEMBERS = {
    "ece, 15 bins": ESTIMATORS.make("ece"),
    "ece, sqrt(n) bins": ESTIMATORS.make("ece", binning=cc.BINNINGS.make("sqrt-equal-width")),
    **{f"{key}, 15 bins": ESTIMATORS.make(key, bins=15) for key in BINNED},
    **{f"{key}, sqrt(n) bins": ESTIMATORS.make(key) for key in BINNED},
    **{key: ESTIMATORS.make(key) for key in ("ece-kde", "ece-sweep", "debiased-ece", "smece")},
}


def main(mixtures: int, draws: int) -> None:
    shapes = [(k, d) for k in (2, 5, 10) for d in (2, 5, 10)]
    truths = [
        lab.Mixture(model, *shape, number) for number in range(mixtures) for shape in shapes for model in lab.MODELS
    ]
    for notion in ("confidence", "class-wise"):
        frame = lab.repeated(truths, SIZES, draws, MEMBERS, [notion]).frame()
        worst = frame.groupby(["estimator", "n"])["worst"].median()
        sys.stdout.write(f"\n{notion}: 95th percentile of |estimate - truth| / truth, median over models\n")
        sys.stdout.write(f"{'rows':32s}" + "".join(f"{size:8d}" for size in SIZES) + "\n")
        for name in MEMBERS:
            sys.stdout.write(f"{name:32s}" + "".join(f"{worst[name, size]:8.3f}" for size in SIZES) + "\n")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1, int(sys.argv[2]) if len(sys.argv) > 2 else 100)
