"""How far the estimates of many samples lie from the truth, as histograms (P2 Fig. 14 to 16)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from calib_core._base.errors import InputError, NotAnswerable
from calib_core._base.parallel import Progress
from calib_core.defaults import SEED
from calib_core.diagrams.base import Diagram
from calib_core.lab.experiments import EXPERIMENTS, _experiment, _members
from calib_core.lab.repeats import repeated
from calib_core.lab.truths import Truth, as_truth
from calib_core.registry.registry import Recipe
from calib_core.text import Unit

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
