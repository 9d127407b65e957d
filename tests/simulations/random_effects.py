"""Coverage of 90 % intervals of a random-effects meta-analysis: mean, tau and a new place; and of many sites jointly.

Run `python tests/simulations/random_effects.py` with the package installed (four minutes); it writes
random_effects.csv. Lines "pooled" draw estimates with known errors. Lines "sites" draw outcomes of calibrated sites
that differ by normal shifts of their log-odds. ``half`` is the falsified twin: the interval at half its width.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pandas as pd

from calib_core import NotAnswerable, Predictions
from calib_core.inference import random_effects
from calib_core.slices import between

TABLE = Path(__file__).with_name("random_effects.csv")
LEVEL = 0.9
PLACES, TAUS = (3, 5, 10, 30), (0.0, 0.1, 0.3)
SITES = ((5, 200, 0.2, 0.0), (5, 200, 0.2, 0.4), (10, 500, 0.05, 0.0), (10, 500, 0.3, 0.4), (20, 100, 0.3, 0.2))
"""Sites, rows of each, event rate, standard deviation of the shifts."""


def covers(low: float, high: float, truth: float) -> tuple[bool, bool]:
    """Whether the interval, and that of half its width, includes the truth."""
    middle, half = (low + high) / 2, (high - low) / 4
    return low <= truth <= high, middle - half <= truth <= middle + half


def pooled(places: int, tau: float, draws: int) -> list[dict[str, object]]:
    """Coverage of the mean 0.2, of tau and of a new place, for errors between .05 and .3."""
    rng = np.random.default_rng([1, places, round(100 * tau)])
    found: dict[str, list[tuple[bool, bool]]] = {"mean": [], "tau": [], "new": []}
    for _ in range(draws):
        errors = rng.uniform(0.05, 0.3, places)
        values = 0.2 + tau * rng.standard_normal(places) + errors * rng.standard_normal(places)
        made = random_effects(values, errors, LEVEL)
        found["mean"].append(covers(made.low, made.high, 0.2))
        found["tau"].append(covers(made.tau_low, made.tau_high, tau))
        found["new"].append(covers(made.new_low, made.new_high, 0.2 + tau * rng.standard_normal()))
    start = {"kind": "pooled", "places": places, "rows": 0, "rate": 0.0, "tau": tau, "draws": draws}
    return [start | {"measure": name} | _shares(hits) for name, hits in found.items()]


def sites(places: int, rows: int, rate: float, tau: float, draws: int) -> list[dict[str, object]]:
    """Joint coverage of all ratios and of all slopes of the sites, and coverage of the pooled intercept."""
    rng = np.random.default_rng([2, places, rows, round(100 * rate), round(100 * tau)])
    site = np.repeat(np.arange(places), rows)
    found: dict[str, list[tuple[bool, bool]]] = {"ratios": [], "slopes": [], "pooled intercept": []}
    for _ in range(draws):
        x = np.log(rate / (1 - rate)) + rng.standard_normal(len(site))
        shift = tau * rng.standard_normal(places)
        p, truth = 1 / (1 + np.exp(-x)), 1 / (1 + np.exp(-x - shift[site]))
        died = (rng.random(len(site)) < truth).astype(int)
        column = pd.DataFrame({"site": site.astype(str)})
        try:
            made = between(Predictions(np.column_stack([1 - p, p]), died, metadata=column), "site", level=LEVEL)
        except NotAnswerable:
            continue
        lines = made.frame().assign(site=lambda frame: frame["where"].str.removeprefix("site=").astype(int))
        true = np.bincount(site, truth) / np.bincount(site, p)
        ratios = [
            covers(a, b, true[i])
            for a, b, i in zip(lines["ratio_low"], lines["ratio_high"], lines["site"], strict=True)
        ]
        slopes = [covers(a, b, 1.0) for a, b in zip(lines["slope_low"], lines["slope_high"], strict=True) if a == a]
        found["ratios"].append(tuple(np.all(ratios, axis=0)))
        found["slopes"].append(tuple(np.all(slopes, axis=0)))
        line = made.pooled.set_index("measure").loc["intercept"]
        found["pooled intercept"].append(covers(line["low"], line["high"], 0.0))
    start = {"kind": "sites", "places": places, "rows": rows, "rate": rate, "tau": tau, "draws": draws}
    return [start | {"measure": name} | _shares(hits) for name, hits in found.items()]


def _shares(hits: list[tuple[bool, bool]]) -> dict[str, float]:
    whole, half = np.mean(hits, axis=0)
    return {"coverage": round(float(whole), 4), "half": round(float(half), 4)}


def frame() -> pd.DataFrame:
    """The stored table."""
    return pd.read_csv(TABLE)


def main() -> None:
    """Simulate every line and store the table."""
    lines = [line for places in PLACES for tau in TAUS for line in pooled(places, tau, 1000)]
    lines += [line for case in SITES for line in sites(*case, 400)]
    pd.DataFrame(lines).to_csv(TABLE, index=False)


if __name__ == "__main__":
    sys.exit(main())
