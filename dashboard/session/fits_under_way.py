"""Models being fitted, each by a thread of its own for as long as somebody waits, and how long that takes."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

from calib_core import InputError, Predictions
from dashboard.session.call import Call, inner_calls, work_on
from dashboard.session.models import Model
from dashboard.session.result_cache import RESULTS, Progress, ResultCache
from dashboard.session.visitors import is_open, tab
from dashboard.workers import turns
from dashboard.workers.durations import COSTS


def expected(wanted: Call[Any], rows: Predictions, shelf: ResultCache = RESULTS) -> float | None:
    """Seconds that making a result of these rows takes, without what is here; None where a part was never made."""
    left = {part.key: COSTS.seconds(work_on(rows, part.kind)) for part in _left(wanted, shelf)}
    known = [seconds for seconds in left.values() if seconds is not None]
    return sum(known) if len(known) == len(left) else None


def _left(wanted: Call[Any], shelf: ResultCache) -> Iterator[Call[Any]]:
    if shelf.knows(wanted):
        return
    if wanted.takes_long:
        yield wanted
    for part in inner_calls(wanted):
        yield from _left(part, shelf)


GRACE = 10.0
"""Seconds a fit goes on while nobody asks for it: a page that is drawn anew takes some."""

CLOSED_GRACE = 2.0
"""The same once the page's tab is closed: one that is loaded again asks soon, or begins anew."""


class Abandoned(BaseException):
    """Nobody waits any more: no error, so that nothing takes it for one."""


class Fit:
    """One result in the making: what is done (``step``), how much of it in percent, and for how many seconds.

    ``place`` is where it stands while it waits for others, and ``expected`` how many seconds it takes, about; None
    where nobody knows.
    """

    def __init__(self, grace: float = GRACE, clock: Callable[[], float] = time.monotonic) -> None:
        self._grace, self._clock = grace, clock
        self._begun = clock()
        self._waiting: dict[str, float] = {}
        self._ended = threading.Event()
        self._failure: BaseException | None = None
        self.step, self.percent, self.abandoned = "", 0, False
        self.place: turns.Place | None = None
        self.expected: float | None = None

    @property
    def seconds(self) -> float:
        """How long it has been going on."""
        return self._clock() - self._begun

    def expect(self, who: str, seconds: float) -> None:
        """Somebody waits for it, so long and a while longer."""
        self._waiting[who] = self._clock() + seconds

    def wait(self, seconds: float) -> bool:
        """Whether it ends within so many seconds; what it failed with, refusals apart, is raised here."""
        ended = self._ended.wait(seconds)
        if ended and self._failure is not None:
            raise self._failure
        return ended

    def leave(self, who: str) -> None:
        """Wait for it no longer; it stops when nobody else does."""
        self._waiting.pop(who, None)

    def tell(self, step: str, percent: int) -> None:
        """Note how far it is; Abandoned where nobody waits."""
        now = self._clock()
        if not any(now - until < self._patience(who) for who, until in list(self._waiting.items())):
            self.abandoned = True
            raise Abandoned
        # Where the share is not known, the one that was stays.
        self.place = turns.place()
        self.percent = percent if step != self.step else max(percent, self.percent)
        self.step = step

    def _patience(self, who: str) -> float:
        return self._grace if is_open(who) else min(self._grace, CLOSED_GRACE)

    def run(self, make: Callable[[Progress], object]) -> None:
        """Make it; a refusal is for whoever looks at what was made."""
        try:
            make(self.tell)
        except (InputError, Abandoned):
            pass
        except Exception as failure:
            self._failure = failure
        finally:
            self._ended.set()


class Fits:
    """Fits in the making by the keys of their results."""

    def __init__(self) -> None:
        self._made: dict[str, Fit] = {}
        self._lock = threading.Lock()

    def wait(self, key: str, make: Callable[[Progress], object], who: str, seconds: float) -> Fit | None:
        """Wait so long at most for what the first who asked began: the fit while it goes on, None when it is done."""
        fit = self._expected(key, make, who, seconds)
        # A page that was left while it waited begins nothing anew: it is about to be drawn again.
        return None if fit.wait(seconds) and not fit.abandoned else fit

    def leave(self, key: str, who: str) -> None:
        """Wait no longer for what is made under a key."""
        with self._lock:
            if key in self._made:
                self._made[key].leave(who)

    def _expected(self, key: str, make: Callable[[Progress], object], who: str, seconds: float) -> Fit:
        with self._lock:
            fit = self._made.get(key)
            begun = fit is not None and not fit.abandoned
            if fit is None or not begun:
                fit = self._made[key] = Fit()
            fit.expect(who, seconds)
        if not begun:
            threading.Thread(target=self._run, args=(key, fit, make), name="calib-fit", daemon=True).start()
        return fit

    def _run(self, key: str, fit: Fit, make: Callable[[Progress], object]) -> None:
        fit.run(make)
        with self._lock:
            if self._made.get(key) is fit:
                del self._made[key]


_FITS = Fits()
"""Those of this process: two pages that want the same model wait for one fit."""


def wait(model: Model, seconds: float) -> Fit | None:
    """Have a model's predictions made, and wait so long at most: the fit while it goes on, None when it is done."""
    wanted = model.predictions
    fit = _FITS.wait(wanted.key, lambda progress: RESULTS.get(wanted, progress), tab() or "", seconds)
    if fit is not None and fit.expected is None and RESULTS.knows(model.division):
        fit.expected = expected(wanted, RESULTS.get(model.division.part("fit")))
    return fit


def leave(model: Model) -> None:
    """This page waits for a model no longer."""
    _FITS.leave(model.predictions.key, tab() or "")
