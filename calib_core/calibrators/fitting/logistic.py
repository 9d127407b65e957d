"""Logistic regression on a few increasing features of a score with non-negative slopes, for scaling maps.

The log loss is convex and the slopes are in a box: SciPy's L-BFGS-B starts at the identity and never ends above it.
If the likelihood has no maximum, the result has a closed form; see ``fit_increasing``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy
from scipy.special import expit, logit

from calib_core._base.arrays import LOG_FLOOR, Bools, Float64s
from calib_core.calibrators.calibration_rows import as_rows

STEEPEST = 1e3
"""Slopes are fitted in [0, STEEPEST]; if the likelihood still rises at the end, the slope is not identified."""

_SLOPE = 1e-9
"""Largest entry of the gradient at convergence; rounding hides smaller ones."""
_STUCK = 1e-6
"""Largest entry of the gradient above which the search has not reached the minimum."""


@dataclass(frozen=True, eq=False)
class LineFit:
    """Fitted slopes (k,), intercept and status.

    The status is "converged", or "constrained" if a slope is 0 because the unconstrained maximum is negative. It is "at
    bound" when a slope is STEEPEST or all outcomes agree. It is "not identified" when all scores are equal.
    """

    slopes: Float64s
    intercept: float
    status: str


def fit_increasing(features: Float64s, outcomes: Bools, weights: Float64s | None, prior: float = 0.0) -> LineFit:
    """Maximum likelihood fit of P(z = 1) = sigmoid(slopes . features + intercept), slopes in [0, STEEPEST].

    ``features`` (k, n) all increase with one score, their sum strictly, and slopes of 1 with intercept 0 are the
    identity; weights are positive. In three cases the likelihood has no maximum, or several:

    - All outcomes agree. Then slopes are 0 and the constant is the floor of the logarithm from 0 or 1.
    - All scores are equal. Slopes stay 1, and the intercept matches the observed frequency.
    - Scores separate the outcomes. Slopes are STEEPEST, the maximum over the box, and the intercept is solved for.

    A ``prior`` of m > 0 pseudo-rows adds m / 8 (mean_j (slope_j - 1)^2 + d^2) to the summed log loss. Slopes and the
    shift d are normal around the identity with variance 4 / m, the information of m rows with a probability of one
    half. The shift d is the log-odds at the center of the features, less those of the identity there. The center is
    their mean weighted by s (1 - s), where shift and slopes do not trade off. The maximum is then always unique.
    """
    if prior > 0:
        return _least(_Loss.drawn(features, outcomes, weights, prior))
    share = float(np.average(outcomes, weights=weights))
    if outcomes.all() or not outcomes.any():
        return LineFit(np.zeros(len(features)), _log_odds(share), "at bound")
    total = features.sum(axis=0)
    if total.min() == total.max():
        return LineFit(np.ones(len(features)), _log_odds(share) - float(total[0]), "not identified")
    if total[~outcomes].max() <= total[outcomes].min():
        steepest = np.full(len(features), STEEPEST)
        return LineFit(steepest, balanced_intercept(STEEPEST * total, outcomes, weights), "at bound")
    return _least(_Loss.centred(features, outcomes, weights))


def fit_towards(features: Float64s, outcomes: Bools, weights: Float64s | None, precision: Float64s) -> LineFit:
    """Most probable fit of ``fit_increasing`` under a normal prior around the identity.

    ``precision`` (k + 1, k + 1) is the inverse covariance of slopes and intercept, positive definite.
    """
    return _least(_Loss.towards(features, outcomes, weights, precision))


def _log_odds(share: float) -> float:
    return float(logit(np.clip(share, LOG_FLOOR, 1.0 - LOG_FLOOR)))


def balanced_intercept(fixed: Float64s, outcomes: Bools, weights: Float64s | None) -> float:
    """Intercept b with sum w sigmoid(-fixed - b) over ones = sum w sigmoid(fixed + b) over zeros.

    Expected and observed outcomes are then equal. It is solved on the logarithms of both sums, which neither underflow
    nor overflow.
    """
    ones, zeros = fixed[outcomes], fixed[~outcomes]
    w = np.ones(len(fixed)) if weights is None else weights
    w_ones, w_zeros = w[outcomes], w[~outcomes]
    # Rows this far from the gap contribute less than rounding.
    reach = 100.0 + abs(float(np.log(w_ones.sum() / w_zeros.sum())))
    near_ones, near_zeros = ones <= ones.min() + reach, zeros >= zeros.max() - reach

    def excess(b: float) -> float:
        above = _log_sum(-np.logaddexp(0.0, -(zeros[near_zeros] + b)), w_zeros[near_zeros])
        below = _log_sum(-np.logaddexp(0.0, ones[near_ones] + b), w_ones[near_ones])
        return above - below

    return float(scipy.optimize.brentq(excess, -ones.min() - reach, -zeros.max() + reach, xtol=1e-13))


def _log_sum(terms: Float64s, weights: Float64s) -> float:
    top = terms.max()
    return float(top + np.log(np.sum(weights * np.exp(terms - top))))


@dataclass(frozen=True, eq=False)
class _Loss:
    """Mean log loss of sigmoid(theta . design) and its gradient; the last row of design is all ones.

    Features are centered and scaled so that steps are well conditioned; the bounds scale with them. ``ridge`` is the
    precision matrix of a normal prior, by which half the squared distance from the identity is added.
    """

    design: Float64s
    outcomes: Float64s
    weights: Float64s
    centre: Float64s
    scale: Float64s
    ridge: Float64s

    @classmethod
    def centred(cls, features: Float64s, outcomes: Bools, weights: Float64s | None) -> _Loss:
        w = np.full(features.shape[1], 1.0 / features.shape[1]) if weights is None else weights / weights.sum()
        return cls._around(np.array([np.sum(w * x) for x in features]), features, outcomes, w)

    @classmethod
    def drawn(cls, features: Float64s, outcomes: Bools, weights: Float64s | None, prior: float) -> _Loss:
        """The same loss with a prior around the identity, in pseudo-rows."""
        k, n = features.shape
        rows = np.ones(n) if weights is None else as_rows(weights)
        w = rows / rows.sum()
        total = features.sum(axis=0)
        informed = w * expit(total) * expit(-total)
        informed /= informed.sum()
        each = prior / (4.0 * rows.sum())
        centre = np.array([np.sum(informed * x) for x in features])
        # The prior's curvature is part of the scale, so a feature that hardly varies is not a steep direction.
        loss = cls._around(centre, features, outcomes, w, 4.0 * each / k)
        return replace(loss, ridge=np.diag(np.append(each / (k * np.square(loss.scale)), each)))

    @classmethod
    def towards(cls, features: Float64s, outcomes: Bools, weights: Float64s | None, precision: Float64s) -> _Loss:
        """The same loss with a normal prior around the identity."""
        k, n = features.shape
        rows = np.ones(n) if weights is None else as_rows(weights)
        w = rows / rows.sum()
        centre = np.array([np.sum(w * x) for x in features])
        # The last parameter becomes the log-odds at the center.
        turned = np.eye(k + 1)
        turned[-1, :k] = -centre
        pull = turned.T @ precision @ turned / rows.sum()
        loss = cls._around(centre, features, outcomes, w, 4.0 * np.diag(pull)[:k])
        unit = np.append(1.0 / loss.scale, 1.0)
        return replace(loss, ridge=pull * unit * unit[:, None])

    @classmethod
    def _around(
        cls, centre: Float64s, features: Float64s, outcomes: Bools, w: Float64s, more: float | Float64s = 0.0
    ) -> _Loss:
        k, n = features.shape
        design = np.ones((k + 1, n))
        np.subtract(features, centre[:, None], out=design[:k])
        spread = np.sqrt(np.array([np.sum(w * x * x) for x in design[:k]]) + more)
        scale = np.where(spread > 0, spread, 1.0)
        design[:k] /= scale[:, None]
        return cls(design, outcomes.astype(np.float64), w, centre, scale, np.zeros((k + 1, k + 1)))

    @property
    def start(self) -> Float64s:
        """Parameters of the identity."""
        return np.append(self.scale, self.centre.sum())

    @property
    def highest(self) -> Float64s:
        return STEEPEST * self.scale

    def value_and_gradient(self, theta: Float64s) -> tuple[float, Float64s]:
        # einsum sums in one order; a matrix product's bits would depend on the number of threads.
        eta = np.einsum("j,jn->n", theta, self.design)
        tail = np.exp(-np.abs(eta))
        p = np.where(eta >= 0, 1.0, tail) / (1.0 + tail)
        losses = np.log1p(tail) + np.maximum(eta, 0.0) - self.outcomes * eta
        gradient = np.einsum("jn,n->j", self.design, (p - self.outcomes) * self.weights)
        value = float(np.sum(losses * self.weights))
        if not self.ridge.any():
            return value, gradient
        away = theta - self.start
        pull = np.einsum("ij,j->i", self.ridge, away)
        return value + 0.5 * float(np.sum(pull * away)), gradient + pull

    def fitted(self, theta: Float64s, status: str) -> LineFit:
        slopes = theta[:-1] / self.scale
        return LineFit(slopes, float(theta[-1] - np.sum(slopes * self.centre)), status)


def _least(loss: _Loss) -> LineFit:
    box = scipy.optimize.Bounds(np.append(np.zeros_like(loss.highest), -np.inf), np.append(loss.highest, np.inf))
    found = _descent(loss, loss.start, box)
    left = np.clip(found.x - found.jac, box.lb, box.ub) - found.x
    if np.abs(left).max() > _STUCK:
        # Scores of 0 and 1 are so far apart in log-odds that the loss looks like intersecting planes, where the
        # search can stop; it is smooth at slopes of 0.
        share = float(loss.weights @ loss.outcomes)
        flat = _descent(loss, np.append(np.zeros_like(loss.highest), _log_odds(share)), box)
        found = min(found, flat, key=lambda end: end.fun)
    theta, slopes = found.x, found.x[:-1]
    status = "at bound" if (slopes >= loss.highest).any() else "constrained" if (slopes <= 0).any() else "converged"
    return loss.fitted(theta, status)


def _descent(loss: _Loss, start: Float64s, box: Any) -> Any:
    options: Any = {"gtol": _SLOPE, "ftol": 0.0, "maxiter": 1000}
    return scipy.optimize.minimize(
        loss.value_and_gradient, start, jac=True, method="L-BFGS-B", bounds=box, options=options
    )


_STEPS, _HALVINGS = 200, 40
_NEAR = 1e-11
_REACH = 60.0
"""Margin of the search for an intercept, beyond the log-odds of any score clipped at the floor."""


def firth_intercept(fixed: Float64s, outcomes: Bools, rows: Float64s) -> float:
    """Firth's intercept b of P(z = 1) = sigmoid(fixed + b): largest likelihood times the root of its information.

    sum w (z - p) + sum h (1/2 - p) = 0 with h = w p (1 - p) / sum w p (1 - p). All log-odds 0, one event of 4 rows:
    (1 + 1/2) / (4 + 1).

    >>> float(expit(firth_intercept(np.zeros(4), np.array([True, False, False, False]), np.ones(4))).round(6))
    0.3
    """

    def score(b: float) -> float:
        p, q = expit(fixed + b), expit(-fixed - b)
        # On logarithms: far from all scores every p (1 - p) underflows.
        logs = np.log(rows) - np.logaddexp(0.0, fixed + b) - np.logaddexp(0.0, -fixed - b)
        hats = np.exp(logs - logs.max())
        return float(np.sum(rows * np.where(outcomes, q, -p)) + np.sum(hats * (q - p)) / (2.0 * hats.sum()))

    return float(scipy.optimize.brentq(score, -fixed.max() - _REACH, -fixed.min() + _REACH, xtol=1e-13))


def firth_line(x: Float64s, outcomes: Bools, rows: Float64s) -> tuple[float, float]:
    """Firth's slope and intercept of P(z = 1) = sigmoid(a + b x): largest likelihood times the root of det I.

    sum (1, x) (w (z - p) + h (1/2 - p)) = 0, h the diagonal of the weighted hat matrix; finite however x separates the
    outcomes. ``x`` has at least two distinct values. Solved by Fisher scoring with step halving.

    References: Firth 1993, Biometrika 80; Heinze & Schemper 2002, Statistics in Medicine 21.

    >>> slope, intercept = firth_line(np.array([0.0, 1.0]), np.array([False, True]), np.array([1.0, 1.0]))
    >>> [round(float(expit(intercept + slope * x)), 6) for x in (0.0, 1.0)]
    [0.25, 0.75]
    """
    share = rows / rows.sum()
    centre = float(np.sum(share * x))
    scale = float(np.sqrt(np.sum(share * np.square(x - centre))))
    design = np.stack([np.ones_like(x), (x - centre) / scale])
    theta = np.zeros(2)
    value, step = _penalised(theta, design, outcomes, rows)
    for _ in range(_STEPS):
        size = np.abs(step).max()
        step *= min(1.0, 2.0 / size) if size else 1.0
        for _ in range(_HALVINGS):
            after, further = _penalised(theta + step, design, outcomes, rows)
            if after >= value - 1e-14 * abs(value):
                break
            step /= 2.0
        theta, value = theta + step, after
        if np.abs(step).max() <= _NEAR:
            break
        step = further
    slope = float(theta[1] / scale)
    return slope, float(theta[0]) - slope * centre


def _penalised(theta: Float64s, design: Float64s, outcomes: Bools, rows: Float64s) -> tuple[float, Float64s]:
    """Penalized log-likelihood, and the scoring step from here."""
    eta = np.einsum("j,jn->n", theta, design)
    p, q = expit(eta), expit(-eta)
    spread = rows * p * q
    information = np.einsum("in,n,jn->ij", design, spread, design)
    inverse = np.linalg.inv(information)
    hats = spread * np.einsum("in,ij,jn->n", design, inverse, design)
    score = np.einsum("jn,n->j", design, rows * np.where(outcomes, q, -p) + hats * (q - p) / 2.0)
    likelihood = -float(np.sum(rows * np.logaddexp(0.0, np.where(outcomes, -eta, eta))))
    return likelihood + 0.5 * float(np.linalg.slogdet(information)[1]), inverse @ score
