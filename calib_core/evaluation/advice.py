"""Advice on a model: a calibrator for all rows, the remaining error, and the update of one column value."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from math import isfinite

from calib_core.binning.base import BinningScheme
from calib_core.defaults import LEVEL, RATIO, SIGNIFICANCE, TOLERANCE
from calib_core.evaluation.choice import CalibratorChoice, Remaining
from calib_core.evaluation.error_tests import ErrorTests
from calib_core.evaluation.remaining_error import classes_off
from calib_core.evaluation.row_losses import name_of_score
from calib_core.evaluation.update_gains import UpdateGains, update_gains, worst_column
from calib_core.inference.verdicts.estimate_line import EstimateLine
from calib_core.inference.verdicts.other_measures import other_errors_said
from calib_core.inference.verdicts.verdict import any_size
from calib_core.predictions.predictions import InputError, NotAnswerable, Predictions
from calib_core.registry.registry import Recipe
from calib_core.results.verdict_table import MISCALIBRATED
from calib_core.slices import by_column
from calib_core.text import at_level, begun, called, chance, inside, listed, short_percent, told_apart
from calib_core.text import score as written

__all__ = [
    "error_beyond_places",
    "error_tests",
    "headline",
    "held_out_slice",
    "own_update",
    "remaining",
    "sentences",
    "shown_error",
    "smaller_error",
]


def remaining(
    before: Predictions, after: Predictions, eps: float = TOLERANCE, level: float = LEVEL, ratio: float = RATIO
) -> Remaining:
    """Return the error that remains after a calibrator, on held-out rows, in the model's primary notion.

    ``before`` and ``after`` are the same rows before and after recalibration; the rest as in ``inference.primary``.

    >>> p = Predictions([[0.99, 0.01]] * 200 + [[0.01, 0.99]] * 200, ([0] * 150 + [1] * 50) * 2)
    >>> remaining(p, p).word
    'miscalibrated'
    """
    return Remaining.of(before, after, eps, level, ratio)


MOST_TRIED = 4
"""Largest number of equally good calibrators whose remaining error is computed."""


def smaller_error(choice: CalibratorChoice, left: Remaining, remaining: Callable[[Recipe], Remaining | None]) -> str:
    """Sentence on an equally good calibrator that leaves a clearly smaller error; empty if there is none, or no need.

    It is needed if the error ``left`` by the recommended calibrator is above the tolerance, or if predicted classes are
    off (``Remaining.off``). Calibrators that are equal by their score can differ in calibration error. The simplest is
    named that leaves no class off, or a clearly smaller error. Then each of the two intervals is on its own side of the
    other estimate. Each calibrator tried costs a fit, so only the ``MOST_TRIED`` simplest are.
    ``remaining`` returns the error that another calibrator leaves, None if it cannot be judged.

    >>> p = Predictions([[0.99, 0.01], [0.01, 0.99]] * 100, [0, 1, 0, 1, 0, 1, 0, 0] * 25)
    >>> from calib_core.evaluation.choice import choose
    >>> found = choose(p, ["temperature"])
    >>> smaller_error(found, found.remaining(p), lambda recipe: None)
    ''
    """
    mine = left.line.line
    large = left.word == MISCALIBRATED and mine.low is not None
    if not large and not left.off:
        return ""
    order = dict(zip(choice.recipes, choice.order, strict=True))
    for recipe in sorted(set(choice.equals) - {choice.recipe}, key=order.__getitem__)[:MOST_TRIED]:
        if (other := remaining(recipe)) is None:
            continue
        leaves = []
        if large and _below(line := other.line.line, mine):
            ends = f"{at_level(line.level)} interval {line.interval}"
            leaves.append(f"an error estimated at {line.written(line.point)} ({ends})")
        if left.off and not other.off:
            leaves.append("no such class")
        if leaves:
            name = name_of_score(choice.score)
            title = begun(inside(recipe.title))
            return f"{title}, about equally good by {name}, leaves {listed(leaves)}.{choice.too_few_to_fit(recipe)}"
    return ""


def _below(line: EstimateLine, other: EstimateLine) -> bool:
    """True if a line's interval is below the other's estimate, and the other's interval above the line's estimate."""
    ends = line.point, line.high, other.point, other.low
    if any(end is None for end in ends):
        return False
    return bool(line.high < other.point and line.point < other.low)  # type: ignore[operator]


def own_update(
    predictions: Predictions, progress: Callable[[int], object] | None = None, level: float = LEVEL
) -> UpdateGains | None:
    """Return the gains of updating the risk for one column value, compared with an update for all rows; else None.

    The column is found among all (``updates.worst_column``); of rows without an event, or without columns, there is
    none. ``level`` is that of the gains' intervals. What can mislead: as with ``updates.update_gains``; the gain of an
    update for a searched column is slightly too large.

    >>> own_update(Predictions([[0.7, 0.3]] * 20, [0, 1] * 10)) is None
    True
    """
    try:
        column = worst_column(predictions)
        found = None if column is None else update_gains(predictions, column, level=level, progress=progress)
    except (InputError, NotAnswerable):
        return None  # for example, fewer rows than folds
    return found if found is not None and found.off else None


def held_out_slice(held_out: Predictions) -> str:
    """The slice of held-out rows whose risk is off more than that of the others, in a sentence; empty where none is.

    It is the one of the largest gap among those that ``slices.by_column`` calls significantly off. What can mislead: it
    is for advice chosen on calibration rows in which no value is off (``own_update``). A calibrator that is chosen
    because of it has no rows left that judge it.

    >>> held_out_slice(Predictions([[0.7, 0.3]] * 20, [0, 1] * 10))
    ''
    """
    if held_out.metadata is None:
        return ""
    try:
        found = by_column(held_out, notion="event")
    except (InputError, NotAnswerable):
        return ""
    off = found[found["stands_out"] & found["differs"]]
    if not len(off):
        return ""
    line = off.iloc[int((off["right"] - off["claimed"]).abs().to_numpy().argmax())]
    states, happens = told_apart(float(line["claimed"]), float(line["right"]), short_percent)
    return (
        f"On the held-out rows, {line['slice']} has a significantly larger error than the other rows: {states} "
        f"predicted, {happens} observed. The calibration rows do not show this error, and this advice was chosen on "
        "them."
    )


def shown_error(
    predictions: Predictions,
    event: str = "",
    eps: float = TOLERANCE,
    ratio: float = RATIO,
    bins: int | str | BinningScheme | None = None,
    level: float = LEVEL,
) -> str:
    """Sentence on an error without a recommended calibrator; empty if no test shows one.

    It names the first of these that shows an error: mean risk, verdict (fixed in advance), calibration slope,
    Spiegelhalter's test, and primary measure. Their p-values are corrected by Holm's rule (``error_tests``). An error
    is significant if its p-value is then at most .05. Otherwise a predicted class that is significantly off is named
    (``remaining_error.classes_off``), else the tests that are significant before this correction only. Other notions
    with an error are last (``inference.other_errors``). ``event`` is the name of the event, by default its class.
    ``level`` is that of the intervals; the rest as in ``inference.primary``.

    >>> shown_error(Predictions([[0.5, 0.5]] * 100, [0] * 90 + [1] * 10))[:60]
    'The model still shows an error. The mean predicted risk of c'
    >>> shown_error(Predictions([[0.5, 0.5]] * 100, [0, 1] * 50))
    ''
    """
    rows = ErrorTests(predictions, event, eps, ratio, bins, level)
    for fact in (_gap, _verdict, _slope, _any_size, _large_error, _class_off):
        with suppress(NotAnswerable):
            if found := fact(rows):
                return f"The model still shows an error. {found}"
    with suppress(NotAnswerable):
        return " ".join(filter(None, (_before_correction(rows), _other_notions(rows))))
    return ""


def error_tests(
    predictions: Predictions,
    eps: float = TOLERANCE,
    ratio: float = RATIO,
    bins: int | str | BinningScheme | None = None,
    level: float = LEVEL,
) -> str:
    """Sentences on the tests for an error over all rows, with p-values corrected for their number (Holm).

    They are of the event's mean gap and calibration slope (``risk.in_the_large``), the primary measure's error and
    Spiegelhalter's test (``inference.primary``). A calibrated model has a significant one in at most 5 % of samples.
    ``shown_error`` names the first of these. Arguments as for ``shown_error``.

    References: Holm 1979.

    >>> error_tests(Predictions([[0.5, 0.5]] * 100, [0, 1] * 50)).partition(": ")[2]
    "mean gap p = 1, ECE of the risk p = 1, Spiegelhalter's test p = 1. None is significant after correction."
    """
    rows = ErrorTests(predictions, "", eps, ratio, bins, level)
    if not rows.corrected:
        return ""
    values = ", ".join(f"{rows.titles[test]} {chance(p)}" for test, p in rows.corrected.items())
    found = [rows.titles[test] for test in rows.corrected if rows.shows(test)]
    end = f"Significant: {', '.join(found)}." if found else f"None is significant after correction.{_alone(rows)}"
    verdict = (
        _verdict(rows) and "The verdict is by a measure fixed in advance, so it needs no correction: miscalibrated."
    )
    start = f"Tests for an error, with p-values corrected for all {len(rows.corrected)} tests: {values}."
    return " ".join(filter(None, (start, end, verdict)))


def error_beyond_places(
    predictions: Predictions,
    eps: float = TOLERANCE,
    ratio: float = RATIO,
    bins: int | str | BinningScheme | None = None,
    level: float = LEVEL,
) -> str:
    """Sentence on the first significant test for an error besides the mean gap; empty if there is none.

    It leads the findings if no place is significantly off: a slope, or small errors of many places, can be significant
    without one. Tests, correction and arguments are those of ``error_tests``.

    >>> error_beyond_places(Predictions([[0.5, 0.5]] * 100, [0, 1] * 50))
    ''
    """
    return ErrorTests(predictions, "", eps, ratio, bins, level).beyond_places


def _gap(rows: ErrorTests) -> str:
    found = rows.large
    if found is None or not rows.shows("gap"):
        return ""
    states, happens = told_apart(found.mean_predicted, found.observed, short_percent)
    return (
        f"The mean predicted risk of {called(rows.event or found.event)} is {states}, and the observed frequency is "
        f"{happens}. This gap {rows.significant('gap')}."
    )


def _verdict(rows: ErrorTests) -> str:
    first = rows.first
    return f"The verdict is {first.headline}." if first.line.verdict == MISCALIBRATED else ""


def _slope(rows: ErrorTests) -> str:
    if not rows.shows("slope"):
        return ""
    risks, value = rows.slope_words
    return f"The calibration slope is {value}: {risks}. This error {rows.significant('slope')}."


def _any_size(rows: ErrorTests) -> str:
    if not rows.shows("any size"):
        return ""
    some = "There is evidence of some error (Spiegelhalter's test, "
    return any_size(None, rows.first.shown).replace(some, "Spiegelhalter's test detects it (")


def _large_error(rows: ErrorTests) -> str:
    return rows.large_error if rows.shows("error") else ""


def _class_off(rows: ErrorTests) -> str:
    """Sentence on the predicted class with the largest significant gap above the tolerance; else empty."""
    off = classes_off(rows.predictions, rows.eps)
    return off[0].sentence() if off else ""


def _before_correction(rows: ErrorTests) -> str:
    """Sentence on tests that are significant only without correction; empty if there are none."""
    found = [f"{rows.titles[test]} ({chance(p)})" for test, p in rows.p_values.items() if p <= SIGNIFICANCE]
    if not found:
        return ""
    tests = listed([rows.titles[test] for test in rows.p_values])
    return (
        f"None of the {len(rows.p_values)} tests for an error ({tests}) is significant after correction for their "
        f"number. Without correction, {'this' if len(found) == 1 else 'these'} would be: {listed(found)}. The verdict "
        "is not corrected, because its measure was fixed in advance."
    )


def _alone(rows: ErrorTests) -> str:
    """Sentence on tests that are significant by themselves, as in tables of one of them; empty if there are none."""
    found = [f"{rows.titles[test]} ({chance(p)})" for test, p in rows.p_values.items() if p <= SIGNIFICANCE]
    return f" Without it, {listed(found)} would be." if found else ""


def _other_notions(rows: ErrorTests) -> str:
    return other_errors_said(rows.first)


def headline(choice: CalibratorChoice, error: str | None = None, update: UpdateGains | None = None) -> str:
    """Headline of the advice; "Leave the model unchanged" only if nothing shows an error.

    ``error`` is the result of ``shown_error``, None if not computed; ``update`` that of ``own_update``.
    """
    return choice.headline if choice.recalibrate or error != "" or update is not None else "Leave the model unchanged"


def sentences(
    choice: CalibratorChoice,
    left: Remaining | None = None,
    update: UpdateGains | None = None,
    error: str | None = None,
    whose: str = "",
    all_rows: str = "",
    held_out: str = "",
) -> tuple[str, ...]:
    """Return the advice in sentences, the same on every page: what to use, whether that is enough, and for which rows.

    The first has the error before and after (of ``left``), what changes, and the score. If a simpler calibrator is
    recommended, too, ``left.simpler`` is the error after it. ``update`` (``own_update``) adds the effect of one
    calibrator for all rows on the column value that is off. Without a significant gain it adds the gains of its own
    update and of one calibrator for all. ``error`` (``shown_error``) is used if nothing is recommended. ``whose`` names
    the rows of the advice if the reader looks at others, ``all_rows`` the control that judges all rows. ``held_out``
    (``held_out_slice``) is the last sentence if no value of the calibration rows is off.

    >>> p = Predictions([[0.99, 0.01], [0.01, 0.99]] * 100, [0, 1, 0, 1, 0, 1, 0, 0] * 25)
    >>> from calib_core.evaluation.choice import choose
    >>> found = choose(p, ["temperature"])
    >>> [sentence.partition(".")[0] for sentence in sentences(found, found.remaining(p))]
    ['Use temperature scaling', 'The remaining calibration error is still above the tolerance of 2 % (13 %, 90 % ...
    """
    held_out = held_out if update is None else ""
    first = f"{headline(choice, held_out or error, update)}."
    if not choice.recalibrate:
        off = _too_few_rows(choice, update, all_rows)
        effect = "" if off and choice.about == _own_recipe(choice, update) else choice.effect()
        words = " ".join(filter(None, (first, whose, effect, off)))
        return tuple(filter(None, (words, "" if off else _of_one_value(choice, update), error, held_out)))
    simpler = None if left is None else left.simpler
    effect = choice.effect("" if left is None else left.fall, "" if simpler is None else simpler.change)
    words = " ".join(filter(None, (first, whose, effect)))
    remains = "" if left is None else choice.with_either("" if simpler is None else simpler.sentence, left.sentence)
    return tuple(filter(None, (words, _of_one_value(choice, update), remains, held_out)))


def _larger_gap(update: UpdateGains) -> str:
    return f"For {update.title}, predicted and observed frequency differ more than for the other rows"


def _own_recipe(choice: CalibratorChoice, update: UpdateGains | None) -> Recipe | None:
    """Return the candidate that updates only this value; None if there is none."""
    own = (recipe for recipe in choice.recipes if update and dict(recipe.params).get("only") == update.value)
    return next(own, None)


def _too_few_rows(choice: CalibratorChoice, update: UpdateGains | None, all_rows: str) -> str:
    """Sentence on a value that is off without a significant gain of its own update: both gains."""
    own = _own_recipe(choice, update)
    if own is None or update is None:
        return ""
    mine = _gain(choice, own)
    if not mine:
        return ""
    common = next(
        (_gain(choice, recipe) for recipe in choice.recipes if recipe == Recipe("CALIBRATORS", "intercept")), ""
    )
    for_all = f" The same update of all rows would lower it by {common}." if common else ""
    score = name_of_score(choice.score)
    rows, how = "use more rows", f" ({all_rows})" if all_rows else ""
    on_rows = "on the calibration rows, " if choice.held_out else ""
    if choice.held_out:
        rows += f", or evaluate all of them, cross-fitted{how}"
    return (
        f"{begun(f'{on_rows}{inside(_larger_gap(update))}')}. On {choice.judged_on}, shifting only the risk of "
        f"{update.title} (intercept update) would lower {score} by {mine}.{for_all} This is too little evidence of a "
        f"gain: {rows}."
    )


def _gain(choice: CalibratorChoice, recipe: Recipe) -> str:
    """Return the gain of a candidate with its interval; empty if it has none.

    If the interval is above 0, the reason why the gain is not significant follows: one of many tried, or not chosen.
    """
    line = choice.table.iloc[choice.recipes.index(recipe)]
    gain, low, high = (float(line[name]) for name in ("gain", "low", "high"))
    if not all(map(isfinite, (gain, low, high))):
        return ""
    why = ""
    if low > 0 and line["p_holm"] > SIGNIFICANCE:
        why = (
            f"; not significant, as {chance(line['p_holm'])} after correction for {len(choice.recipes) - 1} calibrators"
        )
    elif low > 0 and choice.held_out:
        why = "; not shown on the calibration rows, which choose the calibrator"
    return f"{written(gain)} ({at_level(choice.level)} interval {written(low)} to {written(high)}{why})"


def _of_one_value(choice: CalibratorChoice, update: UpdateGains | None) -> str:
    """Sentence on a column value with a larger gap than the others, with the table's numbers if it has them."""
    if update is None:
        return ""
    contrast = update.contrast("the calibration rows" if choice.held_out else "")
    if dict(choice.recipe.params).get("only") == update.value:
        return contrast
    for recipe, (_, line) in zip(choice.recipes, choice.table.iterrows(), strict=True):
        if dict(recipe.params).get("only") == update.value:
            gain, low, high = (float(line[name]) for name in ("gain", "low", "high"))
            if low != low or recipe == choice.simple:  # whose gain is part of the advice
                return f"{_larger_gap(update)}. {contrast}"
            if low <= 0:
                return ""  # an interval that includes 0 is no evidence that its own update helps
            ends = f"{at_level(choice.level)} interval {written(low)} to {written(high)}"
            return (
                f"{_larger_gap(update)}. Shifting only its risk (intercept update) lowers "
                f"{name_of_score(choice.score)} by {written(gain)} ({ends}). {contrast}"
            )
    return update.sentence
