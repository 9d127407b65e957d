"""The coverage table of the default interval: what was simulated, and how often the truth was inside."""

from __future__ import annotations

from importlib import resources

import pandas as pd

_TEXT = ("notion", "estimator", "binning", "truth")


def coverage_table() -> pd.DataFrame:
    """One line per simulated case: notion, classes, estimator, bins, rows, truth, and the coverage found.

    Made by tests/simulations/interval_coverage.py; nominal level 90 %. ``below`` is the share of runs whose whole
    interval lay above the truth, ``above`` the share whose interval lay below it.

    >>> sorted(set(coverage_table()["estimator"]))
    ['ece', 'rmsce']
    """
    text = resources.files("calib_core.inference").joinpath("coverage.csv").read_text(encoding="utf-8")
    head, *lines = [line.split(",") for line in text.splitlines() if line and not line.startswith("#")]
    table = pd.DataFrame(lines, columns=head)
    return table.astype({name: float for name in head if name not in _TEXT})
