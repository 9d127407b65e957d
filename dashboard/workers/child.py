"""Worker process of the server: computes the jobs that it receives, one after the other.

Run as a script. It sends "ready", then answers every job with messages ("progress", percent) and a final one: "result",
"refused" or "unsendable". The final message is followed by a parcel with the value or the exception. The process ends
with the server, or earlier if memory runs out.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import signal
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

NICENESS = 5
"""Pages have priority: otherwise they would wait for a core behind this process."""


def main() -> None:
    """Answer jobs until the server is gone."""
    if sys.platform == "win32":  # `calib serve` starts no processes there
        return
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.nice(NICENESS)
    # The kernel is to kill this process rather than the server.
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_bytes(b"800")
    threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()

    from multiprocessing.connection import Connection

    connection = Connection(int(sys.argv[1]))
    path, loaded, modules = connection.recv()
    sys.path[:] = path  # the server's, before anything of the project is imported
    if loaded:
        _load(modules)
    connection.send(("ready", os.getpid()))
    # The server is gone, or no longer needs this process.
    with contextlib.suppress(EOFError, OSError):
        while True:
            answer(connection)


def _load(modules: list[str]) -> None:
    """Import the modules that the first job would wait for."""
    library = importlib.import_module("calib_core")
    for name in library.__all__:
        if name != "figures":  # draws figures: Plotly is not for this process
            getattr(library, name)
    for name in modules:
        with contextlib.suppress(Exception):  # the server computes results that need it
            importlib.import_module(name)
    gc.collect()
    gc.freeze()


def answer(connection: Connection) -> None:
    """Receive one job, compute it, and send the answer."""
    from dashboard.workers import shared_arrays

    def tell(percent: int) -> None:
        connection.send(("progress", int(percent)))

    try:
        function, args, options = shared_arrays.received(connection)
    except (EOFError, OSError):
        raise
    except Exception as failure:  # objects known only in the server's process
        connection.send(("unsendable", repr(failure)[:500]))
        return
    kind, value = _outcome(function, args, {**options, "progress": tell})
    try:
        parcel = shared_arrays.packed(value)
    except Exception as failure:
        connection.send(("unsendable", repr(failure)[:500]))
        return
    connection.send((kind, None))
    shared_arrays.send(connection, parcel)


def _outcome(function: Any, args: Any, options: Any) -> tuple[str, Any]:
    try:
        return "result", function(*args, **options)
    except Exception as failure:
        return "refused", failure


def _end_with(parent: int) -> None:
    """End this process at once when the server ends, in the middle of its work."""
    while os.getppid() == parent:
        time.sleep(1.0)
    os._exit(1)


if __name__ == "__main__":
    main()
