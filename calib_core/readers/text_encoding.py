"""Convert text files to UTF-8 with line feeds, whole or in blocks; InputError names the first line that is not text.

Also numbers written as text: percent signs and decimal commas are converted if a whole column has them.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO, Literal, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from calib_core.predictions.predictions import InputError
from calib_core.readers.code_pages import CODE_PAGES, code_page, in_utf8, is_damaged_utf8

UTF16 = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}
"""Encodings by their byte order mark."""
_UTF32 = (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)


def utf8(data: bytes, name: str) -> bytes:
    """Convert UTF-8 or UTF-16 text to UTF-8 without a byte order mark; other encodings are refused.

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
            f"{name}, line {line_at(data, nul)}: a NUL byte means that this is not UTF-8 text. If it is UTF-16 or a "
            "spreadsheet, save it as CSV in UTF-8"
        )
    _check_utf8(data, name)
    return _line_feeds(data)


def any_text(data: bytes, name: str) -> tuple[bytes, list[str]]:
    """Convert text of any encoding to UTF-8, and return a note if the encoding is guessed.

    Text that is neither UTF-8 nor marked is of an old code page, or UTF-16 if half of its bytes are 0. InputError for
    damaged UTF-8.

    >>> any_text("p,\u00fd\\n".encode("cp1252"), "a.csv")[0].decode()
    'p,\u00fd\\n'
    """
    if (encoding := _unmarked_utf16(data)) is not None:
        mark = next(mark for mark, each in UTF16.items() if each == encoding)
        return utf8(mark + data, name), [_NO_MARK]
    try:
        return utf8(data, name), []
    except InputError as e:
        fault = e.__cause__
        if data[:2] in UTF16 or not isinstance(fault, UnicodeDecodeError) or (page := _page_of(data, fault)) is None:
            raise
    return _line_feeds(in_utf8(page)(data)), [_of_page(page)]


_NO_MARK = "The text is read as UTF-16, whose mark (BOM) is missing."


def _of_page(page: str) -> str:
    return (
        f"The text is not UTF-8 and is read as {CODE_PAGES[page]}. Another code page would change letters in names, "
        "never numbers."
    )


def _page_of(data: bytes, error: UnicodeDecodeError) -> str | None:
    """Return the code page of text that is not UTF-8; None for damaged UTF-8, and for bytes that are no text."""
    return None if has_controls(data) or is_damaged_utf8(data, error) else code_page(data)


def has_controls(data: bytes) -> bool:
    """True if the bytes are not text: a NUL byte in them, or many control characters among the first."""
    head = data[:4096]
    return b"\0" in data or 20 * sum(byte < 32 and byte not in b"\t\n\r" for byte in head) > len(head)


def _unmarked_utf16(data: bytes) -> str | None:
    """Return the encoding of text without a mark in which every second byte is usually 0, as in ASCII letters."""
    head = data[:4096]
    if len(data) % 2 or head[:2] in UTF16:
        return None
    first, second = (head[start::2].count(0) for start in (0, 1))
    if not first and 2 * second > len(head[1::2]):
        return "utf-16-le"
    return "utf-16-be" if not second and 2 * first > len(head[::2]) else None


def line_at(data: bytes, offset: int) -> int:
    """Return the line number, counted from 1, of the byte at ``offset``."""
    return data.count(b"\n", 0, offset) + 1


def _from_utf16(data: bytes, encoding: str, name: str) -> bytes:
    try:
        return data[2:].decode(encoding).encode("utf-8")
    except UnicodeDecodeError as e:
        line = data[2 : 2 + e.start].decode(encoding, "ignore").count("\n") + 1
        raise InputError(f"{name}, line {line} has damaged UTF-16 text; save the file as UTF-8") from e


def _check_utf8(data: bytes, name: str) -> None:
    if data.isascii():
        return
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as e:
        raise InputError(
            f"{name}, line {line_at(data, e.start)}: byte 0x{data[e.start]:02X} is not UTF-8 text. If the file is "
            "Latin-1 or Windows-1252, save it as UTF-8"
        ) from e


def _line_feeds(data: bytes) -> bytes:
    """Convert old Macintosh line ends (CR only) to line feeds; parsers handle CR LF."""
    if data.count(b"\r") == data.count(b"\r\n") or b'"' in data:
        return data
    return data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")


def utf8_blocks(
    file: BinaryIO, size: int, name: str, quoted_ends: bool, notes: list[str]
) -> Iterator[tuple[bytes, int]]:
    """Yield blocks of about ``size`` bytes of text and the file position after each.

    Text that is not UTF-8 and has no mark is of the code page that its first block with other letters suggests. A
    guess is added to ``notes``.

    Lines of old Macintosh files end in a carriage return only. If quotes may contain line ends (``quoted_ends``), these
    are ambiguous, so such a file with quotes is refused.

    >>> import io
    >>> list(utf8_blocks(io.BytesIO("a,b\\n".encode("utf-16")), 1 << 20, "a.csv", True, []))
    [(b'a,b\\n', 10)]
    """
    start = file.read(min(size, 4096))
    marked = UTF16.get(start[:2])
    encoding = marked or _unmarked_utf16(start)
    if encoding != marked:
        notes.append(_NO_MARK)
    decoder = None if encoding is None else codecs.getincrementaldecoder(encoding)()
    start = start[2:] if marked else start
    rest, read, lines = b"", file.tell() - len(start), 0
    old_ends: bool | None = None
    convert: Callable[[bytes], bytes] | None = None
    ascii_only = True
    while raw := start + file.read(size - len(start)):
        start = b""
        read += len(raw)
        if decoder is not None:
            try:
                raw = decoder.decode(raw).encode("utf-8")
            except UnicodeError as e:
                raise InputError(
                    f"{name} has damaged UTF-16 text after line {lines + 1}; save the file as UTF-8"
                ) from e
        elif ascii_only and not (letters := _whole_letters(raw)).isascii():
            # The code page of the first letters beyond ASCII is that of the whole file.
            ascii_only = False
            try:
                letters.decode("utf-8")
            except UnicodeDecodeError as e:
                if (page := _page_of(letters, e)) is not None:
                    convert = in_utf8(page)
                    notes.append(_of_page(page))
        block, rest = rest + (raw if convert is None else convert(raw)), b""
        if old_ends is None:
            old_ends = b"\r" in block and b"\n" not in block
        if old_ends:
            if quoted_ends and b'"' in block:
                raise InputError(
                    f"{name} has quotes and line ends of old Macintosh files (a carriage return alone), so it cannot "
                    "be read in parts; save it with line feeds"
                )
            block = block.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        lines += block.count(b"\n")
        yield block, read
    if decoder is not None and decoder.getstate()[0]:
        raise InputError(f"{name} is cut off in its last character; save the file as UTF-8")
    if rest:
        yield rest, read


def _whole_letters(block: bytes) -> bytes:
    """Return a block without the beginning of a letter of UTF-8 at its end."""
    starts = [i for i in range(max(len(block) - 3, 0), len(block)) if block[i] >= 0xC0]
    return block[: starts[-1]] if starts else block


Array: TypeAlias = NDArray[Any]
Writing: TypeAlias = Literal["plain", "percent", "comma", "unclear"]
"""Notation of a column's numbers: plain, "91 %", "0,91", or "1,234", which may be 1.234 or 1234."""

MISSING_TEXT = frozenset({"", "nan", "na", "n/a", "null", "none", "missing", "#n/a", "-", "?", ".",
                          "#div/0!", "#value!", "#ref!", "#name?", "#num!", "#null!"})  # fmt: skip
"""Usual text for a missing number, in upper or lower case; in a column of numbers these mean NaN.

SAS has a point. Spreadsheets write errors of formulas."""

_PERCENT = re.compile(r"[+-]?\d+(?:[.,]\d+)?\s*[%％]")
_COMMA = re.compile(r"[+-]?\d+,\d+(?:[eE][+-]?\d+)?")
_WHOLE = re.compile(r"[+-]?\d+")
_THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}(?:,\d{3})+")


def missing_text(column: Array) -> NDArray[np.bool_]:
    """Mark the values of a text column that mean a missing number."""
    return np.fromiter((v.strip().casefold() in MISSING_TEXT for v in column), dtype=bool, count=len(column))


def numbers(column: Array) -> NDArray[np.float64]:
    """Convert a column to float64; other values become NaN.

    >>> numbers(np.array(["0.5", "none"], dtype=object)).tolist()
    [0.5, nan]
    """
    if column.dtype != object:
        return column.astype(np.float64)
    return np.asarray(pd.to_numeric(pd.Series(column, dtype=object), errors="coerce"), dtype=np.float64)


def written_as(column: Array) -> Writing:
    """Detect the notation of a column's numbers; "plain" also for mixed notations and other text.

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
    """Convert a column to float64, with percent signs and decimal commas; other values become NaN.

    >>> numbers_as_written(np.array(["91 %", "8,5%"], dtype=object)).tolist()
    [0.91, 0.085]
    """
    writing = written_as(column)
    if writing in ("plain", "unclear"):
        return numbers(column)
    texts = [str(value).strip().rstrip("%％").strip().replace(",", ".") for value in column]
    values = numbers(np.array(texts, dtype=object))
    return values / 100 if writing == "percent" else values


def has_percent_sign(text: str) -> bool:
    """True if the text is a percentage."""
    return bool(_PERCENT.fullmatch(text.strip()))


def looks_numeric(column: Array) -> bool:
    """True if most of a column's first values are numbers, in any notation."""
    if column.dtype != object:
        return column.dtype.kind in "iuf"
    first = column[:200]
    texts = (str(value).strip() for value in first)
    known = (bool(_PERCENT.fullmatch(text) or _COMMA.fullmatch(text)) for text in texts)
    return bool(np.mean(~np.isnan(numbers(first)) | np.fromiter(known, dtype=bool, count=len(first))) >= 0.5)
