"""Parquet, decoded in a process of its own: small files can ask for any amount of memory, and decoders can crash."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from calib_core.predictions.predictions import InputError
from calib_core.readers import limits
from calib_core.readers.file_format import file_format
from calib_core.readers.formats import parquet_child
from calib_core.readers.formats.memory_estimate import check_rows
from calib_core.readers.formats.parquet_footer import promised_bytes
from calib_core.readers.messages import quoted, size
from calib_core.readers.table import Array, Table, unique_names

MAGIC = b"PAR1"

_UNSAFE = "could not be read safely (it is damaged, or needs too much memory or time); save it again, as NPZ or CSV"
_HAS_LIMITS = importlib.util.find_spec("resource") is not None


@file_format(
    "parquet",
    "Parquet",
    ("parquet", "pq"),
    recognise=lambda data: data.startswith(MAGIC),
    unpacked=promised_bytes,
)
def parse_parquet(data: bytes, name: str) -> Table:
    """The columns of a Parquet file: numbers, booleans and text; nested columns are refused by name."""
    _check_frame(data, name)
    if importlib.util.find_spec("pyarrow") is None:
        raise InputError(f"{name}: reading Parquet needs pyarrow; run: pip install calib[parquet]")
    output = _from_child(data, name) if _HAS_LIMITS else _in_process(data, name)
    return Table(name, "parquet", _columns(output, name))


def _check_frame(data: bytes, name: str) -> None:
    """What can be told from the first and last bytes."""
    if len(data) < 12 or data[:4] != MAGIC or data[-4:] != MAGIC:
        raise InputError(f"{name} is not a complete Parquet file (it is encrypted, damaged or cut off); save it again")
    footer = int.from_bytes(data[-8:-4], "little")
    if footer > len(data) - 12:
        raise InputError(f"{name} is damaged or cut off: its footer promises {size(footer)}; save it again")
    if footer > limits.FOOTER_BYTES:
        raise InputError(
            f"{name} has a footer of {size(footer)}, at most {size(limits.FOOTER_BYTES)} are read; "
            "save it with fewer columns or larger row groups"
        )


def _from_child(data: bytes, name: str) -> bytes:
    """What the child wrote; whatever ends the child is a file that could not be read safely."""
    with tempfile.TemporaryFile() as out:
        # The source goes in by file, not by -m: the child needs pyarrow and nothing of this package. -P keeps this
        # folder out of its path, whose module names are not for others.
        command = [sys.executable, "-P", "-W", "ignore", str(Path(parquet_child.__file__)), json.dumps(bounds())]
        try:
            child = subprocess.run(
                command,
                input=data,
                stdout=out,
                stderr=subprocess.DEVNULL,
                timeout=3 * limits.CHILD_SECONDS,
                check=False,
            )
        except (subprocess.TimeoutExpired, OSError) as e:
            raise InputError(f"{name} {_UNSAFE}") from e
        if child.returncode != 0:
            raise InputError(f"{name} {_UNSAFE}")
        out.seek(0)
        return out.read()


def _in_process(data: bytes, name: str) -> bytes:
    """Where processes cannot be limited (Windows): the same decoding, guarded by the bounds of the footer alone."""
    try:
        return b"".join(bytes(part) for part in parquet_child.decoded(data, bounds()))
    except (Exception, MemoryError) as e:
        raise InputError(f"{name} {_UNSAFE}") from e


def bounds() -> dict[str, int]:
    return {
        "columns": limits.COLUMNS,
        "decoded_bytes": limits.DECODED_BYTES,
        "dictionary_bytes": limits.DICTIONARY_BYTES,
        "field_chars": limits.FIELD_CHARS,
        "footer_bytes": limits.FOOTER_BYTES,
        "memory": limits.CHILD_BYTES,
        "seconds": limits.CHILD_SECONDS,
        "rows": limits.ROWS,
        "row_bytes": limits.ROW_BYTES,
        "working_bytes": limits.WORKING_BYTES,
    }


def _columns(output: bytes, name: str) -> dict[str, Array]:
    """The arrays the child wrote: a line of JSON, then plain numbers; it is trusted no more than the file."""
    end = output.find(b"\n")
    try:
        described = json.loads(output[: max(end, 0)])
        if "refused" in described:
            raise InputError(f"{name}{described['refused'][:600]}")
        if "too_large" in described:
            check_rows(name, *described["too_large"])
        names = [str(column["name"]) for column in described["columns"]]
        unique_names(names, name)
        check_lengths(names, name)
        start = end + 1
        blocks: dict[int, Array] = {}
        arrays = [_array(output, column, start, described["rows"], blocks) for column in described["columns"]]
    except (KeyError, TypeError, IndexError, ValueError) as e:
        if isinstance(e, InputError):
            raise
        raise InputError(f"{name} {_UNSAFE}") from e
    return dict(zip(names, arrays, strict=True))


def check_lengths(names: list[str], name: str) -> None:
    for j, n in enumerate(names):
        if not n.strip() or len(n) > limits.NAME_CHARS:
            raise InputError(
                f"{name}: column {j + 1} ({quoted(n)}) needs a name of 1 to {limits.NAME_CHARS} characters"
            )


def _array(output: bytes, column: dict[str, Any], start: int, rows: int, blocks: dict[int, Array]) -> Array:
    """One column as a view of the block it lies in, so that neighbours stay neighbours."""
    dtype = np.dtype(str(column["dtype"]))
    if dtype.kind not in "biuf":
        raise ValueError(dtype)
    width, j, offset = int(column["width"]), int(column["column"]), start + int(column["offset"])
    if offset not in blocks:
        blocks[offset] = np.frombuffer(output, dtype, rows * width, offset).reshape(rows, width)
    values = blocks[offset][:, j]
    if column.get("words") is None:
        return values
    words = np.empty(len(column["words"]), dtype=object)
    words[:] = [str(word) for word in column["words"]]
    return np.asarray(words[values])
