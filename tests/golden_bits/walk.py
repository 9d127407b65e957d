"""Conversion of any result to numbers, one per line: arrays, frames, frozen values and fitted maps.

It includes numbers, truth values, decisions (words of a closed set: a verdict, a recipe's key) and the class of a
refusal. It excludes sentences, titles and names: words may change while numbers do not.
"""

from __future__ import annotations

import dataclasses
import hashlib
import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd

from calib_core import InputError, NotAnswerable, RegistryError
from calib_core._base.sklearn_api import Adjustable
from calib_core.predictions.predictions import Predictions
from calib_core.registry.registry import Recipe

Line = tuple[str, str]

LISTED = 10
"""Maximum size of arrays stored in full; longer ones are stored as a hash and a few of their numbers."""
SAMPLES = 3
DECISIONS = frozenset(
    ("verdict", "word", "stands_out", "calibrator", "estimator", "notion", "measure", "kind", "test_kind", "key",
     "recipe", "winner", "recommended", "direction", "exit_code", "status", "result")
)  # fmt: skip
"""Names of texts that are decisions, not sentences."""
PASSING = frozenset(
    ("versions", "version", "created", "seconds", "time", "duration", "python", "platform", "question", "answers",
     "claims", "predictions", "bytes", "sha256")
)  # fmt: skip
"""Names of values that are not results: durations, environments, inputs."""
CRASHED = "!! "
"""Prefix of the class of an exception that is no refusal: reported, never stored."""
REFUSALS = (NotAnswerable, InputError, RegistryError)


def number(value: Any) -> str:
    """Return a number as the shortest text that reads back to the same bits."""
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, (int, np.integer)):
        return str(int(value))
    if isinstance(value, np.float32):
        return f"f32 {float(value)!r}"
    return repr(float(value))


def digest(content: bytes) -> str:
    """Return a hash short enough to read."""
    return "sha256:" + hashlib.sha256(content).hexdigest()[:20]


def texts(decision: str) -> str:
    """Return a decision's word, distinguishable from a number."""
    return f'"{decision}"'


def walk(key: str, value: Any, depth: int = 0) -> Iterator[Line]:
    """Yield the lines of a result: paths below ``key``, each with its number, decision or hash."""
    name = key.rpartition("/")[2]
    if depth > 12 or name in PASSING or callable(value):
        return
    if value is None:
        yield key, "none"
    elif isinstance(value, str):
        if name in DECISIONS:
            yield key, texts(value)
    elif isinstance(value, (bool, np.bool_, int, float, np.integer, np.floating)):
        yield key, number(value)
    elif isinstance(value, np.ndarray):
        yield from array(key, value)
    elif isinstance(value, pd.DataFrame):
        yield from frame(key, value)
    elif isinstance(value, Recipe):
        yield key, texts(value.to_json())
    elif isinstance(value, Predictions):
        yield from of_rows(key, value)
    elif isinstance(value, Mapping):
        for each, item in value.items():
            yield from walk(f"{key}/{each}", item, depth + 1)
    elif isinstance(value, (list, tuple)):
        numeric = bool(value) and all(isinstance(v, (int, float, np.integer, np.floating)) for v in value)
        if numeric and len(value) > LISTED:
            yield from array(key, np.asarray(value))
        else:
            for i, item in enumerate(value):
                # Words in a list are names, but where the list is one of decisions.
                yield from walk(f"{key}/{i}" if not isinstance(item, str) else f"{key}#{i}/{name}", item, depth + 1)
    elif isinstance(value, Adjustable):
        yield from walk(key, fitted_state(value), depth + 1)
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        parts = {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
        yield from walk(key, parts, depth + 1)


def fitted_state(member: Adjustable) -> dict[str, Any]:
    """Return the fitted state, by name: attributes that end in an underscore."""
    return {name: part for name, part in sorted(vars(member).items()) if name.endswith("_") and name[0] != "_"}


def array(key: str, values: np.ndarray[Any, Any]) -> Iterator[Line]:
    """Yield every number of a short array; for a long one its shape, the hash of its bytes, and a few numbers."""
    if values.dtype == object:
        values = np.array([math.nan if v is None else v for v in values.ravel()], dtype=np.float64)
    if values.dtype.kind not in "biuf":
        return
    flat = np.ascontiguousarray(values).ravel()
    if values.ndim == 0 or flat.size <= LISTED:
        for i, each in enumerate(flat):
            yield f"{key}/{i:02}", number(each)
        return
    shape = "x".join(map(str, values.shape))
    yield f"{key}/bytes", f"{digest(flat.tobytes())} {shape} {values.dtype}"
    for i in np.linspace(0, flat.size - 1, SAMPLES).astype(int):
        yield f"{key}/{i:05}", number(flat[i])


def frame(key: str, table: pd.DataFrame) -> Iterator[Line]:
    """Yield the columns of numbers, and those of decisions."""
    yield f"{key}/lines", number(len(table))
    for name in map(str, table.columns):
        if name in PASSING:
            continue
        column = table[name].to_numpy()
        plain = [None if _missing(v) else v for v in column]
        if any(isinstance(v, str) for v in plain):
            if name in DECISIONS:
                for i, each in enumerate(plain[:LISTED]):
                    yield f"{key}/{name}/{i:02}", texts("" if each is None else str(each))
                if len(plain) > LISTED:
                    yield f"{key}/{name}/words", digest("\n".join(map(str, plain)).encode())
        elif all(v is None or isinstance(v, (int, float, np.generic)) for v in plain):
            yield from array(f"{key}/{name}", np.array([math.nan if v is None else v for v in plain]))


def _missing(value: Any) -> bool:
    return value is None or (isinstance(value, (float, np.floating)) and math.isnan(value)) or value is pd.NA


def of_rows(key: str, rows: Predictions) -> Iterator[Line]:
    """Yield a map's predictions: probabilities, answered rows, marked rows."""
    full = rows.kind in ("full", "per-class")
    yield f"{key}/kind", texts(rows.kind)
    yield f"{key}/discrete", number(bool(rows.discrete))
    yield f"{key}/answered", number(rows.answered.n_rows)
    yield from array(f"{key}/probs", np.asarray(rows.probs if full else rows.confidence))


def kept(key: str, make: Callable[[], Any]) -> Iterator[Line]:
    """Yield the lines of a result, or the class of its refusal; a crash is one line, too, to show the rest."""
    try:
        lines = list(walk(key, make()))
    except REFUSALS as why:
        lines = [(key, f"!{type(why).__name__}")]
    except Exception as why:
        lines = [(key, f"{CRASHED}{type(why).__name__}")]
    yield from lines
