"""Write files under a temporary name and rename them; and remove temporary folders of dead processes."""

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
    """Write bytes to a file, completely or not at all; OSError names this file if that fails.

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
    """Yield a temporary file that replaces the named file when it is complete.

    An existing file's permissions are preserved, and so are links. Special files, such as pipes, are written directly.
    """
    place = Path(path).resolve()
    before = place.stat().st_mode if place.exists() else None
    name: str | None = None
    try:
        if before is not None and not stat.S_ISREG(before):
            with place.open("wb") as file:
                yield file
            return
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
            # The original error names the temporary file, which the caller does not know, or none.
            raise OSError(why.errno, why.strerror or "unknown reason", os.fspath(path)) from why
        raise


def _umask() -> int:
    current = os.umask(0)
    os.umask(current)
    return current


_NAME = re.compile(r"calib-(?P<owner>\d{1,9})-\w+")


@contextmanager
def scratch() -> Iterator[Path]:
    """Yield a temporary folder, which is deleted with its contents at the end.

    >>> with scratch() as folder:
    ...     folder.is_dir()
    True
    >>> folder.exists()
    False
    """
    with tempfile.TemporaryDirectory(prefix=f"calib-{os.getpid()}-", ignore_cleanup_errors=True) as name:
        yield Path(name)


def sweep() -> int:
    """Delete the folders of this user's killed processes, and return their number.

    Call it at the start of a process: a folder with its own process number belongs to an earlier process.
    """
    if sys.platform == "win32":  # checking whether a process exists has side effects there
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
    except OSError:  # another user's process
        return True
    return True
