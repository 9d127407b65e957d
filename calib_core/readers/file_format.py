"""File formats: each adds its parser here, with the endings of its names and the bytes it is told by."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from calib_core.registry.registry import RegistryError

Parser: TypeAlias = Callable[[bytes, str], Any]
"""From the bytes of a file and its name to a ``Table``, which is above: a table knows the format it comes from."""


@dataclass(frozen=True)
class FileFormat:
    """A format of files: its title, how names end, how its bytes are told from others, and what parses them.

    ``recognise`` is asked about the first bytes and the length alone; None: text that no other format recognises.
    ``unpacked`` tells from the header, the directory or the lines alone how many bytes of numbers a file holds; nothing
    is unpacked for it, and no file can make it fail. ``arrays``: files hold arrays with a name and a shape, and
    questions about them mention the shapes.
    """

    key: str
    title: str
    endings: tuple[str, ...]
    parse: Parser
    recognise: Callable[[bytes], bool] | None = None
    arrays: bool = False
    unpacked: Callable[[bytes], int] = len


FILE_FORMATS: dict[str, FileFormat] = {}
"""Every format that is read, by its key."""


def file_format(
    key: str,
    title: str,
    endings: tuple[str, ...],
    *,
    recognise: Callable[[bytes], bool] | None = None,
    arrays: bool = False,
    unpacked: Callable[[bytes], int] = len,
) -> Callable[[Parser], Parser]:
    """Decorator that adds a format; the function makes a Table of the bytes of a file and its name.

    What it cannot read it refuses with an InputError of one sentence that names the file, the row and the remedy. The
    first of the ``endings``, in small letters and without a dot, is the one that is recommended.

    >>> @file_format("pairs", "Pairs", ("pairs",), recognise=lambda data: data.startswith(b"pairs"))
    ... def parse(data, name): ...
    >>> by_ending("a.PAIRS").title, FILE_FORMATS.pop("pairs").key, by_ending("a.pairs")
    ('Pairs', 'pairs', None)
    """

    def add(parse: Parser) -> Parser:
        if key in FILE_FORMATS:
            raise RegistryError(f"there is a file format {key!r} already")
        if taken := set(endings) & set(all_endings()):
            raise RegistryError(f"file names that end in .{min(taken)} stand for another format already")
        FILE_FORMATS[key] = FileFormat(key, title, endings, parse, recognise, arrays, unpacked)
        return parse

    return add


def all_endings() -> tuple[str, ...]:
    """Endings of the names of files that can be read, without the dot.

    >>> {"csv", "npz", "parquet"} <= set(all_endings())
    True
    """
    return tuple(ending for each in FILE_FORMATS.values() for ending in each.endings)


def by_ending(filename: str) -> FileFormat | None:
    """The format that the ending of a name stands for; None where it stands for none."""
    ending = filename.rpartition(".")[2].lower() if "." in filename else ""
    return next((each for each in FILE_FORMATS.values() if ending in each.endings), None)


def by_bytes(data: bytes) -> FileFormat | None:
    """The format that the bytes show; None for text, and for what nobody knows."""
    return next((each for each in FILE_FORMATS.values() if each.recognise and each.recognise(data)), None)


def unpacked_bytes(data: bytes) -> int:
    """Bytes of numbers that a file holds, told before it is unpacked: as many as it promises, which may be untrue.

    >>> unpacked_bytes(b"p,label\\n0.7,1\\n0.2,0\\n")
    48
    """
    return (by_bytes(data) or plain_text()).unpacked(data)


def plain_text() -> FileFormat:
    """The format of text that no other format recognises."""
    return next(each for each in FILE_FORMATS.values() if each.recognise is None)
