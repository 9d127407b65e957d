"""Where claims lie among cells between edges."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from calib_core._arrays import Codes, Floats


def placed(edge_sets: Sequence[Floats], scores: Floats, codes: Codes, cells: int) -> Codes:
    """Position among the strata * cells of claims (m,) with these scores in these strata, by inner edges.

    One set of edges for all strata, or one a stratum.
    """
    if len(edge_sets) == 1:
        return np.asarray(np.searchsorted(edge_sets[0], scores, side="right") + codes * cells)
    found = np.empty(len(scores), dtype=np.intp)
    order = np.argsort(codes, kind="stable")
    stops = np.searchsorted(codes[order], np.arange(len(edge_sets) + 1))
    for s in np.unique(codes):
        here = order[stops[s] : stops[s + 1]]
        found[here] = np.searchsorted(edge_sets[s], scores[here], side="right") + s * cells
    return found


def placed_in_lines(edge_sets: Sequence[Floats], joined: Codes | None, scores: Floats, codes: Codes) -> Codes:
    """The same for claims of any shape whose strata, where ``joined``, share the lines of edges that it says."""
    mine = codes if joined is None else joined[codes]
    return placed(edge_sets, scores.ravel(), mine.ravel(), 1 + max(map(len, edge_sets))).reshape(scores.shape)


def n_lines(strata: int, joined: Codes | None) -> int:
    """How many lines of edges so many strata lie in."""
    return strata if joined is None else int(joined.max()) + 1
