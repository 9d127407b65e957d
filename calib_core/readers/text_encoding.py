"""From the bytes of a text file to UTF-8 with line feeds, or a sentence saying on which line they are not text."""

from __future__ import annotations

import codecs

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
