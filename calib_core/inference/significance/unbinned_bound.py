"""A bound on the error without bins, under an assumption that is stated."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from calib_core._base.arrays import Codes, Float64s
from calib_core._base.errors import InputError, as_share
from calib_core._base.notebook_display import OneLine
from calib_core.binning.base import BinningScheme, as_binning
from calib_core.binning.bin_table import BinTable
from calib_core.binning.interval_schemes import EqualMass
from calib_core.claims.binary_claims import ColumnClaims, FlatClaims, Stratum
from calib_core.estimators.base import estimate, judged_notion
from calib_core.estimators.binned import Binned
from calib_core.predictions.predictions import Predictions
from calib_core.reductions.base import Reduction, as_reduction, claims_of
from calib_core.text import at_level, short_percent

Assumption = Literal["lipschitz", "monotone"]


@dataclass(frozen=True, repr=False)
class UnbinnedBound(OneLine):
    """An upper end for the error without bins: ``value`` = ``binned`` + ``added``, one-sided at ``level``, at most 1.

    ``binned`` is the upper end of the error in ``bins``, ``added`` what can hide within them under the assumption.
    """

    value: float
    binned: float
    added: float
    assumption: Assumption
    constant: float | None
    bins: BinningScheme
    level: float

    def _line(self) -> str:
        parts = f"{self.binned:.4f} in bins and {self.added:.4f} within them"
        return f"at most {self.value:.4f} at {at_level(self.level)}, {parts}; {self.assumption}"

    @property
    def sentence(self) -> str:
        """The bound, its assumption and its confidence level."""
        end = f"the error is at most {short_percent(self.value)} (one-sided {at_level(self.level)} confidence)."
        if self.assumption == "monotone":
            return f"If the observed frequency never decreases with the score, {end}"
        much = "no more than" if self.constant == 1 else f"at most {self.constant:g} times as much as"
        return (
            f"If the gap between score and true frequency changes {much} the score does, {end} Without such an "
            "assumption there is no bound on errors within bins."
        )


def unbinned_bound(
    predictions: Predictions,
    reduction: str | Reduction | None = None,
    assumption: Assumption = "lipschitz",
    constant: float = 1.0,
    bins: int | str | BinningScheme | None = None,
    level: float = 0.95,
) -> UnbinnedBound:
    """Upper bound on the error, including errors finer than the bins, under an assumption about the curve.

    The target is (1/N) sum_i |r(s_i) - s_i|, with r the (unknown) observed frequency at each score, given the scores.
    Over strata of claims (top-label: classes) it is their weighted mean, each with its own r under the same
    assumption. The upper end U is that of the default interval of the binned L1 error at level 2 ``level`` - 1, so that
    it fails by 1 - ``level``. The cells' weights in the aggregate are w_b. By default the claims are of the event of
    two classes, else of the confidence.

    "lipschitz": g(s) = r(s) - s changes by at most L = ``constant`` per unit of score. The bound is
    U + L sum_b w_b GMD_b, with GMD_b = mean |s_i - s_j| over all pairs of rows of cell b (i = j counted).

    "monotone": r never falls. The bound is U + sum_strata max_b w_b / 2 + sum_b w_b MAD_b, with MAD_b = mean |s_i -
    s_b| and s_b the cell's mean score. (``constant`` is not used.)

    Proof of the added terms. In a cell E|g| <= |E g| + E|g - E g|, E over its rows; |E g| adds up to the binned
    error. Lipschitz: with S' an independent copy of S, E|g(S) - E g| <= E|g(S) - g(S')| <= L E|S - S'|. The smaller L
    MAD_b is no bound: S = -1, 0, 0, 0, 0, 1 and g = |S| - 1/3 have E g = 0, E|g| = 4/9 and MAD = 1/3. Monotone: E|g - E
    g| <= E|r - E r| + MAD_b. E|r - E r| is at most half the range of r in the cell, and the ranges within a stratum add
    up to at most 1.

    Default bins: of equal mass, sqrt(rows per stratum) / 1.5 of them within 10 to 100. Bins must be fixed by the
    scores. What can mislead: L is an assumption and must be chosen before looking at the plot. If the assumption is
    false, the bound can be far too low: 15 cycles within 15 bins, L = 1. NotAnswerable for whole probability vectors.

    >>> p = Predictions.from_confidence(np.linspace(0.5, 0.9, 1000), np.arange(1000) % 10 < 7)
    >>> bound = unbinned_bound(p, assumption="lipschitz", constant=1.0)
    >>> bound.binned < bound.value < 0.25, bound.value == bound.binned + bound.added
    (True, True)
    """
    if assumption not in ("lipschitz", "monotone"):
        raise InputError(f"assumption is {assumption!r}; it must be 'lipschitz' or 'monotone'")
    if not (np.isfinite(constant) and constant >= 0):
        raise InputError(f"constant is {constant}; it must be a number of at least 0")
    as_share(level, "level")
    if level <= 0.5:
        raise InputError(f"level is {level}; it must be between 0.5 and 1, both excluded")
    notion = as_reduction(judged_notion(reduction, predictions))
    claims: Any = claims_of(predictions, notion)
    scheme = EqualMass(_number(predictions, claims)) if bins is None else as_binning(bins)
    estimated = estimate(predictions, notion, Binned(scheme))
    assert isinstance(estimated.bins, BinTable)
    binned = float(estimated.interval(round(2 * level - 1, 12)).high)  # 0.9 for 0.95, without what rounding adds
    added = _within(claims, estimated.bins, assumption, constant)
    value = min(1.0, binned + added)
    return UnbinnedBound(
        value, binned, added, assumption, constant if assumption == "lipschitz" else None, scheme, level
    )


def gini_mean_difference(scores: Float64s, weights: Float64s, codes: Codes, cells: int) -> Float64s:
    """Mean |s_i - s_j| over all pairs of rows of each cell, i = j counted, (cells,); 0 for empty cells.

    2 sum_j w_j (s_j W_j - V_j) / W^2 with W_j, V_j the weight and weighted scores of the cell's rows before j in order.

    >>> gini_mean_difference(np.array([0.0, 1.0, 0.5]), np.ones(3), np.array([0, 0, 1]), 2)
    array([0.5, 0. ])
    """
    order = np.lexsort((scores, codes))
    s, w, cell = scores[order], weights[order], codes[order]
    total = np.bincount(cell, w, minlength=cells)
    # Scores are taken from their cell's mean, so that sums over all cells leave no rounding of other cells behind.
    mean = np.divide(np.bincount(cell, w * s, minlength=cells), total, out=np.zeros(cells), where=total > 0)
    s = s - mean[cell]
    starts = np.searchsorted(cell, np.arange(cells))
    weight_before, score_before = (_before(part, cell, starts) for part in (w, w * s))
    sums = np.bincount(cell, 2.0 * w * (s * weight_before - score_before), minlength=cells)
    return np.asarray(np.divide(np.maximum(sums, 0.0), np.square(total), out=np.zeros(cells), where=total > 0))


def _before(part: Float64s, cell: Codes, starts: Codes) -> Float64s:
    """Sum of the cell's earlier entries."""
    upto = np.append(0.0, np.cumsum(part))
    return np.asarray(upto[:-1] - upto[starts][cell])


def _within(claims: FlatClaims | ColumnClaims, table: BinTable, assumption: Assumption, constant: float) -> float:
    """Largest possible error within the cells, over all strata."""
    total = 0.0
    for s in np.flatnonzero(claims.shares > 0):
        stratum, bins = claims.stratum(int(s)), int(table.n_bins[s])
        if stratum.total > 0:
            total += float(claims.shares[s]) * _hidden(stratum, table.lower[s, 1:bins], assumption, constant)
    return total


def _hidden(stratum: Stratum, edges: Float64s, assumption: Assumption, constant: float) -> float:
    s, cells = stratum.scores.astype(np.float64), len(edges) + 1
    codes = np.searchsorted(edges.astype(stratum.scores.dtype), stratum.scores, side="right")
    weight = np.ones(len(s)) if stratum.weights is None else stratum.weights
    share = np.bincount(codes, weight, minlength=cells) / weight.sum()
    if assumption == "lipschitz":
        return constant * float(share @ gini_mean_difference(s, weight, codes, cells))
    mean = np.bincount(codes, weight * s, minlength=cells) / np.maximum(share * weight.sum(), 1e-300)
    return float(share.max()) / 2 + float(weight @ np.abs(s - mean[codes])) / float(weight.sum())


def _number(predictions: Predictions, claims: Any) -> int:
    strata = np.count_nonzero(claims.shares > 0) if claims.one_a_row() else 1
    rows = predictions.answered.effective_rows / max(strata, 1)
    return int(np.clip(np.sqrt(rows) / 1.5, 10, 100))
