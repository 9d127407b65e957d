"""The smooth calibration curve of a risk, and how far it is from the diagonal: ICI, E50, E90 and Emax."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd
from scipy.special import expit

from calib_core._base.arrays import Float64s
from calib_core._base.distributions import norm
from calib_core._base.errors import InputError, NotAnswerable, as_share
from calib_core._base.notebook_display import OneLine
from calib_core.binning.base import BinningScheme
from calib_core.defaults import LEVEL, SEED
from calib_core.inference.intervals.error_hierarchy import mean_gap
from calib_core.inference.intervals.event_rows import EventRows, Trials, log_odds
from calib_core.inference.intervals.mean_gap import MeanGap
from calib_core.inference.intervals.observed_expected import (
    ONE_RISK,
    FirthLine,
    LogisticFit,
    information,
    maximum_likelihood,
    trials_of_fit,
)
from calib_core.inference.noise.noise_floor import EVENT
from calib_core.predictions.predictions import Predictions

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

    Cells of the scores are halved until they contain 15 % of the rows or fewer. Between vertices the curve is a cubic
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
    """Edges of cells of the scores: the range, slightly widened, cut at medians."""
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
    """Contributions of each entry's events to the local fit's value and slope at a node, (2, m)."""
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
    """Contributions of each entry's events to the local line at a node, (m,)."""
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


MEASURES = ("ici", "e50", "e90")
"""Mean, median and 90 % quantile of the distance between the curve and the diagonal."""
TITLES = {
    "ici": "ICI (mean distance)",
    "e50": "E50 (median distance)",
    "e90": "E90 (90 % quantile)",
    "emax": "Emax (largest distance)",
}
UNSTEADY = 1.0
"""Median standard error of the curve's log-odds above which it has fewer knots: risks nearly separate the event."""
LEFT_OPEN = 0.2
"""Share of the outcomes' variance that the curve leaves; with less, and unsteady log-odds, no interval is given."""
SEPARATED = (
    "no interval, because the risks separate the event from the other rows almost completely, so the noise of the "
    "curve is not known"
)
LINE_BELOW, THREE_KNOTS_BELOW = 20, 50
"""Events, or rows without one, below which the curve is a line in log-odds, or has three knots in place of four."""
KNOTS = {3: (0.1, 0.5, 0.9), 4: (0.05, 0.35, 0.65, 0.95)}
"""Quantiles of the log-odds at which knots are."""
PLACES = 120
"""Quantiles of the risks over which distances are averaged in simulations."""
DRAWS, _DIRECTIONS, _BISECTIONS, _HALVINGS = 400, 6, 9, 40
_HIGH = (1.0, 0.4, 1.0)
"""Shares of the upper ends' chance to miss that ICI, E50 and E90 use: with all of it, E50 missed up to .12 for .05."""
_SHARES = (0.5, 0.9)
"""Shares of rows with distances below E50 and E90."""
_POINTS = 101
_ROOM = 5
"""Rows beyond each end of the curve: it is drawn where data are."""


@dataclass(frozen=True, eq=False, repr=False)
class SmoothCurve(OneLine):
    """The observed frequency of an event as a smooth function of its predicted risk, and its distance from it.

    ``score`` is ascending from the 1st to the 99th percentile of the risks (or the 5th row from each end). ``observed``
    has a pointwise band ``low`` to ``high`` at ``level``; all are (m,). ``distances`` has a line for each of ICI, E50,
    E90 and Emax. Its columns are value, raw (of the curve itself, which noise inflates), low, high, floor_mean, floor,
    note. The floors are the mean and 95 % point of what a calibrated model shows. ``knots`` is 0 for loess and 2 for a
    line in log-odds.
    """

    event: str
    method: str
    level: float
    knots: int
    score: Float64s
    observed: Float64s
    low: Float64s
    high: Float64s
    distances: pd.DataFrame
    tested: bool
    note: str = ""

    def frame(self) -> pd.DataFrame:
        """One line per point: score, observed, low, high."""
        return pd.DataFrame({"score": self.score, "observed": self.observed, "low": self.low, "high": self.high})

    def _line(self) -> str:
        ici = self.distances.iloc[0]
        return f"{self.event!r}: {self.method}, ICI {ici['value']:.4f} ({ici['low']:.4f} to {ici['high']:.4f})"


def smooth_curve(
    predictions: Predictions,
    level: float = LEVEL,
    *,
    method: Literal["spline", "loess", "lowess"] = "spline",
    bins: int | str | BinningScheme | None = None,
    intervals: bool = True,
    seed: int = SEED,
) -> SmoothCurve:
    """Fit a smooth curve of the observed frequency of the event against its predicted risk.

    - "spline": logistic regression on a natural cubic spline of x = log-odds s with knots at the .05, .35, .65 and .95
      quantiles of x. There are three knots below 50 events, and a line below 20 (events or rows without one, whichever
      is fewer). There are also fewer knots where the median standard error of the fitted log-odds over the rows exceeds
      1.
    - "loess": local regression of the outcomes on s of degree 2 with span .75, as R's ``loess``.
    - "lowess": of degree 1 with span 2/3, as R's ``lowess(iter = 0)``, the curve of rms::val.prob.

    T is the mean (ICI), median (E50) or 90 % point (E90) of the distances |curve(s) - s| over the rows. The spline's
    coefficients are beta, those of the diagonal beta0, and their covariances V and V0. F(beta) is the distance at 120
    quantiles of the risks, and a = (1 - level)/2:

        floor = F(beta0 + V0^(1/2) Z): mean and 95 % point of 400 draws
        low = 0 if fewer than 1 - a of the floor's draws are below T, else F(beta0 + lam (beta - beta0)) at the lam
              where P(F(beta0 + lam (beta - beta0) + V^(1/2) Z) <= T) = 1 - a
        high = the same with a (E50: 0.4 a), T raised to the floor's median, the largest over this and 6 random
               directions
        value = F(beta0 + lam (beta - beta0)), one lam in [0, 1] for all three: that at which the ICI is
                2 T - mean of F(beta + V^(1/2) Z), and not below that of the mean gap

    A spline with an intercept has the mean of the outcomes, so that its ICI is never smaller than the mean gap. Ends
    and value of the ICI are at least those of the mean gap (``inference.mean_gap`` of the event, in ``bins``). The
    lower end of the mean gap misses with a chance that is known from the scores; a of the ICI's own lower end is the
    remainder. The upper end is at most 2 m plus that of the mean gap, m the mean risk or 1 - m: the curve's mean allows
    no more. Those of E50 and E90 are at most 2 and 10 times as large (Markov's inequality).

    So the values are those of one curve, and E50 <= E90 <= Emax. The ends of E50 are at most those of E90. For this the
    lower end of E50 and the upper one of E90 are adjusted, which can only widen an interval. Each value is inside its
    ends.

    Distances of loess curves have no interval or floor; Emax has neither. ``intervals=False`` leaves them out, and the
    values are raw ones, not corrected for noise.

    What can mislead: the target is the same spline fitted to the true chances; what is finer than four knots is
    smoothed away. A raw distance is never 0 and is raised by noise: compare it with the floor. Intervals are not given
    where rows belong to groups or risks nearly separate events from other rows, and were not simulated for weights.
    NotAnswerable where all risks are equal.

    References: Austin & Steyerberg 2014 and 2019, Statistics in Medicine 33 and 38; Harrell 2015, §2.4 (spline);
    Cleveland, Grosse & Shyu 1992 (loess).

    >>> s = np.linspace(0.05, 0.95, 400)
    >>> y = np.arange(400) * 7 % 10 + 0.5 < 10 * s  # as often as predicted
    >>> curve = smooth_curve(Predictions(np.column_stack([1 - s, s]), y.astype(int)))
    >>> bool(np.abs(curve.observed - curve.score).max() < 0.05), float(curve.distances.loc[0, "low"])
    (True, 0.0)
    """
    as_share(level, "level")
    if method not in ("spline", "loess", "lowess"):
        raise InputError(f'method is {method!r:.80}; it must be "spline", "loess" or "lowess"')
    gap = gap_of(predictions, level, bins) if intervals and method == "spline" else None
    return curve_of(EventRows.of(predictions), level, method, intervals, seed, gap)


def gap_of(predictions: Predictions, level: float, bins: int | str | BinningScheme | None) -> MeanGap | None:
    """The mean gap of the event, which the ICI is never smaller than; None where rows belong to groups."""
    return None if predictions.row_groups is not None else mean_gap(predictions, EVENT, level, bins)


def curve_of(
    rows: EventRows,
    level: float,
    method: str = "spline",
    intervals: bool = True,
    seed: int = SEED,
    gap: MeanGap | None = None,
) -> SmoothCurve:
    """The same where the rows of the event are at hand."""
    trials = rows.trials
    if not np.ptp(trials.score) > 0:
        raise NotAnswerable(ONE_RISK.replace("slope", "curve"))
    weighed = not rows.copies and rows.weights is not None
    if weighed:
        assert rows.weights is not None
        trials = trials.scaled(float(rows.weights.sum() / np.square(rows.weights).sum()))
    grid = _drawn_scores(trials)
    z = float(norm.isf((1 - level) / 2))
    tested = not (weighed or rows.groups is not None or rows.note)
    why = "" if rows.groups is None else "no interval, because rows belong to groups, and it needs independent rows"
    if method != "spline":
        smooth = LOCAL[method](trials)
        observed, spread = smooth.at_scores(grid)
        distance, knots = np.abs(smooth.at_scores(trials.score)[0] - trials.score), 0
        table = _without_intervals(distance, trials, "no interval: only simulated for the spline")
        low, high = observed - z * spread, observed + z * spread
    else:
        spline = Spline.of(trials)
        observed, knots = expit(spline.line(grid)), spline.knots_used
        design = spline.design(log_odds(grid))
        spread = _errors(spline.fit, design)
        low, high = expit(spline.line(grid) - z * spread), expit(spline.line(grid) + z * spread)
        distance = np.abs(expit(spline.line(trials.score)) - trials.score)
        apart = why or (SEPARATED if spline.separates(trials) else "")
        table = _without_intervals(distance, trials, apart)
        if intervals and not why:
            found = Distances.of(spline, trials, np.random.default_rng(seed))
            table = found.with_floors(table) if apart else found.table(table, (1 - level) / 2, gap)
    if why:
        low, high = np.full_like(low, np.nan), np.full_like(high, np.nan)
    observed, low, high = (np.clip(part, 0.0, 1.0) for part in (observed, low, high))
    note = "; ".join(filter(None, [why, rows.note]))
    return SmoothCurve(rows.event, method, level, knots, grid, observed, low, high, table, tested, note)


def _drawn_scores(trials: Trials) -> Float64s:
    """Evenly spaced risks from the 1st to the 99th percentile, at least 5 rows beyond each end where there are."""
    beyond = min(max(_ROOM, 0.01 * trials.total), trials.total / 2)
    counted = np.cumsum(trials.rows)
    first = trials.score[np.searchsorted(counted, beyond * (1 - 1e-9))]
    last = trials.score[np.searchsorted(counted, trials.total - beyond)]
    if not last > first:
        first, last = trials.score[0], trials.score[-1]
    return np.linspace(float(first), float(last), _POINTS)


def _without_intervals(distance: Float64s, trials: Trials, why: str) -> pd.DataFrame:
    """Distances of the curve itself at every row: mean, median, 90 % point and maximum."""
    order = np.argsort(distance, kind="stable")
    sorted_distance, weight = distance[order], trials.rows[order]
    value = {
        "ici": float(trials.rows @ distance / trials.total),
        "e50": _quantile(sorted_distance, weight, 0.5),
        "e90": _quantile(sorted_distance, weight, 0.9),
        "emax": float(distance.max()),
    }
    none = np.nan
    lines = [(key, TITLES[key], number, number, none, none, none, none, why) for key, number in value.items()]
    columns = ["measure", "title", "value", "raw", "low", "high", "floor_mean", "floor", "note"]
    table = pd.DataFrame(lines, columns=columns)
    table.loc[3, "note"] = "no interval, because the largest distance depends on few rows"
    return table


def _quantile(values: Float64s, rows: Float64s, share: float) -> float:
    """The quantile of R's type 7 among values repeated by the numbers of rows."""
    counted, total = np.cumsum(rows), rows.sum()
    place = share * (total - 1)
    below, above = (
        values[min(int(np.searchsorted(counted, p + 1e-9, side="right")), len(values) - 1)]
        for p in (np.floor(place), np.floor(place) + 1)
    )
    return float(below + (place - np.floor(place)) * (above - below))


@dataclass(frozen=True, eq=False)
class Spline:
    """A logistic fit on a natural cubic spline of log-odds; ``knots`` are empty for a line."""

    knots: Float64s
    fit: LogisticFit

    @classmethod
    def of(cls, trials: Trials, knots_used: int | None = None) -> Spline:
        """Fit the events, with fewer knots where needed; a line if no spline has a steady maximum.

        Fewer knots are needed where the likelihood has no maximum, or one that the data hardly determine
        (``UNSTEADY``). The line is Firth's where a line has no maximum either.

        ``knots_used``: of a curve to be compared with this one, whose number of knots it gets.
        """
        used = trials_of_fit(trials)
        fewer = min(trials.observed, trials.total - trials.observed)
        first = 4 if fewer >= THREE_KNOTS_BELOW else 3 if fewer >= LINE_BELOW else 2
        for number in range(first if knots_used is None else knots_used, 2, -1):
            knots = _knots(trials, number)
            if len(knots) < number:
                continue
            fit = maximum_likelihood(natural_spline(used.x, knots), used.rows, used.events)
            if fit is None:
                continue
            if knots_used is not None or _steady(fit, natural_spline(log_odds(places(trials)), knots)):
                return cls(knots, fit)
        design = natural_spline(used.x, np.empty(0))
        fit = maximum_likelihood(design, used.rows, used.events) if fewer > 0 else None
        return cls(np.empty(0), fit or _firth(used))

    def separates(self, trials: Trials) -> bool:
        """Whether outcomes are all but certain given the curve, which then is hardly determined where they are mixed.

        There the coefficients' normal noise, on which intervals are based, is not theirs.
        """
        chance = expit(self.line(trials.score))
        share = trials.observed / trials.total
        left = float(trials.rows @ (chance * (1 - chance))) / trials.total
        errors = _errors(self.fit, self.design(log_odds(places(trials))))
        return left < LEFT_OPEN * share * (1 - share) and float(np.median(errors)) > UNSTEADY / 2

    @property
    def knots_used(self) -> int:
        """Number of knots, 2 for a line."""
        return max(len(self.knots), 2)

    def design(self, x: Float64s) -> Float64s:
        """The columns at these log-odds."""
        return natural_spline(x, self.knots)

    def line(self, scores: Float64s) -> Float64s:
        """The curve's log-odds at these risks."""
        return np.asarray(self.design(log_odds(scores)) @ self.fit.coefficients)


def _steady(fit: LogisticFit, design: Float64s) -> bool:
    """Whether half of the rows have a log-odds known to within one standard error of ``UNSTEADY``."""
    return float(np.median(_errors(fit, design))) <= UNSTEADY


def _errors(fit: LogisticFit, design: Float64s) -> Float64s:
    """Standard errors of the fitted log-odds."""
    return np.asarray(np.sqrt(np.einsum("ij,jk,ik->i", design, fit.covariance, design)))


def _firth(trials: Trials) -> LogisticFit:
    line = FirthLine.of(trials.x, trials.rows, trials.events)
    fit = line.fit()
    back = np.array([[1.0, -line.middle / line.spread], [0.0, 1 / line.spread]])
    return LogisticFit(back @ fit.coefficients, back @ fit.covariance @ back.T, fit.height)


def _knots(trials: Trials, number: int) -> Float64s:
    places = np.array([_quantile(trials.x, trials.rows, share) for share in KNOTS[number]])
    apart = np.diff(places) > 1e-6 * max(np.ptp(trials.x), 1e-300)
    return places if apart.all() else np.empty(0)


def natural_spline(x: Float64s, knots: Float64s) -> Float64s:
    """Columns 1, x and truncated cubics that are linear beyond the outer knots: (n, max(2, knots)).

    ((x - t_j)+^3 - (x - t_(k-1))+^3 (t_k - t_j) / (t_k - t_(k-1)) + (x - t_k)+^3 (t_(k-1) - t_j) / (t_k - t_(k-1))) /
    (t_k - t_1)^2 for j = 1..k-2.

    References: Harrell 2015, eq. (2.25).

    >>> natural_spline(np.array([0.0, 2.0]), np.array([0.0, 1.0, 2.0])).tolist()
    [[1.0, 0.0, 0.0], [1.0, 2.0, 1.5]]
    """
    columns = [np.ones_like(x), x]
    if len(knots) > 2:
        cubes = np.maximum(x[:, None] - knots, 0.0) ** 3
        before, last = knots[-2], knots[-1]
        for j in range(len(knots) - 2):
            bent = cubes[:, -2] * (last - knots[j]) - cubes[:, -1] * (before - knots[j])
            columns.append((cubes[:, j] - bent / (last - before)) / (last - knots[0]) ** 2)
    return np.column_stack(columns)


@dataclass(frozen=True, eq=False)
class Distances:
    """Distances of the curve of a calibrated model, and of one as far off as observed.

    ``scores`` are (places,) and ``design`` is that there. ``diagonal`` and ``away`` are the diagonal's coefficients and
    the fit's difference from them. ``noise`` and ``calm`` are draws of log-odds (places, draws) under the fit and under
    calibration.
    """

    scores: Float64s
    design: Float64s
    diagonal: Float64s
    away: Float64s
    noise: Float64s
    calm: Float64s
    directions: Float64s

    @classmethod
    def of(cls, spline: Spline, trials: Trials, rng: np.random.Generator) -> Distances:
        scores = places(trials)
        design = spline.design(log_odds(scores))
        used = trials_of_fit(trials)
        of_rows = spline.design(used.x)
        q = of_rows.shape[1]
        diagonal = np.zeros(q)
        diagonal[1] = 1.0
        drawn = rng.standard_normal((q, DRAWS))
        root = _square_root(spline.fit.covariance)
        calm = _square_root(
            np.asarray(np.linalg.pinv(information(of_rows, used.rows, used.score), hermitian=True), dtype=np.float64)
        )
        around = rng.standard_normal((q, _DIRECTIONS))
        around *= np.sqrt(q) / np.linalg.norm(around, axis=0)
        away = spline.fit.coefficients - diagonal
        return cls(scores, design, diagonal, away, design @ root @ drawn, design @ calm @ drawn, (root @ around).T)

    def of_lines(self, lines: Float64s) -> Float64s:
        """ICI, E50 and E90 of curves with these log-odds, (places, curves): (3, curves)."""
        distance = np.abs(expit(lines) - self.scores[:, None])
        return np.array([distance.mean(axis=0), *np.quantile(distance, _SHARES, axis=0)])

    def table(self, plain: pd.DataFrame, tail: float, gap: MeanGap | None) -> pd.DataFrame:
        """The table of distances with bias-corrected values, ends and floors; the ICI's are at least the mean gap's."""
        table = plain.copy()
        base = self.design @ self.diagonal
        calm = self.of_lines(base[:, None] + self.calm)
        seen = self.of_lines((base + self.design @ self.away)[:, None])[:, 0]
        again = self._one(0, (base + self.design @ self.away)[:, None] + self.noise).mean()
        lows, highs = np.zeros(len(MEASURES)), np.zeros(len(MEASURES))
        # Of the chance to miss, the ICI's own lower end has what that of the mean gap leaves.
        own = [tail if gap is None else tail - gap.tail, tail, tail]
        for m in range(len(MEASURES)):
            if (calm[m] < seen[m]).mean() >= 1 - own[m]:
                lows[m] = self._end(m, self.away, seen[m], 1 - own[m])
            raised = max(float(seen[m]), float(np.median(calm[m])))
            highs[m] = max(self._end(m, way, raised, _HIGH[m] * tail) for way in (self.away, *self.directions))
        # A median is at most the 90 % point: the wider end of the two is that of both.
        lows[1], highs[2] = lows[1:].min(), highs[1:].max()
        least, point, most = (0.0, 0.0, 0.0) if gap is None else (gap.least, gap.point, gap.most)
        lows[0], highs[0] = max(lows[0], least), max(highs[0], most)
        if gap is not None:
            # Mean distance <= mean curve + mean risk, or the same of no event; and Markov's inequality for quantiles.
            mean = float(self.scores.mean())
            highs[0] = min(highs[0], 2 * min(mean, 1 - mean) + most)
            highs[1:] = np.minimum(highs[1:], highs[0] / (1 - np.array(_SHARES)))
        highs = np.maximum(highs, lows)
        values = np.clip(self._drawn_in(max(2 * seen[0] - float(again), point)), lows, highs)
        values[0] = max(values[0], point)
        table.loc[: len(MEASURES) - 1, ["value", "low", "high"]] = np.column_stack([values, lows, highs])
        return _floored(table, calm)

    def with_floors(self, plain: pd.DataFrame) -> pd.DataFrame:
        """The table with floors only, which depend on the calibrated curve."""
        return _floored(plain.copy(), self.of_lines((self.design @ self.diagonal)[:, None] + self.calm))

    def _drawn_in(self, wanted: float) -> Float64s:
        """ICI, E50 and E90 of the fitted curve, drawn towards the diagonal until its ICI is the one ``wanted``."""
        base, line = self.design @ self.diagonal, self.design @ self.away
        near, far = 0.0, 1.0
        if float(self._one(0, (base + line)[:, None])[0]) > wanted:
            for _ in range(_HALVINGS):
                middle = (near + far) / 2
                inside = float(self._one(0, (base + middle * line)[:, None])[0]) <= wanted
                near, far = (middle, far) if inside else (near, middle)
            far = near
        return self.of_lines((base + far * line)[:, None])[:, 0]

    def _end(self, m: int, way: Float64s, seen: float, share: float) -> float:
        """The distance at which this share of draws is at most what was seen, moving from the diagonal this way."""
        base, line = self.design @ self.diagonal, self.design @ way

        def below(lam: float) -> float:
            return float((self._one(m, (base + lam * line)[:, None] + self.noise) <= seen).mean())

        near, far = 0.0, 1.0
        if below(near) < share:
            return 0.0
        while below(far) >= share:
            near, far = far, 2 * far
            if far > 1e3:
                break
        for _ in range(_BISECTIONS):
            middle = (near + far) / 2
            near, far = (middle, far) if below(middle) >= share else (near, middle)
        return float(self._one(m, (base + near * line)[:, None])[0])

    def _one(self, m: int, lines: Float64s) -> Float64s:
        distance = np.abs(expit(lines) - self.scores[:, None])
        if m == 0:
            return np.asarray(distance.mean(axis=0))
        share = _SHARES[m - 1] * (len(distance) - 1)
        below = int(share)
        parts = np.partition(distance, [below, min(below + 1, len(distance) - 1)], axis=0)
        return np.asarray(parts[below] + (share - below) * (parts[min(below + 1, len(distance) - 1)] - parts[below]))


def _floored(table: pd.DataFrame, calm: Float64s) -> pd.DataFrame:
    """The table with mean and 95 % point of the distances of calibrated curves, (3, draws)."""
    floors = np.column_stack([calm.mean(axis=1), np.quantile(calm, 0.95, axis=1)])
    table.loc[: len(MEASURES) - 1, ["floor_mean", "floor"]] = floors
    return table


def places(trials: Trials) -> Float64s:
    """Risks at the 120 middle quantiles of the rows."""
    counted = np.cumsum(trials.rows)
    middles = (np.arange(PLACES) + 0.5) / PLACES * trials.total
    return np.asarray(trials.score[np.minimum(np.searchsorted(counted, middles), len(counted) - 1)])


def _square_root(covariance: Float64s) -> Float64s:
    values, vectors = np.linalg.eigh((covariance + covariance.T) / 2)
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0)))
