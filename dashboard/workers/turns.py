"""Whose turn it is: work that waits says in a sentence for how many others, and for about how long."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from dashboard.workers.durations import about_seconds


@dataclass(frozen=True)
class Place:
    """How many come first, and about how many seconds that takes; None where nobody knows."""

    others: int
    seconds: float | None = None

    @property
    def sentence(self) -> str:
        """What it waits for.

        >>> Place(2, 9.4).sentence, Place(1).sentence
        ('waits for 2 others (about 9 s)', 'waits for 1 other')
        """
        about = f" ({about_seconds(self.seconds)})" if about_seconds(self.seconds) else ""
        return f"waits for {self.others} other{'s' if self.others != 1 else ''}{about}"


_places: dict[int, Place] = {}


def place() -> Place | None:
    """Where this thread's work stands; None where it waits for nobody."""
    return _places.get(threading.get_ident())


@contextmanager
def waiting() -> Iterator[None]:
    """Work of this thread waits, and stands nowhere once it does no longer."""
    try:
        yield
    finally:
        _places.pop(threading.get_ident(), None)


def stand(others: int, seconds: float | None = None) -> None:
    """This thread's work waits for so many others."""
    _places[threading.get_ident()] = Place(others, seconds)
