"""Write cases.csv, the risks and outcomes that reference.R reads: `python make_cases.py` in this folder."""

from pathlib import Path

import numpy as np
import pandas as pd

rng = np.random.default_rng(20)


def case(name, scores, shift, slope):
    chance = 1 / (1 + np.exp(-(shift + slope * np.log(scores / (1 - scores)))))
    return pd.DataFrame({"case": name, "s": scores, "y": (rng.random(len(scores)) < chance).astype(int)})


def logistic(mean, spread, n):
    return 1 / (1 + np.exp(-rng.normal(mean, spread, n)))


if __name__ == "__main__":  # the doctest runner imports every module
    frames = [
        case("calibrated", logistic(-1.0, 1.2, 300), 0.0, 1.0),
        case("twice", logistic(-2.0, 1.0, 500), 0.7, 1.0),
        case("too spread", rng.beta(0.8, 1.6, 400).clip(0.001, 0.999), 0.0, 0.6),
        case("rounded", np.round(logistic(-1.0, 1.5, 350), 2).clip(0.01, 0.99), 0.2, 0.9),
    ]
    pd.concat(frames).to_csv(Path(__file__).parent / "cases.csv", index=False, float_format="%.17g")
