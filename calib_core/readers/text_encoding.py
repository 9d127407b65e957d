"""Text files as UTF-8 with line feeds, whole or in blocks, or a sentence with the line on which they are not text.

Numbers written as text: percent signs and decimal commas, read as what they say where a whole column has them.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from typing import Any, BinaryIO, Literal, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from calib_core.predictions.predictions import InputError

UTF16 = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}
"""Encodings by their byte order mark."""
_UTF32 = (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)


def utf8(data: bytes, name: str) -> bytes:
    """The text as UTF-8 without byte order mark; UTF-16 is recognised by its mark, other encodings are refused.

    >>> utf8("a,b\\n".encode("utf-16"), "a.csv"), utf8(b"\\xef\\xbb\\xbfa,b\\n", "a.csv")
    (b'a,b\\n', b'a,b\\n')
    """
    if data[:4] in _UTF32:
        raise InputError(f"{name} is UTF-32 text; save it as UTF-8")
    if data[:2] in UTF16:
        data = _from_utf16(data, UTF16[data[:2]], name)
    data = data.removeprefix(codecs.BOM_UTF8)
    nul = data.find(b"\0")
    if nul >= 0:
        raise InputError(
            f"{name}, line {line_at(data, nul)}: there is a NUL byte, so this is not UTF-8 text; "
            "if it is UTF-16 or a spreadsheet, save it as CSV in UTF-8"
        )
    _check_utf8(data, name)
    return _line_feeds(data)


def line_at(data: bytes, offset: int) -> int:
    """The line of the file, counted from 1, that holds the byte at ``offset``."""
    return data.count(b"\n", 0, offset) + 1


def _from_utf16(data: bytes, encoding: str, name: str) -> bytes:
    try:
        return data[2:].decode(encoding).encode("utf-8")
    except UnicodeDecodeError as e:
        line = data[2 : 2 + e.start].decode(encoding, "ignore").count("\n") + 1
        raise InputError(f"{name}, line {line}: damaged UTF-16 text; save the file as UTF-8") from e


def _check_utf8(data: bytes, name: str) -> None:
    if data.isascii():
        return
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as e:
        raise InputError(
            f"{name}, line {line_at(data, e.start)}: byte 0x{data[e.start]:02X} is not UTF-8 text; "
            "if the file is Latin-1 or Windows-1252, save it as UTF-8"
        ) from e


def _line_feeds(data: bytes) -> bytes:
    """Old Macintosh line ends (CR alone) become line feeds; CR LF is left to the parsers."""
    if data.count(b"\r") == data.count(b"\r\n") or b'"' in data:
        return data
    return data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")


def utf8_blocks(file: BinaryIO, size: int, name: str, quoted_ends: bool) -> Iterator[tuple[bytes, int]]:
    """Blocks of some ``size`` bytes of text, each with the bytes of the file behind it; no byte order mark but UTF-8's.

    Lines of old Macintosh files end in a carriage return alone. Where ``quoted_ends`` says that a quote may hold ends
    of lines, nobody can tell these from others, and such a file with quotes is refused.

    >>> import io
    >>> list(utf8_blocks(io.BytesIO("a,b\\n".encode("utf-16")), 1 << 20, "a.csv", True))
    [(b'a,b\\n', 10)]
    """
    mark = file.read(2)
    encoding = UTF16.get(mark)
    decoder = None if encoding is None else codecs.getincrementaldecoder(encoding)()
    rest, read, lines = b"" if encoding else mark, len(mark), 0
    old_ends: bool | None = None
    while raw := file.read(size):
        read += len(raw)
        if decoder is not None:
            try:
                raw = decoder.decode(raw).encode("utf-8")
            except UnicodeError as e:
                raise InputError(f"{name}, behind line {lines + 1}: damaged UTF-16 text; save the file as UTF-8") from e
        block, rest = rest + raw, b""
        if old_ends is None:
            old_ends = b"\r" in block and b"\n" not in block
        if old_ends:
            if quoted_ends and b'"' in block:
                raise InputError(
                    f"{name} has lines that end in a carriage return alone (old Macintosh) and quotes, which together "
                    "cannot be read a part at a time; save it with line feeds"
                )
            block = block.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        lines += block.count(b"\n")
        yield block, read
    if decoder is not None and decoder.getstate()[0]:
        raise InputError(f"{name} is cut off in its last character; save the file as UTF-8")
    if rest:
        yield rest, read


Array: TypeAlias = NDArray[Any]
Writing: TypeAlias = Literal["plain", "percent", "comma", "unclear"]
"""How the numbers of a column are written: as numbers, "91 %", "0,91", or "1,234", which may be 1.234 or 1234."""

MISSING_TEXT = frozenset({"", "nan", "na", "n/a", "null", "none", "missing", "#n/a", "-", "?"})
"""What people write where a number is missing; in a column of numbers these, in any capitals, count as NaN."""

_PERCENT = re.compile(r"[+-]?\d+(?:[.,]\d+)?\s*%")
_COMMA = re.compile(r"[+-]?\d+,\d+(?:[eE][+-]?\d+)?")
_WHOLE = re.compile(r"[+-]?\d+")
_THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}(?:,\d{3})+")


def missing_text(column: Array) -> NDArray[np.bool_]:
    """Which values of a text column stand for a missing number."""
    return np.fromiter((v.strip().casefold() in MISSING_TEXT for v in column), dtype=bool, count=len(column))


def numbers(column: Array) -> NDArray[np.float64]:
    """A column as float64; what is not a number becomes NaN.

    >>> numbers(np.array(["0.5", "none"], dtype=object)).tolist()
    [0.5, nan]
    """
    if column.dtype != object:
        return column.astype(np.float64)
    return np.asarray(pd.to_numeric(pd.Series(column, dtype=object), errors="coerce"), dtype=np.float64)


def written_as(column: Array) -> Writing:
    """How a column's numbers are written; "plain" also where they are written in several ways, or are none.

    >>> [written_as(np.array(c, dtype=object)) for c in (["91%", "8,5 %", ""], ["0,91", "1"], ["91%", "0.4"])]
    ['percent', 'comma', 'plain']
    >>> written_as(np.array(["1,234", "999"], dtype=object)), written_as(np.array(["1,234", "0,5"], dtype=object))
    ('unclear', 'comma')
    """
    if column.dtype != object:
        return "plain"
    texts = [text for text in (str(value).strip() for value in column) if text.casefold() not in MISSING_TEXT]
    if texts and all(map(_PERCENT.fullmatch, texts)):
        return "percent"
    commas = [text for text in texts if not _WHOLE.fullmatch(text)]
    if commas and all(map(_THOUSANDS.fullmatch, commas)):
        return "unclear"
    return "comma" if commas and all(map(_COMMA.fullmatch, commas)) else "plain"


def numbers_as_written(column: Array) -> NDArray[np.float64]:
    """A column as float64, percent signs and decimal commas read; what is not a number becomes NaN.

    >>> numbers_as_written(np.array(["91 %", "8,5%"], dtype=object)).tolist()
    [0.91, 0.085]
    """
    writing = written_as(column)
    if writing in ("plain", "unclear"):
        return numbers(column)
    texts = [str(value).strip().removesuffix("%").strip().replace(",", ".") for value in column]
    values = numbers(np.array(texts, dtype=object))
    return values / 100 if writing == "percent" else values


def has_percent_sign(text: str) -> bool:
    """Is this a number in percent?"""
    return bool(_PERCENT.fullmatch(text.strip()))


def looks_numeric(column: Array) -> bool:
    """Whether most of a column's first values are numbers, however they are written."""
    if column.dtype != object:
        return column.dtype.kind in "iuf"
    first = column[:200]
    texts = (str(value).strip() for value in first)
    known = (bool(_PERCENT.fullmatch(text) or _COMMA.fullmatch(text)) for text in texts)
    return bool(np.mean(~np.isnan(numbers(first)) | np.fromiter(known, dtype=bool, count=len(first))) >= 0.5)
