"""The only cache: results of calls, each computed once, within limits on memory for running work."""

from __future__ import annotations

import threading
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, TypeVar

import numpy as np
import pandas as pd

from calib_core import InputError
from dashboard.session.call import Call
from dashboard.session.server_limits import terms
from dashboard.session.visitors import stop_if_closed
from dashboard.workers import turns
from dashboard.workers.pool import Lost

SMALL = 16 << 20
"""Largest size in bytes of work that never waits for room; its memory is negligible."""
TIMES = 2
"""Bytes that work needs for each byte of its files: divided rows, a copy for the worker process, the process's own."""
PATIENCE = 300.0
"""Seconds after which work begins although there is no room, so that nothing waits forever."""
_LOOK = 0.25


class WorkRoom:
    """Admission of work by its bytes; nested work shares the room of the outer work.

    Waiting work blocks nobody: it gets its room before it takes any lock.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._queue: list[object] = []
        self._taken: list[int] = []
        self._changed = threading.Condition()
        self._inside = threading.local()

    @contextmanager
    def room(self, size: int, waits: Callable[[], object] | None = None) -> Iterator[None]:
        """Reserve room for work on ``size`` bytes of files; ``waits`` is called meanwhile and can raise to end it.

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


T = TypeVar("T")
Progress = Callable[[str, int], object]
"""Callback that receives the name of the current step and percent done; any exception from it stops the work."""
EVERYBODY = ""
"""Scope of results that all sessions of a process share."""


class Missing(InputError):
    """Error for data that a link names and that is not available; it may return."""


@dataclass(frozen=True)
class _Refusal:
    """Refusal stored without its exception, which would keep its frames alive."""

    kind: type[InputError]
    args: tuple[Any, ...]


@dataclass(frozen=True, eq=False)
class _Kept:
    """Cached value, the arrays it references (bytes by identity), the seconds it took, and its files (``of``)."""

    value: Any
    arrays: Mapping[int, int]
    seconds: float
    of: frozenset[str] = frozenset()


class ResultCache:
    """Results by scope and key; the least recently used are dropped above ``budget`` bytes.

    An array that several results share counts once. The scope is no part of a call's identity: one cache can serve
    sessions that share results and sessions that must not. Work on files begins once there is room for it. The function
    ``arrays_of`` returns the arrays of files by their keys: they are stored elsewhere and do not count here.
    """

    def __init__(self, budget: int, arrays_of: Callable[[Iterable[str]], Mapping[int, int]] = lambda files: {}) -> None:
        self._budget = budget
        self.arrays_of = arrays_of
        self._room = WorkRoom()
        self._kept: OrderedDict[tuple[str, str], _Kept] = OrderedDict()
        self._shared: Counter[int] = Counter()
        self._bytes = 0
        self._turns: dict[tuple[str, str], tuple[threading.RLock, int]] = {}
        self._lock = threading.Lock()

    def get(self, call: Call[T], progress: Progress | None = None, scope: str = EVERYBODY) -> T:
        """Return the result of a call; raise its InputError again, with the same message every time."""
        if call.is_part:  # no result of its own
            return call.run(lambda inner: self.get(inner, progress, scope))
        waits = None if progress is None else lambda: progress(call.step, 0)
        value = self.put(call.key, lambda: self._run(call, progress, scope), scope, call.leaves, waits)
        if isinstance(value, _Refusal):
            raise value.kind(*value.args)
        result: T = value
        return result

    def put(
        self,
        key: str,
        make: Callable[[], T],
        scope: str = EVERYBODY,
        of: Iterable[str] = (),
        waits: Callable[[], object] | None = None,
    ) -> T:
        """Return the value under a key, computed from these files by the first caller; the others wait for it.

        ``waits`` is called repeatedly while there is no room; an exception from it ends the wait.
        """
        place, of = (scope, key), frozenset(of)
        known = self._look(place)
        if known is not None:
            here: T = known.value
            return here
        # Before taking the lock that others wait for: whoever has the lock has room.
        with self._room.room(sum(self.arrays_of(of).values()), waits):
            return self._made(place, make, of)

    def _made(self, place: tuple[str, str], make: Callable[[], T], of: frozenset[str]) -> T:
        with self._lock:
            turn, waiting = self._turns.get(place, (threading.RLock(), 0))
            self._turns[place] = turn, waiting + 1
        try:
            with turn:
                found = self._look(place)
                if found is None:
                    start = time.perf_counter()
                    value = make()
                    took, elsewhere = time.perf_counter() - start, self.arrays_of(of)
                    own = {array: size for array, size in arrays(value).items() if array not in elsewhere}
                    found = _Kept(value, own, took, of)
                    self._keep(place, found)
                kept: T = found.value
                return kept
        finally:
            with self._lock:
                turn, waiting = self._turns[place]
                self._turns[place] = turn, waiting - 1
                if waiting == 1:
                    del self._turns[place]

    def knows(self, call: Call[Any], scope: str = EVERYBODY) -> bool:
        """Return True if the result of a call is cached."""
        with self._lock:
            return (scope, call.key) in self._kept

    def seconds(self, call: Call[Any], scope: str = EVERYBODY) -> float | None:
        """Return the seconds that computing a result took, including its uncached parts; None if it is not cached."""
        found = self._look((scope, call.key))
        return None if found is None else found.seconds

    def find(self, key: str, scope: str = EVERYBODY) -> Any | None:
        """Return the value under a key, or None."""
        found = self._look((scope, key))
        return None if found is None else found.value

    def resize(self, budget: int) -> None:
        """Set the budget in bytes."""
        with self._lock:
            self._budget = budget
            self._shrink()

    @property
    def files(self) -> frozenset[str]:
        """Return the keys of the files that results depend on."""
        with self._lock:
            return frozenset().union(*(kept.of for kept in self._kept.values()))

    def forget(self, files: Iterable[str]) -> None:
        """Drop the results of any of these files."""
        gone = frozenset(files)
        with self._lock:
            for place in [place for place, kept in self._kept.items() if kept.of & gone]:
                self._drop(place)

    def clear(self) -> None:
        """Drop all results."""
        with self._lock:
            while self._kept:
                self._drop(next(iter(self._kept)))

    def _run(self, call: Call[Any], progress: Progress | None, scope: str) -> Any:
        if progress is not None:
            progress(call.step, 0)
        tell = None if progress is None else lambda percent: progress(call.step, percent)
        try:
            return call.run(lambda inner: self.get(inner, progress, scope), tell)
        except (Missing, Lost):
            raise
        except InputError as why:
            return _Refusal(type(why), why.args)

    def _look(self, place: tuple[str, str]) -> _Kept | None:
        with self._lock:
            if place not in self._kept:
                return None
            self._kept.move_to_end(place)
            return self._kept[place]

    def _keep(self, place: tuple[str, str], kept: _Kept) -> None:
        with self._lock:
            if place in self._kept:
                self._drop(place)
            self._kept[place] = kept
            for array, size in kept.arrays.items():
                self._bytes += size if not self._shared[array] else 0
                self._shared[array] += 1
            self._shrink()

    def _shrink(self) -> None:
        while len(self._kept) > 1 and self._bytes > self._budget:
            self._drop(next(iter(self._kept)))

    def _drop(self, place: tuple[str, str]) -> None:
        kept = self._kept.pop(place)
        for array, size in kept.arrays.items():
            self._shared[array] -= 1
            if not self._shared[array]:
                del self._shared[array]
                self._bytes -= size


def arrays(value: Any) -> dict[int, int]:
    """Return the arrays that a value references, and the value: bytes by identity; a view counts as its base array."""
    found: dict[int, int] = {}
    _reach(value, found)
    return found


_SMALL = 64
"""Bytes counted for an object without its arrays."""


def _reach(value: Any, found: dict[int, int]) -> None:
    if isinstance(value, np.ndarray):
        while isinstance(value.base, np.ndarray):
            value = value.base
        found[id(value)] = value.nbytes
    elif isinstance(value, (pd.DataFrame, pd.Series)):
        found[id(value)] = int(np.sum(value.memory_usage(deep=False)))
    elif not isinstance(value, (str, int, float, type(None), type)) and id(value) not in found:
        found[id(value)] = _SMALL
        for part in _parts(value):
            _reach(part, found)


def _parts(value: Any) -> Iterable[Any]:
    if isinstance(value, Mapping):
        return list(value.values())
    if isinstance(value, (list, tuple)):
        return value
    inner = list(vars(value).values()) if hasattr(value, "__dict__") else []
    return inner or ([getattr(value, field.name) for field in fields(value)] if is_dataclass(value) else [])


RESULTS = ResultCache(1 << 30)
"""Results derived from files, by calls."""
