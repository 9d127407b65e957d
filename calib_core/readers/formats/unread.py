"""Known formats that are not read: how each is recognized, and what to do instead. Their content is never shown."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from calib_core.readers.formats.archives import OFFICE, OLE, ZIP, is_workbook, member_names

_ARRAYS = "save its arrays with numpy.savez"
_CSV = "save the table as CSV"
_UNPACK = "unpack it first"
_NO_PICKLES = "contains Python objects (a pickle), which are never loaded"
_TORCH = "save probabilities with numpy.savez(file, probs=p.numpy(), labels=y.numpy())"
_PREDICT = "apply it, and save its probabilities and the labels as CSV or NPZ"


@dataclass(frozen=True)
class UnreadFormat:
    """A format that is not read.

    Parameters
    ----------
    title : continues "FILE is ...", or "FILE ..." if it starts with a verb.
    remedy : what to do instead.
    starts : first bytes, one of which identifies the format.
    test : a test of the bytes, in place of ``starts``.
    endings : file name endings that identify the format if the bytes are not text.
    """

    title: str
    remedy: str
    starts: tuple[bytes, ...] = ()
    test: Callable[[bytes], bool] | None = None
    endings: tuple[str, ...] = ()

    def matches(self, data: bytes) -> bool:
        """True if the bytes identify this format."""
        return (bool(self.starts) and data.startswith(self.starts)) or (self.test is not None and self.test(data))

    def message(self, name: str) -> str:
        """Return the reason and the remedy."""
        return f"{name} {'' if self.title.startswith('contains') else 'is '}{self.title}; {self.remedy}"


def _bytes_at(place: int, *words: bytes) -> Callable[[bytes], bool]:
    return lambda data: data[place : place + 16].startswith(words)


def _within(start: bytes, *words: bytes) -> Callable[[bytes], bool]:
    """Return a test of the start, and of a word anywhere."""
    return lambda data: data.startswith(start) and any(word in data for word in words)


def _member(*words: str) -> Callable[[bytes], bool]:
    """Return a test of an archive's members: one starts or ends with a word."""
    return lambda data: (
        data.startswith(ZIP) and any(name.startswith(words) or name.endswith(words) for name in member_names(data))
    )


def _stream(*names: str) -> Callable[[bytes], bool]:
    """Return a test of an old document of Office: it has a stream of this name."""
    return _within(OLE, *(name.encode("utf-16-le") for name in names))


def _is_notebook(data: bytes) -> bool:
    return data[:4096].lstrip().startswith(b"{") and b'"cell_type"' in data[:4096] and b'"cells"' in data[:4096]


def _is_bitmap(data: bytes) -> bool:
    return data.startswith(b"BM") and data[6:10] == bytes(4)


def _is_records(data: bytes) -> bool:
    """True for TFRecord: the length of an Example in 8 bytes, a checksum, and a first field of type 1."""
    length = int.from_bytes(data[:8], "little")
    return 2 <= length < 1 << 32 and data[4:8] == bytes(4) and data[12:13] == b"\x0a" and len(data) > 16


_HTML = (b"<!doctype html", b"<html", b"<table")


def _is_page(data: bytes) -> bool:
    return data[:4096].removeprefix(b"\xef\xbb\xbf").lstrip().lower().startswith(_HTML)


UNREAD = (
    UnreadFormat("encrypted", "save it without a password", test=_stream("EncryptedPackage")),
    UnreadFormat("a PyTorch file, whose Python objects are never loaded", _TORCH, test=_member("data.pkl")),
    UnreadFormat(
        "a PyTorch file, whose Python objects are never loaded",
        _TORCH,
        (b"\x80\x02\x8a\x0al\xfc\x9cF\xf9",),
        endings=("pt", "pth", "ckpt"),
    ),
    UnreadFormat(
        _NO_PICKLES,
        "save plain arrays with numpy.savez",
        tuple(bytes([0x80, version]) for version in range(2, 6)),
        endings=("pkl", "pickle", "joblib", "p", "dill", "model"),
    ),
    UnreadFormat(
        "a Feather file of version 1", "save it with a newer pyarrow, or as Parquet", (b"FEA1",), endings=("fea",)
    ),
    UnreadFormat("an encrypted Parquet file", "save it without encryption", (b"PARE",)),
    UnreadFormat("an Avro file", "save it as Parquet", (b"Obj\x01",), endings=("avro",)),
    UnreadFormat(
        "a TFRecord file",
        "read its examples with TensorFlow, and save probabilities and labels with numpy.savez",
        test=_is_records,
        endings=("tfrecord", "tfrecords"),
    ),
    UnreadFormat(
        "a Keras model", "save model.predict(x) and the labels with numpy.savez", test=_member("model.weights.h5")
    ),
    UnreadFormat(
        "a Keras model",
        "save model.predict(x) and the labels with numpy.savez",
        test=_within(b"\x89HDF", b"keras_version", b"model_weights"),
        endings=("keras",),
    ),
    UnreadFormat("an HDF5 file", _ARRAYS, (b"\x89HDF",), endings=("h5", "hdf5", "hdf")),
    UnreadFormat("a Matlab file of version 7.3", "save it with save(file, '-v7')", (b"MATLAB 7.3 MAT-file",)),
    UnreadFormat("a Matlab file of version 4", "save it with save(file, '-v7')", endings=("mat",)),
    UnreadFormat("a netCDF file", _ARRAYS, (b"CDF\x01", b"CDF\x02", b"CDF\x05"), endings=("nc",)),
    UnreadFormat(
        "an R file",
        "save its table with write.csv(rows, file, row.names = FALSE)",
        (b"RDX2\n", b"RDX3\n", b"RDA2\n", b"RDA3\n", b"X\n\0\0\0", b"A\n2\n", b"A\n3\n"),
        endings=("rds", "rda", "rdata"),
    ),
    UnreadFormat("an SPSS portable file", "save it as .sav", test=_bytes_at(40, b"ASCII SPSS PORT"), endings=("por",)),
    UnreadFormat(
        "a SQLite database",
        "save a query as CSV, for example with sqlite3 -header -csv",
        (b"SQLite format 3\0",),
        endings=("sqlite", "sqlite3", "db"),
    ),
    UnreadFormat(
        "a DuckDB database",
        "save a table with COPY rows TO 'predictions.parquet'",
        test=_bytes_at(8, b"DUCK"),
        endings=("duckdb",),
    ),
    UnreadFormat(
        "an Access database", _CSV, (b"\0\1\0\0Standard Jet DB", b"\0\1\0\0Standard ACE DB"), endings=("mdb", "accdb")
    ),
    UnreadFormat("an ONNX model", _PREDICT, endings=("onnx",)),
    UnreadFormat("a TensorFlow Lite model", _PREDICT, test=_bytes_at(4, b"TFL3"), endings=("tflite",)),
    UnreadFormat("a model's weights", _PREDICT, (b"GGUF",), endings=("gguf", "pb", "ubj", "bin", "cbm")),
    UnreadFormat("a LightGBM model", _PREDICT, (b"tree\nversion=",)),
    UnreadFormat("a notebook", "save the table in it with to_csv", test=_is_notebook, endings=("ipynb",)),
    UnreadFormat(
        "a Git LFS pointer, not the file itself", "run: git lfs pull", (b"version https://git-lfs.github.com/spec/",)
    ),
    UnreadFormat("a PDF", _CSV, (b"%PDF",), endings=("pdf",)),
    UnreadFormat("a PostScript file", _CSV, (b"%!PS",), endings=("ps", "eps")),
    UnreadFormat("a rich text document", _CSV, (b"{\\rtf",), endings=("rtf",)),
    UnreadFormat("a Word document", _CSV, test=_member("word/"), endings=("docx", "doc")),
    UnreadFormat("a Word document", _CSV, test=_stream("WordDocument")),
    UnreadFormat("a presentation", _CSV, test=_member("ppt/"), endings=("pptx", "ppt")),
    UnreadFormat("a presentation", _CSV, test=_stream("PowerPoint Document")),
    UnreadFormat("an Apple Numbers file", "export it as CSV or Excel", test=_member(".iwa"), endings=("numbers",)),
    UnreadFormat(
        "a document of another program",
        _CSV,
        test=lambda data: (data.startswith(OLE) or _member(*OFFICE)(data)) and not is_workbook(data),
    ),
    UnreadFormat(
        "a picture",
        "save the table behind it as CSV",
        (b"\x89PNG\r\n", b"\xff\xd8\xff", b"GIF87a", b"GIF89a", b"II*\0", b"MM\0*"),
        endings=("png", "jpg", "jpeg", "gif", "bmp", "tif", "tiff", "webp", "heic"),
    ),
    UnreadFormat("a picture", "save the table behind it as CSV", test=_is_bitmap),
    UnreadFormat("a picture", "save the table behind it as CSV", test=_bytes_at(8, b"WEBP")),
    UnreadFormat("a sound file", "choose a table", test=_bytes_at(8, b"WAVE"), endings=("wav", "mp3", "flac")),
    UnreadFormat("a sound file", "choose a table", (b"ID3", b"OggS", b"fLaC")),
    UnreadFormat("a video", "choose a table", test=_bytes_at(4, b"ftyp"), endings=("mp4", "mov", "avi", "mkv")),
    UnreadFormat("a 7z archive", _UNPACK, (b"7z\xbc\xaf\x27\x1c",), endings=("7z",)),
    UnreadFormat("a RAR archive", _UNPACK, (b"Rar!\x1a\x07",), endings=("rar",)),
    UnreadFormat(
        "a TAR archive",
        "unpack it, and choose one file or a folder of files of one shape",
        test=_bytes_at(257, b"ustar"),
        endings=("tar", "tgz"),
    ),
    UnreadFormat("compressed with LZ4", _UNPACK, (b"\x04\x22\x4d\x18",), endings=("lz4",)),
    UnreadFormat("compressed with compress", _UNPACK, (b"\x1f\x9d",)),
    UnreadFormat("a program", "choose a table", (b"\x7fELF", b"MZ\x90", b"\xca\xfe\xba\xbe", b"\xcf\xfa\xed\xfe")),
    UnreadFormat("a script", "run it, and choose the table that it writes", (b"#!/",)),
    UnreadFormat("a key or certificate", "choose a table", (b"-----BEGIN ",)),
    UnreadFormat("an HTML page", "download the file itself, which may need signing in", test=_is_page),
    UnreadFormat("an XML file", _CSV, (b"<?xml", b"\xef\xbb\xbf<?xml")),
)
"""Formats in the order of their tests: special ones come first."""


def unread(data: bytes) -> UnreadFormat | None:
    """Return the format that the bytes indicate, if it is known and not read.

    >>> unread(b"%PDF-1.7").message("a.csv"), unread(b"p,y")
    ('a.csv is a PDF; save the table as CSV', None)
    """
    return next((each for each in UNREAD if each.matches(data)), None)


def unread_by_ending(name: str) -> UnreadFormat | None:
    """Return the format of a file name ending, if it is known and not read."""
    ending = name.rpartition(".")[2].lower()
    return next((each for each in UNREAD if ending in each.endings), None)
