"""A grid over the range of the scores: linear binning, and smoothing by cosine transforms that mirror at both ends."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import scipy

from calib_core._base.arrays import Codes, Float64s, Floats
from calib_core.smoothing.score_scales import Linear, Scale

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
