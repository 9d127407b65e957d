"""Bins of [0, 1]: equal width, equal mass, points per bin, distinct values, given edges (METHODS §2).

Which bins predictions are judged in where none are given, and how bins are named beside a number.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated

import numpy as np

from calib_core._base.arrays import Codes, Float64s, Floats, frozen
from calib_core.binning.base import BINNINGS, BinningScheme, Cuts, as_binning, as_intervals, cuts, of_interval
from calib_core.binning.bin_table import BinTable, tabulate
from calib_core.claims.binary_claims import Claims
from calib_core.defaults import BINS
from calib_core.predictions.predictions import Predictions
from calib_core.predictions.validation import effective_rows, whole
from calib_core.registry.registry import Numbers, Range, RegistryError
from calib_core.text import inside


@BINNINGS.register("equal-width", "Equal width", reference="P1 §2", flags=Cuts(bins="bins"))
@dataclass(frozen=True)
class EqualWidth:
    """B bins of width 1/B: [0, 1/B), [1/B, 2/B), ..., [1 - 1/B, 1].

    The same bins for every stratum and every model, so their errors compare. What can mislead: confident models
    put nearly all rows in the last bin.

    >>> EqualWidth(4).fixed_edges().tolist()
    [0.25, 0.5, 0.75]
    """

    bins: Annotated[int, Range(1, 1000), "Number of bins", "number of bins"] = BINS

    def __post_init__(self) -> None:
        _whole(self.bins, "bins")

    def fixed_edges(self) -> Float64s:
        return np.arange(1, self.bins) / self.bins

    def edges(self, ordered: Floats, weights: Float64s | None) -> Floats:
        return self.fixed_edges().astype(ordered.dtype)


@BINNINGS.register("equal-mass", "Equal mass", reference="P2 §3; P5 §4.3", flags=Cuts(bins="bins"))
@dataclass(frozen=True)
class EqualMass:
    """B bins holding equally many rows; equal scores are never parted, so fewer bins can result.

    The first n mod B bins hold one row more. Rows tied with the last row of a bin join it; the next bin starts at the
    next larger score. What can mislead: bins move with the data, so two models are binned differently.

    >>> EqualMass(2).edges(np.array([0.1, 0.4, 0.4, 0.9]), None).tolist()
    [0.9]
    """

    bins: Annotated[int, Range(1, 1000), "Number of bins", "number of bins"] = BINS

    def __post_init__(self) -> None:
        _whole(self.bins, "bins")

    def fixed_edges(self) -> None:
        return None

    def edges(self, ordered: Floats, weights: Float64s | None) -> Floats:
        return _cuts(ordered, weights, self.bins)


@BINNINGS.register("points-per-bin", "Points per bin", reference="P1 Alg. 8", flags=Cuts(rows="points"))
@dataclass(frozen=True)
class PointsPerBin:
    """Bins of equal mass, as many as can each hold k rows.

    floor(n / k) bins in a stratum worth n rows (``Predictions.effective_rows``), one where it is worth fewer than 2k.
    Ties are kept together as with equal mass, so that beside a large tie a bin can hold fewer.

    >>> PointsPerBin(2).edges(np.array([0.1, 0.2, 0.3, 0.4, 0.5]), None).tolist()
    [0.4]
    """

    points: Annotated[int, Range(1, 100_000, log=True), "Rows per bin", "rows per bin"] = 50

    def __post_init__(self) -> None:
        _whole(self.points, "points")

    def fixed_edges(self) -> None:
        return None

    def edges(self, ordered: Floats, weights: Float64s | None) -> Floats:
        return _cuts(ordered, weights, max(1, int(round(effective_rows(len(ordered), weights), 6) // self.points)))


@BINNINGS.register("distinct", "Distinct values", reference="P1 Remark 1", flags=Cuts(one_a_value=True))
@dataclass(frozen=True)
class Distinct:
    """Every distinct score is a bin of its own: the unbinned estimate for models with few distinct outputs.

    What can mislead: on continuous scores every bin holds one row and the plug-in error is near its maximum.

    >>> Distinct().edges(np.array([0.2, 0.2, 0.7]), None).tolist()
    [0.7]
    """

    def fixed_edges(self) -> None:
        return None

    def edges(self, ordered: Floats, weights: Float64s | None) -> Floats:
        return np.unique(ordered)[1:]


@BINNINGS.register("edges", "Given edges")
@dataclass(frozen=True)
class Edges:
    """Bins between the edges you give, the outer ones included.

    Edges ascend; scores below the first or above the last edge belong to the outer bins.

    >>> Edges((0, 0.5, 1)).fixed_edges().tolist()
    [0.5]
    """

    values: Annotated[tuple[float, ...], Numbers(), "Bin edges", "bin edges, ascending"] = (0.0, 0.5, 1.0)

    def __post_init__(self) -> None:
        values = tuple(float(v) for v in self.values)
        if len(values) < 2 or list(values) != sorted(set(values)):
            raise RegistryError(f"values is {self.values!r}; it must be an ascending tuple of at least two numbers")
        object.__setattr__(self, "values", values)

    def fixed_edges(self) -> Float64s:
        return np.array(self.values[1:-1])

    def edges(self, ordered: Floats, weights: Float64s | None) -> Floats:
        return self.fixed_edges().astype(ordered.dtype)


def _whole(value: int, name: str) -> None:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1:
        raise RegistryError(f"{name} is {value!r}; it must be a whole number of at least 1")


def _cuts(ordered: Floats, weights: Float64s | None, bins: int) -> Floats:
    """Inner edges of bins with equally many rows (or equal weight), ties kept together in the lower bin."""
    n = len(ordered)
    if n == 0 or bins < 2:
        return ordered[:0]
    last = _last_rows(n, bins) if weights is None else _last_by_weight(weights, bins)
    following = np.searchsorted(ordered, ordered[last], side="right")
    cuts = ordered[following[following < n]]
    return cuts if (cuts[1:] > cuts[:-1]).all() else np.unique(cuts)


def rows_of_first(n: int, bins: int, which: Codes) -> Codes:
    """How many of n rows the first bins of equal mass hold, for each number of bins ``which``."""
    size, extra = divmod(n, bins)
    return np.asarray(which * size + np.minimum(which, extra))


@lru_cache(256)
def _last_rows(n: int, bins: int) -> Codes:
    """The last row of each bin but the last: the first n mod B bins hold one row more."""
    ends = rows_of_first(n, bins, np.arange(1, bins))
    return frozen(np.unique(ends[(ends > 0) & (ends < n)]) - 1)


def _last_by_weight(weights: Float64s, bins: int) -> Codes:
    """The same for weighted rows: whole-number weights give exactly what copies of the rows would."""
    cumulative = np.cumsum(weights)
    total = cumulative[-1]
    ends = _last_rows(int(total), bins) + 1.0 if whole(weights) else total * np.arange(1, bins) / bins
    last = np.searchsorted(cumulative, ends, side="left")
    return np.unique(np.minimum(last, len(weights) - 1))


def bins_of(predictions: Predictions, bins: int | str | BinningScheme | None = None) -> BinningScheme:
    """The bins given; without any, one bin a value for outputs declared discrete, else ``BINS`` of equal width.

    Only ``predictions.discrete`` decides, which calibrators declare: scores are never counted to find out, since a
    base model's scores rounded to two decimals are few too, and binning them by value would judge its rounding.
    Discrete outputs need no other bins, and wider ones flatter them: errors of opposite sign cancel inside a bin. What
    can mislead: lines judged by different rules do not compare to the last digit; ``bins_said`` names the rule.

    References: P1 Remark 1.

    >>> p = Predictions([[0.7, 0.3]], [1])
    >>> bins_of(p), bins_of(p.as_discrete()), bins_of(p.as_discrete(), 10)
    (EqualWidth(bins=15), Distinct(), EqualWidth(bins=10))
    """
    if bins is not None:
        return as_binning(bins)
    return Distinct() if predictions.discrete else EqualWidth(BINS)


def moves_edges(scheme: BinningScheme) -> bool:
    """Does the scheme place edges wherever the scores want them, so that counts on a grid can only come near?

    >>> moves_edges(EqualWidth(10)), moves_edges(BINNINGS.make("equal-mass")), moves_edges(BINNINGS.make("groups"))
    (False, True, False)
    """
    return of_interval(cuts(scheme)) and not cuts(scheme).pools and as_intervals(scheme).fixed_edges() is None


def bins_said(scheme: BinningScheme, table: BinTable | None = None) -> str:
    """A scheme in a few words, for the column ``bins`` of a table; with a table, how many values it counted.

    >>> bins_said(EqualWidth(15)), bins_said(BINNINGS.make("points-per-bin")), bins_said(Distinct())
    ('15 equal width', '50 points per bin', 'one a value')
    """
    if cuts(scheme).one_a_value:
        return "one a value" + ("" if table is None else f" ({int((table.count > 0).sum())})")
    entry = BINNINGS.find(scheme)
    if entry is None:
        return type(scheme).__name__
    title = inside(entry.title)
    values = [entry.value(scheme, param) for param in entry.params]
    numbers = [value for value in values if isinstance(value, int)]
    return f"{numbers[0]} {title}" if numbers else title


FULLEST, FEWEST_BINS, GROUPS = 2 / 3, 5, 10
"""Equal-width bins serve where no bin has more than this share of the rows and at least so many have rows; else bins
are so many groups of equal size."""


def risk_bins(claims: Claims, bins: int | str | Sequence[float] | BinningScheme | None = None) -> BinningScheme:
    """Return the bins given; without any, those in which these risks can be seen.

    15 bins of equal width over 0 to 1, as for confidences; ten groups of equal size (tenths of risk) where one of those
    would have more than two thirds of the rows, or fewer than five would have any, as for a rare event. Only scores
    decide, so that tests in these bins keep their level. What can mislead: groups of equal size have other edges in
    another model.

    >>> import numpy as np
    >>> from calib_core import Predictions
    >>> from calib_core.reductions import claims_of
    >>> def risks(s): return claims_of(Predictions(np.column_stack([1 - s, s]), [0, 1] * 50), "event")
    >>> risk_bins(risks(np.linspace(0.01, 0.9, 100))), risk_bins(risks(np.linspace(0.001, 0.05, 100)))
    (EqualWidth(bins=15), EqualMass(bins=10))
    """
    if bins is not None:
        return as_binning(bins)
    plain = EqualWidth(BINS)
    if claims.grain == "counts":  # counted on a grid of equal widths: there are no other edges
        return plain
    share = tabulate(claims, [plain], pooled=False)[0].weight[0]
    rare = float(share.max()) > FULLEST or int((share > 0).sum()) < FEWEST_BINS
    return EqualMass(GROUPS) if rare else plain
