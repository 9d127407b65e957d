"""Decode files of Stata, SPSS and SAS by pandas and pyreadstat."""

from __future__ import annotations

import io
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .decoded_columns import Decoded, check_size, codes_of, labelled, text_of


def decode_stata(data: bytes, bounds: dict[str, int]) -> Decoded:
    """Decode a file of Stata; codes have the labels of their value labels."""
    import pandas

    file: Any = pandas.read_stata(io.BytesIO(data), convert_categoricals=False, iterator=True)
    with file as reader:
        frame = reader.read()
        labels = reader.value_labels()
        # A variable refers to its labels by the name of their set, usually its own.
        sets = dict(zip(getattr(reader, "_varlist", ()), getattr(reader, "_lbllist", ()), strict=True))
    check_size(len(frame), len(frame.columns), bounds)
    return labelled(_of_frame(frame, bounds), {name: labels.get(sets.get(name, name), {}) for name in frame.columns})


def decoder_of(reader: str) -> Callable[[bytes, dict[str, int]], Decoded]:
    """Return a decoder by one of pyreadstat's functions, which read from a path only."""

    def decode(data: bytes, bounds: dict[str, int]) -> Decoded:
        import pyreadstat

        read = getattr(pyreadstat, reader)
        with tempfile.TemporaryDirectory() as folder:
            # Closed before it is read: Windows opens no file twice.
            path = str(Path(folder, "table"))
            Path(path).write_bytes(data)
            _, about = read(path, metadataonly=True)
            check_size(about.number_rows or 1, about.number_columns, bounds)
            frame, about = read(path)
        check_size(len(frame), len(frame.columns), bounds)
        return labelled(_of_frame(frame, bounds), about.variable_value_labels or {})

    return decode


def _of_frame(frame: Any, bounds: dict[str, int]) -> Decoded:
    columns: list[tuple[str, Any, list[str] | None]] = []
    for name in frame.columns:
        values = frame[name]
        if values.dtype.kind in "biuf":
            columns.append((str(name), values.to_numpy(), None))
        else:
            texts = ["" if _is_missing(value) else text_of(value) for value in values.tolist()]
            columns.append((str(name), *codes_of(str(name), texts, bounds)))
    return Decoded(columns)


def _is_missing(value: Any) -> bool:
    return value is None or value != value
