"""Reproductions of Posocco and Bonnefoy 2021: convex mapping and comparison of estimators."""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd

from calib_core._base.arrays import Float64s
from calib_core._base.parallel import Progress
from calib_core.binning.allocation import Convex, Split, centres
from calib_core.estimators.base import ESTIMATORS
from calib_core.lab.repeats import repeated
from calib_core.lab.truths import MODELS, Mixture
from calib_core.papers.reproductions.gallery import (
    WIDTH,
    ComputedNumber,
    PaperLine,
    lab_link,
    mean,
    printed,
    reproduction,
    stated,
)
from calib_core.text import percent


@reproduction("p5-convex-mapping", "The nearer of two bins gets the larger share", "Definition 5 and Section 4.3",
              (0.1, 0.1), "data=demo:digits-mlp&view=estimators")  # fmt: skip
def convex_mapping(quick: bool, progress: Progress) -> list[PaperLine]:
    """A score between the centers of two bins is divided between them: linear binning, as for kernel densities.

    Shares times centers then equal the score. The authors' published code swaps the shares of both bins.
    """
    scores = np.linspace(0, 1, 10_001)
    edges = np.arange(1, 15) / 15
    shares = Convex()(scores, edges)
    between = (scores >= centres(edges)[0]) & (scores <= centres(edges)[-1])
    swapped = Split(shares.first, np.where(between, 1 - shares.beyond, shares.beyond))
    place = "Section 4.3: linear binning in the kernel density estimation field"

    def largest(given: Split) -> float:
        return float(np.abs(_returned(given, edges) - scores)[between].max())

    return [
        stated("Largest distance of shares times centers from the score, as defined", place, largest(shares), "equal",
               0.0),
        stated("The same, with the shares of the published code", place, largest(swapped), "equal", 0.0,
               "the code gives the farther bin the larger share: a score at a bin's center counts only in the "
               "adjacent bin"),
        stated("Mean sum of a score's shares", "Definition 5: rows sum up to 1",
               float(shares.sums(np.ones_like(scores), 15).sum() / len(scores)), "equal", 1.0),
    ]  # fmt: skip


def _returned(given: Split, edges: Float64s) -> Float64s:
    """Score represented by the shares of bins: the weighted mean of the bins' centers."""
    c = np.append(centres(edges), 0.0)
    return np.asarray((1 - given.beyond) * c[given.first] + given.beyond * c[given.first + 1])


FEW, SOME, MORE, MANY = 30, 60, 170, 500
"""Rows of test sets: the figure's ends, the size at which estimators differ by the text, and one in between."""
SIZES = (2, 5, 10)
"""Classes and features of the mixtures; the paper's numbers are missing from its text."""
MIXTURES, TRAINED = 5, 3
"""Mixtures per shape and training sets per mixture in a full run, as in the paper."""
_CONTEST = {
    "ECE": ESTIMATORS.recipe(ESTIMATORS.make("ece")),
    "convex": ESTIMATORS.described("ece-convex", bins=15),
    "adaptive": ESTIMATORS.described("ece-adaptive", bins=15),
    "adaptive convex": ESTIMATORS.described("ece-adaptive-convex", bins=15),
    "convex, square root of the rows": ESTIMATORS.described("ece-convex"),
    "kernel": ESTIMATORS.described("ece-kde"),
}


@reproduction("p5-figure-2", "Estimators on few rows", "Figure 2 and Section 5.2", (12, 1600),
              lab_link("models"), version=4)  # fmt: skip
def figure_2(quick: bool, progress: Progress) -> list[PaperLine]:
    """Compare estimators for confidences and by class: models on Gaussian mixtures, known errors, 30 to 500 rows.

    As in the paper there are 200 test sets of each of four sizes, drawn from one set of rows per model. There are four
    families on nine shapes of mixtures, five mixtures each, and three training sets: 540 models (quick: 18 models, 40
    test sets). The result per model is the 95th percentile of the relative error. The paper compares medians over
    models. Here it is the mean ratio of one estimator's error to another's (of logarithms, by mixture), which has a
    standard error.
    """
    shapes = list(product(SIZES, SIZES, MODELS))
    if quick:  # two families per shape, in turn, each on its own mixture
        numbers = [(i, 0, *shape) for i, shape in enumerate(s for j, s in enumerate(shapes) if j % 2 == j // 4 % 2)]
    else:
        numbers = [(i, j, *shape) for shape in shapes for i in range(MIXTURES) for j in range(TRAINED)]
    models = {
        f"{classes} {features} {mixture} {training} {model}": Mixture(model, classes, features, mixture, training)
        for mixture, training, classes, features, model in numbers
    }
    sizes, draws = ([FEW, SOME, MANY], 40) if quick else ([FEW, SOME, MORE, MANY], 200)
    run = repeated(models, sizes, draws, _CONTEST, ["confidence", "class-wise"], own_rows=True, progress=progress)
    frame = run.frame()
    by = frame.groupby(["reduction", "estimator", "n"])
    worst = {key: lines.set_index("truth")["worst"] for key, lines in by}

    def logs(notion: str, first: str, second: str, n: int) -> pd.Series:
        """Means over the models of each mixture, which are similar."""
        found = (worst[notion, first, n] / worst[notion, second, n]).map(np.log)
        return found.groupby([str(name).rsplit(" ", 2)[0] for name in found.index]).mean()

    def against(first: str, second: str, n: int) -> PaperLine:
        found = _exponential(logs("confidence", first, second, n))
        what = f"Ratio of errors of the {first} and the {second} estimate, {n} rows"
        return stated(what, "Section 5.2, confidence setting", found, "at most", 1.0, _where_not_less(found, second))

    apart = _exponential(logs("class-wise", "kernel", "ECE", SOME) - logs("confidence", "kernel", "ECE", SOME))
    medians = {name: _median(worst["confidence", name, FEW].to_numpy()) for name in _CONTEST}
    nearest = min(medians, key=lambda name: medians[name].value)
    return [
        against("convex", "ECE", SOME),
        against("adaptive convex", "adaptive", SOME),
        against("ECE", "adaptive", SOME),
        against("kernel", "ECE", FEW),
        against("kernel", "adaptive", FEW),
        against("kernel", "convex, square root of the rows", FEW),
        stated(f"Ratio of errors of the kernel and the ECE estimate, {SOME} rows: class-wise relative to confidences",
               "Section 5.2, class-wise setting: Silverman's rule seems less relevant than for confidences", apart,
               "at least", 1.0, "" if apart.value > 1 + WIDTH * apart.error else "here it is no worse by class"),
        printed("Relative error on few rows (the kernel estimate, 30 rows and the median over models are our choice)",
                "Section 5.2: error of all estimators in small data regimes, around 10 % of the true value", "0.1",
                medians["kernel"],
                why=f"the least of the medians here, of the {nearest} estimate, is {medians[nearest].value:.1f}: on "
                "30 rows an accuracy is only known to several points, about the size of these models' errors"),
    ]  # fmt: skip


def _exponential(logs: pd.Series) -> ComputedNumber:
    """Geometric mean from logarithms, with its standard error."""
    found = mean(logs)
    return ComputedNumber(float(np.exp(found.value)), float(np.exp(found.value)) * found.error, found.runs)


def _where_not_less(found: ComputedNumber, second: str) -> str:
    """Reason why an error is not below another one, from their ratio."""
    doubt = WIDTH * found.error
    if found.value < 1 - doubt:
        return ""
    if found.value <= 1 + doubt:
        return f"here it does not differ significantly from the {second} one"
    return f"on our mixtures the {second} one is closer: this one's error is {percent(found.value - 1, 0)} larger"


def _median(worst: Float64s) -> ComputedNumber:
    """Median over models, with its bootstrap standard error over models."""
    rng = np.random.default_rng(0)
    again = np.median(rng.choice(worst, (1000, len(worst))), axis=1)
    return ComputedNumber(float(np.median(worst)), float(again.std(ddof=1)), len(worst))
