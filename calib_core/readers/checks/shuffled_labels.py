"""Checks of labels that match the scores no better than shuffled labels."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from calib_core.predictions.event_names import event_of, event_title
from calib_core.readers.checks.subject import Subject
from calib_core.readers.messages import quoted
from calib_core.readers.proposal.answer_words import confidences, verdicts
from calib_core.readers.table import Array
from calib_core.readers.table_findings import Finding
from calib_core.text import percent

_FEWEST_ROWS = 50
"""With fewer rows, labels that seem shuffled are no evidence."""
CHANCE, _SURE = 2.0, 5.0
"""Standard deviations under shuffled labels: below the first there is no association, above the second a clear one."""
USEFUL = 0.7
"""AUC (area under the ROC curve) of a useful model: the alternative to labels of other rows."""
_SURELY = 2.5
"""Standard deviations that the AUC must be below ``USEFUL``, so that few events cause no false alarm."""
SAYS_NOTHING = ". The scores carry no information about the labels. "
"""Separates the evidence from the suggested fix in the message."""
_BLOCK_VALUES = 1 << 18


def no_better_than_chance(subject: Subject) -> Iterator[Finding]:
    """Report labels that are unrelated to the scores: shifted by a row, shuffled, or of other rows."""
    codes = subject.labels.codes
    scores = subject.scores
    if scores.shape[1] == 1:
        scores = np.column_stack([np.zeros_like(scores), scores])
    known = codes >= 0
    if known.sum() < _FEWEST_ROWS:
        return
    predicted, truth = subject.predicted[known], codes[known]
    if scores.shape[1] == 2 or (predicted == predicted[0]).all():
        # If one class is always predicted, accuracy is uninformative; the ranking of the rows is not.
        found = _ranks_by_chance(scores, codes, subject)
    else:
        found = _hits_by_chance(scores, codes, predicted, truth, subject)
    if found is None:
        return
    sentence = f"{found}{SAYS_NOTHING}"
    for shift, where in ((-1, "below"), (1, "above")):
        moved = np.roll(codes, shift)
        if (association(scores, moved) or 0.0) > _SURE:
            sentence += (
                f"With the label of the row {where}, accuracy would be {percent(subject.accuracy(moved))}: labels are "
                "shifted by one row. Align them and save the file again."
            )
            break
    else:
        sentence += "Are labels in the order of another file? Join scores and labels by a row identifier."
    yield Finding("warning", "chance", sentence)


_REVERSED = -3.0
"""Standard deviations below an AUC of 1/2 at which a confidence ranks answers in reverse."""


def reversed_confidence(subject: Subject) -> Iterator[Finding]:
    """Report a confidence that is higher for wrong answers: an uncertainty, or marks of errors."""
    table, reading = subject.table, subject.reading
    if reading.layout != "confidence":
        return
    right, values = verdicts(table, str(reading.correct)), confidences(table, reading)[:, 0].astype(np.float64)
    known = np.isfinite(values) & np.isin(right, (0, 1))
    found = ranking(values[known], right[known] == 1)
    if known.sum() < _FEWEST_ROWS or found is None or found.chance >= _REVERSED:
        return
    yield Finding(
        "warning",
        "reversed",
        f"A right answer has a higher {quoted(str(reading.confidence))} than a wrong one in only "
        f"{percent(found.area)} of pairs. Is it an uncertainty, or does {quoted(str(reading.correct))} mark errors?",
    )


def _hits_by_chance(
    scores: Array, codes: NDArray[np.int64], predicted: NDArray[np.intp], truth: NDArray[np.int64], subject: Subject
) -> str | None:
    """Return the evidence that accuracy is no higher than with shuffled labels; None if it is higher."""
    if (found := association(scores, codes)) is None or found >= CHANCE:
        return None
    by_chance = float(np.bincount(predicted, minlength=subject.k) @ np.bincount(truth, minlength=subject.k))
    return (
        f"Accuracy is {percent(subject.accuracy(codes))}; shuffled labels would give "
        f"{percent(by_chance / len(truth) ** 2)}"
    )


def _ranks_by_chance(scores: Array, codes: NDArray[np.int64], subject: Subject) -> str | None:
    """Return the evidence that ranking by the score of one class is no better than chance; None if it is better.

    The class is the event, or else the class predicted most. A good model may rank few events by chance. So there is a
    finding only if the AUC is near that of shuffled labels and clearly below that of a useful model.
    """
    classes = subject.reading.classes
    two = len(classes) == 2 == scores.shape[1]
    most = _event(subject) if two else int(np.bincount(subject.predicted, minlength=scores.shape[1]).argmax())
    known = (codes >= 0) & np.isfinite(scores).all(axis=1)
    values = scores[known].astype(np.float64)
    # The score of a class against the others: for two classes the difference, which also serves for logits.
    margin = values[:, most] - (values[:, 1 - most] if values.shape[1] == 2 else 0.0)
    found = ranking(margin, codes[known] == most)
    if found is None or found.chance >= CHANCE or found.area + _SURELY * found.spread >= USEFUL:
        return None
    name = classes[most] if len(classes) > most else str(most)
    if two:
        name = event_title(name, subject.reading.label[0] if subject.reading.label else "")
    return (
        f"A row of class {quoted(name)} scores higher on this class than a row of another class in "
        f"{percent(found.area)} of pairs; shuffled labels would give 50 %"
    )


def _event(subject: Subject) -> int:
    """Code of the event class of two classes."""
    classes, chosen = subject.reading.classes, subject.reading.event
    return event_of(classes) if chosen is None else classes.index(chosen)


class Ranking(NamedTuple):
    """AUC, its standard deviation under shuffled labels, and its distance above 1/2 in standard deviations."""

    area: float
    spread: float
    chance: float


def ranking(scores: NDArray[np.float64], outcomes: NDArray[np.bool_]) -> Ranking | None:
    """AUC: how well scores rank the rows with the outcome above the others; None if it is undefined.

    The area is the share of pairs of one row of each kind that are in order, equal scores counting half. Its standard
    deviation over all orders of the labels takes equal scores into account (Lehmann 1975, Nonparametrics, chapter 1).

    >>> ranking(np.array([0.1, 0.2, 0.8, 0.9]), np.array([False, False, True, True])).area
    1.0
    """
    n, events = len(scores), int(outcomes.sum())
    others = n - events
    if not events or not others:
        return None
    _, place, ties = np.unique(scores, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(ties) - (ties - 1) / 2)[place]  # tied scores get the mean of their ranks
    ties = ties.astype(np.float64)
    area = (float(ranks[outcomes].sum()) - events * (events + 1) / 2) / (events * others)
    variance = (n + 1 - float((ties**3 - ties).sum()) / (n * (n - 1))) / (12 * events * others)
    if variance <= 0:
        return None
    spread = float(np.sqrt(variance))
    return Ranking(area, spread, (area - 0.5) / spread)


def association(scores: Array, codes: NDArray[np.int64]) -> float | None:
    """Association of scores and labels, in standard deviations under shuffled labels; None for constant scores.

    The sum over rows of the score of the true class is T = sum_i s[i, y_i]. Its mean over all orders of the labels is
    subtracted, and the difference divided by its standard deviation over them (Hoeffding 1951, Theorem 2). Rows without
    a label or with an infinite score are excluded.

    >>> s = np.array([[0.9, 0.1], [0.2, 0.8], [0.7, 0.3], [0.4, 0.6]])
    >>> round(association(s, np.array([0, 1, 0, 1])), 2), round(association(s, np.array([1, 0, 1, 0])), 2)
    (1.61, -1.61)
    """
    k = scores.shape[1]
    used = codes >= 0
    shares = np.bincount(codes[used], minlength=k) / max(1, used.sum())
    n, true, squares, columns = 0, 0.0, 0.0, np.zeros(k)
    step = max(1, _BLOCK_VALUES // k)
    with np.errstate(over="ignore", invalid="ignore"):
        for start in range(0, len(scores), step):
            block, labels = scores[start : start + step].astype(np.float64), codes[start : start + step]
            kept = (labels >= 0) & np.isfinite(block).all(axis=1)
            block, labels = block[kept], labels[kept]
            block -= (block @ shares)[:, None]
            n += len(block)
            true += float(block[np.arange(len(block)), labels].sum())
            squares += float(np.square(block).sum(axis=0) @ shares)
            columns += block.sum(axis=0)
        if n < 2:
            return None
        spread = squares - float(np.square(columns) @ shares) / n
        if not 1e-12 * squares < spread < np.inf:
            return None
        return true / float(np.sqrt(spread * n / (n - 1)))
