"""Work for processes: to identify the process, without an end, and to kill the process."""

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

Progress = Callable[[int], object]


def process(progress: Progress) -> int:
    """Return the process that computes this."""
    return os.getpid()


def endless(progress: Progress) -> None:
    """Run without progress reports: only the end of its process stops it."""
    while True:
        time.sleep(0.05)


def fatal(times: str, progress: Progress) -> int:
    """End the process this many times, counted in a file, and then return."""
    left = int(Path(times).read_text())
    if left:
        Path(times).write_text(str(left - 1))
        os.kill(os.getpid(), signal.SIGKILL)
    return os.getpid()


def busy(seconds: float, progress: Progress) -> int:
    """Occupy a processor for this long, and return the process."""
    until = time.thread_time() + seconds
    while time.thread_time() < until:
        progress(0)
    return os.getpid()


def quiet(seconds: float, progress: Progress) -> int:
    """Occupy a processor without progress reports."""
    return busy(seconds, lambda _: None)
