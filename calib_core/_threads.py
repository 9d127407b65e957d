"""Two threads for the work that lets go of Python's lock, and rows cut so that results do not depend on them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")
S = TypeVar("S")


def chunks(n: int, rows: int) -> list[slice]:
    """Slices of at most ``rows`` of n rows; fixed, so that sums over them are the same bits for any number of workers.

    >>> chunks(5, 2)
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    return [slice(i, min(i + rows, n)) for i in range(0, n, rows)]


def shared_out(work: Callable[[S], T], parts: Iterable[S]) -> Iterator[T]:
    """The results of ``work`` on every part, in their order, made by two threads.

    Work that shares out work of its own does the inner one by itself: in a common pool it would wait for itself.
    """
    waiting = list(parts)
    alone = len(waiting) < 2 or getattr(_here, "worker", False)
    return map(work, waiting) if alone else _POOL.map(work, waiting)


_here = threading.local()
_POOL = ThreadPoolExecutor(2, "calib", initializer=lambda: setattr(_here, "worker", True))
