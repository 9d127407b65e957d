"""Reproductions of Kumar, Liang and Ma 2019: example, misprint and synthetic experiments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from calib_core import datasets
from calib_core._base.arrays import Float64s
from calib_core._base.parallel import Progress
from calib_core.binning.interval_schemes import EqualWidth
from calib_core.calibrators.base import BINARY_CALIBRATORS
from calib_core.estimators.base import ESTIMATORS, estimate
from calib_core.papers.reproductions.gallery import (
    ComputedNumber,
    PaperLine,
    lab_link,
    mean,
    printed,
    ratio,
    reproduction,
    stated,
    steps,
)
from calib_core.predictions.predictions import Predictions
from calib_core.text import percent

_GRID = (np.arange(100_000) + 0.5) / 100_000
"""Equally spaced scores over [0, 1]: the paper's P(Z) without noise."""


@reproduction("p2-example-3-2", "Calibrated in every bin, with an error of one half", "Example 3.2 and Appendix B",
(0.1, 0.1))  # fmt: skip
def example_3_2(quick: bool, progress: Progress) -> list[PaperLine]:
    """The construction of Appendix B for 15 equal-width bins: outcomes are 1 on the first part of a bin, then 0.

    The model predicts 0.49 to 0.51, uniformly; a row is positive with probability 0 or 1.
    """
    scores = 0.49 + 0.02 * _GRID
    sides = np.searchsorted(EqualWidth(15).fixed_edges(), scores, side="right")
    truth = np.zeros_like(scores)
    for side in np.unique(sides):
        rows = np.flatnonzero(sides == side)
        truth[rows[: round(len(rows) * float(scores[rows].mean()))]] = 1.0
    error = np.sqrt(np.mean((truth - scores) ** 2))
    return [
        stated("Error in 15 bins, up to one row in 100,000 per bin", "Example 3.2", _binned(scores, truth, sides),
               "at most", 1e-5),
        printed("Error without bins", "Example 3.2", "0.49", float(error), relation="at least"),
    ]  # fmt: skip


def _binned(scores: Float64s, truth: Float64s, cells: np.ndarray) -> float:
    """Root mean squared error of the cells' means."""
    rows = np.bincount(cells)
    gaps = np.bincount(cells, truth - scores)[rows > 0] / rows[rows > 0]
    return float(np.sqrt(np.average(gaps**2, weights=rows[rows > 0])))


@reproduction("p2-proposition-3-3", "Bins hide error, and finer bins hide less", "Proposition 3.3 and Figure 2",
              (0.3, 0.3), "data=demo:imbalanced-forest&view=estimators")  # fmt: skip
def proposition_3_3(quick: bool, progress: Progress) -> list[PaperLine]:
    """Error of the distribution of Appendix E, experiment (A), without noise in 1, 2, 4, ... 256 nested bins.

    The distribution replaces the figure's network.
    """
    truth = datasets.true_kumar(_GRID)
    whole = float(np.sqrt(np.mean((truth - _GRID) ** 2)))
    nested = [_binned(_GRID, truth, _equal_width(2**j)) for j in range(9)]
    return [
        stated("Largest binned error, relative to the error without bins", "Proposition 3.3", max(nested) / whole,
               "at most", 1.0),
        stated("Least gain from halving every bin", "Figure 2", float(np.diff(nested).min()), "at least", 0.0),
    ]  # fmt: skip


def _equal_width(bins: int) -> np.ndarray:
    return np.searchsorted(EqualWidth(bins).fixed_edges(), _GRID, side="right")


# ---- the debiased estimator ------------------------------------------------------------------------------------


@reproduction("p2-definition-5-2", "A misprinted exponent", "Definition 5.2 and Lemma F.8", (1, 12),
              "data=demo:synthetic-three-class&view=estimators")  # fmt: skip
def definition_5_2(quick: bool, progress: Progress) -> list[PaperLine]:
    """Estimator as derived and as printed, on a model with ten values, 400 rows per draw and a known squared error.

    The definition has y(1 - y)^2, but the derivation and the authors' code have y(1 - y).
    """
    values = np.linspace(0.05, 0.95, 10)
    truth = values + np.tile([0.05, -0.05], 5)
    squared = float(np.mean((values - truth) ** 2))
    plug_in, derived, misprint = [], [], []
    estimator = ESTIMATORS.make("debiased-l2", binning="distinct")
    for seed in steps(400 if quick else 6000, progress):
        rng = np.random.default_rng(seed)
        cell = rng.integers(10, size=400)
        rows = Predictions.from_confidence(values[cell], rng.random(400) < truth[cell])
        found = estimate(rows, "confidence", estimator)
        derived.append(found.value)
        table: Any = found.bins
        n, y = table.count.ravel(), table.mean_outcome.ravel()
        n, y, s = n[n > 0], y[n > 0], table.mean_score.ravel()[n > 0]
        plug_in.append(float(n / 400 @ (s - y) ** 2))
        misprint.append(float(n / 400 @ ((s - y) ** 2 - y * (1 - y) ** 2 / np.maximum(n - 1, 1) * (n > 1))))
    return [
        stated("Mean of the estimator with y(1 - y)", "Lemma F.8: its expectation is the truth", mean(derived), "equal",
               squared),
        stated("Mean of the estimator as printed", "Definition 5.2: y(1 - y)^2", mean(misprint), "equal", squared,
               "a misprint: y(1 - y)^2 / (n - 1) does not estimate the variance of y"),
        stated("Mean of the plug-in estimator minus the truth, relative to the outcomes' noise",
               "Section 5: each term has bias",
               mean((np.array(plug_in) - squared) / float(np.mean(truth * (1 - truth)) * 10 / 400)), "equal", 1.0,
               ),
    ]  # fmt: skip


@reproduction("p2-figure-4", "Errors of both estimators, by rows and bins", "Figures 4 and 12 to 16",
              (2, 15), lab_link("squares", "sigmoid"), 3, {"Figure 12 live": lab_link("eces", "sigmoid")})  # fmt: skip
def figure_4(quick: bool, progress: Progress) -> list[PaperLine]:
    """Mean squared error of plug-in and debiased estimates, for 10 and 100 bins and few rows.

    Scores of the distribution of Appendix E, experiment (A), recalibrated on 3,000 rows by scaling-binning, replace
    the networks; the truth is known. By their captions Figures 4 and 14 are about squared errors, the others
    about errors (the text compares Figure 13 with Figure 4, which is about squared errors).
    """
    found = []
    draws = 150 if quick else 1500
    for i, bins in enumerate((10, 100)):
        rng = np.random.default_rng(bins)
        fit = _outcomes(rng.random(3000), rng)
        model = BINARY_CALIBRATORS.make("scaling-binning", bins=bins).fit(*fit)
        outputs, truth = model.transform(_GRID), datasets.true_kumar(_GRID)
        for order, keys in ((2, ("binned", "debiased-l2")), (1, ("ece", "debiased-ece"))):
            target = _true_error(outputs, truth, order)
            for rows in (500, 2000):
                start = (i * 4 + (order == 1) * 2 + (rows == 2000)) / 8
                errors = np.array([_estimated(keys, rows, model.transform, rng)
                                   for _ in steps(draws, progress, start, start + 1 / 8)])  # fmt: skip
                errors[:, 0] **= order
                first, second = ((errors - target) ** 2).T
                name = "squared error" if order == 2 else "error"
                found.append(stated(
                    f"Debiased {name}, {bins} bins, {rows:,} rows: mean squared distance relative to the plug-in's",
                    "Figure 4" if order == 2 else "Figures 12 and 13", ratio(second, first, paired=True), "at most",
                    1.0))  # fmt: skip
                if rows == 500:
                    # The paper: for ten bins it avoids very bad estimates, for a hundred most are closer.
                    q = 0.95 if bins == 10 else 0.5
                    found.append(stated(
                        f"Debiased {name}, {bins} bins: {percent(q, 0)} quantile of distances, relative to "
                        "the plug-in's", "Figure 14" if order == 2 else "Figures 15 and 16",
                        _quantiles(second, first, q), "at most", 1.0))  # fmt: skip
    return found


def _quantiles(over: Float64s, under: Float64s, q: float) -> ComputedNumber:
    """Ratio of the roots of two quantiles of paired squares, with its bootstrap standard error."""
    rng = np.random.default_rng(0)
    rows = [np.arange(len(over)), *rng.integers(len(over), size=(200, len(over)))]
    ratios = np.sqrt([np.quantile(over[r], q) / np.quantile(under[r], q) for r in rows])
    return ComputedNumber(float(ratios[0]), float(ratios[1:].std(ddof=1)), len(over))


def _outcomes(z: Float64s, rng: np.random.Generator) -> tuple[Float64s, np.ndarray]:
    return z, rng.random(len(z)) < datasets.true_kumar(z)


def _estimated(
    keys: tuple[str, str], rows: int, outputs: Callable[[Float64s], Float64s], rng: np.random.Generator
) -> list[float]:
    """Both estimates of one draw, with one bin per value."""
    z, hits = _outcomes(rng.random(rows), rng)
    test = Predictions.from_confidence(outputs(z), hits)
    how = {"binned": {"order": 2}}
    return [
        estimate(test, "confidence", ESTIMATORS.make(key, binning="distinct", **how.get(key, {}))).value for key in keys
    ]


def _true_error(outputs: Float64s, truth: Float64s, order: int) -> float:
    """Mean |output - mean truth of the rows with that output|^order."""
    _, cell, rows = np.unique(outputs, return_inverse=True, return_counts=True)
    gaps = np.bincount(cell, truth - outputs) / rows
    return float(np.average(np.abs(gaps) ** order, weights=rows))


# ---- the synthetic experiments of Appendix E -------------------------------------------------------------------


@reproduction("p2-appendix-e-a", "Scaling-binning needs fewer rows than histogram binning",
              "Appendix E (A), Figures 8 and 9", (4, 45), lab_link("bins", "sigmoid"), 2,
              also={"Figure 8 live": lab_link("calibrators", "sigmoid")})  # fmt: skip
def appendix_e_a(quick: bool, progress: Progress) -> list[PaperLine]:
    """Mean squared calibration errors of both calibrators, fitted on n rows with B bins, 1,000 times in the paper.

    Scores are uniform, with truth sigmoid(2 log(z / (1 - z)) + 1). The error is for groups of rows with equal outputs,
    as in the paper's numbers. The printed formula compares each row's truth with its output. It therefore adds the
    spread of the truth inside a bin, which does not decrease with rows.
    """
    runs = 200 if quick else 3000
    cells = [(10, 1000), (10, 2000), (5, 2000), (20, 2000)]
    keys = {"histogram": "histogram binning", "scaling-binning": "scaling-binning"}
    truth = datasets.true_kumar(_SMALL)
    errors: dict[tuple[str, int, int], Float64s] = {}
    literal = []
    for i, (bins, n) in enumerate(cells):
        both = []
        for seed in steps(runs, progress, i / len(cells), (i + 1) / len(cells)):
            rng = np.random.default_rng([i, seed])
            z, hits = _outcomes(rng.random(n), rng)
            outputs = [BINARY_CALIBRATORS.make(key, bins=bins).fit(z, hits).transform(_SMALL) for key in keys]
            both.append([_true_error(s, truth, 2) for s in outputs])
            if bins == 10:
                literal.append(np.mean((outputs[0] - truth) ** 2))
        for key, column in zip(keys, np.array(both).T, strict=True):
            errors[key, bins, n] = column
    halves = np.array(literal).reshape(2, runs)

    def decrease(key: str, first: tuple[int, int], second: tuple[int, int]) -> ComputedNumber:
        return ratio(errors[(key, *first)], errors[(key, *second)])

    less = decrease("scaling-binning", (20, 2000), (5, 2000))
    place = "Appendix E (A), "
    axis = printed("One over the error of scaling-binning, 10 bins, 2,000 rows: above the lower end of the axis",
                   "Figure 9", "6600", _inverse(errors["scaling-binning", 10, 2000]), relation="at least")  # fmt: skip
    return [
        *([] if quick else [axis]),
        printed("Histogram binning: ratio of errors at 1,000 and 2,000 rows, 10 bins", place + "first sub-experiment",
                "2.00", decrease("histogram", (10, 1000), (10, 2000)), plus_minus=0.06),
        printed("Scaling-binning: ratio of errors at 1,000 and 2,000 rows, 10 bins", place + "first sub-experiment",
                "1.98", decrease("scaling-binning", (10, 1000), (10, 2000)), plus_minus=0.09),
        printed("Histogram binning: ratio of errors with 20 and 5 bins, 2,000 rows", place + "second sub-experiment",
                "3.71", decrease("histogram", (20, 2000), (5, 2000)), plus_minus=0.15),
        printed("Scaling-binning: percentage by which its error with 20 bins is below that with 5, 2,000 rows",
                place + "second sub-experiment", "2",
                ComputedNumber(100 * (1 - less.value), 100 * less.error, less.runs), plus_minus=7),
        printed("Histogram binning: ratio of errors by the printed formula at 1,000 and 2,000 rows",
                place + "the unbiased estimate", "2.00", ratio(halves[0], halves[1]), plus_minus=0.06,
                why="the formula adds the spread of the truth inside a bin, which does not decrease with rows: the "
                "paper's numbers are about groups of rows with equal outputs"),
    ]  # fmt: skip


_SMALL = (np.arange(10_000) + 0.5) / 10_000
"""Scores for the error, of the same number as in the paper."""


def _inverse(errors: Float64s) -> ComputedNumber:
    return ratio(np.ones_like(errors), errors)


@reproduction("p2-appendix-e-b", "Binning improves a scaling map", "Appendix E (B), Figure 11", (1, 6),
              lab_link("calibrators", "jumping"))  # fmt: skip
def appendix_e_b(quick: bool, progress: Progress) -> list[PaperLine]:
    """Platt scaling against scaling-binning for a true curve 2 points above or below a sigmoid.

    Scores are uniform over [0.25, 0.75], with 10 bins and 3,000 rows. Each of 10,000 scores has a random side; rows are
    drawn from them.
    """
    z = 0.25 + _SMALL / 2
    pairs = []
    for seed in steps(100 if quick else 1000, progress):
        rng = np.random.default_rng(seed)
        truth = datasets.true_kumar(z) + np.where(rng.random(len(z)) < 0.5, -0.02, 0.02)
        rows = rng.integers(len(z), size=3000)
        hits = rng.random(3000) < truth[rows]
        outputs = [
            BINARY_CALIBRATORS.make(key, **how).fit(z[rows], hits).transform(z)
            for key, how in (("platt", {}), ("scaling-binning", {"bins": 10}))
        ]
        pairs.append([_true_error(s, truth, 2) for s in outputs])
    scaling, binned = np.array(pairs).T
    return [
        printed("Ratio of squared errors of Platt scaling and scaling-binning", "Appendix E (B), Figure 11", "5.2",
                ratio(scaling, binned, paired=True), plus_minus=1.1),
    ]  # fmt: skip
