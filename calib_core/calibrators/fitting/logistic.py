"""Logistic regression on a few increasing features of a score, slopes never negative: what Platt and beta fit.

The log loss is convex. Every Newton step minimises its quadratic model over the box of allowed slopes, exactly, by
looking at the faces of the box (two slopes have nine), and is halved until the loss falls: it starts at the identity
and never does worse. Where the likelihood has no maximum the answer is stated in closed form, see ``fit_increasing``.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np
import scipy
from scipy.special import logit

from calib_core._arrays import LOG_FLOOR, Bools, Float64s

STEEPEST = 1e3
"""Slopes are sought in [0, STEEPEST]; a likelihood that still rises there names no slope."""

_CLOSE = 1e-6
"""A Newton step that moves no log-odds by more is the last: the error after it is about its square."""

_ROUNDING = 1e-12
"""Losses this close, relative to their size, may differ by rounding alone."""


@dataclass(frozen=True, eq=False)
class Fitted:
    """Slopes (k,), intercept, and how they came about.

    status: "converged"; "constrained" when a slope is 0 because the likelihood would rather have it negative;
    "at bound" when a slope is STEEPEST or all outcomes agree; "not identified" when all scores are equal.
    """

    slopes: Float64s
    intercept: float
    status: str


def fit_increasing(features: Float64s, outcomes: Bools, weights: Float64s | None) -> Fitted:
    """Maximum likelihood of P(z = 1) = sigmoid(slopes . features + intercept) over slopes in [0, STEEPEST].

    ``features`` (k, n) all increase with one score, their sum strictly, and slopes of 1 with intercept 0 are the
    identity; weights are positive. Three kinds of rows leave the likelihood without a maximum, or with many:
    outcomes that all agree (then slopes are 0 and the constant is the floor of the logarithm from 0 or 1); scores that
    are all equal (slopes stay 1, the intercept meets the share of outcomes); scores that separate the outcomes
    (slopes are STEEPEST, which is the maximum over the box, the intercept is solved for).
    """
    share = float(np.average(outcomes, weights=weights))
    if outcomes.all() or not outcomes.any():
        return Fitted(np.zeros(len(features)), _log_odds(share), "at bound")
    total = features.sum(axis=0)
    if total.min() == total.max():
        return Fitted(np.ones(len(features)), _log_odds(share) - float(total[0]), "not identified")
    if total[~outcomes].max() <= total[outcomes].min():
        steepest = np.full(len(features), STEEPEST)
        return Fitted(steepest, _intercept(STEEPEST * total, outcomes, weights), "at bound")
    return _newton(_Loss.centred(features, outcomes, weights))


def _log_odds(share: float) -> float:
    return float(logit(np.clip(share, LOG_FLOOR, 1.0 - LOG_FLOOR)))


def _intercept(fixed: Float64s, outcomes: Bools, weights: Float64s | None) -> float:
    """Where expected and observed outcomes meet, sum w sigmoid(-fixed - b) over ones = sum w sigmoid(..) over zeros.

    Solved on the logarithms of both sums, which neither under- nor overflow however far apart the outcomes are.
    """
    ones, zeros = fixed[outcomes], fixed[~outcomes]
    w = np.ones(len(fixed)) if weights is None else weights
    w_ones, w_zeros = w[outcomes], w[~outcomes]
    # Rows this far from the gap weigh less than rounding.
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
    """Mean log loss of sigmoid(theta . design), its gradient and Hessian; design's last row is all ones.

    Features are centred and scaled so that the Hessian is well conditioned; the bounds scale along.
    """

    design: Float64s
    outcomes: Float64s
    weights: Float64s
    centre: Float64s
    scale: Float64s

    @classmethod
    def centred(cls, features: Float64s, outcomes: Bools, weights: Float64s | None) -> _Loss:
        k, n = features.shape
        w = np.full(n, 1.0 / n) if weights is None else weights / weights.sum()
        centre = np.array([np.sum(w * x) for x in features])
        design = np.ones((k + 1, n))
        np.subtract(features, centre[:, None], out=design[:k])
        spread = np.sqrt([np.sum(w * x * x) for x in design[:k]])
        scale = np.where(spread > 0, spread, 1.0)
        design[:k] /= scale[:, None]
        return cls(design, outcomes.astype(np.float64), w, centre, scale)

    @property
    def start(self) -> Float64s:
        """The identity."""
        return np.append(self.scale, self.centre.sum())

    @property
    def highest(self) -> Float64s:
        return STEEPEST * self.scale

    def __call__(self, theta: Float64s) -> tuple[float, Float64s, Float64s]:
        # einsum sums in one order; a matrix product's bits would depend on the number of threads.
        eta = np.einsum("j,jn->n", theta, self.design)
        tail = np.exp(-np.abs(eta))
        p = np.where(eta >= 0, 1.0, tail) / (1.0 + tail)
        losses = np.log1p(tail) + np.maximum(eta, 0.0) - self.outcomes * eta
        gradient = np.einsum("jn,n->j", self.design, (p - self.outcomes) * self.weights)
        hessian = np.einsum("in,jn->ij", self.design * (p * (1.0 - p) * self.weights), self.design)
        return float(np.sum(losses * self.weights)), gradient, hessian

    def reach(self, step: Float64s) -> float:
        """Bound on what a step changes in any row's log-odds."""
        return float(np.sum(np.abs(step) * np.abs(self.design).max(axis=1)))

    def fitted(self, theta: Float64s, status: str) -> Fitted:
        slopes = theta[:-1] / self.scale
        return Fitted(slopes, float(theta[-1] - np.sum(slopes * self.centre)), status)


def _newton(loss: _Loss) -> Fitted:
    theta = _descent(loss)
    slopes = theta[:-1]
    status = "at bound" if (slopes >= loss.highest).any() else "constrained" if (slopes <= 0).any() else "converged"
    return loss.fitted(theta, status)


def _descent(loss: _Loss) -> Float64s:
    """Newton steps within the box from the identity, each halved until the loss does not rise."""
    theta = loss.start
    value, gradient, hessian = loss(theta)
    for _ in range(100):
        step = _best_in_box(gradient, hessian, theta, loss.highest) - theta
        if loss.reach(step) < _CLOSE:
            return theta + step
        following = loss(theta + step)
        for _ in range(50):
            if following[0] <= value + _ROUNDING * (1.0 + value):
                break
            step /= 2.0
            following = loss(theta + step)
        theta = theta + step
        value, gradient, hessian = following
    return theta


def _best_in_box(gradient: Float64s, hessian: Float64s, theta: Float64s, highest: Float64s) -> Float64s:
    """The point of 0 <= slopes <= highest where the quadratic model at theta is least; the last entry is free."""
    k = len(highest)
    # Nearly dependent features leave a direction without curvature; the step then stays at the rounding's mercy.
    ridge = 1e-13 * float(np.trace(hessian)) * np.eye(k + 1)
    best, least = theta, np.inf
    for face in product((None, 0.0, 1.0), repeat=k):
        point = _least_on(face, gradient, hessian + ridge, theta, highest)
        if (point[:k] < 0).any() or (point[:k] > highest).any():
            continue
        step = point - theta
        model = float(gradient @ step + 0.5 * step @ hessian @ step)
        if model < least:
            best, least = point, model
        if face == (None,) * k:
            break
    return best


def _least_on(
    face: tuple[float | None, ...], gradient: Float64s, hessian: Float64s, theta: Float64s, highest: Float64s
) -> Float64s:
    """Minimum of the model with some slopes held at 0 or at their highest (None: not held)."""
    point = theta.copy()
    fixed = np.array([bound is not None for bound in (*face, None)])
    point[fixed] = [bound * high for bound, high in zip(face, highest, strict=True) if bound is not None]
    moved = gradient + hessian[:, fixed] @ (point - theta)[fixed]
    point[~fixed] -= np.linalg.solve(hessian[np.ix_(~fixed, ~fixed)], moved[~fixed])
    return point
