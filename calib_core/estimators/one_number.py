"""The numbers people ask for by name, from labels and probabilities, in the order of arguments of scikit-learn."""

from __future__ import annotations

import warnings
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from calib_core._base.arrays import LOG_FLOOR
from calib_core._base.errors import InputError
from calib_core._base.pandas_input import check_same_index, plain
from calib_core.defaults import BINS
from calib_core.estimators.base import estimate, notion_looked_at
from calib_core.predictions.predictions import Predictions
from calib_core.predictions.proper_scores import floored_rows
from calib_core.predictions.validation import RESCALED
from calib_core.text import begun

__all__ = ["brier_score", "class_wise_ece", "ece", "log_loss", "mce"]

Notion = Literal["event", "confidence", "top-label"]


def ece(y_true: ArrayLike, y_prob: ArrayLike, *, bins: int = BINS, notion: Notion | None = None) -> float:
    """Expected calibration error, the plain one of papers: ECE = sum over bins b of n_b / n |y_b - p_b|.

    n_b of the n rows have their score in bin b of equal width; p_b is their mean score, and y_b the observed frequency.

    Parameters
    ----------
    y_true : (n,) labels: names, or whole numbers. Whole numbers from 0 to K - 1 are codes: the places of the columns.
        Others are names if there are K different ones, the smallest of which names the first column (1 to K, say).
        Labels that fit neither are refused: 1 to K with a class that has no row. Labels from 1 to K - 1 are
        read as codes even if class 0 never occurs. For three or more classes there is then a warning, because they
        could also have been counted from 1.
    y_prob : (n,) risks of the second class in sorted order (of 1 among 0 and 1), which is then the event. Or (n, K)
        probabilities, one column for each class in sorted order. A DataFrame's columns name them, and its event is the
        one that ``Predictions`` finds by name. Pandas objects whose indexes differ are refused.
    bins : number of bins of equal width.
    notion : "event" (the risk of one of two classes), "confidence" (of the predicted class) or "top-label" (the
        same class by class). By default "event" for two classes, "confidence" for more.

    What can mislead: a calibrated model does not have an ECE of 0: it grows with bins and falls with rows. For an
    interval, the noise floor and a verdict: ``estimate(Predictions(...)).interval()``, ``.noise_floor``,
    ``.verdict()``.

    References: Naeini, Cooper & Hauskrecht 2015; Guo et al. 2017, eq. 3.

    >>> round(ece([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8], bins=2), 4)  # 3/4 |1/3 - .283| + 1/4 |1 - .8|
    0.0875
    >>> round(ece(["cat", "dog"], [[0.9, 0.1], [0.6, 0.4]]), 3)
    0.35
    """
    return _in_bins(y_true, y_prob, "ece", bins, notion)


def mce(y_true: ArrayLike, y_prob: ArrayLike, *, bins: int = BINS, notion: Notion | None = None) -> float:
    """Maximum calibration error: the largest |y_b - p_b| of any bin b that contains a row.

    Parameters as of ``ece``.

    What can mislead: one bin of one row decides it. Its interval and floor (``estimate(..., estimator="mce")``) show
    this.

    References: Naeini, Cooper & Hauskrecht 2015.

    >>> round(mce([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8], bins=2), 3)
    0.2
    """
    return _in_bins(y_true, y_prob, "mce", bins, notion)


def class_wise_ece(y_true: ArrayLike, y_prob: ArrayLike, *, bins: int = BINS) -> float:
    """Class-wise ECE: the mean over classes of the ECE of "this row is of the class".

    ``y_true``, ``y_prob`` and ``bins`` as of ``ece``; there is no ``notion``.

    What can mislead: with many classes most scores are near 0, and the number is small whatever the model.

    References: Nixon et al. 2019; Kull et al. 2019, eq. 4.

    >>> round(class_wise_ece([0, 1], [[0.9, 0.1], [0.2, 0.8]]), 3)
    0.15
    """
    return estimate(_predictions(y_true, y_prob), "class-wise", "ece", bins).value


def brier_score(y_true: ArrayLike, y_prob: ArrayLike) -> float:
    """Brier score: mean of (p - y)^2 of the risk of two classes; of more the sum of it over a row's classes, averaged.

    Between 0 and 1 for two classes (as scikit-learn's), between 0 and 2 for more. ``y_true`` and ``y_prob``
    as of ``ece``; there are no ``bins`` and no ``notion``.

    References: Brier 1950.

    >>> round(brier_score([0, 1], [0.1, 0.8]), 3)  # (.1^2 + .2^2) / 2
    0.025
    """
    predictions = _predictions(y_true, y_prob)
    return estimate(predictions, "event" if predictions.n_classes == 2 else None, "brier").value


def log_loss(y_true: ArrayLike, y_prob: ArrayLike) -> float:
    """Log loss: mean of -ln of the probability of the class that came true, in nats.

    ``y_true`` and ``y_prob`` as of ``ece``; there are no ``bins`` and no ``notion``. Probabilities below 2^-52 that
    came true, 0 among them, count as 2^-52: a UserWarning counts the rows. ``estimate`` counts them so without one.

    >>> round(log_loss([0, 1], [0.1, 0.8]), 4)  # -(ln .9 + ln .8) / 2
    0.1643
    """
    predictions = _predictions(y_true, y_prob)
    if number := floored_rows(predictions):
        warnings.warn(
            f"In {number:,} of {predictions.n_rows:,} rows the true class has a probability of 0, or below 2^-52 "
            f"(about {LOG_FLOOR:.2g}). It is clipped to 2^-52, because the log loss could otherwise be infinite",
            UserWarning,
            stacklevel=2,
        )
    return estimate(predictions, None, "log-loss").value


def _in_bins(y_true: ArrayLike, y_prob: ArrayLike, key: str, bins: int, notion: Notion | None) -> float:
    predictions = _predictions(y_true, y_prob)
    return estimate(predictions, notion or notion_looked_at(predictions), key, bins).value


def _predictions(y_true: ArrayLike, y_prob: ArrayLike) -> Predictions:
    """Labels and probabilities as they come from scikit-learn; the event is the second of two classes."""
    check_same_index(y_true=y_true, y_prob=y_prob)
    labels, table = _labels(y_true), _probabilities(y_prob)
    if len(labels) != len(table):
        raise InputError(f"y_true has {len(labels):,} rows and y_prob {len(table):,}; give one label per row of y_prob")
    if isinstance(y_prob, pd.DataFrame) and y_prob.shape[1] > 1:
        named = Predictions(y_prob, labels)
        return named if named.event is not None else _of_two(named)
    if table.shape[1] == 1:
        table = np.column_stack([1.0 - table, table])
    if labels.dtype.kind in "iub":
        return _of_two(_of_numbers(labels, table))
    return _of_two(_of_names(labels, table))


def _of_numbers(labels: NDArray[Any], table: NDArray[Any]) -> Predictions:
    """Whole numbers are codes of columns where they can be, else names if each class has one."""
    values, classes = np.unique(labels), table.shape[1]
    if values[0] >= 0 and values[-1] < classes:
        if classes > 2 and np.array_equal(values, np.arange(1, classes)):
            warnings.warn(
                f"y_true contains 1 to {classes - 1} and is read as codes: class 0 of {classes} has no row. If your "
                "labels count from 1, subtract 1",
                UserWarning,
                stacklevel=4,
            )
        return Predictions(table, labels.astype(np.intp))
    return _of_names(labels, table)


def _of_names(labels: NDArray[Any], table: NDArray[Any]) -> Predictions:
    """Labels as names of the columns, in sorted order: each class must have a row."""
    names, classes = np.unique(labels), table.shape[1]
    if len(names) != classes:
        from_one = labels.dtype.kind in "iu" and names[0] >= 1 and names[-1] == classes
        remedy = "if your labels count from 1, subtract 1; otherwise " if from_one else ""
        row = int((labels == names[-1]).argmax())
        raise InputError(
            f"y_true contains {len(names):,} different labels and y_prob {classes:,} classes (row {row} is "
            f"{str(names[-1])[:80]!r}). {begun(remedy + 'name')} the classes by a DataFrame's columns, or use "
            "cc.Predictions(probs, labels, class_names=...)"
        )
    return Predictions(table, labels.astype(str), class_names=[str(name) for name in names])


def _labels(y_true: ArrayLike) -> NDArray[Any]:
    """One label per row: whole numbers, or text."""
    labels = plain(y_true)
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
    if labels.ndim == 0 or not len(labels):
        raise InputError("y_true has no rows; give one label per row of y_prob")
    if labels.ndim > 1:
        inside = labels.dtype.kind in "iub" or (labels.dtype.kind == "f" and np.isin(labels, (0, 1)).all())
        remedy = (
            "if it is one-hot, give y_true.argmax(axis=1)"
            if inside
            else "labels come first: call it with (y_true, y_prob)"
        )
        raise InputError(
            f"y_true has {labels[0].size} values in row 0, {_shown(labels[0])}; one label is needed: {remedy}"
        )
    missing = np.asarray(pd.isna(labels))
    if missing.any():
        row = int(missing.argmax())
        raise InputError(f"y_true row {row} is {labels[row]}: a label is missing; give one, or leave the row out")
    if labels.dtype.kind == "O":
        labels = plain(pd.Series(labels).infer_objects())
    if labels.dtype.kind == "f":
        broken = labels != np.floor(labels)
        if broken.any():
            row = int(broken.argmax())
            raise InputError(
                f"y_true row {row} is {labels[row]}, which is no label; "
                "labels come first: call it with (y_true, y_prob)"
            )
        return labels.astype(np.int64)
    return labels if labels.dtype.kind in "iub" else labels.astype(str)


def _probabilities(y_prob: ArrayLike) -> NDArray[Any]:
    """(n, 1) risks or (n, K) probabilities, each a number from 0 to 1."""
    given = plain(y_prob)
    if given.ndim not in (1, 2) or not given.size:
        raise InputError(f"y_prob has shape {given.shape}; give one risk per row, or one probability per row and class")
    table: NDArray[Any] = given.reshape(len(given), -1)
    if table.dtype.kind not in "fiub":
        values = pd.to_numeric(pd.Series(table.ravel().astype(object)), errors="coerce")
        read: NDArray[Any] = values.to_numpy(dtype=np.float64).reshape(table.shape)
        text = np.array([isinstance(value, str) for value in table.flat]).reshape(table.shape) | np.isnan(read)
        if text.any():
            place = _first(text)
            raise InputError(
                f"y_prob {_place(place, table)} is {str(table[place])[:80]!r}, which is no number: convert text by "
                "astype(float) and leave rows without a value out; labels come first: (y_true, y_prob)"
            )
        table = read
    most = 1.0 if table.shape[1] == 1 else 1.0 + RESCALED
    outside = ~((table >= 0) & (table <= most))
    if outside.any():
        place = _first(outside)
        value = float(table[place])
        raise InputError(
            f"y_prob {_place(place, table)} is {value:.6g}; y_prob must contain risks from 0 to 1: "
            f"{_remedy(table, value)}"
        )
    return table


def _remedy(table: NDArray[Any], value: float) -> str:
    """Advice about a number that is not a probability."""
    if np.isnan(value):
        return "fill the missing value in, or leave the row out"
    if table.min() >= 0 and 2.0 < table.max() <= 100.0:
        return "divide percentages by 100"
    return "give probabilities, or logits by cc.Predictions.from_logits"


def _first(wrong: NDArray[Any]) -> tuple[int, int]:
    row, column = np.argwhere(wrong)[0]
    return int(row), int(column)


def _place(place: tuple[int, int], table: NDArray[Any]) -> str:
    return f"row {place[0]}" if table.shape[1] == 1 else f"row {place[0]}, column {place[1]}"


def _shown(row: NDArray[Any]) -> str:
    return ", ".join(str(value)[:20] for value in row.ravel()[:4])


def _of_two(predictions: Predictions) -> Predictions:
    return predictions.with_event(1) if predictions.n_classes == 2 else predictions
