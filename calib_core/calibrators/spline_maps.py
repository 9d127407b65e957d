"""Splines as maps of one score: a smooth curve of log-odds, and the slope of a smooth cumulative error."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Annotated

import numpy as np

from calib_core._base.arrays import Bools, Float64s, Floats
from calib_core._base.sklearn_api import check_is_fitted
from calib_core.calibrators.base import BINARY_CALIBRATORS, BinaryCalibrator, CurveMap, Interpolated, MapShape
from calib_core.calibrators.calibration_rows import are_copies, as_rows
from calib_core.calibrators.fitting.natural_spline import NaturalSpline
from calib_core.calibrators.insides import PLACES, Insides, Number, score_numbers
from calib_core.calibrators.scaling_map import logs
from calib_core.claims.binary_claims import Stratum
from calib_core.defaults import SEED
from calib_core.registry.registry import Range
from calib_core.text import several

MOST_KNOTS = 6
PENALTIES = (100.0, 10.0, 1.0, 0.1, 0.01)
"""Penalties between which cross-validation chooses; the first is nearly a straight line."""

_FOLDS = 5
_OUTER = 0.03
"""Share of the distinct scores beyond each outer knot."""
_APART = 1e-3
"""Least distance between knots, in standard deviations of log-odds: nearer ones count as one place."""
_SPREAD = 1e-9
"""Standard deviation of log-odds up to which all scores count as equal."""
_LOOSE = 0.01
"""Penalty of offset and slope, which keeps them finite if scores separate the outcomes or all outcomes agree."""
_FEW = 1e-6
"""Share of the rows up to which those of one score are a point of the cumulative error."""
_STEPS = 200
_NEAR = 1e-7


@BINARY_CALIBRATORS.register(
    "spline", "Spline map", reference="Lucena 2018", flags=MapShape(counts="outcomes", numbers=MOST_KNOTS)
)
@dataclass(eq=False, repr=False)
class SplineMap(BinaryCalibrator):
    """Fits a smooth curve of log-odds, as flexible as cross-validation allows; beyond the outer knots it is a line.

    g(s) = sigmoid(z + f(x)) with z = log(s / (1 - s)). Here x is (z - mean) / standard deviation over the calibration
    rows. The natural cubic spline f(x) = d0 + d1 x + sum_j c_j h_j(x) minimizes the summed log loss plus p / 2 sum_j
    c_j^2 + .005 (d0^2 + d1^2). Bend h_j has a second derivative of 1 at inner knot j and 0 at the other knots. A line
    fitted to it by least squares is subtracted from it, so without bends the map is that of Platt scaling. The weak
    penalty of d0 and d1 only matters if scores separate the outcomes.

    Six knots are at evenly spaced quantiles, from 3 % to 97 %, of the distinct log-odds, and fewer if these are few.
    With ``penalty`` = 0 the penalty p is the one of 100, 10, 1, .1 and .01 with the least log loss in 5 random folds.
    These depend on the set of rows, not on their order. Unequal weights count as their effective sample size.

    ``knots_`` (m,) are log-odds, ``coefficients_`` (m + 1, 4) the polynomials between them, ``penalty_`` is p. What can
    mislead: the map can decrease, and ``note`` reports it. Rows of one group can be in several folds; the penalty is
    then too small, and a fixed one is safer.

    References: Lucena 2018 (natural splines with a penalty chosen by cross-validation; there without log-odds).

    >>> g = SplineMap().fit([0.1] * 40 + [0.7] * 50, [1] * 10 + [0] * 30 + [1] * 40 + [0] * 10)
    >>> g.transform([0.1, 0.7]).round(2).tolist()
    [0.25, 0.8]
    """

    penalty: Annotated[
        float, Range(0, 1_000_000), "Penalty", "penalty of the bends; 0 chooses it by cross-validation"
    ] = 0.0

    @property
    def note(self) -> str:
        check_is_fitted(self)
        return _FALLS if self._falls() else ""

    def insides(self) -> Insides:
        return Insides(
            several(len(self.knots_), "knots"),
            "Moves the log-odds of a score along a smooth curve.",
            lambda: [
                Number("penalty", float(self.penalty_)),
                *score_numbers(PLACES, self.transform(PLACES)),
            ],
            unit="curve",
        )

    def _fit(self, scores: Floats, outcomes: Bools, weights: Float64s | None) -> None:
        rows = np.ones(len(scores)) if weights is None else as_rows(weights)
        # Sorted, so that folds and sums do not depend on the order of the rows; by the probability of what happened, so
        # that both columns of two classes have the same folds.
        order = np.lexsort((rows, outcomes, scores, np.where(outcomes, scores, 1.0 - scores)))
        order = order[rows[order] > 0]
        yes, no = logs(scores[order])
        loss = _Loss.of(yes - no, outcomes[order].astype(np.float64), rows[order])
        tried = (self.penalty,) if self.penalty > 0 or not loss.n_bends else PENALTIES
        self.penalty_ = float(tried[0]) if len(tried) == 1 else self._chosen(loss)
        self.knots_, self.coefficients_ = loss.curve(loss.least(np.array([self.penalty_]), loss.rows[None])[0])

    def _chosen(self, loss: _Loss) -> float:
        """Penalty with the least log loss in the held-out folds; of equally good ones the largest."""
        rng = np.random.default_rng(SEED)
        n = len(loss.rows)
        copies = are_copies(loss.rows)
        units = np.repeat(np.arange(n), loss.rows.astype(np.intp)) if copies else np.arange(n)
        fold = rng.permutation(len(units)) % _FOLDS
        tests = np.array([np.bincount(units[fold == k], minlength=n) for k in range(_FOLDS)], dtype=np.float64)
        tests = tests if copies else tests * loss.rows
        penalties, tests = np.repeat(PENALTIES, _FOLDS), np.tile(tests, (len(PENALTIES), 1))
        lost = np.sum(tests * loss.losses(loss.least(penalties, loss.rows - tests)), axis=1)
        of_penalty = lost.reshape(len(PENALTIES), _FOLDS).sum(axis=1)
        return PENALTIES[int(np.argmax(of_penalty <= of_penalty.min() * (1.0 + 1e-9)))]

    def _falls(self) -> bool:
        """Return True if the slope of a piece is negative: at its left end, or where it is least."""
        gaps = np.diff(self.knots_)
        _, c1, c2, c3 = self.coefficients_.T
        inner = slice(1, len(gaps) + 1)
        turn = np.divide(-c2[inner], 3.0 * c3[inner], out=np.zeros(len(gaps)), where=c3[inner] > 0)
        t = np.clip(turn, 0.0, gaps)
        return bool((c1 < 0).any() or (c1[inner] + t * (2.0 * c2[inner] + 3.0 * c3[inner] * t) < 0).any())

    def score_map(self) -> CurveMap:
        return CurveMap(
            np.asarray(self.knots_, dtype=np.float64), np.asarray(self.coefficients_, dtype=np.float64).reshape(-1, 4)
        )


@BINARY_CALIBRATORS.register(
    "cdf-spline", "CDF spline", reference="Gupta et al. 2021", flags=MapShape(counts="cells", numbers=MOST_KNOTS)
)
@dataclass(eq=False, repr=False)
class CdfSpline(BinaryCalibrator):
    """Adds to a score the slope of a smooth cumulative error: the local error, without bins.

    The share of calibration rows with a score of at most s is t(s). The cumulative error at t(s) is the sum of z_i -
    s_i over these rows, divided by the number n of all rows. To it a natural cubic spline d is fitted by least squares,
    with evenly spaced knots on [0, 1] (at most as many as there are points).

    For a calibration score, g(s) = s + d'(t), clipped to [0, 1], with the mean slope over the rows of that score. The
    map is linear between calibration scores and constant beyond them.

    ``scores_`` and ``values_`` (m,) are the points, before clipping. What can mislead: the map can decrease, and
    ``note`` reports it. It can return exact 0 and 1, and the log loss of a single later miss is then enormous. Knots
    follow the rows. If half of the scores are nearly 0, the rest of the map has only half of the knots.

    References: Gupta, Rahimi, Ajanthan, Mensink, Sminchisescu & Hartley 2021. As in the authors' code, the spline
    is fitted to the error rather than to the outcome, with six knots. That code has t = (i - 1) / (n - 1) for row i,
    here row i extends from (i - 1) / n to i / n. Both classes of two therefore have the same map.

    >>> CdfSpline().fit([0.2] * 10 + [0.8] * 10, [0] * 7 + [1] * 3 + [0] * 3 + [1] * 7).transform([0.2, 0.8]).round(6)
    array([0.3, 0.7])
    """

    knots: Annotated[int, Range(2, 50), "Number of knots", "number of evenly spaced knots"] = MOST_KNOTS

    @property
    def note(self) -> str:
        check_is_fitted(self)
        return _FALLS if (np.diff(np.clip(self.values_, 0.0, 1.0)) < 0).any() else ""

    def insides(self) -> Insides:
        return Insides(
            several(len(self.scores_), "points"),
            "Adds to a score the mean error of the scores near it.",
            lambda: score_numbers(PLACES, self.transform(PLACES)),
            unit="curve",
        )

    def _fit(self, scores: Floats, outcomes: Bools, weights: Float64s | None) -> None:
        found, rows, hits = Stratum(scores, outcomes, weights).counted().by_score()
        rows, hits, found = rows / rows.sum(), hits / rows.sum(), found.astype(np.float64)
        through = np.append(0.0, np.cumsum(rows))
        error = np.append(0.0, np.cumsum(hits - rows * found))
        # Every point has half of the rows before it and half of those after it, so both directions count alike.
        weight = (np.append(0.0, rows) + np.append(rows, 0.0)) / 2.0
        spline = NaturalSpline(np.linspace(0.0, 1.0, min(self.knots, len(through))))
        design = np.concatenate([np.stack([np.ones_like(through), through]), spline.bends(through)])
        theta = _least_squares(design, error, weight)
        # The mean slope is a difference, except where few rows would only leave its rounding error.
        rise = np.diff(np.einsum("j,jn->n", theta[2:], spline.bends(through)))
        slope = np.einsum("j,jn->n", theta[2:], spline.slopes(through[1:] - rows / 2.0))
        self.scores_ = found
        self.values_ = found + theta[1] + np.divide(rise, rows, out=slope, where=rows > _FEW)

    def score_map(self) -> Interpolated:
        return Interpolated(np.asarray(self.scores_, dtype=np.float64), np.asarray(self.values_, dtype=np.float64))


def _least_squares(design: Float64s, values: Float64s, weights: Float64s) -> Float64s:
    """Coefficients (r,) of the rows of design (r, n) with the least weighted squared error, the smallest if several."""
    # einsum sums in one order; a matrix product's bits would depend on the number of threads.
    weighted = design * weights
    squares = np.einsum("in,jn->ij", weighted, design)
    unit = 1.0 / np.sqrt(np.diag(squares))
    found = np.linalg.lstsq(squares * unit * unit[:, None], unit * np.einsum("in,n->i", weighted, values), rcond=1e-12)
    return np.asarray(unit * found[0], dtype=np.float64)


_FALLS = "The map decreases at some scores."


@dataclass(frozen=True, eq=False)
class _Loss:
    """Summed log loss of sigmoid(offset + theta . design); rows of design are 1, x, and bends less their ``lines``."""

    offset: Float64s
    outcomes: Float64s
    rows: Float64s
    design: Float64s
    spline: NaturalSpline
    lines: Float64s
    centre: float
    scale: float

    @classmethod
    def of(cls, odds: Float64s, outcomes: Float64s, rows: Float64s) -> _Loss:
        shares = rows / rows.sum()
        centre = float(np.sum(shares * odds))
        spread = float(np.sqrt(np.sum(shares * np.square(odds - centre))))
        scale = spread if spread > _SPREAD else 1.0
        x = (odds - centre) / scale
        spline = NaturalSpline(_knots(x))
        bends = spline.bends(x)
        # Least squares: x has mean 0 and variance 1 over the rows.
        lines = np.stack([np.einsum("jn,n->j", bends, shares), np.einsum("jn,n->j", bends, shares * x)])
        straight = np.stack([np.ones_like(x), x])
        design = np.concatenate([straight, bends - np.einsum("ij,in->jn", lines, straight)])
        return cls(odds, outcomes, rows, design, spline, lines, centre, scale)

    @property
    def n_bends(self) -> int:
        return len(self.design) - 2

    def least(self, penalties: Float64s, rows: Float64s) -> Float64s:
        """Minimizers (b, p) of b losses at once, with these penalties (b,) and rows (b, n): Newton's method.

        A step after which a loss is not smaller is halved.
        """
        loose = np.full((len(penalties), 2), _LOOSE)
        ridge = np.concatenate([loose, np.repeat(penalties[:, None], self.n_bends, axis=1)], axis=1)
        theta = np.zeros_like(ridge)
        value, step = self._newton(theta, ridge, rows)
        for _ in range(_STEPS):
            after, further = self._newton(theta - step, ridge, rows)
            falls = after <= value + 1e-14 * np.abs(value)
            theta[falls] -= step[falls]
            value = np.where(falls, after, value)
            if falls.all() and np.abs(step).max() <= _NEAR:
                break
            step = np.where(falls[:, None], further, step / 2.0)
        return theta

    def losses(self, theta: Float64s) -> Float64s:
        """Log losses (b, n) of each row."""
        eta = self.offset + np.einsum("bj,jn->bn", theta, self.design)
        return np.asarray(np.logaddexp(0.0, np.where(self.outcomes > 0, -eta, eta)))

    def curve(self, theta: Float64s) -> tuple[Float64s, Float64s]:
        """Knots (m,) and polynomials (m + 1, 4) of the map in log-odds."""
        intercept, slope = theta[:2] - np.einsum("ij,j->i", self.lines, theta[2:])
        knots = self.centre + self.scale * self.spline.knots
        pieces = self.spline.pieces(float(intercept), float(slope), theta[2:]) / self.scale ** np.arange(4.0)
        if len(knots):
            pieces[:, 0] += np.append(knots[:1], knots)
        else:
            pieces[:, 0] -= pieces[:, 1] * self.centre
        pieces[:, 1] += 1.0
        return knots, pieces

    def _newton(self, theta: Float64s, ridge: Float64s, rows: Float64s) -> tuple[Float64s, Float64s]:
        """Values (b,), and the steps (b, p) to the minima of their parabolas."""
        # einsum sums in one order; a matrix product's bits would depend on the number of threads.
        eta = self.offset + np.einsum("bj,jn->bn", theta, self.design)
        tail = np.exp(-np.abs(eta))
        p = np.where(eta >= 0, 1.0, tail) / (1.0 + tail)
        losses = np.log1p(tail) + np.maximum(eta, 0.0) - self.outcomes * eta
        gradient = np.einsum("bn,jn->bj", rows * (p - self.outcomes), self.design) + ridge * theta
        above = np.triu_indices(theta.shape[1])
        curvature = np.zeros((len(theta), theta.shape[1], theta.shape[1]))
        curvature[:, above[0], above[1]] = np.einsum("bn,kn->bk", rows * tail / np.square(1.0 + tail), self.products)
        curvature[:, above[1], above[0]] = curvature[:, above[0], above[1]]
        places = np.arange(theta.shape[1])
        curvature[:, places, places] += ridge
        value = np.sum(rows * losses, axis=1) + 0.5 * np.sum(ridge * theta * theta, axis=1)
        return value, np.linalg.solve(curvature, gradient[:, :, None])[:, :, 0]

    @cached_property
    def products(self) -> Float64s:
        """Products of two rows of the design, (p (p + 1) / 2, n)."""
        each = [row * self.design[i:] for i, row in enumerate(self.design)]
        return np.concatenate(each)


def _knots(x: Float64s) -> Float64s:
    """Evenly spaced quantiles of the distinct values: the largest number of knots that are apart, or none."""
    values = np.unique(x)
    for n in range(min(MOST_KNOTS, len(values)), 2, -1):
        knots = np.quantile(values, np.linspace(_OUTER, 1.0 - _OUTER, n))
        if np.diff(knots).min() >= _APART:
            return np.asarray(knots, dtype=np.float64)
    return np.empty(0)
