"""One sample from a known distribution, and distances of many samples' estimates from the truth (P2 Fig. 14-16)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from calib_core._base.diagram import Diagram
from calib_core._base.errors import InputError, NotAnswerable, as_whole
from calib_core._base.parallel import Progress
from calib_core.binning.bin_table import tabulate
from calib_core.binning.interval_schemes import EqualWidth
from calib_core.defaults import BINS, LEVEL, SEED
from calib_core.inference.intervals.elementary import clopper_pearson
from calib_core.lab.experiments import EXPERIMENTS, _experiment, _members
from calib_core.lab.repeats import repeated
from calib_core.lab.true_errors import expected, law
from calib_core.lab.truths import Truth, as_truth, kind_of
from calib_core.predictions.predictions import Predictions
from calib_core.reductions.base import REDUCTIONS, Reduction, as_reduction, claims_of
from calib_core.registry.registry import Recipe
from calib_core.text import Unit

FINE = 100
"""Maximum number of points of a true curve."""
LINE = 2**19
"""Rows times classes of the sample that represents a distribution known only by simulation."""
LEAST_ROWS = 2500
"""Fewest rows per point, for a standard error of at most .01."""


@dataclass(frozen=True, eq=False, repr=False)
class TruthCurve(Diagram):
    """True frequency by score, and observed frequency in bins of one sample of ``rows`` rows with exact intervals."""

    formula: ClassVar[str] = r"s \mapsto P(z = 1 \mid s)"

    notion: str
    rows: int
    points: pd.DataFrame

    def frame(self) -> pd.DataFrame:
        """One row per point of the "truth", the "sample", or a "point" that defines the true curve.

        Columns include its stratum, mean score and frequency.
        """
        return self.points


def sample(truth: str | Recipe | Truth, n: int = 1000, random_state: int = SEED) -> Predictions:
    """Return one sample from a known distribution as predictions.

    >>> sample("three-classes", 5).n_rows
    5
    """
    return as_truth(truth).sample(n, random_state).predictions


def sample_table(truth: str | Recipe | Truth, n: int = 1000, random_state: int = SEED) -> pd.DataFrame:
    """Return one sample from a known distribution as a table: one column of probabilities per class, then the label.

    >>> list(sample_table("drawn", 5))
    ['no', 'yes', 'label']
    """
    rows = sample(truth, n, random_state)
    names = np.asarray(rows.class_names, dtype=object)
    return pd.DataFrame(rows.probs, columns=names).assign(label=names[rows.true_labels])


def truth_curve(
    truth: str | Recipe | Truth,
    n: int = 1000,
    reduction: str | Reduction | None = None,
    bins: int = BINS,
    random_state: int = SEED,
) -> TruthCurve:
    """True curve of a notion (None: the default one) and one sample of n rows in equal-width bins.

    Points of the true curve are means over a hundred equal-width bins, which hide jumps. A distribution that is known
    only by simulation has the mean of the known class probabilities there. Adjacent bins are merged until each has
    2,500 simulated rows (standard error .01 or less); strata with fewer rows have no curve. Intervals are exact for
    independent rows, for one bin at a time.

    >>> curve = truth_curve("example-1", 50)
    >>> curve.frame().query("of == 'truth'")["right"].tolist()
    [0.2, 1.0]
    """
    as_whole(bins, "bins", 1, 1000)
    member: Any = as_truth(truth)
    notion: Any = kind_of(member).reduction if reduction is None else as_reduction(reduction)
    drawn = _points(sample(truth, n, random_state), notion, bins, "sample")
    low, high = clopper_pearson(drawn["hits"].to_numpy(float), drawn["rows"].to_numpy(float), LEVEL)
    drawn = drawn.assign(low=low, high=high)
    true = pd.concat([_line(member, notion), _through(member, drawn)]).assign(rows=np.nan, low=np.nan, high=np.nan)
    points = pd.concat([true, drawn], ignore_index=True).drop(columns="hits")
    return TruthCurve(REDUCTIONS.recipe(notion).title, n, points)


@lru_cache(maxsize=16)
def _line(truth: Any, notion: Any) -> pd.DataFrame:
    """Points of the true curve."""
    if kind_of(truth).exact:
        return _points(law(truth), notion, FINE, "truth")
    classes = truth.population(2).predictions.n_classes or 2
    simulated = truth.population(LINE // classes)
    rows = expected(simulated)
    cells = _points(rows, notion, FINE, "truth")
    # Weights have mean 1 over rows that occur once per class.
    cells[["rows", "hits"]] *= simulated.predictions.n_rows / rows.n_rows
    return pd.concat([_joined(mine) for _, mine in cells.groupby("stratum", sort=False)], ignore_index=True)


def _through(truth: Any, drawn: pd.DataFrame) -> pd.DataFrame:
    """Defining points of a drawn curve, in its stratum; empty for other distributions."""
    points = pd.DataFrame(truth.points if kind_of(truth).movable else np.empty((0, 2)), columns=["score", "right"])
    return points.assign(of="point", stratum=drawn["stratum"].iloc[0])


def _joined(cells: pd.DataFrame) -> pd.DataFrame:
    """Adjacent cells of a stratum merged until each has enough rows; empty if the stratum has too few."""
    groups, number, here = [], 0, 0.0
    for rows in cells["rows"]:
        if here >= LEAST_ROWS:
            number, here = number + 1, 0.0
        groups.append(number)
        here += rows
    if here < LEAST_ROWS:
        groups = [min(group, number - 1) for group in groups]  # the remainder at the top is merged with the last group
    totals = cells.assign(score=cells["score"] * cells["rows"]).groupby(groups)[["score", "rows", "hits"]].sum()
    found = totals.assign(score=totals["score"] / totals["rows"], right=totals["hits"] / totals["rows"])
    found = found.assign(of="truth", stratum=cells["stratum"].iloc[0])[list(cells)]
    return found[found["rows"] >= LEAST_ROWS]


def _points(rows: Predictions, notion: Reduction, bins: int, of: str) -> pd.DataFrame:
    """One row per non-empty bin."""
    table = tabulate(claims_of(rows, notion), [EqualWidth(bins)])[0]
    stratum, cell = np.nonzero(table.count > 0)
    return pd.DataFrame(
        {
            "of": of,
            "stratum": np.asarray(table.strata, dtype=object)[stratum],
            "score": table.mean_score[stratum, cell],
            "right": table.mean_outcome[stratum, cell],
            "rows": table.count[stratum, cell],
            "hits": table.tally.outcome[stratum, cell],
        }
    )


PARTS = 20
"""Number of equal-width parts of the distances."""


@dataclass(frozen=True, eq=False, repr=False)
class ErrorDistances(Diagram):
    """Histogram of each estimator's distance from the truth over samples of ``n`` rows.

    ``unit``: whether distances are between shares or squares. ``median``: the median distance by series.
    ``unanswered``: the number of samples without an estimate, which are in no part.
    """

    title: str
    n: int
    unit: Unit
    parts: pd.DataFrame
    median: dict[str, float]
    unanswered: int

    def frame(self) -> pd.DataFrame:
        """One row per estimator and part, exactly the numbers drawn: ``draws`` samples from ``low`` to ``high``."""
        return self.parts


def distance_experiments() -> tuple[str, ...]:
    """Keys of the experiments on distances of estimators from one true error.

    >>> distance_experiments()
    ('squares', 'eces')
    """
    return tuple(key for key, what in EXPERIMENTS.items() if what.measure == "mse" and not what.truths)


def error_distances(
    key: str,
    truth: str | Recipe | Truth = "drawn",
    n: int = 0,
    draws: int = 0,
    random_state: int = SEED,
    progress: Progress | None = None,
) -> ErrorDistances:
    """Distances of estimates from the true error over samples, |estimate - truth|, in 20 equal-width parts.

    There are ``n`` rows per sample (0: the experiment's fewest) and ``draws`` samples (0: the experiment's number). The
    samples are those of ``error_curves`` with this seed, and the truth is the error in the estimator's bins. What can
    mislead: parts go up to the largest distance of any estimator, so one outlier squeezes all other samples into the
    first part.

    References: P2 Fig. 14 to 16.

    >>> error_distances("eces", "sigmoid", draws=5).frame().groupby("series")["draws"].sum().unique().tolist()
    [5]
    """
    what = _experiment(key)
    if key not in distance_experiments():
        raise InputError(f"{what.title!r} has no single true error; choose {' or '.join(distance_experiments())}")
    n = n or what.n[0]
    run = repeated([as_truth(truth)], n, draws or what.draws, _members("ESTIMATORS", what.estimators),
                   in_bins=what.in_bins, random_state=random_state, progress=progress)  # fmt: skip
    drawn = run.squared([each.name for each in what.estimators if each.key in what.squares]).draws()
    off = {str(name): part["off"].abs().dropna().to_numpy() for name, part in drawn.groupby("estimator", sort=False)}
    largest = max((values.max() for values in off.values() if len(values)), default=np.nan)
    if np.isnan(largest):
        raise NotAnswerable(f"no estimator of {what.title!r} works on samples of {n:,} rows: choose more rows")
    edges = np.linspace(0.0, largest or 1.0, PARTS + 1)
    counts = {name: np.histogram(values, edges)[0] for name, values in off.items()}
    parts = pd.concat(
        pd.DataFrame({"series": name, "low": edges[:-1], "high": edges[1:], "draws": count})
        for name, count in counts.items()
    ).reset_index(drop=True)
    medians = {name: float(np.median(values)) if len(values) else np.nan for name, values in off.items()}
    unit: Unit = "score" if any(each.key == "debiased-l2" for each in what.estimators) else "share"
    return ErrorDistances(what.title, n, unit, parts, medians, int(drawn["off"].isna().sum()))
