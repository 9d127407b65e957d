"""Two models' claims about the same rows, counted in the same groups of rows."""

from __future__ import annotations

import numpy as np

from calib_core._base.arrays import Float64s, Floats
from calib_core.binning.base import BinningScheme, IntervalScheme, as_intervals
from calib_core.binning.bin_table import BinTable, padded
from calib_core.claims.binary_claims import Claims, Stratum
from calib_core.claims.tallies import Tally
from calib_core.predictions.predictions import NotAnswerable


def tabulate_alike(before: Claims, after: Claims, bins: int | str | BinningScheme) -> tuple[BinTable, BinTable]:
    """Both models' claims in the bins of the second one: its bin b is a set of rows, and the first is judged on it.

    With bins on the scores h(x) of the recalibrated model, the base model's groups are {x : c(x) = l, h_l(x) in bin},
    P1's {x : c(x) = l, h_l(x) = r} where a bin is a value r. Where h is monotone within a stratum these are intervals
    of the base model's scores (the bins' preimages); nothing here needs that. Edges of the first table are the least
    and the largest score of its groups, which may overlap. NotAnswerable where the two do not make the same claims in
    the same order, as when recalibration changed predicted classes.

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
        raise NotAnswerable("the two models make claims in different strata, which no bins of one of them can compare")
    return len(after.strata)


_Counted = tuple[Floats, Tally]


def _grouped(a: Stratum, b: Stratum, scheme: IntervalScheme) -> tuple[_Counted, _Counted, tuple[Float64s, Float64s]]:
    """One stratum: edges and sums of both models, and the ends of the first one's groups."""
    if not np.array_equal(a.outcomes, b.outcomes):
        raise NotAnswerable(
            "recalibration changed predicted classes: base and recalibrated model make different claims, "
            "which no bins of one of them can compare"
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
