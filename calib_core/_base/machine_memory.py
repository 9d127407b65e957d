"""Memory that this process may use: the machine's, or less in a container or a control group."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

_UNKNOWN = 4 << 30
_GROUPS, _MOUNT = Path("/proc/self/cgroup"), Path("/sys/fs/cgroup")


def memory(groups: Path = _GROUPS, mount: Path = _MOUNT) -> int:
    """Return the bytes of memory: the machine's, or the lowest limit of the control groups of Linux; 4 GB if unknown.

    ``groups`` lists the process's control groups, whose limits are files below ``mount``.

    >>> memory() > 0
    True
    """
    whole = _UNKNOWN
    if sys.platform != "win32" and "sysconf" in vars(os):
        whole = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    limits = (file.read_text("utf-8").strip() for file in _limits(groups, mount) if file.is_file())
    return min([whole, *(int(text) for text in limits if text.isdecimal())])


def _limits(groups: Path, mount: Path) -> Iterator[Path]:
    """Yield files of the limits of the process's groups and those around them; in a container its own is the top."""
    listed = groups.read_text("utf-8").splitlines() if groups.is_file() else []
    for line in ("0::/", "0:memory:/", *listed):
        _, _, rest = line.partition(":")
        controllers, _, group = rest.partition(":")
        if controllers not in ("", "memory"):
            continue
        top, name = (mount, "memory.max") if not controllers else (mount / "memory", "memory.limit_in_bytes")
        own = top / group.lstrip("/")
        yield from (folder / name for folder in (own, *own.parents) if folder.is_relative_to(top))
