"""Read files as Predictions in one call, with the assumptions in their notes."""

from __future__ import annotations

import os
import warnings
from collections.abc import Collection, Sequence
from typing import Any

from calib_core.predictions.predictions import InputError, Predictions
from calib_core.readers.checks.examination import examine
from calib_core.readers.checks.model_checks import unchosen_model
from calib_core.readers.conversion import predictions
from calib_core.readers.formats.detection import read_table
from calib_core.readers.joined_labels import with_labels
from calib_core.readers.proposal.long_form import model_names
from calib_core.readers.proposal.proposed_reading import propose
from calib_core.readers.reading import Reading
from calib_core.readers.table import Table

BY_CHOICE = frozenset({"missing"})
"""Codes of warnings about choices that the user makes, such as leaving out rows; they remain notes."""


def read_predictions(
    source: str | os.PathLike[str] | bytes,
    name: str | None = None,
    *,
    labels: str | os.PathLike[str] | None = None,
    key: str | Sequence[str] | None = None,
    **changes: Any,
) -> Predictions:
    """Read predictions from a CSV, Parquet, NPZ, NPY or JSON Lines file; names and values determine how.

    Parameters
    ----------
    source : a path, or the bytes of a file together with its ``name``; in a folder, files of one shape are one table.
    labels, key : path of a file with the labels, and the key column or columns that both files have; ``key=()`` joins
        row i with row i (``readers.with_labels``).
    changes : fields of Reading to set instead of the proposed ones, such as ``kind="logits"`` or ``label="y"``.

    ``notes`` contains a sentence for each ambiguous assumption, and for rows that were left out. Probable mistakes also
    cause a UserWarning. ``readers.examine`` returns the same as findings, with the change that would resolve each.

    >>> p = read_predictions(b"p_cat,p_dog,label\\n0.7,0.3,cat\\n0.4,0.6,cat\\n", name="preds.csv")
    >>> p.class_names, p.correct.tolist()
    (('cat', 'dog'), [True, False])
    """
    table = _whole(source, name, labels, key)
    reading = propose(table, **changes)
    return _handed_over(predictions(table, reading), table, reading, changes)


def read_models(
    source: str | os.PathLike[str] | bytes,
    name: str | None = None,
    *,
    models: str | None = None,
    labels: str | os.PathLike[str] | None = None,
    key: str | Sequence[str] | None = None,
    **changes: Any,
) -> dict[str, Predictions]:
    """Read the predictions of every model from one file that has several, on the same questions.

    Parameters
    ----------
    source, name, labels, key, changes : as in ``read_predictions``; ``question`` lists the columns that identify
        questions.
    models : the column of model names; the result has them in order of appearance. Without it, models come from
        ``score_sets`` (adjacent columns of several models such as risk_old and risk_new). Otherwise they come from the
        file's known shape, or from the column ``model``.

    Row i is the same question for every model, so models can be compared in pairs. Questions that some model did not
    answer are left out; ``readers.examine`` reports their number. Without a column of questions, or with
    ``question=()``, row i of each model is question i. InputError if a model has two rows for a question, or if models
    differ in its label.

    >>> answers = b"model,id,confidence,correct\\nold,1,.7,1\\nold,2,.6,0\\nnew,2,.9,1\\nnew,1,.8,1\\n"
    >>> {name: p.confidence.tolist() for name, p in read_models(answers, "answers.csv").items()}
    {'old': [0.7, 0.6], 'new': [0.8, 0.9]}
    """
    table = _whole(source, name, labels, key)
    reading = propose(table, **({} if models is None else {"models": models}), **changes)
    if not reading.several:
        reading = propose(table, models="model", **changes)
    each = {model: reading.replace(model=model) for model in model_names(table, reading)}
    return {
        model: _handed_over(predictions(table, how), table, how, {*changes, "model"}) for model, how in each.items()
    }


def _whole(
    source: str | os.PathLike[str] | bytes,
    name: str | None,
    labels: str | os.PathLike[str] | None,
    key: str | Sequence[str] | None,
) -> Table:
    """Return the table of a file, with the labels of another file if there is one."""
    if labels is not None:
        return with_labels(read_table(source, name), read_table(labels), key)
    if key is not None:
        raise InputError("a key joins the predictions with a file of labels; also give labels=")
    return read_table(source, name)


def _handed_over(found: Predictions, table: Table, reading: Reading, chosen: Collection[str]) -> Predictions:
    """Return predictions with the assumptions in their notes, and warn of probable mistakes."""
    if reading.layout == "summary":
        return found
    beside = () if (alone := unchosen_model(table, reading, chosen)) is None else (alone,)
    doubts = [each for each in (*beside, *examine(table, reading)) if each.worth_saying(chosen)]
    for finding in doubts:
        if finding.severity == "warning" and finding.code not in BY_CHOICE:
            warnings.warn(f"{table.name}: {finding.message}", stacklevel=3)
    return found._with({"notes": tuple(dict.fromkeys((*found.notes, *(finding.message for finding in doubts))))})
