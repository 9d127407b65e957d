"""What was simulated: how often default intervals hold the truth, and how often calibrated models are rejected."""

from __future__ import annotations

from importlib import resources

import pandas as pd

_TEXT = ("family", "law", "truth", "notion", "estimator", "binning", "groups")


def coverage_table() -> pd.DataFrame:
    """How often default intervals held the true value in simulations, one line per case.

    Columns: the law of the scores and the truth about them (``law``, ``truth``), ``classes``, ``rows``, ``notion``,
    ``estimator``, ``binning`` ("default" where no bins were given), nominal ``level``, the share ``coverage`` of
    ``runs`` whose interval held the truth, ``below`` whose truth lay below the interval, ``above`` whose truth lay
    above it, and ``half``, the coverage of the same intervals at half their width, which must be clearly lower.
    ``tested`` is 1 where the library called the interval tested: the promise, coverage of .86 or more and of .88 or
    more in 95 % of lines, is about these. Some lines were made before upper ends over many rich cells were raised:
    their coverage is at least what is told. What can mislead: a coverage of .88 in 300 runs is known to .02.

    ``bins`` is NaN where there are none.

    >>> bool((coverage_table()["runs"] >= 40).mean() > 0.9)
    True
    """
    return _table("coverage.csv")  # tests/simulations/interval_coverage.py writes it


def rejection_table() -> pd.DataFrame:
    """How often calibrated models were rejected at the 5 % level in simulations, one line per case.

    Columns: the law of the probabilities, ``notion``, ``classes``, ``estimator``, ``rows``, ``runs``, and the shares
    ``rejected`` by the p-value that is shown and ``rejected_exact`` by the one that breaks ties at random, known to
    about 0.35 % (8000 runs), 0.5 % (4000) or 0.7 % (2000). What can mislead: lower shares of ``rejected`` are ties:
    with few rows, or scores near 1, an error takes few values.

    >>> bool((rejection_table()["rejected_exact"] < 0.07).all())
    True
    """
    return _table("rejection.csv")  # tests/simulations/null_rejection.py writes it


def paired_table() -> pd.DataFrame:
    """One line per simulated pair of models: law, notion, estimator, classes, rows, level, runs, and what was found.

    ``low_misses`` is the share of runs whose lower end lay above the true
    difference, ``high_misses`` that whose upper end lay below it (a 90 % interval may miss in a tenth of all runs by
    both together), ``half`` the share an interval of half the width would have missed, ``rejected`` that with p at
    most 5 %. Confidence errors in 15 equal-width bins, top-label errors in groups of at least 20 rows
    (ECE: 50), each model's own.

    >>> found = paired_table()
    >>> bool((found["low_misses"] + found["high_misses"] < found["half"]).mean() > 0.95)
    True
    """
    return _table("paired.csv")  # tests/simulations/paired_coverage.py writes it


def group_errors_table() -> pd.DataFrame:
    """How often intervals of the error within the worst group of rows held the true one, one line per case.

    Columns: the ``law`` of the scores, the ``truth`` ("one": one value of a column is off by 0.15; "opposed": another
    one the other way), ``rows``, ``groups`` ("few": of two columns; "many": and of their crossings), nominal ``level``,
    the shares ``coverage`` of ``runs`` whose interval held the true value and ``every_group`` whose intervals held the
    errors of all groups, ``half`` of the same intervals at half their width, ``false_alarms`` with a group called off,
    ``above_floor`` with a value above its noise floor. Independent rows of one weight.

    >>> found = group_errors_table()
    >>> bool((found["coverage"] > found["half"]).all())
    True
    """
    return _table("group_errors.csv")  # tests/simulations/group_errors.py writes it


def _table(name: str) -> pd.DataFrame:
    text = resources.files("calib_core.inference.verdicts").joinpath(name).read_text(encoding="utf-8")
    head, *lines = [line.split(",") for line in text.splitlines() if line and not line.startswith("#")]
    table = pd.DataFrame(lines, columns=head)
    numbers = [name for name in head if name not in _TEXT]
    return table.assign(**{name: pd.to_numeric(table[name], errors="raise") for name in numbers})
