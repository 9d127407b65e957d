"""Whole files as Predictions in one call, which hands over what was assumed."""

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
"""Codes of warnings about what nobody gets unasked, as rows left out for missing values are: they stay notes."""


def read_predictions(
    source: str | os.PathLike[str] | bytes,
    name: str | None = None,
    *,
    labels: str | os.PathLike[str] | None = None,
    key: str | Sequence[str] | None = None,
    **changes: Any,
) -> Predictions:
    """Predictions from a CSV, Parquet, NPZ, NPY or JSON Lines file, read as its names and values suggest.

    Parameters
    ----------
    source : a path, or the bytes of a file together with its ``name``; of a folder, files of one shape are one table.
    labels, key : the path of a file that has the labels, and the column or columns that tell its rows apart as those of
        the predictions; ``key=()`` joins row i with row i (``readers.with_labels``).
    changes : fields of Reading to set instead of what is proposed, such as ``kind="logits"`` or ``label="y"``.

    What is assumed and could be meant otherwise, and what was left out, is in ``notes``, a sentence each; what is
    probably not meant is a UserWarning too. ``readers.examine`` gives the same as findings, with the change that would
    settle each.

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
    """Every model's predictions from one file that holds several, over the same questions.

    Parameters
    ----------
    source, name, labels, key, changes : as in ``read_predictions``; ``question`` names the columns that tell questions
        apart.
    models : the column that names the model of each row; the result has them in the order in which they first appear.
        Without it ``score_sets`` are read, columns of several models side by side such as risk_old and risk_new; or
        what the file's shape says names its models; else the column ``model``.

    Row i is the same question for every model, so that they can be compared in pairs. Questions that not every model
    answers are left out: ``readers.examine`` says how many. Without a column of questions, or with ``question=()``,
    row i of each model is taken for question i. InputError where a model has two rows for a question, or models differ
    in its label.

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
    """The table of a file, with the labels of another where one is given."""
    if labels is not None:
        return with_labels(read_table(source, name), read_table(labels), key)
    if key is not None:
        raise InputError("a key joins the predictions with a file of labels; give labels=, too")
    return read_table(source, name)


def _handed_over(found: Predictions, table: Table, reading: Reading, chosen: Collection[str]) -> Predictions:
    """The predictions with what the file was taken for in their notes; what is probably not meant is warned of."""
    if reading.layout == "summary":
        return found
    beside = () if (alone := unchosen_model(table, reading, chosen)) is None else (alone,)
    doubts = [each for each in (*beside, *examine(table, reading)) if each.worth_saying(chosen)]
    for finding in doubts:
        if finding.severity == "warning" and finding.code not in BY_CHOICE:
            warnings.warn(f"{table.name}: {finding.message}", stacklevel=3)
    return found._with({"notes": tuple(dict.fromkeys((*found.notes, *(finding.message for finding in doubts))))})
