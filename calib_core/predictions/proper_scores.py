"""Proper scores of predictions: log loss, Brier score, accuracy."""

from __future__ import annotations

import numpy as np

from calib_core._base.arrays import LOG_FLOOR, Float64s, safe_log
from calib_core.predictions.predictions import NotAnswerable, Predictions
from calib_core.text import count

FLOOR_LOSS = f"{-np.log(LOG_FLOOR):.0f}"
"""Log loss of a row at the floor, as text."""
CAPPED = f"capped at {FLOOR_LOSS} (-ln 2^{np.log2(LOG_FLOOR):.0f})"
"""Largest log loss of a row, for a sentence."""


def log_losses(predictions: Predictions) -> Float64s:
    """Negative log probability of the true class for every row, with probabilities raised to LOG_FLOOR.

    NotAnswerable for rows that are not probability distributions.
    """
    return -safe_log(_true_class_probs(predictions))


def floored_rows(predictions: Predictions) -> int:
    """Number of rows that give the true class less than LOG_FLOOR, so that the floor determines their log loss."""
    return int((_true_class_probs(predictions) < LOG_FLOOR).sum())


def floored_words(number: int, rows: int, *, bare: bool = False) -> str:
    """Clause on ``number`` of ``rows`` whose log loss is the floor's; ``bare`` rows have only a confidence.

    >>> floored_words(38, 899)
    'in 38 of 899 rows the model gives the true class a probability of 0, or nearly 0'

    >>> floored_words(5, 600, bare=True)
    'in 5 of 600 rows the model is wrong at a confidence of (nearly) 100 %, or right at (nearly) 0 %'
    """
    of_rows = f"{count(number)} of {count(rows)} {'row' if rows == 1 else 'rows'}"
    if bare:
        return f"in {of_rows} the model is wrong at a confidence of (nearly) 100 %, or right at (nearly) 0 %"
    return f"in {of_rows} the model gives the true class a probability of 0, or nearly 0"


def floored_note(predictions: Predictions, *, bare: bool = False) -> str:
    """Clause on the rows whose log loss is the floor's, and on the floor; empty without such rows.

    >>> floored_note(Predictions([[1.0, 0.0], [0.5, 0.5]], [1, 0]))[:60]
    'in 1 of 2 rows the model gives the true class a probability '
    """
    if predictions.grain == "counts" or not (number := floored_rows(predictions)):
        return ""
    return f"{floored_words(number, predictions.n_rows, bare=bare)}; the log loss of such a row is {CAPPED}"


def brier_scores(predictions: Predictions) -> Float64s:
    """Squared distance of each row from its one-hot label, summed over classes: 0 to 2 for distributions.

    sum_l (p_l - 1{y = l})^2 = sum_l p_l^2 - 2 p_y + 1.
    """
    squares = np.empty(predictions.n_rows)
    for where, block in predictions.rows.blocks():
        wide = block.astype(np.float64)
        squares[where] = np.einsum("ij,ij->i", wide, wide)
    return np.asarray(squares - 2.0 * label_probs(predictions) + 1.0)


def mean(values: Float64s, predictions: Predictions) -> float:
    """Mean over rows, weighted if the predictions are."""
    return float(np.average(values, weights=predictions.weights))


def _true_class_probs(predictions: Predictions) -> Float64s:
    if predictions.kind == "per-class":
        raise NotAnswerable(
            "log loss is not defined here, because these rows have one probability per class and need not sum to 1. "
            "Use a normalized calibrator"
        )
    return label_probs(predictions)


def label_probs(predictions: Predictions) -> Float64s:
    """Probability of the true class in each row, without a floor."""
    rows, labels = predictions.rows, predictions.true_labels
    line = np.arange(len(labels)) if rows.index is None else rows.index
    return np.asarray(rows.base[line, labels], dtype=np.float64)
