"""Folders for a while, which say whose they are: those of processes that were killed go when the next one starts."""

from __future__ import annotations

import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

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
