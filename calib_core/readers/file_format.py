"""Registry of file formats, each with its parser, file name endings and a test of the first bytes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from calib_core.registry.registry import RegistryError

Parser: TypeAlias = Callable[[bytes, str], Any]
"""Function of the bytes of a file and its name that returns a ``Table`` (defined in a higher module)."""


@dataclass(frozen=True)
class FileFormat:
    """A file format: its title, file name endings, a test of the bytes and a parser.

    ``recognise`` receives the first bytes and the length; None for text that no other format recognizes.
    ``unpacked`` estimates the bytes of numbers in a file from its header, directory or lines, without unpacking, and
    never fails. ``arrays``: files contain arrays with names and shapes, and questions about them show the shapes.
    ``packs``: the format contains a file of another format, whose name it extends, as in a.csv.gz.
    """

    key: str
    title: str
    endings: tuple[str, ...]
    parse: Parser
    recognise: Callable[[bytes], bool] | None = None
    arrays: bool = False
    unpacked: Callable[[bytes], int] = len
    packs: bool = False


FILE_FORMATS: dict[str, FileFormat] = {}
"""All file formats that can be read, by key."""


def file_format(
    key: str,
    title: str,
    endings: tuple[str, ...],
    *,
    recognise: Callable[[bytes], bool] | None = None,
    arrays: bool = False,
    unpacked: Callable[[bytes], int] = len,
    packs: bool = False,
) -> Callable[[Parser], Parser]:
    """Register a file format; the decorated function converts bytes and a file name to a Table.

    It raises an InputError that names the file, the row and the remedy if the file cannot be read. The first of the
    ``endings``, in lower case without a dot, is the recommended one.

    >>> @file_format("pairs", "Pairs", ("pairs",), recognise=lambda data: data.startswith(b"pairs"))
    ... def parse(data, name): ...
    >>> by_ending("a.PAIRS").title, FILE_FORMATS.pop("pairs").key, by_ending("a.pairs")
    ('Pairs', 'pairs', None)
    """

    def add(parse: Parser) -> Parser:
        if key in FILE_FORMATS:
            raise RegistryError(f"file format {key!r} is already registered")
        if taken := set(endings) & set(all_endings()):
            raise RegistryError(f"the file name ending .{min(taken)} already belongs to another format")
        FILE_FORMATS[key] = FileFormat(key, title, endings, parse, recognise, arrays, unpacked, packs)
        return parse

    return add


def all_endings() -> tuple[str, ...]:
    """Return all file name endings that can be read, without the dot.

    >>> {"csv", "npz", "parquet"} <= set(all_endings())
    True
    """
    return tuple(ending for each in FILE_FORMATS.values() for ending in each.endings)


def usual_endings() -> tuple[str, ...]:
    """Return the usual file name ending of every format, for messages."""
    return tuple(each.endings[0] for each in FILE_FORMATS.values())


def by_ending(filename: str) -> FileFormat | None:
    """Return the format of a file name ending; None if there is none."""
    ending = filename.rpartition(".")[2].lower() if "." in filename else ""
    return next((each for each in FILE_FORMATS.values() if ending in each.endings), None)


def by_bytes(data: bytes) -> FileFormat | None:
    """Return the format that the bytes indicate; None for text and unknown formats."""
    return next((each for each in FILE_FORMATS.values() if each.recognise and each.recognise(data)), None)


def unpacked_bytes(data: bytes) -> int:
    """Estimate the bytes of numbers in a file before unpacking; the file's own header may be wrong.

    >>> unpacked_bytes(b"p,label\\n0.7,1\\n0.2,0\\n")
    48
    """
    return (by_bytes(data) or plain_text()).unpacked(data)


def plain_text() -> FileFormat:
    """Return the format for text that no other format recognizes."""
    return next(each for each in FILE_FORMATS.values() if each.recognise is None)
