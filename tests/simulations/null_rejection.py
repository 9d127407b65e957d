"""How often calibrated models are rejected at the 5 % level, over sizes, classes, notions and estimators.

Run `python tests/simulations/null_rejection.py [RUNS] [PROCESSES]` with the package installed; it writes
calib_core/inference/rejection.csv, which the package ships, and keeps the cases that are already in it: delete the
file to make it anew. 8000 runs take about an hour on one core.

Predictions are softmax(3 * standard normal) over K classes, one set of them in every cell. The null distribution is
drawn once by the library (as many draws as runs), labels by numpy's own sampler; both share the binomial error of a
cell, sqrt(.05 .95 (1 / runs + 1 / draws)): 0.34 % with 8000. Estimators that look at the rows get half the runs.
"""

import itertools
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

from null_rates import LEVEL, rejection_rates

FILE = Path(__file__).parents[2] / "calib_core" / "inference" / "rejection.csv"
SIZES = (100, 300, 1000, 3000, 10_000)
CLASSES = (2, 3, 10, 30, 100)
NOTIONS = ("confidence", "top-label", "class-wise")
COUNTED = ("ece", "rmsce", "mce", "debiased-l2", "debiased-ece", "ece-adaptive")
BY_ROWS = ("ece-convex", "smece", "ece-kde", "ece-sweep", "max-deviation", "skce")
# Estimators that look at the rows cost up to a second a run where strata are many: few cells there.
CASES = [
    *((n, k, NOTIONS, COUNTED) for n, k in itertools.product(SIZES, CLASSES)),
    *((n, k, ("confidence",), BY_ROWS) for n, k in itertools.product(SIZES, CLASSES[::2])),
    *((100, k, NOTIONS[1:], BY_ROWS) for k in (2, 3)),
]
HEAD = (
    f"# Share of calibrated models rejected at the {LEVEL:.0%} level, written by tests/simulations/null_rejection.py\n"
    "# rejected: by the p-value shown; rejected_exact: by the one whose ties are broken at random\n"
    "notion,classes,estimator,rows,runs,rejected,rejected_exact\n"
)


def lines_of(case, runs):
    n, k, notions, keys = case
    runs = runs // 2 if keys[0] in BY_ROWS else runs
    found = rejection_rates(n, k, notions, keys, runs, seed=1, draws=runs)
    return [f"{notion},{k},{key},{n},{runs},{a:.4f},{b:.4f}" for (notion, key), (a, b) in found.items()]


def main(runs, processes):
    held = FILE.read_text(encoding="utf-8").splitlines() if FILE.exists() else []
    heads = {case: [f"{notion},{case[1]},{key},{case[0]}," for notion in case[2] for key in case[3]] for case in CASES}
    lines = {case: [line for head in heads[case] for line in held if line.startswith(head)] for case in CASES}
    missing = [case for case in CASES if len(lines[case]) < len(heads[case])]
    with ProcessPoolExecutor(processes) as pool:
        for case, found in zip(missing, pool.map(lines_of, missing, itertools.repeat(runs)), strict=True):
            lines[case] = found
            FILE.write_text(HEAD + "".join(f"{line}\n" for each in lines.values() for line in each), encoding="utf-8")
    rates = [float(line.split(",")[-1]) for each in lines.values() for line in each]
    sys.stdout.write(f"{len(rates)} cells, ties broken at random: {min(rates):.4f} to {max(rates):.4f}\n")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 8000, int(sys.argv[2]) if len(sys.argv) > 2 else 1)
