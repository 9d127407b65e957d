"""Work shared out to threads: how many, made when first needed and anew after a fork, and BLAS kept to one of its own.

Threads are as many as the CPUs this process may use, at most ``MOST``; the environment variable CALIB_THREADS sets
another number. Results are the same bits for every number of threads.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from functools import cache
from typing import Any, TypeAlias, TypeVar

from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

Progress: TypeAlias = Callable[[int], object]
"""Told how much is done, in percent; whatever it raises stops the work."""

T = TypeVar("T")
S = TypeVar("S")

VARIABLE = "CALIB_THREADS"
MOST = 8
"""Threads unless ``VARIABLE`` says more: beyond, they wait for Python's lock, and each holds blocks of its own."""
JOBS = "calib-job"
"""What the names of threads begin with that run long jobs."""
MOST_JOBS = 2
"""Jobs of ``run`` at a time: each may hold half a gigabyte."""


def threads() -> int:
    """How many threads work is shared out to."""
    given = os.environ.get(VARIABLE, "")
    if not given:
        return min(_cpus(), MOST)
    if not given.isdecimal() or int(given) < 1:
        raise ValueError(f"{VARIABLE} is {given[:80]!r}; it must be a whole number of threads, 1 or more")
    return int(given)


def _cpus() -> int:
    """CPUs this process may use, which can be fewer than the machine has."""
    if sys.version_info >= (3, 13):
        return os.process_cpu_count() or 1
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1


def chunks(n: int, rows: int) -> list[slice]:
    """Slices of at most ``rows`` of n rows; fixed, so that sums over them are the same bits for any number of workers.

    >>> chunks(5, 2)
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    return [slice(i, min(i + rows, n)) for i in range(0, n, rows)]


def shared_out(work: Callable[[S], T], parts: Iterable[S]) -> Iterator[T]:
    """The results of ``work`` on every part, in their order, made by all threads.

    Work that shares out work of its own does the inner one by itself: in a common pool it would wait for itself.
    """
    waiting, workers = list(parts), threads()
    alone = min(len(waiting), workers) < 2 or getattr(_here, "worker", False)
    return map(work, waiting) if alone else _pool(workers).map(work, waiting)


def run(jobs: Sequence[Callable[[], object]], done: Callable[[int], object] = lambda _: None) -> None:
    """Run long jobs, ``MOST_JOBS`` at a time; ``done`` is told how many are. What is left is dropped if one fails.

    In threads of their own, which end with them: short work of other callers does not wait behind long jobs.
    """
    workers = min(threads(), MOST_JOBS)
    if workers < 2:
        for i, job in enumerate(jobs, 1):
            job()
            done(i)
        return
    pool = ThreadPoolExecutor(workers, JOBS)
    try:
        for i, future in enumerate(as_completed([pool.submit(job) for job in jobs]), 1):
            future.result()
            done(i)
    except BaseException:
        # Whoever interrupts is not kept waiting for jobs that nobody will read.
        pool.shutdown(wait=False, cancel_futures=True)
        raise
    pool.shutdown()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limits BLAS to one thread inside the block: on small matrices two made fits up to seven times slower.

    Results then do not depend on the number of cores either. The limit is the process's: where blocks of several
    threads overlap, the last one to end lifts it.
    """
    with _blas.lock:
        limit = _controller().limit(limits=1, user_api="blas")
        if not _blas.inside:
            _blas.first = limit
        _blas.inside += 1
    try:
        yield
    finally:
        with _blas.lock:
            _blas.inside -= 1
            if not _blas.inside:
                _blas.first.restore_original_limits()
            # The thread that sets OpenBLAS is the only one that may, until it leaves a limit: here one of nothing.
            with _controller().limit(limits=None):
                pass


@cache
def _controller() -> ThreadpoolController:
    # Looking for the loaded libraries takes milliseconds, setting their threads microseconds.
    return ThreadpoolController()


@cache
def _pool(workers: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(workers, "calib", initializer=lambda: setattr(_here, "worker", True))


class _Blas:
    """How many blocks hold the limit now, and what lifts it."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.inside = 0
        self.first: Any = None


def _after_fork() -> None:
    """A forked process has none of the threads, and nobody to release a lock: it begins with new ones."""
    _pool.cache_clear()
    _here.__dict__.clear()
    _blas.lock = threading.Lock()


_here = threading.local()
_blas = _Blas()
if sys.platform != "win32":
    os.register_at_fork(after_in_child=_after_fork)


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
