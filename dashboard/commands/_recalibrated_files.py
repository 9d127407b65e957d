"""Recalibrated predictions as a file: the original columns, with probabilities in place of the scores."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pandas as pd

from calib_core import InputError
from calib_core.readers.proposal.long_form import prediction_rows
from calib_core.readers.proposal.score_columns import kept_rows
from dashboard.export import csv_bytes

if TYPE_CHECKING:
    from calib_core import Predictions
    from calib_core.readers import Reading, Table

Columns: TypeAlias = dict[str, Any]
"""Arrays by name, (n,) or (n, K)."""


def content(columns: Columns, ending: str) -> bytes:
    """Return the columns in the format of an ending of ``FORMATS``; InputError if it cannot represent them."""
    return FORMATS[ending](columns)


def columns_for(ending: str, table: Table, reading: Reading, after: Predictions) -> Columns:
    """Return the columns of the file: the table's columns with recalibrated numbers, for an NPY file these only."""
    if ending == "npy":
        return {"array": after.probs if after.kind in ("full", "per-class") else after.confidence}
    return _columns(table, reading, after, flat=ending != "npz")


def _columns(given: Table, how: Reading, after: Predictions, flat: bool) -> Columns:
    """Return the table's columns in their order, without the scores, and the columns that replace the scores."""
    table, reading = prediction_rows(given, how)
    kept = kept_rows(table, reading)
    rows = slice(None) if kept is None else kept
    scores = {name.partition("[:, ")[0] for name in reading.scores} | set(reading.scores)
    fresh = _fresh(given, how.of_set, after, flat)
    main = reading.scores[0] if reading.layout == "wide" else str(reading.confidence)
    n = len(table.matrices[main] if main in table.matrices else table.column(main))
    every = {name: array for name, array in {**table.matrices, **table.columns}.items() if name not in scores}
    # An archive also contains arrays that are not about rows, such as class names; a flat table has no place for them.
    old = {
        name: array[rows] if len(array) == n else array for name, array in every.items() if len(array) == n or not flat
    }
    if reading.layout == "wide" and after.kind not in ("full", "per-class"):
        # Labels may be codes of columns that are gone: they are named, as the predicted classes are.
        names = np.array(after.class_names, dtype=object)
        fresh |= {"predicted": names[after.predicted], "label": names[after.true_labels]}
        old = {name: array for name, array in old.items() if name not in reading.label}
    elif not set(reading.label) <= {*old, *fresh}:
        fresh["label"] = np.array(after.class_names, dtype=object)[after.true_labels]
    if after.abstained is not None:
        fresh["abstained"] = after.abstained
    order = [name for name in (*table.columns, *table.matrices) if name in old or name in fresh]
    return {**{name: fresh.get(name, old.get(name)) for name in order}, **fresh}


def _fresh(table: Table, reading: Reading, after: Predictions, flat: bool) -> Columns:
    """Return the recalibrated numbers under the names of the scores if those were probabilities."""
    if after.kind not in ("full", "per-class"):
        same = reading.confidence is not None and reading.kind == "probabilities"
        return {str(reading.confidence) if same else "confidence": after.confidence}
    probs = after.probs
    by_name = any(name in table.columns for name in reading.scores)
    if reading.kind == "probabilities" and reading.scores[0] in table.matrices and not flat:
        return {reading.scores[0]: probs}
    if reading.kind != "probabilities" or not by_name:
        return {f"p_{name}": probs[:, j] for j, name in enumerate(after.class_names or ())}
    if len(reading.scores) == 1:
        return {reading.scores[0]: probs[:, 1]}
    return {name: probs[:, j] for j, name in enumerate(reading.scores)}


def frame_of(columns: Columns) -> pd.DataFrame:
    """Return the columns as a flat table; a matrix becomes columns named after it, name_0, name_1, ..."""
    flat: Columns = {}
    for name, array in columns.items():
        parts = {name: array} if np.ndim(array) == 1 else {f"{name}_{j}": array[:, j] for j in range(array.shape[1])}
        twice = next((part for part in parts if part in flat), None)
        if twice is not None:
            raise InputError(f"two columns would be called {twice!r}; write an .npz, which holds matrices")
        flat |= parts
    return pd.DataFrame({name: pd.Series(array) for name, array in flat.items()})


def _parquet(columns: Columns) -> bytes:
    import pyarrow  # noqa: F401  # pandas would name two packages, and no extra of this one

    buffer = io.BytesIO()
    frame_of(columns).to_parquet(buffer, index=False)
    return buffer.getvalue()


def _npz(columns: Columns) -> bytes:
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **{name: _plain(array) for name, array in columns.items()})
    return buffer.getvalue()


def _npy(columns: Columns) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, columns["array"], allow_pickle=False)
    return buffer.getvalue()


def json_lines(columns: Columns) -> bytes:
    """Return one line of JSON per row, numbers in full; null if a number is missing."""
    flat = frame_of(columns)
    cells = [[None if cell != cell else cell for cell in flat[name].tolist()] for name in flat]
    rows = zip(*cells, strict=True)
    return "".join(f"{json.dumps(dict(zip(flat, row, strict=True)), ensure_ascii=False)}\n" for row in rows).encode()


def _plain(array: Any) -> Any:
    """Convert text to fixed-width characters: an array of Python objects could only be stored as a pickle."""
    return array.astype(str) if array.dtype == object else array


FORMATS: Mapping[str, Callable[[Columns], bytes]] = {
    "csv": lambda columns: csv_bytes(frame_of(columns)),
    "parquet": _parquet,
    "jsonl": json_lines,
    "npz": _npz,
    "npy": _npy,
}
