"""Room for work on large files: what pages, fits and tables take while they are made, so much of it at a time."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from dashboard.session.server_limits import terms
from dashboard.session.visitors import stop_if_closed
from dashboard.workers import turns

SMALL = 16 << 20
"""Bytes of work that nobody waits for: what one of many rows takes, thousands of others take together."""
TIMES = 2
"""Bytes that work takes for each byte of its files: rows divided, a copy for the process that computes, its own."""
PATIENCE = 300.0
"""Seconds after which work begins although there is no room: nothing waits for ever."""
_LOOK = 0.25


class WorkRoom:
    """Lets work begin where there is room for its bytes; work inside of other work has that one's room.

    What waits is in nobody's way: room comes before anything else that others wait for.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._queue: list[object] = []
        self._taken: list[int] = []
        self._changed = threading.Condition()
        self._inside = threading.local()

    @contextmanager
    def room(self, size: int, waits: Callable[[], object] | None = None) -> Iterator[None]:
        """Have room for work on ``size`` bytes of files; ``waits`` is called meanwhile, and ends the wait if it raises.

        So does a tab that is closed.
        """
        bytes_ = TIMES * size
        if bytes_ <= SMALL or self._inside.__dict__.get("yes"):
            yield
            return
        self._come(bytes_, waits)
        self._inside.yes = True
        try:
            yield
        finally:
            self._inside.yes = False
            with self._changed:
                self._taken.remove(bytes_)
                self._changed.notify_all()

    def _come(self, size: int, waits: Callable[[], object] | None) -> None:
        ticket = object()
        with self._changed:
            self._queue.append(ticket)
        try:
            with turns.waiting():
                self._wait(ticket, size, waits or (lambda: None))
        finally:
            with self._changed:
                self._queue.remove(ticket)
                self._changed.notify_all()

    def _wait(self, ticket: object, size: int, waits: Callable[[], object]) -> None:
        until = self._clock() + PATIENCE
        while True:
            with self._changed:
                fits = not self._taken or sum(self._taken) + size <= terms().work_bytes
                if (self._queue[0] is ticket and fits) or self._clock() > until:
                    self._taken.append(size)
                    return
                others = self._queue.index(ticket) + len(self._taken)
            turns.stand(others)
            stop_if_closed()
            waits()
            with self._changed:
                self._changed.wait(_LOOK)
