"""Exact tests of calibration for many places at once: is the number that came true likely, given each row's score?"""

from __future__ import annotations

import numpy as np

from calib_core._base.arrays import Codes, Float64s, Floats

SMALLEST = 1e-12
"""p-values below this are reported as this: further out rounding decides."""
_INTERVALS = 256
_SAMPLE = 2_000
_REACH, _MARGIN = 8.0, 12.0
"""The number is followed to 8 standard deviations and 12 rows around its mean: 1e-14 lies beyond."""
_AT_ONCE = 1_000_000
"""Chances held at a time."""


def score_nodes(scores: Floats | None = None) -> Float64s:
    """The probabilities that laws of counts are computed for, ascending from 0 to 1, at most 259.

    The scores' own values where there are at most 257 of them, so that nothing is rounded; else 257 of equal distance
    on the scale arcsin(sqrt(s)), dense near 0 and 1.

    >>> score_nodes(np.array([0.9, 0.5, 0.9])).tolist()
    [0.0, 0.5, 0.9, 1.0]
    >>> len(score_nodes())
    257
    """
    if scores is not None and len(np.unique(scores[:_SAMPLE])) <= _INTERVALS + 1:
        own = np.unique(scores)
        if len(own) <= _INTERVALS + 1:
            return np.union1d(own.astype(np.float64), [0.0, 1.0])
    return np.sin(np.linspace(0.0, np.pi / 2, _INTERVALS + 1)) ** 2


def node_counts(nodes: Float64s, count: Float64s, score: Float64s) -> Float64s:
    """Claims between neighbouring nodes (..., G - 1), and the sums of their scores, as claims at the nodes (..., G).

    A claim between two nodes is shared by them so that its score stays the mean. The variance of a sum falls by less
    than 4e-5 of what it is on the nodes of ``score_nodes()``, and is unchanged where scores are nodes themselves.

    >>> node_counts(np.array([0.0, 0.5, 1.0]), np.array([1.0, 2.0]), np.array([0.25, 1.0])).tolist()
    [0.5, 2.5, 0.0]
    """
    above = (score - count * nodes[:-1]) / np.diff(nodes)
    above = np.clip(above, 0.0, count)
    counts = np.zeros((*count.shape[:-1], len(nodes)))
    counts[..., :-1] += count - above
    counts[..., 1:] += above
    return counts


def counts_in_cells(
    nodes: Float64s, scores: Floats, cell: Codes, cells: int, weights: Float64s | None = None
) -> Float64s:
    """Claims at the nodes, (cells, G), of rows with these scores in these cells; weights are numbers of copies.

    >>> counts_in_cells(np.array([0.0, 0.5, 1.0]), np.array([0.5, 0.75]), np.array([1, 0]), 2).tolist()
    [[0.0, 0.5, 0.5], [0.0, 1.0, 0.0]]
    """
    between = len(nodes) - 1
    exact = np.asarray(scores, dtype=np.float64)
    place = np.clip(np.searchsorted(nodes, exact, side="right") - 1, 0, between - 1)
    place += between * cell
    count = np.bincount(place, weights, cells * between).astype(np.float64)
    score = np.bincount(place, exact if weights is None else weights * exact, cells * between).astype(np.float64)
    return node_counts(nodes, count.reshape(cells, between), score.reshape(cells, between))


def count_test(nodes: Float64s, counts: Float64s, positives: Float64s) -> Float64s:
    """p-values (m,), two-sided, that these numbers came true if every claim does with the chance it states.

    ``counts`` (m, G) are claims at the ``nodes`` (G,), ``positives`` (m,) how many came true. Under calibration their
    number K is Poisson-binomial, and p = min(1, 2 min(P(K <= k), P(K >= k))): exact where the scores are nodes, so
    that P(p <= t) <= t for every t; elsewhere K's standard deviation is at most .002 % too small, and p is right to
    .2 % of itself down to 1e-4 and to 5 % below. The null is that each
    row's score is its chance, not only their mean: a binomial law of the mean score spreads as much as any law of
    that mean, and misses errors that this one finds. NaN where there are no claims. What can mislead: rows are taken
    to be independent; where single scores are wrong but their mean is right the test rejects a little more often than
    its level, for the rows are not calibrated.

    References: Hong 2013 (the law by Fourier transform).

    >>> nodes = score_nodes(np.array([0.5]))
    >>> count_test(nodes, np.array([[0.0, 10.0, 0.0]]), np.array([10.0])).round(6).tolist()  # 2 * 0.5^10
    [0.001953]
    """
    total, mean = counts.sum(axis=1), counts @ nodes
    half = _REACH * np.sqrt(counts @ (nodes * (1.0 - nodes))) + _MARGIN
    size = 2 ** np.ceil(np.log2(2.0 * half + 2.0)).astype(np.intp)
    p = np.full(len(counts), np.nan)
    for window in np.unique(size[total > 0]):
        logs = _log_factors(nodes, int(window))
        those = np.flatnonzero((size == window) & (total > 0))
        for part in np.array_split(those, -(-len(those) * int(window) // _AT_ONCE)):
            low = np.maximum(0.0, np.floor(mean[part] - window / 2))
            p[part] = _two_sided(logs, counts[part], low, positives[part], int(window))
    return p


def _log_factors(nodes: Float64s, window: int) -> np.ndarray[tuple[int, ...], np.dtype[np.complex128]]:
    """log(1 + s (e^it - 1)) at the nodes and the frequencies of a window, (G, window / 2 + 1)."""
    turn = 2j * np.pi * np.fft.rfftfreq(window)
    factor = 1.0 + nodes[:, None] * np.expm1(turn)
    # Scores of 1/2 have a factor of 0 at half a turn, where the law's transform is 0 too.
    return np.asarray(np.log(np.where(np.abs(factor) < 1e-300, 1e-300, factor)))


def _two_sided(
    logs: np.ndarray[tuple[int, ...], np.dtype[np.complex128]],
    counts: Float64s,
    low: Float64s,
    positives: Float64s,
    window: int,
) -> Float64s:
    angle = 2.0 * np.pi * np.fft.rfftfreq(window)
    transform = np.exp(counts @ logs.real + 1j * (counts @ logs.imag - low[:, None] * angle))
    law = np.maximum(np.fft.irfft(np.conj(transform), window, axis=1), 0.0)
    place = np.rint(positives - low).astype(np.intp)
    lines, inside = np.arange(len(law)), np.clip(place, 0, window - 1)
    below, above = np.cumsum(law, axis=1), np.cumsum(law[:, ::-1], axis=1)[:, ::-1]
    at_most = np.where(place < 0, 0.0, below[lines, inside])
    at_least = np.where(place > window - 1, 0.0, above[lines, inside])
    return np.clip(2.0 * np.minimum(at_most, at_least), SMALLEST, 1.0)
