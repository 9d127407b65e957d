"""JSON documents as records: lines of nested objects, a list of objects, objects by their ids, columns beside data.

What no shape knows is flattened: a column for every path, such as "scores.choice.value", and a matrix where every
record has a list of as many numbers.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import chain, count, islice
from typing import Any

from calib_core.predictions.predictions import InputError
from calib_core.readers.foreign.growing_columns import Columns, number
from calib_core.readers.foreign.recognition import JsonDocument, Record, shape_of
from calib_core.readers.formats.json_text import as_missing, decoder
from calib_core.readers.messages import quoted
from calib_core.readers.table import Table

_LOOKED_AT = 50
_DEEPEST = 16
"""Levels of nested objects that are flattened: deeper ones are documents put where a value belongs."""
_INSIDE = ("samples", "predictions", "results", "rows", "records", "data", "instances", "examples")
"""Keys under which a document's one list of records usually stands."""


DECODER = decoder(as_missing)
"""Reads records, in which NaN and Infinity are missing values: their rows are counted where the value is needed."""


def document_table(
    name: str,
    records: Iterable[tuple[int, Any]],
    about: Mapping[str, Any] | None = None,
    by_line: bool = False,
) -> Table:
    """The table of records, numbered by line or by place: of their shape where one is known, else flattened."""
    counted = _counted(name, records, by_line)
    first = list(islice(counted, _LOOKED_AT))
    if not first:
        raise InputError(f"{name} has 0 rows; it needs one JSON object for each prediction")
    document = JsonDocument(name, [record for _, record in first], chain(first, counted), about or {}, by_line)
    found = shape_of(document)
    return flattened(document) if found is None else replace(found.table(document), origin=found.key)


def document_records(name: str, value: Any) -> tuple[Iterable[Any], Mapping[str, Any]] | None:
    """The records of a JSON document, and what stands beside them; None of an object that holds no records.

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
        return [value], {}  # the only line of many
    if value and all(isinstance(each, dict) for each in value.values()):
        return _by_id(value), {}
    for key in _INSIDE:
        inside = value.get(key)
        if isinstance(inside, list) and inside and all(isinstance(each, dict) for each in inside[:_LOOKED_AT]):
            return inside, {k: v for k, v in value.items() if k != key}
    return _columns(value)


def _named(rows: list[Any]) -> list[Any]:
    """A list of records; lists of objects, as pipelines write one for each text, become records of one value."""
    lists = rows and all(isinstance(row, list) for row in rows)
    return [{"list": row} for row in rows] if lists else rows


def _is_split(columns: Any, data: Any) -> bool:
    named = isinstance(columns, list) and all(isinstance(each, str) for each in columns)
    return named and isinstance(data, list) and all(isinstance(each, list) for each in data[:_LOOKED_AT])


def _split(name: str, columns: list[str], data: list[Any]) -> Iterator[Any]:
    if len(set(columns)) < len(columns):
        twice = next(each for each in columns if columns.count(each) > 1)
        raise InputError(f"{name}: column {quoted(twice)} is there twice; give every column its own name")
    for i, row in enumerate(data):
        if not isinstance(row, list) or len(row) != len(columns):
            raise InputError(f"{name}: row {i} of data has not one value for each of the {len(columns):,} columns")
        yield dict(zip(columns, row, strict=True))


def _by_id(value: Mapping[str, Any]) -> list[Any]:
    """Objects by their ids, the id as a column; columns of objects by row turned round."""
    inner = [tuple(each) for each in value.values()]
    rows = inner[0]
    if rows and all(each == rows for each in inner) and list(rows) == [str(i) for i in range(len(rows))]:
        return [{key: column[row] for key, column in value.items()} for row in rows]
    names = set(chain.from_iterable(value.values()))
    key = next(word for word in chain(("id", "key"), (f"id {i}" for i in count(2))) if word not in names)
    return [{key: each, **record} for each, record in value.items()]


def _columns(value: Mapping[str, Any]) -> tuple[Iterable[Any], Mapping[str, Any]] | None:
    """Rows of an object whose lists have one length and are not all of numbers, and what stands beside them."""
    lists = {key: each for key, each in value.items() if isinstance(each, list) and each}
    if len(lists) < 2 or len({len(each) for each in lists.values()}) > 1:
        return None
    matrices = any(isinstance(each[0], list) for each in lists.values())
    texts = len(lists) == len(value) and any(isinstance(each[0], str) for each in lists.values())
    if not (matrices or texts):
        return None
    rows = (dict(zip(lists, row, strict=True)) for row in zip(*lists.values(), strict=True))
    return rows, {k: v for k, v in value.items() if k not in lists}


def flattened(document: JsonDocument) -> Table:
    """Records of no known shape as columns and matrices; what a record lacks is missing in its row."""
    columns = Columns(document.name)
    for place, record in document.records:
        columns.add(_flat(record, document.where(place)), place)
    return columns.table(by_line=document.by_line)


def _flat(record: Record, where: str) -> dict[str, Any]:
    """The values of a record by their dotted paths."""
    found: dict[str, Any] = {}
    for path, value in _paths(record, where):
        if path in found:
            raise InputError(f"{where}: two values are at {quoted(path)}; rename one of the keys")
        found[path] = value
    return found


def _paths(record: Record, where: str, before: str = "", depth: int = 0) -> Iterator[tuple[str, Any]]:
    if depth > _DEEPEST:
        raise InputError(f"{where}: nested too deeply; at most {_DEEPEST} levels of objects are read")
    for key, value in record.items():
        if isinstance(value, dict):
            yield from _paths(value, where, f"{before}{key}.", depth + 1)
        else:
            yield f"{before}{key}", _in_numbers(value) if isinstance(value, list) else value


def _in_numbers(values: list[Any]) -> list[Any]:
    """Numbers that are written as texts, one with a decimal point at least; other lists as they are."""
    if not all(isinstance(each, str) for each in values) or not any("." in each for each in values):
        return values
    found = [number(each) for each in values]
    return values if any(map(math.isnan, found)) else found


def _counted(name: str, records: Iterable[tuple[int, Any]], by_line: bool) -> Iterator[tuple[int, Record]]:
    for place, record in records:
        if not isinstance(record, dict):
            raise InputError(
                f"{name}, {'line' if by_line else 'record'} {place} is not an object; every record needs names for "
                "its values"
            )
        yield place, record
