"""Files written aside and renamed: an old one stays until the new one is whole."""

from __future__ import annotations

import os
import stat
import tempfile
from pathlib import Path


def write_whole(path: str | os.PathLike[str], data: bytes) -> None:
    """The bytes as a file, whole or not at all; OSError with the file's own name where that fails.

    A file that was there keeps its permissions, a link what it points to; what is no ordinary file, such as a pipe, is
    written to directly.

    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "a.txt")
    ...     write_whole(path, b"old")
    ...     write_whole(path, b"new")
    ...     path.read_bytes(), len(list(Path(folder).iterdir()))
    (b'new', 1)
    """
    place = Path(path).resolve()
    aside: str | None = None
    try:
        before = place.stat().st_mode if place.exists() else None
        if before is not None and not stat.S_ISREG(before):
            place.write_bytes(data)
            return
        handle, aside = tempfile.mkstemp(dir=place.parent, prefix=".", suffix=".part")
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        Path(aside).chmod(0o666 & ~_umask() if before is None else stat.S_IMODE(before))
        Path(aside).replace(place)
    except BaseException as why:
        if aside is not None:
            Path(aside).unlink(missing_ok=True)
        if isinstance(why, OSError):
            # The name in the error is that of the file aside, which nobody asked for.
            raise OSError(why.errno, why.strerror or "unknown reason", os.fspath(path)) from why
        raise


def _umask() -> int:
    current = os.umask(0)
    os.umask(current)
    return current
