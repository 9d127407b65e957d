"""P3's Table 1 as this library finds it, over as many seeds as in the paper, beside the paper's values.

Run `python tests/simulations/p3_table1.py [--minutes 60]` with the package installed; it writes p3_table1.csv, a line
for every seed and method, keeps the lines that are there, and puts means and standard deviations beside the paper's in
p3_table1.md. LECE takes 7 s a seed on one core, all others together under one. `--check` makes no lines; either way it
ends with 1 where a mean is further from the paper's than .002 and the rounding of its last digit.
"""

import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

from resumable import LineTable, command
from valk_kull_table import METHODS, METRICS, PAPER, TRUE, experiment

FILE = Path(__file__).with_suffix(".csv")
SEEDS = 100
OFF, ROUNDED = 0.002, 0.0005
TABLE = LineTable(
    f"seed,method,{','.join(name.lower().replace(' ', '_') for name in METRICS)}",
    2,
    "# P3's Table 1 seed by seed, written by tests/simulations/p3_table1.py\n",
)
QUICK = tuple(name for name in (*METHODS, TRUE) if name != "LECE")


@dataclass(frozen=True)
class Case:
    """One seed of some methods."""

    seed: int
    methods: tuple[str, ...]

    @property
    def names(self):
        """What its lines are called."""
        return [f"{self.seed},{method}" for method in self.methods]

    @property
    def note(self):
        """What it is, for those who wait."""
        return f"seed {self.seed}: {', '.join(self.methods)}"


def cases():
    """The quick methods first."""
    return [Case(seed, methods) for methods in (QUICK, ("LECE",)) for seed in range(SEEDS)]


def made(case):
    """The case's lines."""
    found = experiment(case.methods, case.seed)
    return [f"{name},{','.join(f'{value:.6f}' for value in row)}" for name, row in zip(case.names, found, strict=True)]


def compared(frame):
    """Writes the two tables side by side; what is further apart than it may be."""
    lines, wrong = [], []
    for method, rows in frame.groupby("method", sort=False):
        cells = []
        for j, column in enumerate(frame.columns[2:]):
            mean, spread = rows[column].mean(), rows[column].std()
            paper, around = (part[j] for part in PAPER[method])
            cells.append(f"{mean:.4f} ± {spread:.4f} ({paper:.3f} ± {around:.3f})")
            if np.abs(mean - paper) > OFF + ROUNDED:
                wrong.append(f"{method}, {METRICS[j]}: {mean:.4f} here, {paper:.3f} in the paper")
        lines.append(f"| {method} | {len(rows)} | {' | '.join(cells)} |\n")
    head = f"| Method | Seeds | {' | '.join(METRICS)} |\n|{'---|' * (2 + len(METRICS))}\n"
    note = "# P3, Table 1\n\nMean ± standard deviation over seeds; in brackets those of the paper, over 100 seeds.\n\n"
    FILE.with_suffix(".md").write_text(note + head + "".join(lines), encoding="utf-8")
    sys.stdout.write("".join(lines))
    return wrong


if __name__ == "__main__":
    command(__doc__, TABLE, cases(), made, compared, FILE)
