"""One sample of a truth, and how far the estimates of many samples lie from it (P2 Fig. 14 to 16)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from calib_core._base.errors import InputError, NotAnswerable, as_whole
from calib_core._base.parallel import Progress
from calib_core.binning.bin_table import tabulate
from calib_core.binning.interval_schemes import EqualWidth
from calib_core.defaults import BINS, LEVEL, SEED
from calib_core.diagrams.base import Diagram
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
"""Points of a true curve, at most."""
LINE = 2**19
"""Rows times classes of the sample whose line stands for a law that cannot be summed up."""
LEAST_ROWS = 2500
"""Rows of it behind each point: its share is then known with a standard error of .01 at most."""


@dataclass(frozen=True, eq=False, repr=False)
class TruthCurve(Diagram):
    """How often scores come true by the law, and in the bins of one sample of ``rows`` rows, with exact intervals."""

    formula: ClassVar[str] = r"s \mapsto P(z = 1 \mid s)"

    notion: str
    rows: int
    points: pd.DataFrame

    def frame(self) -> pd.DataFrame:
        """One line per point: of the "truth", the "sample", or a "point" that the truth is drawn through; its stratum,
        mean score and share that comes true.
        """
        return self.points


def sample(truth: str | Recipe | Truth, n: int = 1000, random_state: int = SEED) -> Predictions:
    """One sample of a truth as predictions, like any others.

    >>> sample("three-classes", 5).n_rows
    5
    """
    return as_truth(truth).sample(n, random_state).predictions


def sample_table(truth: str | Recipe | Truth, n: int = 1000, random_state: int = SEED) -> pd.DataFrame:
    """One sample of a truth as a table to keep: a column of probabilities for each class, then the label.

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
    """The true curve of a notion (None: the truth's own) and one sample of n rows in bins of equal width.

    Points of the truth are means over a hundred bins of equal width: jumps within them are not seen. A law that is
    known by simulation alone has the mean of the known class probabilities there, and neighbouring bins are joined
    until each has 2,500 simulated rows (standard error .01 or less); strata with fewer have no line. Intervals are
    exact, of independent rows, a bin at a time.

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
    """Points of the law."""
    if kind_of(truth).exact:
        return _points(law(truth), notion, FINE, "truth")
    classes = truth.population(2).predictions.n_classes or 2
    simulated = truth.population(LINE // classes)
    rows = expected(simulated)
    cells = _points(rows, notion, FINE, "truth")
    # Weights have mean 1 over rows that stand there once for each class.
    cells[["rows", "hits"]] *= simulated.predictions.n_rows / rows.n_rows
    return pd.concat([_joined(mine) for _, mine in cells.groupby("stratum", sort=False)], ignore_index=True)


def _through(truth: Any, drawn: pd.DataFrame) -> pd.DataFrame:
    """The points that a drawn truth goes through, none of any other; they are of the stratum that it is about."""
    points = pd.DataFrame(truth.points if kind_of(truth).movable else np.empty((0, 2)), columns=["score", "right"])
    return points.assign(of="point", stratum=drawn["stratum"].iloc[0])


def _joined(cells: pd.DataFrame) -> pd.DataFrame:
    """Neighbouring cells of a stratum joined until each has rows enough; none where the stratum has not."""
    groups, number, here = [], 0, 0.0
    for rows in cells["rows"]:
        if here >= LEAST_ROWS:
            number, here = number + 1, 0.0
        groups.append(number)
        here += rows
    if here < LEAST_ROWS:
        groups = [min(group, number - 1) for group in groups]  # what is left over at the top joins the last
    totals = cells.assign(score=cells["score"] * cells["rows"]).groupby(groups)[["score", "rows", "hits"]].sum()
    found = totals.assign(score=totals["score"] / totals["rows"], right=totals["hits"] / totals["rows"])
    found = found.assign(of="truth", stratum=cells["stratum"].iloc[0])[list(cells)]
    return found[found["rows"] >= LEAST_ROWS]


def _points(rows: Predictions, notion: Reduction, bins: int, of: str) -> pd.DataFrame:
    """A line for each bin that is not empty."""
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
"""Parts of equal width of the distances."""


@dataclass(frozen=True, eq=False, repr=False)
class ErrorDistances(Diagram):
    """How many of the samples of ``n`` rows each estimator was so far off in, by parts of equal width.

    ``unit`` says whether distances are of shares or of squares; half the samples are nearer than the ``median``,
    by series; ``unanswered`` counts samples that an estimator could not answer, which are in no part.
    """

    title: str
    n: int
    unit: Unit
    parts: pd.DataFrame
    median: dict[str, float]
    unanswered: int

    def frame(self) -> pd.DataFrame:
        """One line per estimator and part, exactly the numbers drawn: ``draws`` samples from ``low`` to ``high``."""
        return self.parts


def distance_experiments() -> tuple[str, ...]:
    """Keys of the experiments that look at how far estimators are from one truth.

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
    """How far estimates lie from the true error, sample by sample: |estimate - truth| in 20 parts of equal width.

    ``n`` rows a sample (0: the fewest of the experiment), ``draws`` samples (0: as many as it says); the samples are
    those of ``error_curves`` with this seed, the truth is the error in the estimator's bins. What can mislead: parts
    go up to the largest distance of any estimator, so that one far-off sample squeezes all others into the first.

    References: P2 Fig. 14 to 16.

    >>> error_distances("eces", "sigmoid", draws=5).frame().groupby("series")["draws"].sum().unique().tolist()
    [5]
    """
    what = _experiment(key)
    if key not in distance_experiments():
        raise InputError(f"{what.title!r} has no single truth to be off from: {', '.join(distance_experiments())} have")
    n = n or what.n[0]
    run = repeated([as_truth(truth)], n, draws or what.draws, _members("ESTIMATORS", what.estimators),
                   in_bins=what.in_bins, random_state=random_state, progress=progress)  # fmt: skip
    drawn = run.squared([each.name for each in what.estimators if each.key in what.squares]).draws()
    off = {str(name): part["off"].abs().dropna().to_numpy() for name, part in drawn.groupby("estimator", sort=False)}
    largest = max((values.max() for values in off.values() if len(values)), default=np.nan)
    if np.isnan(largest):
        raise NotAnswerable(f"no estimator of {what.title!r} answers on samples of {n:,} rows: take more rows")
    edges = np.linspace(0.0, largest or 1.0, PARTS + 1)
    counts = {name: np.histogram(values, edges)[0] for name, values in off.items()}
    parts = pd.concat(
        pd.DataFrame({"series": name, "low": edges[:-1], "high": edges[1:], "draws": count})
        for name, count in counts.items()
    ).reset_index(drop=True)
    medians = {name: float(np.median(values)) if len(values) else np.nan for name, values in off.items()}
    unit: Unit = "score" if any(each.key == "debiased-l2" for each in what.estimators) else "share"
    return ErrorDistances(what.title, n, unit, parts, medians, int(drawn["off"].isna().sum()))
