"""Histogram binning with equal-mass bins (P1 Appendix B), with equal-width bins, and of errors (P3)."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import Annotated

import numpy as np

from calib_core._base.arrays import Bools, Codes, Float64s, Floats, frozen
from calib_core.binning.base import IntervalScheme, of_interval
from calib_core.binning.interval_schemes import EqualMass, EqualWidth
from calib_core.calibrators.base import BINARY_CALIBRATORS, BinaryCalibrator, Map, MapShape, PiecewiseMap
from calib_core.calibrators.calibration_rows import are_copies, as_rows
from calib_core.calibrators.insides import Insides, Number, interval_places, shares_table
from calib_core.claims.binary_claims import Stratum
from calib_core.claims.exact_sums import places
from calib_core.defaults import SEED
from calib_core.guarantees.promise import UniformMassCells
from calib_core.registry.registry import Part, Range
from calib_core.text import several

_EDGE_SHARE, _EDGE_ROWS = 0.25, 20
"""Rows that set the edges if scores tie: a quarter of all rows, and at most 20 per bin.

Few such rows give bins of unequal mass, many leave few rows to average. With 20 to 100 points per bin the smallest bin
has most rows left at a quarter to a fifth. With more points, 20 per bin set the edges about as well as all rows.
"""

_FEW_LEVELS = 1000
"""Number of distinct scores up to which rows are drawn score by score; with more, rows are drawn by rank."""


@BINARY_CALIBRATORS.register(
    "histogram",
    "Histogram binning",
    reference="P1 Alg. 8; Gupta & Ramdas 2021, Alg. 1-2",
    flags=MapShape(bins="bins", rows="points_per_bin", counts="edges"),
)
@dataclass(eq=False, repr=False)
class Histogram(BinaryCalibrator):
    """Replaces a score by the observed frequency in its bin; all bins have about the same number of rows.

    There are B = floor(n / points_per_bin) bins (or the given number). Thresholds are the order statistics of the
    scores at ranks ceil(b (n + 1) / B), b = 1..B-1, and a bin is closed on the left. Its value is the mean outcome of
    the rows strictly between two thresholds, (mean + u) / (1 + delta). The u uniform on [0, delta] ensures that no two
    bins return the same value. There are never more bins than distinct scores. What can mislead: inside a bin all
    differences between scores are lost, and the order of two scores can flip across bins.

    *Ties.* If another row has the score of a threshold, order statistics do not divide the rows as the theorem needs.
    Equal scores must stay in one bin. Then m = min(n / 4, 20 B) rows, drawn at random without their outcomes, set the
    edges. Bins contain as nearly m / B of them as equal scores allow, and never less than half of that. A bin's value
    is the mean outcome of the *other* rows in it, averaged over all draws of as many rows among equal scores. Of g rows
    with one score, h of them true and e drawn for the edges, g - e count, with h (g - e) / g true. So the seed
    determines the edges, but not which outcomes count, and the order of the rows has no effect.

    *Bounds.* The true value of bin b is pi_b = P(Y = 1 | score in bin b) for the fitted edges. Without ties at
    thresholds this is P1 Theorem 1. Its threshold rows are left out because the thresholds fix their scores, while the
    rows strictly between are independent draws from the distribution between. A score equal to a threshold is covered
    if it has probability 0, as with continuous scores. With ties: let G be the edge rows' scores and the *bins* of the
    other rows. (G does not contain their scores: given those, the mean outcome would estimate the mean of P(Y = 1 |
    score) over these rows instead of pi_b.) The draw is independent of the rows, so the others are independent of the
    edges. Given G the n_b outcomes in bin b are independent, each true with probability pi_b. Their mean v has E[exp(t
    (v - pi_b)) | G] <= exp(t^2 / (8 n_b)) (Hoeffding's lemma). The value returned is the mean of v given all rows and
    the number drawn of each score, which is finer than G. By Jensen's inequality it satisfies the same bound, hence
    P(|value - pi_b| >= eps | G) <= 2 exp(-2 n_b eps^2). This is Theorem 1 with n_b rows averaged instead of k - 1, as
    no row is used up by a threshold. The probability is over the rows and the draw. All scores determine whether there
    are ties, so the proof covers two events. One is no ties at thresholds *and* failure of the first bound; the other
    is ties *and* failure of the second. Each has probability at most alpha. Only one of them can occur for scores that
    (nearly) always tie, or never.

    ``thresholds_`` and ``values_`` are the map. ``counts_`` are the rows of each bin and ``averaged_`` those that its
    value averages. ``placing_`` is the number of rows that only set the edges (0 without ties). Weighted rows: whole
    numbers are copies; other weights are scaled to Kish's effective sample size, and rows tied with a threshold share
    its place.

    References: P1 Algorithm 8 and Appendix B.1, after Gupta & Ramdas 2021, Algorithm 2.

    >>> h = Histogram(bins=2, delta=0).fit([0.1, 0.2, 0.3, 0.6, 0.8], [0, 1, 0, 1, 1])
    >>> h.thresholds_.tolist(), h.values_.tolist()
    ([0.3], [0.5, 1.0])
    >>> tied = Histogram(bins=2, delta=0).fit([0.5] * 8 + [1.0] * 8, [0, 1] * 4 + [1] * 8)
    >>> tied.thresholds_.tolist(), tied.values_.tolist(), tied.placing_
    ([1.0], [0.5, 1.0], 4)
    """

    points_per_bin: Annotated[
        int, Range(2, 1000), "Rows per bin", "calibration rows per bin; the authors advise 50 to 150"
    ] = 50
    bins: Annotated[int | None, Range(1, 200), "Number of bins", "number of bins instead of rows per bin"] = None
    delta: Annotated[
        float, Range(0, 0.01), "Size of the random nudge", "size of the random shift that makes bin values distinct"
    ] = 1e-10
    random_state: Annotated[
        int, Range(0, 2**31 - 1), "Random seed", "seed of the random shift and of the rows that set the edges"
    ] = SEED

    @property
    def steps(self) -> Float64s:
        return np.asarray(self.thresholds_, dtype=np.float64)

    def discrete(self, given: bool = False) -> bool:
        return True

    @property
    def min_rows(self) -> int:
        return 2 if self.bins is not None else self.points_per_bin

    def insides(self) -> Insides:
        return shares_table(self.thresholds_, self.values_, self.counts_)

    def _fit(self, scores: Floats, outcomes: Bools, weights: Float64s | None) -> None:
        if weights is not None:
            counted = weights > 0
            scores, outcomes, weights = scores[counted], outcomes[counted], as_rows(weights[counted])
            weights = None if (weights == 1.0).all() else weights
        self.weighted_ = weights is not None
        # Only the scores are sorted, without a permutation; outcomes enter through the few claims that came true.
        order = slice(None) if weights is None else np.argsort(scores, kind="stable")
        s = np.sort(scores) if weights is None else scores[order]
        upto = np.arange(len(s) + 1.0) if weights is None else np.append(0.0, np.cumsum(weights[order]))
        n_bins = self._bins(s, float(upto[-1]))
        thresholds, copies = np.unique(s[_ranks(upto, n_bins)], return_counts=True)
        below = upto[np.searchsorted(s, thresholds, side="left")]
        tied = upto[np.searchsorted(s, thresholds, side="right")] - below
        kept = _leaving_rows(below, below + copies, float(upto[-1]))
        self.ties_ = not kept.all() or bool((tied > copies).any())
        self.placing_ = 0
        if self.ties_ and (weights is None or are_copies(weights)):
            hits, rows = self._apart(s, upto, scores[outcomes], _of(weights, outcomes), n_bins)
            self.ties_ = False
        else:
            self.thresholds_, copies, below, tied = thresholds[kept], copies[kept], below[kept], tied[kept]
            rows = np.diff(np.concatenate([[0.0], below, [upto[-1]]]))
            hits, tied_hits = self._hits(scores[outcomes], None if weights is None else weights[outcomes])
            self.counts_ = rows.copy()
            rows[1:] -= copies
            self.averaged_ = rows.copy()
            hits[1:] -= copies * tied_hits / tied
        noise = np.random.default_rng(self.random_state).random(len(rows))
        self.values_ = (np.clip(hits / rows, 0.0, 1.0) + self.delta * noise) / (1.0 + self.delta)

    def _apart(
        self, ordered: Floats, upto: Float64s, true: Floats, weights: Float64s | None, n_bins: int
    ) -> tuple[Float64s, Float64s]:
        """Edges from some of the rows, and per bin the other rows and those of them that came true.

        ``true`` are the scores of claims that came true, with their weights.
        """
        starts_of_levels = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1]))
        levels = ordered[starts_of_levels]
        ends = upto[np.append(starts_of_levels, len(ordered))]
        rows = np.diff(ends)
        hits = _group_sums(np.searchsorted(levels, true), weights, len(levels))
        self.placing_ = min(int(_EDGE_SHARE * ends[-1]), _EDGE_ROWS * n_bins)
        drawn = _drawn(ends, self.placing_, self.random_state)
        starts = _equal_shares(drawn, n_bins)
        self.thresholds_ = levels[starts[1:]]
        self.counts_, all_hits = np.add.reduceat(rows, starts), np.add.reduceat(hits, starts)
        self.averaged_ = np.add.reduceat(rows - drawn, starts)
        left_hits = np.add.reduceat(hits * (rows - drawn) / rows, starts)
        # A bin without other rows returns the frequency of its edge rows; ``cells`` then gives no guarantee.
        empty = self.averaged_ == 0
        return np.where(empty, all_hits, left_hits), np.where(empty, self.counts_, self.averaged_)

    def cells(self) -> UniformMassCells:
        """Bins for the bounds of P1, which need rows of equal weight and thresholds without ties."""
        broken = ""
        if self.weighted_:
            broken = "the calibration rows are weighted, and the theorem needs rows of equal weight"
        elif self.ties_:
            broken = "some calibration scores are equal to a bin's threshold, and the theorem needs scores without ties"
        elif self.averaged_.min() < 1:
            broken = "scores tie, and some bin contains only the calibration rows that set its edges"
        # Calibrators saved by earlier versions do not have this attribute; they have the ``ties_`` above.
        placing = int(vars(self).get("placing_", 0))
        rows = int(self.counts_.sum())
        return UniformMassCells(
            rows - placing, len(self.counts_), int(self.averaged_.min()), self.delta, broken, placing
        )

    def _bins(self, ordered: Floats, total: float) -> int:
        wanted = int((total + 1e-9) // self.points_per_bin) if self.bins is None else self.bins
        different = 1 + int(np.count_nonzero(ordered[1:] != ordered[:-1]))
        # Every bin needs a row strictly between its thresholds: at most (n + 1) / 2 bins.
        return max(1, min(wanted, int(total + 1) // 2, different))

    def _hits(self, scores: Floats, weights: Float64s | None) -> tuple[Float64s, Float64s]:
        """Weight of the claims that came true in each bin, and of those tied with each threshold."""
        codes = np.searchsorted(self.thresholds_, scores, side="right")
        hits = _group_sums(codes, weights, len(self.thresholds_) + 1)
        at_threshold = (codes > 0) & (scores == np.append(np.nan, self.thresholds_)[codes])
        tied = _group_sums(codes[at_threshold] - 1, _of(weights, at_threshold), len(self.thresholds_))
        return hits, tied

    def score_map(self) -> Map:
        return PiecewiseMap.constant(self.thresholds_, self.values_)


def _ranks(upto: Float64s, n_bins: int) -> Codes:
    """Positions of the order statistics (weighted ones, if there are weights)."""
    ranks = np.ceil(np.arange(1, n_bins) * (float(upto[-1]) + 1) / n_bins)
    return np.asarray(np.minimum(np.searchsorted(upto[1:], ranks, side="left"), len(upto) - 2), dtype=np.intp)


def _group_sums(codes: Codes, weights: Float64s | None, groups: int) -> Float64s:
    return np.bincount(codes, weights, minlength=groups).astype(np.float64)


def _of(weights: Float64s | None, rows: Bools) -> Float64s | None:
    return None if weights is None else weights[rows]


def _drawn(ends: Float64s, many: int, seed: int) -> Float64s:
    """Number of rows of each level among ``many`` drawn without replacement; ``ends``: rows below each, and all.

    >>> _drawn(np.array([0.0, 3.0, 7.0]), 7, 0).tolist()
    [3.0, 4.0]
    """
    if len(ends) <= _FEW_LEVELS:
        rng = np.random.default_rng((seed, 1))
        return rng.multivariate_hypergeometric(np.diff(ends).astype(np.int64), many).astype(np.float64)
    return np.diff(np.searchsorted(_drawn_ranks(int(ends[-1]), many, seed), ends)).astype(np.float64)


@lru_cache(1)
def _drawn_ranks(rows: int, many: int, seed: int) -> Codes:
    """Ascending ranks drawn from this number of rows; classes with the same rows draw the same ranks."""
    return frozen(np.sort(np.random.default_rng((seed, 1)).choice(rows, many, replace=False, shuffle=False)))


def _equal_shares(drawn: Float64s, bins: int) -> Codes:
    """First levels of bins whose shares of the drawn rows are as equal as the levels allow.

    Levels ascend. A bin starts at a level that was drawn, and no bin contains less than half of an equal share.

    >>> _equal_shares(np.array([2.0, 0.0, 3.0, 1.0, 1.0, 1.0]), 3).tolist()
    [0, 2, 3]
    """
    levels = np.flatnonzero(drawn)[1:]
    before = np.cumsum(drawn)[levels] - drawn[levels]
    total, share = float(drawn.sum()), float(drawn.sum()) / bins
    starts, begun = [0], 0.0
    if len(levels):
        wanted = np.arange(1, bins) * share
        above = np.minimum(np.searchsorted(before, wanted), len(before) - 1)
        below = np.maximum(above - 1, 0)
        nearest = np.where(wanted - before[below] <= np.abs(before[above] - wanted), below, above)
        nearest = nearest[total - before[nearest] >= share / 2]
        if (np.diff(before[nearest], prepend=0.0) >= share / 2).all():
            return np.append(0, levels[nearest])
        for level, many in zip(levels[nearest].tolist(), before[nearest].tolist(), strict=True):
            if many - begun >= share / 2:
                starts.append(level)
                begun = many
    return np.array(starts, dtype=np.intp)


def _leaving_rows(starts: Float64s, ends: Float64s, total: float) -> Bools:
    """Mask of thresholds with rows strictly between them; others, from ties or unequal weights, are dropped.

    Weights from ``starts`` to ``ends`` belong to the rows equal to the thresholds.
    """
    least = 1e-9 * total
    kept = np.ones(len(starts), dtype=bool)
    if (np.append(starts, total) - np.append(0.0, ends) > least).all():
        return kept
    used = 0.0
    for i, (start, end) in enumerate(zip(starts, ends, strict=True)):
        kept[i] = start - used > least and total - end > least
        used = end if kept[i] else used
    return kept


@BINARY_CALIBRATORS.register(
    "equal-width-histogram",
    "Equal-width histogram binning",
    reference="Zadrozny & Elkan 2001",
    flags=MapShape(bins="bins", counts="edges"),
)
@dataclass(eq=False, repr=False)
class EqualWidthHistogram(BinaryCalibrator):
    """Replaces a score by the observed frequency in its bin; bins have equal width.

    Bins [0, 1/B), [1/B, 2/B), ..., [1 - 1/B, 1]; a bin's value is the weighted mean outcome of its calibration rows.
    A score in a bin without calibration rows does not change, since nothing is known there. Other packages return the
    bin's midpoint or 0, which would present a guess as an estimate. What can mislead: confident models leave most bins
    with few rows or none, and there is no guarantee; equal-mass histogram binning has one.

    ``values_`` are the bins' values (0 where empty), ``counts_`` their weights.

    References: Zadrozny & Elkan 2001 with the equal-width bins of P1 §2.

    >>> h = EqualWidthHistogram(bins=4).fit([0.1, 0.2, 0.9, 1.0], [0, 1, 1, 1])
    >>> h.transform([0.0, 0.4, 0.75]).tolist()
    [0.5, 0.4, 1.0]
    """

    bins: Annotated[int, Range(1, 200), "Number of bins", "number of bins"] = 15

    def discrete(self, given: bool = False) -> bool:
        return True

    def insides(self) -> Insides:
        return shares_table(EqualWidth(self.bins).fixed_edges(), self.values_, self.counts_)

    @property
    def _grid_edges(self) -> Float64s:
        return EqualWidth(self.bins).fixed_edges()

    def _fit(self, scores: Floats, outcomes: Bools, weights: Float64s | None) -> None:
        codes = self._codes(scores)
        hits = np.bincount(codes[outcomes], None if weights is None else weights[outcomes], minlength=self.bins)
        self.counts_ = np.bincount(codes, weights, minlength=self.bins).astype(np.float64)
        self.values_ = np.divide(hits, self.counts_, out=np.zeros(self.bins), where=self.counts_ > 0)

    def score_map(self) -> Map:
        known = np.asarray(self.counts_) > 0
        edges = EqualWidth(self.bins).fixed_edges()
        return PiecewiseMap(edges, np.where(known, 0.0, 1.0), np.where(known, self.values_, 0.0), from_scores=False)

    def _codes(self, scores: Floats) -> Codes:
        edges = EqualWidth(self.bins).fixed_edges().astype(scores.dtype)
        return places(edges, scores)


@BINARY_CALIBRATORS.register("lece-histogram", "Histogram binning of errors", reference="P3 §3.1, H-LECE")
@dataclass(eq=False, repr=False)
class LeceHistogram(BinaryCalibrator):
    """Subtracts the mean error of its bin from a score; scores in a bin keep their differences.

    g(s) = s - mean over the bin's calibration rows of (s_i - z_i), clipped to [0, 1] (the authors' code lets results
    leave it). Histogram binning assumes equal class distributions within a bin; this assumes equal errors. A bin
    without calibration rows does not change scores. What can mislead: scores near 0 or 1 in a wide bin are shifted as
    far as those in its middle. Clipping then sends them to exactly 0 or 1.

    P3 specifies only that classical binning has bins of equal size, the default here, and draws 5 of equal width.
    ``edges_`` are the inner edges, ``errors_`` the mean errors.

    References: P3 §3.1 and §4.1.2, Figure 1b.

    >>> h = LeceHistogram(EqualMass(1)).fit([0.4, 0.6], [0, 0])
    >>> h.transform([0.4, 0.8]).round(6).tolist()
    [0.0, 0.3]
    """

    binning: Annotated[IntervalScheme, Part("BINNINGS", of_interval), "Bins", "bins whose errors are averaged"] = field(
        default_factory=EqualMass
    )

    def insides(self) -> Insides:
        places = interval_places(self.edges_)
        return Insides(
            several(len(self.errors_), "bins"),
            "Subtracts the mean error of its bin from a score.",
            lambda: [
                Number("mean error", float(error), place=place)
                for place, error in zip(places, self.errors_, strict=True)
            ],
            unit="table",
        )

    def _fit(self, scores: Floats, outcomes: Bools, weights: Float64s | None) -> None:
        if weights is not None:
            counted = weights > 0
            scores, outcomes, weights = scores[counted], outcomes[counted], as_rows(weights[counted])
        ordered = Stratum(scores, outcomes, weights).in_order()
        self.edges_ = self.binning.edges(ordered.scores, ordered.weights)
        codes = self._codes(scores)
        errors = scores.astype(np.float64) - outcomes
        counts = np.bincount(codes, weights, minlength=len(self.edges_) + 1).astype(np.float64)
        sums = np.bincount(codes, errors if weights is None else errors * weights, minlength=len(counts))
        self.errors_ = np.divide(sums, counts, out=np.zeros(len(counts)), where=counts > 0)

    def score_map(self) -> Map:
        errors = np.asarray(self.errors_, dtype=np.float64)
        placed = self.binning.fixed_edges() is None
        return PiecewiseMap(np.asarray(self.edges_, dtype=np.float64), np.ones(len(errors)), -errors, placed)

    def _codes(self, scores: Floats) -> np.ndarray[tuple[int, ...], np.dtype[np.intp]]:
        return np.asarray(np.searchsorted(self.edges_.astype(scores.dtype), scores, side="right"), dtype=np.intp)
