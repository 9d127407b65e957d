"""Text files as UTF-8 with line feeds, whole or in blocks, or a sentence with the line on which they are not text."""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from typing import BinaryIO

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
