"""Models being fitted, each in its own thread while somebody waits, and the expected duration."""

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
    """Return the expected seconds to compute a result of these rows, without cached parts; None if unknown."""
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
"""Seconds that a fit continues without a waiting page: a redraw of the page takes some."""

CLOSED_GRACE = 2.0
"""Seconds that a fit continues after the page's tab is closed: a reloaded page may still wait for it."""


class Abandoned(BaseException):
    """Signal that nobody waits any more; not an Exception, so that no handler catches it as an error."""


class Fit:
    """Result being computed: current step, percent done, and elapsed seconds.

    ``place`` is its position in the queue, and ``expected`` its estimated duration in seconds; None if unknown.
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
        """Return the elapsed seconds."""
        return self._clock() - self._begun

    def expect(self, who: str, seconds: float) -> None:
        """Register that somebody waits for it, for this long and a while longer."""
        self._waiting[who] = self._clock() + seconds

    def wait(self, seconds: float) -> bool:
        """Return True if it ends within this many seconds; raise its failure, except refusals."""
        ended = self._ended.wait(seconds)
        if ended and self._failure is not None:
            raise self._failure
        return ended

    def leave(self, who: str) -> None:
        """Unregister a waiting page; the fit stops when nobody else waits."""
        self._waiting.pop(who, None)

    def tell(self, step: str, percent: int) -> None:
        """Record the progress; raise Abandoned if nobody waits."""
        now = self._clock()
        if not any(now - until < self._patience(who) for who, until in list(self._waiting.items())):
            self.abandoned = True
            raise Abandoned
        # While the percentage is unknown, the last one stays.
        self.place = turns.place()
        self.percent = percent if step != self.step else max(percent, self.percent)
        self.step = step

    def _patience(self, who: str) -> float:
        return self._grace if is_open(who) else min(self._grace, CLOSED_GRACE)

    def run(self, make: Callable[[Progress], object]) -> None:
        """Run the computation; a refusal is reported when the result is read."""
        try:
            make(self.tell)
        except (InputError, Abandoned):
            pass
        except Exception as failure:
            self._failure = failure
        finally:
            self._ended.set()


class Fits:
    """Fits in progress by the keys of their results."""

    def __init__(self) -> None:
        self._made: dict[str, Fit] = {}
        self._lock = threading.Lock()

    def wait(self, key: str, make: Callable[[Progress], object], who: str, seconds: float) -> Fit | None:
        """Wait at most this long for the fit of the first caller; return it while it runs, then None."""
        fit = self._expected(key, make, who, seconds)
        # A page that was left while it waited starts no new fit: it is about to be redrawn.
        return None if fit.wait(seconds) and not fit.abandoned else fit

    def leave(self, key: str, who: str) -> None:
        """Stop waiting for the result under a key."""
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
"""Fits of this process: two pages that need the same model wait for one fit."""


def wait(model: Model, seconds: float) -> Fit | None:
    """Start computing a model's predictions and wait at most so long; return the fit while it runs, then None."""
    wanted = model.predictions
    fit = _FITS.wait(wanted.key, lambda progress: RESULTS.get(wanted, progress), tab() or "", seconds)
    if fit is not None and fit.expected is None and RESULTS.knows(model.division):
        fit.expected = expected(wanted, RESULTS.get(model.division.part("fit")))
    return fit


def leave(model: Model) -> None:
    """Stop waiting for a model on this page."""
    _FITS.leave(model.predictions.key, tab() or "")
