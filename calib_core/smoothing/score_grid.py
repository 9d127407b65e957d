"""Grid over scores or their log-odds, with linear binning and smoothing by cosine transforms."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Protocol

import numpy as np
import scipy
from scipy.special import expit

from calib_core._base.arrays import Codes, Float64s, Floats
from calib_core.registry.registry import Registry

FURTHEST = 16.0
"""Limit of log-odds: a probability of 1e-7, about the eps of float32, the dtype of many scores."""


class Scale(Protocol):
    """Increasing map of [0, 1] and its inverse, with parameters only."""

    @property
    def unit(self) -> str:
        """Axis label of its values."""

    def there(self, scores: Floats) -> Float64s:
        """Return a new array with scores on this scale."""

    def back(self, values: Float64s) -> Float64s:
        """Return the scores of values on this scale."""


SCALES: Registry[Scale] = Registry("SCALES")


@SCALES.register("score", "Score", reference="P5 §4.4")
@dataclass(frozen=True)
class Linear:
    """Score scale: smoothing of untransformed scores, mirrored at both ends of their range.

    What can mislead: mirroring makes curves flat at 0 and 1, where confident models have most of their scores.

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
    """Log-odds scale: one bandwidth is narrow in score near 0 and 1, and wide in the middle.

    x = log(s / (1 - s)), limited to -16 and 16; bandwidths are in log-odds. The ends, at which mirroring biases a curve
    by about the bandwidth, are then far from nearly all scores. What can mislead: scores of exactly 0 and 1, and those
    beyond the limits, form clusters at the ends, which a wide kernel spreads over nearby scores.

    >>> LogOdds().there(np.array([0.5, 1.0])).tolist(), LogOdds().back(np.array([0.0])).tolist()
    ([0.0, 16.0], [0.5])
    """

    @property
    def unit(self) -> str:
        return "log-odds"

    def there(self, scores: Floats) -> Float64s:
        s = scores.astype(np.float64)
        with np.errstate(divide="ignore"):  # the log-odds of 0 and 1 are infinite, and limited
            return np.asarray(np.clip(np.log(s) - np.log1p(-s), -FURTHEST, FURTHEST))

    def back(self, values: Float64s) -> Float64s:
        # The limit represents the end itself: scores there may be exactly 0 or 1.
        s = expit(values)
        return np.asarray(np.where(values >= FURTHEST, 1.0, np.where(values <= -FURTHEST, 0.0, s)))


CELLS = 4096
"""Number of cells of the grid over [0, 1]: a step of 0.000244, below the 0.0003 of P5."""
_WIDEST_STRIDE = 8
_POINTS_PER_WIDTH = 4


@dataclass(frozen=True)
class ScoreGrid:
    """Grid of ``cells`` + 1 scores from ``low`` to 1, equally spaced on the ``scale``.

    Values at scores become masses at nodes: each is divided between its two adjacent nodes by
    linear interpolation, which preserves sums and means. A cosine transform (type I) represents the masses mirrored
    at both ends repeatedly, so smoothing neither leaks out of [low, 1] nor wraps around.

    >>> ScoreGrid(0.0, 2).masses(np.array([0.25, 1.0])).tolist()
    [0.5, 0.5, 1.0]
    """

    low: float = 0.0
    cells: int = CELLS
    scale: Scale = field(default_factory=Linear)

    @cached_property
    def ends(self) -> tuple[float, float]:
        """First and last node on the scale."""
        low, high = self.scale.there(np.array([self.low, 1.0]))
        return float(low), float(high)

    @property
    def step(self) -> float:
        """Distance between adjacent nodes on the scale."""
        return (self.ends[1] - self.ends[0]) / self.cells

    @property
    def scores(self) -> Float64s:
        """Nodes, shape (cells + 1,)."""
        return self.scale.back(np.linspace(*self.ends, self.cells + 1))

    def stride(self, width: float) -> int:
        """Return the stride to evaluate a field smoothed with this width: 8, or less if that is too coarse."""
        stride = _WIDEST_STRIDE
        while stride > 1 and stride * self.step * _POINTS_PER_WIDTH > width:
            stride //= 2
        return stride

    def every(self, stride: int) -> ScoreGrid:
        """Return the grid of every stride-th node."""
        return replace(self, cells=self.cells // stride)

    def places(self, scores: Floats) -> tuple[Codes, Float64s]:
        """Return each score's cell and relative position in it; scores below ``low`` by rounding count as ``low``."""
        position = self.scale.there(scores)
        position -= self.ends[0]
        position *= 1.0 / self.step
        np.clip(position, 0.0, self.cells, out=position)
        cell = np.minimum(position.astype(np.intp), self.cells - 1)
        position -= cell
        return cell, position

    def shared(self, cell: Codes, into: Float64s, values: Float64s | None = None) -> Float64s:
        """Return node masses of values (None: all 1) at relative positions ``into`` in their cells."""
        n = self.cells + 1
        whole = np.bincount(cell, values, minlength=n).astype(np.float64, copy=False)
        ahead = np.bincount(cell, into if values is None else into * values, minlength=n)
        whole -= ahead
        whole[1:] += ahead[:-1]
        return whole

    def masses(self, scores: Floats, values: Float64s | None = None) -> Float64s:
        """Return node masses, shape (cells + 1,), of values (None: all 1) at scores (n,)."""
        return self.shared(*self.places(scores), values)

    def of_lines(self, scores: Floats, values: Float64s | None = None) -> Float64s:
        """Return node masses of many lines of scores (lines, n) at once, (lines, cells + 1)."""
        cell, into = self.places(scores.ravel())
        n = self.cells + 1
        every = replace(self, cells=len(scores) * n - 1)
        cell += np.repeat(np.arange(len(scores)) * n, scores.shape[1])
        return every.shared(cell, into, None if values is None else values.ravel()).reshape(len(scores), n)

    def coarser(self, masses: Float64s, cells: int) -> Float64s:
        """Return masses (..., self.cells + 1) on the grid of fewer ``cells``, a divisor.

        >>> ScoreGrid(0.0, 4).coarser(np.array([0.0, 1.0, 0.0, 0.0, 1.0]), 2).tolist()
        [0.5, 0.5, 1.0]
        """
        each = masses[..., :-1].reshape(*masses.shape[:-1], cells, -1)
        into = np.arange(each.shape[-1]) / each.shape[-1]
        whole, ahead = each.sum(axis=-1), each @ into
        found = np.concatenate([whole - ahead, masses[..., -1:]], axis=-1)
        found[..., 1:] += ahead
        return np.asarray(found)

    def spectrum(self, masses: Float64s) -> Float64s:
        """Return cosine coefficients of masses (..., cells + 1) mirrored at both ends."""
        mirrored = np.array(masses, dtype=np.float64)
        # A mass on an end is its own mirror image, so it counts twice, as all others appear twice.
        mirrored[..., 0] *= 2.0
        mirrored[..., -1] *= 2.0
        return np.asarray(scipy.fft.dct(mirrored, type=1, overwrite_x=True))

    def density(self, spectrum: Float64s, stride: int = 1) -> Float64s:
        """Return mass per unit of the scale at every stride-th node; ``stride`` divides the number of cells."""
        if stride > 1:
            spectrum = _aliased(spectrum, stride) / stride
        found = np.asarray(scipy.fft.idct(spectrum, type=1))
        found /= self.step
        return found

    def integral(self, values: Float64s) -> Float64s:
        """Return trapezoid sums of values (..., m) at m equally spaced nodes from end to end."""
        inner = values.sum(axis=-1) - 0.5 * (values[..., 0] + values[..., -1])
        return np.asarray(inner * ((self.ends[1] - self.ends[0]) / (values.shape[-1] - 1)))


def _aliased(spectrum: Float64s, stride: int) -> Float64s:
    """Spectrum of the same field on every stride-th node: aliased frequencies are added."""
    coarse = 2 * (spectrum.shape[-1] - 1) // stride
    both = np.concatenate([spectrum, spectrum[..., -2:0:-1]], axis=-1)
    folded = both.reshape(*spectrum.shape[:-1], stride, coarse).sum(axis=-2)
    return np.asarray(folded[..., : coarse // 2 + 1])
