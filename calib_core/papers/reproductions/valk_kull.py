"""Reproductions of Valk and Kull 2023: the synthetic task with a known calibration map."""

from __future__ import annotations

import numpy as np

from calib_core import datasets
from calib_core._base.arrays import Float64s, Floats
from calib_core._base.parallel import Progress
from calib_core.binning.interval_schemes import EqualWidth
from calib_core.calibrators.base import CALIBRATORS, Calibrator
from calib_core.calibrators.histogram import EqualWidthHistogram, LeceHistogram
from calib_core.papers.reproductions.gallery import PaperLine, mean, printed, ratio, reproduction, stated, steps

METRICS = ("confidence CE", "classwise CE", "Brier score", "log-loss", "accuracy")
"""Rows of Table 1: errors against the known truth, and scores against the labels."""
NEIGHBOURS, TRUE = "LECE", "true"
TABLE_1 = {
    "H-LECD": ("0.056 0.049 0.448 0.772 0.668", "0.001 0.001 0.001 0.002 0.002"),
    "H-LECE": ("0.019 0.016 0.438 0.749 0.671", "0.002 0.001 0.001 0.010 0.002"),
    "TS": ("0.030 0.027 0.440 0.751 0.669", "0.002 0.001 0.001 0.002 0.001"),
    "DIR": ("0.022 0.018 0.438 0.747 0.671", "0.004 0.002 0.001 0.002 0.001"),
    NEIGHBOURS: ("0.018 0.015 0.438 0.742 0.670", "0.003 0.002 0.001 0.002 0.001"),
    TRUE: ("0.000 0.000 0.436 0.738 0.671", "0.000 0.000 0.001 0.002 0.001"),
}
"""Printed columns: means and standard deviations over 100 seeds, ``METRICS`` in order."""


def method(name: str) -> Calibrator:
    """Return the calibrator of a column, with the paper's parameters."""
    return {
        "H-LECD": lambda: CALIBRATORS.make("normalised", binary=EqualWidthHistogram(bins=5)),
        "H-LECE": lambda: CALIBRATORS.make("normalised", binary=LeceHistogram(EqualWidth(5))),
        "TS": lambda: CALIBRATORS.make("temperature"),
        "DIR": lambda: CALIBRATORS.make("dirichlet", off_diagonal=0.0, intercept=0.0),
        NEIGHBOURS: lambda: CALIBRATORS.make("lece", neighbours=500, threshold=0.0),
    }[name]()


def experiment(seed: int, neighbours: int, fit_rows: int = 5000, test_rows: int = 100_000) -> dict[str, Float64s]:
    """Return Table 1 from one seed, by column; LECE is evaluated on the first ``neighbours`` test rows (0: none)."""
    rng = np.random.default_rng(seed)
    fit, test = datasets.valk_kull(fit_rows, rng), datasets.valk_kull(test_rows, rng)
    found = {TRUE: metrics(test.true_probs, test.true_probs, test.predictions.true_labels)}
    for name in TABLE_1:
        rows = min(neighbours, test_rows) if name == NEIGHBOURS else test_rows
        if name == TRUE or not rows:
            continue
        judged = test.predictions.take(np.arange(rows)) if rows < test_rows else test.predictions
        outputs = method(name).fit_on(fit.predictions).apply(judged).probs
        found[name] = metrics(outputs, test.true_probs[:rows], judged.true_labels)
    return found


def metrics(outputs: Floats, truth: Float64s, labels: np.ndarray) -> Float64s:
    """Return ``METRICS`` by the conventions of the authors' code, for outputs q and truths c (n, K).

    Confidence CE is the mean of |max q - max c|, and class-wise CE that of |q - c| over rows and classes. The Brier
    score is a sum over classes, and log loss is clipped.
    """
    q = outputs.astype(float)
    rows = np.arange(len(labels))
    return np.array(
        [
            np.abs(q.max(1) - truth.max(1)).mean(),
            np.abs(q - truth).mean(),
            np.square(q - np.eye(q.shape[1])[labels]).sum(1).mean(),
            -np.log(np.clip(q[rows, labels], 1e-15, 1)).mean(),
            (q.argmax(1) == labels).mean(),
        ]
    )


_LINK = (
    "data=demo:synthetic-three-class&view=simplex&partitions=%5B%5D&calibrators=%5B%22temperature%22,"
    "%7B%22key%22:%22lece%22,%22params%22:%7B%22neighbours%22:500%7D%7D%5D"
)


@reproduction("p3-table-1", "Six calibrators against the truth", "Table 1", (8, 120), _LINK)
def table_1(quick: bool, progress: Progress) -> list[PaperLine]:
    """The whole experiment: 5,000 calibration rows, 100,000 test rows, refitted for every seed (100 in the paper).

    LECE is evaluated on the first 2,000 test rows (quick) or 10,000, as its cost grows with rows, so its tolerances are
    wider.
    """
    seeds, neighbours = (8, 2000) if quick else (100, 10_000)
    runs = [experiment(seed, neighbours) for seed in steps(seeds, progress)]
    return [
        printed(f"{name}: {metric}", f"Table 1, row {metric}, column {name}", number,
                mean([run[name][j] for run in runs]), spread=float(spread), runs=100)
        for name, (numbers, spreads) in TABLE_1.items()
        for j, (metric, number, spread) in enumerate(zip(METRICS, numbers.split(), spreads.split(), strict=True))
    ]  # fmt: skip


@reproduction("p3-figures-1-2", "Maps closest to the true one", "Figures 1 and 2", (4, 40), _LINK)
def figures_1_2(quick: bool, progress: Progress) -> list[PaperLine]:
    """Mean distances of the figures' maps from the true map, on rows distributed like the calibration rows.

    The figures show arrows without numbers; the text states which map is closer to the truth.
    """
    seeds = 20 if quick else 100
    runs = [experiment(seed, 2000, test_rows=2000) for seed in steps(seeds, progress)]
    far = {name: np.array([run[name][1] for run in runs]) for name in TABLE_1}

    def nearer(near: str, other: str, place: str) -> PaperLine:
        what = f"Distance of {near} from the true map, relative to that of {other}"
        return stated(what, place, ratio(far[near], far[other], paired=True), "at most", 1.0)

    return [
        nearer("H-LECE", "H-LECD", "Figure 1 (b) against (a)"),
        nearer("DIR", "TS", "Figure 2 (b) against (a)"),
        nearer(NEIGHBOURS, "DIR", "Figure 2 (c) against (b)"),
    ]
