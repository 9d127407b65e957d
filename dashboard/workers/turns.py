"""Queue of waiting work: each job can report how many others come first, and the estimated time."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from dashboard.workers.durations import about_seconds


@dataclass(frozen=True)
class Place:
    """Position in the queue: number of jobs that come first, and their estimated seconds; None if unknown."""

    others: int
    seconds: float | None = None

    @property
    def sentence(self) -> str:
        """Return a sentence on what the work waits for.

        >>> Place(2, 9.4).sentence, Place(1).sentence
        ('waits for 2 others (about 9 s)', 'waits for 1 other')
        """
        about = f" ({about_seconds(self.seconds)})" if about_seconds(self.seconds) else ""
        return f"waits for {self.others} other{'s' if self.others != 1 else ''}{about}"


_places: dict[int, Place] = {}


def place() -> Place | None:
    """Return the queue position of this thread's work; None if it does not wait."""
    return _places.get(threading.get_ident())


@contextmanager
def waiting() -> Iterator[None]:
    """Mark the work of this thread as waiting during the block."""
    try:
        yield
    finally:
        _places.pop(threading.get_ident(), None)


def stand(others: int, seconds: float | None = None) -> None:
    """Set the number of jobs that this thread's work waits for."""
    _places[threading.get_ident()] = Place(others, seconds)
