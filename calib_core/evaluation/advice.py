"""What to do about a model: the map for all rows, what remains after it, and the update of one value of a column."""

from __future__ import annotations

from collections.abc import Callable

from calib_core.defaults import LEVEL, RATIO, TOLERANCE
from calib_core.evaluation.choice import Choice, Remaining
from calib_core.evaluation.update_gains import UpdateGains, update_gains, worst_column
from calib_core.inference.verdicts.primary_measure import primary
from calib_core.predictions.predictions import InputError, NotAnswerable, Predictions

__all__ = ["own_update", "remaining", "sentences"]


def remaining(
    before: Predictions, after: Predictions, eps: float = TOLERANCE, level: float = LEVEL, ratio: float = RATIO
) -> Remaining:
    """The error that remains after a calibrator, on rows it was not fitted on, in the notion the model is judged in.

    ``before`` and ``after`` are the same rows before and after recalibration; the rest as in ``inference.primary``.

    >>> p = Predictions([[0.99, 0.01]] * 200 + [[0.01, 0.99]] * 200, ([0] * 150 + [1] * 50) * 2)
    >>> remaining(p, p).word
    'miscalibrated'
    """
    first = primary(before, eps, level, ratio=ratio)
    return Remaining(primary(after, eps, level, beside=first, ratio=ratio))


def own_update(predictions: Predictions, progress: Callable[[int], object] | None = None) -> UpdateGains | None:
    """Gains of updating the one value of a column whose risk is off, beside an update for all; None where none is.

    The column is found among all (``updates.worst_column``); of rows without an event, or without columns, there is
    none. What can mislead: as with ``updates.update_gains``; a column that was looked for flatters its own update.

    >>> own_update(Predictions([[0.7, 0.3]] * 20, [0, 1] * 10)) is None
    True
    """
    if predictions.grain == "counts" or predictions.event is None or predictions.metadata is None:
        return None
    try:
        column = worst_column(predictions)
        found = None if column is None else update_gains(predictions, column, progress=progress)
    except (InputError, NotAnswerable):
        return None  # as where there are fewer rows than folds
    return found if found is not None and found.off else None


def sentences(choice: Choice, left: Remaining | None = None, update: UpdateGains | None = None) -> tuple[str, ...]:
    """The advice in sentences: what to use, whether that is enough, and whose own update stands beside it.

    >>> p = Predictions([[0.99, 0.01], [0.01, 0.99]] * 100, [0, 1, 0, 1, 0, 1, 0, 0] * 25)
    >>> from calib_core.evaluation.choice import choose
    >>> found = choose(p, ["temperature"])
    >>> [sentence.partition(":")[0] for sentence in sentences(found, found.remaining(p))]
    ['Use temperature scaling', 'The remaining calibration error is still above the tolerance of 2 % (13 %, 90 % ...
    """
    then = left.sentence if choice.recalibrate and left is not None else ""
    return tuple(filter(None, (choice.sentence, then, "" if update is None else update.sentence)))
