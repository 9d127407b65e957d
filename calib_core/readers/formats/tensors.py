"""SafeTensors: a header of JSON with the place of every array, then plain numbers; nothing is executed."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np

from calib_core.predictions.predictions import InputError
from calib_core.readers import limits
from calib_core.readers.file_format import file_format
from calib_core.readers.formats.npy import as_table, finished
from calib_core.readers.limits import check_rows
from calib_core.readers.messages import quoted
from calib_core.readers.table import Array, Table

_LENGTH = 8
_FLOATS = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2"}
_WHOLE = {"I64": "<i8", "I32": "<i4", "I16": "<i2", "I8": "i1", "U64": "<u8", "U32": "<u4", "U16": "<u2", "U8": "u1"}
_DTYPES = {**_FLOATS, **_WHOLE, "BOOL": "?"}
_DAMAGED = "is damaged or cut off: its header does not fit its content; save it again"


def _is_tensors(data: bytes) -> bool:
    return data[_LENGTH : _LENGTH + 2] in (b'{"', b"{}") and 0 < int.from_bytes(data[:_LENGTH], "little") < len(data)


@file_format("safetensors", "SafeTensors", ("safetensors",), recognise=_is_tensors, arrays=True)
def parse_tensors(data: bytes, name: str) -> Table:
    """Parse the arrays by name; arrays of 0 or more than 2 dimensions are left out with a note."""
    length = int.from_bytes(data[:_LENGTH], "little")
    header = _header(data[_LENGTH : _LENGTH + length], name)
    if len(header) > limits.MEMBERS:
        raise InputError(
            f"{name} has {len(header):,} arrays; the maximum is {limits.MEMBERS}. It may contain a model's weights: "
            "save its probabilities and labels"
        )
    arrays: dict[str, Array] = {}
    notes: list[str] = []
    for key, about in header.items():
        what = f"{name}, array {quoted(key)}"
        array = _array(data[_LENGTH + length :], about, what)
        if array.ndim in (1, 2):
            arrays[key] = array
        else:
            notes.append(f"Array {quoted(key)} has {array.ndim} dimensions {array.shape} and was left out.")
    return as_table(arrays, name, "safetensors", tuple(notes))


def _header(text: bytes, name: str) -> dict[str, Any]:
    try:
        header = json.loads(text)
    except (ValueError, RecursionError) as e:
        raise InputError(f"{name} {_DAMAGED}") from e
    if not isinstance(header, dict):
        raise InputError(f"{name} {_DAMAGED}")
    return {str(key): about for key, about in header.items() if key != "__metadata__"}


def _array(content: bytes, about: Any, what: str) -> Array:
    try:
        kind, shape, (start, end) = about["dtype"], tuple(about["shape"]), about["data_offsets"]
    except (TypeError, KeyError, ValueError) as e:
        raise InputError(f"{what} {_DAMAGED}") from e
    if kind not in _DTYPES:
        raise InputError(f"{what} has an unsupported type of numbers; save float32")
    dtype = np.dtype(_DTYPES[kind])
    sound = len(shape) <= 32 and all(type(each) is int and 0 <= each < 1 << 40 for each in (*shape, start, end))
    if not sound or end > len(content) or end - start != math.prod(shape) * dtype.itemsize:
        raise InputError(f"{what} {_DAMAGED}")
    if shape:
        check_rows(what, shape[0], math.prod(shape[1:]))
    numbers = np.frombuffer(content[start:end], dtype)
    if kind == "BF16":
        # The upper half of a float32.
        numbers = (numbers.astype("<u4") << 16).view("<f4")
    return finished(numbers.reshape(shape), what)
