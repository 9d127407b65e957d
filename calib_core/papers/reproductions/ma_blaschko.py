"""Reproductions of Ma and Blaschko 2021 (Meta-Cal): lower bounds of the error, and both constrained rates."""

from __future__ import annotations

import numpy as np

from calib_core import datasets
from calib_core._base.arrays import Bools, Float64s, Floats
from calib_core._base.parallel import Progress
from calib_core.calibrators.base import CALIBRATORS
from calib_core.guarantees.bounds import likely_deviation, paper_rank, worst_ece_at_least
from calib_core.papers.reproductions.gallery import PaperLine, mean, reproduction, share, stated, steps
from calib_core.predictions.predictions import Predictions

MISCOVERAGE, ACCURACY = 0.05, 0.97
"""Target rates in Section 5, for ten classes."""
FIT, TEST = 5000, 10_000
"""Numbers of calibration rows and test rows."""
LEVEL = 0.9


def network(n: int, rng: np.random.Generator) -> Predictions:
    """Simulate rows like those of an overconfident network on ten classes with an accuracy of 0.9."""
    truth = rng.dirichlet(np.full(10, 0.04), n)
    flat = np.maximum(truth, 1e-12) ** 1.6
    return Predictions(flat / flat.sum(axis=1, keepdims=True), datasets.drawn_labels(truth, rng))


@reproduction("p4-equations-2-3", "A map that keeps the predicted class is miscalibrated in some binning",
              "Eq. (2), (3) and (6), Propositions 2 and 8", (1, 4),
              "data=demo:digits-naive-bayes&view=calibrators&calibrators=%5B%22metacal-miscoverage%22%5D")  # fmt: skip
def equations_2_3(quick: bool, progress: Progress) -> list[PaperLine]:
    """Error in the finest binning of test rows, one row per bin, against the lower bounds, for simulated rows."""
    excess: dict[str, list[float]] = {"2": [], "6": []}
    for seed in steps(4 if quick else 20, progress):
        rng = np.random.default_rng(seed)
        fit, test = network(FIT, rng), network(TEST, rng)
        for key in ("identity", "temperature", "ensemble-temperature"):
            outputs = CALIBRATORS.make(key).fit_on(fit).apply(test)
            excess["2"].append(_finest(outputs) - worst_ece_at_least(test.accuracy, 10))
        silent = CALIBRATORS.make("metacal-miscoverage", random_state=seed).fit_on(fit).apply(test)
        withheld, right = _silent(silent), test.correct
        bound = worst_ece_at_least(test.accuracy, 10, float(withheld[right].mean()), float((~withheld[~right]).mean()))
        # The uniform vector is its prediction on abstained rows.
        excess["6"].append(_finest(Predictions(silent.probs, test.true_labels)) - bound)
    # Proposition 3: certain on correct rows, and elsewhere as uncertain as the predicted class allows.
    sure = np.where(test.correct, 1.0, 0.1)
    best = float(np.abs(sure - test.correct).mean())
    known = datasets.valk_kull(50_000, np.random.default_rng(0))
    outputs = known.predictions
    off = known.true_probs[np.arange(outputs.n_rows), outputs.predicted] - outputs.confidence
    binned = [_binned(outputs.confidence, off, bins) for bins in range(1, 101)]
    return [
        stated(f"Smallest excess of the error over (1 - accuracy) / K, {len(excess['2'])} fits of three maps",
               "Eq. (2)", min(excess["2"]), "at least", 0.0),
        stated("Ratio of the error of the best map, which knows the labels, to that bound", "Eq. (2) and Proposition 3",
               best / worst_ece_at_least(test.accuracy, 10), "equal", 1.0),
        stated("Error without bins minus the largest in 1 to 100 bins", "Eq. (3)",
               float(np.abs(off).mean()) - max(binned), "at least", 0.0),
        stated(f"Smallest excess of Meta-Cal's error over its bound, {len(excess['6'])} fits", "Eq. (6)",
               min(excess["6"]), "at least", 0.0),
    ]  # fmt: skip


def _finest(outputs: Predictions) -> float:
    return float(np.abs(outputs.confidence - outputs.correct).mean())


def _silent(outputs: Predictions) -> Bools:
    return np.zeros(outputs.n_rows, dtype=bool) if outputs.abstained is None else outputs.abstained


def _binned(scores: Floats, off: Float64s, bins: int) -> float:
    cells = np.minimum((scores * bins).astype(int), bins - 1)
    return float(np.abs(np.bincount(cells, off)).sum() / len(scores))


@reproduction("p4-figure-1", "Correct rows withheld, target at most 5 %", "Figure 1, eq. (4) and (5)", (2, 15),
              "data=demo:digits-naive-bayes&view=calibrators&calibrators=%5B%22metacal-miscoverage%22%5D")  # fmt: skip
def figure_1(quick: bool, progress: Progress) -> list[PaperLine]:
    """Meta-Cal with a miscoverage of 5 %, on simulated rows of ten classes, with 5,000 calibration rows.

    The true rate is from 50,000 other rows; the figure has 40 runs on 10,000 test rows.
    """
    rng = np.random.default_rng(0)
    many = network(50_000, rng)
    found = []
    for seed in steps(40 if quick else 400, progress):
        fit = network(FIT, np.random.default_rng([1, seed]))
        model = CALIBRATORS.make("metacal-miscoverage", miscoverage=MISCOVERAGE, random_state=seed).fit_on(fit)
        silent = _silent(model.apply(many))[many.correct]
        held_out = model.n_held_out_
        expected = (held_out + 1 - paper_rank(held_out, MISCOVERAGE)) / (held_out + 1)
        rows = int(TEST * many.accuracy)
        rate = float(silent.mean())
        test = float(rng.choice(silent, rows).mean())
        beyond = abs(test - rate) >= likely_deviation(LEVEL, rate, rows)
        found.append((rate, expected, rate > MISCOVERAGE, model.exceed_probability_, test, beyond))
    rate, expected, above, probability, test, beyond = np.array(found).T
    return [
        stated("Mean true miscoverage", "Below eq. (5): floor((1 + n) 0.05) / (1 + n)", mean(rate), "equal",
               float(expected.mean())),
        stated("Runs with a true miscoverage above 5 %", "Eq. (5)", share(above), "equal", float(probability.mean())),
        stated("Test sets whose rate is further from the true one than the 90 % bound", "Eq. (4)", share(beyond),
               "at most", 1 - LEVEL),
        stated("Distance of the mean rate on test rows from 5 %, relative to 2 standard deviations", "Figure 1",
               abs(float(test.mean()) - MISCOVERAGE) / (2 * float(test.std(ddof=1))), "at most", 1.0),
    ]  # fmt: skip


@reproduction("p4-figure-2", "Accuracy of answered rows, target 97 %", "Figure 2 and eq. (7)", (2, 15),
              "data=demo:digits-naive-bayes&view=calibrators&calibrators=%5B%22metacal-accuracy%22%5D")  # fmt: skip
def figure_2(quick: bool, progress: Progress) -> list[PaperLine]:
    """Meta-Cal with a coverage accuracy of 97 %, on the same rows as Figure 1."""
    many = network(50_000, np.random.default_rng(0))
    found = []
    for seed in steps(40 if quick else 400, progress):
        rng = np.random.default_rng([1, seed])
        fit, test = network(FIT, rng), network(TEST, rng)
        model = CALIBRATORS.make("metacal-accuracy", accuracy=ACCURACY, random_state=seed).fit_on(fit)
        reached, answered = model.apply(test), model.apply(many)
        rows = int((~_silent(reached)).sum())
        found.append((answered.accuracy, reached.accuracy,
                      abs(reached.accuracy - ACCURACY) >= likely_deviation(LEVEL, ACCURACY, rows)))  # fmt: skip
    true, test, beyond = np.array(found).T
    spread = 2 * float(test.std(ddof=1))
    return [
        stated("Distance of the mean accuracy from 97 %, relative to 2 standard deviations", "Figure 2",
               abs(float(test.mean()) - ACCURACY) / spread, "at most", 1.0),
        stated("Mean true accuracy of answered rows", "Section 5.2: well-controlled", mean(true), "equal", ACCURACY,
               "the decreasing curve is fitted to at most 500 rows, so the target is reached only approximately"),
        stated("Test sets further from 97 % than the 90 % bound", "Eq. (7)", share(beyond), "at most", 1 - LEVEL,
               "the bound assumes that the true accuracy equals the target, but the threshold is from at most 500 "
               "rows and varies"),
    ]  # fmt: skip
