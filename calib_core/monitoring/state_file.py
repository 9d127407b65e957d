"""The state of a watch as a JSON file: exact, versioned, written whole, changed by one process at a time."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from calib_core._base.atomic_files import write_whole
from calib_core._base.errors import InputError
from calib_core.claims.exact_sums import ExactSums
from calib_core.monitoring.watched_model import SUMS, Watch

SCHEMA = "calib-watch/1"
"""Schema name in the file; incremented by incompatible changes."""
_SETTINGS = ("tolerance", "ratio", "alpha", "horizon", "event")
_LONGEST, _MOST = 500, 2**53
_SIZE = 64 << 20
"""Maximum size of a file in bytes."""


def to_json(watch: Watch) -> str:
    """Write the state as JSON, the same text for the same batches in any order.

    >>> from_json(to_json(Watch(alpha=0.1)), "state.json").alpha
    0.1
    """
    periods = {
        label: {
            "rows": watch.rows[label],
            "units": watch.units[label],
            "whole": watch.sums[label].whole.tolist(),
            "part": watch.sums[label].part.tolist(),
        }
        for label in watch.periods
    }
    settings = {name: getattr(watch, name) for name in _SETTINGS}
    whole = {"schema": SCHEMA, **settings, "periods": periods, "batches": dict(sorted(watch.batches.items()))}
    return json.dumps(whole, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def from_json(text: str | bytes, name: str) -> Watch:
    """Read a state; InputError, naming the file, if it is none, of a later version, or damaged."""
    try:
        whole = json.loads(text)
    except (ValueError, RecursionError):
        whole = None
    schema = whole.get("schema") if isinstance(whole, dict) else None
    if isinstance(schema, str) and schema != SCHEMA and schema.startswith("calib-watch/"):
        raise InputError(f"{name} has the form {schema[:40]!r}, and this version reads {SCHEMA!r}: update calib")
    if schema != SCHEMA:
        raise InputError(f"{name} is not the state of a watch; calib watch creates one where there is no file")
    try:
        return _watch(whole)
    except (KeyError, ValueError, OverflowError) as why:
        raise InputError(f"{name} is damaged: restore it from a copy, or add the batches to a new state") from why


def _watch(whole: dict[str, Any]) -> Watch:
    """One state, each value checked; KeyError, ValueError or OverflowError mean damage."""
    periods, batches = whole["periods"], whole["batches"]
    _check(type(periods) is type(batches) is dict)
    sums = {}
    for label, each in periods.items():
        _check(
            type(each) is dict and all(type(each[key]) is int and 0 < each[key] < _MOST for key in ("rows", "units"))
        )
        parts = [each["whole"], each["part"]]
        _check(all(type(part) is list and len(part) == SUMS and {*map(type, part)} == {int} for part in parts))
        found = ExactSums(*(np.array(part, dtype=np.int64) for part in parts))
        _check(found.part.min() >= 0 and found.part.max() < 2**40 and np.abs(found.whole).max() <= each["rows"])
        sums[label] = found
    _check({*map(type, batches.values())} <= {str} and set(batches.values()) == set(periods))
    _check(max(map(len, (*batches, *periods)), default=0) <= _LONGEST)
    settings = {name: whole[name] for name in _SETTINGS}
    _check(settings["event"] is None if not periods else type(settings["event"]) is str)
    _check(all(_number(settings[name]) for name in ("tolerance", "alpha")) and type(settings["horizon"]) is int)
    _check(settings["ratio"] is None or _number(settings["ratio"]))
    rows, units = ({label: each[key] for label, each in periods.items()} for key in ("rows", "units"))
    return Watch(**settings, rows=rows, sums=sums, units=units, batches=batches)


def _check(right: bool) -> None:
    if not right:
        raise ValueError("a value is not what this module writes")


def _number(value: object) -> bool:
    return type(value) in (int, float)


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
    """Write the state of a watch to a file: whole, or the file stays as it was."""
    write_whole(path, to_json(watch).encode())


@contextlib.contextmanager
def alone(path: str | os.PathLike[str]) -> Iterator[None]:
    """Wait until no other process changes this state, and keep others waiting meanwhile.

    The lock is a file beside it, on every system. It ends with the process, also by a crash.
    """
    from filelock import FileLock

    with FileLock(Path(path).with_name(f".{Path(path).name}.lock")):
        yield
