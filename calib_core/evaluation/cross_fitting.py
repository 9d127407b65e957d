"""Cross-fitting: every row is evaluated after a calibrator that was fitted on other rows."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from calib_core._base.arrays import Codes
from calib_core._base.parallel import Pieces, Progress, silent
from calib_core._base.sklearn_api import clone
from calib_core.calibrators.base import Calibrator, as_calibrator
from calib_core.defaults import FOLDS, SEED
from calib_core.predictions.predictions import InputError, Predictions
from calib_core.registry.registry import Recipe

CROSS_FITTED = (
    "Each row is recalibrated by a calibrator fitted on the other folds. The final calibrator is "
    "fitted on all rows, so it is usually slightly better than these results. If it was also chosen on these "
    "rows, that makes them slightly optimistic. Intervals and tests treat the calibrators as fixed, so they "
    "are approximate and do not include the variation of the fits."
)
"""Caveat for cross-fitted rows."""
COLUMN_UNUSED = "The column {} is not used: all rows are test rows."
"""Note for rows that a column of their file divides."""
OF_ALL_ROWS = (
    "This is the final calibrator, fitted on all rows. The evaluation uses calibrators of the same kind, each fitted "
    "on the other folds."
)
"""Note on a map if rows are cross-fitted."""


def cross_fitted(
    predictions: Predictions,
    calibrator: str | Calibrator,
    folds: int = FOLDS,
    random_state: int = SEED,
    progress: Progress | None = None,
) -> Predictions:
    """Recalibrate all rows, each by a calibrator fitted on the rows of the other folds.

    Rows are divided into ``folds`` folds (2 to n), seeded and stratified by label. Rows of a group stay in one fold, so
    no map is evaluated on a group in its fit. The rows keep their order and metadata; ``notes`` reports the
    cross-fitting. Raises InputError if there are fewer rows or groups than folds, and the calibrator's errors if the
    rows of the other folds are too few. The given calibrator stays unfitted. ``progress`` gets the percentage done,
    with equal shares for all folds; an exception in it stops the work.

    What can mislead: the evaluated maps are each fitted on a share 1 - 1/folds of the rows. The final map is fitted on
    all and is usually slightly better. Intervals and tests of the result treat the maps as fixed. They approximately
    cover other rows with these maps, but not the variation of the fits. With tens of rows, folds stratified by label
    make scores slightly optimistic.

    References: Bayle, Bayle, Janson & Mackey 2020, on intervals from rows that were each left out once.

    >>> p = Predictions([[0.9, 0.1], [0.1, 0.9]] * 50, [0, 1, 1, 0, 0] * 20)
    >>> fair = cross_fitted(p, "temperature", folds=4)
    >>> fair.n_rows, fair.notes[-1].partition(":")[0]
    (100, 'cross-fitted in 4 folds, stratified by class')
    """
    of = predictions.folds(folds, random_state=random_state)
    return over_folds(predictions, predictions, calibrator, of, of, progress or silent)


def plain_folds(predictions: Predictions, folds: int, random_state: int = SEED) -> Codes:
    """Random folds that ignore labels, (n,) codes 0..folds-1: seeded, of equal size, with whole groups.

    Gains are tested on these, not on ``Predictions.folds``. Folds stratified by label repeat the sampling error of the
    class frequencies on which the maps were fitted. An offset fitted to noise then looks like a gain. What can mislead:
    with few rows of a class, the other folds can lack it.

    >>> np.bincount(plain_folds(Predictions([[0.7, 0.3]] * 7, [0] * 7), 3)).tolist()
    [3, 2, 2]
    """
    groups = predictions.row_groups
    sizes = np.ones(predictions.n_rows, dtype=np.intp) if groups is None else np.bincount(groups.codes)
    order = np.lexsort((np.random.default_rng(random_state).random(len(sizes)), sizes))
    fold = np.empty(len(sizes), dtype=np.intp)
    fold[order] = np.arange(len(sizes)) % folds
    return fold if groups is None else np.asarray(fold[groups.codes])


def over_folds(
    fit: Predictions,
    test: Predictions,
    calibrator: str | Recipe | Calibrator,
    of_fit: Codes,
    of_test: Codes,
    progress: Progress = silent,
) -> Predictions:
    """Return the test rows, each after a calibrator fitted on the calibration rows of other folds."""
    ready = as_calibrator(calibrator)
    parts, places, folds = [], [], Pieces(progress, len(np.unique(of_test)))

    def at_work(_: int) -> None:
        folds(0)  # a fit reports its own share, not that of the fold

    for fold, rows in _each(of_test):
        others = np.flatnonzero(of_fit != fold)
        if not len(others):
            raise InputError(f"all calibration rows are in fold {fold + 1}, so none is left to fit on")
        fresh: Calibrator = clone(ready)
        parts.append(fresh.fit_on(fit.take(others), at_work).apply(test.take(rows), at_work))
        places.append(rows)
        folds.next()
    return test.with_parts(parts, places, note_of(len(np.unique(of_fit)), test))


def note_of(folds: int, rows: Predictions) -> str:
    """Note of cross-fitted predictions."""
    return f"{in_folds(folds, rows)}: a row is recalibrated by a calibrator fitted on the other folds"


def in_folds(folds: int, rows: Predictions) -> str:
    """Clause on the division of cross-fitted rows."""
    kept = "" if rows.row_groups is None else f", each group{rows.row_groups.kind} in one fold"
    return f"cross-fitted in {folds} folds, stratified by class{kept}"


def in_random_folds(folds: int, rows: Predictions) -> str:
    """Clause on rows cross-fitted in ``plain_folds``."""
    return in_folds(folds, rows).replace("folds, stratified by class", "random folds")


def _each(folds: Codes) -> Iterator[tuple[int, Codes]]:
    for fold in np.unique(folds):
        yield int(fold), np.flatnonzero(folds == fold)
