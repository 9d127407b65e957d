"""NPY and NPZ files, read with numpy's header parser and zipfile; sizes are checked before anything is unpacked.

``numpy.load`` is not used, because it allocates the declared size before it checks the bytes.
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
from calib_core.readers.formats.archives import COMPRESSIONS, ENCRYPTED, has_arrays
from calib_core.readers.limits import check_rows
from calib_core.readers.messages import quoted, size
from calib_core.readers.table import Array, Table, unique_names

MAGIC = npy_format.MAGIC_PREFIX
# Version 3 differs from version 2 only in the names of structured arrays, which are UTF-8.
_HEADERS = {
    (1, 0): npy_format.read_array_header_1_0,
    (2, 0): npy_format.read_array_header_2_0,
    (3, 0): npy_format.read_array_header_2_0,
}
# numpy copies a header before it checks its length, so it never receives more than this.
_HEAD_BYTES = limits.NPY_HEADER_BYTES + npy_format.MAGIC_LEN + 4
_NUMBER_KINDS = "biuf"
_TEXT_CHARS = limits.NAME_CHARS * 4
_PIECE_BYTES = 1 << 16


@dataclass(frozen=True)
class _Header:
    """Declared properties of an NPY array; ``start`` is the offset of the data."""

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
    """Parse the array of an NPY file: a matrix or column called "array", or the fields of a structured array."""
    header = array_header(data[:_HEAD_BYTES], len(data), name)
    _check_rows(header, name)
    array = np.frombuffer(data, header.dtype, math.prod(header.shape), header.start)
    # One copy now is cheaper than every later operation on unaligned numbers.
    array = array if array.flags.aligned else array.copy()
    return as_table(fields_of("array", header.shaped(array), name), name, "npy", ())


def declared_bytes(data: bytes) -> int:
    """Return the declared size; a damaged directory is reported when the file is read."""
    try:
        return sum(member.file_size for member in _archive(data, "").infolist())
    except InputError:
        return len(data)


@file_format("npz", "NPZ", ("npz",), recognise=has_arrays, arrays=True, unpacked=declared_bytes)
def parse_npz(data: bytes, name: str) -> Table:
    """Parse the arrays of an NPZ file by name; arrays of 0 or more than 2 dimensions are left out with a note."""
    archive = _archive(data, name)
    members = _members(archive, name)
    declared = sum(member.file_size for member in members.values())
    if declared > limits.DECODED_BYTES:
        raise InputError(
            f"{name} unpacks to {size(declared)}; the maximum is {size(limits.DECODED_BYTES)}. Save float32 instead of "
            "float64, or fewer rows"
        )
    arrays: dict[str, Array] = {}
    notes: list[str] = []
    for key, member in members.items():
        what = f"{name}, array {quoted(key)}"
        array = _member(archive, member, what)
        if array.ndim in (1, 2):
            fields = fields_of(key, array, what)
            arrays |= (
                fields if not arrays.keys() & fields.keys() else {f"{key}.{each}": a for each, a in fields.items()}
            )
        elif array.ndim > 2:
            notes.append(f"Array {quoted(key)} has {array.ndim} dimensions {array.shape} and was left out.")
    return as_table(arrays, name, "npz", tuple(notes))


def as_table(arrays: dict[str, Array], name: str, form: str, notes: tuple[str, ...]) -> Table:
    if not any(array.ndim in (1, 2) for array in arrays.values()):
        raise InputError(f"{name} has no column (n,) or matrix (n, K); save arrays of one or two dimensions")
    for key, array in arrays.items():
        if array.size == 0:
            raise InputError(f"{name}, array {quoted(key)} is empty (shape {array.shape}); save at least one row")
        if array.ndim == 2 and array.shape[1] > limits.COLUMNS:
            raise InputError(
                f"{name}, array {quoted(key)} has {array.shape[1]:,} columns; the maximum is {limits.COLUMNS:,}. Rows "
                "are predictions and columns are classes; the matrix may be transposed"
            )
    # Some libraries write one column as (n, 1).
    flat = {key: a[:, 0] if a.ndim == 2 and a.shape[1] == 1 else a for key, a in arrays.items()}
    columns = {key: a for key, a in flat.items() if a.ndim == 1}
    return Table(name, form, columns, {key: a for key, a in flat.items() if a.ndim == 2}, notes=notes)


# -- the zip directory -----------------------------------------------------------------------------------------


def _archive(data: bytes, name: str) -> zipfile.ZipFile:
    if data.count(b"PK\x01\x02") > 2 * limits.MEMBERS + 64:
        # The marker occurs by chance in one of 4 billion bytes; a directory this long is refused unread.
        raise InputError(f"{name} has more than {limits.MEMBERS} arrays; save only the necessary ones")
    try:
        return zipfile.ZipFile(io.BytesIO(data))
    except Exception as e:  # zipfile raises six types of exceptions on a damaged directory
        raise InputError(f"{name} is damaged or cut off: its NPZ directory cannot be read; save it again") from e


def _members(archive: zipfile.ZipFile, name: str) -> dict[str, zipfile.ZipInfo]:
    """Members of the archive, all checked by the directory entries only."""
    entries = archive.infolist()
    if len(entries) > limits.MEMBERS:
        raise InputError(f"{name} has {len(entries):,} arrays; the maximum is {limits.MEMBERS}: save fewer")
    for entry in entries:
        _check_entry(entry, name)
    keys = [entry.filename.removesuffix(".npy") for entry in entries]
    unique_names(keys, name)
    return dict(zip(keys, entries, strict=True))


def _check_entry(entry: zipfile.ZipInfo, name: str) -> None:
    what = f"{name}, array {quoted(entry.filename.removesuffix('.npy'))}"
    if entry.flag_bits & ENCRYPTED:
        raise InputError(f"{what} is encrypted; save it without a password")
    if entry.compress_type not in COMPRESSIONS:
        # bzip2 and LZMA expand without a bound: 3.5 kB can become 9 GB, whatever the declared size.
        raise InputError(
            f"{what} uses the unsupported compression method {entry.compress_type}; save with numpy.savez or "
            "numpy.savez_compressed"
        )
    if entry.filename == ".npy":
        raise InputError(f"{name} has an array without a name; save it as numpy.savez(file, probs=p, labels=y)")
    if not entry.filename.endswith(".npy") or not 0 < len(entry.filename) <= limits.NAME_CHARS:
        raise InputError(f"{what} is not an array saved by numpy (.npy); save only arrays, with numpy.savez")


def _member(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, what: str) -> Array:
    """Unpack an array piece by piece into exactly the declared memory; zipfile verifies the checksum."""
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
        raise InputError(f"{what} is damaged or cut off (it does not match its header); save the file again") from e
    return header.shaped(unpacked.view(header.dtype))


# -- the array header ------------------------------------------------------------------------------------------


def array_header(head: bytes, n_bytes: int, what: str) -> _Header:
    """Parse the header at the start of an array of ``n_bytes`` bytes, and check that the sizes agree."""
    stream = io.BytesIO(head)
    try:
        version = npy_format.read_magic(stream)
    except ValueError as e:
        raise InputError(f"{what} is not a complete NPY array; save it again with numpy.save or numpy.savez") from e
    try:
        shape, fortran, dtype = _HEADERS[version](stream, max_header_size=limits.NPY_HEADER_BYTES)
    except Exception as e:  # numpy parses before it checks: strange headers raise a dozen types of exceptions
        if str(e).startswith("shape"):
            raise InputError(f"{what} has no valid shape in its header; save the file again") from e
        raise InputError(f"{what} has a header that is damaged, cut off or too long; save plain numeric arrays") from e
    # numpy accepts True and negative numbers as lengths.
    if len(shape) > 32 or not all(type(d) is int and 0 <= d < 1 << 40 for d in shape):
        raise InputError(f"{what} has no valid shape in its header; save the file again")
    dtype = _with_utf8_names(dtype) if version == (3, 0) else dtype
    _check_dtype(dtype, what)
    header = _Header(dtype, shape, fortran, stream.tell())
    if header.n_bytes != n_bytes - header.start:
        raise InputError(
            f"{what} is damaged or cut off: its header declares {size(header.n_bytes)}, but the file has "
            f"{size(n_bytes - header.start)}; save it again"
        )
    return header


def _with_utf8_names(dtype: Any) -> Any:
    """Return a structured type whose names, read as Latin-1, are UTF-8."""
    if dtype.names is None:
        return dtype
    try:
        names = [each.encode("latin-1").decode("utf-8") for each in dtype.names]
    except UnicodeError:
        names = list(dtype.names)
    fields = [dtype.fields[each] for each in dtype.names]
    formats, offsets = [_with_utf8_names(each[0]) for each in fields], [each[1] for each in fields]
    return np.dtype({"names": names, "formats": formats, "offsets": offsets, "itemsize": dtype.itemsize})


def fields_of(key: str, array: Array, what: str) -> dict[str, Array]:
    """Return an array by its name, or the fields of a structured array; fields in fields by their path.

    InputError for fields of more than one dimension per row, and for structures that are no column.
    """
    if array.dtype.names is None:
        return {key: finished(array, what)}
    rows = array.reshape(-1) if array.size == len(array) else array
    if rows.ndim != 1:
        raise InputError(f"{what} is a matrix of structures; save one structure per row, or plain arrays")
    found: dict[str, Array] = {}
    for name in array.dtype.names:
        field = rows[name]
        where = f"{what}, field {quoted(name)}"
        if field.ndim > 2:
            raise InputError(f"{where} has {field.ndim - 1} dimensions per row; save at most one")
        inner = fields_of(name, np.ascontiguousarray(field), where)
        found |= inner if field.dtype.names is None else {f"{name}.{each}": a for each, a in inner.items()}
    check_names(list(found), what)
    return found


def check_names(names: list[str], what: str) -> None:
    if len(names) > limits.COLUMNS:
        raise InputError(f"{what} has {len(names):,} fields; the maximum is {limits.COLUMNS:,}")
    for name in names:
        if not name.strip() or len(name) > limits.NAME_CHARS:
            raise InputError(f"{what}: field {quoted(name)} needs a name of 1 to {limits.NAME_CHARS} characters")


def _check_rows(header: _Header, what: str) -> None:
    if header.shape:
        check_rows(what, header.shape[0], math.prod(header.shape[1:]) * _width(header.dtype))


def _width(dtype: Any) -> int:
    """Number of values in one element of an array."""
    if dtype.names is None:
        return int(math.prod(dtype.shape)) * (_width(dtype.base) if dtype.base.names else 1)
    return sum(_width(dtype[each]) for each in dtype.names)


def _check_dtype(dtype: Any, what: str) -> None:
    if dtype.hasobject:
        raise InputError(
            f"{what} contains Python objects, which are never loaded; save plain arrays, "
            "numpy.savez(file, probs=numpy.asarray(p, float), labels=numpy.asarray(y))"
        )
    if dtype.names is not None:
        if not dtype.itemsize or not all(dtype[each].itemsize for each in dtype.names):
            raise InputError(f"{what} has a field without values; save plain arrays")
        for each in dtype.names:
            _check_dtype(dtype[each].base, f"{what}, field {quoted(each)}")
        return
    if dtype.kind in "US":
        length = dtype.itemsize // (4 if dtype.kind == "U" else 1)
        if not 0 < length <= _TEXT_CHARS:
            raise InputError(f"{what} has text of {length} characters; the length must be 1 to {_TEXT_CHARS}")
    elif dtype.kind not in _NUMBER_KINDS or dtype.itemsize > 8:
        raise InputError(
            f"{what} is of dtype {dtype.str[:20]!r}; save real numbers (float32, float64, integers, booleans) or text"
        )


def finished(array: Array, what: str) -> Array:
    """Convert to native byte order, float16 to float32, and text to str."""
    if array.dtype.kind in "US":
        return _text(array, what)
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    if array.dtype == np.float16:
        array = array.astype(np.float32)
    return frozen(array)


def _text(array: Array, what: str) -> Array:
    if array.ndim != 1:
        raise InputError(f"{what} is a matrix of text; save scores as numbers, and labels as one column")
    array = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("="))
    try:
        if array.dtype.kind == "U" and array.view(np.uint32).max(initial=0) > sys.maxunicode:
            raise ValueError("beyond the last character of Unicode")
        values = [v.decode("utf-8") if isinstance(v, bytes) else v for v in array.tolist()]
        # Half of a surrogate pair cannot be displayed or saved again.
        "".join(values).encode("utf-8")
    except ValueError as e:
        raise InputError(f"{what} contains text that is not valid Unicode; save it again") from e
    out = np.empty(len(values), dtype=object)
    out[:] = values
    return out
