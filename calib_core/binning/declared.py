"""Which bins predictions are judged in where none are given, and how bins are named beside a number."""

from __future__ import annotations

from calib_core.binning.base import BINNINGS, BinningScheme, as_binning, as_intervals, cuts, of_interval
from calib_core.binning.bin_table import BinTable
from calib_core.binning.interval_schemes import Distinct, EqualWidth
from calib_core.defaults import BINS
from calib_core.predictions.predictions import Predictions
from calib_core.text import inside


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
