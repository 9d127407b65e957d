"""The law of how many claims come true when each does with the chance it states, by Fourier transform."""

from __future__ import annotations

import numpy as np

from calib_core._base.arrays import Float64s

_REACH, _MARGIN = 8.0, 12.0
"""The number is followed to 8 standard deviations and 12 rows around its mean: 1e-14 lies beyond."""


def poisson_binomial(count: Float64s, score: Float64s) -> tuple[int, Float64s]:
    """The law of the number of positives among ``count`` claims of these scores: first number, chances from it on.

    References: Hong 2013 for the Fourier form.

    >>> first, chances = poisson_binomial(np.array([2.0]), np.array([0.5]))
    >>> first, chances.round(9).tolist()
    (0, [0.25, 0.5, 0.25])
    """
    rows, mean = float(count.sum()), float(count @ score)
    half = _REACH * float(np.sqrt(count @ (score * (1 - score)))) + _MARGIN
    low = int(max(0.0, np.floor(mean - half)))
    high = int(min(rows, np.ceil(mean + half)))
    size = high - low + 1
    turn = 2j * np.pi * np.fft.rfftfreq(size)
    # Near-certain claims: 1 + s (e^it - 1) can be 0 at half a turn, where the law's transform is 0 too.
    factor = 1.0 + score[:, None] * np.expm1(turn)
    logs = np.log(np.where(factor == 0, 1e-300, factor))
    transform = np.exp(count @ logs - turn * low)
    return low, np.maximum(np.fft.irfft(np.conj(transform), size), 0.0)
