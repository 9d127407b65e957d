"""Intervals for binned errors by inverting a test: which true errors would make the observed one unremarkable?"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from scipy.stats import norm

from calib_core._arrays import BLOCK_BYTES, Float64s

DRAWS = 4000
"""Noise draws for few cells; fewer for many, where single draws vary less."""
_DRAWN_NUMBERS = 300_000
_PRECISE = 1e-5

Law: TypeAlias = Callable[[float], float]
"""theta -> the chance that the statistic is at most the observed one when the true error is theta."""


@dataclass(frozen=True, eq=False)
class CellGaps:
    """What the inversion knows of each non-empty cell: weight in the aggregate, rows, mean outcome and mean score.

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

        sqrt(q (1 - q) / n), q the outcomes' share after two more rows that behave as the scores say, made free of the
        bias this q has where they do: E q(1 - q) is short of the truth by a share n / (n + 2)^2.
        """
        n = self.rows
        q = (n * self.outcome + 2.0 * self.score) / (n + 2.0)
        return np.sqrt(np.maximum(q * (1.0 - q), 0.0) / n / (1.0 - n / (n + 2.0) ** 2))


def draws_for(cells: int) -> int:
    """How many noise draws an inversion over so many cells uses: 4000, less where cells are many, 1000 at least."""
    return int(np.clip(_DRAWN_NUMBERS // max(cells, 1), 1000, DRAWS))


def inverted(
    gaps: CellGaps, order: int, level: float, noise: Float64s, null: Float64s | None = None
) -> tuple[float, float]:
    """Ends of the interval for (sum_b w_b |true gap_b|^p)^(1/p), given the predictions; p = ``order`` 1 or 2.

    T = sum_b w_b |d_b|^p with gaps d_b. Were the error theta, T would be about sum_b w_b |theta u_b + s_b Z_b|^p, with
    directions u of unit norm, deviations s and standard normal Z (``noise``, (draws, cells)). The interval holds every
    theta with alpha/2 <= P(T_theta <= T) <= 1 - alpha/2. For p = 2 the direction is the observed one, d / norm. For
    p = 1 the law depends on how the error is spread over cells, which noise hides, so each end takes the direction
    that makes it careful: the lower one only cells that stand out from the noise (beyond sqrt(2 log cells) deviations,
    the largest excess over all cells when all are noise), the upper one the observed gaps
    with half as much again in proportion to the deviations.

    ``null``, values of T under perfect calibration, decide with the normal law whether the lower end is 0. For the
    upper end a T below the middle of noise alone counts as that middle (a power-constrained limit): bins that fit too
    well, as those of a calibrator judged on the rows it was fitted on do, must not make an error look smaller than
    these rows could show. What can mislead: the target is the error of the binned model, at most that of the model.

    References: test inversion as in Casella & Berger 2002, §9.2.1; threshold sqrt(2 log n) Donoho & Johnstone 1994;
    power-constrained limits Cowan et al. 2011.

    >>> gaps = CellGaps(np.ones(1), np.array([100.0]), np.array([0.7]), np.array([0.5]))
    >>> low, high = inverted(gaps, 2, 0.9, np.random.default_rng(0).standard_normal((4000, 1)))
    >>> round(low, 2), round(high, 2)  # 0.2 +- 1.64 sqrt(0.7 0.3 / 100)
    (0.12, 0.28)
    """
    size, deviation, alpha = _size(gaps, gaps.gap, order), gaps.deviation, 1.0 - level
    if size == 0.0:
        # No direction is seen: any cell could hold the error that noise happens to hide.
        return 0.0, min(1.0, _hidden(gaps, order, alpha))
    low_way, high_way = _directions(gaps, order)
    low_law = _law(gaps, low_way / _size(gaps, low_way, order), size, order, deviation * noise)
    middle = float(np.median(np.abs(deviation * noise) ** order @ gaps.weight)) ** (1 / order)
    high_law = _law(gaps, high_way / _size(gaps, high_way, order), max(size, middle), order, deviation * noise)
    top = max(size, middle) + 6.0 * float(np.sqrt((gaps.weight * np.square(deviation)).sum())) + 1e-9
    unremarkable = null is not None and np.mean(null <= size**order * (1.0 - 1e-12)) <= 1.0 - alpha / 2
    low = 0.0 if unremarkable or low_law(0.0) <= 1.0 - alpha / 2 else _where(low_law, 1.0 - alpha / 2, top)
    return low, float(np.clip(_where(high_law, alpha / 2, top), low, 1.0))


def binomial_null(gaps: CellGaps, rng: np.random.Generator, count: int) -> Float64s:
    """Gaps (count, cells) under perfect calibration, with every cell's positives binomial at its mean score.

    Real cells mix scores, which makes their counts vary a little less: the lower end errs on the side of 0.
    """
    rows = np.maximum(np.round(gaps.rows), 1.0)
    drawn = rng.binomial(rows.astype(np.int64), np.clip(gaps.score, 0.0, 1.0), size=(count, len(rows)))
    return np.asarray(np.abs(drawn / rows - gaps.score))


def _size(gaps: CellGaps, way: Float64s, order: int) -> float:
    return float((gaps.weight @ np.abs(way) ** order) ** (1 / order))


def _directions(gaps: CellGaps, order: int) -> tuple[Float64s, Float64s]:
    d = gaps.gap
    if order == 2:
        return d, d
    deviation = gaps.deviation
    clear = np.where(np.abs(d) > np.sqrt(2.0 * np.log(len(d))) * deviation, d, 0.0)
    if not clear.any():
        most = int(np.argmax(np.abs(d) / np.maximum(deviation, 1e-300)))
        clear[most] = d[most]
    evened = 0.5 * deviation * (_size(gaps, d, 1) / max(_size(gaps, deviation, 1), 1e-300))
    return clear, np.sign(d) * (np.abs(d) + evened)


def _law(gaps: CellGaps, way: Float64s, size: float, order: int, noise: Float64s) -> Law:
    """P(T_theta <= T) over the noise draws; for squares a polynomial of theta in every draw."""
    limit = size**order * (1.0 + 1e-12)
    if order == 1:
        return _absolute_law(gaps.weight, way, limit, noise)
    linear, square = noise @ (gaps.weight * way), np.square(noise) @ gaps.weight
    return lambda theta: float(np.mean(theta**2 + 2.0 * theta * linear + square <= limit))


def _absolute_law(weight: Float64s, way: Float64s, limit: float, noise: Float64s) -> Law:
    """The same for absolute values. Cells that the direction leaves alone are summed once, the others in blocks."""
    moved = way != 0
    still = np.abs(noise[:, ~moved]) @ weight[~moved]
    way, weight = way[moved], weight[moved]
    step = max(1, BLOCK_BYTES // (8 * max(len(way), 1)))
    blocks = [noise[i : i + step, moved] for i in range(0, len(noise), step)]
    room = np.empty((step, len(way)))

    def law(theta: float) -> float:
        sums = np.empty(len(noise))
        for i, block in enumerate(blocks):
            part = np.add(block, theta * way, out=room[: len(block)])
            sums[i * step : i * step + len(block)] = np.abs(part, out=part) @ weight
        return float(np.mean(sums + still <= limit))

    return law


def _where(law: Law, target: float, top: float) -> float:
    """The theta at which a falling law passes the target, by bisection."""
    low, high = 0.0, top
    while high - low > _PRECISE:
        middle = (low + high) / 2
        low, high = (middle, high) if law(middle) > target else (low, middle)
    return (low + high) / 2


def _hidden(gaps: CellGaps, order: int, alpha: float) -> float:
    """An upper bound when every observed gap is 0: all cells off by a normal alpha/2 point of their deviation."""
    floor = np.maximum(gaps.deviation, 0.0)
    return _size(gaps, float(norm.isf(alpha / 2)) * floor, order)
