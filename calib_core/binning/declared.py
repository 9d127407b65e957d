"""Which bins predictions are judged in where none are given, and how bins are named beside a number."""

from __future__ import annotations

from collections.abc import Sequence

from calib_core.binning.base import BINNINGS, BinningScheme, as_binning, as_intervals, cuts, of_interval
from calib_core.binning.bin_table import BinTable, tabulate
from calib_core.binning.interval_schemes import Distinct, EqualMass, EqualWidth
from calib_core.claims.binary_claims import Claims
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
