"""Calibration and test rows: by a split column, and the rows that two sets share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from calib_core._base.arrays import FloatType
from calib_core.predictions.predictions import InputError, Predictions
from calib_core.readers.messages import listed, quoted
from calib_core.readers.proposal.label_codes import label_texts
from calib_core.readers.proposal.long_form import prediction_rows
from calib_core.readers.proposal.score_columns import kept_rows
from calib_core.readers.proposal.score_survey import row_keys
from calib_core.readers.reading import Reading
from calib_core.readers.table import Table

FIT_WORDS = frozenset({"cal", "calib", "calibrate", "calibration", "fit", "val", "valid", "validation", "dev"})
TRAIN_WORDS = frozenset({"train", "training"})
TEST_WORDS = frozenset({"test", "testing", "eval", "evaluate", "evaluation", "holdout", "hold-out", "heldout"})


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


def rows_for_testing(table: Table, reading: Reading) -> NDArray[np.bool_]:
    """Mark the test rows of ``predictions(table, reading)`` by the split column, (n,); it may mark all or none.

    For one part of a file, whose other parts may have the other rows. InputError for values that are neither.
    """
    _, parts, texts = _marks(table, reading)
    return np.array([parts[value] == "test" for value in texts], dtype=bool)


def _marks(table: Table, reading: Reading) -> tuple[list[str], dict[str, str | None], Any]:
    """Return the values of the split column, the part that each names, and the value of each row in use."""
    table, reading = prediction_rows(table, reading)
    if reading.split is None:
        raise InputError(f"{table.name}: no column of calibration and test rows is chosen; choose one")
    texts = label_texts(table.column(reading.split))
    kept = kept_rows(table, reading)
    texts = texts if kept is None else texts[kept]
    values = sorted(set(texts.tolist()))
    parts = {value: _part(value) for value in values}
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


def _part(value: str) -> str | None:
    word = value.strip().casefold()
    if word in FIT_WORDS:
        return "fit"
    if word in TRAIN_WORDS:
        return "train"
    return "test" if word in TEST_WORDS else None


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
