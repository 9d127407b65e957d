"""The server is about to end: what would keep it waiting is broken off.

What is done while nobody asks: uploads go that nobody needs, and the memory of those who have left.
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


SECONDS = 5.0
"""Between two rounds."""


async def tidied(seconds: float = SECONDS) -> None:
    """Tidy up every so often until it is cancelled."""
    while True:
        await asyncio.sleep(seconds)
        await asyncio.to_thread(tidy)


def _sessions_over() -> bool:
    """Have Streamlit let go of sessions whose time is over, which it does when somebody comes or goes; if it did.

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
    """One round; how many uploads went."""
    uploads.WAITING.tidy()
    gone = session.expire()
    if _sessions_over() or gone:
        gc.collect()  # what a session of Streamlit's holds, it holds in circles
        machine.give_back()
    return gone
