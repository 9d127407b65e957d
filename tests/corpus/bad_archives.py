"""NPZ archives: directories, compression and members that numpy never writes."""

from __future__ import annotations

import io
import struct
import zipfile
from collections.abc import Iterator

import numpy as np

from tests.corpus.bad_files import BadFile, drawn, family, npy, npz

P, Y = drawn(12)
GOOD = npz(probs=P, labels=Y)


def archive(members: dict[str, bytes], method: int = zipfile.ZIP_STORED) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as made:
        for name, data in members.items():
            made.writestr(name, data)
    return out.getvalue()


def bomb(method: int) -> bytes:
    """Return zeros beyond the unpacking limit, in a few kilobytes."""
    header = npy(np.zeros((1, 2))).split(b"\n")[0].replace(b"(1, 2)", b"(99999999, 2)")
    return archive({"probs.npy": header + bytes(1 << 20)}, method)


def declared(n_bytes: int) -> bytes:
    """Return an archive whose directory declares another size than its content."""
    data = bytearray(archive({"probs.npy": npy(P)}, zipfile.ZIP_DEFLATED))
    for mark, at in ((b"PK\x01\x02", 24), (b"PK\x03\x04", 22)):
        place = data.rfind(mark) if mark == b"PK\x01\x02" else 0
        data[place + at : place + at + 4] = struct.pack("<I", n_bytes)
    return bytes(data)


def flagged() -> bytes:
    """Return an archive whose members are flagged as encrypted."""
    data = bytearray(GOOD)
    place = data.find(b"PK\x01\x02")
    while place >= 0:
        data[place + 8] |= 1
        place = data.find(b"PK\x01\x02", place + 1)
    return bytes(data)


def twice() -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as made:
        for _ in range(2):
            made.writestr("probs.npy" if not made.namelist() else "Probs.npy", npy(P))
    return out.getvalue().replace(b"Probs.npy", b"probs.npy")


@family("NPZ archives")
def archives() -> Iterator[BadFile]:
    directory = "a.npz is damaged or cut off: its NPZ directory"
    unpacked = "is damaged or cut off (it does not match its header)"
    stray, files = "is not an array saved by numpy (.npy)", "is not NPZ but looks like a ZIP archive"
    cases: dict[str, tuple[bytes, str]] = {
        "magic only": (b"PK\x03\x04", directory),
        "no directory": (GOOD[: len(GOOD) // 2], directory),
        "an empty archive": (archive({}), "has no column (n,) or matrix (n, K)"),
        "bzip2": (bomb(zipfile.ZIP_BZIP2), "compression method 12; save with numpy.savez"),
        "LZMA": (bomb(zipfile.ZIP_LZMA), "compression method 14; save with numpy.savez"),
        "a deflate bomb": (declared(2 << 30), "a.npz unpacks to 2.15 GB; the maximum is 1.07 GB"),
        "declared too small": (declared(100), unpacked),
        "declared too large": (declared(5_000), "header declares"),
        "a header that promises more": (bomb(zipfile.ZIP_DEFLATED), "header declares 1.6 GB"),
        "encrypted": (flagged(), "is encrypted; save it without a password"),
        "a name twice": (twice(), 'a.npz has 2 columns called "probs"; give every column its own name'),
        "a text file inside": (archive({"read.me": b"x"}), files),
        "a CSV inside": (archive({"a.csv": b"p,y\n1,2\n"}), files),
        "a folder inside": (archive({"probs/": b""}), files),
        "a name of nothing": (archive({".npy": npy(P)}), "an array without a name"),
        "a name of 300 characters": (archive({"x" * 300 + ".npy": npy(P)}), stray),
        "an array that is none": (archive({"probs.npy": b"hello"}), "is not a complete NPY array; save it again"),
        "an empty member": (archive({"probs.npy": b""}), "is not a complete NPY array; save it again"),
        "a member of HTML": (archive({"<img src=x>.npy": b"x"}), 'array "<img src=x>" is not a complete NPY array'),
        "a member that is a path": (archive({"../../etc/x.npy": b"x"}), 'array "../../etc/x" is not a complete'),
        "a member with an escape": (archive({"\x1b[31m.npy": b"x"}), 'array "\\x1b[31m" is not a complete NPY array'),
        "a wrong checksum": (GOOD.replace(P.tobytes()[:8], P.tobytes()[1:9], 1), unpacked),
        "257 arrays": (archive({f"a{i}.npy": npy(Y) for i in range(257)}), "the maximum is 256"),
        "60,000 entries": (b"PK\x03\x04" + b"PK\x01\x02" * 60_000, "has more than 256 arrays"),
        "an Office file": (archive({"[Content_Types].xml": b"<x/>"}), "is a document of another program"),
    }
    for what, (data, says) in cases.items():
        yield BadFile(what, data, says, filename="a.npz")


@family("Other formats")
def other_formats() -> Iterator[BadFile]:
    good = npy(P)
    cases: dict[str, tuple[str, bytes, str]] = {
        "Feather": ("a.feather", b"ARROW1\0\0" + bytes(20), "a.feather could not be read safely"),
        "Feather of version 1": ("a.parquet", b"FEA1" + bytes(20), "is a Feather file of version 1; save it"),
        "gzip": ("a.csv.gz", b"\x1f\x8b\x08", "is damaged or cut off and cannot be unpacked"),
        "bzip2": ("a.csv", b"BZh91AY", "is damaged or cut off and cannot be unpacked"),
        "xz": ("a.csv", b"\xfd7zXZ\0", "is damaged or cut off and cannot be unpacked"),
        "zstandard": ("a.csv", b"\x28\xb5\x2f\xfd\0", "is damaged or cut off and cannot be unpacked"),
        "encrypted Parquet": ("a.parquet", b"PARE" + bytes(20), "save it without encryption"),
        "HDF5": ("a.h5", b"\x89HDF\r\n", "is an HDF5 file; save its arrays with numpy.savez"),
        "PDF": ("a.csv", b"%PDF-1.7\n", "is a PDF; save the table as CSV"),
        "old Excel": ("a.xls", b"\xd0\xcf\x11\xe0\xa1\xb1", "is a document of another program; save the table as CSV"),
        "a pickle": ("a.pkl", b"\x80\x04N.", "contains Python objects (a pickle), which are never loaded"),
        "an old pickle": ("a.npy", b"\x80\x02N.", "contains Python objects (a pickle), which are never loaded"),
        "a JSON list": ("a.json", b"[0.5, 1]", "is a JSON list whose entries are not objects"),
        "a JSON list called CSV": ("a.csv", b"\xef\xbb\xbf [1, 2]", "is a JSON list"),
        "CSV called NPZ": ("a.npz", b"p,y\n0.5,1\n", "a.npz is not NPZ but looks like CSV; rename it to end in .csv"),
        "CSV called NPY": ("a.npy", b"p,y\n0.5,1\n", "a.npy is not NPY but looks like CSV"),
        "CSV called Parquet": ("a.parquet", b"p,y\n0.5,1\n", "a.parquet is not Parquet but looks like CSV"),
        "CSV called JSON Lines": ("a.jsonl", b"p,y\n0.5,1\n", "a.jsonl is not JSON Lines but looks like CSV"),
        "NPY called CSV": ("a.csv", good, "a.csv is not CSV but looks like NPY; rename it to end in .npy"),
        "NPY called NPZ": ("a.npz", good, "a.npz is not NPZ but looks like NPY; rename it to end in .npy"),
        "NPZ called Parquet": ("a.parquet", GOOD, "looks like NPZ; rename it to end in .npz"),
        "JSON called CSV": ("a.csv", b'{"p": 0.5, "y": 1}\n', "looks like JSON Lines; rename it to end in .jsonl"),
        "HTML": ("a.csv", b"<!doctype html><p>Sign in</p>\n", "is an HTML page; download the file itself"),
        "a picture": ("a.csv", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "is a picture; save the table behind it as CSV"),
        "a program": ("a.csv", b"\x7fELF\2\1\1\0", "is a program; choose a table"),
        "a name with a line end": ("a\r\nb.csv", b"", "a\\r\\nb.csv is empty (0 bytes)"),
        "a name with an escape": ("\x1b[31ma.csv", b"", "\\x1b[31ma.csv is empty (0 bytes)"),
        "a name that turns text round": ("\u202egsv.csv", b"", "\\u202egsv.csv is empty (0 bytes)"),
        "a long name": ("x" * 500 + ".csv", b"", "x" * 79 + "… is empty (0 bytes)"),
        "a path": ("../../etc/passwd.csv", b"", "passwd.csv is empty (0 bytes)"),
    }
    for what, (filename, data, says) in cases.items():
        yield BadFile(what, data, says, filename=filename)
