"""Local regression as R computes it: loess with its interpolation between vertices, and lowess without iterations."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calib_core._base.arrays import Float64s
from calib_core.inference.intervals.event_rows import Trials

_SPAN, _CELL, _MARGIN = 0.75, 0.2, 0.005


@dataclass(frozen=True, eq=False)
class LocalCurve:
    """A curve through ``nodes`` ascending: its ``values`` there, standard errors, and ``slopes`` (None: straight)."""

    nodes: Float64s
    values: Float64s
    errors: Float64s
    slopes: Float64s | None = None

    def at_scores(self, scores: Float64s) -> tuple[Float64s, Float64s]:
        """Curve and standard error at these scores (m,): cubic between nodes with slopes, else straight."""
        errors = np.interp(scores, self.nodes, self.errors)
        if self.slopes is None:
            return np.interp(scores, self.nodes, self.values), errors
        place = np.clip(np.searchsorted(self.nodes, scores, side="right") - 1, 0, len(self.nodes) - 2)
        width = self.nodes[place + 1] - self.nodes[place]
        h = (scores - self.nodes[place]) / width
        ends = (1 - h) ** 2 * (1 + 2 * h) * self.values[place] + h**2 * (3 - 2 * h) * self.values[place + 1]
        bent = h * (1 - h) ** 2 * self.slopes[place] - h**2 * (1 - h) * self.slopes[place + 1]
        return ends + bent * width, errors


def loess(trials: Trials) -> LocalCurve:
    """R's ``loess(y ~ s)``: local parabolas over three quarters of the rows, tricube weights, at the cells' vertices.

    Cells of the scores are halved until they hold 15 % of the rows or fewer; between vertices the curve is a cubic
    polynomial with the local fits' values and slopes.

    References: Cleveland, Grosse & Shyu 1992; Cleveland & Grosse 1991, Statistics and Computing 1.
    """
    nodes = _vertices(trials)
    near = max(min(trials.total, np.floor(trials.total * _SPAN + 1e-5)), 1.0)
    operators = [_local_parabola(trials, node, near) for node in nodes]
    values, slopes = (np.array([each[k] @ trials.events for each in operators]) for k in (0, 1))
    plain = LocalCurve(nodes, values, np.zeros(len(nodes)), slopes)
    variance = _variance(plain.at_scores(trials.score)[0]) * trials.rows
    errors = np.array([np.sqrt(np.square(each[0]) @ variance) for each in operators])
    return LocalCurve(nodes, values, errors, slopes)


def _variance(chance: Float64s) -> Float64s:
    inside = np.clip(chance, 0.0, 1.0)
    return inside * (1 - inside)


def _vertices(trials: Trials) -> Float64s:
    """Where cells of the scores end: the range, a little wider, cut at medians."""
    score, counted = trials.score, np.round(np.cumsum(trials.rows)).astype(np.int64)
    n, few = int(counted[-1]), int(np.floor(trials.total * _SPAN * _CELL))
    low, high = float(score[0]), float(score[-1])
    reach = max(high - low, max(abs(low), abs(high)) * 1e-3 + 1e-30) * _MARGIN
    cuts = [low - reach, high + reach]

    def entry(row: int) -> int:
        """The entry of the row of this rank, from 0."""
        return int(np.searchsorted(counted, row, side="right"))

    cells: list[tuple[int, int, float, float]] = [(0, n - 1, cuts[0], cuts[1])]
    while cells:
        first, last, begin, end = cells.pop()
        if last - first + 1 <= few:
            continue
        middle = (first + last + 2) // 2 - 1
        this = entry(middle)
        if entry(middle + 1) == this:  # ties stay together: the nearest change of value, the higher one first
            start, stop = int(counted[this - 1]) if this else 0, int(counted[this]) - 1
            keys = {2 * (stop - middle) - 1: stop, 2 * (middle - start + 1): start - 1}
            border = min(2 * (last - middle) - 1, 2 * (middle - first + 1))
            near = min(keys)
            if near < border:
                middle = keys[near]
        cut = float(score[entry(middle)])
        if cut in (begin, end):
            continue
        cuts.append(cut)
        cells += [(first, middle, begin, cut), (middle + 1, last, cut, end)]
    return np.array(sorted(cuts))


def _local_parabola(trials: Trials, node: float, near: float) -> tuple[Float64s, Float64s]:
    """What each entry's events add to the local fit's value and slope at a node, (2, m)."""
    distance = np.abs(trials.score - node)
    order = np.argsort(distance, kind="stable")
    place = int(np.searchsorted(np.cumsum(trials.rows[order]), near * (1 - 1e-12)))
    reach = max(float(distance[order[min(place, len(order) - 1)]]), 1e-300)
    ratio = distance / reach
    weight = np.where(ratio < 0.999, np.where(ratio > 0.001, (1 - np.minimum(ratio, 1) ** 3) ** 3, 1.0), 0.0)
    used = np.flatnonzero(weight > 0)
    away = (trials.score[used] - node) / reach
    root = np.sqrt(weight[used] * trials.rows[used])
    design = np.column_stack([np.ones_like(away), away, away**2]) * root[:, None]
    inverse = np.linalg.pinv(design, rcond=1e-7)
    value, slope = np.zeros(len(weight)), np.zeros(len(weight))
    per_row = root / trials.rows[used]
    value[used], slope[used] = inverse[0] * per_row, inverse[1] * per_row / reach
    return value, slope


def lowess(trials: Trials, span: float = 2 / 3) -> LocalCurve:
    """R's ``lowess(s, y, iter = 0)``: local lines over two thirds of the rows, straight between places 1 % apart.

    References: Cleveland 1979, Journal of the American Statistical Association 74.
    """
    score, counted = trials.score, np.round(np.cumsum(trials.rows)).astype(np.int64)
    n, whole = int(counted[-1]), float(score[-1] - score[0])
    near = max(2, min(n, int(span * n + 1e-7)))
    delta, places, operators = 0.01 * whole, [], []
    left, i = 0, 0

    def value_of(row: int) -> float:
        return float(score[np.searchsorted(counted, row, side="right")])

    while True:
        # The window of the nearest rows moves right while the row behind it is farther than the one ahead.
        middle = float(score[i])
        while left + near < n and middle - value_of(left) > value_of(left + near) - middle:
            left += 1
        places.append(i)
        operators.append(_local_line(trials, middle, value_of(left), value_of(left + near - 1), whole))
        if i == len(score) - 1:
            break
        beyond = int(np.searchsorted(score, middle + delta, side="right"))
        i = max(i + 1, beyond - 1)
    nodes = score[places]
    values = np.array([each @ trials.events for each in operators])
    variance = _variance(np.interp(score, nodes, values)) * trials.rows
    errors = np.array([np.sqrt(np.square(each) @ variance) for each in operators])
    return LocalCurve(nodes, values, errors)


def _local_line(trials: Trials, node: float, first: float, last: float, whole: float) -> Float64s:
    """What each entry's events add to the local line at a node, (m,)."""
    reach = max(node - first, last - node)
    distance = np.abs(trials.score - node)
    near = distance <= 0.999 * reach
    shape = (1 - (distance / max(reach, 1e-300)) ** 3) ** 3
    weight = np.where(near, np.where(distance > 0.001 * reach, shape, 1.0), 0.0)
    weight[distance == 0] = 1.0
    share = weight / (weight @ trials.rows)
    if reach > 0:
        middle = float(share * trials.rows @ trials.score)
        spread = float(share * trials.rows @ np.square(trials.score - middle))
        if np.sqrt(spread) > 0.001 * whole:
            share = share * ((node - middle) / spread * (trials.score - middle) + 1.0)
    return np.asarray(share)


LOCAL = {"loess": loess, "lowess": lowess}
"""Local regressions by name."""
