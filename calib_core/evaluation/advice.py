"""What to do about a model: the map for all rows, what remains after it, and the update of one value of a column."""

from __future__ import annotations

from collections.abc import Callable

from calib_core import risk
from calib_core.defaults import LEVEL, RATIO, TOLERANCE
from calib_core.evaluation.choice import CalibratorChoice, Remaining
from calib_core.evaluation.update_gains import UpdateGains, update_gains, worst_column
from calib_core.inference.verdicts.primary_measure import primary
from calib_core.predictions.predictions import InputError, NotAnswerable, Predictions
from calib_core.text import at_level, called, short_percent, told_apart
from calib_core.text import score as written

__all__ = ["headline", "own_update", "remaining", "sentences", "shown_gap"]


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
    return Remaining(primary(after, eps, level, beside=first, ratio=ratio), first)


def own_update(
    predictions: Predictions, progress: Callable[[int], object] | None = None, level: float = LEVEL
) -> UpdateGains | None:
    """Gains of updating the one value of a column whose risk is off, beside an update for all; None where none is.

    The column is found among all (``updates.worst_column``); of rows without an event, or without columns, there is
    none. ``level`` is that of the gains' intervals. What can mislead: as with ``updates.update_gains``; a column that
    was looked for flatters its own update.

    >>> own_update(Predictions([[0.7, 0.3]] * 20, [0, 1] * 10)) is None
    True
    """
    if predictions.grain == "counts" or predictions.event is None or predictions.metadata is None:
        return None
    try:
        column = worst_column(predictions)
        found = None if column is None else update_gains(predictions, column, level=level, progress=progress)
    except (InputError, NotAnswerable):
        return None  # as where there are fewer rows than folds
    return found if found is not None and found.off else None


def shown_gap(predictions: Predictions, event: str = "") -> str:
    """What has to be said where no calibrator is advised although the event's mean risk is shown to be off; else empty.

    ``event`` is what the event is called; by default its class.

    >>> shown_gap(Predictions([[0.5, 0.5]] * 100, [0] * 90 + [1] * 10))[:53]
    'That does not show that the model is calibrated: the '
    """
    if predictions.grain == "counts" or predictions.event is None or predictions.kind != "full":
        return ""
    try:
        found = risk.in_the_large(predictions)
    except NotAnswerable:
        return ""
    if not found.differs:
        return ""
    states, happens = told_apart(found.mean_predicted, found.observed, short_percent)
    return (
        f"That does not show that the model is calibrated: the mean predicted risk of {called(event or found.event)} "
        f"is {states}, and the observed frequency is {happens}. This gap is shown."
    )


def headline(choice: CalibratorChoice, gap: str = "") -> str:
    """What to do, in a few words; ``gap`` is ``shown_gap``'s."""
    return "No calibrator is shown to help" if gap and not choice.recalibrate else choice.headline


def sentences(
    choice: CalibratorChoice,
    left: Remaining | None = None,
    update: UpdateGains | None = None,
    gap: str = "",
    whose: str = "",
) -> tuple[str, ...]:
    """The advice in sentences, the same wherever it is given: what to use, whether that is enough, and for whom.

    The first has the error before and after (of ``left``), what changes, and the score. ``update`` (``own_update``)
    adds what one map for all would do to the value of a column that is off; ``gap`` (``shown_gap``) is used where
    nothing is recommended. ``whose`` says of which rows the advice is, where the reader looks at others.

    >>> p = Predictions([[0.99, 0.01], [0.01, 0.99]] * 100, [0, 1, 0, 1, 0, 1, 0, 0] * 25)
    >>> from calib_core.evaluation.choice import choose
    >>> found = choose(p, ["temperature"])
    >>> [sentence.partition(".")[0] for sentence in sentences(found, found.remaining(p))]
    ['Use temperature scaling', 'The remaining calibration error is still above the tolerance of 2 % (13 %, 90 % ...
    """
    error = left.error if choice.recalibrate and left is not None else ""
    first = " ".join(filter(None, (f"{headline(choice, gap)}.", whose, choice.effect(error))))
    then = left.sentence if choice.recalibrate and left is not None else ""
    return tuple(filter(None, (first, then, _of_one_value(choice, update), "" if choice.recalibrate else gap)))


def _of_one_value(choice: CalibratorChoice, update: UpdateGains | None) -> str:
    """Whose risk is off more than that of the others, by the numbers of the table where its own update is in it."""
    if update is None:
        return ""
    contrast = update.contrast("the calibration rows" if choice.held_out else "")
    if dict(choice.recipe.params).get("only") == update.value:
        return contrast
    for recipe, (_, line) in zip(choice.recipes, choice.table.iterrows(), strict=True):
        if dict(recipe.params).get("only") == update.value:
            gain, low, high = (float(line[name]) for name in ("gain", "low", "high"))
            if low != low:
                return f"{update.title} is off more than the other rows. {contrast}"
            if low <= 0:
                return ""  # what includes 0 is no evidence that its own update helps
            ends = f"{at_level(choice.level)} interval {written(low)} to {written(high)}"
            return (
                f"{update.title} is off more than the other rows: updating its intercept alone gains {written(gain)} "
                f"({ends}). {contrast}"
            )
    return update.sentence
