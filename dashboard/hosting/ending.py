"""The server is about to end: what would keep it waiting is broken off."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

ENDING = threading.Event()
"""Set once this process was told to end."""
_SIGNALS = (signal.SIGTERM, signal.SIGINT)


@contextmanager
def watched() -> Iterator[None]:
    """Notice when the server is told to end, which it then does as it would have."""
    ENDING.clear()
    if threading.current_thread() is not threading.main_thread():  # where nobody is told
        yield
        return
    before = {number: signal.getsignal(number) for number in _SIGNALS}

    def told_to_end(number: int, frame: Any) -> None:
        ENDING.set()
        handler = before[signal.Signals(number)]
        if callable(handler):
            handler(number, frame)

    for number in _SIGNALS:
        if callable(before[number]):
            signal.signal(number, told_to_end)
    try:
        yield
    finally:
        for number, handler in before.items():
            if signal.getsignal(number) is told_to_end:
                signal.signal(number, handler)
