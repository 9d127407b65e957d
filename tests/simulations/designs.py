"""Miss rates of 90 % intervals of a risk's measures in weighted and clustered samples, and of naive ones.

Run `python tests/simulations/designs.py` with the package installed (about half an hour of one core). Cases are
written to designs.csv one by one. Existing ones are skipped: delete lines to repeat them. ``naive`` is the falsified
twin: its weights are numbers of copies, and its groups are forgotten.
"""

import itertools
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

from design_laws import DESIGNS, misses

HEAD = "design,rows,rate,runs,naive,measure,low_misses,high_misses,none,width"
SIZES = {200: 100, 1000: 60, 5000: 30}
"""Runs by number of rows."""
EVENTS = {"survey": 10, "clustered": 10, "few_events": 20}
"""Events of as many rows without sampling from which on a design is simulated; others sample every event."""
RATES = (0.01, 0.1, 0.5)


def cases():
    """Design, rows, event rate, runs, and whether intervals are naive, of each case; small samples first."""
    for (n, runs), rate, design, naive in itertools.product(SIZES.items(), RATES, DESIGNS, (False, True)):
        if naive and n != 1000:
            continue
        if n * rate < EVENTS.get(design, 0):
            continue  # fewer than about five events are sampled
        yield design, n, rate, runs, naive


def main():
    out = Path(__file__).parent / "designs.csv"
    lines = out.read_text(encoding="utf-8").splitlines() if out.exists() else [HEAD]
    there = {tuple(line.split(",")[:5]) for line in lines}
    for design, n, rate, runs, naive in cases():
        first = (design, str(n), str(rate), str(runs), str(int(naive)))
        if first in there:
            continue
        for measure, found in misses(design, n, rate, runs, naive=naive).items():
            lines.append(",".join([*first, measure, *(f"{share:.3f}" for share in found[:3]), f"{found[3]:.4g}"]))
        out.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
