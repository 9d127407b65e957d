"""Benchmarks of ours against other people's packages, every line in one run: writes peers.md (`make bench-peers`).

Process CPU of one thread, the least of several calls after one that is not counted; S = 10,000 x 10, M = 10,000 x 100,
L = 50,000 x 1,000 float32, overconfident softmax outputs. A peer that would take minutes at a size is not run there.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from calib_core import CALIBRATORS, REDUCTIONS, estimate
from calib_core.binning import EqualMass, EqualWidth, tabulate
from calib_core.estimators import Binned, DebiasedL2
from calib_core.inference import bootstrap
from tests.benchmarks.conftest import SIZES, Sample, made

TABLE = Path(__file__).with_name("peers.md")
PACKAGES = ("uncertainty-calibration", "betacal", "relplot", "netcal", "torchmetrics", "probmetrics", "scikit-learn")
SWEEP = [EqualWidth(b) for b in range(5, 26)]
ENOUGH, CALLS = 4.0, 5
"""CPU-seconds after which a call is not repeated, and the most calls."""

Work = Callable[[], Any]


@dataclass(frozen=True)
class Case:
    """Operation: our code and each peer's for it, on a sample; ``goals`` are target ratios by size."""

    title: str
    ours: Callable[[Sample], Work]
    peers: dict[str, tuple[str, Callable[[Any, Sample], Work]]]
    """Peers by name: the module to import, its code, and the sizes it can handle ("SML" by default)."""
    goals: dict[str, float] = field(default_factory=dict)
    sizes: str = "SML"
    bears: dict[str, str] = field(default_factory=dict)
    does: float = 1.0
    """Share of our work that the peers do."""


def split(sample: Sample, notion: str) -> Any:
    return REDUCTIONS.make(notion).split(sample.predictions)


def ece(notion: str) -> Callable[[Sample], Work]:
    return lambda s: lambda: estimate(s.predictions, notion, "ece", bins=15)


def sweep(notion: str) -> Callable[[Sample], Work]:
    return lambda s: lambda: [Binned().of_table(table).value for table in tabulate(split(s, notion), SWEEP)]


def debiased(notion: str) -> Callable[[Sample], Work]:
    return lambda s: lambda: estimate(s.predictions, notion, DebiasedL2(EqualMass(15)))


def resamples(notion: str) -> Callable[[Sample], Work]:
    return lambda s: lambda: bootstrap(estimate(s.predictions, notion, DebiasedL2(EqualMass(15))).question)


def fit(key: str, **options: Any) -> Callable[[Sample], Work]:
    return lambda s: lambda: CALIBRATORS.make(key, **options).fit_on(s.predictions)


def fit_and_apply(key: str, **options: Any) -> Callable[[Sample], Work]:
    return lambda s: lambda: CALIBRATORS.make(key, **options).fit_on(s.predictions).apply(s.predictions)


def tensors(module: Any, s: Sample, notion: str) -> tuple[Any, Any]:
    torch = importlib.import_module("torch")
    return torch.from_numpy(s.probs.copy()), torch.from_numpy(s.labels)


def torch_ece(module: Any, s: Sample) -> Work:
    probs, labels = tensors(module, s, "confidence")
    return lambda: module.multiclass_calibration_error(probs, labels, s.probs.shape[1], n_bins=15)


def by_column(work: Callable[[Any, np.ndarray, np.ndarray], Any]) -> Callable[[Any, Sample], Work]:
    """Return a binary function of a peer, called for every class."""

    def peer(module: Any, s: Sample) -> Work:
        columns, hits = (
            np.ascontiguousarray(s.probs.T.astype(np.float64)),
            s.labels[None] == np.arange(s.probs.shape[1])[:, None],
        )
        return lambda: [work(module, column, hit) for column, hit in zip(columns, hits, strict=True)]

    return peer


def of_top(work: Callable[[Any, np.ndarray, np.ndarray], Any]) -> Callable[[Any, Sample], Work]:
    """Return a binary function of a peer, called for the confidence; finding it is part of the work."""

    def peer(module: Any, s: Sample) -> Work:
        def run() -> Any:
            top = s.probs.argmax(1)
            return work(module, s.probs.max(1).astype(np.float64), (top == s.labels).astype(np.float64))

        return run

    return peer


def binned(module: Any, h: np.ndarray, z: np.ndarray) -> Any:
    return module.binnedECE(h, z.astype(np.float64), nbins=15)


def binned_sweep(module: Any, h: np.ndarray, z: np.ndarray) -> Any:
    return [module.binnedECE(h, z.astype(np.float64), nbins=b) for b in range(5, 26)]


def smooth(module: Any, h: np.ndarray, z: np.ndarray) -> Any:
    return module.smECE(h, z.astype(np.float64))


def kumar(name: str, **options: Any) -> Callable[[Any, Sample], Work]:
    return lambda module, s: lambda: getattr(module, name)(s.probs.astype(np.float64), s.labels, **options)


def kumar_fit(name: str) -> Callable[[Any, Sample], Work]:
    def peer(module: Any, s: Sample) -> Work:
        def run() -> Any:
            map_ = getattr(module, name)(len(s.probs), num_bins=15)
            map_.train_calibration(s.probs, s.labels)
            return map_.calibrate(s.probs)

        return run

    return peer


def netcal_fit(name: str, *, apply: bool = False, **options: Any) -> Callable[[Any, Sample], Work]:
    def peer(module: Any, s: Sample) -> Work:
        probs = s.probs.astype(np.float64)

        def run() -> Any:
            map_ = getattr(module, name)(**options).fit(probs, s.labels)
            return map_.transform(probs) if apply else map_

        return run

    return peer


def probmetrics_fit(method: str) -> Callable[[Any, Sample], Work]:
    return lambda module, s: lambda: module.get_calibrator(method).fit(s.probs.astype(np.float64), s.labels)


def sklearn_temperature(module: Any, s: Sample) -> Work:
    logs = np.log(np.maximum(s.probs, 1e-12))
    return lambda: module._TemperatureScaling().fit(logs, s.labels)


def sklearn_isotonic(module: Any, h: np.ndarray, z: np.ndarray) -> Any:
    return module.IsotonicRegression(y_min=0, y_max=1, out_of_bounds="clip").fit(h, z).predict(h)


def sklearn_dirichlet(module: Any, s: Sample) -> Work:
    logs = np.log(np.maximum(s.probs, 1e-12)).astype(np.float64)
    return lambda: module.LogisticRegression(C=1e10, max_iter=1000).fit(logs, s.labels)


def beta_fit(module: Any, h: np.ndarray, z: np.ndarray) -> Any:
    return module.BetaCalibration("abm").fit(h[:, None], z).predict(h[:, None])


KUMAR, RELPLOT, NETCAL_BINS, NETCAL_SCALING = "calibration", "relplot.metrics", "netcal.binning", "netcal.scaling"
PROBMETRICS, TORCH = "probmetrics.calibrators", "torchmetrics.functional.classification"
SM = "SM"

CASES = [
    Case(
        "conf-ECE, 15 bins",
        ece("confidence"),
        {"torchmetrics": (TORCH, torch_ece), "relplot": (RELPLOT, of_top(binned))},
        {"S": 1.5, "M": 1.5, "L": 2},
    ),
    Case(
        "conf-ECE with `Predictions()` built",
        lambda s: lambda: estimate(s.fresh(), "confidence", "ece", bins=15),
        {"torchmetrics": (TORCH, torch_ece), "relplot": (RELPLOT, of_top(binned))},
    ),
    Case("class-wise ECE", ece("class-wise"), {"relplot": (RELPLOT, by_column(binned))}, {"S": 1, "M": 6, "L": 20}),
    Case(
        "B = 5..25, confidence",
        sweep("confidence"),
        {"relplot": (RELPLOT, of_top(binned_sweep))},
        {"S": 4, "M": 4, "L": 4},
    ),
    Case(
        "B = 5..25, class-wise",
        sweep("class-wise"),
        {"relplot": (RELPLOT, by_column(binned_sweep))},
        {"S": 15, "M": 80, "L": 250},
    ),
    Case(
        "debiased L2, top",
        debiased("confidence"),
        {"uncertainty-calibration": (KUMAR, kumar("lower_bound_scaling_ce", mode="top-label"))},
        {"S": 10},
        bears={"uncertainty-calibration": SM},
    ),
    Case(
        "debiased L2, marginal",
        debiased("class-wise"),
        {"uncertainty-calibration": (KUMAR, kumar("lower_bound_scaling_ce", mode="marginal"))},
        {"S": 20, "M": 25, "L": 40},
        bears={"uncertainty-calibration": SM},
    ),
    Case(
        "smooth ECE, confidence",
        lambda s: lambda: estimate(s.predictions, "confidence", "smece"),
        {"relplot": (RELPLOT, of_top(smooth))},
        {"S": 8},
    ),
    Case(
        "smooth ECE, class-wise",
        lambda s: lambda: estimate(s.predictions, "class-wise", "smece"),
        {"relplot": (RELPLOT, by_column(smooth))},
        {"S": 35, "M": 50, "L": 250},
        bears={"relplot": SM},
    ),
    Case(
        "temperature, fit",
        fit("temperature"),
        {
            "scikit-learn": ("sklearn.calibration", sklearn_temperature),
            "netcal": (NETCAL_SCALING, netcal_fit("TemperatureScaling")),
        },
        {"S": 4, "M": 8, "L": 15},
        bears={"netcal": SM},
    ),
    Case(
        "vector scaling, fit",
        fit("vector"),
        {"probmetrics": (PROBMETRICS, probmetrics_fit("svs"))},
        {"S": 3, "M": 1.4, "L": 3},
        SM,
    ),
    Case(
        "matrix scaling, fit",
        fit("matrix"),
        {"probmetrics": (PROBMETRICS, probmetrics_fit("sms"))},
        {"S": 4, "M": 1},
        SM,
    ),
    Case(
        "structured, fit",
        fit("structured"),
        {"probmetrics": (PROBMETRICS, probmetrics_fit("sms"))},
        {"S": 1, "M": 1},
        SM,
    ),
    Case(
        "Dirichlet, fit",
        fit("dirichlet"),
        {"scikit-learn": ("sklearn.linear_model", sklearn_dirichlet)},
        {"S": 3, "M": 8},
        SM,
        {"scikit-learn": "S"},
    ),
    Case(
        "isotonic one-vs-rest",
        fit_and_apply("class-wise", binary="isotonic"),
        {"scikit-learn": ("sklearn.isotonic", by_column(sklearn_isotonic))},
        {"S": 2, "M": 3, "L": 4},
    ),
    Case(
        "beta one-vs-rest",
        fit_and_apply("class-wise", binary="beta"),
        {"betacal": ("betacal", by_column(beta_fit))},
        {"S": 2.5, "M": 6, "L": 1.5},
        bears={"betacal": SM},
    ),
    Case(
        "histogram binning, class-wise",
        fit_and_apply("class-wise", binary="equal-width-histogram"),
        {"netcal": (NETCAL_BINS, netcal_fit("HistogramBinning", apply=True, bins=15))},
        {"S": 1, "M": 1, "L": 1.5},
    ),
    Case(
        "histogram binning, class-wise, equal mass",
        fit_and_apply("class-wise", binary="histogram"),
        {"netcal, equal width": (NETCAL_BINS, netcal_fit("HistogramBinning", apply=True, bins=15))},
        {"S": 1, "M": 1, "L": 1.5},
    ),
    Case(
        "scaling-binning, top",
        fit_and_apply("confidence", binary="scaling-binning"),
        {"uncertainty-calibration": (KUMAR, kumar_fit("PlattBinnerTopCalibrator"))},
        {"S": 4},
        bears={"uncertainty-calibration": SM},
    ),
    Case(
        "scaling-binning, class-wise",
        fit_and_apply("scaling-binning"),
        {"uncertainty-calibration": (KUMAR, kumar_fit("PlattBinnerMarginalCalibrator"))},
        {"S": 7, "M": 7, "L": 7},
        bears={"uncertainty-calibration": SM},
    ),
    Case(
        "1,000 resamples, debiased L2 top",
        resamples("confidence"),
        {
            "uncertainty-calibration, 10 times its 100": (
                KUMAR,
                kumar("get_calibration_error_uncertainties", p=2, mode="top-label"),
            )
        },
        {"S": 200},
        "S",
        does=0.1,
    ),
]


def milliseconds(work: Work) -> float:
    """Return the least process CPU of a call, after a first one."""
    work()
    least, spent = float("inf"), 0.0
    for _ in range(CALLS):
        start = time.process_time()
        work()
        took = time.process_time() - start
        least, spent = min(least, took), spent + took
        if spent > ENOUGH:
            break
    return 1000 * least


def lines(size: str, sample: Sample) -> list[str]:
    """Return table lines of one size."""
    found = []
    for case in CASES:
        if size not in case.sizes:
            continue
        ours = milliseconds(case.ours(sample))
        beside: dict[str, float] = {}
        for name, (module, work) in case.peers.items():
            if size in case.bears.get(name, "SML"):
                beside[name] = milliseconds(work(importlib.import_module(module), sample)) / case.does
        if not beside:
            found.append(f"| {case.title} | {size} | {ours:,.3g} | - | - | |")
            continue
        name, least = min(beside.items(), key=lambda item: item[1])
        goal = case.goals.get(size)
        word = "" if goal is None else f"{goal:g}{'' if least / ours >= goal else ', missed'}"
        found.append(f"| {case.title} | {size} | {ours:,.3g} | {name} {least:,.4g} | {least / ours:,.3g} | {word} |")
        print(found[-1], file=sys.stderr, flush=True)  # noqa: T201
    return found


LIMITS = """
## What the rest of the time is spent on

Measured beside relplot, betacal, uncertainty-calibration and scikit-learn in one run, peer / ours, at S / M unless
said.

- Class-wise ECE (.4 / 2.5; goals 1 / 6): 60 % is the exact sums of all scores, which relplot does not make (one
  rounding to a multiple of 2^-40 each, so that parts add up to the same bits), the rest is the objects around 10
  columns. At L 50 ms for a pass of 9: float64 sums of float32 columns take 20, exact ones 28, finding the scores
  above the first edge 19. Summing their integer bits in place of rounding, and looking for marked bytes eight at a
  time, won nothing.
- B = 5..25, confidence (1.2 / 1.6; goal 4): finest cells counted once (.3 ms), then 21 tables as objects, 40 us each.
  Class-wise (4.5 / 22; goals 15 / 80): 200 edges x K cells cut 21 ways, exact sums again.
- Smooth ECE, class-wise (26 / 33; goals 35 / 50): half is cosine transforms of 4,097 nodes, four a class (were ten),
  at 40 us each; a quarter puts scores on the grid. Looked for on every eighth node first, sixteen classes at a time.
- Six notions with ECE at L in 128 ms, 14 read passes (goal 6), were 161: `Predictions()` 37 (argmax 15, since NumPy
  copies what is read-only, float64 row sums 20, lowest entry 7), class-wise 50, the three largest of each row 30.
- Beta (1.7 / 1.8; goals 2.5 / 6) and scaling-binning (4.0 / 3.6; goal 7): SciPy's L-BFGS-B takes 13 to 21 evaluations
  a class, and as long for itself as for them.
- Histogram of equal mass, class-wise, at L: 1.1 of 2.4 s of its fit sort 50 million float32; the bins of equal mass
  of class-wise estimates the same. Sorting only what ranks need (`partition` at 14 or 999 ranks) is slower than
  sorting all.
- Isotonic (2.9 / 5.9; goals 2 / 3) at L: fit .7 s, apply .65 s: two table look-ups and three passes a score; turning
  columns into rows .15 s.
"""
"""Text stored here because the table is rewritten."""


def main() -> None:
    warnings.simplefilter("ignore")
    sizes = sys.argv[1] if len(sys.argv) > 1 else "SML"
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in ("calib", "numpy", *PACKAGES))
    with threadpool_limits(1):
        importlib.import_module("torch").set_num_threads(1)
        body = [line for size in sizes for line in lines(size, made(*SIZES[size]))]
    head = ["# Beside the peers", "", " ".join((__doc__ or "").split("\n\n", 1)[1].split()), "", f"{versions}.", ""]
    table = ["| operation | size | ours, ms | fastest peer, ms | peer / ours | goal |", "|---|---|---|---|---|---|"]
    TABLE.write_text("\n".join([*head, *table, *body, LIMITS]), encoding="utf-8")


if __name__ == "__main__":
    main()
