"""Intervals for binned errors by test inversion: all true errors that are consistent with the observed one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol, TypeAlias

import numpy as np
from scipy.special import ndtr

from calib_core._base.arrays import BLOCK_BYTES, LARGE_BLOCK_BYTES, Bools, Codes, Float64s
from calib_core._base.distributions import norm
from calib_core._base.notebook_display import OneLine
from calib_core.inference.intervals.elementary import beyond, surplus
from calib_core.inference.noise.outcome_draws import NULL_DRAWS

DRAWS = 4000
"""Noise draws for few cells; fewer for many, where single draws vary less."""
RICH = 10.0
"""Expected minority outcomes per cell, on average, from which an inversion's normal law is trusted for upper ends."""
_DRAWN_NUMBERS = 300_000
_PRECISE = 1e-5

ErrorsOf: TypeAlias = Callable[[Bools], Float64s]
"""Standard normal errors (draws, wanted) of the cells that are wanted (cells,)."""
NO_ERRORS = np.zeros((0, 0))


class _Law(Protocol):
    """The chance that the statistic is at most the observed one, by the true error theta."""

    def read(self, theta: float, reach: float) -> tuple[float, _Law]:
        """Return the chance at theta, and the law for every theta within ``reach`` of this one."""
        ...


@dataclass(frozen=True, eq=False)
class _SimpleLaw:
    """A law whose chance takes little time."""

    chance: Callable[[float], float]

    def read(self, theta: float, reach: float) -> tuple[float, _Law]:
        return self.chance(theta), self


@dataclass(frozen=True, eq=False)
class _ShiftedLaw:
    """Share of draws with sum_b w_b |theta u_b + noise_b| + still <= limit, computed in blocks of draws.

    A sum changes by at most sum_b w_b |u_b| times the change of theta. Draws that are further from the limit are
    decided: ``below`` is the number of those below it. All others are in ``noise``, of originally ``draws``.
    """

    weight: Float64s
    way: Float64s
    limit: float
    noise: Float64s
    still: Float64s
    draws: int
    below: int = 0

    def read(self, theta: float, reach: float) -> tuple[float, _Law]:
        sums = self._sums(theta)
        share = (self.below + np.count_nonzero(sums <= self.limit)) / self.draws
        room = 1.01 * reach * float(self.weight @ np.abs(self.way))  # more than rounding takes
        near = np.abs(sums - self.limit) <= room
        if 2 * np.count_nonzero(near) > len(near):
            return share, self
        below = self.below + np.count_nonzero(sums < self.limit - room)
        return share, replace(self, noise=self.noise[near], still=self.still[near], below=int(below))

    def _sums(self, theta: float) -> Float64s:
        step = max(1, BLOCK_BYTES // (8 * max(len(self.way), 1)))
        moved, sums = theta * self.way, np.empty(len(self.noise))
        room = np.empty((min(step, len(sums)), len(moved)))
        for i in range(0, len(sums), step):
            block = self.noise[i : i + step]
            part = np.add(block, moved, out=room[: len(block)])
            sums[i : i + step] = np.abs(part, out=part) @ self.weight
        return sums + self.still


class Ends(NamedTuple):
    """The ends of an interval and the estimate between them."""

    low: float
    point: float
    high: float


@dataclass(frozen=True, eq=False, repr=False)
class CellGaps(OneLine):
    """Data of each non-empty cell for the inversion: weight in the aggregate, rows, mean outcome and mean score.

    Arrays are (cells,), weights sum to 1, ``rows`` may be an effective number.
    """

    weight: Float64s
    rows: Float64s
    outcome: Float64s
    score: Float64s

    @property
    def gap(self) -> Float64s:
        return self.outcome - self.score

    @property
    def deviation(self) -> Float64s:
        """Standard deviation of each cell's mean outcome around its unknown truth.

        sqrt(q (1 - q) / n), with q the share of outcomes after adding two rows that behave like the scores. It is
        corrected for the bias of q under calibration: E q(1 - q) is below the truth by a share n / (n + 2)^2.
        """
        n = self.rows
        q = (n * self.outcome + 2.0 * self.score) / (n + 2.0)
        return np.sqrt(np.maximum(q * (1.0 - q), 0.0) / n / (1.0 - n / (n + 2.0) ** 2))

    @property
    def spread(self) -> Float64s:
        """Root mean square of the deviations."""
        return np.asarray(np.sqrt((self.weight * np.square(self.deviation)).sum(axis=-1)))

    @property
    def claimed_deviation(self) -> Float64s:
        """The same if the scores were right: sqrt(s (1 - s) / n)."""
        return np.sqrt(np.maximum(self.score * (1.0 - self.score), 0.0) / self.rows)

    @property
    def expected_minority(self) -> float:
        """sum of n s (1 - s) over the number of cells: number of outcomes per cell, from scores only."""
        return float((self.rows * self.score * (1.0 - self.score)).mean())

    @property
    def rich(self) -> bool:
        """True if cells are expected to have enough outcomes of both kinds for a normal law of their sums."""
        return self.expected_minority >= RICH


@dataclass(frozen=True)
class Noise:
    """Effect of outcomes on the error: ``unit``, the most one row can move it, and counts of surprising rows.

    ``residual`` is the sum over rows of (movement by its residuals / unit)^2. ``outcome`` is the same with each
    cell's own mean outcome in place of the scores.
    """

    unit: float
    residual: float
    outcome: float


def draws_for(cells: int) -> int:
    """Number of noise draws of an inversion over these cells: 4000, fewer if there are many cells, at least 1000."""
    return int(np.clip(_DRAWN_NUMBERS // max(cells, 1), 1000, DRAWS))


def absolute_ends(
    gaps: CellGaps,
    noise: Noise,
    level: float,
    errors_of: ErrorsOf,
    null: Float64s,
    *,
    disjoint: bool,
    low_tail: float | None = None,
) -> Ends:
    """Interval for sum_b w_b |true gap_b|, given the predictions and the cells.

    ``low_tail`` is the chance with which the lower end may miss, if it is not (1 - level)/2.

    T = sum_b w_b |d_b| with gaps d_b. Further, tail = (1 - level)/2, z is its normal point, R the rows' squared
    residuals, and u the largest change of the error by one row. The upper end is that of ``absolute_high``.

    The lower end is the smaller of two. (1) Cells that exceed the noise, beyond sqrt(2 log cells) deviations, carry
    the error, and all others draw calibrated outcomes (``null``, gaps (draws, cells)). The end is the theta at which
    T is the upper tail point of that law; it is 0 if calibrated models show as much. (2) T - u z sqrt(R), for cells
    whose scores leave no noise although the truth does. Disjoint cells poor in outcomes also use the lower end of
    ``inverted``.

    The point is the median under law (1). For disjoint cells, no error is smaller than their mean gap, so the point
    is at least its estimate (``_mean_gap``). A point outside the interval is moved inside.

    What can mislead: the target is the error in these cells, at most that of the model. Law (1) attributes errors of
    other cells to noise. The point is therefore low if many cells are off a little and their signs cancel in the mean
    gap. Example: an event whose log-odds are stated 1.15, 1.3 and 1.5 times too far from 0 (2,000 rows). The true
    errors are 2.1, 4.0 and 6.1 %, and the points 1.1, 2.5 and 4.8 % on average. Those of the confidence, whose errors
    have one sign, are right.

    References: Fay & Feuer 1997; Casella & Berger 2002, §9.2.1; Donoho & Johnstone 1994.
    """
    tail = (1.0 - level) / 2 if low_tail is None else low_tail
    size, null = _size(gaps, gaps.gap, 1), np.abs(null)
    law, top = _clear_law(gaps, errors_of, null)
    unremarkable = float(np.mean(null @ gaps.weight < size * (1.0 - 1e-12))) <= 1.0 - tail
    low = 0.0 if unremarkable else _crossing(law, 1.0 - tail, top)
    low = min(low, max(0.0, size - noise.unit * float(norm.isf(tail)) * float(np.sqrt(noise.residual))))
    every = np.ones(len(gaps.rows), dtype=bool)
    if disjoint and not gaps.rich:
        errors = errors_of(every)
        low = min(low, _inverted_low(gaps, 1, 1.0 - 2.0 * tail, gaps.deviation * errors, null @ gaps.weight))
    point = max(_crossing(law, 0.5, top), _mean_gap(gaps) if disjoint else 0.0)
    return _ordered(low, point, absolute_high(gaps, noise, level, errors_of(every) if gaps.rich else NO_ERRORS))


def _mean_gap(gaps: CellGaps) -> float:
    """Size of the mean gap over cells, corrected for noise: no error of these cells is smaller.

    It is the theta at which half of |N(theta, sum w_b^2 s_b^2)| is below the observed |sum_b w_b d_b|. An error spread
    evenly over cells is detected, although no cell exceeds the noise.
    """
    size = abs(float(gaps.weight @ gaps.gap))
    spread = float(np.sqrt((np.square(gaps.weight * gaps.deviation)).sum()))
    if spread == 0.0:
        return size
    law = _SimpleLaw(lambda theta: float(ndtr((size - theta) / spread) - ndtr(-(size + theta) / spread)))
    return _crossing(law, 0.5, 1.0)


def absolute_high(gaps: CellGaps, noise: Noise, level: float, errors: Float64s) -> float:
    """Upper end for sum_b w_b |true gap_b|: T + u X(R) if cells are poor in outcomes, else inversion plus u D.

    The error is at most T less a noise of mean 0 whose variance is bounded by u^2 R. The Poisson limit X takes the
    place of z sqrt(R). Near scores of 0 and 1, outcomes can only fall to one side and do not fold. Nothing is therefore
    subtracted from T. If cells are rich (``CellGaps.rich``, known from scores only), noise folds into T and
    ``inverted`` subtracts it. The added u D(outcomes) is the difference between a Poisson limit and a normal one.
    """
    tail = (1.0 - level) / 2
    if not gaps.rich:
        return _size(gaps, gaps.gap, 1) + noise.unit * beyond(noise.residual, tail)
    return _inverted_high(gaps, 1, level, gaps.deviation * errors) + noise.unit * surplus(noise.outcome, tail)


def highs_reaching(samples: Sequence[tuple[CellGaps, Noise]], level: float, errors: Float64s, limit: float) -> int:
    """Number of samples of outcomes in the same cells whose ``absolute_high`` is at least ``limit``.

    In clear cases, the laws of all samples are computed near the limit only. The result is that of the ends themselves:
    an end is computed if the limit is within the precision of its bisection.
    """
    cells, tail = samples[0][0], (1.0 - level) / 2
    if not cells.rich:
        return sum(absolute_high(gaps, noise, level, errors) >= limit for gaps, noise in samples)
    more = np.array([noise.unit * surplus(noise.outcome, tail) for _, noise in samples])
    every = replace(cells, outcome=np.stack([gaps.outcome for gaps, _ in samples]))
    reaching, near = _high_sides(every, limit - more, tail, errors)
    close = (sample for sample, is_near in zip(samples, near, strict=True) if is_near)
    return int(reaching.sum()) + sum(absolute_high(gaps, noise, level, errors) >= limit for gaps, noise in close)


def _high_sides(gaps: CellGaps, theta: Float64s, tail: float, errors: Float64s) -> tuple[Bools, Bools]:
    """Whether ``_inverted_high`` is clearly above theta, and whether only the end itself can tell, for each sample.

    Outcomes are (samples, cells), and theta is (samples,). A law crosses the tail beyond theta if it is above the tail
    there, because laws fall. At 0 each is at least one half.
    """
    step = max(1, LARGE_BLOCK_BYTES // errors.nbytes)
    parts = [slice(i, i + step) for i in range(0, len(theta), step)]
    sides = [_sides(replace(gaps, outcome=gaps.outcome[part]), theta[part], tail, errors) for part in parts]
    above, near = map(np.concatenate, zip(*sides, strict=True))
    return above, near


def _sides(gaps: CellGaps, theta: Float64s, tail: float, errors: Float64s) -> tuple[Bools, Bools]:
    weight, deviation = gaps.weight, gaps.deviation
    size, scale = np.abs(gaps.gap) @ weight, deviation @ weight
    noise = deviation[:, None] * errors
    shown = np.maximum(size, np.median(np.abs(noise) @ weight, axis=1))
    top = shown + 6.0 * gaps.spread + 1e-9

    def moved_sums(way: Float64s, error: Float64s, of: Codes) -> Float64s:
        moved = noise[of]
        moved += (error[of, None] * way[of])[:, None]
        return np.asarray(np.abs(moved, out=moved) @ weight)

    def crosses(sums: Float64s, error: Float64s, of: Codes, room: float = 0.0) -> Bools:
        share = (sums + room <= shown[of, None] * (1.0 + 1e-12)).mean(axis=1)
        return np.asarray((error[of] < 0.0) | ((error[of] < top[of]) & (share > tail)))

    above, near = np.zeros(len(size), dtype=bool), np.asarray((size == 0.0) | (scale == 0.0))
    for way in (_evened(gaps, size[:, None], scale[:, None]), deviation):
        way = way / np.maximum(np.abs(way) @ weight, 1e-300)[:, None]
        of = np.flatnonzero((theta <= 1.0) & ~above & ~near)
        sums = moved_sums(way, theta - _PRECISE, of)
        of, sums = of[here := crosses(sums, theta - _PRECISE, of)], sums[here]
        # A statistic grows by no more than the error does: most laws that cross here do so beyond theta.
        beyond = crosses(sums, theta + _PRECISE, of, room=2.01 * _PRECISE)
        if len(unclear := np.flatnonzero(~beyond)):
            each = of[unclear]
            beyond[unclear] = crosses(moved_sums(way, theta + _PRECISE, each), theta + _PRECISE, each)
        above[of[beyond]], near[of[~beyond]] = True, True
    return above, near & (theta <= 1.0)


def square_ends(gaps: CellGaps, noise: Noise, level: float, errors: Float64s, null: Float64s) -> Ends:
    """Interval for (sum_b w_b gap_b^2)^(1/2) over cells of many rows: test inversion, its upper end raised by u D.

    As ``absolute_ends``; the direction of the error is the observed one.
    """
    low = _inverted_low(gaps, 2, level, gaps.deviation * errors, np.square(null) @ gaps.weight)
    size = _size(gaps, gaps.gap, 2)
    point = 0.0
    if size > 0.0:
        point = _crossing(_law(gaps, gaps.gap / size, size, 2, gaps.deviation * errors), 0.5, _top(gaps, size))
    return _ordered(low, point, square_high(gaps, noise, level, errors))


def square_high(gaps: CellGaps, noise: Noise, level: float, errors: Float64s) -> float:
    """Upper end for the root of the squared error over cells of many rows."""
    high = _inverted_high(gaps, 2, level, gaps.deviation * errors)
    return high + noise.unit * surplus(noise.outcome, (1.0 - level) / 2)


def inverted(
    gaps: CellGaps, order: int, level: float, noise: Float64s, null: Float64s | None = None
) -> tuple[float, float]:
    """Ends of the interval for (sum_b w_b |true gap_b|^p)^(1/p) under a normal law; p = ``order`` 1 or 2.

    T = sum_b w_b |d_b|^p with gaps d_b. If the error were theta, T would be about sum_b w_b |theta u_b + s_b Z_b|^p.
    Here u are directions of unit norm, s deviations and Z standard normal (``noise``, (draws, cells)). The interval
    contains every theta with alpha/2 <= P(T_theta <= T) <= 1 - alpha/2. For p = 2 the direction is the observed one,
    d / norm.

    For p = 1 the law depends on how the error is spread over cells, which noise hides. Each end uses a conservative
    direction. The lower one uses only cells that exceed the noise (beyond sqrt(2 log cells) deviations; the largest
    excess over all cells when all are noise). The upper one is the larger end of two directions. The first is the
    observed gaps plus half as much again in proportion to the deviations; the second is the deviations only.

    ``null``, values of T under perfect calibration, decide with the normal law whether the lower end is 0. For the
    upper end, a T below the median of noise counts as that median (a power-constrained limit). Bins can fit too well,
    for example those of a calibrator judged on its own rows. That must not make an error look smaller than these rows
    could show. What can mislead: the normal law is wrong if outcomes are rare (scores near 0 or 1, cells of few
    rows); ``absolute_ends`` and ``square_ends`` correct that.

    References: test inversion as in Casella & Berger 2002, §9.2.1; threshold sqrt(2 log n) Donoho & Johnstone 1994;
    power-constrained limits Cowan et al. 2011.

    >>> gaps = CellGaps(np.ones(1), np.array([100.0]), np.array([0.7]), np.array([0.5]))
    >>> low, high = inverted(gaps, 2, 0.9, np.random.default_rng(0).standard_normal((4000, 1)))
    >>> round(low, 2), round(high, 2)  # 0.2 +- 1.64 sqrt(0.7 0.3 / 100)
    (0.12, 0.28)
    """
    errors = gaps.deviation * noise
    low = _inverted_low(gaps, order, level, errors, null)
    return low, max(low, _inverted_high(gaps, order, level, errors))


def _inverted_low(gaps: CellGaps, order: int, level: float, errors: Float64s, null: Float64s | None) -> float:
    size, tail = _size(gaps, gaps.gap, order), (1.0 - level) / 2
    if size == 0.0:
        return 0.0
    way = _low_way(gaps) if order == 1 else gaps.gap
    law = _law(gaps, way / _size(gaps, way, order), size, order, errors)
    unremarkable = null is not None and np.mean(null <= size**order * (1.0 - 1e-12)) <= 1.0 - tail
    return 0.0 if unremarkable else _crossing(law, 1.0 - tail, _top(gaps, size))


def _inverted_high(gaps: CellGaps, order: int, level: float, errors: Float64s) -> float:
    size, tail = _size(gaps, gaps.gap, order), (1.0 - level) / 2
    if size == 0.0:
        # No direction is seen: any cell could hold the error that noise happens to hide.
        return min(1.0, _size(gaps, float(norm.isf(tail)) * gaps.deviation, order))
    laws, top = _high_laws(gaps, order, errors)
    return min(1.0, max(_crossing(law, tail, top) for law in laws))


def _high_laws(gaps: CellGaps, order: int, errors: Float64s) -> tuple[list[_Law], float]:
    """The laws an upper end is read from, and their last theta."""
    sizes = np.abs(errors)
    middle = float(np.median(np.power(sizes, order, out=sizes) @ gaps.weight)) ** (1 / order)
    shown = max(_size(gaps, gaps.gap, order), middle)
    ways = _high_ways(gaps, order)
    return [_law(gaps, way / _size(gaps, way, order), shown, order, errors) for way in ways], _top(gaps, shown)


def binomial_null(gaps: CellGaps, rng: np.random.Generator, count: int = NULL_DRAWS) -> Float64s:
    """Gaps (count, cells) under perfect calibration, every cell's positives binomial at its mean score.

    Real cells mix scores, which makes their counts vary a little less: the lower end is slightly conservative.
    """
    rows = np.maximum(np.round(gaps.rows), 1.0)
    drawn = rng.binomial(rows.astype(np.int64), np.clip(gaps.score, 0.0, 1.0), size=(count, len(rows)))
    return np.asarray(drawn / rows - gaps.score)


def _ordered(low: float, point: float, high: float) -> Ends:
    high = float(np.clip(high, low, 1.0))
    return Ends(low, float(np.clip(point, low, high)), high)


def _size(gaps: CellGaps, way: Float64s, order: int) -> float:
    return float((gaps.weight @ np.abs(way) ** order) ** (1 / order))


def _top(gaps: CellGaps, size: float) -> float:
    """More than any error that could have shown as little as ``size``."""
    return size + 6.0 * float(gaps.spread) + 1e-9


def _clear(gaps: CellGaps, deviation: Float64s) -> Bools:
    """Cells that exceed the noise, or the one closest to it if none does."""
    ratio = np.abs(gaps.gap) / np.maximum(deviation, 1e-300)
    clear = np.asarray(ratio > np.sqrt(2.0 * np.log(len(ratio))))
    if not clear.any():
        clear[int(np.argmax(ratio))] = True
    return clear


def _clear_law(gaps: CellGaps, errors_of: ErrorsOf, null: Float64s) -> tuple[_Law, float]:
    """The law of T when clear cells carry the error and all others draw calibrated outcomes, and its last theta."""
    size = _size(gaps, gaps.gap, 1)
    clear = _clear(gaps, np.maximum(gaps.deviation, gaps.claimed_deviation)) & (gaps.gap != 0)
    if not clear.any():
        return _SimpleLaw(lambda theta: 0.0), 1.0
    weight, way = gaps.weight[clear], np.abs(gaps.gap[clear])
    way = way / float(weight @ way)
    still = null @ np.where(clear, 0.0, gaps.weight)
    errors = gaps.deviation[clear] * errors_of(clear)[: len(null)]
    return _shifted_law(weight, way, size, errors, still), _top(gaps, size)


def _low_way(gaps: CellGaps) -> Float64s:
    return np.where(_clear(gaps, gaps.deviation), gaps.gap, 0.0)


def _high_ways(gaps: CellGaps, order: int) -> list[Float64s]:
    """Possible distributions of the error over cells for an upper end.

    Squares: the observed one. Absolute errors: the observed gaps plus half as much again in proportion to the
    deviations, and the deviations only, which noise hides best. Over many cells, observed gaps are more uneven than
    true ones, and the more uneven an error is, the less of it folds into noise.
    """
    if order == 2:
        return [gaps.gap]
    observed = _evened(gaps, _size(gaps, gaps.gap, 1), _size(gaps, gaps.deviation, 1))
    return [observed, gaps.deviation] if gaps.deviation.any() else [observed]


def _evened(gaps: CellGaps, size: Float64s | float, noise: Float64s | float) -> Float64s:
    """The observed gaps plus half as much again in proportion to the deviations; the sums of both are given."""
    return np.asarray(
        np.sign(gaps.gap) * (np.abs(gaps.gap) + 0.5 * gaps.deviation * (size / np.maximum(noise, 1e-300)))
    )


def _law(gaps: CellGaps, way: Float64s, size: float, order: int, noise: Float64s) -> _Law:
    """P(T_theta <= T) over the noise draws; for squares a polynomial of theta in every draw."""
    if order == 1:
        moved = way != 0
        if moved.all():
            return _shifted_law(gaps.weight, way, size, noise, np.zeros(len(noise)))
        still = np.abs(noise[:, ~moved]) @ gaps.weight[~moved]
        return _shifted_law(gaps.weight[moved], way[moved], size, noise[:, moved], still)
    limit = size**order * (1.0 + 1e-12)
    linear, square = noise @ (gaps.weight * way), np.square(noise) @ gaps.weight
    return _SimpleLaw(lambda theta: float(np.mean(theta**2 + 2.0 * theta * linear + square <= limit)))


def _shifted_law(weight: Float64s, way: Float64s, size: float, noise: Float64s, still: Float64s) -> _ShiftedLaw:
    """P(sum_b w_b |theta u_b + noise_b| + still <= size)."""
    return _ShiftedLaw(weight, way, size * (1.0 + 1e-12), noise, still, len(noise))


def _crossing(law: _Law, target: float, top: float) -> float:
    """The theta at which a falling law passes the target, by bisection; 0 where it starts below."""
    if law.read(0.0, np.inf)[0] <= target:
        return 0.0
    low, high = 0.0, top
    while high - low > _PRECISE:
        middle = (low + high) / 2
        share, law = law.read(middle, middle - low)
        low, high = (middle, high) if share > target else (low, middle)
    return (low + high) / 2
