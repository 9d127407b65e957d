"""Pool of worker processes with one job each; a queue; jobs stop when nobody waits; ended processes are replaced.

Quick work runs in the calling thread. Work that takes a while moves to a process, and later work of its kind goes there
at once. So nobody has to know in advance how long a calibrator takes.
"""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from calib_core import NotAnswerable
from calib_core.registry.registry import FAMILIES
from dashboard import extensions
from dashboard.workers import child, shared_arrays, turns
from dashboard.workers.durations import COSTS, Work

Progress = Callable[[int], object]
QUICK = 0.1
"""Seconds of processor time after which local work is moved to a process."""
LOOK = 0.1
"""Seconds between two checks for whether anybody still waits."""
STARTING = 300.0
"""Seconds until a process that does not start is given up; one that ends is noticed at once."""
LOST = (
    "The worker process stopped twice: it ran out of memory or was ended. Use fewer rows or classes, or try again later"
)


class Lost(NotAnswerable):
    """Error for work whose process ended twice; later it may succeed, so it is not kept as an answer."""


class _Moved(BaseException):
    """Signal that work takes long and is to be computed in a process."""


class _Ended(Exception):
    """Error for a process that ended during a computation."""


def _paths() -> list[str]:
    return [path or os.getcwd() for path in sys.path]


def _modules() -> list[str]:
    """Return the extension modules that registered something: a process has to import them, too."""
    named = {entry.cls.__module__ for registry in FAMILIES.values() for entry in map(registry.__getitem__, registry)}
    named = {name for name in named if name.partition(".")[0] not in extensions.OWN}
    return sorted(named.union(extensions.modules()))


class _Worker:
    """Worker process and the connection to it."""

    def __init__(self, threads: int, loaded: bool) -> None:
        here, there = socket.socketpair()
        with here, there:
            # Started by file, with this process's path: it finds the same modules in any working directory.
            self.process = subprocess.Popen(
                [sys.executable, "-P", "-W", "ignore", str(Path(child.__file__)), str(there.fileno())],
                pass_fds=(there.fileno(),),
                stdin=subprocess.DEVNULL,
                env={**os.environ, "CALIB_THREADS": str(threads), "OPENBLAS_NUM_THREADS": "1"},
            )
            self.line = Connection(here.detach())
            self.line.send((_paths(), loaded, _modules()))
        self._ready = False

    def ready(self) -> None:
        """Wait until the process accepts jobs."""
        if not self._ready:
            if not self.line.poll(STARTING):
                raise _Ended
            self.heard()
            self._ready = True

    def heard(self) -> tuple[str, Any]:
        """Return the next message; raise _Ended if the process is gone."""
        try:
            kind, value = self.line.recv()
        except (EOFError, OSError) as e:
            raise _Ended from e
        return kind, value

    def end(self) -> None:
        """End the process, even during a job."""
        self.process.kill()
        self.process.wait()
        self.line.close()


class Pool:
    """Pool of ``size`` processes, started at once; work up to ``quick`` seconds runs locally (0: none).

    ``loaded``: each process loads the whole library before its first job, rather than only the required modules.
    """

    def __init__(self, size: int, threads: int = 1, quick: float = QUICK, loaded: bool = True) -> None:
        self._size, self._threads, self._quick, self._loaded = size, threads, quick, loaded
        self._idle: list[_Worker] = []
        self._all: set[_Worker] = set()
        self._queue: list[_Job] = []
        self._at_work: list[_Job] = []
        self._lock = threading.Lock()
        self._free = threading.Condition(self._lock)
        self._long: dict[tuple[str, ...], int] = {}
        self._closed = False
        self._hire()

    @property
    def processes(self) -> tuple[int, ...]:
        """Return the processes by their numbers."""
        with self._lock:
            return tuple(sorted(worker.process.pid for worker in self._all))

    def run(
        self,
        function: Callable[..., Any],
        args: Sequence[Any],
        options: Mapping[str, Any],
        progress: Progress,
        work: Work | None = None,
    ) -> Any:
        """Return the result of a function, computed locally if quick, else by a process; exceptions are raised here.

        The function ``progress`` receives percent, repeatedly while nothing is known; any exception from it stops the
        work. The argument ``work`` describes the job, so that others in the queue get an estimated waiting time.
        """
        kind = (function.__module__, function.__qualname__, *(type(value).__name__ for value in args))
        try:
            parcel = shared_arrays.packed((function, tuple(args), dict(options)))
        except Exception:  # only this process knows its meaning
            return function(*args, **options, progress=progress)
        # Half the rows may be quick, but hardly much quicker.
        if self._quick > 0 and parcel.bytes < self._long.get(kind, sys.maxsize) // 2:
            until = time.thread_time() + self._quick
            try:
                with COSTS.learning(work):
                    return function(*args, **options, progress=_watched(progress, until))
            except _Moved:
                pass
            finally:
                # Long work that does not report its progress goes to a process the next time.
                if time.thread_time() > until:
                    self._long[kind] = min(parcel.bytes, self._long.get(kind, sys.maxsize))
        for _ in range(2):
            with contextlib.suppress(_Ended):
                found, result = self._elsewhere(parcel, progress, work)
                return result if found else function(*args, **options, progress=progress)
        raise Lost(LOST)

    def close(self) -> None:
        """End all processes."""
        with self._lock:
            self._closed = True
            everybody, self._all = self._all, set()
        for worker in everybody:
            worker.end()

    def _elsewhere(self, parcel: shared_arrays.SharedArrays, progress: Progress, work: Work | None) -> tuple[bool, Any]:
        """Return True with the result if a process could compute it, otherwise False."""
        job = _Job(work)
        worker = self._in_turn(job, progress)
        try:
            worker.ready()
            try:
                shared_arrays.send(worker.line, parcel)
            except BrokenPipeError as e:
                raise _Ended from e
            with COSTS.learning(work):
                found = self._watch(worker, progress)
        except BaseException:
            # The process is gone, somebody stopped it, or there is no memory to send it: the state of the job is
            # unknown.
            self._replace(worker)
            raise
        else:
            self._rest(worker)
        finally:
            with self._lock:
                self._at_work.remove(job)
        kind, value = found
        if kind == "refused":
            raise value
        return kind == "result", value

    def _watch(self, worker: _Worker, progress: Progress) -> tuple[str, Any]:
        while True:
            kind, value = worker.heard() if worker.line.poll(LOOK) else ("progress", 0)
            if kind == "unsendable":
                return kind, value
            if kind != "progress":
                try:
                    return kind, shared_arrays.received(worker.line)
                except (EOFError, OSError) as e:
                    raise _Ended from e
            progress(value)

    def _in_turn(self, job: _Job, progress: Progress) -> _Worker:
        """Return a process for a job: the first free one once no earlier job waits."""
        with self._lock:
            self._queue.append(job)
        try:
            with turns.waiting():
                while (worker := self._taken(job)) is None:
                    progress(0)
                    self._hire()
        finally:
            with self._free:
                self._queue.remove(job)
                self._free.notify_all()
        return worker

    def _taken(self, job: _Job) -> _Worker | None:
        with self._free:
            if not (self._idle and self._queue[0] is job):
                self._free.wait(LOOK)
            if self._idle and self._queue[0] is job:
                job.begin()
                self._at_work.append(job)
                return self._idle.pop(0)
            before = [*self._at_work, *self._queue[: self._queue.index(job)]]
        left = [each.left for each in before]
        known = [seconds for seconds in left if seconds is not None]
        turns.stand(len(before), sum(known) / self._size if before and len(known) == len(left) else None)
        return None

    def _rest(self, worker: _Worker) -> None:
        with self._free:
            self._idle.append(worker)
            self._free.notify_all()

    def _replace(self, worker: _Worker) -> None:
        worker.end()
        with self._lock:
            self._all.discard(worker)
        self._hire()

    def _hire(self) -> None:
        # If the machine refuses another process, the next waiting job tries again.
        with self._free, contextlib.suppress(OSError):
            while not self._closed and len(self._all) < self._size:
                worker = _Worker(self._threads, self._loaded)
                self._all.add(worker)
                self._idle.append(worker)
                self._free.notify_all()


class _Job:
    """Job to be computed: its description and its start time."""

    def __init__(self, work: Work | None) -> None:
        self._seconds = None if work is None else COSTS.seconds(work)
        self._begun: float | None = None

    def begin(self) -> None:
        """Record that the job has a process."""
        self._begun = time.monotonic()

    @property
    def left(self) -> float | None:
        """Return the estimated remaining seconds; None if unknown."""
        if self._seconds is None or self._begun is None:
            return self._seconds
        return max(self._seconds - (time.monotonic() - self._begun), 0.0)


def _watched(progress: Progress, until: float) -> Progress:
    """Return a progress function that moves the work to a process once this thread has worked this long."""

    def tell(percent: int) -> None:
        progress(percent)
        if time.thread_time() > until:
            raise _Moved

    return tell


_pool: list[Pool] = []


def open_pool(size: int, threads: int = 1) -> Pool:
    """Start a pool of ``size`` processes."""
    close_pool()
    _pool.append(Pool(size, threads))
    return _pool[0]


def close_pool() -> None:
    """Close the pool; compute everything in this process from now on."""
    while _pool:
        _pool.pop().close()


def compute(
    function: Callable[..., Any],
    args: Sequence[Any],
    options: Mapping[str, Any],
    progress: Progress,
    work: Work | None = None,
) -> Any:
    """Return the result of a function that takes ``progress``, computed by the pool's processes if there is one."""
    if _pool:
        return _pool[0].run(function, args, options, progress, work)
    with COSTS.learning(work):
        return function(*args, **options, progress=progress)
