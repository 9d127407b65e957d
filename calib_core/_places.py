"""Which cell each of many scores lies in."""

from __future__ import annotations

import numpy as np

from calib_core._arrays import Codes, Floats

_MANY, _FEW_EDGES = 8192, 8
"""Scores below which, and edges below which, a search is as fast."""
_SHARED = 8
"""Most edges with the same upper bits: each costs a pass over the scores."""
_INTS = {np.dtype(np.float32): (np.int32, 16), np.dtype(np.float64): (np.int64, 45)}
"""Integers as wide as floats of a type, and how many of their lower bits are left out: seven of the fraction stay."""


def places(edges: Floats, scores: Floats) -> Codes:
    """How many of the ascending edges lie at or below each score in [0, 1]: ``searchsorted`` from the right.

    In a tenth of its time where both are many. Floats from 0 up are ordered as the integers of their bits: the upper
    bits of a score say which edges lie below it but for the few that share them, which are compared with it in turn.

    >>> places(np.array([0.5]), np.array([0.1, 0.5])).tolist()
    [0, 1]
    """
    if len(scores) < _MANY or len(edges) < _FEW_EDGES or edges[0] < 0 or edges[-1] > 1 or edges.dtype != scores.dtype:
        return np.asarray(np.searchsorted(edges, scores, side="right"), dtype=np.intp)
    ints, low = _INTS[scores.dtype]
    # Adding 0 makes -0 positive.
    upper = (edges + edges.dtype.type(0)).view(ints) >> low
    shared = 1
    while (upper[shared:] == upper[:-shared]).any():
        shared += 1
        if shared > _SHARED:
            return np.asarray(np.searchsorted(edges, scores, side="right"), dtype=np.intp)
    size = int(np.ones(1, dtype=edges.dtype).view(ints)[0] >> low) + 1
    ends = np.concatenate(([0], upper + 1, [size]))
    below = np.repeat(np.arange(len(edges) + 1, dtype=np.int32), ends[1:] - ends[:-1])
    codes = below.take((scores + scores.dtype.type(0)).view(ints) >> low)
    ended = np.append(edges, edges.dtype.type(np.inf))
    for _ in range(shared):
        codes += ended.take(codes) <= scores
    return codes.astype(np.intp)
