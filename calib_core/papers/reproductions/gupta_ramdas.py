"""Reproductions of Gupta and Ramdas 2022: example, inequalities, bounds and imbalanced classes."""

from __future__ import annotations

from typing import Any

import numpy as np

from calib_core import datasets
from calib_core._base.arrays import Float64s, Floats
from calib_core._base.parallel import Progress
from calib_core.binning.interval_schemes import EqualWidth
from calib_core.calibrators.base import CALIBRATORS
from calib_core.estimators.base import estimate
from calib_core.guarantees.bounds import class_wise_bounds, conditional_eps, expected_ece, marginal_eps
from calib_core.papers.reproductions.gallery import PaperLine, mean, printed, ratio, reproduction, share, stated, steps
from calib_core.predictions.predictions import Predictions
from calib_core.reductions.base import REDUCTIONS

POINTS, ALPHA = 50, 0.1
"""Rows per bin, as suggested after Theorem 1, and failure probability of the bounds."""


@reproduction(
    "p1-example-1",
    "Confidence error 0, and an error of 40 points in every prediction",
    "Section 2, Example 1",
    (0.1, 0.1),
    "data=demo:example-1&view=reliability",
)
def example_1(quick: bool, progress: Progress) -> list[PaperLine]:
    """The two kinds of patients of the example, in exact proportions without randomness."""
    rows = datasets.example_1(1000).predictions
    place = "Section 2, below eq. (4)"
    return [
        printed("Error of confidences", place, "0", _error(rows, "confidence"), exact=True),
        printed("Error of the predicted class", place, "0.4", _error(rows, "top-label"), exact=True),
    ]


def _error(rows: Predictions, notion: str, estimator: str = "ece", bins: int = 10) -> float:
    return estimate(rows, notion, estimator, bins=bins).value


@reproduction(
    "p1-figure-3",
    "Six predictions in four notions",
    "Figure 3 and Appendix A.2",
    (0.1, 0.1),
)
def figure_3(quick: bool, progress: Progress) -> list[PaperLine]:
    """Claims of each notion for six predictions over four classes.

    The figure's numbers are only in an image, so six other predictions are counted.
    """
    rows = datasets.six_points()
    claims: dict[str, Any] = {k: REDUCTIONS.make(k).split(rows) for k in ("confidence", "top-label", "class-wise")}

    def number_of(key: str) -> int:
        return sum(len(claims[key].stratum(s).scores) for s in range(len(claims[key].strata)))

    place = "Appendix A.2"
    return [
        printed(
            "Classes that divide the claims of the top label",
            f"{place}: across the 4 classes",
            "4",
            len(claims["top-label"].strata),
            exact=True,
        ),
        stated("Number of claims of the top label, as of confidence", place, number_of("top-label"), "equal",
               number_of("confidence")),
        stated("Claims about every class, one per row and class", place, number_of("class-wise"), "equal",
               rows.n_rows * (rows.n_classes or 0)),
    ]  # fmt: skip


@reproduction(
    "p1-proposition-4",
    "Confidence error never exceeds top-label error",
    "Proposition 4 and Appendix E.3",
    (0.5, 4),
    "data=demo:imbalanced-forest&view=reliability",
)
def proposition_4(quick: bool, progress: Progress) -> list[PaperLine]:
    """Random models with 2 to 12 classes and 15 equal-width bins: the smallest difference."""
    gaps = {"ece": [], "mce": []}  # type: dict[str, list[float]]
    for seed in steps(50 if quick else 500, progress):
        rng = np.random.default_rng(seed)
        classes, n = int(rng.integers(2, 13)), int(rng.integers(10, 500))
        rows = Predictions(rng.dirichlet(np.full(classes, rng.uniform(0.1, 2)), n), rng.integers(classes, size=n))
        for key, found in gaps.items():
            found.append(_error(rows, "top-label", key, 15) - _error(rows, "confidence", key, 15))
    return [
        stated(f"Smallest TL-{key.upper()} minus conf-{key.upper()} of {len(found)} models", place, min(found),
               "at least", 0.0)
        for (key, found), place in zip(gaps.items(), ("Proposition 4", "Appendix E.3, below eq. (17)"), strict=True)
    ]  # fmt: skip


@reproduction(
    "p1-tl-mce",
    "Two definitions of the maximum error under one name",
    "Eq. (17) and Tables 2 and 4",
    (0.5, 3),
    "data=demo:imbalanced-forest&view=estimators",
    2,
)
def tl_mce(quick: bool, progress: Progress) -> list[PaperLine]:
    """Maximum error of a class in a bin (eq. 17), and the tables' maximum over bins of the mean over classes.

    The predictions are calibrated over ten classes, with 10,000 rows and 15 bins, as in Table 2: all errors are
    noise. There is no comparison for bin 6 of Figure 1, as the paper contradicts itself. Section 2.1 (c) has an
    accuracy of about 0.2 for predicted class 1 and the bin's confidence of 0.545, with a difference of about 0.35.
    Appendix E.3, below eq. (16), has an error of roughly 0.15 for this class.
    """
    cells, bins, confidence = np.array([_largest(seed) for seed in steps(40 if quick else 300, progress)]).T
    why = "the tables average over the classes of a bin before the maximum: a class with few rows has a small weight"
    return [
        stated("Eq. (17), smallest excess over the largest bin", "Eq. (17)", float((cells - bins).min()), "at least",
               0.0),
        stated("Largest bin, smallest excess over conf-MCE", "Appendix E.3", float((bins - confidence).min()),
               "at least", 0.0),
        stated("Largest bin by the tables' definition, relative to eq. (17)", "Eq. (17) and Table 2",
               ratio(bins, cells, paired=True), "equal", 1.0, why),
    ]  # fmt: skip


def _largest(seed: int) -> tuple[float, float, float]:
    rng = np.random.default_rng(seed)
    probs = rng.dirichlet(np.full(10, 0.05), 10_000)
    rows = Predictions(probs, datasets.drawn_labels(probs, rng))
    return (
        _error(rows, "top-label", "mce", 15),
        _error(rows, "top-label", "mce-of-bins", 15),
        _error(rows, "confidence", "mce", 15),
    )


# ---- what histogram binning promises ---------------------------------------------------------------------------


@reproduction(
    "p1-theorem-1",
    "Guarantee of top-label histogram binning",
    "Theorem 1, eq. (10)",
    (2, 21),
    "data=demo:synthetic-three-class&view=calibrators&calibrators=%5B%22top-label-hb%22%5D",
)
def theorem_1(quick: bool, progress: Progress) -> list[PaperLine]:
    """Repeated fits on 2,000 rows of three classes with known probabilities, 50 rows per bin.

    The true frequency of every bin is the mean true probability of 40,000 other rows.
    """
    test = datasets.valk_kull(40_000, np.random.default_rng(0))
    runs = []
    for seed in steps(40 if quick else 400, progress):
        fit = datasets.valk_kull(2000, np.random.default_rng([1, seed])).predictions
        outputs = CALIBRATORS.make("top-label-hb", points_per_bin=POINTS).fit_on(fit).apply(test.predictions)
        truth = test.true_probs[np.arange(outputs.n_rows), outputs.predicted]
        runs.append(_off(outputs.predicted, outputs.confidence, truth))
    first, second = marginal_eps(POINTS, ALPHA), conditional_eps(POINTS, 2000, ALPHA)
    off = [np.abs(gap) for gap, _ in runs]
    shares = [weight for _, weight in runs]
    errors = mean([float(gap @ weight) for gap, weight in zip(off, shares, strict=True)])
    beyond = mean([float(weight[gap > first].sum()) for gap, weight in zip(off, shares, strict=True)])
    return [
        printed("Mean TL-ECE with 50 rows per bin", "Appendix B.1, below Theorem 1", "0.1", errors, relation="at most"),
        stated("Mean TL-ECE against its bound", "Theorem 1", errors, "at most", expected_ece(POINTS)),
        stated(f"Claims with an error above {first:.3f}", "Eq. (10), first", beyond, "at most", ALPHA),
        stated(f"Runs in which a bin has an error above {second:.3f}", "Eq. (10), second",
               share([bool((gap > second).any()) for gap in off]), "at most", ALPHA),
    ]  # fmt: skip


def _off(strata: np.ndarray, scores: Floats, truth: Float64s) -> tuple[Float64s, Float64s]:
    """True frequency minus score for every distinct score of every stratum, and its share of rows."""
    _, cell, rows = np.unique(np.stack([strata, scores]), axis=1, return_inverse=True, return_counts=True)
    gaps = np.bincount(cell.ravel(), truth - scores) / rows
    return gaps, rows / len(scores)


@reproduction(
    "p1-theorem-2",
    "Guarantee of class-wise histogram binning",
    "Theorem 2, eq. (15)",
    (2.5, 24),
    "data=demo:synthetic-three-class&view=calibrators&calibrators=%5B%22class-wise-hb%22%5D",
)
def theorem_2(quick: bool, progress: Progress) -> list[PaperLine]:
    """As for Theorem 1, with a map per class: 2,000 rows, 50 per bin, equal failure probabilities of the classes."""
    test = datasets.valk_kull(20_000, np.random.default_rng(0))
    bounds = class_wise_bounds([POINTS] * 3, 2000, [ALPHA / 3] * 3)
    errors, largest = [], []
    for seed in steps(40 if quick else 400, progress):
        fit = datasets.valk_kull(2000, np.random.default_rng([1, seed])).predictions
        outputs = CALIBRATORS.make("class-wise-hb", points_per_bin=POINTS).fit_on(fit).apply(test.predictions)
        cells = [
            _off(np.zeros(outputs.n_rows), outputs.probs[:, k].astype(float), test.true_probs[:, k]) for k in range(3)
        ]
        errors.append(np.mean([np.abs(gap) @ weight for gap, weight in cells]))
        largest.append(max(float(np.abs(gap).max()) for gap, _ in cells))
    return [
        stated("Mean CW-ECE with 50 rows per bin", "Theorem 2 (b)", mean(errors), "at most", bounds.expected),
        stated("Runs with a CW-ECE above its bound", "Theorem 2 (a)", share(np.array(errors) > bounds.ece),
               "at most", ALPHA),
        stated(f"Runs in which a bin of a class has an error above {bounds.ece:.3f}", "Eq. (15), second",
               share(np.array(largest) > bounds.ece), "at most", ALPHA),
    ]  # fmt: skip


# ---- unequal classes -------------------------------------------------------------------------------------------

SHARES = (0.365, 0.4875, 0.0615, 0.0047, 0.0163, 0.0299, 0.0353)
"""Class shares of COVTYPE-7."""
RARE = (3, 4, 5)
"""Its rarest classes, which the paper numbers 4, 5 and 6."""


@reproduction(
    "p1-figure-4",
    "Equal rows per bin suit rare classes, equal bins per class do not",
    "Figure 4 and Appendix B.2",
    (1, 5),
    "data=demo:imbalanced-forest&view=classes",
)
def figure_4(quick: bool, progress: Progress) -> list[PaperLine]:
    """Seven classes with the shares of COVTYPE-7, an underconfident model, and two kinds of histogram binning.

    No forest is trained: the classes are Gaussian with these shares, with exact posteriors flattened by a
    temperature of 1.6. There are 40,671 calibration rows, as in the paper; probabilities, and so errors, are known.
    """
    runs = [_imbalanced(seed) for seed in steps(3 if quick else 20, progress)]
    base, by_points, by_bins, lowest = (np.array([run[i] for run in runs]) for i in range(4))
    weights = np.array(SHARES)
    place = "Figure 4"

    def spread(errors: Float64s) -> Float64s:
        return np.asarray(errors.max(axis=1) - errors.min(axis=1))

    return [
        stated("Accuracy minus confidence, of the class where it is least", "Appendix B.2: underconfident no matter "
               "which class is predicted", mean(lowest), "at least", 0.0),
        stated("TL-ECE with 100 rows per bin, relative to the model's own", f"{place}(a)",
               ratio(by_points @ weights, base @ weights, paired=True), "at most", 1.0),
        stated("TL-ECE with 50 bins per class, relative to the model's own", f"{place}(b)",
               ratio(by_bins @ weights, base @ weights, paired=True), "at most", 1.0),
        stated("Largest minus smallest TL-ECE of a class: 100 rows per bin, relative to 50 bins per class",
               f"{place}(a) and (b)", ratio(spread(by_points), spread(by_bins), paired=True), "at most", 1.0),
        stated("TL-ECE of classes 4, 5 and 6: 100 rows per bin, relative to 50 bins per class", f"{place}(a) and (b)",
               ratio(by_points[:, RARE].mean(axis=1), by_bins[:, RARE].mean(axis=1), paired=True), "at most", 1.0),
        stated("TL-ECE of classes 1 and 2: 50 bins per class, relative to 100 rows per bin", f"{place}(b)",
               ratio(by_bins[:, :2].mean(axis=1), by_points[:, :2].mean(axis=1), paired=True), "at most", 1.0),
    ]  # fmt: skip


def _imbalanced(seed: int) -> tuple[Float64s, Float64s, Float64s, float]:
    """TL-ECE by class of the model and both kinds of binning, and the least accuracy minus confidence of a class."""
    rng = np.random.default_rng(seed)
    fit, _ = _unequal(40_671, rng)
    test, truth = _unequal(60_000, rng)
    outputs = test.confidence.astype(float)
    true = truth[np.arange(test.n_rows), test.predicted]
    binned = EqualWidth(15).edges(outputs, None)
    cells = test.predicted * 16 + np.searchsorted(binned, outputs, side="right")
    gaps = np.bincount(cells, true - outputs, 7 * 16).reshape(7, 16)
    rows = np.bincount(test.predicted, minlength=7)
    errors = [
        _by_class(CALIBRATORS.make("top-label-hb", **how).fit_on(fit).apply(test), true)
        for how in ({"points_per_bin": 100}, {"bins": 50})
    ]
    return np.abs(gaps).sum(axis=1) / rows, errors[0], errors[1], float((gaps.sum(axis=1) / rows).min())


def _by_class(outputs: Predictions, truth: Float64s) -> Float64s:
    """True TL-ECE of every predicted class, with one bin per value."""
    classes = [outputs.predicted == k for k in range(7)]
    cells = [_off(np.zeros(int(c.sum())), outputs.confidence[c], truth[c]) for c in classes]
    return np.array([np.abs(gap) @ weight for gap, weight in cells])


def _unequal(n: int, rng: np.random.Generator) -> tuple[Predictions, Float64s]:
    """Underconfident predictions over seven imbalanced classes, and the true probabilities."""
    y = rng.choice(7, n, p=np.array(SHARES) / sum(SHARES))
    x = rng.standard_normal((n, 7)) + 3.0 * np.eye(7)[y]
    log = 3.0 * x + np.log(SHARES)
    truth, flat = (np.exp(z - z.max(axis=1, keepdims=True)) for z in (log, log / 1.6))
    truth, flat = truth / truth.sum(axis=1, keepdims=True), flat / flat.sum(axis=1, keepdims=True)
    return Predictions(flat, datasets.drawn_labels(truth, rng)), truth


# ---- whole probability vectors ---------------------------------------------------------------------------------


@reproduction(
    "p1-figure-12",
    "Every partition of the simplex improves canonical calibration",
    "Figure 12 and Appendix G",
    (2, 15),
    "data=demo:imbalanced-forest&view=simplex&three=0,1,2,pool&partitions=%5B%7B%22key%22:%22sierpinski%22%7D%5D",
)
def figure_12(quick: bool, progress: Progress) -> list[PaperLine]:
    """Histogram binning of three-class predictions with known probabilities, in the paper's three families of cells.

    Simulated rows replace three classes of COVTYPE-7. The error is the mean L1 distance between an output and the true
    mean of the rows with that output. For the model itself it is in the cells of the calibrator.
    """
    test = datasets.valk_kull(20_000, np.random.default_rng(0))
    keys = ("sierpinski", "grid", "projection")
    runs = 24 if quick else 80
    found = np.array([[_canonical(key, seed, test) for key in keys] for seed in steps(runs, progress)])
    return [
        stated(f"Error with {CALIBRATORS[key].title}, relative to the model's in the same cells", "Figure 12",
               ratio(found[:, i, 0], found[:, i, 1], paired=True), "at most", 1.0)
        for i, key in enumerate(keys)
    ]  # fmt: skip


def _canonical(key: str, seed: int, test: datasets.Synthetic) -> tuple[float, float]:
    """Canonical error after and before recalibration, in the same cells."""
    fit = datasets.valk_kull(5000, np.random.default_rng([1, seed])).predictions
    outputs = CALIBRATORS.make(key).fit_on(fit).apply(test.predictions).probs.astype(float)
    _, cell = np.unique(outputs, axis=0, return_inverse=True)

    def error(probs: Float64s) -> float:
        gaps = [np.bincount(cell.ravel(), column) for column in (test.true_probs - probs).T]
        return float(np.abs(gaps).sum() / len(probs))

    return error(outputs), error(test.predictions.probs.astype(float))
