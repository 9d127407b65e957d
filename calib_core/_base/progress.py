"""How much is done of work that comes in pieces, told in percent."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeVar

from calib_core._base.parallel import Progress

T = TypeVar("T")


def silent(_: int) -> None:
    """Nobody asks how much is done."""


class Pieces:
    """Progress of one piece of work after another, of which there are ``of``, each as long as the others.

    It is told how much of the piece in hand is done; ``next`` begins another.

    >>> told = []
    >>> pieces = Pieces(told.append, 4)
    >>> pieces(50)
    >>> pieces.next()
    >>> told
    [12, 25]
    """

    def __init__(self, progress: Progress, of: int) -> None:
        self._progress, self._of, self._done = progress, of, 0

    def __call__(self, percent: int) -> None:
        self._progress((100 * self._done + percent) // self._of)

    def next(self) -> None:
        """One more piece is done."""
        self._done += 1
        self(0)


def counted_off(parts: Iterable[T], of: int, progress: Progress) -> Iterator[T]:
    """The parts of a whole, of which there are ``of``; each is done when the next is asked for.

    >>> told = []
    >>> list(counted_off("ab", 2, told.append)), told
    (['a', 'b'], [50, 100])
    """
    pieces = Pieces(progress, of)
    for part in parts:
        yield part
        pieces.next()
