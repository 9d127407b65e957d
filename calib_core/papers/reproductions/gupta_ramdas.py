"""Top-label calibration (Gupta and Ramdas 2022): its example, its inequalities, its bounds, its imbalanced classes."""

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
"""Rows a bin, as the paper suggests after Theorem 1, and the failures that its bounds allow here."""


@reproduction(
    "p1-example-1",
    "No error of confidences, and 40 points off for everybody",
    "Section 2, Example 1",
    (0.1, 0.1),
    "data=demo:example-1&view=reliability",
)
def example_1(quick: bool, progress: Progress) -> list[PaperLine]:
    """The two kinds of patient of the example, in exact proportions: nothing is random."""
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
    "Six predictions, looked at in four ways",
    "Figure 3 and Appendix A.2",
    (0.1, 0.1),
)
def figure_3(quick: bool, progress: Progress) -> list[PaperLine]:
    """Which claims each notion makes of six predictions over four classes.

    The figure's own numbers stand in a picture, so that six predictions of ours are counted.
    """
    rows = datasets.six_points()
    claims: dict[str, Any] = {k: REDUCTIONS.make(k).split(rows) for k in ("confidence", "top-label", "class-wise")}

    def number_of(key: str) -> int:
        return sum(len(claims[key].stratum(s).scores) for s in range(len(claims[key].strata)))

    place = "Appendix A.2"
    return [
        printed(
            "Classes that the claims of the top label are split across",
            f"{place}: across the 4 classes",
            "4",
            len(claims["top-label"].strata),
            exact=True,
        ),
        stated("Claims of the top label, as many as of confidence", place, number_of("top-label"), "equal",
               number_of("confidence")),
        stated("Claims about every class, a row and class each", place, number_of("class-wise"), "equal",
               rows.n_rows * (rows.n_classes or 0)),
    ]  # fmt: skip


@reproduction(
    "p1-proposition-4",
    "The error of confidences is never the larger one",
    "Proposition 4 and Appendix E.3",
    (0.5, 4),
    "data=demo:imbalanced-forest&view=reliability",
)
def proposition_4(quick: bool, progress: Progress) -> list[PaperLine]:
    """Random models with 2 to 12 classes, 15 equally wide bins: the smallest difference met."""
    gaps = {"ece": [], "mce": []}  # type: dict[str, list[float]]
    for seed in steps(50 if quick else 500, progress):
        rng = np.random.default_rng(seed)
        classes, n = int(rng.integers(2, 13)), int(rng.integers(10, 500))
        rows = Predictions(rng.dirichlet(np.full(classes, rng.uniform(0.1, 2)), n), rng.integers(classes, size=n))
        for key, found in gaps.items():
            found.append(_error(rows, "top-label", key, 15) - _error(rows, "confidence", key, 15))
    return [
        stated(f"Smallest TL-{key.upper()} less conf-{key.upper()} of {len(found)} models", place, min(found),
               "at least", 0.0)
        for (key, found), place in zip(gaps.items(), ("Proposition 4", "Appendix E.3, below eq. (17)"), strict=True)
    ]  # fmt: skip


@reproduction(
    "p1-tl-mce",
    "Two largest errors under one name",
    "Eq. (17) and Tables 2 and 4",
    (0.5, 3),
    "data=demo:imbalanced-forest&view=estimators",
    2,
)
def tl_mce(quick: bool, progress: Progress) -> list[PaperLine]:
    """The largest error of a class in a bin (eq. 17) beside what the tables hold: a bin's mean over classes, at most.

    On calibrated predictions over ten classes, 10,000 rows and 15 bins, sizes as in Table 2: whatever they show is
    noise. What the paper reads off bin 6 of its Figure 1 is compared with nothing, as it does not agree with itself:
    Section 2.1 (c) has an accuracy of about 0.2 where class 1 is predicted, beside the bin's confidence of 0.545, which
    are about 0.35 apart; Appendix E.3, below eq. (16), has an error of roughly 0.15 for this class.
    """
    cells, bins, confidence = np.array([_largest(seed) for seed in steps(40 if quick else 300, progress)]).T
    why = "the tables average the classes of a bin before the largest bin is taken: a class of few rows weighs little"
    return [
        stated("Eq. (17), smallest excess over the largest bin", "Eq. (17)", float((cells - bins).min()), "at least",
               0.0),
        stated("Largest bin, smallest excess over conf-MCE", "Appendix E.3", float((bins - confidence).min()),
               "at least", 0.0),
        stated("Largest bin as the tables hold it, as a share of eq. (17)", "Eq. (17) and Table 2",
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
    "What top-label histogram binning promises",
    "Theorem 1, eq. (10)",
    (2, 21),
    "data=demo:synthetic-three-class&view=calibrators&calibrators=%5B%22top-label-hb%22%5D",
)
def theorem_1(quick: bool, progress: Progress) -> list[PaperLine]:
    """Fitted again and again on 2,000 rows of three classes whose truth is known, 50 rows a bin.

    The truth of every bin is the mean true probability of 40,000 further rows.
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
        printed("Mean TL-ECE with 50 rows a bin", "Appendix B.1, below Theorem 1", "0.1", errors, relation="at most"),
        stated("Mean TL-ECE against its bound", "Theorem 1", errors, "at most", expected_ece(POINTS)),
        stated(f"Claims off by more than {first:.3f}", "Eq. (10), first", beyond, "at most", ALPHA),
        stated(f"Runs in which a bin is off by more than {second:.3f}", "Eq. (10), second",
               share([bool((gap > second).any()) for gap in off]), "at most", ALPHA),
    ]  # fmt: skip


def _off(strata: np.ndarray, scores: Floats, truth: Float64s) -> tuple[Float64s, Float64s]:
    """True probability less score of every distinct score of every stratum, and the share of rows with it."""
    _, cell, rows = np.unique(np.stack([strata, scores]), axis=1, return_inverse=True, return_counts=True)
    gaps = np.bincount(cell.ravel(), truth - scores) / rows
    return gaps, rows / len(scores)


@reproduction(
    "p1-theorem-2",
    "What class-wise histogram binning promises",
    "Theorem 2, eq. (15)",
    (2.5, 24),
    "data=demo:synthetic-three-class&view=calibrators&calibrators=%5B%22class-wise-hb%22%5D",
)
def theorem_2(quick: bool, progress: Progress) -> list[PaperLine]:
    """As for Theorem 1, with a map for every class: 2,000 rows, 50 a bin, failures shared equally by the classes."""
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
        stated("Mean CW-ECE with 50 rows a bin", "Theorem 2 (b)", mean(errors), "at most", bounds.expected),
        stated("Runs with a CW-ECE beyond its bound", "Theorem 2 (a)", share(np.array(errors) > bounds.ece),
               "at most", ALPHA),
        stated(f"Runs in which a bin of a class is off by more than {bounds.ece:.3f}", "Eq. (15), second",
               share(np.array(largest) > bounds.ece), "at most", ALPHA),
    ]  # fmt: skip


# ---- unequal classes -------------------------------------------------------------------------------------------

SHARES = (0.365, 0.4875, 0.0615, 0.0047, 0.0163, 0.0299, 0.0353)
"""Shares of the classes of COVTYPE-7."""
RARE = (3, 4, 5)
"""Its least likely classes, which the paper counts as 4, 5 and 6."""


@reproduction(
    "p1-figure-4",
    "As many rows a bin serve rare classes, as many bins a class do not",
    "Figure 4 and Appendix B.2",
    (1, 5),
    "data=demo:imbalanced-forest&view=classes",
)
def figure_4(quick: bool, progress: Progress) -> list[PaperLine]:
    """Seven classes as unequal as COVTYPE-7's, a model that is under-confident for each, histogram binning two ways.

    A stand-in, as no forest is trained here: Gaussian classes with these shares, exact posteriors made flatter by a
    temperature of 1.6. Calibration rows are as many as in the paper, 40,671; truth is known, so that errors are too.
    """
    runs = [_imbalanced(seed) for seed in steps(3 if quick else 20, progress)]
    base, by_points, by_bins, lowest = (np.array([run[i] for run in runs]) for i in range(4))
    weights = np.array(SHARES)
    place = "Figure 4"

    def spread(errors: Float64s) -> Float64s:
        return np.asarray(errors.max(axis=1) - errors.min(axis=1))

    return [
        stated("Accuracy less confidence, of the class where it is least", "Appendix B.2: underconfident no matter "
               "which class is predicted", mean(lowest), "at least", 0.0),
        stated("TL-ECE with 100 rows a bin, as a share of the model's own", f"{place}(a)",
               ratio(by_points @ weights, base @ weights, paired=True), "at most", 1.0),
        stated("TL-ECE with 50 bins a class, as a share of the model's own", f"{place}(b)",
               ratio(by_bins @ weights, base @ weights, paired=True), "at most", 1.0),
        stated("Largest less smallest TL-ECE of a class: 100 rows a bin, as a share of 50 bins a class",
               f"{place}(a) and (b)", ratio(spread(by_points), spread(by_bins), paired=True), "at most", 1.0),
        stated("TL-ECE of classes 4, 5 and 6: 100 rows a bin, as a share of 50 bins a class", f"{place}(a) and (b)",
               ratio(by_points[:, RARE].mean(axis=1), by_bins[:, RARE].mean(axis=1), paired=True), "at most", 1.0),
        stated("TL-ECE of classes 1 and 2: 50 bins a class, as a share of 100 rows a bin", f"{place}(b)",
               ratio(by_bins[:, :2].mean(axis=1), by_points[:, :2].mean(axis=1), paired=True), "at most", 1.0),
    ]  # fmt: skip


def _imbalanced(seed: int) -> tuple[Float64s, Float64s, Float64s, float]:
    """TL-ECE by class of the model and of both ways of binning, and the least accuracy less confidence of a class."""
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
    """True TL-ECE of every predicted class, one bin a value."""
    classes = [outputs.predicted == k for k in range(7)]
    cells = [_off(np.zeros(int(c.sum())), outputs.confidence[c], truth[c]) for c in classes]
    return np.array([np.abs(gap) @ weight for gap, weight in cells])


def _unequal(n: int, rng: np.random.Generator) -> tuple[Predictions, Float64s]:
    """Under-confident predictions over seven unequal classes, and the true probabilities."""
    y = rng.choice(7, n, p=np.array(SHARES) / sum(SHARES))
    x = rng.standard_normal((n, 7)) + 3.0 * np.eye(7)[y]
    log = 3.0 * x + np.log(SHARES)
    truth, flat = (np.exp(z - z.max(axis=1, keepdims=True)) for z in (log, log / 1.6))
    truth, flat = truth / truth.sum(axis=1, keepdims=True), flat / flat.sum(axis=1, keepdims=True)
    return Predictions(flat, datasets.drawn_labels(truth, rng)), truth


# ---- whole probability vectors ---------------------------------------------------------------------------------


@reproduction(
    "p1-figure-12",
    "Every kind of binning of the triangle improves whole predictions",
    "Figure 12 and Appendix G",
    (2, 15),
    "data=demo:imbalanced-forest&view=simplex&three=0,1,2,pool&partitions=%5B%7B%22key%22:%22sierpinski%22%7D%5D",
)
def figure_12(quick: bool, progress: Progress) -> list[PaperLine]:
    """Histogram binning of three-class predictions whose truth is known, in the paper's three families of cells.

    A stand-in for its three classes of COVTYPE-7. The error is the mean L1 distance between what is said and the true
    mean of the rows told the same; of the model itself, in the cells of the calibrator.
    """
    test = datasets.valk_kull(20_000, np.random.default_rng(0))
    keys = ("sierpinski", "grid", "projection")
    runs = 24 if quick else 80
    found = np.array([[_canonical(key, seed, test) for key in keys] for seed in steps(runs, progress)])
    return [
        stated(f"Error with {CALIBRATORS[key].title}, as a share of the model's in the same cells", "Figure 12",
               ratio(found[:, i, 0], found[:, i, 1], paired=True), "at most", 1.0)
        for i, key in enumerate(keys)
    ]  # fmt: skip


def _canonical(key: str, seed: int, test: datasets.Synthetic) -> tuple[float, float]:
    """The canonical error after recalibration and before, in the same cells."""
    fit = datasets.valk_kull(5000, np.random.default_rng([1, seed])).predictions
    outputs = CALIBRATORS.make(key).fit_on(fit).apply(test.predictions).probs.astype(float)
    _, cell = np.unique(outputs, axis=0, return_inverse=True)

    def error(probs: Float64s) -> float:
        gaps = [np.bincount(cell.ravel(), column) for column in (test.true_probs - probs).T]
        return float(np.abs(gaps).sum() / len(probs))

    return error(outputs), error(test.predictions.probs.astype(float))
