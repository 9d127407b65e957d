"""What was simulated: how often default intervals hold the truth, and how often calibrated models are rejected."""

from __future__ import annotations

from importlib import resources

import pandas as pd

_TEXT = ("law", "notion", "estimator", "binning", "truth")


def coverage_table() -> pd.DataFrame:
    """One line per simulated case: notion, classes, estimator, bins, rows, truth, and the coverage found.

    Made by tests/simulations/interval_coverage.py; nominal level 90 %. ``below`` is the share of runs whose whole
    interval lay above the truth, ``above`` the share whose interval lay below it; ``bins`` is NaN where none are given.
    Upper ends by test inversion in intervals of scores have been raised since, for errors smaller than noise: there
    the coverage is now at least what is told.

    >>> sorted(set(coverage_table()["estimator"]))[-3:]
    ['rmsce', 'skce', 'smece']
    """
    return _table("coverage.csv")


def rejection_table() -> pd.DataFrame:
    """One line per simulated case: notion, classes, estimator, rows, runs, and the share of calibrated models rejected.

    Made by tests/simulations/null_rejection.py at the 5 % level: ``rejected`` by the p-value that is shown,
    ``rejected_exact`` by the one that breaks ties at random. Shares are known to about 0.35 % (8000 runs) or 0.5 %
    (4000). Lower shares of ``rejected`` are ties: with few rows the largest error takes few values.

    >>> bool((rejection_table()["rejected_exact"] < 0.07).all())
    True
    """
    return _table("rejection.csv")


def paired_table() -> pd.DataFrame:
    """One line per simulated pair of models: law, notion, estimator, classes, rows, level, runs, and what was found.

    Made by tests/simulations/paired_coverage.py. ``low_misses`` is the share of runs whose lower end lay above the true
    difference, ``high_misses`` that whose upper end lay below it (a 90 % interval may miss in a tenth of all runs by
    both together), ``half`` the share an interval of half the width would have missed, ``rejected`` that with p at
    most 5 %. Confidence errors in 15 equal-width bins, top-label errors in groups of at least 20 rows
    (ECE: 50), each model's own.

    >>> found = paired_table()
    >>> bool((found["low_misses"] + found["high_misses"] < found["half"]).mean() > 0.95)
    True
    """
    return _table("paired.csv")


def _table(name: str) -> pd.DataFrame:
    text = resources.files("calib_core.inference").joinpath(name).read_text(encoding="utf-8")
    head, *lines = [line.split(",") for line in text.splitlines() if line and not line.startswith("#")]
    table = pd.DataFrame(lines, columns=head)
    numbers = [name for name in head if name not in _TEXT]
    return table.assign(**{name: pd.to_numeric(table[name], errors="raise") for name in numbers})
