"""The state of a watch as a JSON file: exact, versioned, written whole, changed by one process at a time."""

from __future__ import annotations

import contextlib
import json
import math
import os
from collections.abc import Iterator
from pathlib import Path
from types import NoneType
from typing import Any

import numpy as np

from calib_core._base.atomic_files import write_whole
from calib_core._base.errors import InputError
from calib_core.claims.exact_sums import ExactSums
from calib_core.monitoring.watched_model import (
    LONGEST,
    MOST_PERIODS,
    MOST_SLICES,
    IncompleteBatch,
    PeriodCounts,
    Watch,
    YearRecord,
)

SCHEMA = "calib-watch/2"
"""Schema name in the file; incremented by incompatible changes."""
FIRST_SCHEMA = "calib-watch/1"
"""Earlier name, of files that are read too."""
_SETTINGS = ("tolerance", "ratio", "limit", "bins", "by", "alpha", "horizon", "notion", "miss", "event")
_BITS, _MOST = 40, 2**53
_SIZE = 256 << 20
"""Maximum size of a file in bytes."""


def to_json(watch: Watch) -> str:
    """Write the state as JSON, with a line per period; sums are whole numbers of 2^-40.

    >>> from_json(to_json(Watch(alpha=0.1)), "state.json").alpha
    0.1
    """
    whole = {
        "schema": SCHEMA,
        **{name: getattr(watch, name) for name in _SETTINGS},
        "periods": {label: _record(watch.counts[label]) | ({"late": True} if label in watch.late else {})
                    for label in watch.periods},
        "slices": {name: {label: _record(of[label]) for label in watch.periods if label in of}
                   for name, of in sorted(watch.slices.items())},
        "years": [vars(each) for each in watch.years],
        "batches": dict(sorted(watch.batches.items())),
        "waiting": {name: vars(each) for name, each in watch.waiting.items()},
    }  # fmt: skip
    return "".join(_lines(whole, 3)) + "\n"


def _record(counts: PeriodCounts) -> dict[str, Any]:
    whole, part = (each.tolist() for each in (counts.sums.whole, counts.sums.part))
    sums = [(a << _BITS) + b for a, b in zip(whole, part, strict=True)]
    unlabeled = {"unlabeled": counts.unlabeled} if counts.unlabeled else {}
    return {"rows": counts.rows, "units": counts.units, "sums": sums} | unlabeled


def _lines(value: Any, depth: int, inner: str = "") -> Iterator[str]:
    """Yield JSON with a line per entry of the outer tables, so that a change of the state is a short difference."""
    if not depth or type(value) is not dict or not value or not any(type(each) is dict for each in value.values()):
        yield json.dumps(value, ensure_ascii=False, allow_nan=False)
        return
    yield "{"
    for place, (name, each) in enumerate(value.items()):
        yield f"{',' if place else ''}\n{inner} {json.dumps(name, ensure_ascii=False)}: "
        yield from _lines(each, depth - 1, f"{inner} ")
    yield f"\n{inner}}}"


def from_json(text: str | bytes, name: str) -> Watch:
    """Read a state; InputError, naming the file, if it is none, of a later version, or damaged."""
    try:
        whole = json.loads(text)
    except (ValueError, RecursionError):
        whole = None
    schema = whole.get("schema") if isinstance(whole, dict) else None
    if isinstance(schema, str) and schema not in (SCHEMA, FIRST_SCHEMA) and schema.startswith("calib-watch/"):
        raise InputError(f"{name} has the form {schema[:40]!r}, and this version reads {SCHEMA!r}: update calib")
    if schema not in (SCHEMA, FIRST_SCHEMA):
        raise InputError(f"{name} is not the state of a watch; calib watch creates one where there is no file")
    try:
        return _watch(whole) if schema == SCHEMA else _watch(_from_first(whole)).retraced()
    except (KeyError, ValueError, OverflowError) as why:
        raise InputError(f"{name} is damaged: restore it from a copy, or add the batches to a new state") from why


def _from_first(whole: dict[str, Any]) -> dict[str, Any]:
    """Return a state of the first version, which had no record of looks, in the present form."""
    periods = {}
    _check_tables(whole["periods"], *_table(whole["periods"]).values())
    for label, each in whole["periods"].items():
        _check(type(each["whole"]) is type(each["part"]) is list)
        _check({*map(type, (*each["whole"], *each["part"]))} == {int} and len(each["whole"]) == len(each["part"]))
        _check(all(0 <= part < 1 << _BITS for part in each["part"]))
        sums = [(a << _BITS) + b for a, b in zip(each["whole"], each["part"], strict=True)]
        periods[label] = {"rows": each["rows"], "units": each["units"], "sums": sums}
    plain = Watch()
    new = {name: getattr(plain, name) for name in _SETTINGS if name not in whole}
    new |= {"by": [], "slices": {}, "years": [], "waiting": {}}
    return {**whole, **new, "periods": periods}


def _watch(whole: dict[str, Any]) -> Watch:
    """One state, each value checked; the errors that ``from_json`` names mean damage."""
    periods, slices, batches, waiting = (whole[name] for name in ("periods", "slices", "batches", "waiting"))
    _check(type(whole["by"]) is type(whole["years"]) is list)
    for table in (periods, slices, waiting):
        _check_tables(table, *_table(table).values())
    _check_tables(batches, *whole["years"], *(each for of in slices.values() for each in of.values()))
    settings = {name: whole[name] for name in _SETTINGS} | {"by": tuple(whole["by"])}
    _check(all(_number(settings[name]) for name in ("tolerance", "alpha", "miss")))
    _check(all(settings[name] is None or _number(settings[name]) for name in ("ratio", "limit")))
    _check({type(settings[name]) for name in ("horizon", "bins")} == {int})
    _check({*map(type, settings["by"])} <= {str} and settings["notion"] in (None, "event", "confidence"))
    # Before the first outcome, what is watched is not known.
    _check(type(settings["event"]) is str if periods else type(settings["event"]) in (str, NoneType))
    _check({*map(type, batches.values())} <= {str} and set(batches.values()) == set(periods))
    _check(len(periods) <= MOST_PERIODS and len(slices) <= MOST_SLICES)
    _check(max(map(len, (*batches, *periods, *slices, *waiting)), default=0) <= LONGEST)
    width = Watch(**settings).width
    counts = {label: _counts(each, width) for label, each in periods.items()}
    of_slices = {name: {label: _counts(each, width) for label, each in of.items()} for name, of in slices.items()}
    _check(all(of.keys() <= counts.keys() for of in of_slices.values()))
    return Watch(
        **settings,
        counts=counts,
        slices=of_slices,
        late=frozenset(label for label, each in periods.items() if each.get("late") is True),
        years=tuple(_year(each, periods) for each in whole["years"]),
        batches=batches,
        waiting={name: _waiting(each) for name, each in waiting.items()},
    )


def _counts(each: dict[str, Any], width: int) -> PeriodCounts:
    rows, units, sums, unlabeled = each["rows"], each["units"], each["sums"], each.get("unlabeled", 0)
    _check({type(rows), type(units), type(unlabeled)} == {int} and 0 < units <= rows < _MOST and 0 <= unlabeled < _MOST)
    _check(type(sums) is list and len(sums) == width and {*map(type, sums)} == {int})
    _check(max(map(abs, sums)) <= units << _BITS and min(sums[:3]) >= 0)
    whole, part = ([each >> _BITS for each in sums], [each & ((1 << _BITS) - 1) for each in sums])
    return PeriodCounts(rows, units, ExactSums(np.array(whole, np.int64), np.array(part, np.int64)), unlabeled)


def _year(each: dict[str, Any], periods: dict[str, Any]) -> YearRecord:
    alarms = (each["alarm"], each["slices"])
    _check(_number(each["log_e"]) and all(label is None or type(label) is str for label in alarms))
    _check(all(label is None or label in periods for label in alarms))
    return YearRecord(each["log_e"], *alarms)


def _waiting(each: dict[str, Any]) -> IncompleteBatch:
    _check(type(each["period"]) is str and {type(each["rows"]), type(each["labeled"])} == {int})
    _check(0 <= each["labeled"] <= each["rows"] < _MOST and each["rows"] > 0)
    return IncompleteBatch(each["period"], each["rows"], each["labeled"])


def _table(value: Any) -> dict[str, Any]:
    return value if type(value) is dict else {}


def _check_tables(*values: Any) -> None:
    _check({*map(type, values)} <= {dict})


def _check(right: bool) -> None:
    if not right:
        raise ValueError("a value is not what this module writes")


def _number(value: object) -> bool:
    return type(value) in (int, float) and math.isfinite(float(value))  # type: ignore[arg-type]


def read_watch(path: str | os.PathLike[str]) -> Watch:
    """Read the state of a watch from a file.

    Raises
    ------
    InputError : the file is not the state of a watch, of a later version, or damaged.
    OSError : the file cannot be read.
    """
    place = Path(path)
    if place.stat().st_size > _SIZE:
        raise InputError(f"{place.name} is not the state of a watch; calib watch creates one where there is no file")
    return from_json(place.read_bytes(), place.name)


def write_watch(watch: Watch, path: str | os.PathLike[str]) -> None:
    """Write the state of a watch to a file: whole, or the file stays as it was.

    InputError for a state that is too large to be read again.
    """
    data = to_json(watch).encode()
    if len(data) > _SIZE:
        raise InputError(f"the state would be larger than {_SIZE >> 20} MiB: use fewer slices, or start a new watch")
    write_whole(path, data)


@contextlib.contextmanager
def alone(path: str | os.PathLike[str]) -> Iterator[None]:
    """Wait until no other process changes this state, and keep others waiting meanwhile.

    The lock is a file beside it, on every system. It ends with the process, also by a crash.
    """
    from filelock import FileLock

    with FileLock(Path(path).with_name(f".{Path(path).name}.lock")):
        yield
