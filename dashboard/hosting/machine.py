"""What this process may use of the machine it runs on."""

import os
import sys
from pathlib import Path

_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")
_UNKNOWN = 4 << 30


def memory(limits: tuple[str, ...] = _LIMITS) -> int:
    """Bytes of memory: the machine's, or fewer where a container is allowed fewer; 4 GB where nothing says.

    >>> memory() > 0
    True
    """
    whole = _UNKNOWN if sys.platform == "win32" else os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    allowed = (Path(name).read_text("utf-8").strip() for name in limits if Path(name).is_file())
    return min([whole, *(int(text) for text in allowed if text.isdecimal())])
