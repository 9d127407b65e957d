"""Bins of [0, 1]: equal width, equal mass, rows per bin, distinct values, given edges.

The module also has the default bins of predictions, and labels for bins.
"""

from __future__ import annotations

import re
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
    """Equal-width bins [0, 1/B), [1/B, 2/B), ..., [1 - 1/B, 1].

    All strata and models have the same bins, so their errors are comparable. What can mislead: confident models
    have nearly all rows in the last bin.

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
    """Equal-mass bins; equal scores share a bin, so there can be fewer bins than requested.

    The first n mod B bins have one more row. Rows tied with the last row of a bin join it; the next bin starts at the
    next larger score. What can mislead: bins depend on the data, so two models have different bins.

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
    """Equal-mass bins with at least k rows each, as many as possible.

    floor(n / k) bins in a stratum of effective size n (``Predictions.effective_rows``), one bin if n is less than 2k.
    Tied scores share a bin as with equal mass, so a bin next to a large tie can have fewer rows.

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
    """One bin per distinct score, for models with few distinct outputs.

    What can mislead: on continuous scores every bin has one row and the plug-in error is near its maximum.

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
    """Bins between given edges, including the outer ones.

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
    """Inner edges of bins with equal numbers of rows (or weight); tied scores go to the lower bin."""
    n = len(ordered)
    if n == 0 or bins < 2:
        return ordered[:0]
    last = _last_rows(n, bins) if weights is None else _last_by_weight(weights, bins)
    following = np.searchsorted(ordered, ordered[last], side="right")
    cuts = ordered[following[following < n]]
    return cuts if (cuts[1:] > cuts[:-1]).all() else np.unique(cuts)


def rows_of_first(n: int, bins: int, which: Codes) -> Codes:
    """Number of n rows in the first equal-mass bins, for each number of bins in ``which``."""
    size, extra = divmod(n, bins)
    return np.asarray(which * size + np.minimum(which, extra))


@lru_cache(256)
def _last_rows(n: int, bins: int) -> Codes:
    """Last row of each bin except the last one; the first n mod B bins have one more row."""
    ends = rows_of_first(n, bins, np.arange(1, bins))
    return frozen(np.unique(ends[(ends > 0) & (ends < n)]) - 1)


def _last_by_weight(weights: Float64s, bins: int) -> Codes:
    """Last row of each bin for weighted rows; whole-number weights are equivalent to copies of rows."""
    cumulative = np.cumsum(weights)
    total = cumulative[-1]
    ends = _last_rows(int(total), bins) + 1.0 if whole(weights) else total * np.arange(1, bins) / bins
    last = np.searchsorted(cumulative, ends, side="left")
    return np.unique(np.minimum(last, len(weights) - 1))


def bins_of(predictions: Predictions, bins: int | str | BinningScheme | None = None) -> BinningScheme:
    """Return the given bins, or the default: one bin per value for discrete outputs, else ``BINS`` of equal width.

    Only ``predictions.discrete`` decides, as calibrators declare it. Distinct scores are not counted, since a model's
    scores rounded to two decimals also have few values, and bins per value would measure its rounding.
    Discrete outputs need no other bins, and wider bins hide errors of opposite sign that cancel inside a bin. What
    can mislead: results with different bins are not exactly comparable; ``bins_said`` names the bins.

    References: P1 Remark 1.

    >>> p = Predictions([[0.7, 0.3]], [1])
    >>> bins_of(p), bins_of(p.as_discrete()), bins_of(p.as_discrete(), 10)
    (EqualWidth(bins=15), Distinct(), EqualWidth(bins=10))
    """
    if bins is not None:
        return as_binning(bins)
    return Distinct() if predictions.discrete else EqualWidth(BINS)


def moves_edges(scheme: BinningScheme) -> bool:
    """Return True if the scheme sets data-dependent edges, which counts on a grid can only approximate.

    >>> moves_edges(EqualWidth(10)), moves_edges(BINNINGS.make("equal-mass")), moves_edges(BINNINGS.make("groups"))
    (False, True, False)
    """
    return of_interval(cuts(scheme)) and not cuts(scheme).pools and as_intervals(scheme).fixed_edges() is None


def bins_said(scheme: BinningScheme, table: BinTable | None = None) -> str:
    """Label of a scheme for the column ``bins`` of a table; with a table, it includes the number of values.

    >>> bins_said(EqualWidth(15)), bins_said(BINNINGS.make("points-per-bin")), bins_said(Distinct())
    ('15 equal width', '50 points per bin', 'one per value')
    """
    if cuts(scheme).one_a_value:
        return "one per value" + ("" if table is None else f" ({int((table.count > 0).sum())})")
    entry = BINNINGS.find(scheme)
    if entry is None:
        return type(scheme).__name__
    title = inside(entry.title)
    values = [entry.value(scheme, param) for param in entry.params]
    numbers = [value for value in values if isinstance(value, int)]
    return f"{numbers[0]} {title}" if numbers else title


def bins_noun(label: str) -> str:
    """Convert a label of ``bins_said`` to a plural noun.

    >>> bins_noun("15 equal width"), bins_noun("one per value (4)"), bins_noun("50 points per bin"), bins_noun("groups")
    ('15 equal-width bins', '4 bins of one value each', 'bins of 50 points', 'bins “groups”')
    """
    for pattern, noun in _NOUNS.items():
        if found := re.fullmatch(pattern, label):
            return found.expand(noun)
    return f"bins “{label}”"


_NOUNS = {
    r"(\d+) equal (width|mass)": r"\1 equal-\2 bins",
    r"one per value \((\d+)\)": r"\1 bins of one value each",
    r"one per value": "bins of one value each",
    r"(\d+) points per bin": r"bins of \1 points",
}
FULLEST, FEWEST_BINS, GROUPS = 2 / 3, 5, 10
"""Limits for equal-width bins, and the number of equal-mass groups otherwise.

Equal-width bins are used under two conditions. No bin has more than the first number as share of the rows, and at least
the second number of bins have rows.
"""


def risk_bins(claims: Claims, bins: int | str | Sequence[float] | BinningScheme | None = None) -> BinningScheme:
    """Return the given bins, or default bins that resolve these risks.

    The default is 15 equal-width bins over 0 to 1, as for confidences. If one of those would have more than two thirds
    of the rows, it is ten equal-mass groups (tenths of risk). The same applies if fewer than five would have any rows,
    as for a rare event. Only scores decide, so tests in these bins keep their level. What can mislead: equal-mass
    groups of another model have other edges.

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
    if claims.grain == "counts":  # counts are on a grid of equal widths, which has no other edges
        return plain
    share = tabulate(claims, [plain], pooled=False)[0].weight[0]
    rare = float(share.max()) > FULLEST or int((share > 0).sum()) < FEWEST_BINS
    return EqualMass(GROUPS) if rare else plain
