"""Simulation for few_rows_choice.csv: costs of the advice with few rows and known truth.

There are several distributions: a calibrated model; logits twice or 0.7 times the true ones; an offset of two classes;
one class's logit doubled. For each, with 2, 3 and 10 classes and 100, 200 and 500 rows, ``RUNS`` samples are drawn. A
line has the mean excess log loss over the truth (exact in 4,000 further rows: the divergence of the prediction from the
true probabilities). It is given for the unchanged model, unconditional temperature scaling, and the recommendation of
``choose``. The line also has the standard error of the difference of the last two, and the share of samples in which
the model is unchanged. The same numbers follow for a falsified twin, which takes the least score in plain
cross-validation. Run `python tests/simulations/few_rows_choice.py` with the package installed: about four minutes on
one core.
"""

import sys
from pathlib import Path

import numpy as np
import pandas as pd

from calib_core import NotAnswerable, Predictions, choose
from calib_core.calibrators import as_calibrator
from calib_core.evaluation.candidates import FoldTrial
from calib_core.registry.registry import Recipe

TABLE = Path(__file__).with_name("few_rows_choice.csv")
RUNS, TEST = 20, 4000
CLASSES, SIZES = (2, 3, 10), (100, 200, 500)
STAY, TEMPERATURE = (Recipe("CALIBRATORS", key) for key in ("identity", "temperature"))


def _offset(z):
    return z + np.eye(z.shape[1])[0] - 0.5 * np.eye(z.shape[1])[1]


def _one_class(z):
    return z * np.where(np.arange(z.shape[1]) == 0, 2.0, 1.0)


LAWS = {"calibrated": lambda z: z, "T = 2": lambda z: 2 * z, "T = 0.7": lambda z: 0.7 * z, "offset": _offset,
        "one class": _one_class}  # fmt: skip


def drawn(law, k, n, rng):
    """Return true probabilities and the model's rows, with labels drawn from the truth."""
    z = rng.normal(size=(n, k)) * 1.5
    z -= z.mean(axis=1, keepdims=True)
    y = (z + rng.gumbel(size=z.shape)).argmax(axis=1)
    return Predictions.from_logits(z, y).probs, Predictions(Predictions.from_logits(LAWS[law](z), y).probs, y)


def excess(recipe, fit, truth, test):
    """Return the divergence from the truth of predictions after a calibrator."""
    after = as_calibrator(recipe).fit_on(fit).apply(test)
    q = FoldTrial(test, np.zeros(test.n_rows, dtype=int), 1, "log-loss", 0.9).seen(after, None).probs
    return float((truth * np.log(truth / np.maximum(q, 1e-15))).sum(axis=1).mean())


def run(law, k, n, seed):
    """Return the excess of no change, temperature, the choice and plain cross-validation; and abstentions."""
    rng = np.random.default_rng([seed, k, n, list(LAWS).index(law)])
    (_, fit), (truth, test) = drawn(law, k, n, rng), drawn(law, k, TEST, rng)
    try:
        found = choose(fit)
        recipe, plain = found.recipe, found.recipes[int(found.table["gain"].fillna(-np.inf).argmax())]
    except NotAnswerable:
        recipe = plain = STAY
    losses = {each: excess(each, fit, truth, test) for each in {STAY, TEMPERATURE, recipe, plain}}
    return [losses[STAY], losses[TEMPERATURE], losses[recipe], losses[plain], recipe == STAY, plain == STAY]


def main(table):
    lines = []
    for k in CLASSES:
        for n in SIZES:
            for law in LAWS:
                every = np.array([run(law, k, n, seed) for seed in range(RUNS)], dtype=float)
                error = (every[:, 2] - every[:, 1]).std(ddof=1) / RUNS**0.5
                names = ("nothing", "temperature", "choice", "plain", "left_alone", "plain_left_alone")
                lines.append({"classes": k, "rows": n, "law": law, "runs": RUNS}
                             | dict(zip(names, every.mean(axis=0), strict=True)) | {"error": error})  # fmt: skip
                pd.DataFrame(lines).to_csv(table, index=False, float_format="%.5f")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else TABLE)
