"""Allocation of a score to one bin, or to two adjacent bins in part (P5 §4.3).

The module also has binning by the square root of the number of rows, a heuristic without a parameter (P5 §4.5.1).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated, Protocol

import numpy as np

from calib_core._base.arrays import Codes, Float64s, Floats
from calib_core.binning.base import BINNINGS, IntervalScheme
from calib_core.binning.bin_table import BinTable, padded
from calib_core.binning.interval_schemes import EqualMass, EqualWidth
from calib_core.claims.binary_claims import Claims, Stratum
from calib_core.claims.exact_sums import Tally
from calib_core.claims.stacked_samples import Samples
from calib_core.predictions.validation import effective_rows
from calib_core.registry.registry import Range


@dataclass(frozen=True, eq=False)
class Split:
    """Allocation of each score: a share ``beyond`` to bin ``first + 1``, the rest to bin ``first``; arrays (n,)."""

    first: Codes
    beyond: Float64s

    def sums(self, values: Float64s, bins: int) -> Float64s:
        """Return sums of these values (n,) over the bins, shape (1, bins)."""
        above = values * self.beyond
        # A score in the last bin has no share beyond it, so the column past the end stays 0.
        total = np.bincount(self.first, values - above, bins + 1) + np.bincount(self.first + 1, above, bins + 1)
        return np.asarray(total[None, :bins], dtype=np.float64)


class Allocation(Protocol):
    """Rule that divides every score among the bins between edges; the shares of a score sum to 1."""

    def __call__(self, scores: Floats, edges: Float64s) -> Split:
        """Return the allocation of scores (n,) in [0, 1] to the bins between these ascending inner edges."""


@dataclass(frozen=True)
class Hard:
    """Allocates each score to the bin that contains it; bins are closed on the left.

    >>> Hard()(np.array([0.5]), np.array([0.5])).first.tolist()
    [1]
    """

    def __call__(self, scores: Floats, edges: Float64s) -> Split:
        return Split(np.searchsorted(edges.astype(scores.dtype), scores, side="right"), np.zeros(len(scores)))


@dataclass(frozen=True)
class Convex:
    """Divides each score between the two bins with the nearest centers; the nearer one gets the larger share.

    For centers c_b <= s <= c_(b+1), bin b + 1 gets (s - c_b) / (c_(b+1) - c_b) and bin b the rest. Beyond the outermost
    centers the outer bin gets all. Centers are the midpoints of the bins' intervals in [0, 1], not the means of their
    scores. The shares are continuous in the score: no score jumps from bin to bin. What can mislead: a bin does not
    contain exactly the rows between its edges, and the authors' published code swaps the two shares.

    References: P5 §4.3, Def. 5 (convex mapping; linear binning in kernel density estimation).

    >>> split = Convex()(np.array([0.1, 0.35, 0.75]), np.array([0.5]))
    >>> split.first.tolist(), split.beyond.round(2).tolist()
    ([0, 0, 1], [0.0, 0.2, 0.0])
    """

    def __call__(self, scores: Floats, edges: Float64s) -> Split:
        c = centres(edges)
        first = np.searchsorted(c, scores, side="right") - 1
        below, first = first < 0, np.maximum(first, 0)
        gap = np.append(np.diff(c), np.inf)
        return Split(first, np.where(below, 0.0, (scores - c[first]) / gap[first]))


def centres(edges: Float64s) -> Float64s:
    """Midpoints of the bins of [0, 1] between these inner edges.

    >>> centres(np.array([0.5])).tolist()
    [0.25, 0.75]
    """
    # Given edges may be outside [0, 1]; an outer bin then has no width, but centers still ascend.
    outer = np.concatenate([[min([0.0, *edges[:1]])], edges, [max([1.0, *edges[-1:]])]])
    return np.asarray((outer[:-1] + outer[1:]) / 2)


@dataclass(frozen=True, eq=False)
class SplitLines:
    """Allocation of the scores of many lines (lines, n), each to its own bins, at most ``bins``."""

    split: Split
    bins: int

    def sums(self, values: Float64s) -> Float64s:
        """Return sums of these values (lines, n) over each line's bins, (lines, bins); 0 in bins that a line lacks."""
        shape = len(values), self.bins + 1
        return self.split.sums(values.ravel(), shape[0] * shape[1]).reshape(shape)[:, :-1]


def split_lines(
    samples: Samples, scheme: IntervalScheme, allocation: Allocation, low: float | None = None
) -> SplitLines:
    """Allocation of many samples' scores, each to the bins of [low, 1] that a scheme sets on it.

    >>> from calib_core.binning import EqualMass
    >>> two = Samples(np.array([[[0.1, 0.2]], [[0.8, 0.9]]]), np.ones((2, 1, 2), dtype=bool), np.ones((2, 1)))
    >>> split_lines(two, EqualMass(2), Hard()).sums(two.residuals).round(1).tolist()
    [[0.9, 0.8], [0.2, 0.1]]
    """
    scores, ordered = samples.lines, samples.ordered
    if low is not None:
        scores, ordered = ((part.astype(np.float64) - low) / (1 - low) for part in (scores, ordered))
    fixed = scheme.fixed_edges()
    if fixed is not None:
        splits, bins = [allocation(scores.ravel(), fixed)], len(fixed) + 1
    else:
        edges = [scheme.edges(line, None).astype(np.float64) for line in ordered]
        # Adjacent lines often have the same bins.
        alike = [slice(a, b) for a, b in pairwise(_starts(edges))]
        splits, bins = [allocation(scores[a].ravel(), edges[a.start]) for a in alike], max(map(len, edges)) + 1
    first, beyond = (np.concatenate(parts) for parts in zip(*((s.first, s.beyond) for s in splits), strict=True))
    return SplitLines(Split(first + np.repeat(np.arange(len(scores)) * (bins + 1), samples.n), beyond), bins)


def _starts(edges: list[Float64s]) -> list[int]:
    """Positions at which the edges change, and the end."""
    return [0, *(i for i in range(1, len(edges)) if not np.array_equal(edges[i], edges[i - 1])), len(edges)]


def allocated(claims: Claims, scheme: IntervalScheme, allocation: Allocation, low: float = 0.0) -> BinTable:
    """Table of claims allocated to bins of [low, 1]; counts are sums of shares.

    The scheme sets its bins on the scores rescaled from [low, 1] to [0, 1], in float64; ``low`` = 1/K is the lower
    limit of a confidence. Scores below ``low`` belong to the first bin.

    >>> from calib_core.binning import EqualWidth
    >>> from calib_core.predictions.predictions import Predictions
    >>> from calib_core.reductions import Confidence
    >>> claims = Confidence().split(Predictions.from_confidence([0.65], [True]))
    >>> allocated(claims, EqualWidth(2), Convex()).count.round(2).tolist()
    [[0.2, 0.8]]
    """
    rows = [shared_row(claims.stratum(s), scheme, allocation, low) for s in range(len(claims.strata))]
    table = padded(claims, [(low + (1 - low) * edges, tally) for edges, tally in rows])
    table.lower[:, 0] = low
    return table


def shared_row(stratum: Stratum, scheme: IntervalScheme, allocation: Allocation, low: float) -> tuple[Float64s, Tally]:
    """Inner edges, rescaled to [0, 1], and the sums of shares of one stratum's claims."""
    # Centers depend on the exact edges, so rows of weight 0 would have an effect.
    ordered = stratum.counted().in_order()
    scores = ordered.scores.astype(np.float64)
    stretched, hits = (scores - low) / (1 - low), (ordered.hits.astype(np.float64) - low) / (1 - low)
    edges = scheme.edges(stretched, ordered.weights).astype(np.float64)
    bins, split, came = len(edges) + 1, allocation(stretched, edges), allocation(hits, edges)
    mass = np.ones(len(scores)) if ordered.weights is None else ordered.weights
    came_mass = np.ones(len(hits)) if ordered.hit_weights is None else ordered.hit_weights
    return edges, Tally(split.sums(mass, bins), split.sums(mass * scores, bins), came.sums(came_mass, bins))


@dataclass(frozen=True)
class RootWidth:
    """Equal-width bins, floor(sqrt(n)) of them in a stratum of n rows unless a number is given.

    n is the stratum's effective sample size (``effective_rows``). What can mislead: strata of different
    size have different bins, and a model with more test rows has finer ones.

    References: P5 §4.5.1.

    >>> import numpy as np
    >>> RootWidth().edges(np.linspace(0, 1, 17), None).tolist()
    [0.25, 0.5, 0.75]
    """

    bins: Annotated[int | None, Range(1, 1000), "Number of bins", "none: the square root of the number of rows"] = None

    def __post_init__(self) -> None:
        EqualWidth(1 if self.bins is None else self.bins)

    def fixed_edges(self) -> Float64s | None:
        return None if self.bins is None else EqualWidth(self.bins).fixed_edges()

    def edges(self, ordered: Floats, weights: Float64s | None) -> Floats:
        return EqualWidth(_number(self.bins, ordered, weights)).edges(ordered, weights)


@dataclass(frozen=True)
class RootMass:
    """Equal-mass bins, floor(sqrt(n)) of them in a stratum of n rows unless a number is given.

    Every bin then also contains about sqrt(n) rows; tied scores share a bin as with equal mass. P5 finds that the
    number grows slightly too fast with n.

    References: P5 §4.5.1.

    >>> import numpy as np
    >>> RootMass().edges(np.array([0.1, 0.4, 0.4, 0.9]), None).tolist()
    [0.9]
    """

    bins: Annotated[int | None, Range(1, 1000), "Number of bins", "none: the square root of the number of rows"] = None

    def __post_init__(self) -> None:
        EqualMass(1 if self.bins is None else self.bins)

    def fixed_edges(self) -> None:
        return None

    def edges(self, ordered: Floats, weights: Float64s | None) -> Floats:
        return EqualMass(_number(self.bins, ordered, weights)).edges(ordered, weights)


def _number(bins: int | None, ordered: Floats, weights: Float64s | None) -> int:
    # Equal weights of 0.1 give 16 rows an effective size of 15.999..., so it is rounded before the floor of the root.
    return bins or max(1, math.isqrt(int(round(effective_rows(len(ordered), weights), 6))))


BINNINGS.preset(
    "sqrt-equal-width",
    "Equal width, square root of the rows",
    "Equal-width bins; their number is the square root of a stratum's rows.",
    RootWidth,
    bins=None,
    reference="P5 §4.5.1",
)
BINNINGS.preset(
    "sqrt-equal-mass",
    "Equal mass, square root of the rows",
    "Equal-mass bins; their number is the square root of a stratum's rows.",
    RootMass,
    bins=None,
    reference="P5 §4.5.1",
)
