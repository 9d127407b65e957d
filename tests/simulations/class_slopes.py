"""Miss rates of 90 % intervals of the slopes and intercepts of classes, and of their tests at 5 %.

Run `python tests/simulations/class_slopes.py` with the package installed (two minutes); it writes class_slopes.csv.
``half`` is the falsified twin: how often an interval of half the width misses the slope. ``any`` is how often a
calibrated model has a slope that is called significantly off.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from calib_core import NotAnswerable, Predictions
from calib_core.risk import multinomial_slopes

TABLE = Path(__file__).with_name("class_slopes.csv")
CASES = ((100, 3, 1.0), (200, 3, 1.0), (200, 3, 0.5), (1000, 3, 1.0), (300, 5, 1.0), (300, 5, 2.0), (1000, 10, 1.0))
"""Rows, classes and true slope."""


def line(rows: int, classes: int, slope: float, draws: int) -> dict[str, float]:
    """Shares of samples for one case."""
    rng = np.random.default_rng([rows, classes, round(10 * slope)])
    found = []
    for _ in range(draws):
        x = 1.2 * rng.standard_normal((rows, classes))
        x[:, 0] += 0.7
        label = (x + rng.gumbel(size=x.shape)).argmax(axis=1)
        stated = np.exp(x / slope)
        try:
            made = multinomial_slopes(Predictions(stated / stated.sum(axis=1, keepdims=True), label), 0, 0.9)
        except NotAnswerable:
            continue
        table = made.frame()
        away, half = (table["slope"] - slope).abs(), (table["slope_high"] - table["slope_low"]) / 4
        found.append(
            {
                "low_misses": (table["slope_low"] > slope).mean(),
                "high_misses": (table["slope_high"] < slope).mean(),
                "half": (away > half).mean(),
                "intercept_misses": ((table["intercept_low"] > 0) | (table["intercept_high"] < 0)).mean(),
                "all": made.p_value <= 0.05,
                "slopes": made.p_slopes <= 0.05,
                "any": table["off"].any(),
            }
        )
    means = pd.DataFrame(found).astype(float).mean().round(4).to_dict()
    return {"rows": rows, "classes": classes, "slope": slope, "answered": len(found) / draws} | means


def frame() -> pd.DataFrame:
    """The stored table."""
    return pd.read_csv(TABLE)


def main() -> None:
    """Simulate every case and store the table."""
    pd.DataFrame([line(*case, 1000) for case in CASES]).to_csv(TABLE, index=False)


if __name__ == "__main__":
    main()
