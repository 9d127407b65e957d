"""JSON that is no flat object a line: documents over several lines, lists of objects, and lines with objects inside."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from calib_core.predictions.predictions import InputError
from calib_core.readers import limits
from calib_core.readers.foreign.json_documents import DECODER, document_records, document_table
from calib_core.readers.formats.json_text import decoded, elements, lines_of
from calib_core.readers.messages import size
from calib_core.readers.table import Table

_OBJECTS = re.compile(rb"[ \t\n\r]*\[[ \t\n\r]*\{")
"""The beginning of a list of objects, which are read one by one."""


def nested_table(data: bytes, name: str, lines: bool = False) -> Table | None:
    """The table of a document, or of lines with objects inside; None where lines are flat, or no JSON at all.

    Parameters
    ----------
    data : UTF-8 text.
    lines : it is known to be lines, as a part of a file of many.
    """
    if data[:4096].lstrip().startswith(b"["):
        if _OBJECTS.match(data) is None:
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
        # Not an object a line: a document over several lines, or damaged, which the strict reader puts in words.
        return None if lines else _of_document(_tried(data), name)
    if following is None and not lines:
        found = _of_document(first, name)
        if found is not None:
            return found
    if not isinstance(first, dict) or not any(map(_nested, first.values())):
        return None
    return document_table(name, _records(data, name), by_line=True)


def _one_long_line(data: bytes) -> bool:
    """Does it have one line, too long to be one of many, as documents written without spaces are?"""
    return len(data) > limits.LINE_BYTES and b"\n" not in data[: limits.LINE_BYTES] and b"\n" not in data.rstrip()


def _of_document(value: Any, name: str) -> Table | None:
    """The table of one JSON value; None where it is an object without records."""
    found = document_records(name, value)
    if found is None:
        return None
    records, about = found
    return document_table(name, enumerate(records), about)


def _nested(value: Any) -> bool:
    """Is it what a flat line cannot hold: an object, objects in a list, or a list of texts?"""
    if isinstance(value, list):
        return any(isinstance(each, dict) for each in value) or (
            bool(value) and all(isinstance(each, str) for each in value)
        )
    return isinstance(value, dict)


def _records(data: bytes, name: str) -> Iterator[tuple[int, Any]]:
    for line, text in lines_of(data, name):
        yield line, _value(text, f"{name}, line {line}")


def _tried(text: bytes) -> Any:
    """The value of a text; None where it is no JSON or too large to be one value."""
    if len(text) > limits.DOCUMENT_BYTES:
        return None
    try:
        return DECODER.decode(text.decode("utf-8"))
    except (ValueError, RecursionError):
        return None


def _value(text: bytes, where: str) -> Any:
    """One JSON value, of whatever kind."""
    _check(text, where)
    return decoded(text, where, DECODER)


def _check(text: bytes, where: str) -> None:
    if len(text) > limits.DOCUMENT_BYTES:
        raise InputError(
            f"{where} has {size(len(text))}; at most {size(limits.DOCUMENT_BYTES)} of one JSON document are read: "
            "write one JSON object a line"
        )
