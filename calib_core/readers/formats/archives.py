"""ZIP archives by the names of their members: NPZ files, workbooks, logs, or files of one archived table."""

from __future__ import annotations

import io
import re
import struct
import zipfile

ZIP = (b"PK\x03\x04", b"PK\x05\x06")
_LOCAL = re.compile(rb"PK\x03\x04.{22}(..)..", re.DOTALL)
_END = b"PK\x05\x06"
_MOST = 65_535
"""Members of a directory that is read; longer ones need ZIP64."""
_LOGS = (b"_journal/", b"header.json", b"samples/", b"summaries.json", b"reductions.json")
"""Prefixes of the first member of a log archive."""
ENCRYPTED = 0x1
"""Flag of an encrypted member."""
COMPRESSIONS = frozenset({zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED})
"""Methods that are unpacked: bzip2 and LZMA expand without a bound, 3.5 kB can become 9 GB."""


def is_log(data: bytes) -> bool:
    """True for an archive of logs, by the name of its first member."""
    return data.startswith(ZIP) and data[30:64].startswith(_LOGS)


def member_names(data: bytes) -> tuple[str, ...]:
    """Return the names of an archive's members; those of the first members if the directory is damaged.

    >>> out = io.BytesIO()
    >>> with zipfile.ZipFile(out, "w") as archive:
    ...     archive.writestr("a.csv", "p,y")
    >>> member_names(out.getvalue()), member_names(out.getvalue()[:40]), member_names(b"p,y")
    (('a.csv',), ('a.csv',), ())
    """
    if not data.startswith(ZIP):
        return ()
    end = data.rfind(_END, max(0, len(data) - (1 << 17)))
    if end >= 0 and len(data) >= end + 12 and struct.unpack_from("<H", data, end + 10)[0] <= _MOST:
        try:
            return tuple(zipfile.ZipFile(io.BytesIO(data)).namelist())
        except Exception:  # zipfile raises six types of exceptions on a damaged directory
            pass
    found = []
    for each in list(_LOCAL.finditer(data[: 1 << 20]))[:64]:
        length = int.from_bytes(each[1], "little")
        found.append(data[each.end() : each.end() + length].decode("utf-8", "replace"))
    return tuple(name for name in found if name and name.isprintable())


def is_workbook(data: bytes) -> bool:
    """True for a workbook of Excel or OpenDocument, and for one of Excel before 2007."""
    if data.startswith(OLE):
        return any(name.encode("utf-16-le") in data for name in ("Workbook", "Book"))
    if not data.startswith(ZIP):
        return False
    if data[30:].startswith(b"mimetypeapplication/vnd.oasis.opendocument.spreadsheet"):
        return True
    names = member_names(data)
    return any(name.startswith(("xl/workbook.", "xl/worksheets/")) for name in names)


OLE = b"\xd0\xcf\x11\xe0"
"""Start of files of Microsoft Office before 2007, and of encrypted later ones."""

OFFICE = ("[Content_Types].xml", "word/", "ppt/", "docProps/", "META-INF/", "mimetype", "Index/")
"""Starts of the names of members in documents that are archives."""


def has_arrays(data: bytes) -> bool:
    """True for an NPZ file, and for an archive that is empty or damaged beyond recognition.

    >>> has_arrays(b"PK\\x05\\x06"), has_arrays(b"PK\\x03\\x04")
    (True, True)
    """
    if not data.startswith(ZIP) or is_log(data):
        return False
    names = member_names(data)
    return not names or any(name.endswith(".npy") for name in names)


def has_files(data: bytes) -> bool:
    """True for an archive of files that are neither arrays nor the parts of a document."""
    if not data.startswith(ZIP) or is_log(data) or has_arrays(data) or is_workbook(data):
        return False
    names = member_names(data)
    return not any(name.startswith(OFFICE) or name.endswith("data.pkl") for name in names)
