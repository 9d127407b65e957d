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
    # Numbers of 16 bits and less are sorted without comparing any two.
    order = np.argsort(codes.astype(np.min_scalar_type(len(edge_sets))), kind="stable")
    stops = np.append(0, np.cumsum(np.bincount(codes, minlength=len(edge_sets))))
    for s in np.flatnonzero(np.diff(stops)).tolist():
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
