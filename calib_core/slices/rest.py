"""Is a slice off in another way than all other rows? Where a model is off everywhere, every large slice stands out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from calib_core._base.arrays import Codes, Float64s
from calib_core.defaults import SIGNIFICANCE
from calib_core.inference.intervals.share_intervals import share_ends
from calib_core.inference.significance.count_tests import counts_rows
from calib_core.inference.significance.multiple_testing import holm
from calib_core.predictions.predictions import Predictions

_LEAST = 1e-12
_STEPS = 26


def against_rest(
    rows: Predictions, groups: Sequence[Codes], among: Codes | None, fewest: int, level: float
) -> pd.DataFrame:
    """How far the gap of each group of rows lies from that of all others, a line each.

    ``groups`` are positions, ``among`` which the others are looked for (None: all). Columns: beyond = (right - claimed)
    in the group minus the same outside, beyond_low and beyond_high its interval at ``level``, p_beyond. NaN where the
    rows on either side are worth fewer than ``fewest``. Both mean confidences are known; what is unsure are the two
    mean chances of being right. Counted rows: Clopper and Pearson's ends l, u of both, put together by Newcombe's
    hybrid: beyond - sqrt((right - l)^2 + (u' - right')^2), and so above; p is the least miss at which the interval
    leaves out 0. Others: beyond is a sum of outcomes times a_i = w_i / W within and -w_i / W' outside, so that by
    Hoeffding p = 2 exp(-2 beyond^2 / sum over groups of rows of (sum |a_i|)^2), however these hang together.

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
    """Whether slices of one of so many columns differ from the rest: p corrected by Holm is at most 0.05 in all.

    Every slice is part of the rest of each other; Holm's rule holds for tests that depend on each other.
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
"""Shares right (m,) of so many rows."""


def _hybrid(here: _Share, rest: _Share, level: float | Float64s) -> tuple[Float64s, Float64s]:
    """How far the interval of the difference of two shares reaches below and above it."""
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
