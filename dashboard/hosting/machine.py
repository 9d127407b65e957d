"""Processes and host name that this process has on its machine, and the release of unused memory."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from dataclasses import dataclass

SERVER, PROCESS = 300 << 20, 180 << 20
"""Bytes that the idle server takes, and that each of its worker processes takes."""
_MMAP_THRESHOLD, _TRIM_THRESHOLD, _ARENA_MAX = -3, -1, -8
_LARGE = 8 << 20
"""Smallest size in bytes of an array with its own pages, which are freed with it; smaller ones share larger blocks."""
_ARENAS = 4


def own_bytes(processes: int) -> int:
    """Return the bytes that the server and this many processes take before any file is opened.

    >>> own_bytes(2) >> 20
    660
    """
    return SERVER + processes * PROCESS


def processes_for(memory: int, wanted: int) -> int:
    """Return how many of the wanted processes fit into a third of the memory; at least 1.

    >>> processes_for(4 << 30, 8), processes_for(1 << 30, 8), processes_for(1 << 30, 0)
    (5, 1, 0)
    """
    return min(wanted, max(1, (memory // 3 - SERVER) // PROCESS))


def keep_memory_whole() -> bool:
    """Give large arrays their own pages, and small ones few pools; return True if the system supports it.

    Otherwise memory freed by many threads stays with the process in fragments: half a gigabyte after twenty large
    files.
    """
    try:
        option = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError, TypeError):  # not the C library with this function
        return False
    options = ((_ARENA_MAX, _ARENAS), (_MMAP_THRESHOLD, _LARGE), (_TRIM_THRESHOLD, _LARGE))
    return [option(name, value) for name, value in options] == [1, 1, 1]


def give_back() -> bool:
    """Return free memory to the system; return True if the system supports it."""
    try:
        ctypes.CDLL(None).malloc_trim(0)
    except (OSError, AttributeError, TypeError):
        return False
    return True


PAGES = "https://huggingface.co"


@dataclass(frozen=True)
class Space:
    """Host names of a Space and the origins that frame it; both empty elsewhere."""

    hosts: tuple[str, ...] = ()
    framed_by: tuple[str, ...] = ()


def space_of(environment: Mapping[str, str]) -> Space:
    """Return the Space that this process runs as, by its environment.

    >>> space_of({"SPACE_HOST": "owner-calib.hf.space"}).hosts, space_of({}).framed_by
    (('owner-calib.hf.space',), ())
    """
    host = environment.get("SPACE_HOST", "").strip()
    return Space((host,), (PAGES,)) if host else Space()
