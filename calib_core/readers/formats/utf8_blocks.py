"""A text file of any size as blocks of UTF-8 with line feeds: UTF-16 and old Macintosh line ends on the way."""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from typing import BinaryIO

from calib_core.predictions.predictions import InputError
from calib_core.readers.text_encoding import UTF16


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
