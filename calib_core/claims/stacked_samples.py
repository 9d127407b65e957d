"""Equally sized claim sets, stacked so that one vectorized pass estimates all of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from calib_core._base.arrays import Bools, Float64s, Floats
from calib_core._base.notebook_display import OneLine

if TYPE_CHECKING:
    from calib_core.claims.binary_claims import Claims


@dataclass(frozen=True, eq=False, repr=False)
class Samples(OneLine):
    """Scores and outcomes (samples, strata, n) of claims of weight 1, equally many in every stratum of every sample.

    ``shares`` (samples, strata) are the strata's aggregate weights, ``floor`` is the lowest score. A line is one
    stratum of one sample.
    """

    scores: Floats
    outcomes: Bools
    shares: Float64s
    floor: float = 0.0

    @property
    def n(self) -> int:
        """Number of claims per line."""
        return int(self.scores.shape[2])

    @cached_property
    def lines(self) -> Floats:
        """Scores, (lines, n)."""
        return self.scores.reshape(-1, self.n)

    @cached_property
    def ordered(self) -> Floats:
        """Scores of each line, ascending, (lines, n)."""
        return np.sort(self.lines, axis=1)

    @cached_property
    def residuals(self) -> Float64s:
        """Outcomes minus scores, (lines, n)."""
        return np.asarray(self.outcomes.reshape(-1, self.n) - self.lines.astype(np.float64))

    def mean(self, lines: Float64s) -> Float64s:
        """Return the share-weighted mean over strata of values (lines,), one for each sample."""
        return np.asarray((lines.reshape(self.shares.shape) * self.shares).sum(axis=1))


def side_by_side(samples: Sequence[Claims]) -> Samples | None:
    """Stack the claims of several samples; None if they are weighted, or not equally many in every stratum.

    >>> from calib_core.predictions.predictions import Predictions
    >>> from calib_core.reductions import Confidence
    >>> two = [Confidence().split(Predictions.from_confidence([c, c], [True, False])) for c in (0.7, 0.9)]
    >>> side_by_side(two).lines.tolist()
    [[0.7, 0.7], [0.9, 0.9]]
    """
    if any(claims.weights is not None for claims in samples):
        return None
    strata = [[claims.stratum(s) for s in range(len(claims.strata))] for claims in samples]
    if len({len(each.scores) for mine in strata for each in mine}) != 1 or len(set(map(len, strata))) != 1:
        return None
    return Samples(
        np.array([[each.scores for each in mine] for mine in strata]),
        np.array([[each.outcomes for each in mine] for mine in strata]),
        np.stack([claims.shares for claims in samples]),
        samples[0].floor,
    )
