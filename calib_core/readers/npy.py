"""NPY and NPZ: arrays of plain numbers or text, checked against their headers before anything is unpacked."""

from __future__ import annotations

import ast
import io
import math
import re
import struct
import sys
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from calib_core._arrays import frozen
from calib_core.predictions import InputError
from calib_core.readers import limits
from calib_core.readers.table import Array, Table, unique_names
from calib_core.readers.wording import quoted, size

MAGIC = b"\x93NUMPY"
_NUMBER = re.compile(r"[<>|=]?(?:b1|[iu][1248]|f[248])")
_TEXT = re.compile(r"[<>|=]?(?P<kind>[US])(?P<length>\d{1,6})")
_ACCEPTED = {zipfile.ZIP_STORED: "stored", zipfile.ZIP_DEFLATED: "deflate"}
_LOCAL_HEADER = struct.Struct("<4s5H3L2H")
_ENCRYPTED = 0x1
_PACKED_BYTES = 1 << 16


@dataclass(frozen=True)
class _Header:
    """What an NPY header promises; ``start`` is where the data begin."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    fortran: bool
    start: int

    @property
    def n_bytes(self) -> int:
        return math.prod(self.shape) * self.dtype.itemsize


def parse_npy(data: bytes, name: str) -> Table:
    """The one array of an NPY file: a matrix or column called "array"."""
    header = _header(data, name)
    _check_promise(header, len(data), name)
    array = _finished(_view(data, header, 0), name)
    return _table({"array": array}, name, "npy", ())


def parse_npz(data: bytes, name: str) -> Table:
    """The arrays of an NPZ file by name; scalars and arrays of three or more dimensions are left out, with a note."""
    members = _members(data, name)
    declared = sum(member.file_size for _, member in members)
    if declared > limits.DECODED_BYTES:
        raise InputError(
            f"{name} unpacks to {size(declared)}; at most {size(limits.DECODED_BYTES)} are read: "
            "save float32 instead of float64, or fewer rows"
        )
    arrays: dict[str, Array] = {}
    notes: list[str] = []
    for key, member in members:
        what = f"{name}, array {quoted(key)}"
        array = _member(data, member, what)
        if array.ndim in (1, 2):
            arrays[key] = _finished(array, what)
        elif array.ndim > 2:
            notes.append(f"array {quoted(key)} has {array.ndim} dimensions {array.shape} and was left out")
    return _table(arrays, name, "npz", tuple(notes))


def _table(arrays: dict[str, Array], name: str, form: Any, notes: tuple[str, ...]) -> Table:
    if not arrays:
        raise InputError(f"{name} holds no column (n,) and no matrix (n, K); save arrays of one or two dimensions")
    for key, array in arrays.items():
        if array.size == 0:
            raise InputError(f"{name}, array {quoted(key)} has shape {array.shape}: it is empty; save at least one row")
        if array.ndim == 2 and array.shape[1] > limits.COLUMNS:
            raise InputError(
                f"{name}, array {quoted(key)} has {array.shape[1]:,} columns; at most {limits.COLUMNS:,} are read: "
                "rows are predictions and columns are classes (transposed?)"
            )
    # (n, 1) is how some libraries write one column.
    flat = {key: a[:, 0] if a.ndim == 2 and a.shape[1] == 1 else a for key, a in arrays.items()}
    columns = {key: a for key, a in flat.items() if a.ndim == 1}
    return Table(name, form, columns, {key: a for key, a in flat.items() if a.ndim == 2}, notes=notes)


# -- the zip directory -----------------------------------------------------------------------------------------


def _members(data: bytes, name: str) -> list[tuple[str, zipfile.ZipInfo]]:
    """Members of the archive, every one checked from the directory alone."""
    if data.count(b"PK\x01\x02") > 2 * limits.MEMBERS + 64:
        # Chance matches in the data are one in 4 billion bytes; a directory this long is refused unread.
        raise InputError(f"{name} holds more than {limits.MEMBERS} arrays; save only what is needed")
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            entries = archive.infolist()
    except (zipfile.BadZipFile, ValueError, OSError, EOFError, struct.error, NotImplementedError, OverflowError) as e:
        raise InputError(f"{name} is damaged or cut off: the NPZ directory cannot be read; save it again") from e
    if len(entries) > limits.MEMBERS:
        raise InputError(f"{name} holds {len(entries):,} arrays; at most {limits.MEMBERS} are read: save fewer")
    for entry in entries:
        _check_entry(entry, name)
    keys = [entry.filename.removesuffix(".npy") for entry in entries]
    unique_names(keys, name)
    return list(zip(keys, entries, strict=True))


def _check_entry(entry: zipfile.ZipInfo, name: str) -> None:
    what = f"{name}, array {quoted(entry.filename.removesuffix('.npy'))}"
    if entry.flag_bits & _ENCRYPTED:
        raise InputError(f"{what} is encrypted; save it without a password")
    if entry.compress_type not in _ACCEPTED:
        # bzip2 and LZMA inflate without a bound: 3.5 kB become 9 GB whatever size the directory declares.
        raise InputError(
            f"{what}: compression method {entry.compress_type} is not accepted; "
            "save with numpy.savez or numpy.savez_compressed"
        )
    if not entry.filename.endswith(".npy") or not 0 < len(entry.filename) <= limits.NAME_CHARS:
        raise InputError(f"{what} is not an array saved by numpy (.npy); save arrays only, with numpy.savez")


def _member(data: bytes, entry: zipfile.ZipInfo, what: str) -> Array:
    start = _data_start(data, entry, what)
    if entry.compress_type == zipfile.ZIP_STORED:
        return _stored(data, start, entry, what)
    return _inflated(data, start, entry, what)


def _data_start(data: bytes, entry: zipfile.ZipInfo, what: str) -> int:
    at = entry.header_offset
    if 0 <= at <= len(data) - _LOCAL_HEADER.size:
        fields = _LOCAL_HEADER.unpack_from(data, at)
        start = int(at + _LOCAL_HEADER.size + fields[-2] + fields[-1])
        if fields[0] == b"PK\x03\x04" and start + entry.compress_size <= len(data):
            return start
    raise InputError(f"{what} is damaged or cut off; save the file again")


def _stored(data: bytes, start: int, entry: zipfile.ZipInfo, what: str) -> Array:
    stop = start + entry.file_size
    if entry.file_size != entry.compress_size or zlib.crc32(memoryview(data)[start:stop]) != entry.CRC:
        raise InputError(f"{what} is damaged (its checksum does not match); save the file again")
    header = _header(data[start : start + limits.NPY_HEADER_BYTES + 16], what)
    _check_promise(header, entry.file_size, what)
    return _view(data, header, start)


def _inflated(data: bytes, start: int, entry: zipfile.ZipInfo, what: str) -> Array:
    """A deflated member, unpacked into exactly the memory its header promises and not a byte more."""
    pieces = _unpacked(memoryview(data)[start : start + entry.compress_size], what)
    # Headers are shorter than the first piece; a stream cut off before that ends in the checks of the header.
    first = next(pieces, b"")
    header = _header(first, what)
    _check_promise(header, entry.file_size, what)
    out = np.empty(header.n_bytes, dtype=np.uint8)
    filled, check, piece = 0, zlib.crc32(first), first[header.start :]
    while piece and filled + len(piece) <= header.n_bytes:
        out[filled : filled + len(piece)] = np.frombuffer(piece, dtype=np.uint8)
        filled += len(piece)
        piece = next(pieces, b"")
        check = zlib.crc32(piece, check)
    if filled != header.n_bytes or piece or check != entry.CRC:
        raise InputError(f"{what} is damaged (it does not unpack to what its header says); save the file again")
    return _shaped(out.view(header.dtype), header)


def _unpacked(packed: memoryview, what: str) -> Iterator[bytes]:
    """The inflated bytes, at most SCAN_BYTES at a time."""
    inflater = zlib.decompressobj(-15)
    try:
        for at in range(0, len(packed), _PACKED_BYTES):
            rest: bytes | memoryview = packed[at : at + _PACKED_BYTES]
            while rest:
                if piece := inflater.decompress(rest, limits.SCAN_BYTES):
                    yield piece
                rest = inflater.unconsumed_tail
        while not inflater.eof and (piece := inflater.decompress(b"", limits.SCAN_BYTES)):
            yield piece
    except zlib.error as e:
        raise InputError(f"{what} is damaged (it cannot be unpacked); save the file again") from e
    if not inflater.eof:
        raise InputError(f"{what} is cut off; save the file again")


# -- the array header ------------------------------------------------------------------------------------------


def _header(data: bytes, what: str) -> _Header:
    """The header of an NPY file, understood without evaluating anything in it."""
    if data[:6] != MAGIC or len(data) < 12:
        raise InputError(f"{what} is not a complete NPY array; save it again with numpy.save or numpy.savez")
    wide = data[6] >= 2
    length = int.from_bytes(data[8 : 12 if wide else 10], "little")
    start = (12 if wide else 10) + length
    if data[6] not in (1, 2, 3) or length > limits.NPY_HEADER_BYTES or start > len(data):
        raise InputError(f"{what}: the array header is damaged, cut off or too long; save plain numeric arrays")
    try:
        fields = ast.literal_eval(data[start - length : start].decode("utf-8" if data[6] == 3 else "latin-1").strip())
        # Not a dict, or keys of another type, end here too.
        descr, fortran, shape = fields["descr"], fields["fortran_order"], fields["shape"]
    except (ValueError, SyntaxError, TypeError, KeyError, MemoryError, RecursionError) as e:
        raise InputError(f"{what}: the array header is damaged; save the file again") from e
    if not (isinstance(shape, tuple) and len(shape) <= 32 and all(type(d) is int and 0 <= d < 1 << 40 for d in shape)):
        raise InputError(f"{what}: the header gives no valid shape; save the file again")
    return _Header(_dtype(descr, what), shape, fortran is True, start)


def _dtype(descr: object, what: str) -> np.dtype[Any]:
    if isinstance(descr, str):
        text = _TEXT.fullmatch(descr)
        longest = limits.NAME_CHARS * 4
        if _NUMBER.fullmatch(descr) or (text and 0 < int(text["length"]) <= longest):
            return np.dtype(descr)
        if re.fullmatch(r"[<>|=]?O\d*", descr):
            raise InputError(
                f"{what} contains Python objects, which are never loaded; save plain arrays, "
                "numpy.savez(file, probs=numpy.asarray(p, float), labels=numpy.asarray(y))"
            )
        if text:
            raise InputError(f"{what} holds text of {text['length']} characters; 1 to {longest} are read")
    kind = "structured" if isinstance(descr, list) else f"of dtype {str(descr)[:20]!r}"
    raise InputError(f"{what} is {kind}; save real numbers (float32, float64, integers, booleans) or text")


def _check_promise(header: _Header, held: int, what: str) -> None:
    if header.n_bytes != held - header.start:
        raise InputError(
            f"{what}: the header promises {size(header.n_bytes)}, the file holds {size(max(0, held - header.start))}; "
            "it is damaged or cut off: save it again"
        )


def _view(data: bytes, header: _Header, offset: int) -> Array:
    raw = np.frombuffer(data, header.dtype, math.prod(header.shape), offset + header.start)
    # Members of an archive begin anywhere; work on unaligned numbers is slower every time than one copy now.
    return _shaped(raw if raw.flags.aligned else raw.copy(), header)


def _shaped(flat: Array, header: _Header) -> Array:
    return flat.reshape(header.shape, order="F" if header.fortran else "C")


def _finished(array: Array, what: str) -> Array:
    """Native byte order; float16 as float32; text as str."""
    if array.dtype.kind in "US":
        return _text(array, what)
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    if array.dtype == np.float16:
        array = array.astype(np.float32)
    return frozen(array)


def _text(array: Array, what: str) -> Array:
    if array.ndim != 1:
        raise InputError(f"{what} is a matrix of text; save scores as numbers and labels as one column")
    array = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("="))
    try:
        if array.dtype.kind == "U" and array.view(np.uint32).max(initial=0) > sys.maxunicode:
            raise ValueError("beyond the last character of Unicode")
        values = [v.decode("utf-8") if isinstance(v, bytes) else v for v in array.tolist()]
        # Half of a surrogate pair cannot be shown or saved again.
        "".join(values).encode("utf-8")
    except ValueError as e:
        raise InputError(f"{what} holds text that is not valid Unicode; save it again") from e
    out = np.empty(len(values), dtype=object)
    out[:] = values
    return out
