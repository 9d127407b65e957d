"""How far a star may lie from the diagonal by chance: Wilson intervals of bins, and consistency bands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from calib_core._base.arrays import Float64s
from calib_core.binning import risk_bins
from calib_core.binning.base import BinningScheme, as_binning
from calib_core.binning.bin_table import tabulate
from calib_core.claims.binary_claims import Claims, FlatClaims
from calib_core.defaults import LEVEL, SEED
from calib_core.diagrams.base import Diagram
from calib_core.diagrams.reliability import ReliabilityDiagram
from calib_core.estimators.base import Question
from calib_core.estimators.debiased import worth
from calib_core.inference.intervals.clustered_rows import GroupsInCells, groups_of, share_ends_of
from calib_core.inference.intervals.elementary import wilson
from calib_core.inference.intervals.grouped_row_noise import sums_in_cells
from calib_core.inference.noise import outcome_draws
from calib_core.inference.noise.noise_floor import RESAMPLES, null_outcomes
from calib_core.predictions.predictions import InputError, Predictions
from calib_core.reductions.base import Reduction, as_reduction, claims_of, scope


@dataclass(frozen=True, eq=False, repr=False)
class ReliabilityBands(Diagram):
    """Two answers per bin of one stratum; arrays are (bins,), NaN where a bin is empty.

    ``accuracy_low`` .. ``accuracy_high`` is where the bin's true accuracy lies (Wilson), ``band_low`` .. ``band_high``
    where the star of a calibrated model with these scores would lie (consistency band), both at ``level`` per bin.
    """

    formula: ClassVar[str] = (
        r"\bar z_b^{\,*} = \frac{1}{n_b} \sum_{i \in b} z_i^*,\quad z_i^* \sim \text{Bernoulli}(s_i)"
    )

    lower: Float64s
    upper: Float64s
    count: Float64s
    confidence: Float64s
    accuracy: Float64s
    accuracy_low: Float64s
    accuracy_high: Float64s
    band_low: Float64s
    band_high: Float64s
    level: float

    @property
    def outside(self) -> int:
        """How many stars lie outside their band; about (1 - level) of the bins do so by chance."""
        slack = 1e-12
        return int(((self.accuracy < self.band_low - slack) | (self.accuracy > self.band_high + slack)).sum())

    def frame(self) -> pd.DataFrame:
        """One line per non-empty bin, exactly the numbers drawn."""
        names = ("lower", "upper", "count", "confidence", "accuracy", "accuracy_low", "accuracy_high")
        columns = {name: getattr(self, name) for name in (*names, "band_low", "band_high")}
        return pd.DataFrame({"bin": np.arange(len(self.lower)), **columns})[self.count > 0].reset_index(drop=True)


def reliability_bands(
    predictions: Predictions,
    bins: int | str | Sequence[float] | BinningScheme | None = None,
    reduction: str | Reduction = "confidence",
    stratum: int = 0,
    level: float = LEVEL,
    resamples: int = RESAMPLES,
    random_state: int = SEED,
) -> ReliabilityBands:
    """Wilson intervals and consistency bands for the bins of a reliability diagram.

    ``bins`` is a number of equal-width bins, a key of BINNINGS, a list of edges or a scheme; without it risks of an
    event have those of ``binning.risk_bins``. The band resamples outcomes from the scores on the same bins and takes
    the middle ``level`` of each bin's mean outcomes: a star outside its band is unlikely for a calibrated model. Rows
    of unequal weight count as the effective sample size of their own bin, (sum w)^2 / sum w^2. Rows that belong
    together: exact intervals of the fewer independent rows that tell as much, and the widest band of outcomes drawn
    alone and in groups. What can mislead: bands hold bin by bin, not all at once; of ten stars of a calibrated model
    one lies outside its 90 % band on average.

    References: Broecker & Smith 2007, Increasing the reliability of reliability diagrams; Kish 1965 (weights); Wilson
    1927.

    >>> p = Predictions.from_confidence([0.6] * 100, [True] * 60 + [False] * 40)
    >>> reliability_bands(p, 5).frame()[["band_low", "band_high"]].round(1).values.tolist()
    [[0.5, 0.7]]
    """
    question = Question(predictions.written_out(), as_reduction(reduction), None)
    claims, groups = claims_of(question.predictions, reduction), groups_of(question)
    mine, weights = _alone(claims, stratum), claims.stratum(stratum).weights
    of_event = scope(as_reduction(reduction)).of == "event"
    table = tabulate(mine, [risk_bins(mine, bins) if of_event else as_binning(bins)])[0]
    sample = null_outcomes(mine, table)
    rows = table.count[0]
    drawn = np.concatenate([sample(rng, count)[:, 0] for count, rng in outcome_draws.streams(resamples, random_state)])
    shares = np.divide(drawn, rows, out=np.full(drawn.shape, np.nan), where=rows > 0)
    low, high = np.full(len(rows), np.nan), np.full(len(rows), np.nan)
    filled = rows > 0
    ends = (1 - level) / 2, (1 + level) / 2
    low[filled], high[filled] = np.quantile(shares[:, filled], ends, axis=0)
    effective = worth(mine, table)[0]
    sure = wilson(np.nan_to_num(table.mean_outcome[0]) * effective, effective, level)
    if groups is not None:
        own = groups.take(claims.rows_of(stratum, question.ranks))
        for sums in sums_in_cells(mine, table, own, random_state):
            least, most = np.quantile(sums[:, filled] / rows[filled], ends, axis=0)
            low[filled] = np.clip(np.minimum(low[filled], least), 0.0, 1.0)
            high[filled] = np.clip(np.maximum(high[filled], most), 0.0, 1.0)
        sure = share_ends_of(GroupsInCells.of(mine, table, own), weights is None, level)
    parts = (rows, table.mean_score[0], table.mean_outcome[0], *sure, low, high)
    return ReliabilityBands(table.lower[0], table.upper[0], *parts, level)


def _alone(claims: Claims, stratum: int) -> Any:
    """The claims of one stratum by themselves."""
    part: Any = claims.stratum(stratum)
    if claims.grain == "counts":
        counted: Any = claims
        return replace(counted, cells=part.cells, strata=(claims.strata[stratum],), shares=np.ones(1))
    codes = np.zeros(len(part.scores), dtype=np.intp)
    return FlatClaims(part.scores, part.outcomes, codes, (claims.strata[stratum],), np.ones(1), part.weights)


def banded_bins(diagram: ReliabilityDiagram, bands: ReliabilityBands) -> pd.DataFrame:
    """The bins of a reliability diagram with their intervals and bands: the numbers of both, a line per non-empty bin.

    InputError where the two are not of the same bins. What can mislead: of ten stars of a calibrated model one lies
    outside its 90 % band on average.

    >>> from calib_core.diagrams import reliability
    >>> p = Predictions.from_confidence([0.6] * 100, [True] * 60 + [False] * 40)
    >>> frame = banded_bins(reliability(p, 5), reliability_bands(p, 5))
    >>> frame[["bin", "accuracy", "band_low"]].round(1).values.tolist()
    [[3.0, 0.6, 0.5]]
    """
    stars, limits = diagram.frame(), bands.frame()
    alike = ["bin", "lower", "upper", "count"]
    if not stars[alike].equals(limits[alike]):
        raise InputError("the bands are of other bins than the diagram")
    return stars.join(limits[["accuracy_low", "accuracy_high", "band_low", "band_high"]])
