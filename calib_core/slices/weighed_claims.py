"""Claims of single rows, in order of their scores, and the noise of errors within groups: by row or by cluster."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from calib_core._base.arrays import Float64s
from calib_core._base.distributions import norm
from calib_core.inference.intervals.clustered_rows import normals, poor, together, widened
from calib_core.inference.intervals.elementary import beyond
from calib_core.inference.intervals.wild_bootstrap import excess
from calib_core.inference.noise import outcome_draws
from calib_core.predictions.predictions import NotAnswerable, Predictions, whole
from calib_core.predictions.row_groups import RowGroups
from calib_core.slices.score_runs import GroupFamily, Runs

RESAMPLES = 1000
"""Draws of outcomes; half as many of residuals times standard normals."""
_FEWEST_DRAWS, _MOST_NUMBERS = 200, 50_000_000
"""Of so many rows that draws would hold more numbers than these there are fewer, but never fewer than so many."""
_AT_ONCE = 4_000_000
"""Drawn numbers held at a time."""
_TAIL = 0.05
"""Where Student's point is compared with the normal one, to widen noise that few clusters tell of."""


@dataclass(frozen=True, eq=False)
class WeighedClaims:
    """Scores, weights and weighted residuals (n,) by ascending score, in an order that no order of rows decides.

    ``clusters``: the rows that belong together; None where each stands alone.
    """

    scores: Float64s
    weights: Float64s
    moved: Float64s
    families: tuple[GroupFamily, ...]
    clusters: RowGroups | None

    @classmethod
    def of(cls, rows: Predictions, claims: Any, families: Sequence[GroupFamily]) -> WeighedClaims:
        """The claims of a notion, which has to make one of each row."""
        if claims.same_rows or len(claims.strata) != 1 or len(claims.stratum(0).scores) != rows.n_rows:
            raise NotAnswerable(
                "groups are judged in a notion in which each row makes one claim of one kind: choose confidence, or "
                "one class (class-specific)"
            )
        stratum, each = claims.stratum(0), np.ones(rows.n_rows) if rows.weights is None else rows.weights
        # Whole weights are copies, each with an outcome of its own; a row of weight 0 is no row.
        index = np.repeat(np.arange(rows.n_rows), each.astype(np.intp)) if whole(each) else np.flatnonzero(each > 0)
        codes = [family.codes[index] for family in families]
        weight = np.ones(len(index)) if whole(each) else each[index]
        score, outcome = stratum.scores.astype(np.float64)[index], stratum.outcomes[index]
        order = np.lexsort((outcome, weight, *codes, score))
        score, outcome, weight = score[order], outcome[order], weight[order]
        sorted_families = tuple(GroupFamily(c[order], family.names) for c, family in zip(codes, families, strict=True))
        clusters = None if rows.row_groups is None else rows.row_groups.take(index[order])
        return cls(score, weight, weight * (outcome - score), sorted_families, clusters)

    @property
    def tested(self) -> bool:
        """Do they weigh alike, each by itself?"""
        return self.clusters is None and bool((self.weights == self.weights[0]).all())

    def laws(self, runs: Runs, random_state: int) -> tuple[list[Float64s], list[Float64s]]:
        """Errors of groups that noise makes, (draws, groups), by each law for calibrated claims, and for any claims.

        Outcomes drawn from the scores, and residuals multiplied by standard normals, one a row. Where rows belong
        together: the first as much wider, group by group, as the second is with one normal a cluster; the second so,
        for both; and, where surprises are rare, outcomes that are alike within clusters. Both wider by Student's point
        for as many clusters.
        """
        null = np.concatenate([runs.errors(part) for part in self._calibrated(random_state)])
        single = np.concatenate([runs.errors(part) for part in self._multiplied(random_state, None)])
        if self.clusters is None:
            return [null], [null, single]
        room = widened(self.clusters, _TAIL)
        wild = np.concatenate([runs.errors(part) for part in self._multiplied(random_state, self.clusters)])
        usual = single.mean(axis=0)
        wider = np.divide(wild.mean(axis=0), usual, out=np.ones(len(usual)), where=usual > 0)
        found = [null * room * np.maximum(wider, 1.0), wild * room]
        if poor(self.clusters, self.scores):
            found.append(np.concatenate([runs.errors(part) for part in self._alike(random_state)]))
        return found, found

    def hidden(self, tail: float) -> float:
        """What one-sided noise can have hidden of a sum over all claims, as a share of all weight."""
        total = float(self.weights.sum())
        moved = together(np.abs(self.moved), self.clusters) / total
        return widened(self.clusters, tail) * excess(moved, self._most / total, tail)

    def hidden_in(self, runs: Runs, tail: float) -> Float64s:
        """The same of each group's error, (groups,)."""
        squares = np.maximum(
            runs.squares(np.abs(self.moved) / self._most, None if self.clusters is None else self.clusters.codes), 0.0
        )
        limits = np.asarray([beyond(float(square), tail) for square in squares])
        return widened(self.clusters, tail) * limits * self._most / runs.weight

    @property
    def _most(self) -> float:
        """The most that one row, or cluster, weighs."""
        return float(together(self.weights, self.clusters).max())

    def _calibrated(self, random_state: int) -> Iterator[Float64s]:
        """Weighted residuals of outcomes drawn from the scores, (draws, n) at a time."""
        for count, rng in outcome_draws.streams(self._draws, random_state):
            for part in self._parts(count):
                yield self.weights * ((rng.random((part, len(self.scores))) < self.scores) - self.scores)

    def _multiplied(self, random_state: int, clusters: RowGroups | None) -> Iterator[Float64s]:
        """Weighted residuals times standard normals, one a row or one a cluster, (draws, n) at a time."""
        rng = np.random.default_rng(np.random.SeedSequence(random_state, spawn_key=(1,)))
        for part in self._parts(max(self._draws // 2, _FEWEST_DRAWS)):
            if clusters is None:
                yield self.moved * rng.standard_normal((part, len(self.scores)))
            else:
                yield self.moved * normals(clusters, self.moved, rng, part)[clusters.codes].T

    def _alike(self, random_state: int) -> Iterator[Float64s]:
        """Weighted residuals where all rows of a cluster follow one uniform number, (draws, n) at a time."""
        assert self.clusters is not None
        rng = np.random.default_rng(np.random.SeedSequence(random_state, spawn_key=(9,)))
        for part in self._parts(_FEWEST_DRAWS):
            uniform = norm.cdf(normals(self.clusters, self.moved, rng, part))[self.clusters.codes].T
            yield self.weights * ((uniform < self.scores) - self.scores)

    @property
    def _draws(self) -> int:
        return min(RESAMPLES, max(_FEWEST_DRAWS, _MOST_NUMBERS // len(self.scores)))

    def _parts(self, count: int) -> Iterator[int]:
        most = max(1, _AT_ONCE // len(self.scores))
        return (min(most, count - start) for start in range(0, count, most))
