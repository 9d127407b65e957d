"""Figures over numbers of bins: errors by notion and calibrator, and the cost of finer bins (P1, P2)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from calib_core import datasets
from calib_core._base.arrays import Bools, Float64s
from calib_core._base.parallel import Progress
from calib_core.binning.bin_table import tabulate
from calib_core.binning.interval_schemes import EqualWidth
from calib_core.calibrators.base import BINARY_CALIBRATORS, CALIBRATORS
from calib_core.diagrams.error_by_bins import error_sweep
from calib_core.estimators.base import estimate
from calib_core.papers.reproductions.gallery import ComputedNumber, PaperLine, mean, ratio, reproduction, stated, steps
from calib_core.predictions.predictions import Predictions
from calib_core.reductions.top import Confidence, TopLabel

FIT, TEST = 5000, 10_000
"""Calibration rows and test rows of CIFAR-10."""
_DEMO = "data=demo:digits-naive-bayes&view=curves&about=sweep"


def network(n: int, rng: np.random.Generator, classes: int = 10, power: float = 1.2, tilt: float = 0.7) -> Predictions:
    """Simulate rows like a network's: mostly correct, with a different over- or underconfidence per class.

    ``power`` above 1 is overconfidence of all classes, ``tilt`` the difference between classes.
    """
    truth = np.maximum(rng.dirichlet(np.full(classes, 0.4 / classes), n), 1e-12)
    outputs = truth**power * np.exp(tilt * np.linspace(-1, 1, classes))
    return Predictions(outputs / outputs.sum(axis=1, keepdims=True), datasets.drawn_labels(truth, rng))


# ---- confidence and predicted class ----------------------------------------------------------------------------


@reproduction("p1-figures-1-2", "Top-label error exceeds confidence error for any number of bins",
              "Figures 1 and 2", (3, 11), _DEMO)  # fmt: skip
def figures_1_2(quick: bool, progress: Progress) -> list[PaperLine]:
    """Simulated rows instead of networks on CIFAR-10: ten classes, some over- and some underconfident, 5 to 25 bins.

    There are 5,000 calibration rows and 10,000 test rows, as in the paper. The inequality in Figure 1 is valid for
    every bin by the triangle inequality; the size of the difference depends on the network.
    """
    bins = range(5, 26)
    sixth: list[tuple[float, float]] = []
    least: list[float] = []
    larger: dict[str, list[float]] = {}
    better = []
    for seed in steps(40 if quick else 150, progress):
        rng = np.random.default_rng(seed)
        fit, test = network(FIT, rng), network(TEST, rng)
        models = {"the model": test} | {
            name: CALIBRATORS.make(key).fit_on(fit).apply(test)
            for name, key in (("temperature scaling", "temperature"), ("top-label histogram binning", "top-label-hb"))
        }
        own, classes = _of_bins(test)
        least.append(float(np.nanmin(classes - own)))
        sixth.append((float(classes[5]), float(own[5])))
        swept = error_sweep(models, ("confidence", "top-label"), bins=bins, floor=False).value.reshape(3, 2, -1)
        for name, (confidence, predicted) in zip(models, swept, strict=True):
            larger.setdefault(name, []).append(float((predicted > confidence).mean()))
        better.append(float((swept[2, 1] < swept[1, 1]).mean()))
    mean_of_classes, of_bin = np.array(sixth).T
    return [
        stated("Least error of a bin's classes minus that of the bin", "Figure 1(a)", min(least), "at least",
               0.0),
        stated("Error of the classes in [0.5, 0.6), relative to that bin's own", "Figure 1(b)",
               ratio(mean_of_classes, of_bin, paired=True), "at least", 1.0),
        *(stated(f"Share of the numbers of bins with TL-ECE above conf-ECE, {name}",
                 "Figure 2: for most values of B", mean(shares), "at least", 0.5) for name, shares in larger.items()),
        stated("Share of the numbers of bins with a lower TL-ECE for top-label histogram binning than for "
               "temperature scaling", "Figure 2: for most values of B", mean(better), "at least", 0.5),
    ]  # fmt: skip


def _of_bins(rows: Predictions) -> tuple[Float64s, Float64s]:
    """Distance of accuracy from confidence in ten bins, and the mean of the classes' distances (P1 §2.1)."""
    notions: tuple[Any, ...] = Confidence(), TopLabel()
    own, classes = (tabulate(notion.split(rows), [EqualWidth(10)])[0] for notion in notions)
    off = np.abs(classes.tally.outcome - classes.tally.score).sum(axis=0)
    rows_in = classes.count.sum(axis=0)
    return np.abs(own.gap[0]), np.divide(off, rows_in, out=np.full(10, np.nan), where=rows_in > 0)


# ---- calibrators evaluated over numbers of bins -------------------------------------------------------------------

_BINS = (5, 10, 15, 20, 25)
_MAPS = {"TS": "temperature", "N-HB": "normalised-hb", "TL-HB": "top-label-hb", "CW-HB": "class-wise-hb"}
"""Calibrators of the tables; those with bins are fitted with the number of bins of the evaluation."""
_OWN = {"top-label": "TL-HB", "class-wise": "CW-HB"}
"""Calibrator whose outputs are one bin each, by notion (Appendix E.2)."""


@reproduction("p1-figures-5-8", "Histogram binning for a notion is best in that notion, for any number of bins",
              "Figures 5 to 8 and Appendix E.5", (7, 35), _DEMO)  # fmt: skip
def figures_5_8(quick: bool, progress: Progress) -> list[PaperLine]:
    """Simulated rows instead of networks on CIFAR-10 and CIFAR-100, overconfident (Brier) or underconfident (focal).

    5, 10, 15, 20 and 25 bins, with the same number in the calibrators; 5,000 calibration rows, 10,000 test rows.
    Dirichlet scaling is left out. The best method depends on the network; the comparison is of the captions'
    statements.
    """
    runs = 8 if quick else 40
    found: dict[tuple[str, int], list[Mapping[tuple[str, str], Float64s]]] = {}
    laws: dict[tuple[str, int], Mapping[str, Any]] = {
        ("Figures 5 and 7", 10): {}, ("Figures 6 and 8", 10): {"power": 0.8}, ("Figure 5(b)", 100): {"classes": 100},
    }  # fmt: skip
    for i, (law, how) in enumerate(laws.items()):
        for seed in steps(runs, progress, i / 3, (i + 1) / 3):
            rng = np.random.default_rng([i, seed])
            fit, test = network(FIT, rng, **how), network(TEST, rng, **how)
            found.setdefault(law, []).append(_errors(fit, test, law[1] == 10))
    lines = []
    for (place, classes), every in found.items():
        errors = {key: np.array([run[key] for run in every]) for key in every[0]}

        def share_of(
            kind: str, mine: str, other: str, errors: Mapping[tuple[str, str], Float64s] = errors
        ) -> ComputedNumber:
            return ratio(errors[kind, mine].mean(axis=1), errors[kind, other].mean(axis=1), paired=True)

        if classes == 100:
            why = "TL-HB has few rows per class: each class is predicted in 50 of 5,000 rows"
            lines.append(stated(f"100 classes: TL-ECE of TL-HB, relative to TS's ({why})", place,
                                share_of("top-label ece", "TL-HB", "TS"), "at least", 1.0))  # fmt: skip
            continue
        best = np.min([errors["class-wise ece", name] for name in ("base", "TS", "N-HB")], axis=0)
        spread = {name: np.ptp(errors["class-wise ece", name], axis=1) for name in ("N-HB", "CW-HB")}
        lines += [
            stated("TL-ECE of TL-HB, relative to the model's own", place, share_of("top-label ece", "TL-HB", "base"),
                   "at most", 1.0),
            stated("Largest error of a bin (TL-MCE) of TL-HB, relative to TS's", place,
                   share_of("top-label mce-of-bins", "TL-HB", "TS"), "at most", 1.0),
            stated("CW-ECE of CW-HB, relative to the least of the model, TS and N-HB at each number of bins", place,
                   ratio(errors["class-wise ece", "CW-HB"].mean(axis=1), best.mean(axis=1), paired=True), "at most",
                   1.0),
        ]  # fmt: skip
        if not quick:  # few runs do not distinguish it from chance
            lines.append(
                stated("Range of CW-ECE of N-HB over numbers of bins, relative to CW-HB's", place,
                       ratio(spread["N-HB"], spread["CW-HB"], paired=True), "at least", 1.0)
            )  # fmt: skip
    return lines


def _errors(fit: Predictions, test: Predictions, every: bool) -> dict[tuple[str, str], Float64s]:
    """Errors over numbers of bins, by (notion and estimator, method)."""
    found: dict[tuple[str, str], list[float]] = {}
    names = ("TS", "N-HB", "TL-HB", "CW-HB") if every else ("TS", "TL-HB")
    for bins in _BINS:
        for name, rows in (("base", test), *_fitted(fit, test, names, bins)):
            for notion, kind in (("top-label", "ece"), ("top-label", "mce-of-bins"), ("class-wise", "ece")):
                if (notion == "class-wise" and not every) or name in set(_OWN.values()) - {_OWN[notion]}:
                    continue
                judge = "distinct" if name == _OWN[notion] and kind == "ece" else EqualWidth(bins)
                value = estimate(rows, notion, kind, judge).value
                found.setdefault((f"{notion} {kind}", name), []).append(value)
    return {key: np.array(values) for key, values in found.items()}


def _fitted(
    fit: Predictions, test: Predictions, names: tuple[str, ...], bins: int
) -> Iterator[tuple[str, Predictions]]:
    for name in names:
        key = _MAPS[name]
        how = {declared: bins} if (declared := CALIBRATORS[key].flags.bins) else {}
        yield name, CALIBRATORS.make(key, **how).fit_on(fit).apply(test)


# ---- what finer bins cost --------------------------------------------------------------------------------------

_GRID = (np.arange(10_000) + 0.5) / 10_000
_TRUE = datasets.true_kumar(_GRID)
_KINDS = ("histogram", "scaling-binning")
"""Calibrators compared; the distribution of experiment (A) of Appendix E, without noise, replaces the networks."""


def _rows(n: int, rng: np.random.Generator) -> tuple[Float64s, Bools]:
    z = rng.random(n)
    return z, rng.random(n) < datasets.true_kumar(z)


def _after(key: str, bins: int, z: Float64s, hits: Bools) -> tuple[Float64s, float, float]:
    """Calibrator's outputs for all scores, its true squared calibration error and its mean squared error."""
    outputs = np.asarray(BINARY_CALIBRATORS.make(key, bins=bins).fit(z, hits).transform(_GRID))
    _, cell, rows = np.unique(outputs, return_inverse=True, return_counts=True)
    gaps = np.bincount(cell, _TRUE - outputs) / rows
    noise = float(np.mean(_TRUE * (1 - _TRUE)))
    return outputs, float(np.average(gaps**2, weights=rows)), noise + float(np.mean((outputs - _TRUE) ** 2))


@reproduction("p2-figures-3-7", "Scaling before binning allows many bins", "Figures 3 and 7", (1, 6),
              "data=demo:imbalanced-forest&view=curves&about=trade&exhibits="
              "%5B%7B%22key%22:%22trade%22,%22params%22:%7B%22curves%22:true%7D%7D%5D")  # fmt: skip
def figures_3_7(quick: bool, progress: Progress) -> list[PaperLine]:
    """Fit both calibrators on 1,000 rows with 5, 10, 30 and 100 bins, and compute both true squared errors.

    One distribution of scores replaces the networks; for ImageNet the paper reports "nearly 5 times" with 100 bins.
    """
    numbers = (5, 10, 30, 100)
    found = np.array([
        [[_after(key, b, *_rows(1000, np.random.default_rng([seed, b])))[1:] for b in numbers] for key in _KINDS]
        for seed in steps(40 if quick else 300, progress)
    ])  # fmt: skip
    (own, scaled), (own_mse, scaled_mse) = (np.moveaxis(found[..., i], 1, 0) for i in (0, 1))
    # The largest number of bins with a mean error of histogram binning up to that of scaling-binning with 100.
    kept = max([j for j in range(4) if own[:, j].mean() <= scaled[:, 3].mean()], default=0)
    return [
        *(stated(f"Squared calibration error of scaling-binning with {b} bins, relative to histogram binning's",
                 "Figures 3 (left) and 7: especially when B is large", ratio(scaled[:, j], own[:, j], paired=True),
                 "at most", 1.0) for j, b in enumerate(numbers) if b >= 30),
        stated("Squared calibration error of histogram binning with 100 bins, relative to its own with 10",
               "Figure 3 (left)", ratio(own[:, 3], own[:, 1], paired=True), "at least", 1.0),
        stated("Mean squared error of scaling-binning with 100 bins, relative to histogram binning's with "
               f"{numbers[kept]} and at most the same error", "Figure 3 (right)",
               ratio(scaled_mse[:, 3], own_mse[:, kept], paired=True), "at most", 1.0),
    ]  # fmt: skip


_ONE_SIDED = 1.2816
"""Normal quantile for a one-sided 90 % bound."""


@reproduction("p2-figure-17", "A bound by the debiased estimator allows more bins", "Figure 17 and Appendix G.2",
              (1, 10), "data=demo:imbalanced-forest&view=curves&about=trade&exhibits=%5B%7B%22key%22:%22trade%22,"
              "%22params%22:%7B%22curves%22:true,%22against%22:%22upper%22%7D%7D%5D")  # fmt: skip
def figure_17(quick: bool, progress: Progress) -> list[PaperLine]:
    """Fit scaling-binning on 6,000 rows with 10 to 100 bins, and bound its squared calibration error on 4,000 others.

    As in the paper, a 90 % upper bound is the estimate plus a multiple of its spread over 100 resamples. One
    distribution of scores replaces the network. The limit is the plug-in bound with 15 bins, which is 0.015 in the
    paper. There the debiased bound allows 100 bins, and 15 bins cost 13 % in mean squared error.
    """
    numbers = (10, 15, 25, 50, 75, 100)
    found = np.array([[_bounds(b, np.random.default_rng([seed, b])) for b in numbers]
                      for seed in steps(30 if quick else 250, progress)])  # fmt: skip
    plug_in, debiased, mse = np.moveaxis(found, 2, 0)
    limit = plug_in[:, 1].mean()
    # Bounds are compared on average, as single draws are below a limit by chance.
    allowed, others = (
        max((b for b, bound in zip(numbers, bounds.mean(axis=0), strict=True) if bound <= limit), default=numbers[0])
        for bounds in (debiased, plug_in)
    )
    chosen = numbers.index(allowed)
    return [
        *(stated(f"Debiased bound with {b} bins, relative to the plug-in bound", "Figure 17",
                 ratio(debiased[:, numbers.index(b)], plug_in[:, numbers.index(b)], paired=True), "at most", 1.0)
          for b in (15, 100)),
        stated("Bins that the debiased bound allows below the plug-in bound of 15, relative to those that the plug-in "
               "bound allows", "Figure 17: 100 in place of 15", allowed / others, "at least", 2.0),
        stated(f"Mean squared error with 15 bins, relative to that with {allowed}", "Figure 17: 13 % higher",
               ratio(mse[:, 1], mse[:, chosen], paired=True), "at least", 1.0),
    ]  # fmt: skip


def _bounds(bins: int, rng: np.random.Generator) -> tuple[float, float, float]:
    """Return 90 % upper bounds of the squared error by both estimators, and the mean squared error."""
    outputs, _, mse = _after("scaling-binning", bins, *_rows(6000, rng))
    z, hits = _rows(4000, rng)
    values, cell = np.unique(outputs[np.minimum((z * len(_GRID)).astype(int), len(_GRID) - 1)], return_inverse=True)
    seen = np.bincount(2 * cell + hits, minlength=2 * len(values))
    # Resampled rows are counts of (value, outcome) with these probabilities.
    again = np.vstack([seen, rng.multinomial(len(z), seen / len(z), size=100)])
    count, true = again[:, ::2] + again[:, 1::2], again[:, 1::2]
    right = true / np.maximum(count, 1)
    plug_in = (count * (values - right) ** 2).sum(axis=1) / len(z)
    excess = (count > 1) * count * right * (1 - right) / np.maximum(count - 1, 1)
    both = np.array([plug_in, plug_in - excess.sum(axis=1) / len(z)])
    first, second = both[:, 0] + _ONE_SIDED * both[:, 1:].std(axis=1, ddof=1)
    return float(first), float(second), mse
