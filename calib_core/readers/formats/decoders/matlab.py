"""Decode files of Matlab before version 7.3 by SciPy."""

from __future__ import annotations

import io
import math
from collections.abc import Iterator, Mapping
from typing import Any

from .decoded_columns import Decoded, DecodingRefusedError, check_size, codes_of

_DEEPEST = 16


def decode_matlab(data: bytes, bounds: dict[str, int]) -> Decoded:
    """Decode numeric arrays, columns of text and the fields of structures; other variables are left out."""
    from scipy import io as scipy_io

    file: Any = io.BytesIO(data)
    for name, shape, _ in scipy_io.whosmat(file):
        if math.prod(shape) * 8 > bounds["decoded_bytes"]:
            raise DecodingRefusedError(f': variable "{name[:80]}" has shape {shape}; save fewer rows')
    file.seek(0)
    content: dict[str, Any] = scipy_io.loadmat(file, chars_as_strings=True, verify_compressed_data_integrity=True)
    columns: list[tuple[str, Any, list[str] | None]] = []
    left: list[str] = []
    for name, value in _variables({k: v for k, v in content.items() if not k.startswith("__")}):
        column = _of_matlab(name, value, bounds)
        if column is None:
            left.append(name[:80])
        else:
            columns.append((name, *column))
    if not columns:
        raise DecodingRefusedError(" has no matrix or column of numbers; save them with save(file, '-v7')")
    for _, values, _ in columns:
        check_size(len(values), values.shape[1] if values.ndim == 2 else 1, bounds)
    notes = [f"Variables that are neither columns nor matrices were left out: {', '.join(left[:8])}."] if left else []
    return Decoded(columns, notes)


def _variables(content: Mapping[str, Any], depth: int = 0) -> Iterator[tuple[str, Any]]:
    for name, value in content.items():
        if value.dtype.names and value.size == 1 and type(value).__name__ == "ndarray" and depth < _DEEPEST:
            fields = {f"{name}.{each}": value[each].flat[0] for each in value.dtype.names}
            yield from _variables({k: v for k, v in fields.items() if hasattr(v, "dtype")}, depth + 1)
        else:
            yield name, value


def _of_matlab(name: str, value: Any, bounds: dict[str, int]) -> tuple[Any, list[str] | None] | None:
    """Return a variable as a column or matrix; None for other variables."""
    import numpy

    if hasattr(value, "toarray"):  # a sparse matrix
        value = value.toarray() if math.prod(value.shape) * 8 <= bounds["decoded_bytes"] else numpy.empty(0)
    if value.dtype.kind == "O" and all(getattr(each, "dtype", value.dtype).kind == "U" for each in value.flat):
        texts = [str(each.flat[0]) if each.size else "" for each in value.flat]
        return codes_of(name, texts, bounds) if len(texts) > 1 else None
    if value.dtype.kind == "U" and value.size > 1 and value.size == max(value.shape):
        return codes_of(name, [str(each).rstrip() for each in value.flat], bounds)
    if value.dtype.kind not in "biuf" or value.ndim != 2 or value.size < 2:
        return None
    array = value.astype(value.dtype.newbyteorder("="), copy=False)
    # Matlab has no vectors: a row is one column of numbers, like a column.
    return (array.ravel() if 1 in array.shape else array), None
