"""Groups of adjacent bins with enough rows for a statement, formed from scores only (as P1 Alg. 8 requires)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from calib_core._base.arrays import Bools, Codes, Float64s, Floats
from calib_core.binning.base import BINNINGS, BinningScheme, Cuts, IntervalScheme, as_intervals
from calib_core.binning.bin_table import BinTable, padded, tabulate_at
from calib_core.binning.interval_schemes import EqualWidth, PointsPerBin
from calib_core.claims.binary_claims import Claims, Stratum
from calib_core.claims.exact_sums import Tally
from calib_core.predictions.predictions import NotAnswerable
from calib_core.predictions.validation import whole
from calib_core.registry.registry import Range

_SLACK = 1 - 1e-9
"""Tolerance for sums of fractions that equal the limit up to rounding."""
_NAMED = 3
"""Maximum number of pooled strata whose names are joined; with more, only their number is shown."""


@BINNINGS.register("groups", "Groups of enough rows", flags=Cuts(pools=True))
@dataclass(frozen=True)
class Groups:
    """Adjacent equal-width bins of a class, merged until each group has 20 rows; small classes are pooled.

    Bins of a class are merged from 0 upwards until a group has ``rows`` rows; a remainder at the top joins the group
    below. Classes with fewer rows are first pooled, bin by bin, and then merged in the same way. If the pooled ones
    still have too few rows, the smallest of the other classes is pooled with them. So every group has ``rows`` rows
    unless all classes together have fewer. Only scores and classes matter, never outcomes.

    If every row makes a claim about every class (class-wise), a score near 0 or 1 contains little information. A group
    is then full if the scores' variances sum(s (1 - s)) reach rows / 4, the value of ``rows`` rows at one half. In a
    bin between l and u the variances count with their lower bound, sum(s (1 - l - u) + l u). Whole weights count as
    copies of rows, others as (sum w)^2 / sum w^2 equal ones (Kish 1965).

    With ``variance`` v above 0, variances replace rows. A group is then full if n m (1 - m), summed over its bins (with
    n rows of mean score m each), reaches v. Classes with less are pooled with others of similar mean score. There are
    as many clusters as reach v, so not all small classes are in one group. A remainder joins the cluster below or, if
    there is none, the class with the least variance.

    What can mislead: the error over groups is at most that in their bins, since errors of opposite sign in one group
    cancel. Finer errors are hidden.

    >>> Groups(rows=2, bins=4).edges(np.array([0.1, 0.3, 0.6, 0.8, 0.9]), None).tolist()
    [0.5]
    """

    rows: Annotated[int, Range(1, 100_000, log=True), "Rows per group", "fewest rows in a group"] = 20
    bins: Annotated[int, Range(1, 1000), "Bins before merging", "number of equal-width bins"] = 15
    variance: Annotated[
        float, Range(0.0, 1000.0), "Variance per group", "least sum of s (1 - s) in a group; 0: rows are counted"
    ] = 0.0

    def __post_init__(self) -> None:
        PointsPerBin(self.rows)
        EqualWidth(self.bins)

    def fixed_edges(self) -> None:
        return None

    def edges(self, ordered: Floats, weights: Float64s | None) -> Floats:
        """Return inner edges of the groups of a single class."""
        fine = EqualWidth(self.bins).edges(ordered, weights)
        codes = np.searchsorted(fine, ordered, side="right")
        count = np.bincount(codes, weights, self.bins).astype(np.float64)
        squares = None if weights is None or whole(weights) else _sums(codes, np.square(weights), self.bins)
        if self.variance > 0:
            score = _sums(codes, ordered.astype(np.float64) * (1.0 if weights is None else weights), self.bins)
            runs = _runs(_variances(count, score, squares)[None, None], self.variance)[0]
            return np.asarray(fine[np.diff(runs) > 0])
        runs = _runs(_parts(count, count, squares)[:, None], self.rows)[0]
        return np.asarray(fine[np.diff(runs) > 0])

    def table(self, claims: Claims) -> BinTable:
        """Return the groups of all strata; those of pooled strata are in a last stratum."""
        edges = EqualWidth(self.bins).fixed_edges()
        fine = tabulate_at(claims, edges)
        weights, squares = claims.weights, None
        if weights is not None and not whole(weights):
            squares = claims.reweighed(np.square(weights)).tally(edges.astype(claims.dtype)).count
        if self.variance > 0:
            return _clustered(fine, self.variance, squares).table(fine)
        return _grouping(fine, self.rows, claims.same_rows, squares).table(fine)


def group_codes(fine: BinTable, rows: int = 20, *, same_rows: bool = False) -> Codes:
    """Group of each (stratum, bin) of a table of fine bins, shape (strata, bins), numbered from 0.

    The rule is that of ``Groups``; it needs counts and sums of scores only, so a table is enough. ``same_rows``: every
    row makes a claim in every stratum (class-wise). Weights count as copies of rows. Empty bins belong to the
    group around them.

    >>> from calib_core.binning import EqualWidth, tabulate
    >>> from calib_core.predictions.predictions import Predictions
    >>> from calib_core.reductions import TopLabel
    >>> p = Predictions.from_confidence([0.1, 0.3, 0.6, 0.8, 0.9, 0.2], predicted=[0, 0, 0, 0, 1, 2], labels=[0] * 6)
    >>> group_codes(tabulate(TopLabel().split(p), [EqualWidth(4)])[0], rows=2).tolist()
    [[0, 0, 1, 1], [2, 2, 2, 2], [2, 2, 2, 2]]
    """
    return _grouping(fine, rows, same_rows, None).codes


def variance_codes(fine: BinTable, variance: float) -> Codes:
    """Group of each (stratum, bin) by variances: groups with sum n m (1 - m) >= ``variance``, classes in clusters.

    >>> from calib_core.binning import EqualWidth, tabulate
    >>> from calib_core.predictions.predictions import Predictions
    >>> from calib_core.reductions import TopLabel
    >>> said = [0.5] * 8 + [0.9] * 12 + [0.5] * 3 + [0.6] * 3
    >>> p = Predictions.from_confidence(said, predicted=[0] * 20 + [1] * 3 + [2] * 3, labels=[0] * 26)
    >>> variance_codes(tabulate(TopLabel().split(p), [EqualWidth(2)])[0], 1.0).tolist()
    [[0, 0], [1, 1], [1, 1]]
    """
    return _clustered(fine, variance, None).codes


@dataclass(frozen=True, eq=False)
class _Grouping:
    """Line of each stratum (strata,), and group of each bin within its line (lines, bins)."""

    joined: Codes
    runs: Codes

    @property
    def codes(self) -> Codes:
        """Group numbers over all lines, (strata, bins)."""
        first = np.cumsum(self.runs[:, -1] + 1) - self.runs[:, -1] - 1
        return np.asarray((first[:, None] + self.runs)[self.joined])

    def table(self, fine: BinTable) -> BinTable:
        lines, width = len(self.runs), int(self.runs.max()) + 1
        lower, upper = np.full((lines, width), np.nan), np.full((lines, width), np.nan)
        entries = (np.repeat(np.arange(lines), self.runs.shape[1]), self.runs.ravel())
        np.fmin.at(lower, entries, np.tile(fine.lower[0], lines))
        np.fmax.at(upper, entries, np.tile(fine.upper[0], lines))
        cells = self.joined[:, None] * width + self.runs[self.joined]
        tally = fine.tally.grouped(cells, (lines, width))
        shares = _sums(self.joined, fine.shares, lines)
        if lines == len(fine.strata):
            return BinTable(fine.strata, shares, lower, upper, tally)
        return BinTable(self._names(fine), shares, lower, upper, tally, self.joined)

    def _names(self, fine: BinTable) -> tuple[str, ...]:
        claimed, members = fine.count.sum(axis=1) > 0, np.bincount(self.joined, minlength=len(self.runs))

        def name(line: int) -> str:
            mine = np.flatnonzero(self.joined == line)
            pooled = [fine.strata[s] for s in mine if claimed[s] or members[line] == 1]
            return ", ".join(pooled) if len(pooled) <= _NAMED else f"{len(pooled)} classes pooled"

        return tuple(name(line) for line in range(len(self.runs)))


def _grouping(fine: BinTable, rows: int, same_rows: bool, squares: Float64s | None) -> _Grouping:
    mass, least = (_least_variance(fine), rows / 4) if same_rows else (fine.count, float(rows))
    parts = _parts(fine.count, mass, squares)
    pooled = _pooled(parts, least, fine.count.sum(axis=1) > 0)
    own = np.flatnonzero(~pooled)
    if not pooled.any():
        return _Grouping(own, _runs(parts, least))
    joined = np.full(len(pooled), len(own))
    joined[own] = np.arange(len(own))
    together = parts[:, pooled].sum(axis=1, keepdims=True)
    return _Grouping(joined, _runs(np.concatenate([parts[:, own], together], axis=1), least))


def _clustered(fine: BinTable, least: float, squares: Float64s | None) -> _Grouping:
    """Clusters of classes with too little variance by mean score, and the runs of bins of each line."""
    mass = _variances(fine.count, fine.tally.score, squares)
    total, count = mass.sum(axis=1), fine.count.sum(axis=1)
    small = total < least * _SLACK
    few = np.flatnonzero(small & (count > 0))
    if not len(few) or (count > 0).sum() < 2:
        return _Grouping(np.arange(len(total)), _runs(mass[None], least))
    own = np.flatnonzero(~small)
    few = few[np.argsort(fine.tally.score.sum(axis=1)[few] / count[few], kind="stable")]
    clusters: list[list[int]] = [[]]
    for s in few.tolist():
        if clusters[-1] and total[clusters[-1]].sum() >= least * _SLACK:
            clusters.append([])
        clusters[-1].append(s)
    if len(clusters) > 1 and total[clusters[-1]].sum() < least * _SLACK:
        rest = clusters.pop()
        clusters[-1] += rest
    if total[clusters[0]].sum() < least * _SLACK and len(own):
        smallest = own[np.argmin(total[own])]
        clusters[0].append(int(smallest))
        own = own[own != smallest]
    joined = np.full(len(total), len(own) + len(clusters) - 1)
    joined[own] = np.arange(len(own))
    for i, cluster in enumerate(clusters):
        joined[cluster] = len(own) + i
    lines = np.zeros((len(own) + len(clusters), mass.shape[1]))
    np.add.at(lines, joined, mass)
    return _Grouping(joined, _runs(lines[None], least))


def _variances(count: Float64s, score: Float64s, squares: Float64s | None) -> Float64s:
    """Return n m (1 - m) for bins of n rows and mean score m; for non-copy weights n is Kish's effective size."""
    mean = np.divide(score, count, out=np.zeros(count.shape), where=count > 0)
    worth = count
    if squares is not None:
        worth = np.divide(np.square(count), squares, out=np.zeros(count.shape), where=squares > 0)
    return np.asarray(worth * np.maximum(mean * (1.0 - mean), 0.0))


def _least_variance(fine: BinTable) -> Float64s:
    """Lower bound of sum(s (1 - s)) for scores in [l, u] with this number and sum: s (1 - s) is above its chord."""
    low, high = fine.lower[0], fine.upper[0]
    return np.asarray(np.maximum(fine.tally.score * (1 - low - high) + fine.count * low * high, 0.0))


def _parts(count: Float64s, mass: Float64s, squares: Float64s | None) -> Float64s:
    """Terms that are summed for a group's amount, (parts, ...), including squared weights."""
    return np.array([mass]) if squares is None else np.array([mass, count, squares])


def _sums(codes: Codes, values: Float64s, size: int) -> Float64s:
    return np.bincount(codes.ravel(), values.ravel(), size).astype(np.float64)


def _amount(parts: Float64s) -> Float64s:
    """Rows (or variance), scaled to Kish's effective size for non-copy weights."""
    if len(parts) == 1:
        return np.asarray(parts[0])
    mass, count, squares = parts
    return np.asarray(np.divide(mass * count, squares, out=np.zeros(mass.shape), where=squares > 0))


def _pooled(parts: Float64s, least: float, claimed: Bools) -> Bools:
    """Mask of pooled strata, (strata,): those with too little, and the next smallest until they have enough."""
    total = _amount(parts.sum(axis=2))
    # Nothing is pooled without a partner, or if only strata without claims have too little.
    if claimed.sum() < 2 or (total[claimed] >= least * _SLACK).all():
        return np.zeros(len(total), dtype=bool)
    order = np.argsort(total, kind="stable")
    number = int((total < least * _SLACK).sum())
    while number < len(order) and _amount(parts[:, order[:number]].sum(axis=(1, 2))) < least * _SLACK:
        number += 1
    pooled = np.zeros(len(total), dtype=bool)
    pooled[order[:number]] = True
    return pooled


def _runs(parts: Float64s, least: float) -> Codes:
    """Group of each bin in its line, (lines, bins), from 0: adjacent bins merged until they have enough."""
    _, lines, bins = parts.shape
    starts = np.zeros((lines, bins), dtype=bool)
    starts[:, 0] = True
    since = np.zeros(parts.shape[:2])
    for b in range(bins - 1):
        since += parts[:, :, b]
        starts[:, b + 1] = _amount(since) >= least * _SLACK
        since[:, starts[:, b + 1]] = 0.0
    above = parts[:, :, ::-1].cumsum(axis=2)[:, :, ::-1]
    while True:
        # The remainder at the top joins the group below; with unequal weights even both can be too small.
        last = bins - 1 - starts[:, ::-1].argmax(axis=1)
        short = (_amount(above[:, np.arange(lines), last]) < least * _SLACK) & (last > 0)
        if not short.any():
            return np.asarray(starts.cumsum(axis=1) - 1)
        starts[short, last[short]] = False


def tabulate_alike(before: Claims, after: Claims, bins: int | str | BinningScheme) -> tuple[BinTable, BinTable]:
    """Tables of both models' claims in the bins of the second one, which are sets of rows.

    Bins are on the scores h(x) of the recalibrated model. The original model's groups are {x : c(x) = l, h_l(x) in
    bin}, which is P1's {x : c(x) = l, h_l(x) = r} if a bin is a value r. If h is monotone within a stratum, these are
    intervals of the uncalibrated scores (the bins' preimages), but this is not required. Edges of the first table are
    the least and the largest score of its groups, which may overlap. Raises NotAnswerable if the models do not make the
    same claims in the same order, for instance because recalibration changed predicted classes.

    References: P1 Appendix F.

    >>> from calib_core.predictions.predictions import Predictions
    >>> from calib_core.reductions import Confidence
    >>> base = Predictions.from_confidence([0.9, 0.8, 0.6], [True, False, True])
    >>> better = Predictions.from_confidence([0.5, 0.5, 1.0], [True, False, True])
    >>> was, now = tabulate_alike(Confidence().split(base), Confidence().split(better), "distinct")
    >>> was.mean_score.round(2).tolist(), now.mean_score.tolist()
    ([[0.85, 0.6]], [[0.5, 1.0]])
    """
    scheme = as_intervals(bins)
    rows = [_grouped(before.stratum(s), after.stratum(s), scheme) for s in range(_n_strata(before, after))]
    was, now = padded(before, [first for first, _, _ in rows]), padded(after, [second for _, second, _ in rows])
    for s, (_, _, ends) in enumerate(rows):
        was.lower[s, : len(ends[0])], was.upper[s, : len(ends[0])] = ends
    return was, now


def _n_strata(before: Claims, after: Claims) -> int:
    if before.strata != after.strata:
        raise NotAnswerable("the two models make claims in different strata, so one model's bins do not fit the other")
    return len(after.strata)


_Counted = tuple[Floats, Tally]


def _grouped(a: Stratum, b: Stratum, scheme: IntervalScheme) -> tuple[_Counted, _Counted, tuple[Float64s, Float64s]]:
    """Edges and sums of both models for one stratum, and the ends of the first one's groups."""
    if not np.array_equal(a.outcomes, b.outcomes):
        raise NotAnswerable(
            "recalibration changed predicted classes: the uncalibrated and the recalibrated model make different "
            "claims, so one model's bins do not fit the other"
        )
    ordered = b.counted().in_order()
    edges = scheme.edges(ordered.scores, ordered.weights)
    codes, cells = np.searchsorted(edges, b.scores, side="right"), len(edges) + 1
    w = np.ones(len(codes)) if b.weights is None else b.weights
    count, outcome, was, now = (
        np.bincount(codes, w * v, cells).astype(np.float64) for v in (1.0, b.outcomes, a.scores, b.scores)
    )
    low, high = np.full(cells, np.inf), np.full(cells, -np.inf)
    np.minimum.at(low, codes, a.scores)
    np.maximum.at(high, codes, a.scores)
    empty = low > high
    low[empty], high[empty] = np.append(0.0, edges)[empty], np.append(edges, 1.0)[empty]
    return (edges, Tally(count, was, outcome)), (edges, Tally(count, now, outcome.copy())), (low, high)
