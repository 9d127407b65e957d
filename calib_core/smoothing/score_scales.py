"""Scales on which scores are smoothed: as they are, or by their log-odds, where the ends are far away."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.special import expit

from calib_core._base.arrays import Float64s, Floats
from calib_core.registry.registry import Registry

FURTHEST = 16.0
"""Log-odds are cut off here: a probability of 1e-7, about the eps of float32, which many scores are stored in."""


class Scale(Protocol):
    """Parameters only; a rising map of [0, 1] and its inverse."""

    @property
    def unit(self) -> str:
        """What its values are called on an axis."""

    def there(self, scores: Floats) -> Float64s:
        """A new array: scores on this scale."""

    def back(self, values: Float64s) -> Float64s:
        """The scores of values on this scale."""


SCALES: Registry[Scale] = Registry("SCALES")


@SCALES.register("score", "Score", reference="P5 §4.4")
@dataclass(frozen=True)
class Linear:
    """Scores are smoothed as they are, and mirrored at both ends of their range.

    What can mislead: mirroring makes curves level at 0 and 1, where confident models have most of their scores.

    >>> Linear().there(np.array([0.5])).tolist()
    [0.5]
    """

    @property
    def unit(self) -> str:
        return "score"

    def there(self, scores: Floats) -> Float64s:
        return scores.astype(np.float64)

    def back(self, values: Float64s) -> Float64s:
        return values


@SCALES.register("log-odds", "Log-odds of the score")
@dataclass(frozen=True)
class LogOdds:
    """Scores are smoothed by their log-odds: the same width is narrow in score near 0 and 1, and wide in the middle.

    x = log(s / (1 - s)), cut off at -16 and 16; bandwidths are in log-odds. The ends, at which mirroring biases a curve
    by about the bandwidth, are then far from nearly all scores. What can mislead: scores of exactly 0 and 1, and those
    beyond the cut-off, form heaps at the ends, which a wide kernel smears over their neighbours.

    >>> LogOdds().there(np.array([0.5, 1.0])).tolist(), LogOdds().back(np.array([0.0])).tolist()
    ([0.0, 16.0], [0.5])
    """

    @property
    def unit(self) -> str:
        return "log-odds"

    def there(self, scores: Floats) -> Float64s:
        s = scores.astype(np.float64)
        with np.errstate(divide="ignore"):  # the log-odds of 0 and 1 are infinite, and cut off
            return np.asarray(np.clip(np.log(s) - np.log1p(-s), -FURTHEST, FURTHEST))

    def back(self, values: Float64s) -> Float64s:
        # The cut-off stands for the end itself: what lies there may be exactly 0 or 1.
        s = expit(values)
        return np.asarray(np.where(values >= FURTHEST, 1.0, np.where(values <= -FURTHEST, 0.0, s)))
