"""Logistic regression on one score with Jeffreys' prior: an answer where the likelihood has no maximum (Firth 1993)."""

from __future__ import annotations

import numpy as np
import scipy
from scipy.special import expit

from calib_core._base.arrays import Bools, Float64s

_STEPS, _HALVINGS = 200, 40
_NEAR = 1e-11
_REACH = 60.0
"""Beyond the log-odds of any score, raised to the floor of the logarithm, by so much an intercept is sought."""


def firth_intercept(fixed: Float64s, outcomes: Bools, rows: Float64s) -> float:
    """The intercept b of P(z = 1) = sigmoid(fixed + b) with the largest likelihood times the root of its information.

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
    """Slope and intercept of P(z = 1) = sigmoid(a + b x) with the largest likelihood times the root of det I.

    sum (1, x) (w (z - p) + h (1/2 - p)) = 0, h the diagonal of the weighted hat matrix; finite however x separates the
    outcomes. ``x`` takes two values or more. By scoring with halved steps.

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
    """Penalised log-likelihood, and the scoring step from here."""
    eta = np.einsum("j,jn->n", theta, design)
    p, q = expit(eta), expit(-eta)
    spread = rows * p * q
    information = np.einsum("in,n,jn->ij", design, spread, design)
    inverse = np.linalg.inv(information)
    hats = spread * np.einsum("in,ij,jn->n", design, inverse, design)
    score = np.einsum("jn,n->j", design, rows * np.where(outcomes, q, -p) + hats * (q - p) / 2.0)
    likelihood = -float(np.sum(rows * np.logaddexp(0.0, np.where(outcomes, -eta, eta))))
    return likelihood + 0.5 * float(np.linalg.slogdet(information)[1]), inverse @ score
