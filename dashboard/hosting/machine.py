"""What this process may use of the machine it runs on, and giving back what it does not need."""

import ctypes
import os
import sys
from pathlib import Path

_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")
_UNKNOWN = 4 << 30
SERVER, PROCESS = 300 << 20, 180 << 20
"""Bytes that the server takes with nobody there, and each of the processes beside it."""
_MMAP_THRESHOLD, _TRIM_THRESHOLD, _ARENA_MAX = -3, -1, -8
_LARGE = 8 << 20
"""Bytes from which an array has pages of its own, which go when it does; smaller ones are cut from larger pieces."""
_ARENAS = 4


def memory(limits: tuple[str, ...] = _LIMITS) -> int:
    """Bytes of memory: the machine's, or fewer where a container is allowed fewer; 4 GB where nothing says.

    >>> memory() > 0
    True
    """
    whole = _UNKNOWN if sys.platform == "win32" else os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    allowed = (Path(name).read_text("utf-8").strip() for name in limits if Path(name).is_file())
    return min([whole, *(int(text) for text in allowed if text.isdecimal())])


def own_bytes(processes: int) -> int:
    """Bytes that the server and so many processes take before anybody brings a file.

    >>> own_bytes(2) >> 20
    660
    """
    return SERVER + processes * PROCESS


def processes_for(memory: int, wanted: int) -> int:
    """How many of the processes that are wanted there is memory for, where they take a third of it at most; 1 at least.

    >>> processes_for(4 << 30, 8), processes_for(1 << 30, 8), processes_for(1 << 30, 0)
    (5, 1, 0)
    """
    return min(wanted, max(1, (memory // 3 - SERVER) // PROCESS))


def keep_memory_whole() -> bool:
    """Have large arrays in pages of their own from now on, and few pools of small ones; whether this system can.

    Otherwise what many threads free stays with the process in pieces: half a gigabyte after twenty large files.
    """
    try:
        option = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError, TypeError):  # not the C library that knows it
        return False
    options = ((_ARENA_MAX, _ARENAS), (_MMAP_THRESHOLD, _LARGE), (_TRIM_THRESHOLD, _LARGE))
    return [option(name, value) for name, value in options] == [1, 1, 1]


def give_back() -> bool:
    """Give the system back what is free in between; whether this system can."""
    try:
        ctypes.CDLL(None).malloc_trim(0)
    except (OSError, AttributeError, TypeError):
        return False
    return True
