"""Our numbers beside other packages' on the same rows: writes the table of docs/explanation/comparison.md.

`make comparison` runs it in the environment of `make bench-peers`. Scores are the confidences of the bundled examples,
outcomes whether predictions are right, so that every package gets the same two arrays. The text of the page is written
by hand; what stands between its two comments is written here.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import calib_core as cc

PAGE = Path(__file__).parents[2] / "docs/explanation/comparison.md"
BEGIN, END = "<!-- measured -->", "<!-- end -->"
PACKAGES = ("netcal", "torchmetrics", "uncertainty-calibration", "relplot", "scikit-learn", "betacal", "venn-abers")
DATA = {
    "network": "digits-mlp",
    "naive Bayes": "digits-naive-bayes",
    "votes": "digits-random-forest",
}
"""Examples by their names on the page: continuous scores, scores of exactly 1, and scores that lie on edges of bins."""

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Rows:
    """Predictions of an example, with confidences and whether each is right."""

    predictions: cc.Predictions
    score: Array
    right: Array


@dataclass(frozen=True)
class Quantity:
    """Quantity: how we compute it, how each other package does, and on which examples."""

    title: str
    ours: Callable[[Rows], float]
    theirs: dict[str, Callable[[Rows], float]]
    data: tuple[str, ...] = tuple(DATA)


def rows(example: str) -> Rows:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # rows of probability 0 for the true class
        predictions = cc.read_predictions(*cc.datasets.demo(DATA[example]))
    score = np.asarray(predictions.confidence, dtype=np.float64)
    return Rows(predictions, score, np.asarray(predictions.correct, dtype=np.float64))


def estimated(key: str, **options: Any) -> Callable[[Rows], float]:
    return lambda r: cc.estimate(r.predictions, "confidence", key, **options).value


def netcal(name: str) -> Callable[[Rows], float]:
    def measured(r: Rows) -> float:
        measure = getattr(importlib.import_module("netcal.metrics"), name)
        return float(measure(15).measure(r.score, r.right.astype(int)))

    return measured


def torchmetrics(norm: str) -> Callable[[Rows], float]:
    def measured(r: Rows) -> float:
        torch, module = map(importlib.import_module, ("torch", "torchmetrics.functional.classification"))
        score, right = torch.from_numpy(r.score.copy()), torch.from_numpy(r.right.astype(int))
        return float(module.binary_calibration_error(score, right, n_bins=15, norm=norm))

    return measured


def kumar(name: str, **options: Any) -> Callable[[Rows], float]:
    return lambda r: float(
        getattr(importlib.import_module("calibration"), name)(r.score, r.right.astype(int), mode="marginal", **options)
    )


def relplot(name: str, **options: Any) -> Callable[[Rows], float]:
    return lambda r: float(getattr(importlib.import_module("relplot.metrics"), name)(r.score, r.right, **options))


def sklearn_log_loss(r: Rows) -> float:
    return float(importlib.import_module("sklearn.metrics").log_loss(r.right, r.score, labels=[0, 1]))


def at_quantiles(transform: Callable[[Rows, Array], Any]) -> Callable[[Rows], float]:
    """Return the mean calibrated probability at five quantiles of the scores, after a fit on all rows."""
    return lambda r: float(np.mean(transform(r, np.quantile(r.score, (0.1, 0.3, 0.5, 0.7, 0.9)))))


def our_map(key: str) -> Callable[[Rows], float]:
    return at_quantiles(lambda r, at: cc.BINARY_CALIBRATORS.make(key).fit(r.score, r.right.astype(bool)).transform(at))


def betacal(r: Rows, at: Array) -> Any:
    fitted = importlib.import_module("betacal").BetaCalibration(parameters="abm").fit(r.score[:, None], r.right)
    return fitted.predict(at[:, None])


def isotonic(r: Rows, at: Array) -> Any:
    module = importlib.import_module("sklearn.isotonic")
    return module.IsotonicRegression(y_min=0, y_max=1, out_of_bounds="clip").fit(r.score, r.right).predict(at)


def venn_abers(r: Rows, at: Array) -> Any:
    fitted = importlib.import_module("venn_abers").VennAbers()
    fitted.fit(np.column_stack([1 - r.score, r.score]), r.right.astype(int))
    return fitted.predict_proba(np.column_stack([1 - at, at]))[0][:, 1]


QUANTITIES = (
    Quantity(
        "ECE, 15 bins of equal width",
        estimated("ece", bins=15),
        {
            "netcal `ECE`": netcal("ECE"),
            "relplot `binnedECE`": relplot("binnedECE", nbins=15),
            "torchmetrics `l1`": torchmetrics("l1"),
            "uncertainty-calibration `get_ece`": kumar("get_ece"),
        },
    ),
    Quantity(
        "ECE, 15 bins of equal mass",
        estimated("ece-adaptive"),
        {"netcal `ACE`": netcal("ACE"), "uncertainty-calibration `get_ece_em`": kumar("get_ece_em")},
    ),
    Quantity(
        "MCE, 15 bins of equal width",
        estimated("mce", bins=15),
        {"netcal `MCE`": netcal("MCE"), "torchmetrics `max`": torchmetrics("max")},
    ),
    Quantity("RMSCE, 15 bins of equal width", estimated("rmsce", bins=15), {"torchmetrics `l2`": torchmetrics("l2")}),
    Quantity("Smooth ECE", estimated("smece"), {"relplot `smECE`": relplot("smECE")}),
    Quantity(
        "Log loss of the confidence",
        estimated("log-loss"),
        {"scikit-learn `log_loss`": sklearn_log_loss},
    ),
    Quantity("Beta calibration", our_map("beta"), {"betacal `abm`": at_quantiles(betacal)}, ("network",)),
    Quantity("Isotonic", our_map("isotonic"), {"scikit-learn `IsotonicRegression`": at_quantiles(isotonic)}),
    Quantity("Venn-Abers", our_map("venn-abers"), {"venn-abers `VennAbers`": at_quantiles(venn_abers)}),
)


def written(value: float) -> str:
    return f"{value:.5f}"


def ours() -> Iterator[tuple[str, str, float]]:
    """Yield the title of each quantity, the example, and our number."""
    found = {example: rows(example) for example in DATA}
    for quantity in QUANTITIES:
        for example in quantity.data:
            yield quantity.title, example, quantity.ours(found[example])


def table() -> Iterator[str]:
    """Yield the lines of the table, with every other package's number or why there is none."""
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in ("numpy", *PACKAGES))
    yield f"calib {cc.__version__}, {versions}."
    yield ""
    yield "| quantity | example | calib | package | its number | difference |"
    yield "|---|---|---|---|---|---|"
    found = {example: rows(example) for example in DATA}
    by_title = {quantity.title: quantity for quantity in QUANTITIES}
    for title, example, value in ours():
        for package, compute in by_title[title].theirs.items():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    other = compute(found[example])
                    cells = written(other), f"{other - value:+.5f}".replace("+0.00000", "0").replace("-0.00000", "0")
                except Exception as why:  # of other people's code: the page names it
                    cells = f"{type(why).__name__}: {str(why)[:80]}".replace("|", "/"), ""
            yield f"| {title} | {example} | {written(value)} | {package} | {cells[0]} | {cells[1]} |"


def main() -> None:
    text = PAGE.read_text("utf-8")
    before, _, rest = text.partition(BEGIN)
    after = rest.partition(END)[2]
    lines = []
    for line in table():
        sys.stdout.write(f"{line}\n")
        sys.stdout.flush()
        lines.append(line)
    PAGE.write_text("\n".join([before + BEGIN, *lines, END + after]), encoding="utf-8")


if __name__ == "__main__":
    main()
