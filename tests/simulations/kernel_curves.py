"""Errors of kernel curves, and coverage of their bands and those of CORP curves, by distribution.

Run `python tests/simulations/kernel_curves.py [RUNS]` with the package installed; 300 runs take about four minutes on
one core. The figures in the docstring of `kernel_curve` are of 40 to 100 runs. The binomial error of a share of .9 is
.03 to .047 then. Smoothed curve: the band's target. Least: at the score where it is lowest.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

import numpy as np
from curve_laws import LAWS, RISING, corp_coverage, kernel_coverage, off

from calib_core.diagrams import KERNEL_CURVE
from calib_core.estimators import KernelECE
from calib_core.smoothing import BetaKernel, LogOdds, StandardDeviation

SIZES = (1000, 10_000)
CURVES = {
    "default": KERNEL_CURVE,
    "full deviation": KernelECE(bandwidth=StandardDeviation(), scale=LogOdds(), smoothed="gaps"),
    "outcomes": KernelECE(bandwidth=StandardDeviation(), scale=LogOdds()),
    "gaps on scores": KernelECE(bandwidth=StandardDeviation(), smoothed="gaps"),
    "paper": KernelECE(),
    "beta on scores": KernelECE(BetaKernel(), StandardDeviation()),
}


def say(*words):
    sys.stdout.write("".join(f"{word:>16}" if i else f"{word:<40}" for i, word in enumerate(words)) + "\n")


def main(runs):
    say("mean absolute error (roughness)", "rows", *CURVES)
    every = []
    for law in LAWS:
        for n in SIZES:
            every.append([off(law, n, max(10, runs // 10), method=method) for method in CURVES.values()])
            say(law, n, *(f"{error:.4f} ({rough:.2f})" for error, rough in every[-1]))
    means, most = np.mean(every, axis=0)[:, 0], np.max(every, axis=0)[:, 1]
    say("mean error (largest roughness)", "", *(f"{a:.4f} ({b:.2f})" for a, b in zip(means, most, strict=True)))
    for title, coverage, laws in (("kernel", kernel_coverage, LAWS), ("CORP", corp_coverage, RISING)):
        say(f"{title} band holds", "rows", "pointwise", "least", "whole curve", "the true one", "least")
        table = []
        for law in laws:
            for n in SIZES:
                each = coverage(law, n, runs, "pointwise")
                whole = coverage(law, n, runs, "whole-curve").all(axis=1).mean()
                truly = coverage(law, n, runs, "pointwise", true=True) if coverage is kernel_coverage else each
                true = truly.mean(), truly.mean(axis=0).min()
                table.append((each.mean(), each.mean(axis=0).min(), whole, *true))
                say(law, n, *(f"{share:.3f}" for share in table[-1]))
        say("least", "", *(f"{share:.3f}" for share in np.min(table, axis=0)))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 300)
