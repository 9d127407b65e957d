"""Convert a table and its reading to Predictions, or raise an error with a remedy; calibration and test rows in it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from calib_core._base.arrays import FloatType, frozen
from calib_core._base.lazy_modules import provided
from calib_core._base.pandas_input import Column
from calib_core.defaults import FEW_VALUES
from calib_core.predictions.predictions import InputError, Predictions
from calib_core.predictions.validation import sampling_weights
from calib_core.readers.messages import affected, listed, quoted, shown
from calib_core.readers.proposal.answer_words import FALSE, TRUE, confidences
from calib_core.readers.proposal.column_values import part_of
from calib_core.readers.proposal.label_codes import Coded, coded_labels, label_texts, unknown_label
from calib_core.readers.proposal.long_form import prediction_rows
from calib_core.readers.proposal.score_columns import Kept, check_scores, kept_rows, score_matrix, sums_off
from calib_core.readers.proposal.score_survey import row_keys
from calib_core.readers.reading import OF_SUMMARIES, Reading
from calib_core.readers.table import Array, Table
from calib_core.readers.text_encoding import MISSING_TEXT, missing_text, numbers


def predictions(table: Table, reading: Reading) -> Predictions:
    """Return the predictions of a table under a reading; InputError names the first unusable row.

    >>> from calib_core.readers import propose, read_table
    >>> t = read_table(b"p,label\\n0.7,1\\n0.2,0\\n", "preds.csv")
    >>> predictions(t, propose(t)).probs.round(1).tolist()
    [[0.3, 0.7], [0.8, 0.2]]
    """
    if reading.layout in OF_SUMMARIES:
        # A summary has the interface of predictions; its package is above this one.
        summary = provided("summary")(table)
        counted: Predictions = summary if reading.layout == "summary" else summary.sample
        return counted
    table, reading = prediction_rows(table, reading)
    _check_lengths(table, reading)
    kept = kept_rows(table, reading)
    extras = {
        "weights": _weights(table, reading, kept),
        "metadata": _metadata(table, reading, kept),
        "groups": _groups(table, reading, kept),
    }
    build = _wide if reading.layout == "wide" else _of_confidence
    try:
        found = build(table, reading, kept, extras)
        found = found.with_outcome(reading.label[0]) if len(reading.label) == 1 else found
        return found if reading.event is None else found.with_event(reading.event)
    except InputError as e:
        message = str(e)
        raise InputError(message if message.startswith(table.name) else f"{table.name}: {message}") from e


def _check_lengths(table: Table, reading: Reading) -> None:
    main = reading.scores[0] if reading.layout == "wide" else str(reading.confidence)
    n = _length(table, main)
    for name in reading.used:
        if _length(table, name) != n:
            turned = main in table.matrices and table.matrices[main].shape[1] == _length(table, name)
            raise InputError(
                f"{table.name}: {_length(table, name):,} values of {quoted(name)} for {n:,} rows of {quoted(main)}; "
                + ("the matrix may be transposed: use one row per prediction" if turned else "give one value per row")
            )


def _length(table: Table, name: str) -> int:
    return len(table.matrices[name] if name in table.matrices else table.column(name))


# -- layouts ---------------------------------------------------------------------------------------------------


def _wide(table: Table, reading: Reading, kept: Kept, extras: dict[str, Any]) -> Predictions:
    scores = score_matrix(table, reading)
    labels = _known(table, reading, coded_labels(table, reading))
    check_scores(table, reading, scores, kept)
    if kept is not None:
        scores, labels = scores[kept], labels[kept]
    names = _class_names(reading, scores.shape[1])
    if reading.kind == "logits":
        z = scores if scores.shape[1] > 1 else np.column_stack([np.zeros_like(scores), scores])
        return Predictions.from_logits(frozen(z), labels, class_names=names, **extras)
    probs = as_probabilities(scores, reading)
    try:
        return Predictions(probs, labels, class_names=names, **extras)
    except InputError as e:
        if "sums to" not in str(e):
            raise
        raise InputError(sums_off(table, probs, kept)) from e


def _of_confidence(table: Table, reading: Reading, kept: Kept, extras: dict[str, Any]) -> Predictions:
    scores = confidences(table, reading)
    check_scores(table, reading, scores, kept)
    scores = scores if kept is None else scores[kept]
    confidence = frozen(as_probabilities(scores, reading, single=False)[:, 0])
    if reading.layout == "confidence":
        correct = _outcomes(table, str(reading.correct))
        return Predictions.from_confidence(confidence, correct if kept is None else correct[kept], **extras)
    labels = _known(table, reading, coded_labels(table, reading))
    claimed = reading.of_predicted
    predicted = _known(table, claimed, coded_labels(table, claimed))
    if kept is not None:
        labels, predicted = labels[kept], predicted[kept]
    return Predictions.from_confidence(
        confidence, predicted=predicted, labels=labels, class_names=reading.classes, **extras
    )


def _class_names(reading: Reading, k: int) -> tuple[str, ...] | None:
    columns = max(k, 2)
    if len(reading.classes) not in (0, columns):
        raise InputError(f"{len(reading.classes)} class names for {columns} classes of scores; give one name per class")
    if k == 1 and len(reading.classes) == 1:
        raise InputError("there is only one class; at least two classes are needed")
    return reading.classes or None


def _known(table: Table, reading: Reading, found: Coded) -> NDArray[np.int64]:
    if found.unknown.any():
        raise InputError(unknown_label(table, reading, found))
    return found.codes


def as_probabilities(scores: Array, reading: Reading, *, single: bool = True) -> Array:
    """Return probabilities in the dtype of the scores; the matrix itself if no conversion is needed."""
    dtype = scores.dtype if scores.dtype in (np.float32, np.float64) else np.dtype(np.float64)
    p = scores.astype(dtype, copy=False)
    if reading.kind == "percentages":
        p = p / dtype.type(100)
    if reading.kind == "log-probabilities":
        p = np.exp(p)
    if single and p.shape[1] == 1:
        p = np.column_stack([1 - p, p])
    return frozen(p)


def _outcomes(table: Table, name: str) -> NDArray[np.bool_]:
    texts = label_texts(table.column(name))
    codes, values = pd.factorize(texts)
    words = [str(v).strip().casefold() for v in values]
    for value, word in zip(values, words, strict=True):
        if word not in TRUE | FALSE | MISSING_TEXT:
            row = int(np.flatnonzero(texts == value)[0])
            raise InputError(
                f"{table.name}, column {quoted(name)}, {table.place(row)}: {quoted(value)} is not a true/false value; "
                f"{affected(int((texts == value).sum()), len(texts))}. Write 1 if the prediction was right, else 0."
            )
    return np.array([word in TRUE for word in words])[codes]


# -- metadata, weights and groups ------------------------------------------------------------------------------


def _weights(table: Table, reading: Reading, kept: Kept) -> NDArray[np.float64] | None:
    if reading.weights is None:
        return None
    weights = numbers(table.numeric(reading.weights))
    weights = weights if kept is None else weights[kept]
    return sampling_weights(weights) if reading.weighting == "sampling" else weights


def _groups(table: Table, reading: Reading, kept: Kept) -> Column | None:
    if reading.group is None:
        return None
    texts = label_texts(table.column(reading.group))
    return pd.Series(texts if kept is None else texts[kept], name=reading.group)


def _metadata(table: Table, reading: Reading, kept: Kept) -> pd.DataFrame | None:
    main = reading.scores[0] if reading.layout == "wide" else str(reading.confidence)
    n = _length(table, main)
    columns = {}
    for name in reading.metadata:
        column = table.column(name)
        if len(column) != n:
            raise InputError(
                f"{table.name}: {len(column):,} values of {quoted(shown(name))} for {n:,} rows; remove it from "
                f"{listed(reading.metadata, 5)}"
            )
        known = _numbers_with_gaps(column)
        columns[name] = known if kept is None else known[kept]
    return pd.DataFrame(columns) if columns else None


_PLAIN = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?")


def _numbers_with_gaps(column: Array) -> Array:
    """Convert a text column that is an age or a size with missing values to numbers; other columns are unchanged.

    Readers store a column with an empty cell as text. Few different values are names of groups rather than sizes, and
    whole numbers that are all different, or begin with 0, are ids.

    >>> _numbers_with_gaps(np.array(["0.5", "", "NA", *map(str, range(20))], dtype=object))[:4].tolist()
    [0.5, nan, nan, 0.0]
    >>> _numbers_with_gaps(np.array(["", *map(str, range(20))], dtype=object))[:3].tolist()
    ['', '0', '1']
    """
    if column.dtype != object:
        return column
    known = column[~missing_text(column)]
    if len(known) == len(column) or not all(map(_PLAIN.fullmatch, known[:_FIRST])):
        return column
    different = set(known)
    if len(different) <= FEW_VALUES or not all(map(_PLAIN.fullmatch, different)):
        return column
    ids = len(different) == len(known) and all(map(str.isdigit, different))
    return column if ids else numbers(column)


_FIRST = 1000
"""Values that tell most columns of text at once."""


def split_rows(table: Table, reading: Reading) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the calibration rows and the test rows, by the split column of a reading.

    The indices refer to the rows of ``predictions(table, reading)``, without rows with missing values. InputError for
    values that are neither.
    """
    values, parts, texts = _marks(table, reading)
    where = f"{table.name}, column {quoted(str(reading.split))}"
    test = np.array([parts[value] == "test" for value in texts])
    if test.all() or not test.any():
        raise InputError(f"{where} contains only {listed(values, 5)}; calibration rows and test rows are needed")
    return np.flatnonzero(~test), np.flatnonzero(test)


def rows_of_part(table: Table, reading: Reading, rows: str = "auto") -> NDArray[np.intp] | None:
    """Return the rows of ``predictions(table, reading)`` that the split column marks as ``rows``; None for all rows.

    ``rows`` is "all", "test", "calibration", or "auto": the test rows if a column marks them, else all. For one part of
    a file, whose other parts may have the other rows, the result may be empty. InputError for values that are neither.
    """
    if rows not in ("auto", "all", "test", "calibration"):
        raise InputError(f"rows is {quoted(rows)}; choose auto, all, test or calibration")
    if rows in ("test", "calibration") and reading.split is None:
        raise InputError(f"{table.name} has no column of calibration and test rows; leave out rows")
    if reading.split is None or rows == "all":
        return None
    _, parts, texts = _marks(table, reading)
    test = np.array([parts[value] == "test" for value in texts], dtype=bool)
    return np.flatnonzero(test == (rows != "calibration"))


def _marks(table: Table, reading: Reading) -> tuple[list[str], dict[str, str | None], Any]:
    """Return the values of the split column, the part that each names, and the value of each row in use."""
    table, reading = prediction_rows(table, reading)
    if reading.split is None:
        raise InputError(f"{table.name}: no column of calibration and test rows is chosen; choose one")
    texts = label_texts(table.column(reading.split))
    kept = kept_rows(table, reading)
    texts = texts if kept is None else texts[kept]
    values = sorted(set(texts.tolist()))
    parts = {value: part_of(value, reading.split) for value in values}
    where = f"{table.name}, column {quoted(reading.split)}"
    unclear = [value for value in values if parts[value] is None]
    if unclear:
        raise InputError(
            f"{where} contains {listed(unclear, 5)}. Mark calibration rows as calibration, fit, val or train, and test "
            "rows as test or eval; or choose another column"
        )
    if {"fit", "train"} <= set(parts.values()):
        raise InputError(
            f"{where} contains {listed(values, 5)}. Calibrators need rows that the model was not trained on: remove "
            "the training rows from the file"
        )
    return values, parts, texts


def shared_rows(fit: Predictions, test: Predictions, split: str | None = None) -> int:
    """Count the test rows that also occur among the calibration rows: equal scores, label and metadata.

    Only columns that both have are compared (``columns_compared``), except ``split``, which marks the parts. What can
    mislead: if rows are one or two rounded numbers without further columns, equal rows can be different cases.

    >>> a = Predictions([[0.7, 0.3], [0.2, 0.8]], [0, 1], metadata=pd.DataFrame({"age": [40, 50]}))
    >>> shared_rows(a, Predictions([[0.7, 0.3], [0.2, 0.8]], [0, 0]))
    1
    >>> shared_rows(a, Predictions([[0.7, 0.3], [0.2, 0.8]], [0, 1], metadata=pd.DataFrame({"age": [40, 51]})))
    1
    """
    if fit.kind != test.kind or fit.n_classes != test.n_classes:
        return 0
    narrow = any(p.confidence.dtype == np.float32 for p in (fit, test))
    dtype: FloatType = np.dtype(np.float32) if narrow else np.dtype(np.float64)
    columns = columns_compared(fit, test, split)
    return int(np.isin(_keys(test, dtype, columns), _keys(fit, dtype, columns)).sum())


def columns_compared(fit: Predictions, test: Predictions, split: str | None = None) -> tuple[str, ...]:
    """Return the metadata columns that both have, except the one that marks the parts.

    >>> rows = Predictions([[0.7, 0.3]], [0], metadata=pd.DataFrame({"age": [40], "part": ["test"]}))
    >>> columns_compared(rows, rows, "part")
    ('age',)
    """
    if fit.metadata is None or test.metadata is None:
        return ()
    return tuple(name for name in fit.metadata.columns if name in test.metadata.columns and name != split)


def _keys(predictions: Predictions, dtype: FloatType, columns: Sequence[str]) -> NDArray[np.uint64]:
    if predictions.kind in ("full", "per-class"):
        scores = np.concatenate([row_keys(block.astype(dtype, copy=False)) for _, block in predictions.rows.blocks()])
    else:
        scores = row_keys(predictions.confidence.astype(dtype)[:, None])
    answers: list[NDArray[Any]] = [predictions.correct] if predictions.labels is None else [predictions.labels]
    if predictions.kind == "top-label":
        answers.append(predictions.predicted)
    answers += [_hashed(predictions.metadata[name]) for name in columns if predictions.metadata is not None]
    odd = np.uint64(0x9E3779B97F4A7C15)
    for answer in answers:
        scores = (scores ^ (scores >> np.uint64(31))) * odd + answer.astype(np.uint64)
    return scores


def _hashed(column: pd.Series) -> NDArray[np.uint64]:
    """Hash each value; 36 and 36.0 are equal, because a missing value elsewhere turns integers into floats."""
    numbers = pd.api.types.is_numeric_dtype(column)
    values = column.astype(np.float64) if numbers else column.astype(str)
    return np.asarray(pd.util.hash_pandas_object(values, index=False), dtype=np.uint64)
