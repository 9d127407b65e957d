"""Bias of class probabilities: mean probability and frequency of every class, for each predicted class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from calib_core._base.arrays import LARGE_BLOCK_BYTES, Bools, Codes, Float64s
from calib_core._base.diagram import Diagram
from calib_core._base.errors import as_share, as_whole
from calib_core.binning.base import BinningScheme
from calib_core.binning.interval_schemes import bins_of
from calib_core.defaults import LEVEL, SIGNIFICANCE
from calib_core.inference.intervals.clustered_rows import shares_in_cells
from calib_core.inference.intervals.elementary import share_ends, share_test
from calib_core.inference.significance.count_tests import (
    FEWEST,
    corrected_p,
    count_words,
    counts_rows,
    kinds_of_places,
    predicted_classes,
    rows_of_cells,
    worst_first,
    worth_of_cells,
)
from calib_core.predictions.predictions import NotAnswerable, Predictions
from calib_core.text import at_level, begun, called, of_rows, share_range, told_apart

MOST_CLASSES = 25
"""Up to this many classes, all pairs are listed; for more, only significant pairs."""
LISTED = 20
"""With more classes, at least this many pairs are listed, those with the smallest p-values."""


@dataclass(frozen=True, eq=False, repr=False)
class ClassBias(Diagram):
    """Pairs of a predicted class and a class; arrays (m,), largest significant gap first.

    ``predicted`` and ``label`` are codes of ``names``. Of the ``rows`` predicted as the one, ``says`` is the mean
    probability of the other. ``right`` is the share of these rows whose label is the other, with its interval ``low``
    to ``high`` at ``level``, p and corrected p. ``worth`` is the effective sample size of the rows, and ``groups`` the
    number of their groups, if any. ``pairs`` is the number of tested pairs; ``unsure`` is the number of predicted
    classes with too few rows.
    """

    names: tuple[str, ...]
    predicted: Codes
    label: Codes
    rows: Codes
    worth: Float64s
    says: Float64s
    right: Float64s
    low: Float64s
    high: Float64s
    level: Float64s
    p: Float64s
    p_corrected: Float64s
    stands_out: Bools
    pairs: int
    unsure: int
    counted: bool
    groups: Codes | None = None

    @property
    def headline(self) -> tuple[str, ...]:
        """The most significant pair, and the number of significant pairs."""
        found, small = int(self.stands_out.sum()), self.unsure
        more = f" {small:,} predicted {'class has' if small == 1 else 'classes have'} too few rows." if small else ""
        if not self.pairs:
            return "Too few rows of every class to tell.", more.strip()
        looked = (
            "For each predicted class, the probability of every class is compared with the labels. Of these "
            f"{self.pairs:,} gaps"
        )
        first = self._sentence(0) if found else "No pair is significantly off."
        return first, count_words(looked, found, more, "pair")

    def frame(self) -> pd.DataFrame:
        """One line per listed pair, with its sentence."""
        places = range(len(self.rows))
        words: dict[str, list[Any]] = {
            "finding": [self._sentence(i) for i in places],
            "place": [self._place(i) for i in places],
            "class": [self.names[c] for c in self.predicted],
            "code": self.predicted.tolist(),
            "label": [self.names[c] for c in self.label],
            "label_code": self.label.tolist(),
        }
        together = () if self.groups is None else ("groups",)
        names = ("rows", *together, "worth", "says", "right", "low", "high", "level", "p", "p_corrected", "stands_out")
        numbers = {name: getattr(self, name) for name in names}
        return pd.DataFrame({name: pd.Series(values, dtype=object) for name, values in words.items()}).assign(
            **numbers, gap=self.right - self.says
        )

    def _place(self, i: int) -> str:
        first, second = (called(self.names[codes[i]]) for codes in (self.predicted, self.label))
        return first if self.predicted[i] == self.label[i] else f"{first}: {second}"

    def _sentence(self, i: int) -> str:
        says, right = told_apart(float(self.says[i]), float(self.right[i]))
        first, second = (called(self.names[codes[i]]) for codes in (self.predicted, self.label))
        rows = of_rows(self.rows[i], self.worth[i], None if self.groups is None else self.groups[i])
        if np.isnan(self.p[i]):
            return f"Too few rows to tell where {first} is predicted: {rows}."
        of = f"{round(self.right[i] * self.rows[i]):,} of {rows}" if self.counted else rows
        ends = share_range(float(self.low[i]), float(self.high[i]))
        basis = f"({of}; {at_level(float(self.level[i]))} interval {ends})"
        chance = "" if self.stands_out[i] else " This gap is not significant."
        if self.predicted[i] == self.label[i]:
            of_it = f"the mean confidence is {says} and the accuracy {right} {basis}.{chance}"
            return f"Where {first} is predicted, {of_it}"
        of_it = f"and the observed frequency is {right} {basis}.{chance}"
        return begun(f"{second} has a mean probability of {says} where {first} is predicted, {of_it}")


def class_bias(
    predictions: Predictions,
    level: float = LEVEL,
    fewest: int = FEWEST,
    bins: int | str | BinningScheme | None = None,
) -> ClassBias:
    """Compare the mean probability and frequency of every class, for each predicted class.

    For every predicted class c and class l: over the rows predicted as c, says = mean p_l and right = the share of
    label l. All pairs whose c is predicted in ``fewest`` rows are tested, in two families corrected like all places
    (``inference.picked_out``). Pairs with l = c have the test of the predicted class over its ``bins``, as in
    ``findings``; pairs with l != c have ``share_test``. Intervals are at ``level``, for one pair each. With at most 25
    predicted classes, all pairs of them are listed. With more, those that are significantly off are listed, and at
    least the 20 with the smallest p. The largest significant gap comes first. Rows with an abstention are left out.
    Weights and groups count as for ``worth_of_cells``, except that intervals of rows in groups are Korn and Graubard's.
    What can mislead: with a thousand classes a million pairs are tested, and only strong confusions are significant.
    Gaps of a pair at high and at low confidence can cancel.

    References: Holm 1979; Clopper & Pearson 1934; Hoeffding 1956.

    >>> p = Predictions([[0.8, 0.1, 0.1]] * 100, [0] * 80 + [1] * 20, class_names=["cat", "dog", "fox"])
    >>> class_bias(p).frame()[["class", "label", "says", "right", "stands_out"]].round(2).values.tolist()
    [['cat', 'fox', 0.1, 0.0, True], ['cat', 'dog', 0.1, 0.2, True], ['cat', 'cat', 0.8, 0.8, False]]
    """
    as_share(level, "level")
    as_whole(fewest, "fewest", 1)
    if predictions.kind not in ("full", "per-class"):
        raise NotAnswerable("these predictions do not contain a probability for every class")
    rows = predictions.answered
    k, worth = len(rows.class_names or ()), worth_of_cells(rows, rows.predicted, len(rows.class_names or ()))
    number, groups = rows_of_cells(rows, rows.predicted, k)
    seen = np.flatnonzero(worth > 0)
    says, right = (part[seen].ravel() for part in _shares(rows, k))
    c, label, many = np.repeat(seen, k), np.tile(np.arange(k), len(seen)), np.repeat(worth[seen], k)
    numbers = {name: np.full(len(c), np.nan) for name in ("p", "p_corrected")}
    counted, kinds, own = counts_rows(rows), kinds_of_places(rows), c == label
    for mine in (np.flatnonzero(own), np.flatnonzero(~own)):
        if own[mine].any():
            p = predicted_classes(rows, bins_of(rows, bins), fewest)["p"].to_numpy(dtype=np.float64)[seen]
        else:
            p = share_test(right[mine], says[mine], many[mine], counted)
        numbers["p"][mine], numbers["p_corrected"][mine] = corrected_p(p, many[mine] >= fewest, kinds)
    outstanding = numbers["p_corrected"] <= SIGNIFICANCE
    listed = np.arange(len(c))
    if k > MOST_CLASSES:
        listed = np.union1d(np.flatnonzero(outstanding), np.argsort(numbers["p"], kind="stable")[:LISTED])
    low, high = share_ends(right[listed], many[listed], counted, level)
    if rows.row_groups is not None:
        low, high = _ends_of_groups(rows, k, level)[:, c[listed], label[listed]]
    order = worst_first(outstanding[listed], (right - says)[listed], numbers["p"][listed])
    lines = listed[order]
    return ClassBias(
        names=rows.class_names or (),
        predicted=c[lines],
        label=label[lines],
        rows=number[c[lines]],
        worth=many[lines],
        says=says[lines],
        right=right[lines],
        low=low[order],
        high=high[order],
        stands_out=outstanding[lines],
        **{name: part[lines] for name, part in numbers.items()},
        level=np.full(len(lines), level),
        pairs=int((many >= fewest).sum()),
        unsure=int((worth[seen] < fewest).sum()),
        counted=counted,
        groups=None if groups is None else groups[c[lines]],
    )


def _ends_of_groups(rows: Predictions, k: int, level: float) -> Float64s:
    """Ends of the share labeled as each class where each is predicted, for rows in groups, (2, K, K)."""
    every = np.arange(rows.n_rows)
    ends = [shares_in_cells(rows, rows.predicted, rows.true_labels == each, every, k, level)[:2] for each in range(k)]
    return np.stack([np.stack(end) for end in ends], axis=2)


def _shares(rows: Predictions, k: int) -> tuple[Float64s, Float64s]:
    """For each predicted class the mean probability of every class and the share labeled as it, (K, K)."""
    weights = np.ones(rows.n_rows) if rows.weights is None else rows.weights
    order = np.argsort(rows.predicted, kind="stable")
    sums, codes, w = np.zeros((k, k)), rows.predicted[order], weights[order]
    for where, block in rows.rows.take(order).blocks(LARGE_BLOCK_BYTES):
        starts = np.append(0, np.flatnonzero(np.diff(codes[where])) + 1)
        sums[codes[where][starts]] += np.add.reduceat(block * w[where, None], starts, axis=0)
    labels = np.bincount(rows.predicted * k + rows.true_labels, weights, k * k).reshape(k, k)
    total = np.bincount(rows.predicted, weights, k)[:, None]
    with np.errstate(invalid="ignore"):
        return sums / total, labels / total
