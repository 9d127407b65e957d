"""Files written aside and renamed: an old one stays until the new one is whole."""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO


def write_whole(path: str | os.PathLike[str], data: bytes) -> None:
    """The bytes as a file, whole or not at all; OSError with the file's own name where that fails.

    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "a.txt")
    ...     write_whole(path, b"old")
    ...     write_whole(path, b"new")
    ...     path.read_bytes(), len(list(Path(folder).iterdir()))
    (b'new', 1)
    """
    with aside(path) as file:
        file.write(data)


@contextmanager
def aside(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """A file to write to, which takes its place under its name when all is written.

    A file that was there keeps its permissions, a link what it points to; what is no ordinary file, such as a pipe, is
    written to directly.
    """
    place = Path(path).resolve()
    before = place.stat().st_mode if place.exists() else None
    if before is not None and not stat.S_ISREG(before):
        with place.open("wb") as file:
            yield file
        return
    name: str | None = None
    try:
        handle, name = tempfile.mkstemp(dir=place.parent, prefix=".", suffix=".part")
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        Path(name).chmod(0o666 & ~_umask() if before is None else stat.S_IMODE(before))
        Path(name).replace(place)
    except BaseException as why:
        if name is not None:
            Path(name).unlink(missing_ok=True)
        if isinstance(why, OSError):
            # The name in the error is that of the file aside, which nobody asked for.
            raise OSError(why.errno, why.strerror or "unknown reason", os.fspath(path)) from why
        raise


def _umask() -> int:
    current = os.umask(0)
    os.umask(current)
    return current
