"""JSON files: one object per line, or lists and documents of objects; nested records become columns and matrices.

The standard library's decoder reads each line exactly. Input that JSON readers usually accept silently is refused with
a reason. The function pandas.read_json is not used: it rounds numbers, accepts NaN and duplicate keys, and reports no
line numbers. The better pyarrow is an optional dependency.

Records of no known shape are flattened: one column per path, such as "scores.choice.value". A list becomes a matrix if
every record has one with the same number of numbers.
"""

from __future__ import annotations

import io
import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import chain, count, islice
from typing import Any

from calib_core.predictions.predictions import InputError
from calib_core.readers import limits
from calib_core.readers.column_store import Columns, UniformColumns, number
from calib_core.readers.file_format import file_format
from calib_core.readers.messages import quoted, size
from calib_core.readers.table import Table
from calib_core.readers.text_encoding import any_text
from calib_core.readers.tool_shapes import JsonDocument, Record, shape_of

AS_LINES = 'write one object per line, such as {"probs": [0.7, 0.3], "label": 0}'
"""Remedy for text that is not JSON."""


_OPENS, _SPACES = ("{", "["), " \t\n\r"
_SPACE = re.compile(f"[{_SPACES}]*")


class JsonRefusedError(ValueError):
    """Input that JSON readers usually accept silently; the message names it."""


def lines_of(data: bytes, name: str) -> Iterator[tuple[int, bytes]]:
    """Yield the nonempty lines with their numbers; InputError for a line that is too long."""
    stream = io.BytesIO(data)
    for place, line in enumerate(iter(lambda: stream.readline(limits.LINE_BYTES + 1), b""), 1):
        if len(line.removesuffix(b"\n")) > limits.LINE_BYTES:
            raise InputError(
                f"{name}, line {place} is longer than {limits.LINE_BYTES >> 20} MB; put one JSON object on each line"
            )
        if text := line.strip():
            yield place, text


def decoder(constant: Callable[[str], object]) -> json.JSONDecoder:
    """Return a decoder that refuses duplicate keys and oversized numbers; ``constant`` converts NaN and Infinity.

    >>> decoder(as_missing).decode('{"p": [0.1, 1]}')
    {'p': [0.1, 1]}
    """
    return json.JSONDecoder(object_pairs_hook=_pairs, parse_constant=constant, parse_float=_real)


def decoded(text: bytes, where: str, by: json.JSONDecoder) -> Any:
    """Decode a text; InputError, starting with its place, if it is not a JSON value.

    >>> decoded(b"[1, 2]", "a.json", json.JSONDecoder())
    [1, 2]
    """
    try:
        plain = text.decode("utf-8")
        if plain[:1] in _OPENS:  # no leading space to skip
            value, end = by.raw_decode(plain)
            if not plain[end:].strip(_SPACES):
                return value
        return by.decode(plain)
    except (RecursionError, ValueError) as e:
        raise _in_words(e, where) from e


def elements(text: bytes, where: str, by: json.JSONDecoder) -> Iterator[object]:
    """Yield the values of a list one by one, because all at once need ten times the text; errors as ``decoded``.

    >>> list(elements(b" [1, {}]", "a.json", json.JSONDecoder()))
    [1, {}]
    """
    plain = text.decode("utf-8")
    place = _behind(plain, plain.index("[") + 1)
    more = plain[place : place + 1] != "]"
    while more:
        try:
            value, place = by.raw_decode(plain, place)
        except (RecursionError, ValueError) as e:
            raise _in_words(e, where) from e
        yield value
        place = _behind(plain, place)
        more = plain[place : place + 1] == ","
        place = _behind(plain, place + more)
    if plain[place : place + 1] != "]" or plain[place + 1 :].strip(_SPACES):
        raise _in_words(ValueError(), where)


def _behind(plain: str, place: int) -> int:
    """Index of the first character after spaces."""
    found = _SPACE.match(plain, place)
    return found.end() if found else place


def _in_words(error: Exception, where: str) -> InputError:
    if isinstance(error, JsonRefusedError):
        return InputError(f"{where}: {error}")
    if isinstance(error, RecursionError):
        return InputError(f"{where} is nested too deeply; use one flat object per line")
    what = "has an integer with too many digits" if "integer string" in str(error) else "is not valid JSON"
    return InputError(f"{where} {what}; {AS_LINES}")


def one_value(text: bytes) -> bool:
    """True if the text is one JSON value.

    >>> one_value(b'{"p": 0.5}'), one_value(b'{"p":')
    (True, False)
    """
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def as_missing(name: str) -> None:
    """Convert NaN, Infinity and -Infinity in records to missing values; they are not JSON, but Python writes them."""


def as_number(name: str) -> float | None:
    """Convert NaN, Infinity and -Infinity in number columns; infinite logits of impossible classes stay infinite.

    >>> as_number("NaN"), as_number("-Infinity")
    (None, -inf)
    """
    return None if name == "NaN" else float(name)


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise JsonRefusedError(f"key {quoted(twice)} occurs twice; use each key once")
    return found


def _real(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        raise JsonRefusedError(f"{quoted(text)} is too large for a number; write a smaller one")
    return value


_LOOKED_AT = 50
_DEEPEST = 16
"""Maximum depth of nested objects; deeper ones are documents in the place of a value."""
_MANY = 10
"""Rows that distinguish the lists of a table from the classes of one row."""
_INSIDE = ("samples", "predictions", "results", "rows", "records", "data", "instances", "examples")
"""Usual keys of the only list of records in a document."""


DECODER = decoder(as_missing)
"""Decoder for records, with NaN and Infinity as missing values: their rows are counted if the value is needed."""


def document_table(
    name: str,
    records: Iterable[tuple[int, object]],
    about: Mapping[str, object] | None = None,
    by_line: bool = False,
) -> Table:
    """Return the table of records, numbered by line or position, by their shape if known, else flattened."""
    counted = _counted(name, records, by_line)
    first = list(islice(counted, _LOOKED_AT))
    if not first:
        raise InputError(f"{name} has no records; it needs one JSON object per prediction")
    document = JsonDocument(name, [record for _, record in first], chain(first, counted), about or {}, by_line)
    found = shape_of(document)
    return flattened(document) if found is None else replace(found.table(document), origin=found.key)


def document_records(name: str, value: object) -> tuple[Iterable[object], Mapping[str, object]] | None:
    """Return the records of a JSON document and its other values; None for an object without records.

    >>> rows, about = document_records("a.json", {"columns": ["p"], "data": [[0.7]], "ncols": 1})
    >>> list(rows), about
    ([{'p': 0.7}], {'ncols': 1})
    """
    if isinstance(value, list):
        return _named(value), {}
    if not isinstance(value, dict):
        return None
    if _is_split(value.get("columns"), value.get("data")):
        rows = _split(name, value["columns"], value["data"])
        return rows, {k: v for k, v in value.items() if k not in ("columns", "data")}
    if shape_of(JsonDocument(name, [value], [(0, value)])) is not None:
        return [value], {}  # one line of many
    if value and all(isinstance(each, dict) for each in value.values()):
        return _by_id(value), {}
    for key in _INSIDE:
        inside = value.get(key)
        if isinstance(inside, list) and inside and all(isinstance(each, dict) for each in inside[:_LOOKED_AT]):
            return inside, {k: v for k, v in value.items() if k != key}
    return _columns(value)


def _named(rows: list[Any]) -> list[Any]:
    """Return a list of records; lists of objects, as in pipeline output, become records with one value."""
    lists = rows and all(isinstance(row, list) for row in rows)
    return [{"list": row} for row in rows] if lists else rows


def _is_split(columns: Any, data: Any) -> bool:
    named = isinstance(columns, list) and all(isinstance(each, str) for each in columns)
    return named and isinstance(data, list) and all(isinstance(each, list) for each in data[:_LOOKED_AT])


def _split(name: str, columns: list[str], data: list[Any]) -> Iterator[Any]:
    if len(set(columns)) < len(columns):
        twice = next(each for each in columns if columns.count(each) > 1)
        raise InputError(f"{name} has two columns called {quoted(twice)}; give every column its own name")
    for i, row in enumerate(data):
        if not isinstance(row, list) or len(row) != len(columns):
            raise InputError(f"{name}: row {i} of data needs one value for each of the {len(columns):,} columns")
        yield dict(zip(columns, row, strict=True))


def _by_id(value: Mapping[str, Any]) -> list[Any]:
    """Return objects with their ids as a column; columns of objects by row are transposed."""
    inner = [tuple(each) for each in value.values()]
    rows = inner[0]
    if rows and all(each == rows for each in inner) and list(rows) == [str(i) for i in range(len(rows))]:
        return [{key: column[row] for key, column in value.items()} for row in rows]
    names = set(chain.from_iterable(value.values()))
    key = next(word for word in chain(("id", "key"), (f"id {i}" for i in count(2))) if word not in names)
    return [{key: each, **record} for each, record in value.items()]


def _columns(value: Mapping[str, Any]) -> tuple[Iterable[Any], Mapping[str, Any]] | None:
    """Return the rows of an object whose lists have equal lengths, and its other values.

    Next to a matrix of many rows, shorter lists are other values, such as the names of the classes.
    """
    lists = {key: each for key, each in value.items() if isinstance(each, list) and each}
    longest = max(map(len, lists.values()), default=0)
    if longest >= _MANY and any(len(each) == longest and isinstance(each[0], list) for each in lists.values()):
        lists = {key: each for key, each in lists.items() if len(each) == longest or isinstance(each[0], list)}
    if len(lists) < 2 or len({len(each) for each in lists.values()}) > 1:
        return None
    matrices = any(isinstance(each[0], list) for each in lists.values())
    texts = len(lists) == len(value) and any(isinstance(each[0], str) for each in lists.values())
    # Many rows of numbers only are columns, too, unless they are the scores and marks of one row's classes.
    several = len(lists) == len(value) and longest >= _MANY and not all(map(_sums_to_one, lists.values()))
    if not (matrices or texts or several):
        return None
    rows = (dict(zip(lists, row, strict=True)) for row in zip(*lists.values(), strict=True))
    return rows, {k: v for k, v in value.items() if k not in lists}


def _sums_to_one(values: list[Any]) -> bool:
    return all(isinstance(each, int | float) for each in values) and abs(sum(values) - 1) < 0.02


def flattened(document: JsonDocument) -> Table:
    """Flatten records of no known shape to columns and matrices; absent values are missing."""
    columns = Columns(document.name)
    for place, record in document.records:
        columns.add(by_path(record, document.where(place)), place)
    return columns.table(by_line=document.by_line)


def by_path(record: Record, where: str) -> dict[str, Any]:
    """Return the values of a record by dotted path."""
    found: dict[str, Any] = {}
    for path, value in _paths(record, where):
        if path in found:
            raise InputError(f"{where} has two values at {quoted(path)}; rename one of the keys")
        found[path] = value
    return found


def _paths(record: Record, where: str, before: str = "", depth: int = 0) -> Iterator[tuple[str, Any]]:
    if depth > _DEEPEST:
        raise InputError(f"{where} is nested too deeply; the maximum is {_DEEPEST} levels of objects")
    for key, value in record.items():
        if (vector := _vector(value)) is not None:
            yield f"{before}{key}", vector
        elif isinstance(value, dict):
            yield from _paths(value, where, f"{before}{key}.", depth + 1)
        elif (measures := _measures(value)) is not None:
            yield from _paths(measures, where, f"{before}{key}.", depth + 1)
        else:
            yield f"{before}{key}", _in_numbers(value) if isinstance(value, list) else value


def _vector(value: Any) -> list[Any] | None:
    """Return the numbers of a vector as Spark writes it, dense (type 1) or sparse (type 0); None for other values."""
    match value:
        case {"type": 1, "values": list(values)} if len(value) == 2:
            return values
        case {"type": 0, "size": int(n), "indices": list(places), "values": list(values)} if (
            len(value) == 4 and len(places) == len(values) and 0 < n <= limits.COLUMNS
            and all(type(place) is int and 0 <= place < n for place in places)
        ):  # fmt: skip
            known = dict(zip(places, values, strict=True))
            return [known.get(place, 0.0) for place in range(n)]
    return None


def _measures(value: Any) -> dict[str, Any] | None:
    """Return results in a list of {key, score}, as LangSmith writes feedback, by their key; None for other values."""
    if not isinstance(value, list) or not value or not all(isinstance(each, dict) for each in value):
        return None
    names = [each.get("key") for each in value]
    if not all(isinstance(name, str) and "score" in each for name, each in zip(names, value, strict=True)):
        return None
    return {each["key"]: each["score"] for each in value} if len(set(names)) == len(names) else None


def _in_numbers(values: list[Any]) -> list[Any]:
    """Convert numbers written as text, if one has a decimal point; other lists are unchanged."""
    if not all(isinstance(each, str) for each in values) or not any("." in each for each in values):
        return values
    found = [number(each) for each in values]
    return values if any(map(math.isnan, found)) else found


def _counted(name: str, records: Iterable[tuple[int, Any]], by_line: bool) -> Iterator[tuple[int, Record]]:
    for place, record in records:
        if not isinstance(record, dict):
            raise InputError(
                f"{name}, {'line' if by_line else 'record'} {place} is not an object; every record needs named values"
            )
        yield place, record


_LIST_OF_OBJECTS = re.compile(rb"[ \t\n\r]*\[[ \t\n\r]*\{")
"""Beginning of a list of objects, which are read one by one."""


def nested_table(data: bytes, name: str, lines: bool = False) -> Table | None:
    """Return the table of a document, or of lines with nested objects; None for flat lines and for text without JSON.

    Parameters
    ----------
    data : UTF-8 text.
    lines : True if the text is known to be lines, as part of a longer file.
    """
    if data[:4096].lstrip().startswith(b"["):
        if _LIST_OF_OBJECTS.match(data) is None:
            return _of_document(_value(data, name), name)
        _check(data, name)
        return document_table(name, enumerate(elements(data, name, DECODER)))
    if not lines and _one_long_line(data):
        return _of_document(_tried(data), name)
    every = lines_of(data, name)
    try:
        _, text = next(every)
    except StopIteration:
        return None
    following = next(every, None)
    first = _tried(text)
    if first is None or (following is not None and not isinstance(first, dict)):
        # Not one object per line: a document over several lines, or damage, which the strict reader reports.
        return None if lines else _of_document(_tried(data), name)
    if following is None and not lines:
        found = _of_document(first, name)
        if found is not None:
            return found
    if not isinstance(first, dict) or not any(map(_nested, first.values())):
        return None
    return document_table(name, _records(data, name), by_line=True)


def _one_long_line(data: bytes) -> bool:
    """True for one line that is too long to be one of many, such as a document written without line breaks."""
    return len(data) > limits.LINE_BYTES and b"\n" not in data[: limits.LINE_BYTES] and b"\n" not in data.rstrip()


def _of_document(value: Any, name: str) -> Table | None:
    """Return the table of one JSON value; None for an object without records."""
    found = document_records(name, value)
    if found is None:
        return None
    records, about = found
    return document_table(name, enumerate(records), about)


def _nested(value: Any) -> bool:
    """True for a value that flat lines cannot contain: an object, a list of objects, or a list of texts."""
    if isinstance(value, list):
        return any(isinstance(each, dict) for each in value) or (
            bool(value) and all(isinstance(each, str) for each in value)
        )
    return isinstance(value, dict)


def _records(data: bytes, name: str) -> Iterator[tuple[int, Any]]:
    for line, text in lines_of(data, name):
        yield line, _value(text, f"{name}, line {line}")


def _tried(text: bytes) -> Any:
    """Decode a text; None if it is not JSON or too large to be one value."""
    if len(text) > limits.DOCUMENT_BYTES:
        return None
    try:
        return DECODER.decode(text.decode("utf-8"))
    except (ValueError, RecursionError):
        return None


def _value(text: bytes, where: str) -> Any:
    """Decode one JSON value of any type."""
    _check(text, where)
    return decoded(text, where, DECODER)


def _check(text: bytes, where: str) -> None:
    if len(text) > limits.DOCUMENT_BYTES:
        raise InputError(
            f"{where} has {size(len(text))}; the maximum for one JSON document is {size(limits.DOCUMENT_BYTES)}. Write "
            "one JSON object per line"
        )


_OBJECTS = re.compile(rb"\s*(\[\s*){0,2}\{")
"""Beginning of an object, of a list of objects, or of a list of such lists."""


def _starts_with_an_object(data: bytes) -> bool:
    start = data[:4096].removeprefix(b"\xef\xbb\xbf").lstrip()
    return _OBJECTS.match(start) is not None


def _unpacked(data: bytes) -> int:
    """Estimate the memory of Python objects: of a document, decoded at once, or of the columns of lines."""
    start = data[:4096].removeprefix(b"\xef\xbb\xbf").lstrip()
    document = start.startswith(b"[") or start.partition(b"\n")[0].strip() == b"{" or b"\n" not in data.rstrip()
    return 2 * len(data) if document else len(data) * 4 // 3


@file_format("jsonl", "JSON Lines", ("jsonl", "ndjson", "json"), recognise=_starts_with_an_object, unpacked=_unpacked)
def parse_jsonl(data: bytes, name: str) -> Table:
    """Parse a JSON Lines file to columns and matrices; numbers are exact, missing values are null.

    >>> t = parse_jsonl(b'{"probs": [0.7, 0.3], "label": "cat"}\\n', "a.jsonl")
    >>> t.matrices["probs"].tolist(), t.columns["label"].tolist()
    ([[0.7, 0.3]], ['cat'])
    """
    return _parsed(data, name)


def parse_lines(data: bytes, name: str) -> Table:
    """Parse some lines of a longer file, in which a single line is not a document."""
    return _parsed(data, name, lines=True)


def _parsed(data: bytes, name: str, *, lines: bool = False) -> Table:
    content, notes = any_text(data, name)
    nested = nested_table(content, name, lines)
    found = _flat(content, name) if nested is None else nested
    return replace(found, notes=(*notes, *found.notes)) if notes else found


def _flat(content: bytes, name: str) -> Table:
    columns = UniformColumns(name)
    for line, text in lines_of(content, name):
        columns.add(_record(text, f"{name}, line {line}"), line)
    if not columns.rows:
        raise InputError(f"{name} has no records; it needs one JSON object per line")
    if not columns.names:
        raise InputError(f"{name} has no keys; write one object per line with scores and a label")
    return columns.table(by_line=True)


def _record(text: bytes, where: str) -> dict[str, Any]:
    value = decoded(text, where, _DECODER)
    if not isinstance(value, dict):
        raise InputError(f"{where} is not an object; {AS_LINES}")
    return value


_DECODER = decoder(as_number)
