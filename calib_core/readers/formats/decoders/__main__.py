"""Decode one file from standard input to plain numbers on standard output, within fixed limits.

This script runs in a separate process, which may die. Output: one line of JSON with the columns (or the reason for a
refusal), then the numbers. Adjacent columns of one type are written as one matrix of rows. Text is written as codes,
with its strings in the JSON.
"""

from __future__ import annotations

import errno
import importlib.util
import json
import os
import sys
import threading
import time
from pathlib import Path
from typing import Any

_NAME = "decoders"


def main() -> None:
    """Limit this process, then read; if the disk is full, the exit code is that of the error."""
    key, bounds = sys.argv[1], json.loads(sys.argv[2])
    limit(bounds)
    threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
    try:
        for part in _package().decoded(key, sys.stdin.buffer.read(), bounds):
            sys.stdout.buffer.write(part)
        sys.stdout.buffer.flush()
    except OSError as why:
        if why.errno != errno.ENOSPC:
            raise
        os._exit(errno.ENOSPC)  # at once: an orderly end would try to write the rest


def _package() -> Any:
    """Import this folder as a package of its own, so that nothing else of the project is loaded."""
    folder = Path(__file__).parent
    about = importlib.util.spec_from_file_location(
        _NAME, folder / "__init__.py", submodule_search_locations=[str(folder)]
    )
    assert about is not None
    assert about.loader is not None
    package = sys.modules[_NAME] = importlib.util.module_from_spec(about)
    about.loader.exec_module(package)
    return package


def _end_with(parent: int) -> None:
    """End this process when its parent ends, which may be killed."""
    while os.getppid() == parent:
        time.sleep(1.0)
    os._exit(1)


def limit(bounds: dict[str, int]) -> None:
    """Limit memory, processor time, output and core dumps of this process, on systems that can."""
    if sys.platform == "win32":
        return
    try:
        import resource
    except ImportError:  # other systems without it
        return
    for what, most in (
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_AS, bounds["memory"]),
        (resource.RLIMIT_CPU, bounds["seconds"]),
        (resource.RLIMIT_FSIZE, 2 * bounds["decoded_bytes"]),
    ):
        _, hard = resource.getrlimit(what)
        least = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(what, (least, least))


if __name__ == "__main__":
    main()
