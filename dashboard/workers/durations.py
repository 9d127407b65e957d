"""About how many seconds work takes, told before it begins: from its kind, rows and classes, and from what was done.

What is known at first was measured once (durations.csv, in units of a little work that each machine does anew); what is
done here is learned from, so that a slow or a busy machine is known as one.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

TABLE = Path(__file__).with_name("durations.csv")
REMEMBERED = 12
"""Times that are kept of a kind, beside those of the table."""
WORTH_SAYING = 2.0
"""Seconds from which it is said how long something takes."""
_SPREAD = 0.5
"""How far the powers of rows and classes may be from 1, about: most work takes each number once."""
_TABLES_WEIGHT = 0.15
"""What a line of the table counts beside a time that was measured here."""
_LEAST = 1e-3
_PROBES = 7


class Work(NamedTuple):
    """What is to be done: its kind, and of how many rows and classes."""

    kind: str
    rows: int
    classes: int


def about_seconds(seconds: float | None) -> str:
    """A time to wait in words, as it can be told beforehand; empty where it is not known, or short.

    >>> about_seconds(12.3), about_seconds(47.0), about_seconds(290.0), about_seconds(0.4), about_seconds(None)
    ('about 10 s', 'about 50 s', 'about 5 min', '', '')
    """
    if seconds is None or seconds < WORTH_SAYING:
        return ""
    if seconds < 10:
        return f"about {seconds:.0f} s"
    if seconds < 90:
        return f"about {round(seconds, -1):.0f} s"
    return f"about {seconds / 60:.0f} min"


class Costs:
    """Times by kind of work. ``known``: kinds with their times in units of ``unit()`` seconds.

    Seconds are exp(a) n^p K^q for n rows and K classes, fitted to the logarithms of the times of a kind: those of near
    sizes, and those measured here, count more than others, and p and q stay near 1 where nothing says otherwise.
    Of 17 kinds and sizes that are not in the table and took a third of a second or more, on one machine
    (tests/benchmarks/work_times.py), 14 took within a factor of 2 of what is told and 15 within 4; one took 17 times as
    long, as a search may take many steps or few. Where others come and go on the machine, seconds are theirs, too.

    >>> costs = Costs()
    >>> costs.seconds(Work("fitted", 1000, 10)) is None
    True
    >>> costs.learn(Work("fitted", 1000, 10), 2.0)
    >>> round(costs.seconds(Work("fitted", 2000, 10)), 3)
    4.0
    """

    def __init__(self, known: dict[str, list[tuple[int, int, float]]] | None = None) -> None:
        self._known = known or {}
        self._seen: dict[str, deque[tuple[int, int, float]]] = {}
        self._lock = threading.Lock()

    def learn(self, work: Work, seconds: float) -> None:
        """It took so long."""
        with self._lock:
            self._seen.setdefault(work.kind, deque(maxlen=REMEMBERED)).append((work.rows, work.classes, seconds))

    @contextmanager
    def learning(self, work: Work | None) -> Iterator[None]:
        """Learn from what is done within, unless it fails or is stopped."""
        start = time.monotonic()
        yield
        if work is not None:
            self.learn(work, time.monotonic() - start)

    def seconds(self, work: Work) -> float | None:
        """About how many seconds work takes; None where nothing like it, or nothing nearly as large, was ever done."""
        with self._lock:
            seen = list(self._seen.get(work.kind, ()))
        known = [(n, k, units * unit()) for n, k, units in self._known.get(work.kind, [])]
        lines = np.array([*known, *seen], dtype=float)
        if not len(lines) or work.rows * work.classes > _BEYOND * (lines[:, 0] * lines[:, 1]).max():
            return None
        weights = np.array([_TABLES_WEIGHT if seen else 1.0] * len(known) + [1.0] * len(seen))
        rows, classes, times = np.log(np.maximum(lines, [1, 1, _LEAST])).T
        here = np.log([max(work.rows, 1), max(work.classes, 1)])
        # The nearest sizes tell most: no law holds from three classes to a thousand.
        weights /= _NEAR + (rows - here[0]) ** 2 + (classes - here[1]) ** 2
        weights *= _LINES / weights.sum()
        # Around the middle of what was seen, the powers' differences from 1 are drawn towards 0.
        middle = [np.average(each, weights=weights) for each in (rows, classes)]
        design = np.column_stack((rows - middle[0], classes - middle[1]))
        beyond = times - rows - classes
        level = np.average(beyond, weights=weights)
        scaled = design * weights[:, None]
        power = np.linalg.solve(design.T @ scaled + np.eye(2) * _NOISE / _SPREAD**2, scaled.T @ (beyond - level))
        return float(np.exp(level + here.sum() + (here - middle) @ power))


_NOISE = 0.3**2
"""Variance of the logarithm of a time."""
_BEYOND = 10
"""How many times as much as was ever done work may be, and still be told of."""
_NEAR, _LINES = 0.1, 4.0
"""Squared logarithm of a ratio of sizes up to which they are the same; and how many times all of them count as."""


@cache
def unit() -> float:
    """Seconds that a little work takes here, others on the machine included: measured when first asked for."""
    return probed(time.perf_counter)


def probed(clock: Callable[[], float]) -> float:
    """The middle of a few times of a little work, by this clock."""
    return float(np.median([_probe(clock) for _ in range(_PROBES)]))


def _probe(clock: Callable[[], float]) -> float:
    """Time for what most work is made of: logarithms, sorted numbers, products, calls of Python."""
    start = clock()
    values = np.linspace(0.01, 0.99, 60_000).reshape(6000, 10)
    for _ in range(3):
        logs = np.log(values)
        (logs - logs.max(axis=1)[:, None]).sum(axis=1).argsort()
        logs.T @ values
    sum(int(i) for i in range(20_000))
    return clock() - start


def _shipped() -> Costs:
    known: dict[str, list[tuple[int, int, float]]] = {}
    for line in TABLE.read_text("utf-8").splitlines()[1:]:
        kind, rows, classes, units = line.split(",")
        known.setdefault(kind, []).append((int(rows), int(classes), float(units)))
    return Costs(known)


COSTS = _shipped()
"""Those of this process."""
