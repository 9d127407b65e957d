"""About how long something takes that is not here yet: the work that is left of it, each part by its kind and size."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from calib_core import Predictions
from dashboard.session.call import Call, inner_calls, work_on
from dashboard.session.result_cache import RESULTS, ResultCache
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
