"""P3's Table 1 by this library, over as many seeds as in the paper, next to the paper's values.

Run `python tests/simulations/p3_table1.py [--minutes 60]` with the package installed. It writes p3_table1.csv, a line
for every seed and method, and reuses existing lines. Means and standard deviations are next to the paper's in
p3_table1.md. LECE takes 7 s a seed on one core, all others together under one. With `--check` it computes no lines.
Either way it ends with 1 if a mean is further from the paper's than .002 and the rounding of its last digit.
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
    """Case of one seed of some methods."""

    seed: int
    methods: tuple[str, ...]

    @property
    def names(self):
        """Return the names of its lines."""
        return [f"{self.seed},{method}" for method in self.methods]

    @property
    def note(self):
        """Return its description for the progress display."""
        return f"seed {self.seed}: {', '.join(self.methods)}"


def cases():
    """Return the cases, the quick methods first."""
    return [Case(seed, methods) for methods in (QUICK, ("LECE",)) for seed in range(SEEDS)]


def made(case):
    """Return the case's lines."""
    found = experiment(case.methods, case.seed)
    return [f"{name},{','.join(f'{value:.6f}' for value in row)}" for name, row in zip(case.names, found, strict=True)]


def compared(frame):
    """Write the two tables side by side; return the differences above the tolerance."""
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
