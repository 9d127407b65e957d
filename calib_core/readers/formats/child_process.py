"""Decode a file in a separate process: small files can demand any amount of memory, and decoders can crash."""

from __future__ import annotations

import errno
import importlib.util
import json
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from calib_core.predictions.predictions import InputError
from calib_core.readers import limits
from calib_core.readers.file_format import FILE_FORMATS
from calib_core.readers.formats import decoders
from calib_core.readers.limits import check_rows
from calib_core.readers.messages import quoted
from calib_core.readers.table import Array, Table, unique_names

_UNSAFE = "could not be read safely (it is damaged, or needs too much memory or time); save it again, as NPZ or CSV"
_FULL = "could not be read: the disk for temporary files is full; make room and try again"


@dataclass(frozen=True)
class Package:
    """A package that decodes a format, its name for import, and the extra of this package that installs it."""

    title: str
    module: str
    extra: str


_PYARROW = Package("pyarrow", "pyarrow", "parquet")
_PYREADSTAT = Package("pyreadstat", "pyreadstat", "stats")
PACKAGES = {
    "arrow": _PYARROW,
    "orc": _PYARROW,
    "parquet": _PYARROW,
    "sas": _PYREADSTAT,
    "sheets": Package("python-calamine", "python_calamine", "excel"),
    "spss": _PYREADSTAT,
    "xport": _PYREADSTAT,
}
"""Packages that decoders need besides numpy, scipy and pandas, by key of ``decoders.DECODERS``."""


def decoded_table(key: str, data: bytes, name: str, form: str, *, apart: bool = True) -> Table:
    """Return the table of a file.

    Parameters
    ----------
    key : decoder, one of ``decoders.DECODERS``.
    data, name : bytes of the file, and its name for messages.
    form : key of the file format.
    apart : whether a child process decodes.
    """
    needed = PACKAGES.get(key)
    if needed is not None and importlib.util.find_spec(needed.module) is None:
        title = FILE_FORMATS[form].title
        raise InputError(f"{name}: reading {title} needs {needed.title}; run: pip install calib[{needed.extra}]")
    output = (_from_child if apart else _in_process)(key, data, name)
    return _table(output, name, form)


def _from_child(key: str, data: bytes, name: str) -> bytes:
    """Return the child's output; any abnormal end of the child means that the file could not be read safely."""
    with tempfile.TemporaryFile() as out:
        # The script is passed as a file, without -m: the child needs decoders and nothing else of this project. -P
        # keeps their folder, whose module names could shadow others, out of its path.
        script = str(Path(decoders.__file__).with_name("__main__.py"))
        command = [sys.executable, "-P", "-W", "ignore", script, key, json.dumps(bounds())]
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
        if child.returncode == errno.ENOSPC:
            raise InputError(f"{name} {_FULL}")
        if child.returncode != 0:
            raise InputError(f"{name} {_UNSAFE}")
        out.seek(0)
        return out.read()


def _in_process(key: str, data: bytes, name: str) -> bytes:
    """Decode without a child process on systems without process limits (Windows), guarded by the footer's bounds."""
    try:
        return b"".join(bytes(part) for part in decoders.decoded(key, data, bounds()))
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
        "working_bytes": limits.working_bytes(),
    }


def _table(output: bytes, name: str, form: str) -> Table:
    """Return the table in the child's output: a line of JSON, then plain numbers; it is not trusted either."""
    end = output.find(b"\n")
    columns: dict[str, Array] = {}
    matrices: dict[str, Array] = {}
    try:
        described = json.loads(output[: max(end, 0)])
        if "refused" in described:
            raise InputError(f"{name}{described['refused'][:600]}")
        if "too_large" in described:
            check_rows(name, *described["too_large"])
        names = [str(column["name"]) for column in described["columns"]]
        unique_names(names, name)
        check_lengths(names, name)
        blocks: dict[int, Array] = {}
        for column in described["columns"]:
            array = _array(output, column, end + 1, blocks)
            (columns if array.ndim == 1 else matrices)[str(column["name"])] = array
        lines = _array(output, described["lines"], end + 1, blocks) if "lines" in described else None
        notes = tuple(str(note)[:600] for note in described["notes"])
    except (KeyError, TypeError, IndexError, ValueError) as e:
        if isinstance(e, InputError):
            raise
        raise InputError(f"{name} {_UNSAFE}") from e
    return Table(name, form, columns, matrices, lines, notes)


def check_lengths(names: list[str], name: str) -> None:
    for j, n in enumerate(names):
        if not n.strip() or len(n) > limits.NAME_CHARS:
            raise InputError(
                f"{name}: column {j + 1} ({quoted(n)}) needs a name of 1 to {limits.NAME_CHARS} characters"
            )


def _array(output: bytes, column: dict[str, Any], start: int, blocks: dict[int, Array]) -> Array:
    """Return a matrix, or one column as a view of its block, so that adjacent columns stay adjacent."""
    dtype = np.dtype(str(column["dtype"]))
    if dtype.kind not in "biuf":
        raise ValueError(dtype)
    rows, width, offset = int(column["rows"]), int(column["width"]), start + int(column["offset"])
    if offset not in blocks:
        blocks[offset] = np.frombuffer(output, dtype, rows * width, offset).reshape(rows, width)
    if column["column"] is None:
        return blocks[offset]
    values = blocks[offset][:, int(column["column"])]
    if column.get("words") is None:
        return values
    words = np.empty(len(column["words"]), dtype=object)
    words[:] = [str(word) for word in column["words"]]
    return np.asarray(words[values])
