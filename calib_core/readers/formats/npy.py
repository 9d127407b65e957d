"""NPY and NPZ through numpy's own header reader and zipfile, sizes checked before anything is unpacked.

``numpy.load`` itself is not used: it allocates what a header or a directory promises before it looks at the bytes.
"""

from __future__ import annotations

import io
import math
import sys
import zipfile
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.lib import format as npy_format

from calib_core._base.arrays import FloatType, frozen
from calib_core.predictions.predictions import InputError
from calib_core.readers import limits
from calib_core.readers.file_format import file_format
from calib_core.readers.limits import check_rows
from calib_core.readers.messages import quoted, size
from calib_core.readers.table import Array, Table, unique_names

MAGIC = npy_format.MAGIC_PREFIX
ZIP = (b"PK\x03\x04", b"PK\x05\x06")
OFFICE = b"[Content_Types].xml"
"""Stands at the start of every Office file, which is a ZIP archive too."""
_LOGS = (b"_journal/", b"header.json", b"samples/", b"summaries.json", b"reductions.json")
"""With which the first member of an archive of logs begins, which is not an NPZ either."""
# Version 3 differs in the names of structured arrays alone, which are not read.
_HEADERS = {(1, 0): npy_format.read_array_header_1_0, (2, 0): npy_format.read_array_header_2_0}
# numpy copies a header before it looks at its length: it is never shown more than this.
_HEAD_BYTES = limits.NPY_HEADER_BYTES + npy_format.MAGIC_LEN + 4
_NUMBER_KINDS = "biuf"
_TEXT_CHARS = limits.NAME_CHARS * 4
_COMPRESSIONS = {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}
_ENCRYPTED = 0x1
_PIECE_BYTES = 1 << 16


@dataclass(frozen=True)
class _Header:
    """What an NPY header promises; ``start`` is where the data begin."""

    dtype: FloatType
    shape: tuple[int, ...]
    fortran: bool
    start: int

    @property
    def n_bytes(self) -> int:
        return math.prod(self.shape) * self.dtype.itemsize

    def shaped(self, flat: Array) -> Array:
        return flat.reshape(self.shape, order="F" if self.fortran else "C")


@file_format("npy", "NPY", ("npy",), recognise=lambda data: data.startswith(MAGIC), arrays=True)
def parse_npy(data: bytes, name: str) -> Table:
    """The one array of an NPY file: a matrix or column called "array"."""
    header = array_header(data[:_HEAD_BYTES], len(data), name)
    _check_rows(header, name)
    array = np.frombuffer(data, header.dtype, math.prod(header.shape), header.start)
    # Work on unaligned numbers is slower every time than one copy now.
    array = array if array.flags.aligned else array.copy()
    return as_table({"array": finished(header.shaped(array), name)}, name, "npy", ())


def _is_archive(data: bytes) -> bool:
    return data.startswith(ZIP) and OFFICE not in data[:4096] and not is_log(data)


def is_log(data: bytes) -> bool:
    """Whether an archive is one of logs, by the name of its first member."""
    return data[30:64].startswith(_LOGS)


def _unpacked(data: bytes) -> int:
    """What the directory promises; a damaged one is refused when the file is read."""
    try:
        return sum(member.file_size for member in _archive(data, "").infolist())
    except InputError:
        return len(data)


@file_format("npz", "NPZ", ("npz",), recognise=_is_archive, arrays=True, unpacked=_unpacked)
def parse_npz(data: bytes, name: str) -> Table:
    """The arrays of an NPZ file by name; scalars and arrays of three or more dimensions are left out, with a note."""
    archive = _archive(data, name)
    members = _members(archive, name)
    declared = sum(member.file_size for member in members.values())
    if declared > limits.DECODED_BYTES:
        raise InputError(
            f"{name} unpacks to {size(declared)}; at most {size(limits.DECODED_BYTES)} are read: "
            "save float32 instead of float64, or fewer rows"
        )
    arrays: dict[str, Array] = {}
    notes: list[str] = []
    for key, member in members.items():
        what = f"{name}, array {quoted(key)}"
        array = _member(archive, member, what)
        if array.ndim in (1, 2):
            arrays[key] = finished(array, what)
        elif array.ndim > 2:
            notes.append(f"array {quoted(key)} has {array.ndim} dimensions {array.shape} and was left out")
    return as_table(arrays, name, "npz", tuple(notes))


def as_table(arrays: dict[str, Array], name: str, form: Any, notes: tuple[str, ...]) -> Table:
    if not any(array.ndim in (1, 2) for array in arrays.values()):
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


def _archive(data: bytes, name: str) -> zipfile.ZipFile:
    if data.count(b"PK\x01\x02") > 2 * limits.MEMBERS + 64:
        # Chance matches in the data are one in 4 billion bytes; a directory this long is refused unread.
        raise InputError(f"{name} holds more than {limits.MEMBERS} arrays; save only what is needed")
    try:
        return zipfile.ZipFile(io.BytesIO(data))
    except Exception as e:  # a damaged directory ends zipfile in six kinds of exceptions
        raise InputError(f"{name} is damaged or cut off: the NPZ directory cannot be read; save it again") from e


def _members(archive: zipfile.ZipFile, name: str) -> dict[str, zipfile.ZipInfo]:
    """Members of the archive, every one checked from the directory alone."""
    entries = archive.infolist()
    if len(entries) > limits.MEMBERS:
        raise InputError(f"{name} holds {len(entries):,} arrays; at most {limits.MEMBERS} are read: save fewer")
    for entry in entries:
        _check_entry(entry, name)
    keys = [entry.filename.removesuffix(".npy") for entry in entries]
    unique_names(keys, name)
    return dict(zip(keys, entries, strict=True))


def _check_entry(entry: zipfile.ZipInfo, name: str) -> None:
    what = f"{name}, array {quoted(entry.filename.removesuffix('.npy'))}"
    if entry.flag_bits & _ENCRYPTED:
        raise InputError(f"{what} is encrypted; save it without a password")
    if entry.compress_type not in _COMPRESSIONS:
        # bzip2 and LZMA inflate without a bound: 3.5 kB become 9 GB whatever size the directory declares.
        raise InputError(
            f"{what}: compression method {entry.compress_type} is not accepted; "
            "save with numpy.savez or numpy.savez_compressed"
        )
    if entry.filename == ".npy":
        raise InputError(f"{name}: an array has no name; save it as numpy.savez(file, probs=p, labels=y)")
    if not entry.filename.endswith(".npy") or not 0 < len(entry.filename) <= limits.NAME_CHARS:
        raise InputError(f"{what} is not an array saved by numpy (.npy); save arrays only, with numpy.savez")


def _member(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, what: str) -> Array:
    """An array, unpacked piece by piece into exactly the memory its header promises; zipfile sees to the checksum."""
    try:
        with archive.open(entry) as packed:
            piece = packed.read(_HEAD_BYTES)
            header = array_header(piece, entry.file_size, what)
            _check_rows(header, what)
            unpacked = np.empty(header.n_bytes, dtype=np.uint8)
            piece, filled = piece[header.start :], 0
            while piece:
                unpacked[filled : filled + len(piece)] = np.frombuffer(piece, dtype=np.uint8)
                filled += len(piece)
                piece = packed.read(_PIECE_BYTES)
            if filled < header.n_bytes:
                raise EOFError
    except InputError:
        raise
    except Exception as e:  # as for the directory
        raise InputError(
            f"{what} is damaged or cut off (it does not unpack to what its header says); save the file again"
        ) from e
    return header.shaped(unpacked.view(header.dtype))


# -- the array header ------------------------------------------------------------------------------------------


def array_header(head: bytes, n_bytes: int, what: str) -> _Header:
    """The header at the start of an array saved as ``n_bytes`` bytes, which must be what it promises."""
    stream = io.BytesIO(head)
    try:
        version = npy_format.read_magic(stream)
    except ValueError as e:
        raise InputError(f"{what} is not a complete NPY array; save it again with numpy.save or numpy.savez") from e
    try:
        shape, fortran, dtype = _HEADERS[version](stream, max_header_size=limits.NPY_HEADER_BYTES)
    except Exception as e:  # numpy parses before it checks: strange headers end in a dozen kinds of exceptions
        if str(e).startswith("shape"):
            raise InputError(f"{what}: the header gives no valid shape; save the file again") from e
        raise InputError(f"{what}: the array header is damaged, cut off or too long; save plain numeric arrays") from e
    # numpy lets True and negative numbers pass as lengths.
    if len(shape) > 32 or not all(type(d) is int and 0 <= d < 1 << 40 for d in shape):
        raise InputError(f"{what}: the header gives no valid shape; save the file again")
    _check_dtype(dtype, what)
    header = _Header(dtype, shape, fortran, stream.tell())
    if header.n_bytes != n_bytes - header.start:
        raise InputError(
            f"{what}: the header promises {size(header.n_bytes)}, the file holds {size(n_bytes - header.start)}; "
            "it is damaged or cut off: save it again"
        )
    return header


def _check_rows(header: _Header, what: str) -> None:
    if header.shape:
        check_rows(what, header.shape[0], math.prod(header.shape[1:]))


def _check_dtype(dtype: FloatType, what: str) -> None:
    if dtype.hasobject:
        raise InputError(
            f"{what} contains Python objects, which are never loaded; save plain arrays, "
            "numpy.savez(file, probs=numpy.asarray(p, float), labels=numpy.asarray(y))"
        )
    if dtype.kind in "US":
        length = dtype.itemsize // (4 if dtype.kind == "U" else 1)
        if not 0 < length <= _TEXT_CHARS:
            raise InputError(f"{what} holds text of {length} characters; 1 to {_TEXT_CHARS} are read")
    elif dtype.kind not in _NUMBER_KINDS or dtype.itemsize > 8:
        kind = "structured" if dtype.names is not None else f"of dtype {dtype.str[:20]!r}"
        raise InputError(f"{what} is {kind}; save real numbers (float32, float64, integers, booleans) or text")


def finished(array: Array, what: str) -> Array:
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
