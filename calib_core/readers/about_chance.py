"""Findings about labels that go with their rows no better than shuffled ones would."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from calib_core._text import percent
from calib_core.readers.finding import Finding
from calib_core.readers.subject import Subject
from calib_core.readers.table import Array

_FEWEST_ROWS = 50
"""Rows below which labels that seem shuffled are no evidence of anything."""
CHANCE, _SURE = 2.0, 5.0
"""Standard deviations of shuffled labels: up to the first scores say nothing about labels, from the second much."""
_BLOCK_VALUES = 1 << 18


def no_better_than_chance(subject: Subject) -> Iterator[Finding]:
    """Labels that scores say nothing about: shifted by a row, shuffled, or of other rows."""
    codes = subject.labels.codes
    scores = subject.scores
    if scores.shape[1] == 1:
        scores = np.column_stack([np.zeros_like(scores), scores])
    known = codes >= 0
    if known.sum() < _FEWEST_ROWS or (found := association(scores, codes)) is None or found >= CHANCE:
        return
    predicted, truth = subject.predicted[known], codes[known]
    by_chance = float(np.bincount(predicted, minlength=subject.k) @ np.bincount(truth, minlength=subject.k))
    sentence = (
        f"Accuracy is {percent(subject.accuracy(codes))}, and labels shuffled over the rows would give "
        f"{percent(by_chance / len(truth) ** 2)}: the scores say nothing about the labels. "
    )
    for shift, where in ((-1, "below"), (1, "above")):
        moved = np.roll(codes, shift)
        if (association(scores, moved) or 0.0) > _SURE:
            sentence += (
                f"With the label of the row {where} it would be {percent(subject.accuracy(moved))}: labels are shifted "
                "by a row; put them beside their rows and save the file again."
            )
            break
    else:
        sentence += "Are labels in the order of another file? Join scores and labels by an id of the rows."
    yield Finding("warning", "chance", sentence)


def association(scores: Array, codes: NDArray[np.int64]) -> float | None:
    """How far scores go with labels, in standard deviations of labels shuffled over the rows; None where they are flat.

    The sum over rows of the score of the true class, T = sum_i s[i, y_i], less its mean over all orders of the labels,
    over its standard deviation there (Hoeffding 1951, Theorem 2). Rows without a label or with an infinite score are
    left out.

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
