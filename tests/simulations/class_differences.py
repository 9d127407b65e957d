"""False alarms and finds of differences between the classes of a bin, by distribution, classes and rows.

Run `python tests/simulations/class_differences.py [RUNS]` with the package installed; 300 runs take three minutes on
one core. The figures in the docstring of `class_differences` are of 300 runs; the binomial error of a share of .05 is
.013 then. Each number is the share of runs in which the classes of any bin differ significantly. In the last column
every second class is over-confident by 1 point, and the others by 17.
"""

import sys

import numpy as np
from scipy.special import expit

from calib_core.inference.significance.class_differences import class_differences, differ

BINS = 15
LAWS = {
    "network": lambda rng, n: expit(rng.normal(3, 2.2, n)),
    "spread": lambda rng, n: rng.beta(5, 1.3, n),
    "near 1": lambda rng, n: 1 - 0.5 * 10 ** -rng.gamma(2, 1, n),
}
SIZES = ((3, 1000), (10, 200), (10, 1000), (10, 5000), (100, 5000), (1000, 20_000))
CASES = {"calibrated": (0.0, 0.0), "8 points": (-0.08, 0.0), "30 points": (-0.3, 0.0), "found": (-0.09, 0.08)}


def alarm(law, classes, n, shift, apart, seed):
    """Return True if the classes of any bin differ significantly; rows per class fall with its rank."""
    rng, size = np.random.default_rng(seed), np.arange(1, classes + 1) ** -0.5
    score, code = LAWS[law](rng, n), rng.choice(classes, n, p=size / size.sum())
    hit = rng.random(n) < np.clip(score + shift + np.where(code % 2, apart, -apart), 0, 1)
    place = code * BINS + np.minimum((score * BINS).astype(int), BINS - 1)
    count, says, right = (
        np.bincount(place, part, classes * BINS).reshape(classes, BINS) for part in (np.ones(n), score, hit)
    )
    return differ(class_differences(count, says, right, count).p).any()


def main(runs):
    write = sys.stdout.write
    write("".join(f"{word:>14}" for word in ("law", "classes", "rows", *CASES)) + "\n")
    for law in LAWS:
        for classes, n in SIZES:
            shares = [np.mean([alarm(law, classes, n, *case, seed) for seed in range(runs)]) for case in CASES.values()]
            write("".join(f"{word:>14}" for word in (law, classes, n, *(f"{share:.3f}" for share in shares))) + "\n")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 300)
