"""Compressed files of one table: gzip, bzip2, xz, Zstandard and ZIP, unpacked in pieces up to a limit."""

from __future__ import annotations

import bz2
import io
import lzma
import sys
import zipfile
import zlib
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

from calib_core.predictions.predictions import InputError
from calib_core.readers import limits
from calib_core.readers.file_format import all_endings, file_format
from calib_core.readers.formats.archives import COMPRESSIONS, ENCRYPTED, has_files
from calib_core.readers.formats.detection import looks_like
from calib_core.readers.messages import listed, quoted, size
from calib_core.readers.table import Table

_PIECE_BYTES = 1 << 20
_GZIP, _BZIP2, _XZ, _ZSTD = b"\x1f\x8b", b"BZh", b"\xfd7zXZ\0", b"\x28\xb5\x2f\xfd"
_XZ_MEMORY = 256 << 20
"""A dictionary of xz may declare 4 GB."""
_ZSTD_WINDOW = 27
"""Base-2 logarithm of the largest window, 128 MB, as in the zstd command."""

Opener = Callable[[], Any]
"""Function that returns a decompressor of one stream, with ``decompress(data, max_length)``."""


class _Gunzip:
    """zlib's decompressor with the interface of those of bzip2, xz and Zstandard."""

    def __init__(self) -> None:
        self._by = zlib.decompressobj(16 + zlib.MAX_WBITS)

    def decompress(self, data: bytes, most: int) -> bytes:
        return self._by.decompress(self._by.unconsumed_tail + data, most)

    @property
    def eof(self) -> bool:
        return self._by.eof

    @property
    def unused_data(self) -> bytes:
        return self._by.unused_data

    @property
    def needs_input(self) -> bool:
        return not self._by.unconsumed_tail


def _zstd() -> Any:
    """Return Python's zstd module (3.14 and later) or the backport."""
    return import_module("compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd")


def _unzstd() -> Any:
    zstd = _zstd()
    return zstd.ZstdDecompressor(options={zstd.DecompressionParameter.window_log_max: _ZSTD_WINDOW})


def _pieces(data: bytes, opener: Opener) -> Iterator[bytes]:
    """Yield the content of one or more streams in pieces; EOFError if it is cut off."""
    start, by = 0, opener()
    while True:
        piece = b""
        if by.needs_input:
            more = data[start : start + _PIECE_BYTES]
            if not more:
                raise EOFError
            start += len(more)
            piece = by.decompress(more, _PIECE_BYTES)
        else:
            piece = by.decompress(b"", _PIECE_BYTES)
        yield piece
        if by.eof:
            start -= len(by.unused_data)
            # Zeros may follow the last stream.
            if not data[start : start + 64].strip(b"\0"):
                return
            by = opener()


def _unpacked(data: bytes, opener: Opener, name: str) -> bytes:
    out = bytearray()
    try:
        for piece in _pieces(data, opener):
            out += piece
            if len(out) > limits.FILE_BYTES:
                raise InputError(
                    f"{name} unpacks to more than {size(limits.FILE_BYTES)}, the maximum. Save fewer rows, or unpack "
                    "it and summarize the file with calib summarise"
                )
    except ImportError as e:
        raise InputError(
            f"{name} is compressed with zstd, which needs another package. Run: pip install 'calib[zstd]'"
        ) from e
    except InputError:
        raise
    except Exception as e:  # each module has an error of its own
        raise InputError(f"{name} is damaged or cut off and cannot be unpacked; save it again") from e
    return bytes(out)


def _counted(data: bytes, opener: Opener) -> int:
    """Count the unpacked bytes, up to the limit; the content is not stored."""
    total = 0
    try:
        for piece in _pieces(data, opener):
            total += len(piece)
            if total > limits.FILE_BYTES:
                break
    except Exception:  # a damaged file is reported when it is read
        return max(total, len(data))
    return max(total, len(data))


def _inside(content: bytes, name: str) -> Table:
    """Return the table of the content, which must not be packed again."""
    if not content:
        raise InputError(f"{name} is empty when it is unpacked; choose another file")
    found = looks_like(content, name)
    if found.packs:
        raise InputError(f"{name} is packed twice; unpack it once")
    parsed: Table = found.parse(content, name)
    return parsed


PACKINGS: dict[str, tuple[str, tuple[str, ...], bytes, Opener]] = {
    "gzip": ("gzip", ("gz", "gzip"), _GZIP, _Gunzip),
    "bzip2": ("bzip2", ("bz2",), _BZIP2, bz2.BZ2Decompressor),
    "xz": ("xz", ("xz",), _XZ, lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ, _XZ_MEMORY)),
    "zstd": ("Zstandard", ("zst", "zstd"), _ZSTD, _unzstd),
}
"""Title, endings, first bytes and decompressor of each method, by key."""


def _register(key: str, title: str, endings: tuple[str, ...], magic: bytes, opener: Opener) -> None:
    def parse(data: bytes, name: str) -> Table:
        return _inside(_unpacked(data, opener, name), name)

    file_format(
        key,
        title,
        endings,
        recognise=lambda data: data.startswith(magic),
        unpacked=lambda data: _counted(data, opener),
        packs=True,
    )(parse)


for _key, _packing in PACKINGS.items():
    _register(_key, *_packing)


def _declared(data: bytes) -> int:
    try:
        entries = zipfile.ZipFile(io.BytesIO(data)).infolist()
    except Exception:  # a damaged directory is reported when the file is read
        return len(data)
    return max([len(data), *(min(each.file_size, limits.FILE_BYTES) for each in entries)])


@file_format("zip", "a ZIP archive", ("zip",), recognise=has_files, unpacked=_declared, packs=True)
def parse_zip(data: bytes, name: str) -> Table:
    """Parse the only table of an archive."""
    try:
        archive = zipfile.ZipFile(io.BytesIO(data))
    except Exception as e:  # zipfile raises six types of exceptions on a damaged directory
        raise InputError(f"{name} is damaged or cut off: its directory cannot be read; save it again") from e
    files = [each for each in archive.infolist() if not each.is_dir() and _is_content(each.filename)]
    tables = [each for each in files if each.filename.rpartition(".")[2].lower() in all_endings()]
    if len(tables) != 1:
        inside = [each.filename for each in tables or files]
        what = f"{len(tables)} tables, {listed(inside, 5)}" if tables else "no table"
        raise InputError(f"{name} contains {what}; unpack it and choose one file, or a folder of files of one shape")
    entry = tables[0]
    where = f"{name}, {quoted(entry.filename)}"
    if entry.flag_bits & ENCRYPTED:
        raise InputError(f"{where} is encrypted; save it without a password")
    if entry.compress_type not in COMPRESSIONS:
        raise InputError(f"{where} uses the unsupported compression method {entry.compress_type}; unpack it first")
    if entry.file_size > limits.FILE_BYTES:
        raise InputError(
            f"{where} unpacks to {size(entry.file_size)}; the maximum is {size(limits.FILE_BYTES)}. Save fewer rows"
        )
    try:
        with archive.open(entry) as packed:
            content = packed.read(entry.file_size + 1)
    except Exception as e:  # as for the directory
        raise InputError(f"{where} is damaged or cut off; save the file again") from e
    return _inside(content, name)


def _is_content(name: str) -> bool:
    """False for the files that macOS adds to archives, and for hidden ones."""
    return not name.startswith("__MACOSX/") and not name.rpartition("/")[2].startswith(".")
