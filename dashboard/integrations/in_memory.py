"""Predictions in memory as a file that the dashboard reads back to the same bits."""

from __future__ import annotations

import io
from collections.abc import Iterable
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np

from calib_core import InputError, NotAnswerable, Predictions, Recipe
from calib_core.readers import file_bytes
from dashboard import session
from dashboard.selection import Selection, Source
from dashboard.session.reading_changes import written_changes

NAME = "predictions.npz"
_CHOICES = {each.name for kind in (Selection, Source) for each in fields(kind)} - {"source", "data", "calibrators"}
_DIVIDING = {"by", "share", "test", "folds"}


def selection_of(data: Predictions | str | Path, calibrators: Iterable[str] = (), **choices: Any) -> Selection:
    """The choices that show this data: a path, demo:KEY, or predictions; ``choices`` are fields of a Selection.

    ``tolerance`` is the verdicts'. Where nothing is fitted and nothing said of how rows are divided, all are judged.
    InputError for predictions that no file holds, and for other choices.
    """
    keys = (calibrators,) if isinstance(calibrators, str) else calibrators
    recipes = tuple(Recipe("CALIBRATORS", key) for key in keys)
    if "tolerance" in choices:
        choices["eps"] = choices.pop("tolerance")
    for name in choices:
        if name not in _CHOICES:
            raise InputError(f"there is no choice {name!r}; choices: {', '.join(sorted(_CHOICES))}")
    key, changed = _held(data)
    chosen = Selection().replace(data=key, calibrators=recipes, **choices)
    if changed:
        found = session.file(key)
        chosen = chosen.replace(reading=written_changes(found.proposal, session.proposed(key, changed)))
    if not recipes and not choices.keys() & _DIVIDING and session.split_by(chosen.source) == "share":
        return chosen.replace(by="folds", folds=2)
    return chosen


def _held(data: Predictions | str | Path) -> tuple[str, dict[str, str]]:
    """The key of the file, and what is to be said of how it is read."""
    if isinstance(data, Predictions):
        content, changed = file_of(data)
        return session.hold(content, NAME).key, changed
    if str(data).startswith("demo:"):
        return session.file(str(data)).key, {}
    path = Path(data)
    return session.hold(file_bytes(path), path.name).key, {}


def file_of(predictions: Predictions) -> tuple[bytes, dict[str, str]]:
    """The predictions as an NPZ file, and the fields of a reading that is not what would be proposed.

    >>> file_of(Predictions([[0.7, 0.3]], [0], weights=[2]))[1]
    {'weights': 'row_weights'}
    """
    why = ""
    if predictions.kind == "per-class":
        why = "whose rows sum to no one"
    elif predictions.abstained is not None:
        why = "that withhold rows"
    elif predictions.kind == "top-label" and _ranked(predictions):
        why = "of several classes a row"
    if why:
        raise InputError(f"predictions {why} are not handed on from memory: write them as a file first")
    arrays: dict[str, Any] = {}
    if predictions.kind == "full":
        arrays = {"probs": predictions.probs, "labels": predictions.true_labels}
        arrays["class_names"] = np.array(predictions.class_names)
    elif predictions.kind == "top-label":
        names = np.array(predictions.class_names)
        arrays = {"confidence": predictions.confidence, "predicted": names[predictions.predicted]}
        arrays["label"] = names[predictions.true_labels]
    else:
        arrays = {"confidence": predictions.confidence, "correct": predictions.correct}
    changed = {}
    if predictions.weights is not None:
        arrays["row_weights"] = predictions.weights
        changed["weights"] = "row_weights"
    if predictions.grouping is not None:
        arrays["row_groups"] = np.array(predictions.grouping.values, dtype=str)[predictions.grouping.codes]
        changed["group"] = "row_groups"
    packed = io.BytesIO()
    np.savez_compressed(packed, **arrays)
    return packed.getvalue(), changed


def _ranked(predictions: Predictions) -> bool:
    """Whether more than the predicted class of a row is known, which the file would not hold."""
    try:
        predictions.top(2)
    except NotAnswerable:
        return False
    return True
