"""Errors that choose no bins by hand: the equal-mass sweep, and cumulative differences without bins."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calib_core._base.arrays import Bools, Codes, Float64s, Floats
from calib_core.binning.bin_table import BinTable, padded
from calib_core.binning.interval_schemes import EqualMass, rows_of_first
from calib_core.claims.binary_claims import Claims, Ordered, Stratum
from calib_core.claims.exact_sums import Tally, running
from calib_core.estimators.base import ESTIMATORS, Estimated, by_stratum
from calib_core.estimators.residuals import NORM, Image, absolute, inner_edges
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
        """The distinct score of each of these; any other is moved to a neighbor."""
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
        """Inner edges and sums of this number of bins, from one outcome sum per distinct score."""
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
        """Ends of the given number of bins; 0 means one bin per distinct score."""
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
        """Ends of the bins that contain any of these rows: means of 0 before and of 1 after them never fall."""
        n = len(self._scores)
        before, after = _whole_bins(n, bins, low), _whole_bins(n, bins, high) + 1
        inner = rows_of_first(n, bins, np.arange(max(before, 1), min(after, bins - 1) + 1))
        ends = self._place[inner - 1] + 1
        outer = [0] * (before == 0), [len(self.distinct)] * (after >= bins)
        every = np.concatenate([outer[0], ends, outer[1]]).astype(np.intp)
        return np.asarray(every[np.append(True, np.diff(every) > 0)])


def _whole_bins(n: int, bins: int, rows: int) -> int:
    """Number of bins that the first rows fill."""
    size, extra = divmod(n, bins)
    larger = min(rows // (size + 1), extra)
    return larger if larger < extra else extra + (rows - extra * (size + 1)) // size


def _rising(means: Float64s) -> Bools:
    return np.asarray((np.diff(means, axis=1) >= -_SLACK).all(axis=1))


_TABLE_CELLS = 1_000_000
"""Largest table (strata times bins) kept with the estimate."""
_PLACES = 4096
"""Most places a cumulative sum is read at for many draws: a path misses little of its range between them."""


@ESTIMATORS.register(
    "ece-sweep",
    "ECE (swept bins)",
    reference="Roelofs et al. 2022, Alg. 1",
    flags=NORM,
    elsewhere="Roelofs and others' ECE-sweep with equal-mass bins.",
    formula=(
        r"\sum_l w_l \sum_{b=1}^{B_l^*} \frac{n_{lb}}{n_l}\,\bigl|\bar z_{lb} - \bar s_{lb}\bigr|,\quad"
        r"B_l^* = \max\bigl\{B : \bar z_{l1} \le \dots \le \bar z_{lB'} \text{ for all } B' \le B\bigr\}"
    ),
)
@dataclass(frozen=True)
class EceSweep:
    """ECE in as many equal-mass bins as possible while observed frequencies still rise with the score.

    In each stratum B is the largest number such that for every B' <= B the mean outcomes of B' equal-mass bins are
    non-decreasing. It is found by walking up from B = 1. The value is sum_b n_b/n |z_b - s_b| on those B bins, in [0,
    1]. Equal scores stay in one bin, so different B can be the same bins. What can mislead: it presumes that outcomes
    truly rise with the score. A stratum whose outcomes never fall (all of one kind, or perfectly ranked) gets one bin
    per distinct score. The table of bins is left out beyond a million cells.

    References: Roelofs, Cain, Shlens & Mozer 2022, Mitigating bias in calibration error estimation (equal-mass form).

    >>> from calib_core.predictions.predictions import Predictions
    >>> from calib_core.reductions import Confidence
    >>> p = Predictions.from_confidence([0.2, 0.4, 0.6, 0.8], [False, True, False, True])
    >>> swept = EceSweep()(Confidence().split(p))  # means of 2 bins 1/2, 1/2; of 3 bins 1/2, 0, 1
    >>> swept.bins.n_bins.tolist(), round(swept.value, 2)
    ([2], 0.2)
    """

    def __call__(self, claims: Claims) -> Estimated:
        rows = [_swept(claims.stratum(s)) for s in range(len(claims.strata))]
        estimated = by_stratum(claims, [_error(tally) for _, tally in rows])
        return Estimated(estimated.value, estimated.per_stratum, _table(claims, rows))

    def image(self, claims: Claims, estimated: Estimated, s: int, stratum: Stratum) -> Image:
        """Sums of residuals in the bins its walk chose."""
        if estimated.bins is None:
            # The table was too large to keep: a bin per distinct score.
            distinct, place = np.unique(stratum.scores, return_inverse=True)
            return Image(place, None, len(distinct), absolute)
        edges = inner_edges(estimated, s)
        place = np.searchsorted(edges.astype(stratum.scores.dtype), stratum.scores, side="right")
        return Image(place, None, len(edges) + 1, absolute)

    def redrawn(self, claims: Claims, s: int, stratum: Stratum) -> Image:
        """Sums of outcomes at the distinct scores, on which each draw walks for itself."""
        walk = Walk(stratum.counted().in_order())
        return Image(walk.place(stratum.scores), None, len(walk.distinct), walk.errors)


@ESTIMATORS.register(
    "max-deviation",
    "Maximum cumulative deviation",
    reference="Arrieta-Ibarra et al. 2022; Rossellini et al. 2025",
    flags=NORM,
    elsewhere=(
        "The cutoff calibration error of Rossellini and others; the ECCE of MCGrad, which takes equal scores in the "
        "order of the rows."
    ),
    formula=r"\max_{j < k}\,\Bigl|\frac{1}{n} \sum_{i=j+1}^{k} \bigl(z_{(i)} - s_{(i)}\bigr)\Bigr|,"
    r"\quad s_{(1)} \le s_{(2)} \le \dots",
)
@dataclass(frozen=True)
class MaxDeviation:
    """Largest difference of observed and expected outcomes over any range of scores, as a share of all rows.

    max_j D_j - min_j D_j (Kuiper), D_j = 1/n sum of (z_i - s_i) over the rows with the j smallest distinct scores, D_0
    = 0. This is the largest |sum of (z_i - s_i)| / n over intervals of scores, in [0, 1]. No bins and no bandwidth;
    equal scores are summed as one, so the order of rows has no effect. Strata are averaged according to the notion. It
    is at most the ECE of the finest bins, and it sees miscalibration in any direction where it lasts over many rows.

    The same number is the cutoff calibration error of these rows, sup over intervals I of |E[(z - s) 1{s in I}]|; its
    second key is ``cutoff``. Unlike an ECE without bins it can be estimated from rows. A decision that acts where the
    score is in an interval is off by no more. What can mislead: rows count, so a gross error in few rows is small. A
    calibrated model shows about 0.6 / sqrt(n).

    References: Arrieta-Ibarra, Gujral, Tannen, Tygert & Xu 2022, Metrics of calibration for probabilistic predictions;
    Rossellini, Soloff, Barber, Ren & Willett 2025, Can a calibration metric be both testable and actionable?

    >>> from calib_core.predictions.predictions import Predictions
    >>> from calib_core.reductions import Confidence
    >>> p = Predictions.from_confidence([0.25, 0.25, 0.75, 0.75], [True, True, False, False])
    >>> MaxDeviation()(Confidence().split(p)).value  # D = 0, 0.375, 0
    0.375
    """

    def __call__(self, claims: Claims) -> Estimated:
        return by_stratum(claims, [_kuiper(claims.stratum(s)) for s in range(len(claims.strata))])

    def image(self, claims: Claims, estimated: Estimated, s: int, stratum: Stratum) -> Image:
        """Sums of residuals at the distinct scores, the range of their running sums."""
        distinct, place = np.unique(stratum.scores, return_inverse=True)
        size = min(len(distinct), _PLACES)
        return Image(place * size // len(distinct), None, size, _range)

    def redrawn(self, claims: Claims, s: int, stratum: Stratum) -> Image:
        """Sums of outcomes at the distinct scores, less the scores there."""
        distinct, place = np.unique(stratum.scores, return_inverse=True)
        score = stratum.scores.astype(np.float64)
        claimed = np.bincount(place, score if stratum.weights is None else score * stratum.weights, len(distinct))
        return Image(place, None, len(distinct), lambda sums: _range(sums - claimed) / stratum.total)


ESTIMATORS.names["cutoff"] = "max-deviation"
ESTIMATORS.asides["multicalibration"] = (
    "it is an error within groups of rows, which claims do not have: use slices.multicalibration(predictions, groups)"
)


def _range(sums: Float64s) -> Float64s:
    path = np.cumsum(sums, axis=-1)
    return np.asarray(np.maximum(path.max(axis=-1), 0.0) - np.minimum(path.min(axis=-1), 0.0))


def _swept(stratum: Stratum) -> tuple[Floats, Tally]:
    """Edges and sums of the largest number of bins reached."""
    ordered = stratum.counted().in_order()
    if not len(ordered.scores):
        return ordered.scores, ordered.sums(ordered.scores)
    walk = Walk(ordered)
    sums = np.bincount(walk.place(ordered.hits), ordered.hit_weights, len(walk.distinct)).astype(np.float64)
    return walk.tally(sums, int(walk.reached(sums[None])[0]))


def _cumulative(ordered: Ordered) -> tuple[Float64s, Float64s]:
    """Sums of the scores of the first 0, 1, ... rows, and of the outcomes of all rows below the next row's score."""
    mass = np.ones(len(ordered.scores)) if ordered.weights is None else ordered.weights
    claimed = np.append(0.0, np.cumsum(mass * ordered.scores))
    by = np.argsort(ordered.hits, kind="stable")
    hits = np.append(0.0, np.cumsum(np.ones(len(by)) if ordered.hit_weights is None else ordered.hit_weights[by]))
    below = hits[np.searchsorted(ordered.hits[by], ordered.scores, side="left")]
    return claimed, np.append(below, hits[-1])


def _error(tally: Tally) -> float:
    rows = float(tally.count.sum())
    return float(np.abs(tally.outcome - tally.score).sum()) / rows if rows > 0 else float("nan")


def _table(claims: Claims, rows: list[tuple[Floats, Tally]]) -> BinTable | None:
    most = max(len(edges) + 1 for edges, _ in rows)
    return padded(claims, rows) if most * len(rows) <= _TABLE_CELLS else None


def _kuiper(stratum: Stratum) -> float:
    if stratum.total <= 0:
        return float("nan")
    ordered = stratum.in_order()
    claimed, came_true = _cumulative(ordered)
    # D is read where a group of equal scores ends; it falls between claims that came true and rises at them.
    turns = np.unique(ordered.hits)
    ends = np.concatenate([np.searchsorted(ordered.scores, turns, side=side) for side in ("left", "right")])
    ends = np.append(ends, [0, len(ordered.scores)])
    deviation = (came_true[ends] - claimed[ends]) / stratum.total
    return float(deviation.max() - deviation.min())
