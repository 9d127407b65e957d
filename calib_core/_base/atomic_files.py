"""Files written aside and renamed, and temporary folders that are removed when their process is gone."""

from __future__ import annotations

import os
import re
import shutil
import stat
import sys
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


_NAME = re.compile(r"calib-(?P<owner>\d{1,9})-\w+")


@contextmanager
def scratch() -> Iterator[Path]:
    """A folder of its own, gone with all that is in it in the end.

    >>> with scratch() as folder:
    ...     folder.is_dir()
    True
    >>> folder.exists()
    False
    """
    with tempfile.TemporaryDirectory(prefix=f"calib-{os.getpid()}-", ignore_cleanup_errors=True) as name:
        yield Path(name)


def sweep() -> int:
    """Delete the folders that this user's processes left when they were killed; how many there were.

    For the beginning of a process: a folder under its own number is one of a process before it.
    """
    if sys.platform == "win32":  # where numbers of processes are not asked after without harm
        return 0
    swept = 0
    for folder in Path(tempfile.gettempdir()).glob("calib-*"):
        named = _NAME.fullmatch(folder.name)
        if named is None or folder.is_symlink() or not folder.is_dir() or folder.stat().st_uid != os.getuid():
            continue
        if int(named["owner"]) == os.getpid() or not _runs(int(named["owner"])):
            shutil.rmtree(folder, ignore_errors=True)
            swept += 1
    return swept


def _runs(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:  # somebody else's
        return True
    return True
