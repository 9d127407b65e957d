"""Run work in threads, with a pool that is created on first use and after a fork, and with BLAS limited to one thread.

The number of threads is the number of CPUs of this process, at most ``MOST``; the environment variable CALIB_THREADS
changes it. Results are the same bits for every number of threads.
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
"""Function that receives progress in percent; an exception from it stops the work."""

T = TypeVar("T")
S = TypeVar("S")

VARIABLE = "CALIB_THREADS"
MOST = 8
"""Maximum number of threads unless ``VARIABLE`` is set: further ones wait for Python's lock and need memory."""
JOBS = "calib-job"
"""Prefix of the names of threads that run long jobs."""
MOST_JOBS = 2
"""Maximum number of concurrent jobs of ``run``: each may need half a gigabyte."""


def threads() -> int:
    """Number of worker threads."""
    given = os.environ.get(VARIABLE, "")
    if not given:
        return min(_cpus(), MOST)
    if not given.isdecimal() or int(given) < 1:
        raise ValueError(f"{VARIABLE} is {given[:80]!r}; it must be a whole number, at least 1")
    return int(given)


def _cpus() -> int:
    """Number of CPUs of this process, which can be fewer than the machine has."""
    if sys.version_info >= (3, 13):
        return os.process_cpu_count() or 1
    if sys.platform == "linux":
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def chunks(n: int, rows: int) -> list[slice]:
    """Split n rows into slices of at most ``rows``; fixed, so that sums are the same bits for any number of workers.

    >>> chunks(5, 2)
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    return [slice(i, min(i + rows, n)) for i in range(0, n, rows)]


def shared_out(work: Callable[[S], T], parts: Iterable[S]) -> Iterator[T]:
    """Yield the results of ``work`` for every part, in order, computed by all threads.

    Nested calls run in the calling thread: in a common pool they would wait for themselves.
    """
    waiting, workers = list(parts), threads()
    alone = min(len(waiting), workers) < 2 or getattr(_here, "worker", False)
    return map(work, waiting) if alone else _pool(workers).map(work, waiting)


def run(jobs: Sequence[Callable[[], object]], done: Callable[[int], object] = lambda _: None) -> None:
    """Run long jobs, ``MOST_JOBS`` at a time; ``done`` receives the number of finished ones. A failure drops the rest.

    They have separate threads, which end with them, so short work of other callers does not wait for long jobs.
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
        # An interruption should not wait for jobs whose results are not needed.
        pool.shutdown(wait=False, cancel_futures=True)
        raise
    pool.shutdown()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit BLAS to one thread inside the block: on small matrices, two threads slowed fits by up to seven times.

    Results then do not depend on the number of cores. The limit applies to the whole process: if blocks of several
    threads overlap, the last one to end removes it.
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
            # Only the thread that sets OpenBLAS's limit may change it, until it leaves an empty limit, as here.
            with _controller().limit(limits=None):
                pass


@cache
def _controller() -> ThreadpoolController:
    # Finding the loaded libraries takes milliseconds, setting their threads microseconds.
    return ThreadpoolController()


@cache
def _pool(workers: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(workers, "calib", initializer=lambda: setattr(_here, "worker", True))


class _Blas:
    """Number of active blocks, and the object that removes the limit."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.inside = 0
        self.first: Any = None


def _after_fork() -> None:
    """Reset after a fork: the child has no threads, and nothing would release a lock."""
    _pool.cache_clear()
    _here.__dict__.clear()
    _blas.lock = threading.Lock()


_here = threading.local()
_blas = _Blas()
if sys.platform != "win32":
    os.register_at_fork(after_in_child=_after_fork)


def silent(_: int) -> None:
    """No-op progress callback."""


class Pieces:
    """Progress in percent over several sub-tasks, ``of`` of equal length.

    It is called with the progress of the current sub-task; ``next`` begins another one.

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
        """Finish the current sub-task."""
        self._done += 1
        self(0)


def counted_off(parts: Iterable[T], of: int, progress: Progress) -> Iterator[T]:
    """Yield the parts of a whole with ``of`` parts; each is finished when the next is requested.

    >>> told = []
    >>> list(counted_off("ab", 2, told.append)), told
    (['a', 'b'], [50, 100])
    """
    pieces = Pieces(progress, of)
    for part in parts:
        yield part
        pieces.next()
