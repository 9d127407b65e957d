"""Pages are drawn in turn: a few at a time, first come first served, so that short ones do not wait for all others.

Twenty runs that share Python's lock all end when the last one does; one after the other, half of them end in half the
time. A run that takes long keeps nobody out: after `PATIENCE` seconds its place is given away, and it goes on beside.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from calib_core._parallel import threads

PATIENCE = 1.0
"""Seconds a run keeps its place."""


class Turns:
    """At most ``places`` runs at a time that have taken less than ``patience`` seconds."""

    def __init__(self, places: int, patience: float = PATIENCE, clock: Callable[[], float] = time.monotonic) -> None:
        self._places = places
        self._patience = patience
        self._clock = clock
        self._waiting: deque[object] = deque()
        self._begun: dict[object, float] = {}
        self._changed = threading.Condition()

    @contextmanager
    def taken(self) -> Iterator[None]:
        """Wait for a turn, and keep it inside the block."""
        ticket = object()
        with self._changed:
            self._waiting.append(ticket)
            try:
                while (wait := self._wait(ticket)) is None or wait > 0:
                    self._changed.wait(wait)
                self._begun[ticket] = self._clock()
            finally:
                self._waiting.remove(ticket)
                self._changed.notify_all()
        try:
            yield
        finally:
            with self._changed:
                del self._begun[ticket]
                self._changed.notify_all()

    def _wait(self, ticket: object) -> float | None:
        """Seconds until there may be a place for a ticket, 0 where there is one, None where others come first."""
        if self._waiting[0] is not ticket:
            return None
        recent = sorted(self._begun.values())[-self._places :]
        if len(recent) < self._places:
            return 0.0
        return max(recent[0] + self._patience - self._clock(), 0.0)


TURNS = Turns(max(2, threads()))
"""Those of this process: one computes while another writes what it shows."""
