"""The walk of the swept ECE: ever more bins of equal mass, for as long as their outcomes rise with the score."""

from __future__ import annotations

import numpy as np

from calib_core._base.arrays import Bools, Codes, Float64s, Floats
from calib_core.binning.interval_schemes import EqualMass, rows_of_first
from calib_core.claims.binary_claims import Ordered
from calib_core.claims.tallies import Tally, running
from calib_core.predictions.validation import whole

_SLACK = 1e-12
"""Bin means this close count as equal: with weights, equal means differ by rounding."""


class Walk:
    """Bins of equal mass of one stratum's claims, with what scores decide worked out once for all outcomes.

    Bins are runs of distinct scores; their ends are positions among these, from 0 to their number. Outcomes are given
    as sums (draws, distinct).
    """

    def __init__(self, ordered: Ordered) -> None:
        scores, weights = ordered.scores, ordered.weights
        self._scores, self._weights = scores, weights
        new = np.append(True, scores[1:] != scores[:-1])[: len(scores)]
        self.distinct: Floats = scores[new]
        self._place = np.cumsum(new) - 1
        size = len(self.distinct)
        weighed = scores.astype(np.float64) if weights is None else weights * scores
        self._count = np.bincount(self._place, weights, size).astype(np.float64)
        self._upto, self._claimed = (
            running(self._count),
            running(np.bincount(self._place, weighed, size).astype(np.float64)),
        )
        self._starts = np.append(np.flatnonzero(new), len(scores))

    @property
    def rows(self) -> float:
        """All rows, or their weight."""
        return float(self._upto[-1])

    def place(self, scores: Floats) -> Codes:
        """The distinct score of each of these; one that is none of them is put at a neighbour."""
        return np.asarray(np.minimum(np.searchsorted(self.distinct, scores), max(len(self.distinct) - 1, 0)))

    def errors(self, sums: Float64s) -> Float64s:
        """The swept ECE (draws,) for these outcomes."""
        upto, steps, found = running(sums), self.reached(sums), np.empty(len(sums))
        for bins in np.unique(steps):
            mine, ends = np.flatnonzero(steps == bins), self.ends(int(bins))
            distance = np.abs(np.diff(upto[np.ix_(mine, ends)], axis=1) - np.diff(self._claimed[ends]))
            found[mine] = distance.sum(axis=1) / self.rows
        return found

    def tally(self, sums: Float64s, bins: int) -> tuple[Floats, Tally]:
        """Inner edges and sums of so many bins, for one outcome sum a distinct score."""
        ends = self.ends(bins)
        parts = (self._upto, running(sums), self._claimed)
        count, outcome, score = (np.diff(part[ends])[None, :] for part in parts)
        return self.distinct[ends[1:-1]], Tally(count, score, outcome)

    def reached(self, sums: Float64s) -> Codes:
        """The largest number of bins (draws,) up to which no step's means fall; 0 stands for a bin a distinct score."""
        steps = np.zeros(len(sums), dtype=np.intp)
        # Means over runs of a rising sequence rise: where the finest do, no smaller number of bins can fail.
        walking = np.flatnonzero(~_rising(sums / self._count))
        if not len(walking):
            return steps
        upto, mixed = running(sums[walking]), self._mixed(sums[walking])
        bins, most = 1, int(self.rows) if whole(self._weights) else len(self._scores)
        while len(walking):
            steps[walking] = bins
            bins += 1
            if bins > most:
                break
            ends = self._seen(bins, *mixed) if self._weights is None else self.ends(bins)
            rise = _rising(np.diff(upto[:, ends], axis=1) / np.diff(self._upto[ends]))
            walking, upto = (walking, upto) if rise.all() else (walking[rise], upto[rise])
        return steps

    def ends(self, bins: int) -> Codes:
        """Where so many bins end; 0 stands for one a distinct score."""
        size = len(self.distinct)
        if bins == 0:
            return np.arange(size + 1)
        edges = EqualMass(bins).edges(self._scores, self._weights)
        return np.concatenate([[0], np.searchsorted(self.distinct, edges), [size]])

    def _mixed(self, sums: Float64s) -> tuple[int, int]:
        """The rows between which outcomes of both kinds lie: before them none came true, and after them all did."""
        true, false = np.flatnonzero((sums > 0).any(axis=0)), np.flatnonzero((sums < self._count).any(axis=0))
        return int(self._starts[true[0]]), int(self._starts[false[-1] + 1])

    def _seen(self, bins: int, low: int, high: int) -> Codes:
        """The ends of the bins that hold any of these rows: means of 0 before them and of 1 after them never fall."""
        n = len(self._scores)
        before, after = _whole_bins(n, bins, low), _whole_bins(n, bins, high) + 1
        inner = rows_of_first(n, bins, np.arange(max(before, 1), min(after, bins - 1) + 1))
        ends = self._place[inner - 1] + 1
        outer = [0] * (before == 0), [len(self.distinct)] * (after >= bins)
        every = np.concatenate([outer[0], ends, outer[1]]).astype(np.intp)
        return np.asarray(every[np.append(True, np.diff(every) > 0)])


def _whole_bins(n: int, bins: int, rows: int) -> int:
    """How many of the bins the first so many rows fill."""
    size, extra = divmod(n, bins)
    larger = min(rows // (size + 1), extra)
    return larger if larger < extra else extra + (rows - extra * (size + 1)) // size


def _rising(means: Float64s) -> Bools:
    return np.asarray((np.diff(means, axis=1) >= -_SLACK).all(axis=1))
