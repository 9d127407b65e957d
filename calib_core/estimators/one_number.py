"""The numbers people ask for by name, from labels and probabilities, in the order of arguments of scikit-learn."""

from __future__ import annotations

from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from calib_core._base.errors import InputError
from calib_core.defaults import BINS
from calib_core.estimators.base import estimate
from calib_core.estimators.default_notion import notion_looked_at
from calib_core.predictions.predictions import Predictions

__all__ = ["brier_score", "class_wise_ece", "ece", "log_loss", "mce"]

Notion = Literal["event", "confidence", "top-label"]


def ece(y_true: ArrayLike, y_prob: ArrayLike, *, bins: int = BINS, notion: Notion | None = None) -> float:
    """Expected calibration error, the plain one of papers: ECE = sum over bins b of n_b / n |y_b - p_b|.

    n_b of the n rows have their score in bin b of equal width; p_b is their mean score, y_b how often they came true.

    Parameters
    ----------
    y_true : (n,) labels: numbers or names.
    y_prob : (n,) risks of the second class in sorted order (of 1 among 0 and 1), which is then the event, or (n, K)
        probabilities, a column for each class in sorted order. A DataFrame's columns name them, and its event is the
        one that ``Predictions`` finds by name.
    bins : number of bins of equal width.
    notion : "event" (the risk of one of two classes), "confidence" (of the predicted class) or "top-label" (the
        same class by class). By default "event" for two classes, "confidence" for more.

    What can mislead: a calibrated model does not have an ECE of 0: it grows with bins and falls with rows. For an
    interval, what chance alone shows and a verdict: ``estimate(Predictions(...)).interval()``, ``.noise_floor``,
    ``.verdict()``.

    References: Naeini, Cooper & Hauskrecht 2015; Guo et al. 2017, eq. 3.

    >>> round(ece([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8], bins=2), 4)  # 3/4 |1/3 - .283| + 1/4 |1 - .8|
    0.0875
    >>> round(ece(["cat", "dog"], [[0.9, 0.1], [0.6, 0.4]]), 3)
    0.35
    """
    return _in_bins(y_true, y_prob, "ece", bins, notion)


def mce(y_true: ArrayLike, y_prob: ArrayLike, *, bins: int = BINS, notion: Notion | None = None) -> float:
    """Maximum calibration error: the largest |y_b - p_b| of any bin b that holds a row; arguments as of ``ece``.

    What can mislead: one bin of one row decides it. Its interval and floor (``estimate(..., estimator="mce")``) say so.

    References: Naeini, Cooper & Hauskrecht 2015.

    >>> round(mce([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8], bins=2), 3)
    0.2
    """
    return _in_bins(y_true, y_prob, "mce", bins, notion)


def class_wise_ece(y_true: ArrayLike, y_prob: ArrayLike, *, bins: int = BINS) -> float:
    """Class-wise ECE: the mean over classes of the ECE of "this row is of the class"; arguments as of ``ece``.

    What can mislead: with many classes most scores are near 0, and the number is small whatever the model.

    References: Nixon et al. 2019; Kull et al. 2019, eq. 4.

    >>> round(class_wise_ece([0, 1], [[0.9, 0.1], [0.2, 0.8]]), 3)
    0.15
    """
    return estimate(_predictions(y_true, y_prob), "class-wise", "ece", bins).value


def brier_score(y_true: ArrayLike, y_prob: ArrayLike) -> float:
    """Brier score: mean of (p - y)^2 of the risk of two classes; of more the sum of it over a row's classes, averaged.

    Between 0 and 1 for two classes (as scikit-learn's), between 0 and 2 for more. Arguments as of ``ece``.

    References: Brier 1950.

    >>> round(brier_score([0, 1], [0.1, 0.8]), 3)  # (.1^2 + .2^2) / 2
    0.025
    """
    predictions = _predictions(y_true, y_prob)
    return estimate(predictions, "event" if predictions.n_classes == 2 else None, "brier").value


def log_loss(y_true: ArrayLike, y_prob: ArrayLike) -> float:
    """Log loss: mean of -ln of the probability of the class that came true, in nats; arguments as of ``ece``.

    Probabilities of exactly 0 that came true count as 2^-52, with a warning.

    >>> round(log_loss([0, 1], [0.1, 0.8]), 4)  # -(ln .9 + ln .8) / 2
    0.1643
    """
    return estimate(_predictions(y_true, y_prob), None, "log-loss").value


def _in_bins(y_true: ArrayLike, y_prob: ArrayLike, key: str, bins: int, notion: Notion | None) -> float:
    predictions = _predictions(y_true, y_prob)
    return estimate(predictions, notion or notion_looked_at(predictions), key, bins).value


def _predictions(y_true: ArrayLike, y_prob: ArrayLike) -> Predictions:
    """Labels and probabilities as they come from scikit-learn; the event is the second of two classes."""
    if isinstance(y_prob, pd.DataFrame) and y_prob.shape[1] > 1:
        named = Predictions(y_prob, y_true)
        return named if named.event is not None else _of_two(named)
    table = np.asarray(y_prob)
    if table.ndim == 1 or table.shape[1] == 1:
        risk = table.reshape(-1)
        if risk.dtype.kind not in "fiub" or not ((risk >= 0) & (risk <= 1)).all():
            raise InputError("y_prob has one column, which must hold risks from 0 to 1 of the second class")
        table = np.column_stack([1.0 - risk, risk])
    labels = np.asarray(y_true)
    names = list(np.unique(labels[:, 0] if labels.ndim == 2 and labels.shape[1] == 1 else labels))
    whole = labels.dtype.kind in "iub"
    if whole and min(names) >= 0 and max(names) < table.shape[1]:
        return _of_two(Predictions(table, labels.astype(np.intp)))
    if len(names) != table.shape[1]:
        raise InputError(
            f"y_true holds {len(names):,} different labels and y_prob {table.shape[1]:,} classes: name the classes by "
            "a DataFrame's columns, or make cc.Predictions(probs, labels, class_names=...)"
        )
    return _of_two(Predictions(table, labels.astype(str), class_names=[str(name) for name in names]))


def _of_two(predictions: Predictions) -> Predictions:
    return predictions.with_event(1) if predictions.n_classes == 2 else predictions
