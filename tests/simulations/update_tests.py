"""Frequency with which the closed testing procedure updates a risk further than needed, by rows and event rate.

Run `python tests/simulations/update_tests.py` with the package installed (two minutes). It writes update_tests.csv.
"none" is a calibrated model: every update is one too many. "intercept" is a risk with odds twice too high. There
logistic recalibration is one too many. "power" is the share in which a slope of 0.7 is found.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import pandas as pd

from calib_core import NotAnswerable, Predictions
from calib_core.evaluation.update_test import INTERCEPT, LOGISTIC, NO_UPDATE, update_test

TABLE = Path(__file__).with_name("update_tests.csv")
ROWS, RATES = (100, 200, 500, 1000, 5000), (0.01, 0.05, 0.2, 0.5)
MOST = 0.075
"""Largest share that is too far: 5 %, chance in 1,000 samples, and the approximation with few events."""
SHIFT, SLOPE = np.log(2), 0.7


def risks(rows: int, rate: float, rng: np.random.Generator) -> np.ndarray:
    """Log-odds of true risks with about this mean."""
    x = rng.normal(0.0, 1.0, rows)
    return np.log(rate / (1 - rate)) + x - (0.5 - rate) * 0.9


def outcome(rows: int, rate: float, case: str, rng: np.random.Generator) -> str | None:
    """Update found for one sample; None where there are too few events."""
    x = risks(rows, rate, rng)
    died = rng.random(rows) < 1 / (1 + np.exp(-x))
    stated = {"none": x, "intercept": x + SHIFT, "power": x / SLOPE}[case]
    p = 1 / (1 + np.exp(-stated))
    try:
        return update_test(Predictions(np.column_stack([1 - p, p]), died.astype(int))).update
    except NotAnswerable:
        return None


def line(rows: int, rate: float, draws: int, seed: int = 1) -> dict[str, float]:
    """Shares of samples for one number of rows and event rate."""
    rng = np.random.default_rng([seed, rows, round(1000 * rate)])
    found = {case: [outcome(rows, rate, case, rng) for _ in range(draws)] for case in ("none", "intercept", "power")}
    known = {case: [each for each in every if each is not None] for case, every in found.items()}
    shares = {
        "too_far_none": (known["none"], lambda each: each != NO_UPDATE),
        "too_far_intercept": (known["intercept"], lambda each: each == LOGISTIC),
        "found_intercept": (known["intercept"], lambda each: each in (INTERCEPT, LOGISTIC)),
        "found_slope": (known["power"], lambda each: each == LOGISTIC),
    }
    return {"rows": rows, "rate": rate, "answered": len(known["none"]) / draws} | {
        name: float(np.mean([right(each) for each in every])) if len(every) >= draws / 10 else np.nan
        for name, (every, right) in shares.items()
    }


def frame() -> pd.DataFrame:
    """The stored table."""
    return pd.read_csv(TABLE)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=1000)
    draws = parser.parse_args().draws
    found = pd.DataFrame([line(rows, rate, draws) for rows in ROWS for rate in RATES])
    found.round(4).to_csv(TABLE, index=False)


if __name__ == "__main__":
    main()
