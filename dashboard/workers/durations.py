"""Estimated duration of work in seconds, from its kind, its size and durations observed so far.

The initial estimates were measured once (durations.csv, in units of a small benchmark that each machine repeats).
Durations observed here update them, so that slow or busy machines get their own estimates.
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
"""Number of recent durations stored per kind, in addition to those of the table."""
WORTH_SAYING = 2.0
"""Seconds from which an estimated duration is shown."""
_SPREAD = 0.5
"""Prior standard deviation of the powers of rows and classes around 1: most work uses each number once."""
_TABLES_WEIGHT = 0.15
"""Weight of a line of the table relative to a duration measured here."""
_LEAST = 1e-3
_PROBES = 7


class Work(NamedTuple):
    """Work to be done: its kind, and the numbers of rows and classes."""

    kind: str
    rows: int
    classes: int


def about_seconds(seconds: float | None) -> str:
    """Return an estimated waiting time in words; empty if it is unknown or short.

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
    """Durations by kind of work. ``known``: kinds with their durations in units of ``unit()`` seconds.

    Seconds are exp(a) n^p K^q for n rows and K classes, fitted to the logarithms of the durations of a kind. Those of
    near sizes, and those measured here, have more weight. Without evidence to the contrary, p and q stay near 1.

    The estimates were tested on 17 kinds and sizes outside the table that took a third of a second or more, on one
    machine (tests/benchmarks/work_times.py). In 14 cases the duration was within a factor of 2 of the estimate, in 15
    within 4. One took 17 times as long, because a search may take few or many steps. On a shared machine, the load of
    others affects the durations, too.

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
        """Record the duration of work in seconds."""
        with self._lock:
            self._seen.setdefault(work.kind, deque(maxlen=REMEMBERED)).append((work.rows, work.classes, seconds))

    @contextmanager
    def learning(self, work: Work | None) -> Iterator[None]:
        """Record the duration of the block, unless it fails or is stopped."""
        start = time.monotonic()
        yield
        if work is not None:
            self.learn(work, time.monotonic() - start)

    def seconds(self, work: Work) -> float | None:
        """Return the estimated seconds of work; None if nothing like it, or nothing nearly as large, was ever done."""
        with self._lock:
            seen = list(self._seen.get(work.kind, ()))
        known = [(n, k, units * unit()) for n, k, units in self._known.get(work.kind, [])]
        lines = np.array([*known, *seen], dtype=float)
        if not len(lines) or work.rows * work.classes > _BEYOND * (lines[:, 0] * lines[:, 1]).max():
            return None
        weights = np.array([_TABLES_WEIGHT if seen else 1.0] * len(known) + [1.0] * len(seen))
        rows, classes, times = np.log(np.maximum(lines, [1, 1, _LEAST])).T
        here = np.log([max(work.rows, 1), max(work.classes, 1)])
        # The nearest sizes are most informative: no law is valid from three classes to a thousand.
        weights /= _NEAR + (rows - here[0]) ** 2 + (classes - here[1]) ** 2
        weights *= _LINES / weights.sum()
        # Around the middle of the observed sizes, the powers' differences from 1 are shrunk towards 0.
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
"""Largest ratio to the sizes done so far for which work has an estimate."""
_NEAR, _LINES = 0.1, 4.0
"""Squared log ratio of sizes up to which they count as equal; and the total weight of the table's lines."""


@cache
def unit() -> float:
    """Return the seconds of a small benchmark here, including the load of others; measured on first use."""
    return probed(time.perf_counter)


def probed(clock: Callable[[], float]) -> float:
    """Return the median of a few durations of a small benchmark, by this clock."""
    return float(np.median([_probe(clock) for _ in range(_PROBES)]))


def _probe(clock: Callable[[], float]) -> float:
    """Return the time for typical work: logarithms, sorting, matrix products, Python calls."""
    start = clock()
    values = np.linspace(0.01, 0.99, 60_000).reshape(6000, 10)
    for _ in range(3):
        logs = np.log(values)
        (logs - logs.max(axis=1)[:, None]).sum(axis=1).argsort()
        logs.T @ values
    sum(int(i) for i in range(20_000))
    return clock() - start


def shipped() -> Costs:
    """Return the durations of the table, without those observed in this process."""
    known: dict[str, list[tuple[int, int, float]]] = {}
    for line in TABLE.read_text("utf-8").splitlines()[1:]:
        kind, rows, classes, units = line.split(",")
        known.setdefault(kind, []).append((int(rows), int(classes), float(units)))
    return Costs(known)


COSTS = shipped()
"""Durations of this process."""
