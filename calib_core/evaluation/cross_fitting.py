"""Cross-fitting: every row judged, each after a calibrator that was fitted on the other rows."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from calib_core._base.arrays import Codes
from calib_core._base.parallel import Pieces, Progress, silent
from calib_core._base.sklearn_api import clone
from calib_core.calibrators.base import Calibrator, as_calibrator
from calib_core.defaults import FOLDS, SEED
from calib_core.predictions.predictions import InputError, Predictions

CROSS_FITTED = (
    "Every row is a test row, judged after a map fitted on the other folds. The map that is used afterwards is fitted "
    "on all rows: a little better, as a rule. Intervals and tests take the maps as they are, as if none had seen any "
    "row: what they say holds nearly, not exactly, and does not tell how other rows would have changed the fits."
)
"""What is to be known of cross-fitted rows."""
COLUMN_UNUSED = "The column {} is not used: all rows are judged."
"""What is to be known where a column of their file divides them."""
OF_ALL_ROWS = (
    "This is the map to use afterwards, fitted on all rows; what is judged comes from maps of its kind that were each "
    "fitted on the other folds."
)
"""What is to be known of a map where rows are cross-fitted."""


def cross_fitted(
    predictions: Predictions,
    calibrator: str | Calibrator,
    folds: int = FOLDS,
    random_state: int = SEED,
    progress: Progress | None = None,
) -> Predictions:
    """All rows recalibrated, each by a calibrator fitted on the rows of the other folds, which do not hold it.

    Rows are dealt out to ``folds`` folds (2 to n): seeded, every label in all folds alike; rows of a group stay in one
    fold, so that no map is judged on a group it has seen. The rows keep their order and what goes with them; ``notes``
    says that they are cross-fitted. InputError where rows or groups are fewer than folds, and what the calibrator
    raises where the rows of the other folds are too few for it; the one given stays unfitted. ``progress`` is told how
    much is done, in percent, a fold as much as another; what it raises stops the work.

    What can mislead: ``folds`` maps are judged, each fitted on a share 1 - 1/folds of the rows, where the one that is
    used afterwards is fitted on all: a little better, as a rule. Intervals and tests of what comes out take the maps as
    they are: they cover other rows judged by these maps, nearly, not how other rows would have changed the fits. Folds
    that hold every label alike make scores of tens of rows look a little better than they are.

    References: Bayle, Bayle, Janson & Mackey 2020, on intervals from rows that were each left out once.

    >>> p = Predictions([[0.9, 0.1], [0.1, 0.9]] * 50, [0, 1, 1, 0, 0] * 20)
    >>> fair = cross_fitted(p, "temperature", folds=4)
    >>> fair.n_rows, fair.notes[-1]
    (100, 'cross-fitted in 4 folds, class by class: every row is judged after a map fitted on the other folds')
    """
    of = predictions.folds(folds, random_state=random_state)
    return over_folds(predictions, predictions, calibrator, of, of, progress or silent)


def plain_folds(predictions: Predictions, folds: int, random_state: int = SEED) -> Codes:
    """Random folds that do not look at labels, (n,) codes 0..folds-1: seeded, of one size, groups kept whole.

    Gains are tested on these, not on ``Predictions.folds``. Folds that hold every label alike repeat the sampling error
    of the class frequencies that the maps were fitted to on the other folds, so that an offset fitted to noise looks
    like a gain. What can mislead: with few rows of a class a fold's other rows can lack it.

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
    calibrator: object,
    of_fit: Codes,
    of_test: Codes,
    progress: Progress = silent,
) -> Predictions:
    """The test rows, each after a calibrator fitted on the fit rows of other folds; the folds of both are given."""
    ready = as_calibrator(calibrator)
    parts, places, folds = [], [], Pieces(progress, len(np.unique(of_test)))

    def at_work(_: int) -> None:
        folds(0)  # a fit and its use know their own shares, not those of the fold

    for fold, rows in _each(of_test):
        others = np.flatnonzero(of_fit != fold)
        if not len(others):
            raise InputError(f"all rows to fit on are in fold {fold + 1}: no row is left to fit on")
        fresh: Calibrator = clone(ready)
        parts.append(fresh.fit_on(fit.take(others), at_work).apply(test.take(rows), at_work))
        places.append(rows)
        folds.next()
    return test.with_parts(parts, places, note_of(len(np.unique(of_fit)), test))


def note_of(folds: int, rows: Predictions) -> str:
    """What predictions say that were cross-fitted."""
    return f"{in_folds(folds, rows)}: every row is judged after a map fitted on the other folds"


def in_folds(folds: int, rows: Predictions) -> str:
    """How rows were divided that are cross-fitted, for the middle of a sentence."""
    kept = "" if rows.row_groups is None else f", each group{rows.row_groups.kind} in one fold"
    return f"cross-fitted in {folds} folds, class by class{kept}"


def in_random_folds(folds: int, rows: Predictions) -> str:
    """The same of ``plain_folds``."""
    return in_folds(folds, rows).replace("folds, class by class", "random folds")


def _each(folds: Codes) -> Iterator[tuple[int, Codes]]:
    for fold in np.unique(folds):
        yield int(fold), np.flatnonzero(folds == fold)
