"""Work for processes: which one does it, work without an end, and work that its process does not survive."""

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

Progress = Callable[[int], object]


def process(progress: Progress) -> int:
    """The process that computes this."""
    return os.getpid()


def endless(progress: Progress) -> None:
    """Work that never says how far it is: nothing but the end of its process stops it."""
    while True:
        time.sleep(0.05)


def fatal(times: str, progress: Progress) -> int:
    """End the process so many times, counted in a file, and then answer."""
    left = int(Path(times).read_text())
    if left:
        Path(times).write_text(str(left - 1))
        os.kill(os.getpid(), signal.SIGKILL)
    return os.getpid()


def busy(seconds: float, progress: Progress) -> int:
    """Keep a processor busy for so long, and say which process did."""
    until = time.thread_time() + seconds
    while time.thread_time() < until:
        progress(0)
    return os.getpid()


def quiet(seconds: float, progress: Progress) -> int:
    """The same without a word of how far it is."""
    return busy(seconds, lambda _: None)
