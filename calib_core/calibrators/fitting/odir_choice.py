"""Off-diagonal and intercept regularisation chosen by cross-validated log loss."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from calib_core._base.arrays import Float64s
from calib_core.calibrators.fitting.softmax_fit import fitted
from calib_core.calibrators.fitting.softmax_loss import AffineLoss, Odir, Rowwise
from calib_core.predictions.row_groups import RowGroups, dealt

GRID = (0.01, 0.1, 1.0, 10.0, 100.0, 1000.0, 10000.0)
"""Candidates for λ and for μ, in the paper's normalisation: with 100 classes good values of λ are in the thousands."""


def fits_tried(folds: int) -> int:
    """How many maps are fitted to choose by so many folds."""
    return 2 * folds * len(GRID)


def chosen_odir(
    rows: Rowwise,
    given: Odir,
    folds: int,
    random_state: int,
    groups: RowGroups | None = None,
    fit_done: Callable[[], object] = lambda: None,
) -> Odir:
    """λ from the grid with μ as given, then μ from the grid with that λ: the least held-out log loss each time.

    Of equal losses the stronger penalty wins. Folds are stratified by label and seeded, and keep
    rows that belong together in one. ``fit_done`` is called after each of the fits tried.
    """
    parts = (
        dealt(rows.labels, folds, random_state) if groups is None else groups.folds(rows.labels, folds, random_state)
    )
    splits = [(rows.take(np.flatnonzero(parts != f)), rows.take(np.flatnonzero(parts == f))) for f in np.unique(parts)]
    if len(splits) < 2:
        return given
    best = _least(splits, [replace(given, off_diagonal=v) for v in GRID], fit_done)
    return _least(splits, [replace(best, intercept=v) for v in GRID], fit_done)


def _least(
    splits: Sequence[tuple[Rowwise, Rowwise]], candidates: Sequence[Odir], fit_done: Callable[[], object]
) -> Odir:
    losses = np.zeros(len(candidates))
    for fit, held_out in splits:
        start: Float64s | None = None
        # From the strongest penalty down: each minimiser starts the search for the next.
        for i in reversed(range(len(candidates))):
            start = fitted(AffineLoss(fit, candidates[i]), start).parameters
            losses[i] += held_out.mass * AffineLoss(held_out, candidates[i]).log_loss(start)
            fit_done()
    return candidates[len(candidates) - 1 - int(losses[::-1].argmin())]
