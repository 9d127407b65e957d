"""Mean confidence and accuracy of each slice, and which slices are significantly off."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from calib_core._base.arrays import Bools, Codes, Float64s
from calib_core._base.errors import NotAnswerable, as_share, as_whole
from calib_core.columns.conditions import kept_sums, summed
from calib_core.columns.cut import PARTS, coded, columns_looked_at, divided_by
from calib_core.defaults import LEVEL, SIGNIFICANCE
from calib_core.estimators.base import claimed_rows
from calib_core.inference.intervals.clustered_rows import shares_in_cells
from calib_core.inference.intervals.elementary import share_ends, share_floor, share_test
from calib_core.inference.significance.count_tests import (
    FEWEST,
    SMALLEST,
    corrected_p,
    count_noise,
    counts_in_cells,
    counts_rows,
    kinds_with_slices,
    score_nodes,
    worst_first,
)
from calib_core.inference.significance.multiple_testing import holm
from calib_core.predictions.predictions import Predictions, whole
from calib_core.reductions.base import counts
from calib_core.summaries.mergeable import Summary

_LEAST = 1e-12
_STEPS = 26


def against_rest(
    rows: Predictions, groups: Sequence[Codes], among: Codes | None, fewest: int, level: float
) -> pd.DataFrame:
    """Difference between the gap of each group of rows and that of all other rows, one line each.

    ``groups`` are positions, and ``among`` is where the other rows are (None: all). Columns: beyond = (right - claimed)
    in the group minus the same outside, beyond_low and beyond_high its interval at ``level``, p_beyond. Values are NaN
    where the effective sample size on either side is below ``fewest``. Both mean confidences are known; the two mean
    chances of being right are uncertain. Counted rows: Clopper and Pearson's ends l, u of both are combined by
    Newcombe's hybrid, beyond - sqrt((right - l)^2 + (u' - right')^2), and likewise above. The p-value is the smallest
    miss probability at which the interval excludes 0. Others: beyond is a sum of outcomes times a_i = w_i / W within
    and -w_i / W' outside. By Hoeffding p = 2 exp(-2 beyond^2 / sum over groups of rows of (sum |a_i|)^2), for any
    dependence within groups.

    References: Newcombe 1998, Statistics in Medicine 17, 873; Hoeffding 1963.
    """
    every = np.arange(rows.n_rows) if among is None else among
    weights = np.ones(rows.n_rows) if rows.weights is None else rows.weights
    whole = _Sums.of(rows, weights, every)
    lines = [_compared(rows, weights, every, places, whole, fewest) for places in groups]
    return _held_against(lines, counts_rows(rows), level)


def counts_against_rest(sums: Float64s, whole: Float64s, fewest: int, level: float) -> pd.DataFrame:
    """The same of groups known by number, sum of confidence and how many were right, (m, 3), and those of all, (3,)."""
    unknown, lines = (np.nan,) * 7, []
    for here, rest in zip(map(_Sums._make, sums.tolist()), map(_Sums._make, (whole - sums).tolist()), strict=True):
        enough = min(here.weight, rest.weight) >= fewest
        lines.append((*here.numbers, *rest.numbers, np.nan) if enough else unknown)
    return _held_against(lines, True, level)


def _held_against(lines: Sequence[tuple[float, ...]], counted: bool, level: float) -> pd.DataFrame:
    names = ["n", "gap", "right", "n_rest", "gap_rest", "right_rest", "squares"]
    found = pd.DataFrame(lines, columns=names, dtype=np.float64)
    beyond = (found["gap"] - found["gap_rest"]).to_numpy()
    if counted:
        here, rest = ((found["right" + end].to_numpy(), found["n" + end].to_numpy()) for end in ("", "_rest"))
        p = _least_miss(beyond, here, rest)
        below, above = _hybrid(here, rest, level)
    else:
        squares = found["squares"].to_numpy()
        p = np.clip(2 * np.exp(-2 * np.square(beyond) / squares), _LEAST, 1.0)
        below = above = np.sqrt(np.log(2 / (1 - level)) * squares / 2)
    return pd.DataFrame({"beyond": beyond, "beyond_low": beyond - below, "beyond_high": beyond + above, "p_beyond": p})


def unlike(p: Float64s, columns: int = 1) -> Float64s:
    """Mask of the slices that differ from the rest: Holm-corrected p at most 0.05, also corrected for the columns.

    Every slice is part of the rest of each other; Holm's rule is valid for dependent tests.
    """
    return np.asarray(columns * holm(p) <= SIGNIFICANCE)


class _Sums(NamedTuple):
    weight: float
    says: float
    right: float

    @classmethod
    def of(cls, rows: Predictions, weights: Float64s, places: Codes) -> _Sums:
        w = weights[places]
        says, right = (float(w @ part[places].astype(np.float64)) for part in (rows.confidence, rows.correct))
        return cls(float(w.sum()), says, right)

    def without(self, part: _Sums) -> _Sums:
        return _Sums(*(all_ - some for all_, some in zip(self, part, strict=True)))

    @property
    def numbers(self) -> tuple[float, float, float]:
        """Weight, gap, share right."""
        return self.weight, (self.right - self.says) / self.weight, self.right / self.weight


def _compared(
    rows: Predictions, weights: Float64s, every: Codes, places: Codes, whole: _Sums, fewest: int
) -> tuple[float, ...]:
    """Weight, gap and share right of these rows and of all others, and Hoeffding's sum of squares."""
    here = _Sums.of(rows, weights, places)
    rest = whole.without(here)
    unknown = (np.nan,) * 7
    if here.weight <= 0 or rest.weight <= 1e-9 * whole.weight:
        return unknown
    if counts_rows(rows):
        enough = min(here.weight, rest.weight) >= fewest
        return (*here.numbers, *rest.numbers, np.nan) if enough else unknown
    together = np.arange(rows.n_rows) if rows.groups is None else rows.groups
    n = int(together.max()) + 1
    inside = np.bincount(together[places], weights[places], n)
    outside = np.bincount(together[every], weights[every], n) - inside
    worth = [part.weight**2 / np.square(by_group).sum() for part, by_group in ((here, inside), (rest, outside))]
    squares = float(np.square(inside / here.weight + outside / rest.weight).sum())
    return (*here.numbers, *rest.numbers, squares) if min(worth) >= fewest else unknown


_Share = tuple[Float64s, Float64s]
"""Accuracies (m,) with their numbers of rows."""


def _hybrid(here: _Share, rest: _Share, level: float | Float64s) -> tuple[Float64s, Float64s]:
    """Distances from the difference of two shares to the ends of its interval."""
    (low, high), (low_rest, high_rest) = (share_ends(*share, counted=True, level=level) for share in (here, rest))
    return np.hypot(here[0] - low, high_rest - rest[0]), np.hypot(high - here[0], rest[0] - low_rest)


def _least_miss(beyond: Float64s, here: _Share, rest: _Share) -> Float64s:
    """The least miss at which the interval around ``beyond`` leaves out 0; NaN where that is not known."""
    low, high = np.full(len(beyond), np.log(_LEAST)), np.zeros(len(beyond))
    for _ in range(_STEPS):
        middle = (low + high) / 2
        below, above = _hybrid(here, rest, 1 - np.exp(middle))
        out = np.where(beyond > 0, below < beyond, above < -beyond)
        low, high = np.where(out, low, middle), np.where(out, middle, high)
    return np.where(np.isnan(beyond), np.nan, np.exp(high))


MOST_SLICES = 1000
_NORMAL_95 = 1.959963984540054


def table(
    predictions: Predictions,
    by: str | Sequence[str],
    edges: Sequence[float] | None = None,
    parts: int = PARTS,
    fewest: int = FEWEST,
    level: float = LEVEL,
    columns: int | None = None,
    progress: Callable[[int], object] | None = None,
    notion: str | None = None,
) -> pd.DataFrame:
    """One line per slice: mean confidence, accuracy, and whether it is significantly off; the largest such gap first.

    With ``notion`` "event", claimed is the mean predicted risk of the event of two classes and right its observed
    frequency. None means "event" for two classes and else confidence. For a summary, which has no slices of the event,
    it means confidence.

    ``by``, ``edges``, ``parts``: as for ``cut``. ``columns`` is the number of columns to correct for, by default all
    that divide these rows into groups. A slice then has the same corrected p by itself, among all columns and in
    ``findings``. Slices of fewer than ``fewest`` rows are not tested.

    Columns:

    - slice (in words), where (its text), rows, worth, share (of all), claimed (mean confidence), right (accuracy);
    - gap = right - claimed;
    - low and high (interval of the mean chance of being right, ``share_ends`` at ``level``);
    - floor (at least 95 % of calibrated models have a smaller |gap|, ``count_noise``);
    - p, p_corrected, stands_out (p_corrected at most 0.05);
    - adds = share * (|gap| - floor).

    Significant slices come first, by |gap|, then the others by p. The p-value is that of the number of correct rows if
    every row's chance is its confidence (Poisson-binomial, ``count_test``). ``stands_out`` follows it, so that at the
    margin the interval can still include ``claimed``: it is valid whatever the chances of single rows are. The
    corrected p is p_corrected = F * C * Holm's p among these slices, with C ``columns`` and F kinds of places
    (``inference.picked_out``). The chance of any false alarm among all slices, bins and classes is at most 5 %.

    Where the model is off over all rows, every large slice is significant. Each slice is therefore also compared with
    all other rows: beyond = gap - their gap, with its interval beyond_low to beyond_high at ``level``, and p_beyond.
    ``differs`` where that, C times Holm's, is at most 0.05 (Newcombe's hybrid of two exact intervals; NaN where the
    others are too few).

    For rows in groups (then with ``groups``, their number), and for weights that are no copies, ``worth`` is the
    effective sample size. It is (sum w)^2 over the sum over groups of (its weight)^2; otherwise worth = rows. Floor and
    p are then Hoeffding's, 2 exp(-2 worth gap^2), which are valid for any dependence of the rows in a group. So is the
    interval where there are weights; of rows in groups it is Korn and Graubard's, as in the reliability diagram. Rows
    the model abstains on are left out. NotAnswerable for more than 1,000 slices. What can mislead: gaps inside a slice
    can cancel. Crossings and other cuts that are examined in turn are further families of tests (``scan`` corrects for
    all).

    References: Clopper & Pearson 1934; Hoeffding 1956, 1963; Holm 1979; Korn & Graubard 1998; Newcombe 1998; Hong 2013
    (Poisson-binomial law).

    >>> site = pd.DataFrame({"site": ["a"] * 40 + ["b"] * 40 + ["c"]})
    >>> right = [True] * 30 + [False] * 10 + [True, False] * 20 + [True]
    >>> p = Predictions.from_confidence([0.75] * 81, right, metadata=site)
    >>> table(p, "site")[["slice", "rows", "right", "p", "stands_out"]].round(4).values.tolist()
    [['site = b', 40, 0.5, 0.0011, True], ['site = a', 40, 0.75, 1.0, False], ['site = c', 1, 1.0, nan, False]]
    """
    if columns is not None:
        as_whole(columns, "columns", 1)
    rows = claimed_rows(predictions, sliced_by(predictions, notion)).answered
    groups = coded(rows, by, edges, parts)
    if len(groups) > MOST_SLICES:
        raise NotAnswerable(
            f"the crossing has {len(groups):,} slices, more than the {MOST_SLICES:,} that can be shown; choose "
            "columns with fewer values, or fewer parts"
        )
    every, summary = [places for _, places in groups], counts(rows)
    if summary is None:
        found = judged(rows, every, fewest, level, progress)
    else:
        found = judged_counts(summary, by if isinstance(by, str) else by[0], every, fewest, level)
    found.insert(0, "slice", pd.Series([part.title for part, _ in groups], dtype=object))
    found.insert(1, "where", pd.Series([str(part) for part, _ in groups], dtype=object))
    many = columns_looked_at(rows) if columns is None else columns
    return _corrected(found, kinds_with_slices(rows), many)


def sliced_by(predictions: Predictions, notion: str | None) -> str | None:
    """The notion given; where there is none, the confidence for a summary: its slices are of the class predicted."""
    if counts(predictions) is None:
        return notion
    if notion == "event":
        raise NotAnswerable(
            "a summary stores slices for the predicted class and its confidence, not for the event's risk; use "
            "notion='confidence', or open the original file"
        )
    return notion or "confidence"


def _corrected(found: pd.DataFrame, kinds: int, columns: int) -> pd.DataFrame:
    """Slices of one column with p_corrected, stands_out and differs, in the common order of places."""
    p, gap = (found[name].to_numpy(dtype=np.float64) for name in ("p", "gap"))
    corrected = corrected_p(p, ~np.isnan(p), kinds * columns)[1]
    found["p_corrected"] = corrected
    found["stands_out"] = corrected <= SIGNIFICANCE
    found["differs"] = unlike(found["p_beyond"].to_numpy(), columns)
    return found.iloc[worst_first(corrected <= SIGNIFICANCE, gap, p)].reset_index(drop=True)


def by_column(
    predictions: Predictions,
    columns: Sequence[str] | None = None,
    parts: int = PARTS,
    progress: Callable[[int], object] | None = None,
    notion: str | None = None,
) -> pd.DataFrame:
    """One line per slice of every column; first the column of the largest significant gap.

    Columns without significant slices come last, by the spread of their slices, the largest first.

    ``columns`` are names. By default all are used except those that identify single rows, or have one value in every
    row. The columns of the frame and their numbers are those of ``table``, with ``column`` first and ``spread``, the
    same for all slices of a column. With gaps g_j of the slices, shares w_j, mean gap g and noise floors f_j, spread =
    sum_j w_j [(g_j - g)^2 - (f_j / 1.96)^2]. This is the variance between slices beyond noise, in squared probability.
    Below 0 it is no larger than by noise. It is NaN, and last, where no slice is tested.

    ``notion`` as for ``table``. NotAnswerable where no column is left.
    What can mislead: a column can be informative only because of another one.

    >>> columns = pd.DataFrame({"site": ["a"] * 40 + ["b"] * 40, "day": [1, 1, 2, 2] * 20})
    >>> right = [True] * 30 + [False] * 10 + [True, False] * 20
    >>> p = Predictions.from_confidence([0.75] * 80, right, metadata=columns)
    >>> by_column(p)[["column", "slice", "stands_out"]].values.tolist()[:3]
    [['site', 'site = b', True], ['site', 'site = a', False], ['day', 'day = 2', False]]
    """
    rows = claimed_rows(predictions, sliced_by(predictions, notion)).answered
    tables = []
    names = divided_by(rows, columns, parts)[0]
    many = len(names) if columns is None else max(len(names), columns_looked_at(rows))
    for done, name in enumerate(names, 1):
        part = table(rows, name, parts=parts, columns=many, notion="confidence")
        part.insert(0, "column", name)
        tables.append(part.assign(spread=_spread(part)))
        if progress is not None:
            progress(100 * done // len(names))
    found = pd.concat(tables, ignore_index=True)
    found["most"] = found["gap"].abs().where(found["stands_out"], 0.0)
    found["most"] = found.groupby("column")["most"].transform("max")
    order = ["most", "spread", "column"]
    return found.sort_values(order, ascending=False, kind="stable", ignore_index=True).drop(columns="most")


def _spread(lines: pd.DataFrame) -> float:
    share, gap, floor = (lines.loc[lines["p"].notna(), name] for name in ("share", "gap", "floor"))
    if not len(share):
        return math.nan
    away = gap - (share * gap).sum() / share.sum()
    return float((share * (np.square(away) - np.square(floor / _NORMAL_95))).sum())


def judged(
    rows: Predictions,
    groups: Sequence[Codes],
    fewest: int = FEWEST,
    level: float = LEVEL,
    progress: Callable[[int], object] | None = None,
    among: Codes | None = None,
) -> pd.DataFrame:
    """Columns rows to p_beyond of `table`, without corrections, for rows at these positions; groups may overlap.

    Shares are of all rows, or of those ``among`` which the groups lie.
    """
    as_whole(fewest, "fewest", 1)
    as_share(level, "level")
    counted, weights = counts_rows(rows), np.ones(rows.n_rows) if rows.weights is None else rows.weights
    together = None if counted else np.arange(rows.n_rows) if rows.groups is None else rows.groups
    total = float((weights if among is None else weights[among]).sum())
    lines, counts, nodes = [], [], score_nodes(rows.confidence)
    for done, places in enumerate(groups, 1):
        if counted:
            none = np.zeros(len(places), dtype=np.intp)
            counts.append(counts_in_cells(nodes, rows.confidence[places], none, 1, weights[places])[0])
        codes = None if together is None else np.unique(together[places], return_inverse=True)[1]
        lines.append(_line(rows.confidence[places].astype(np.float64), rows.correct[places], weights[places], codes))
        if progress is not None:
            progress(100 * done // len(groups))
    sums = np.array(lines, dtype=np.float64).reshape(-1, 4)
    if counted:
        noise = _noise(sums, nodes, np.array(counts).reshape(-1, len(nodes)))
    else:
        noise = share_test(sums[:, 3], sums[:, 2], sums[:, 1], False), share_floor(sums[:, 1])
    found = _tested(sums, noise, _numbers(rows, groups), total, counted, fewest, level)
    if rows.row_groups is not None and len(groups):
        every, cell = np.concatenate(groups), np.repeat(np.arange(len(groups)), [len(part) for part in groups])
        found["low"], found["high"], _ = shares_in_cells(rows, cell, rows.correct[every], every, len(groups), level)
    return pd.concat([found, against_rest(rows, groups, among, fewest, level)], axis=1)


def judged_counts(
    summary: Summary, column: str, groups: Sequence[Codes], fewest: int = FEWEST, level: float = LEVEL
) -> pd.DataFrame:
    """The same for groups of a summary's column values, from counts only."""
    as_whole(fewest, "fewest", 1)
    as_share(level, "level")
    values = kept_sums(summary, column)
    sums = summed(values, groups)
    number, says, right = sums.T
    lines = np.column_stack([number, number, says / number, right / number])
    nodes, counts = _kept_counts(summary, column)
    noise = _noise(lines, nodes, summed(counts, groups))
    found = _tested(lines, noise, {"rows": number.astype(np.intp)}, float(number.sum()), True, fewest, level)
    return pd.concat([found, counts_against_rest(sums, values.sum(axis=0), fewest, level)], axis=1)


def _noise(sums: Float64s, nodes: Float64s, counts: Float64s) -> tuple[Float64s, Float64s]:
    """p-values and noise floors of groups of rows of equal weight, or of copies: NaN where there are none."""
    return count_noise(nodes, counts, np.nan_to_num(np.rint(sums[:, 0] * sums[:, 3])))


def _tested(
    sums: Float64s,
    noise: tuple[Float64s, Float64s],
    numbers: dict[str, Codes],
    total: float,
    counted: bool,
    fewest: int,
    level: float,
) -> pd.DataFrame:
    """Columns rows to adds, from weight, effective sample size, mean confidence and accuracy of each group, (m, 4)."""
    weight, worth, claimed, right = sums.T
    tested = worth >= fewest
    p, floor = (np.where(tested, values, np.nan) for values in noise)
    low, high = share_ends(right, worth, counted, level)
    gap, share = right - claimed, weight / total
    return pd.DataFrame(
        {
            **numbers,
            "worth": worth,
            "share": share,
            "claimed": claimed,
            "right": right,
            "gap": gap,
            "low": low,
            "high": high,
            "floor": floor,
            "p": np.maximum(p, SMALLEST),
            "adds": share * (np.abs(gap) - floor),
        }
    )


def _numbers(rows: Predictions, groups: Sequence[Codes]) -> dict[str, Codes]:
    """Number of rows, and of groups if any, in each slice."""
    weights, codes = np.ones(rows.n_rows) if rows.weights is None else rows.weights, rows.groups
    number = weights if whole(rows.weights) else weights > 0
    found = {"rows": np.array([round(number[places].sum()) for places in groups], dtype=np.intp)}
    if codes is not None:
        many = (len(np.unique(codes[places][weights[places] > 0])) for places in groups)
        found["groups"] = np.fromiter(many, dtype=np.intp)
    return found


def _line(h: Float64s, right: Bools, weights: Float64s, groups: Codes | None) -> tuple[float, float, float, float]:
    """Weight, effective sample size, mean confidence and accuracy; of rows in ``groups`` or of other weights."""
    n = float(weights.sum())
    if not n:
        return 0.0, 0.0, np.nan, np.nan
    worth = n if groups is None else n**2 / float(np.square(np.bincount(groups, weights)).sum())
    return n, worth, float(weights @ h) / n, float(weights @ right) / n


def _kept_counts(summary: Summary, name: str) -> tuple[Float64s, Float64s]:
    """Nodes (G,) and, for each of these values, its rows' confidences as claims at the nodes, (values, G)."""
    every = list(summary.slices[name].values())
    number = [cells.count.astype(np.float64) for cells in every]
    means = [cells.sums.value[0] / count for cells, count in zip(every, number, strict=True)]
    nodes = score_nodes(np.round(np.concatenate(means), 12))
    nothing = [np.zeros(len(mean), dtype=np.intp) for mean in means]
    lines = [counts_in_cells(nodes, *line[:2], 1, line[2])[0] for line in zip(means, nothing, number, strict=True)]
    return nodes, np.array(lines)
