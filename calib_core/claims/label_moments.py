"""What rows lose by their labels: moments of a loss if labels follow the probabilities, and where it ends."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from calib_core._base.arrays import Float64s


class LabelMoments(NamedTuple):
    """Of every row, (n,), what its loss can be when a label l of probability p_l loses S_l.

    ``expected`` is sum_l p_l S_l; ``variance`` and ``third`` are sum_l p_l |S_l - expected|^m, m = 2 and 3; ``least``
    and ``most`` the ends of S_l.
    """

    expected: Float64s
    variance: Float64s
    third: Float64s
    least: Float64s
    most: Float64s

    @classmethod
    def of(cls, probs: Float64s, lost: Float64s) -> LabelMoments:
        """From probabilities and losses of all labels, (n, K)."""
        expected = (probs * lost).sum(axis=1)
        away = np.abs(lost - expected[:, None])
        # Products, since a power of floats takes thirty times as long, and is rounded differently by every machine.
        weighed = probs * away
        weighed *= away
        variance = weighed.sum(axis=1)
        weighed *= away
        return cls(expected, variance, weighed.sum(axis=1), lost.min(axis=1), lost.max(axis=1))
