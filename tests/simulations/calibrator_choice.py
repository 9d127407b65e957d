"""Writes calibrator_choice.csv: what the choice of a calibrator gains on test rows, cell by cell.

A cell is a data set, a model and a number of calibration rows. The list is fixed, and every second cell is held back:
nothing of the choice was settled by looking at those. (That a model's own zeros show a gain was added after a look at
the first draw of that half: its rows were then drawn anew.) Each line has the log loss of the test rows (with this
library's floor) of the model as it is, of what ``choose`` recommends, and of what comes first in plain
cross-validation, both fitted on all calibration rows. Run `python tests/simulations/calibrator_choice.py
[develop|held-back]` with the package installed; lines that are there are kept. Both halves take about four minutes on
one core.
"""

import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn import datasets
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from calib_core import Predictions, choose
from calib_core.calibrators import as_calibrator
from calib_core.candidates import Trial
from calib_core.scores import log_losses

TABLE = Path(__file__).with_name("calibrator_choice.csv")
TRAIN, TEST = 400, 10_000
SIZES = (250, 1000, 2500)


def _classification(**options):
    return lambda n, seed: datasets.make_classification(n, random_state=seed, **options)


GENERATED = {
    "moons": lambda n, seed: datasets.make_moons(n, noise=0.35, random_state=seed),
    "circles": lambda n, seed: datasets.make_circles(n, noise=0.25, factor=0.6, random_state=seed),
    "blobs": lambda n, seed: datasets.make_blobs(n, 4, centers=5, cluster_std=4.0, random_state=seed),
    "quantiles": lambda n, seed: datasets.make_gaussian_quantiles(n_samples=n, n_classes=4, random_state=seed),
    "hastie": lambda n, seed: (lambda x, y: (x, (y > 0).astype(int)))(*datasets.make_hastie_10_2(n, random_state=seed)),
    "noisy": _classification(n_features=10, n_informative=5, n_classes=3, flip_y=0.15),
    "ten classes": _classification(n_features=20, n_informative=10, n_classes=10, n_clusters_per_class=1),
    "rare": _classification(n_features=20, n_informative=4, weights=[0.95], flip_y=0.02),
}
BUNDLED = {"digits": datasets.load_digits, "wine": datasets.load_wine, "breast cancer": datasets.load_breast_cancer}
MODELS = {
    "naive Bayes": GaussianNB,
    "boosted": lambda: HistGradientBoostingClassifier(max_iter=60, random_state=0),
    "forest": lambda: RandomForestClassifier(60, random_state=0),
    "network": lambda: MLPClassifier(max_iter=400, random_state=0),
    "logistic": lambda: LogisticRegression(max_iter=2000),
    "support vectors": lambda: SVC(probability=True, random_state=0),
    "neighbours": lambda: KNeighborsClassifier(9),
}
SMALL = ("naive Bayes", "boosted", "forest", "network", "logistic")
CELLS = [
    *((data, model, SIZES[(i + j) % 3]) for i, data in enumerate(GENERATED) for j, model in enumerate(MODELS)),
    *((data, model, 0) for data in BUNDLED for model in SMALL),
]
HALVES = ("develop", "held-back")


def rows(data, model, size, seed):
    """Calibration and test rows of a model fitted on others; a third of a bundled set each."""
    if size:
        x, y = GENERATED[data](TRAIN + size + TEST, seed)
        train, fit = TRAIN, size
    else:
        x, y = BUNDLED[data](return_X_y=True)
        train = fit = len(y) // 3
    order = np.random.default_rng(seed).permutation(len(y))
    x, y = x[order], y[order]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = make_pipeline(StandardScaler(), MODELS[model]()).fit(x[:train], y[:train])
        probs = fitted.predict_proba(x[train:])
    every = Predictions(probs, y[train:])
    return every.take(np.arange(fit)), every.take(np.arange(fit, every.n_rows))


def loss(recipe, fit, test):
    """Log loss of the test rows after a calibrator fitted on the fit rows."""
    after = as_calibrator(recipe).fit_on(fit).apply(test)
    whole = Trial(test, np.zeros(test.n_rows, dtype=int), 1, "log-loss", 0.9).seen(after, None)
    return float(log_losses(whole).mean())


def cell(place):
    data, model, size = CELLS[place]
    fit, test = rows(data, model, size, seed=place + 1000 * (place % 2))
    found = choose(fit)
    return {
        "half": HALVES[place % 2],
        "data": data,
        "model": model,
        "rows": fit.n_rows,
        "test_rows": test.n_rows,
        "identity": float(log_losses(test).mean()),
        "recommended": found.recipe.key,
        "recommended_loss": loss(found.recipe, fit, test),
        "winner": found.winner.key,
        "winner_loss": loss(found.winner, fit, test),
    }


def summary(table):
    """Cells, the share in which the choice is worse than nothing, and its median gain beside the plain winner's."""
    gain, plain = (table["identity"] - table[f"{name}_loss"] for name in ("recommended", "winner"))
    return {"cells": len(table), "worse": float((gain < 0).mean()), "worse_plain": float((plain < 0).mean()),
            "median_gain": float(gain.median()), "median_gain_plain": float(plain.median())}  # fmt: skip


def main(halves):
    lines = pd.read_csv(TABLE).to_dict("records") if TABLE.exists() else []
    known = {(line["data"], line["model"]) for line in lines}
    for place, (data, model, _) in enumerate(CELLS):
        if HALVES[place % 2] in halves and (data, model) not in known:
            lines.append(cell(place))
            pd.DataFrame(lines).to_csv(TABLE, index=False, float_format="%.6f")
    table = pd.DataFrame(lines)
    for half, part in table.groupby("half"):
        sys.stdout.write(f"{half}: {summary(part)}\n")


if __name__ == "__main__":
    main(sys.argv[1:] or HALVES)
