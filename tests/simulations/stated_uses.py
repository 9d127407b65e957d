"""Simulation for stated_uses.csv: the fall of the cost of decisions, by calibrators chosen for a threshold.

The true log-odds of two classes are normal with mean -1 and standard deviation 1.3. The model's are those of a law:
calibrated, twice or 0.6 times the true ones, shifted, bent, or off only at small risks. For each law, with 300, 1,000
and 3,000 calibration rows, ``RUNS`` samples are drawn. A line is for a threshold t, where a wrong action costs t and a
wrong omission 1 - t. It has mean costs per 1,000 rows, exact in 20,000 further rows, as the true risks are known. The
first is the fall of the cost that the true risks would achieve (``possible``). Those by the recommendations for the log
loss (``log_loss``) and for this cost (``use``) follow. ``by_cost`` is a falsified twin: the same candidates
are named, so that one is chosen by the cost itself. Shares of samples in which a recommendation costs more than the
model follow. Run `python tests/simulations/stated_uses.py` with the package installed: about ten minutes on one core.
"""

import sys
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.special import expit

from calib_core import Predictions, choose
from calib_core.evaluation.candidates import candidates_for

TABLE = Path(__file__).with_name("stated_uses.csv")
RUNS, TEST = 4, 20_000
SIZES, THRESHOLDS = (300, 1000, 3000), (0.1, 0.3)
LAWS = {
    "calibrated": lambda z: z,
    "twice": lambda z: 2 * z,
    "0.6 times": lambda z: 0.6 * z,
    "shifted": lambda z: z + 0.7,
    "bent": lambda z: np.sign(z) * np.abs(z) ** 1.6,
    "small risks": lambda z: np.where(z < -1.5, 1.8 * z + 1.2, z),
}


def rows(risk, y):
    return Predictions(np.column_stack([1 - risk, risk]), y)


def run(law, n, seed):
    """Return, for each threshold, the possible fall of the cost and those of three choices."""
    rng = np.random.default_rng([seed, n, list(LAWS).index(law)])
    z = rng.normal(-1, 1.3, n + TEST)
    truth, risk = expit(z), expit(LAWS[law](z))
    y = (rng.random(n + TEST) < truth).astype(int)
    fit, test, truth = rows(risk[:n], y[:n]), rows(risk[n:], y[n:]), truth[n:]
    by_log_loss = choose(fit).recipe
    found = []
    for t in THRESHOLDS:
        cost = lambda q, t=t: 1000 * float(np.where(q > t, t * (1 - truth), (1 - t) * truth).mean())  # noqa: E731
        uses = (choose(fit, named, score="cost", costs=str(t)).recipe for named in (None, candidates_for(fit)))
        after = [recipe.build().fit_on(fit).apply(test).probs[:, 1] for recipe in (by_log_loss, *uses)]
        before = cost(test.probs[:, 1])
        found.append([before - cost(truth), *(before - cost(q) for q in after)])
    return found


def main(table):
    lines = []
    for n in SIZES:
        for law in LAWS:
            every = np.array([run(law, n, seed) for seed in range(RUNS)])
            for t, values in zip(THRESHOLDS, every.transpose(1, 0, 2), strict=True):
                falls = dict(zip(("possible", "log_loss", "use", "by_cost"), values.mean(axis=0), strict=True))
                worse = dict(zip(("log_loss_worse", "use_worse", "by_cost_worse"), (values[:, 1:] < -1e-6).mean(axis=0),
                                 strict=True))  # fmt: skip
                lines.append({"rows": n, "law": law, "threshold": t, "runs": RUNS} | falls | worse)
            pd.DataFrame(lines).to_csv(table, index=False, float_format="%.4f")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else TABLE)
