"""Shutdown of the server: anything that would delay it is canceled.

Also the idle work of the server: removing unused uploads, and the memory of visitors who have left.
"""

from __future__ import annotations

import asyncio
import gc
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from dashboard import session, uploads
from dashboard.hosting import machine

ENDING = threading.Event()
"""Set once this process was requested to end."""
_SIGNALS = (signal.SIGTERM, signal.SIGINT)


@contextmanager
def watched() -> Iterator[None]:
    """Notice when the server is requested to end, without changing how it does so."""
    ENDING.clear()
    if threading.current_thread() is not threading.main_thread():  # where no signal arrives
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


SECONDS = 5.0
"""Seconds between two rounds."""


async def tidied(seconds: float = SECONDS) -> None:
    """Clean up periodically until canceled."""
    while True:
        await asyncio.sleep(seconds)
        await asyncio.to_thread(tidy)


def _sessions_over() -> bool:
    """Make Streamlit drop expired sessions, otherwise dropped when a visitor comes or goes; return True if it did.

    It has no public way: without this private one they go then.
    """
    from streamlit import runtime

    if not runtime.exists():
        return False
    try:
        sessions: Any = runtime.get_instance()._session_mgr
        before = _counted.get("sessions", 0)
        _counted["sessions"] = len(sessions.list_sessions())
    except AttributeError:
        return False
    return _counted["sessions"] < before


_counted: dict[str, int] = {}


def tidy() -> int:
    """Run one round of cleaning; return the number of removed uploads."""
    uploads.WAITING.tidy()
    gone = session.expire()
    if _sessions_over() or gone:
        gc.collect()  # a Streamlit session contains reference cycles
        machine.give_back()
    return gone
