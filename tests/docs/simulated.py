"""The page on the accuracy of our claims: tables of simulations as pictures, with their expected values."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from calib_core.inference import coverage_table, group_errors_table, paired_table, rejection_table

SIMULATIONS = Path(__file__).parents[1] / "simulations"
LEVEL = 0.9
ENOUGH = 0.88
"""Coverage below this exceeds chance in a few hundred samples."""
INTRODUCTION = """# Accuracy of our claims

An interval at level 90 % should contain the true value in 90 % of samples. A test at level 5 % should reject at most
5 % of calibrated models. Whether they do is simulated: known distributions, many samples. `make simulations` computes
the tables, which are part of the package (`cc.inference.coverage_table()` and others). This page shows them.

Each picture of coverage also shows a falsified twin: the same interval at half its width. The twin has to fail, or the
simulation would prove nothing."""


def page() -> tuple[str, dict[str, Figure]]:
    """Return the page in Markdown, and its pictures by name."""
    tables = {
        "coverage": coverage_table().query("tested == 1 and level == @LEVEL"),
        "paired": _paired(paired_table().query("level == @LEVEL")),
        "groups": group_errors_table().query("level == @LEVEL"),
    }
    rejection, watching = rejection_table(), pd.read_csv(SIMULATIONS / "watching.csv")
    sections = [
        INTRODUCTION,
        "## Intervals of calibration errors",
        _summary(tables["coverage"]),
        "Coverage above 90 % means that an interval is wider than necessary.",
        _picture("coverage", "Coverage of 90 % intervals by number of rows"),
        _by_estimator(tables["coverage"]),
        "## Tests of calibration",
        f"{len(rejection):,} cases. With ties broken at random, the largest share of calibrated models rejected at the "
        f"5 % level is {_percent(rejection['rejected_exact'].max(), 1)}. The p-value that is shown does not break "
        "ties and rejects less often.",
        _picture("rejection", "Share of calibrated models that are rejected at the 5 % level"),
        "## Differences between two models on the same rows",
        _summary(tables["paired"]),
        _picture("paired", "Coverage of 90 % intervals of paired differences"),
        "## The error within the worst group of rows",
        _summary(tables["groups"]),
        _picture("groups", "Coverage of 90 % intervals of the error within the worst group"),
        "## Watching over time",
        _watching(watching),
        _picture("watching", "Looks from the start of a drift to the alarm"),
        "## Further simulations",
        "`tests/simulations/` also simulates intervals of the AUROC, measures of a predicted risk, nested errors and "
        "the choice of a calibrator. `calib lab` runs such simulations for a distribution of your own.",
    ]
    figures = {name: _coverage(table) for name, table in tables.items()} | {
        "rejection": _rejection(rejection),
        "watching": _delays(watching),
    }
    return "\n\n".join(sections) + "\n", figures


def _paired(table: pd.DataFrame) -> pd.DataFrame:
    """Return the table of paired differences with coverage in place of misses."""
    return table.assign(coverage=1 - table["low_misses"] - table["high_misses"], half=1 - table["half"])


def _summary(table: pd.DataFrame) -> str:
    coverage, runs = table["coverage"], table["runs"]
    enough = (coverage >= ENOUGH).mean()
    # Two standard errors of a share of 90 %.
    errors = [200 * (LEVEL * (1 - LEVEL) / number) ** 0.5 for number in (runs.min(), runs.max())]
    few, many = (f"{error:.0f} points" for error in errors)
    return (
        f"{len(table):,} cases with {runs.min():,} to {runs.max():,} samples each. Coverage is at least "
        f"{_percent(ENOUGH)} in {_percent(enough)} of the cases; the lowest is {_percent(coverage.min())}. A coverage "
        f"is itself known to {few} (fewest samples) or {many} (most samples)."
    )


def _watching(table: pd.DataFrame) -> str:
    shares = table.set_index(["kind", "method"])["value"]
    alarms, naive = shares["false alarms", "ours"], shares["false alarms", "each look"]
    covered, fixed = shares["coverage", "ours"], shares["coverage", "each look"]
    runs = table.loc[table["kind"] == "false alarms", "runs"].min()
    return (
        "`calib watch` has one limit of false alarms for all looks, here 5 %. In 1,000 looks at 50 rows each it "
        f"alarms in at most {_percent(alarms.max(), 1)} of the runs of {len(alarms)} calibrated laws, each with "
        f"{runs:,} or more runs. "
        f"The falsified twin, a test at 5 % of each look, alarms in at least {_percent(naive.min())}. The interval of "
        f"the mean gap contains the true one at every look in at least {_percent(covered.min())} of the runs; a fixed "
        f"95 % interval in at most {_percent(fixed.max())}. The picture shows how soon an alarm comes after a drift: a "
        "step, a slope, a season, or a step in one of five slices. "
        "CUSUM is an oracle: it knows the size of the drift, and its limit is simulated for the law. A test of each "
        "look with Bonferroni's correction, and the calibration error of each look, hardly find the smaller drifts."
    )


METHODS = {
    "ours, tolerance 0": "calib watch, tolerance 0",
    "ours": "calib watch, tolerance 2 points",
    "ours, slices": "calib watch, five slices, tolerance 0",
    "cusum": "CUSUM (oracle)",
    "cusum, tolerance": "CUSUM, tolerance 2 points (oracle)",
    "cumulative": "all rows so far, Bonferroni",
    "bonferroni": "each look, Bonferroni",
    "ece": "ECE of each look",
}


def _delays(table: pd.DataFrame) -> Figure:
    """Return the median delays of all methods, one line of marks per drift."""
    delays = table[table["kind"] == "delay"].pivot_table(index="case", columns="method", values="value", sort=False)
    figure = Figure(figsize=(8, 4.4), layout="constrained")
    axes = figure.add_subplot()
    for (method, title), mark in zip(METHODS.items(), "osPD*^vx", strict=True):
        axes.plot(delays[method], np.arange(len(delays)), mark, label=title, alpha=0.8)
    axes.set(xscale="log", xlabel="looks from the start of the drift to the alarm (1,000: none)")
    axes.set_yticks(np.arange(len(delays)), list(delays.index))
    axes.margins(y=0.15)
    figure.legend(loc="outside right upper", frameon=False, fontsize=8)
    return figure


def _picture(name: str, title: str) -> str:
    return f"![{title}](assets/accuracy-{name}.svg)"


def _percent(share: float, digits: int = 0) -> str:
    return f"{share * 100:.{digits}f} %"


def _by_estimator(coverage: pd.DataFrame) -> str:
    table = coverage.groupby("estimator")["coverage"].agg(["size", "min", "median"])
    lines = [
        f"| `{key}` | {row['size']:.0f} | {_percent(row['min'])} | {_percent(row['median'])} |"
        for key, row in table.iterrows()
    ]
    return "\n".join(("| estimator | cases | lowest coverage | median |", "|---|---|---|---|", *lines))


def _coverage(table: pd.DataFrame) -> Figure:
    """Return the coverage of every case by its number of rows, with that of the twin."""
    figure = Figure(figsize=(8, 3.4), layout="constrained")
    axes = figure.subplots()
    axes.plot(table["rows"], table["half"], "x", color="#b0b0b0", label="half the width (has to fail)", markersize=4)
    axes.plot(table["rows"], table["coverage"], "o", color="#0072b2", label="interval", markersize=4, alpha=0.6)
    axes.axhline(LEVEL, color="black", linestyle="--", linewidth=1)
    axes.set(xscale="log", xlabel="rows", ylabel="coverage", ylim=(0, 1.03))
    axes.legend(loc="lower right", frameon=False)
    return figure


def _rejection(table: pd.DataFrame) -> Figure:
    figure = Figure(figsize=(8, 3.4), layout="constrained")
    axes = figure.subplots()
    axes.hist(table["rejected_exact"], bins=np.linspace(0, 0.08, 33).tolist(), color="#0072b2")
    axes.axvline(0.05, color="black", linestyle="--", linewidth=1)
    axes.set(xlabel="share of calibrated models rejected", ylabel="cases")
    return figure
