"""Decode one Parquet file from standard input to plain numbers on standard output, within fixed limits.

This script runs in a separate process, which may die; it imports pyarrow and nothing from this project. Output: one
line of JSON with the columns (or the reason for a refusal), then the numbers. Adjacent columns of one type are written
as one matrix of rows. Text is written as codes, with its strings in the JSON.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Iterator
from itertools import groupby
from typing import Any

_ALIGNED = 64
RECORDS = "doc and model_response"
"""Only column of a file with lighteval's nested columns: each row as JSON, without prompts and answers."""
_DETAILS = ({"doc", "model_response", "metric"}, {"__doc__", "__model_response__", "__metric__"})
"""Names of lighteval's columns: in its files, and in its documentation."""
_NEEDED = (
    *(f"doc.{name}" for name in ("choices", "gold_index", "id", "task_name")),
    *(f"model_response.{name}" for name in ("logprobs", "argmax_logits_eq_gold")),
    "metric",
)
_WITHOUT_WHICH = ("doc.choices", "model_response.logprobs")


class ParquetRefusedError(Exception):
    """The file cannot be decoded; the message continues the file's name."""


class TooLargeError(Exception):
    """There are too many rows and columns to read at once; the caller writes the message."""

    def __init__(self, rows: int, columns: int) -> None:
        super().__init__(rows, columns)
        self.shape = [rows, columns]


def main() -> None:
    """Limit this process, then read."""
    bounds = json.loads(sys.argv[1])
    limit(bounds)
    threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
    for part in decoded(sys.stdin.buffer.read(), bounds):
        sys.stdout.buffer.write(part)


def _end_with(parent: int) -> None:
    """End this process when its parent ends, which may be killed."""
    while os.getppid() == parent:
        time.sleep(1.0)
    os._exit(1)


def limit(bounds: dict[str, int]) -> None:
    """Limit memory, processor time, output and core dumps of this process."""
    import resource

    for what, most in (
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_AS, bounds["memory"]),
        (resource.RLIMIT_CPU, bounds["seconds"]),
        (resource.RLIMIT_FSIZE, 2 * bounds["decoded_bytes"]),
    ):
        _, hard = resource.getrlimit(what)
        least = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(what, (least, least))


def decoded(data: bytes, bounds: dict[str, int]) -> Iterator[Any]:
    """Return the parts of the output: a line of JSON, then buffers of numbers."""
    try:
        described, buffers = _decode(data, bounds)
    except ParquetRefusedError as e:
        described, buffers = {"refused": str(e)}, []
    except TooLargeError as e:
        described, buffers = {"too_large": e.shape}, []
    line = json.dumps(described).encode()
    # The numbers start at a multiple of 64, so that aligning them needs no copy.
    yield line + b" " * (-(len(line) + 1) % _ALIGNED) + b"\n"
    yield from (memoryview(buffer) for buffer in buffers)


def _decode(data: bytes, bounds: dict[str, int]) -> tuple[dict[str, Any], list[Any]]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    pa.set_cpu_count(1)
    pa.set_io_thread_count(1)
    file = pq.ParquetFile(
        pa.BufferReader(data),
        thrift_string_size_limit=bounds["footer_bytes"],
        thrift_container_size_limit=1_000_000,
        pre_buffer=False,
    )
    _check_footer(file.metadata, bounds)
    schema = file.schema_arrow
    if holds_records(schema.names):
        return _laid_out(_records(file, bounds, pa), bounds, pa)
    for field in schema:
        check_type(field.name, field.type, pa)
    words = [f.name for f in schema if _is_text(_plain(f.type, pa), pa)]
    file = pq.ParquetFile(pa.BufferReader(data), read_dictionary=words, pre_buffer=False)
    table = file.read(use_threads=False)
    if table.num_rows != file.metadata.num_rows:
        raise ParquetRefusedError(" is damaged: its footer declares another number of rows; save it again")
    if len(set(table.column_names)) < table.num_columns:
        twice = next(name for name in table.column_names if table.column_names.count(name) > 1)
        raise ParquetRefusedError(f' has two columns called "{twice[:80]}"; give every column its own name')
    return _laid_out(table, bounds, pa)


def holds_records(names: list[str]) -> bool:
    """True for the columns of lighteval's details."""
    return any(columns <= set(names) for columns in _DETAILS)


def _plain_path(path: str) -> str:
    """Path of a value in lighteval's details, without the underscores around the column."""
    column, dot, rest = path.partition(".")
    return column.strip("_") + dot + rest


def _records(file: Any, bounds: dict[str, int], pa: Any) -> Any:
    """Return the rows of nested columns as a table with one column of JSON."""
    leaves = [file.metadata.schema.column(j).path for j in range(file.metadata.num_columns)]
    known = [leaf for leaf in leaves if any(f"{_plain_path(leaf)}.".startswith(f"{name}.") for name in _NEEDED)]
    if not all(any(_plain_path(leaf).startswith(f"{name}.") for leaf in known) for name in _WITHOUT_WHICH):
        raise ParquetRefusedError(
            " has lighteval details without choices and logprobs; save the details of a multiple-choice task"
        )
    table = file.read(columns=known, use_threads=False)
    if table.nbytes > bounds["decoded_bytes"]:
        raise ParquetRefusedError(f" unpacks to {table.nbytes >> 20:,} MB; save fewer rows")
    rows = (row for batch in table.to_batches(max_chunksize=1000) for row in batch.to_pylist())
    texts = (json.dumps({_plain_path(name): value for name, value in row.items()}) for row in rows)
    return pa.table({RECORDS: pa.array(texts, pa.large_string())})


def _check_footer(metadata: Any, bounds: dict[str, int]) -> None:
    rows, columns = metadata.num_rows, metadata.num_columns
    if rows <= 0 or columns <= 0:
        raise ParquetRefusedError(" has no rows or no columns; save at least one prediction")
    if columns > bounds["columns"]:
        raise ParquetRefusedError(
            f" has {columns:,} columns; the maximum is {bounds['columns']:,}. Rows are predictions and columns are "
            "classes; the table may be transposed"
        )
    if rows * columns * 8 > bounds["decoded_bytes"]:
        raise ParquetRefusedError(
            f" has {rows:,} rows of {columns:,} columns; the maximum is {bounds['decoded_bytes'] // 8:,} values. Save "
            "fewer rows"
        )
    check_working_memory(rows, columns, bounds)


def check_working_memory(rows: int, columns: int, bounds: dict[str, int]) -> None:
    if rows > bounds["rows"] or rows * (bounds["row_bytes"] + 16 * columns) > bounds["working_bytes"]:
        raise TooLargeError(rows, columns)


def _plain(kind: Any, pa: Any) -> Any:
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def _is_text(kind: Any, pa: Any) -> bool:
    t = pa.types
    return bool(t.is_string(kind) or t.is_large_string(kind) or t.is_string_view(kind))


def _is_time(kind: Any, pa: Any) -> bool:
    return bool(pa.types.is_timestamp(kind) or pa.types.is_date(kind))


def check_type(name: str, kind: Any, pa: Any) -> None:
    t = pa.types
    plain = _plain(kind, pa)
    if t.is_nested(plain):
        raise ParquetRefusedError(f': column "{name[:80]}" is nested ({str(kind)[:60]}); save one column per class')
    number = t.is_integer(plain) or t.is_floating(plain) or t.is_decimal(plain) or t.is_boolean(plain)
    if not (number or _is_text(plain, pa) or _is_time(plain, pa) or t.is_null(plain)):
        raise ParquetRefusedError(f': column "{name[:80]}" has type {str(kind)[:60]}; save numbers, booleans or text')


def _laid_out(table: Any, bounds: dict[str, int], pa: Any) -> tuple[dict[str, Any], list[Any]]:
    import numpy

    taken = [(name, *numbers(name, table.column(name), bounds, pa)) for name in table.column_names]
    columns: list[dict[str, Any]] = []
    buffers: list[Any] = []
    offset = 0
    for dtype, run in groupby(taken, key=lambda column: column[1].dtype):
        group = list(run)
        block = numpy.zeros((table.num_rows, len(group)), dtype=dtype)
        for j, (name, values, words) in enumerate(group):
            block[:, j] = values
            columns.append(
                {"name": name, "dtype": dtype.str, "width": len(group), "column": j, "offset": offset, "words": words}
            )
        buffers += [block, b" " * (-block.nbytes % _ALIGNED)]
        offset += block.nbytes + len(buffers[-1])
    return {"rows": table.num_rows, "columns": columns}, buffers


def numbers(name: str, column: Any, bounds: dict[str, int], pa: Any) -> tuple[Any, list[str] | None]:
    """Return a column as numbers, and the strings of a text column; null becomes NaN or the empty text."""
    kind = _plain(column.type, pa)
    if _is_text(kind, pa) or _is_time(kind, pa):
        return _text(name, column, bounds, pa)
    if pa.types.is_dictionary(column.type):
        column = column.cast(kind)
    if pa.types.is_decimal(kind) or pa.types.is_null(kind):
        column = column.cast(pa.float64())
    if pa.types.is_float16(kind):
        column = column.cast(pa.float32())
    if column.null_count and not pa.types.is_floating(column.type):
        column = (column.cast(pa.int8()) if pa.types.is_boolean(kind) else column).cast(pa.float64(), safe=False)
    return column.to_numpy(), None


def _text(name: str, column: Any, bounds: dict[str, int], pa: Any) -> tuple[Any, list[str]]:
    import numpy
    import pyarrow.compute as pc

    if _is_time(_plain(column.type, pa), pa):
        column = column.cast(pa.string())
    if not pa.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    for chunk in column.chunks:
        longest = pc.max(pc.utf8_length(chunk.dictionary)).as_py() or 0
        if longest > bounds["field_chars"]:
            raise ParquetRefusedError(f': column "{name[:80]}" has text of {longest:,} characters; remove this column')
    if sum(chunk.dictionary.nbytes for chunk in column.chunks) > bounds["dictionary_bytes"]:
        most = f"{bounds['dictionary_bytes'] >> 20} MB"
        raise ParquetRefusedError(f': column "{name[:80]}" has more than {most} of distinct texts; remove this column')
    codes: list[Any] = []
    words: list[str] = []
    for chunk in column.chunks:
        # Null rows refer to an additional string, the empty text, which means a missing text in all tables.
        here = [word or "" for word in chunk.dictionary.to_pylist()]
        codes.append(chunk.indices.fill_null(len(here)).cast(pa.int64()).to_numpy() + len(words))
        words += [*here, ""]
    return numpy.concatenate(codes), words


if __name__ == "__main__":
    main()
