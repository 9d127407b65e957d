"""Coverage of 90 % intervals of the difference of two models' errors, by distribution, notion, size and classes.

Run `python tests/simulations/paired_coverage.py` with the package installed: some ten minutes of one core. Cases are
written to paired.csv one by one. Existing ones are skipped: delete lines to repeat them. ``half`` is the falsified
twin: how often an interval of half the width misses.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

from paired_truths import LAWS, shares

import calib_core

OUT = Path(calib_core.__file__).parent / "inference" / "verdicts" / "paired.csv"
HEAD = "law,notion,estimator,classes,rows,level,runs,low_misses,high_misses,half,rejected"
QUESTIONS = [(notion, key) for notion in ("confidence", "top-label") for key in ("debiased-l2", "ece")]
CASES = [
    *((k, n, 0.9, 200) for k, n in ((5, 300), (20, 300), (5, 1000), (20, 1000), (100, 1000))),
    (20, 1000, 0.95, 200),
    (100, 300, 0.9, 150),
    (20, 4000, 0.9, 150),
    (100, 4000, 0.9, 100),
    (20, 20_000, 0.9, 60),
    (5, 100_000, 0.9, 40),
]


def main():
    lines = OUT.read_text(encoding="utf-8").splitlines() if OUT.exists() else [HEAD]
    there = {tuple(line.split(",")[:7]) for line in lines}
    for k, n, level, runs in CASES:
        for law in LAWS:
            names = [(law, *question, str(k), str(n), str(level), str(runs)) for question in QUESTIONS]
            if all(name in there for name in names):
                continue
            found = shares(law, QUESTIONS, n, k, runs, seed=1, level=level)
            for name, line in zip(names, found, strict=True):
                lines.append(",".join([*name, *(f"{share:.3f}" for share in line[:4])]))
            OUT.write_text("\n".join(lines) + "\n", encoding="utf-8")
            sys.stdout.write("\n".join(lines[-len(names) :]) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
