"""Decode one file from standard input to plain numbers on standard output, within fixed limits.

This script runs in a separate process, which may die; it imports decoders and nothing from this project. Output: one
line of JSON with the columns (or the reason for a refusal), then the numbers. Adjacent columns of one type are written
as one matrix of rows. Text is written as codes, with its strings in the JSON.
"""

from __future__ import annotations

import datetime
import io
import json
import math
import os
import re
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

_ALIGNED, _DEEPEST = 64, 16
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


class DecodingRefusedError(Exception):
    """The file cannot be decoded; the message continues the file's name."""


class TooLargeError(Exception):
    """There are too many rows and columns to read at once; the caller writes the message."""

    def __init__(self, rows: int, columns: int) -> None:
        super().__init__(rows, columns)
        self.shape = [rows, columns]


@dataclass(frozen=True)
class Decoded:
    """Columns of a file as (name, numbers, strings of a text column), with notes and the line of each row.

    Numbers of one column have shape (n,) and those of a matrix (n, K); text is written as indices of its strings.
    """

    columns: list[tuple[str, Any, list[str] | None]]
    notes: list[str] = field(default_factory=list)
    lines: Any = None


def main() -> None:
    """Limit this process, then read."""
    key, bounds = sys.argv[1], json.loads(sys.argv[2])
    limit(bounds)
    threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
    for part in decoded(key, sys.stdin.buffer.read(), bounds):
        sys.stdout.buffer.write(part)


def _end_with(parent: int) -> None:
    """End this process when its parent ends, which may be killed."""
    while os.getppid() == parent:
        time.sleep(1.0)
    os._exit(1)


def limit(bounds: dict[str, int]) -> None:
    """Limit memory, processor time, output and core dumps of this process, on systems that can."""
    try:
        import resource
    except ImportError:  # Windows
        return
    for what, most in (
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_AS, bounds["memory"]),
        (resource.RLIMIT_CPU, bounds["seconds"]),
        (resource.RLIMIT_FSIZE, 2 * bounds["decoded_bytes"]),
    ):
        _, hard = resource.getrlimit(what)
        least = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(what, (least, least))


def decoded(key: str, data: bytes, bounds: dict[str, int]) -> Iterator[Any]:
    """Return the parts of the output: a line of JSON, then buffers of numbers."""
    try:
        described, buffers = _laid_out(DECODERS[key](data, bounds))
    except DecodingRefusedError as e:
        described, buffers = {"refused": str(e)}, []
    except TooLargeError as e:
        described, buffers = {"too_large": e.shape}, []
    line = json.dumps(described).encode()
    # The numbers start at a multiple of 64, so that aligning them needs no copy.
    yield line + b" " * (-(len(line) + 1) % _ALIGNED) + b"\n"
    yield from (memoryview(buffer) for buffer in buffers)


def _laid_out(found: Decoded) -> tuple[dict[str, Any], list[Any]]:
    import numpy

    described: dict[str, Any] = {"columns": [], "notes": found.notes}
    buffers: list[Any] = []
    offset = 0
    every = [*found.columns, *([] if found.lines is None else [("", found.lines, None)])]
    for (dtype, rows, matrix), run in groupby(every, key=_block):
        group = list(run)
        block = numpy.ascontiguousarray(group[0][1]) if matrix else numpy.zeros((rows, len(group)), dtype)
        for j, (name, values, words) in enumerate(group):
            entry = {"name": name, "dtype": dtype.str, "rows": rows, "width": block.shape[1], "offset": offset}
            entry |= {"column": None if matrix else j, "words": words}
            if not matrix:
                block[:, j] = values
            if values is found.lines:
                described["lines"] = entry
            else:
                described["columns"].append(entry)
        buffers += [block, b" " * (-block.nbytes % _ALIGNED)]
        offset += block.nbytes + len(buffers[-1])
    return described, buffers


def _block(column: tuple[str, Any, list[str] | None]) -> tuple[Any, int, str]:
    """Return what the columns of one block have in common; a matrix is a block by itself."""
    name, values, _ = column
    return values.dtype, len(values), name if values.ndim == 2 else ""


# -- pyarrow: Parquet, Arrow and ORC ------------------------------------------------------------------------------


def _one_thread() -> Any:
    import pyarrow as pa

    pa.set_cpu_count(1)
    pa.set_io_thread_count(1)
    return pa


def _parquet(data: bytes, bounds: dict[str, int]) -> Decoded:
    pa = _one_thread()
    import pyarrow.parquet as pq

    file = pq.ParquetFile(
        pa.BufferReader(data),
        thrift_string_size_limit=bounds["footer_bytes"],
        thrift_container_size_limit=1_000_000,
        pre_buffer=False,
    )
    _check_size(file.metadata.num_rows, file.metadata.num_columns, bounds)
    schema = file.schema_arrow
    if holds_records(schema.names):
        return _of_arrow(_records(file, bounds, pa), bounds, pa)
    for each in schema:
        check_type(each.name, each.type, pa)
    words = [f.name for f in schema if _is_text(_plain(f.type, pa), pa)]
    file = pq.ParquetFile(pa.BufferReader(data), read_dictionary=words, pre_buffer=False)
    table = file.read(use_threads=False)
    if table.num_rows != file.metadata.num_rows:
        raise DecodingRefusedError(" is damaged: its footer declares another number of rows; save it again")
    return _of_arrow(table, bounds, pa)


def _arrow(data: bytes, bounds: dict[str, int]) -> Decoded:
    """Decode an Arrow file (Feather of version 2) or an Arrow stream, as Hugging Face datasets store them."""
    pa = _one_thread()
    source = pa.BufferReader(data)
    batches = []
    with (pa.ipc.open_file if data.startswith(b"ARROW1") else pa.ipc.open_stream)(source) as reader:
        for each in reader.schema:
            check_type(each.name, each.type, pa)
        count = getattr(reader, "num_record_batches", None)
        every = reader if count is None else map(reader.get_batch, range(count))
        rows = n_bytes = 0
        for batch in every:
            # An offset that is out of its array would be followed anywhere.
            batch.validate(full=True)
            rows, n_bytes = rows + batch.num_rows, n_bytes + batch.nbytes
            _check_size(max(rows, 1), batch.num_columns, bounds)
            _check_unpacked(n_bytes, bounds)
            batches.append(batch)
        table = pa.Table.from_batches(batches, reader.schema)
    _check_size(table.num_rows, table.num_columns, bounds)
    return _of_arrow(table, bounds, pa)


def _orc(data: bytes, bounds: dict[str, int]) -> Decoded:
    pa = _one_thread()
    import pyarrow.orc as orc

    file = orc.ORCFile(pa.BufferReader(data))
    _check_size(file.nrows, len(file.schema), bounds)
    for each in file.schema:
        check_type(each.name, each.type, pa)
    table = file.read()
    table.validate(full=True)
    return _of_arrow(table, bounds, pa)


def _of_arrow(table: Any, bounds: dict[str, int], pa: Any) -> Decoded:
    """Return plain columns, structures as columns named by path, and lists of equally many numbers as matrices."""
    while any(pa.types.is_struct(each.type) for each in table.schema):
        table = table.flatten()
    _check_size(table.num_rows, table.num_columns, bounds)
    if len(set(table.column_names)) < table.num_columns:
        twice = next(name for name in table.column_names if table.column_names.count(name) > 1)
        raise DecodingRefusedError(f' has two columns called "{twice[:80]}"; give every column its own name')
    _check_unpacked(table.nbytes, bounds)
    columns: list[tuple[str, Any, list[str] | None]] = []
    for name in table.column_names:
        column = table.column(name)
        if _is_list(column.type, pa):
            columns.append((name, _matrix(name, column, bounds, pa), None))
        else:
            columns.append((name, *numbers(name, column, bounds, pa)))
    return _with_class_names(Decoded(columns), _class_labels(table.schema))


def _is_list(kind: Any, pa: Any) -> bool:
    t = pa.types
    return bool(t.is_list(kind) or t.is_large_list(kind) or t.is_fixed_size_list(kind))


def _matrix(name: str, column: Any, bounds: dict[str, int], pa: Any) -> Any:
    """Return a column of lists as a matrix (n, K), or as one column if lists have one number; null is NaN."""
    import numpy
    import pyarrow.compute as pc

    lengths = pc.list_value_length(column)
    least, most = pc.min(lengths).as_py(), pc.max(lengths).as_py()
    if not most or least != most:
        what = "no numbers" if not most else f"{least:,} to {most:,} numbers"
        raise DecodingRefusedError(f': column "{name[:80]}" has lists of {what}; every row needs one per class')
    _check_size(len(column), most, bounds)
    kind = column.type.value_type
    flat = pc.list_flatten(column).cast(kind if pa.types.is_float32(kind) else pa.float64())
    matrix = numpy.full((len(column), most), numpy.nan, flat.to_numpy().dtype)
    matrix[pc.is_valid(column).to_numpy()] = flat.to_numpy().reshape(-1, most)
    return matrix[:, 0] if most == 1 else matrix


def _class_labels(schema: Any) -> dict[str, list[str]]:
    """Return the names of the classes of label columns, in the description that Hugging Face datasets add."""
    try:
        features = json.loads((schema.metadata or {})[b"huggingface"])["info"]["features"]
        found = {name: each["names"] for name, each in features.items() if each.get("_type") == "ClassLabel"}
    except (KeyError, TypeError, ValueError, AttributeError):
        return {}
    return {name: names for name, names in found.items() if isinstance(names, list) and names}


def _with_class_names(found: Decoded, classes: Mapping[str, list[str]]) -> Decoded:
    """Add the names of classes as a column of their own if there is a matrix with one column per class."""
    import numpy

    widths = {values.shape[1] for _, values, _ in found.columns if values.ndim == 2}
    names = next((each for each in classes.values() if len(each) in widths), None)
    if names is None or any(name == "class_names" for name, _, _ in found.columns):
        return _labelled(found, {name: dict(enumerate(each)) for name, each in classes.items()})
    found.columns.append(("class_names", numpy.arange(len(names)), [str(name) for name in names]))
    return found


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
        raise DecodingRefusedError(
            " has lighteval details without choices and logprobs; save the details of a multiple-choice task"
        )
    table = file.read(columns=known, use_threads=False)
    _check_unpacked(table.nbytes, bounds)
    rows = (row for batch in table.to_batches(max_chunksize=1000) for row in batch.to_pylist())
    texts = (json.dumps({_plain_path(name): value for name, value in row.items()}) for row in rows)
    return pa.table({RECORDS: pa.array(texts, pa.large_string())})


def _check_size(rows: int, columns: int, bounds: dict[str, int]) -> None:
    if rows <= 0 or columns <= 0:
        raise DecodingRefusedError(" has no rows or no columns; save at least one prediction")
    if columns > bounds["columns"]:
        raise DecodingRefusedError(
            f" has {columns:,} columns; the maximum is {bounds['columns']:,}. Rows are predictions and columns are "
            "classes; the table may be transposed"
        )
    if rows * columns * 8 > bounds["decoded_bytes"]:
        raise DecodingRefusedError(
            f" has {rows:,} rows of {columns:,} columns; the maximum is {bounds['decoded_bytes'] // 8:,} values. Save "
            "fewer rows"
        )
    check_working_memory(rows, columns, bounds)


def _check_unpacked(n_bytes: int, bounds: dict[str, int]) -> None:
    if n_bytes > bounds["decoded_bytes"]:
        raise DecodingRefusedError(f" unpacks to {n_bytes >> 20:,} MB; save fewer rows")


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


def check_type(name: str, kind: Any, pa: Any, depth: int = 0) -> None:
    t = pa.types
    plain = _plain(kind, pa)
    if t.is_struct(plain) and plain.num_fields and depth < _DEEPEST:
        for each in plain:
            check_type(f"{name}.{each.name}", each.type, pa, depth + 1)
        return
    if _is_list(plain, pa) and _is_number(plain.value_type, pa):
        return
    if t.is_nested(plain):
        raise DecodingRefusedError(f': column "{name[:80]}" is nested ({str(kind)[:60]}); save one column per class')
    if not (_is_number(plain, pa) or _is_text(plain, pa) or _is_time(plain, pa) or t.is_null(plain)):
        raise DecodingRefusedError(f': column "{name[:80]}" has type {str(kind)[:60]}; save numbers, booleans or text')


def _is_number(kind: Any, pa: Any) -> bool:
    t = pa.types
    return bool(t.is_integer(kind) or t.is_floating(kind) or t.is_decimal(kind) or t.is_boolean(kind))


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
            raise DecodingRefusedError(f': column "{name[:80]}" has text of {longest:,} characters; remove this column')
    if sum(chunk.dictionary.nbytes for chunk in column.chunks) > bounds["dictionary_bytes"]:
        most = f"{bounds['dictionary_bytes'] >> 20} MB"
        raise DecodingRefusedError(f': column "{name[:80]}" has more than {most} of distinct texts; remove this column')
    codes: list[Any] = []
    words: list[str] = []
    for chunk in column.chunks:
        # Null rows refer to an additional string, the empty text, which means a missing text in all tables.
        here = [word or "" for word in chunk.dictionary.to_pylist()]
        codes.append(chunk.indices.fill_null(len(here)).cast(pa.int64()).to_numpy() + len(words))
        words += [*here, ""]
    return numpy.concatenate(codes), words


# -- files of statistics packages ---------------------------------------------------------------------------------


def _stata(data: bytes, bounds: dict[str, int]) -> Decoded:
    import pandas

    file: Any = pandas.read_stata(io.BytesIO(data), convert_categoricals=False, iterator=True)
    with file as reader:
        frame = reader.read()
        labels = reader.value_labels()
        # A variable refers to its labels by the name of their set, usually its own.
        sets = dict(zip(getattr(reader, "_varlist", ()), getattr(reader, "_lbllist", ()), strict=True))
    _check_size(len(frame), len(frame.columns), bounds)
    return _labelled(_of_frame(frame, bounds), {name: labels.get(sets.get(name, name), {}) for name in frame.columns})


def _readstat(reader: str) -> Callable[[bytes, dict[str, int]], Decoded]:
    """Return a decoder by one of pyreadstat's functions, which read from a path only."""

    def decode(data: bytes, bounds: dict[str, int]) -> Decoded:
        import pyreadstat

        read = getattr(pyreadstat, reader)
        with tempfile.NamedTemporaryFile() as file:
            file.write(data)
            file.flush()
            _, about = read(file.name, metadataonly=True)
            _check_size(about.number_rows or 1, about.number_columns, bounds)
            frame, about = read(file.name)
        _check_size(len(frame), len(frame.columns), bounds)
        return _labelled(_of_frame(frame, bounds), about.variable_value_labels or {})

    return decode


def _of_frame(frame: Any, bounds: dict[str, int]) -> Decoded:
    columns: list[tuple[str, Any, list[str] | None]] = []
    for name in frame.columns:
        values = frame[name]
        if values.dtype.kind in "biuf":
            columns.append((str(name), values.to_numpy(), None))
        else:
            texts = ["" if _is_missing(value) else _text_of(value) for value in values.tolist()]
            columns.append((str(name), *_codes(str(name), texts, bounds)))
    return Decoded(columns)


def _is_missing(value: Any) -> bool:
    return value is None or value != value


def _text_of(value: Any) -> str:
    """Return a value as text: whole numbers without a point, and dates without a time of midnight."""
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < 2**53 else repr(value)
    if isinstance(value, datetime.datetime) and value.time() == datetime.time():
        return value.date().isoformat()
    return str(value)


def _codes(name: str, texts: Sequence[str], bounds: dict[str, int]) -> tuple[Any, list[str]]:
    """Return texts as indices of their distinct strings."""
    import numpy

    words: dict[str, int] = {}
    codes = numpy.fromiter((words.setdefault(text, len(words)) for text in texts), numpy.int64, len(texts))
    longest = max(map(len, words), default=0)
    if longest > bounds["field_chars"]:
        raise DecodingRefusedError(f': column "{name[:80]}" has text of {longest:,} characters; remove this column')
    if sum(map(len, words)) > bounds["dictionary_bytes"]:
        most = f"{bounds['dictionary_bytes'] >> 20} MB"
        raise DecodingRefusedError(f': column "{name[:80]}" has more than {most} of distinct texts; remove this column')
    return codes, list(words)


def _labelled(found: Decoded, labels: Mapping[str, Mapping[Any, str]]) -> Decoded:
    """Replace codes by their labels if other columns are named after these, as p_cat is; else note the labels.

    Two codes other than 0 and 1 are replaced, too: 1 for yes and 2 for no would be read in the wrong order.
    """
    import numpy

    names = [name.casefold() for name, _, _ in found.columns]
    columns: list[tuple[str, Any, list[str] | None]] = []
    for name, values, words in found.columns:
        texts = {_text_of(code): str(text) for code, text in labels.get(name, {}).items()}
        codes = [] if words or not texts or values.ndim > 1 else numpy.unique(values[~numpy.isnan(values)]).tolist()
        shown = [texts.get(_text_of(code)) for code in codes]
        if not codes or None in shown or len(set(shown)) < len(shown):
            columns.append((name, values, words))
        elif _ends(names, shown) or _any_two(codes, names):
            place = numpy.searchsorted(codes, values)
            columns.append((name, numpy.where(numpy.isnan(values), len(codes), place), [*map(str, shown), ""]))
            found.notes.append(f"Codes of {name[:80]} were replaced by their labels ({_coded(codes, shown)}).")
        else:
            columns.append((name, values, words))
            found.notes.append(f"{name[:80]} was read by its codes ({_coded(codes, shown)}).")
    return Decoded(columns, found.notes, found.lines)


def _ends(names: Sequence[str], texts: Sequence[str | None]) -> bool:
    """True if for each text there is a name that ends with it."""
    return all(any(each.endswith(str(text).casefold()) for each in names) for text in texts)


def _any_two(codes: Sequence[float], names: Sequence[str]) -> bool:
    """True for two codes other than 0 and 1, unless columns are named after them, as p_1 and p_2 are."""
    return len(codes) == 2 and codes != [0, 1] and not _ends(names, [_text_of(code) for code in codes])


def _coded(codes: Sequence[Any], texts: Sequence[str | None]) -> str:
    """The first codes with their labels, for a note."""
    some = ", ".join(f"{_text_of(code)} = {str(text)[:40]}" for code, text in zip(codes[:5], texts, strict=False))
    return f"{some}{', ...' if len(codes) > 5 else ''}"


# -- Matlab -------------------------------------------------------------------------------------------------------


def _matlab(data: bytes, bounds: dict[str, int]) -> Decoded:
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
        _check_size(len(values), values.shape[1] if values.ndim == 2 else 1, bounds)
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
        return _codes(name, texts, bounds) if len(texts) > 1 else None
    if value.dtype.kind == "U" and value.size > 1 and value.size == max(value.shape):
        return _codes(name, [str(each).rstrip() for each in value.flat], bounds)
    if value.dtype.kind not in "biuf" or value.ndim != 2 or value.size < 2:
        return None
    array = value.astype(value.dtype.newbyteorder("="), copy=False)
    # Matlab has no vectors: a row is one column of numbers, like a column.
    return (array.ravel() if 1 in array.shape else array), None


# -- spreadsheets -------------------------------------------------------------------------------------------------

_ROWS_LOOKED_AT = 200


def _sheets(data: bytes, bounds: dict[str, int]) -> Decoded:
    """Decode the first sheet that has a table: the first with a column of numbers, else the first with two rows."""
    import python_calamine as calamine

    try:
        book = calamine.CalamineWorkbook.from_filelike(io.BytesIO(data))
        about = [each for each in book.sheets_metadata if each.typ == calamine.SheetTypeEnum.WorkSheet]
    except calamine.PasswordError as e:
        raise DecodingRefusedError(" is encrypted; save it without a password") from e
    except calamine.CalamineError as e:
        raise DecodingRefusedError(" is a damaged or cut off workbook; save it again, or as CSV") from e
    about.sort(key=lambda each: each.visible != calamine.SheetVisibleEnum.Visible)
    first = None
    for each in about[:_SHEETS]:
        try:
            sheet = book.get_sheet_by_name(each.name)
        except calamine.CalamineError as e:
            raise DecodingRefusedError(" is a damaged or cut off workbook; save it again, or as CSV") from e
        _check_size(max(sheet.height, 1), max(min(sheet.width, bounds["columns"]), 1), bounds)
        start = sheet.start or (0, 0)
        table = _table_of_cells(list(sheet.to_python()), start[0], bounds)
        if table is not None and (first is None or any(words is None for _, _, words in table.columns)):
            first = each.name, table
            if any(words is None for _, _, words in table.columns):
                break
    if first is None:
        raise DecodingRefusedError(" has no sheet with a header row and one row per prediction; add one")
    name, table = first
    others = [each.name for each in about if each.name != name]
    if others:
        some = ", ".join(f'"{each[:80]}"' for each in others[:5])
        table.notes.insert(0, f'Sheet "{name[:80]}" was read; the workbook also has {some}{_more(others, 5)}.')
    return table


_THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}(?:,\d{3})+")
"""Text such as "1,234", which is 1.234 or 1234."""
_SHEETS = 64
"""Most sheets of a workbook in which a table is searched."""


def _more(names: Sequence[object], most: int) -> str:
    return f" and {len(names) - most} more" if len(names) > most else ""


def _table_of_cells(cells: list[list[Any]], first_row: int, bounds: dict[str, int]) -> Decoded | None:
    """Return the table in the cells of a sheet; None if there is no header with a row below."""
    rows = [(first_row + i + 1, row) for i, row in enumerate(cells) if any(_is_filled(cell) for cell in row)]
    if len(rows) < 2:
        return None
    counts = [sum(map(_is_filled, row)) for _, row in rows]
    usual = Counter(counts[:_ROWS_LOOKED_AT]).most_common(1)[0][0]
    # A first column without a name is an index, so a header may have one name less.
    top = next(i for i, count in enumerate(counts) if count >= max(usual - 1, 1 if usual < 3 else 2))
    notes = []
    if top:
        notes.append(_rows_left([number for number, _ in rows[:top]], "above the header"))
    header, below = rows[top], rows[top + 1 :]
    below, ending = _without_remarks(below, usual)
    if ending:
        notes.append(_rows_left(ending, "below the table"))
    if not below:
        return None
    if _is_units(below):
        notes.append(_rows_left([below[0][0]], "of units below the header"))
        below = below[1:]
    names, places = _names_of(header, below)
    if len(places) > bounds["columns"]:
        _check_size(len(below), len(places), bounds)
    columns = []
    for name, j in zip(names, places, strict=True):
        column = [row[j] for _, row in below]
        values, words, note = _of_cells(name, column, bounds)
        columns.append((name, values, words))
        notes += note
    import numpy

    return Decoded(columns, notes, numpy.array([number for number, _ in below], dtype=numpy.int64))


def _is_filled(cell: Any) -> bool:
    return cell is not None and (not isinstance(cell, str) or bool(cell.strip()))


def _rows_left(numbers: Sequence[int], where: str) -> str:
    """Return the note on rows that are not part of the table."""
    first, last = numbers[0], numbers[-1]
    return (
        f"Row {first}, {where}, was left out." if first == last else f"Rows {first} to {last}, {where}, were left out."
    )


def _without_remarks(rows: list[tuple[int, Any]], usual: int) -> tuple[list[tuple[int, Any]], list[int]]:
    """Divide the rows of a table from remarks below an empty row, which fill one cell of at least three."""
    end = len(rows)
    while end > 1 and usual > 2 and sum(map(_is_filled, rows[end - 1][1])) == 1:
        end -= 1
    gap = end < len(rows) and end > 0 and rows[end][0] > rows[end - 1][0] + 1
    return (rows[:end], [number for number, _ in rows[end:]]) if gap else (rows, [])


def _is_units(rows: list[tuple[int, Any]]) -> bool:
    """True if the first row has texts, and none is in a column of texts."""
    if len(rows) < 3:
        return False
    first, others = rows[0][1], [row for _, row in rows[1:_ROWS_LOOKED_AT]]
    filled = [j for j, cell in enumerate(first) if _is_filled(cell)]
    texts = [j for j in filled if isinstance(first[j], str) and not _reads_as_number(first[j])]
    numeric = [j for j in texts if all(_is_number_cell(row[j]) for row in others if _is_filled(row[j]))]
    return bool(texts) and len(texts) == len(filled) and 2 * len(numeric) > len(filled)


def _is_number_cell(cell: Any) -> bool:
    return isinstance(cell, (int, float)) and not isinstance(cell, bool)


def _reads_as_number(text: str) -> bool:
    if _THOUSANDS.fullmatch(text.strip()):
        return False
    try:
        float(text.strip().rstrip("%").replace(",", "."))
    except ValueError:
        return False
    return True


def _names_of(header: tuple[int, Any], rows: list[tuple[int, Any]]) -> tuple[list[str], list[int]]:
    """Return the names of columns and their places; columns without name and values are left out."""
    number, cells = header
    names: list[str] = []
    places: list[int] = []
    for j, cell in enumerate(cells):
        filled = any(_is_filled(row[j]) for _, row in rows)
        if _is_filled(cell) or filled:
            name = _text_of(cell).strip() if _is_filled(cell) else ""
            if not name and places:
                raise DecodingRefusedError(f", row {number}: column {_letters(j)} has no name; name every column")
            names.append(name or "index")
            places.append(j)
    return names, places


def _letters(j: int) -> str:
    """Return the letters by which spreadsheets name a column."""
    return (_letters(j // 26 - 1) if j >= 26 else "") + chr(ord("A") + j % 26)


def _of_cells(name: str, cells: list[Any], bounds: dict[str, int]) -> tuple[Any, list[str] | None, list[str]]:
    """Return a column of cells as numbers if all are, else as text; and notes."""
    import numpy

    filled = [cell for cell in cells if _is_filled(cell)]
    if not filled:
        note = f"Column {name[:80]} has no values. If it has formulas, open the file in a spreadsheet and save it."
        return numpy.full(len(cells), numpy.nan), None, [note]
    if all(map(_is_number_cell, filled)):
        values = numpy.array([float(cell) if _is_filled(cell) else math.nan for cell in cells])
        whole = numpy.isfinite(values).all() and (values == numpy.floor(values)).all() and (abs(values) < 2**53).all()
        return values.astype(numpy.int64) if whole else values, None, []
    texts = [str(cell) for cell in filled if isinstance(cell, str)]
    others = [cell for cell in filled if not isinstance(cell, str)]
    written = bool(others) or any("," in text for text in texts)
    if written and all(map(_reads_as_number, texts)) and all(map(_is_number_cell, others)):
        return (*_of_mixed(cells), [f"Numbers written as text in column {name[:80]} were read as numbers."])
    return (*_codes(name, [_text_of(cell) if _is_filled(cell) else "" for cell in cells], bounds), [])


def _of_mixed(cells: list[Any]) -> tuple[Any, None]:
    import numpy

    def value(cell: Any) -> float:
        if not _is_filled(cell):
            return math.nan
        if not isinstance(cell, str):
            return float(cell)
        text = cell.strip()
        return float(text.rstrip("%").replace(",", ".")) / (100 if text.endswith("%") else 1)

    return numpy.array([value(cell) for cell in cells]), None


DECODERS: dict[str, Callable[[bytes, dict[str, int]], Decoded]] = {
    "arrow": _arrow,
    "matlab": _matlab,
    "orc": _orc,
    "parquet": _parquet,
    "sas": _readstat("read_sas7bdat"),
    "sheets": _sheets,
    "spss": _readstat("read_sav"),
    "stata": _stata,
    "xport": _readstat("read_xport"),
}


if __name__ == "__main__":
    main()
