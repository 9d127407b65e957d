"""Whether two models' predictions speak of the same rows and classes."""

from __future__ import annotations

import numpy as np

from calib_core._base.errors import InputError
from calib_core.predictions.predictions import Predictions


def check_same_rows(first: Predictions, second: Predictions) -> None:
    """InputError unless two models' predictions speak of the same rows: as many, of the same classes and labels.

    >>> p = Predictions([[0.7, 0.3], [0.2, 0.8]], [0, 1])
    >>> check_same_rows(p, Predictions([[0.6, 0.4], [0.2, 0.8]], [0, 0]))
    Traceback (most recent call last):
    ...
    calib_core._base.errors.InputError: row 1 has the label '1' in one file and '0' in the other: models are compared \
on the same rows in the same order
    """
    if first.n_rows != second.n_rows:
        raise InputError(
            f"one file has {first.n_rows} rows and the other {second.n_rows}: models are compared on the same rows"
        )
    if "confidence" in (first.kind, second.kind):
        return
    if first.class_names != second.class_names:
        raise InputError(
            f"the files do not have the same classes in the same order ({other_classes(first, second)}): "
            "change how one of them is read"
        )
    differ = np.flatnonzero(first.true_labels != second.true_labels)
    if len(differ):
        i, names = int(differ[0]), first.class_names or ()
        here, there = (names[model.true_labels[i]] for model in (first, second))
        raise InputError(
            f"row {i} has the label {here!r} in one file and {there!r} in the other: models are compared "
            "on the same rows in the same order"
        )


def other_classes(first: Predictions, second: Predictions) -> str:
    """How the classes of two files differ, for the middle of a sentence: by their number, or the first other name.

    >>> p = Predictions([[0.7, 0.3]], [0], class_names=["cat", "dog"])
    >>> other_classes(p, Predictions([[0.7, 0.3]], [0], class_names=["cat", "cow"]))
    "class 1 is 'dog' and 'cow'"
    """
    if first.n_classes != second.n_classes:
        return f"{first.n_classes} and {second.n_classes}"
    pairs = zip(first.class_names or (), second.class_names or (), strict=True)
    return next((f"class {c} is {a[:80]!r} and {b[:80]!r}" for c, (a, b) in enumerate(pairs) if a != b), "the same")
