"""Prints P3's Table 1 as this library finds it, over 100 seeds, beside the values in the paper.

Run `python tests/simulations/p3_table1.py [SEEDS] [METHOD ...]` with the package installed; 100 seeds of TS and DIR
take one or two minutes on one core, those of LECE ten or more.
"""

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

from valk_kull_table import METHODS, METRICS, PAPER, TRUE, experiment


def main(seeds: int, names: list[str]) -> None:
    found = np.array([experiment(names, seed) for seed in range(seeds)])
    sys.stdout.write(f"{seeds} seeds; here: mean (standard deviation); paper: mean (standard deviation)\n")
    for i, name in enumerate(names):
        for j, metric in enumerate(METRICS):
            here = f"{found[:, i, j].mean():.4f} ({found[:, i, j].std():.4f})"
            paper = f"{PAPER[name][0][j]:.3f} ({PAPER[name][1][j]:.3f})"
            sys.stdout.write(f"{name:8s} {metric:14s} here {here}   paper {paper}\n")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100, sys.argv[2:] or [*METHODS, TRUE])
