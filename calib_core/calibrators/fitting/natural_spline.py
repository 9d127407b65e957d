"""Natural cubic splines by their second derivatives at inner knots: basis, slopes and polynomial pieces."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calib_core._base.arrays import Float64s


@dataclass(frozen=True, eq=False)
class NaturalSpline:
    """Cubic splines with ascending ``knots`` (m,), which are straight lines beyond the outer knots.

    Every such spline is a line plus a sum of m - 2 bends (none if m < 3). Bend j is 0 below knot j - 1. Its second
    derivative is 1 at knot j, 0 at all other knots, and linear between knots. The coefficient of a bend is therefore
    the spline's second derivative at its knot.

    >>> NaturalSpline(np.array([0.0, 1.0, 2.0])).bends(np.array([-1.0, 1.0, 2.0, 3.0])).round(3).tolist()
    [[0.0, 0.167, 1.0, 2.0]]
    """

    knots: Float64s

    def bends(self, x: Float64s) -> Float64s:
        """Values of the bends (m - 2, n) at x (n,)."""
        before, after = self._gaps
        cubic = self._powers(x, 3) / 6.0
        beyond = np.maximum(x - self.knots[2:, None], 0.0)
        return cubic + (before + after) / 2.0 * beyond

    def slopes(self, x: Float64s) -> Float64s:
        """First derivatives of the bends (m - 2, n) at x (n,)."""
        return self._powers(x, 2) / 2.0

    def pieces(self, intercept: float, slope: float, bends: Float64s) -> Float64s:
        """Polynomials (m + 1, 4) of intercept + slope x + bends, each in the distance from its piece's left end.

        The first piece, below all knots, is in the distance from the first knot. Without knots there is one piece in x.
        """
        if not len(self.knots):
            return np.array([[intercept, slope, 0.0, 0.0]])
        second = np.concatenate([[0.0], bends, [0.0]])
        gaps = np.diff(self.knots)
        level, steep = intercept + slope * float(self.knots[0]), slope
        pieces = [(level, steep, 0.0, 0.0)]
        for gap, left, right in zip(gaps, second[:-1], second[1:], strict=True):
            pieces.append((level, steep, left / 2.0, (right - left) / (6.0 * gap)))
            level += gap * (steep + gap * (2.0 * left + right) / 6.0)
            steep += gap * (left + right) / 2.0
        return np.array([*pieces, (level, steep, 0.0, 0.0)])

    @property
    def _gaps(self) -> tuple[Float64s, Float64s]:
        gaps = np.diff(self.knots)[:, None]
        return gaps[:-1], gaps[1:]

    def _powers(self, x: Float64s, power: int) -> Float64s:
        """Truncated powers of a bend up to its last knot, beyond which cubes would only cancel."""
        before, after = self._gaps
        near = np.minimum(x, self.knots[2:, None])
        rise = np.maximum(near - self.knots[:-2, None], 0.0) ** power / before
        turn = np.maximum(near - self.knots[1:-1, None], 0.0) ** power
        return np.asarray(rise - turn * (1.0 / before + 1.0 / after))
