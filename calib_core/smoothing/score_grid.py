"""A grid over the range of the scores, as they are or by their log-odds: binning and smoothing by cosine transforms."""

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


CELLS = 4096
"""Cells of the grid over [0, 1]: a step of 0.000244, below the 0.0003 of P5."""
_WIDEST_STRIDE = 8
_POINTS_PER_WIDTH = 4


@dataclass(frozen=True)
class ScoreGrid:
    """``cells`` + 1 scores from ``low`` to 1, equally spaced on the ``scale``.

    Values given at scores become masses at nodes: each is shared between its two neighbours in proportion to
    nearness, which keeps sums and means. A cosine transform (type I) then stands for the masses mirrored at both ends
    over and over, so that smoothing leaks nothing out of [low, 1] and wraps nothing around.

    >>> ScoreGrid(0.0, 2).masses(np.array([0.25, 1.0])).tolist()
    [0.5, 0.5, 1.0]
    """

    low: float = 0.0
    cells: int = CELLS
    scale: Scale = field(default_factory=Linear)

    @cached_property
    def ends(self) -> tuple[float, float]:
        """The first and the last node on the scale."""
        low, high = self.scale.there(np.array([self.low, 1.0]))
        return float(low), float(high)

    @property
    def step(self) -> float:
        """Distance of neighbouring nodes on the scale."""
        return (self.ends[1] - self.ends[0]) / self.cells

    @property
    def scores(self) -> Float64s:
        """The nodes, shape (cells + 1,)."""
        return self.scale.back(np.linspace(*self.ends, self.cells + 1))

    def stride(self, width: float) -> int:
        """Every how many nodes a field is read that was smoothed this wide: 8, or less where that is too coarse."""
        stride = _WIDEST_STRIDE
        while stride > 1 and stride * self.step * _POINTS_PER_WIDTH > width:
            stride //= 2
        return stride

    def every(self, stride: int) -> ScoreGrid:
        """The grid of every stride-th node."""
        return replace(self, cells=self.cells // stride)

    def places(self, scores: Floats) -> tuple[Codes, Float64s]:
        """Cell of each score, and how far into it from 0 to 1; scores a rounding below ``low`` are put at it."""
        position = self.scale.there(scores)
        position -= self.ends[0]
        position *= 1.0 / self.step
        np.clip(position, 0.0, self.cells, out=position)
        cell = np.minimum(position.astype(np.intp), self.cells - 1)
        position -= cell
        return cell, position

    def shared(self, cell: Codes, into: Float64s, values: Float64s | None = None) -> Float64s:
        """Masses at the nodes of values (None: all 1) that lie ``into`` their cells."""
        n = self.cells + 1
        whole = np.bincount(cell, values, minlength=n).astype(np.float64, copy=False)
        ahead = np.bincount(cell, into if values is None else into * values, minlength=n)
        whole -= ahead
        whole[1:] += ahead[:-1]
        return whole

    def masses(self, scores: Floats, values: Float64s | None = None) -> Float64s:
        """Masses at the nodes, shape (cells + 1,), of values (None: all 1) that belong to scores (n,)."""
        return self.shared(*self.places(scores), values)

    def of_lines(self, scores: Floats, values: Float64s | None = None) -> Float64s:
        """The same of many lines of scores (lines, n) at once, (lines, cells + 1)."""
        cell, into = self.places(scores.ravel())
        n = self.cells + 1
        every = replace(self, cells=len(scores) * n - 1)
        cell += np.repeat(np.arange(len(scores)) * n, scores.shape[1])
        return every.shared(cell, into, None if values is None else values.ravel()).reshape(len(scores), n)

    def coarser(self, masses: Float64s, cells: int) -> Float64s:
        """What masses (..., self.cells + 1) are on the grid of fewer ``cells``, a divisor: nothing else is rounded.

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
        """Cosine coefficients of masses (..., cells + 1) mirrored at both ends."""
        mirrored = np.array(masses, dtype=np.float64)
        # A mass on an end is its own mirror image: it counts twice where all others appear twice.
        mirrored[..., 0] *= 2.0
        mirrored[..., -1] *= 2.0
        return np.asarray(scipy.fft.dct(mirrored, type=1, overwrite_x=True))

    def density(self, spectrum: Float64s, stride: int = 1) -> Float64s:
        """Mass per unit of the scale at every stride-th node; ``stride`` divides the number of cells."""
        if stride > 1:
            spectrum = _aliased(spectrum, stride) / stride
        found = np.asarray(scipy.fft.idct(spectrum, type=1))
        found /= self.step
        return found

    def integral(self, values: Float64s) -> Float64s:
        """Trapezoid sums from end to end of values (..., m) at m equally spaced nodes."""
        inner = values.sum(axis=-1) - 0.5 * (values[..., 0] + values[..., -1])
        return np.asarray(inner * ((self.ends[1] - self.ends[0]) / (values.shape[-1] - 1)))


def _aliased(spectrum: Float64s, stride: int) -> Float64s:
    """The spectrum that gives the same field on every stride-th node: frequencies that agree there are added."""
    coarse = 2 * (spectrum.shape[-1] - 1) // stride
    both = np.concatenate([spectrum, spectrum[..., -2:0:-1]], axis=-1)
    folded = both.reshape(*spectrum.shape[:-1], stride, coarse).sum(axis=-2)
    return np.asarray(folded[..., : coarse // 2 + 1])
