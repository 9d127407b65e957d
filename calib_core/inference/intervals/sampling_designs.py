"""Variances of weighted and of grouped rows by linearization, where weights are inverse sampling fractions."""

from __future__ import annotations

import numpy as np
from scipy.special import expit, logit

from calib_core._base.arrays import Bools, Float64s
from calib_core._base.distributions import norm
from calib_core._base.distributions import t as student
from calib_core.inference.intervals.clustered_rows import of_like_size, together
from calib_core.predictions.row_groups import RowGroups


def event_variance(scores: Float64s, outcomes: Bools, weights: Float64s, moved: Float64s) -> float:
    """Variance of the weighted number of events compared with its expectation, (n,) each; ``moved``: see below.

    It is the largest of the sums of w^2 (y - q)^2 for three q. They are R s with the ratio R = O / E, s + gap, and
    ``moved``: the risks with the calibration intercept added to their log-odds. These are the linearizations of the
    ratio, the gap and the intercept. For a calibrated model they are equal. Weights may depend on the outcome, as in a
    case-cohort sample: each row adds its own square, not the expected one.

    What can mislead: the sampling fractions are treated as known, and rows as sampled independently. Sampling without
    replacement and matching reduce the variance a little.

    References: Binder 1983, International Statistical Review 51; Lin 2000, Biometrika 87 (case-cohort samples).

    >>> risk, died, weight = np.full(4, 0.5), np.array([True, True, False, False]), np.array([1.0, 1.0, 3.0, 3.0])
    >>> event_variance(risk, died, weight, risk / 2)  # R = .5: 2 (1 - 1/4)^2 + 2 (3/4)^2
    2.25
    """
    observed, expected = float(weights @ outcomes), float(weights @ scores)
    ratio, gap = observed / expected if expected > 0 else 0.0, (observed - expected) / float(weights.sum())
    squared = np.square(weights)
    return max(float(squared @ np.square(outcomes - q)) for q in (ratio * scores, scores + gap, moved))


def shifted(scores: Float64s, intercept: float) -> Float64s:
    """Risks with this number added to their log-odds; infinite ones make all risks 0 or 1.

    >>> shifted(np.array([0.5]), float(np.log(3))).tolist()
    [0.75]
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where((scores > 0) & (scores < 1), expit(logit(scores) + intercept), scores)


def slope_effect(
    x: Float64s, outcomes: Bools, weights: Float64s, chance: Float64s, groups: RowGroups | None, level: float
) -> float:
    """Factor by which the variance of a logistic slope exceeds that of as many independent rows as weights add up to.

    The design is X = [1, x], with fitted chances p. The information is H = sum w p (1 - p) X X'. The scores are U = w
    (y - p) X of a row, or their sum over a group. The variance is V = H^-1 (sum U~ U~') H^-1. Here U~ = (I - H_g
    H^-1)^-1 U, and H_g is the information of the row or group. The factor is V / H^-1 of the slope, times (t / z)^2.
    This is Student's point over the normal one at ``level``. It has one degree of freedom less than groups of like
    size.

    References: Binder 1983; Bell & McCaffrey 2002 (U~, the jackknife's correction); Cameron & Miller 2015.
    """
    design = np.column_stack([np.ones_like(x), x])
    curved = weights * chance * (1 - chance)
    information = design.T @ (design * curved[:, None])
    inverse = np.linalg.inv(information)
    score = design * (weights * (outcomes - chance))[:, None]
    parts = [curved, curved * x, curved * np.square(x)]
    if groups is not None:
        score = np.column_stack([together(column, groups) for column in score.T])
        parts = [together(part, groups) for part in parts]
    own = np.stack([[parts[0], parts[1]], [parts[1], parts[2]]]).transpose(2, 0, 1)
    apart = np.linalg.solve(np.eye(2) - own @ inverse + 1e-12 * np.eye(2), score[:, :, None])[:, :, 0]
    influence = apart @ inverse[1]
    number = len(x) if groups is None else of_like_size(groups, weights)
    wide = student.isf((1 - level) / 2, max(number - 1, 1)) / norm.isf((1 - level) / 2)
    return float(np.square(influence).sum() / inverse[1, 1] * wide**2)
