"""Decode Parquet, Arrow and ORC by pyarrow."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from .decoded_columns import Decoded, DecodingRefusedError, check_size, check_unpacked, labelled

_DEEPEST = 16
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


def _one_thread() -> Any:
    import pyarrow as pa

    pa.set_cpu_count(1)
    pa.set_io_thread_count(1)
    return pa


def decode_parquet(data: bytes, bounds: dict[str, int]) -> Decoded:
    """Decode a Parquet file; text is read as codes, so that a repeated text is stored once."""
    pa = _one_thread()
    import pyarrow.parquet as pq

    file = pq.ParquetFile(
        pa.BufferReader(data),
        thrift_string_size_limit=bounds["footer_bytes"],
        thrift_container_size_limit=1_000_000,
        pre_buffer=False,
    )
    check_size(file.metadata.num_rows, file.metadata.num_columns, bounds)
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


def decode_arrow(data: bytes, bounds: dict[str, int]) -> Decoded:
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
            check_size(max(rows, 1), batch.num_columns, bounds)
            check_unpacked(n_bytes, bounds)
            batches.append(batch)
        table = pa.Table.from_batches(batches, reader.schema)
    check_size(table.num_rows, table.num_columns, bounds)
    return _of_arrow(table, bounds, pa)


def decode_orc(data: bytes, bounds: dict[str, int]) -> Decoded:
    """Decode an ORC file."""
    pa = _one_thread()
    import pyarrow.orc as orc

    file = orc.ORCFile(pa.BufferReader(data))
    check_size(file.nrows, len(file.schema), bounds)
    for each in file.schema:
        check_type(each.name, each.type, pa)
    table = file.read()
    table.validate(full=True)
    return _of_arrow(table, bounds, pa)


def _of_arrow(table: Any, bounds: dict[str, int], pa: Any) -> Decoded:
    """Return plain columns, structures as columns named by path, and lists of equally many numbers as matrices."""
    while any(pa.types.is_struct(each.type) for each in table.schema):
        table = table.flatten()
    check_size(table.num_rows, table.num_columns, bounds)
    if len(set(table.column_names)) < table.num_columns:
        twice = next(name for name in table.column_names if table.column_names.count(name) > 1)
        raise DecodingRefusedError(f' has two columns called "{twice[:80]}"; give every column its own name')
    check_unpacked(table.nbytes, bounds)
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
    check_size(len(column), most, bounds)
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
        return labelled(found, {name: dict(enumerate(each)) for name, each in classes.items()})
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
    check_unpacked(table.nbytes, bounds)
    rows = (row for batch in table.to_batches(max_chunksize=1000) for row in batch.to_pylist())
    texts = (json.dumps({_plain_path(name): value for name, value in row.items()}) for row in rows)
    return pa.table({RECORDS: pa.array(texts, pa.large_string())})


def _plain(kind: Any, pa: Any) -> Any:
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def _is_text(kind: Any, pa: Any) -> bool:
    t = pa.types
    return bool(t.is_string(kind) or t.is_large_string(kind) or t.is_string_view(kind))


def _is_time(kind: Any, pa: Any) -> bool:
    return bool(pa.types.is_timestamp(kind) or pa.types.is_date(kind))


def check_type(name: str, kind: Any, pa: Any, depth: int = 0) -> None:
    """Refuse a column that has neither numbers, text nor times, nor lists or structures of these."""
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
