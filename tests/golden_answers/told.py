"""Conversion of anything that is shown to lines of text: numbers, words, tables, figures, and results of the library.

A sentence has two lines, so that a changed word does not hide a changed number. ``.../numbers`` are its numbers in
order, and ``.../words`` its words with ``#`` for each number and ``~`` for each hash. A list or column of plain values
is one sentence. Numbers have six digits; long lines are a hash with their beginning, or with a few of their numbers.
"""

from __future__ import annotations

import base64
import dataclasses
import inspect
import json
import math
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go  # type: ignore[import-untyped]

from calib_core import Predictions, Recipe
from calib_core._base.sklearn_api import Adjustable
from tests.golden_bits.walk import REFUSALS, Line, digest

HASH = re.compile(r"(?:sha256:)?\b(?=[0-9a-f]*[a-f])[0-9a-f]{20,64}\b")
NUMBER = re.compile(r"(?<![\w.])[+−-]?\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?")
MOST_NUMBERS = 12
"""Maximum number of numbers stored in full."""
MOST_LETTERS = 240
LEFT_OUT = frozenset(
    ("versions", "version", "created", "seconds", "python", "platform", "template", "call", "progress", "shelf", "uid",
     "answers", "predictions", "claims", "fitted", "frame")
)  # fmt: skip
"""Parts that are no answers: environments, durations, inputs, and calls whose result is stored by itself."""


def number(value: Any) -> str:
    """Return a number with six digits, so that lines are short and equal on most machines."""
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, (int, np.integer)):
        return str(int(value))
    return "nan" if math.isnan(value) else f"{float(value) + 0.0:.6g}"


def sentence(key: str, text: str) -> Iterator[Line]:
    """Yield the numbers of a text, its words, and hashes, which are other ones where a last bit is another.

    >>> list(sentence("a", "3.2 % of 1,200 rows"))
    [('a/numbers', '3.2 1,200'), ('a/words', '"# % of # rows"')]
    """
    hashes, text = HASH.findall(text), HASH.sub("~", text)
    numbers, words = NUMBER.findall(text), NUMBER.sub("#", text)
    if hashes:
        yield f"{key}/hashes", " ".join(f"sha256:{each.removeprefix('sha256:')}" for each in hashes)
    if numbers:
        yield f"{key}/numbers", row(numbers)
    if words.strip("#| ") or not numbers:
        words = json.dumps(words, ensure_ascii=False)
        long = len(words) > MOST_LETTERS
        yield f"{key}/words", f"{digest(words.encode())} {words[: MOST_LETTERS // 3]}…" if long else words


def row(numbers: list[str]) -> str:
    """Return numbers in one line; of many their hash, how many there are, and a few."""
    if len(numbers) <= MOST_NUMBERS:
        return " ".join(numbers)
    few = [numbers[i] for i in np.linspace(0, len(numbers) - 1, 4).astype(int)]
    return " ".join([digest(" ".join(numbers).encode()), str(len(numbers)), *few])


def plain(value: Any) -> bool:
    """Return True for numbers, texts and what is missing."""
    return value is None or value is pd.NA or isinstance(value, (str, bool, int, float, np.generic, Recipe))


def cell(value: Any) -> str:
    """Return a plain value as text."""
    if value is None or value is pd.NA or value is pd.NaT:
        return "none"
    if isinstance(value, Recipe):
        return value.to_json()
    return str(value) if isinstance(value, (str, np.str_, np.datetime64)) else number(value)


def values(key: str, items: list[Any]) -> Iterator[Line]:
    """Yield a list of plain values as one line of numbers, or as a sentence."""
    if any(isinstance(item, (str, Recipe)) for item in items):
        yield from sentence(key, " | ".join(map(cell, items)))
    else:
        yield key, row([cell(item) for item in items]) or "empty"


def read_back(item: Any) -> Any:
    """Return the numbers of an array as files of calibrators write it; anything else unchanged."""
    if isinstance(item, Mapping) and item.keys() >= {"array", "dtype", "shape"} and isinstance(item["array"], str):
        return np.frombuffer(base64.b64decode(item["array"]), np.dtype(item["dtype"]).newbyteorder("<"))
    return item


def told(key: str, value: Any, depth: int = 0) -> Iterator[Line]:
    """Yield the lines of what is shown, with paths below ``key``."""
    value = read_back(value)
    if key.rpartition("/")[2] in LEFT_OUT or callable(value) or isinstance(value, (bytes, Predictions)) or depth > 9:
        return
    if isinstance(value, go.Figure):
        yield from figure(key, value)
    elif plain(value):
        yield from values(key, [value])
    elif isinstance(value, pd.DataFrame):
        for name in value.columns:
            yield from values(f"{key}/{name}", value[name].tolist())
    elif isinstance(value, (np.ndarray, pd.Series)):
        yield from told(key, np.asarray(value).ravel().tolist(), depth + 1)
    elif isinstance(value, Mapping):
        for name, item in value.items():
            yield from told(f"{key}/{name}".replace("\t", " ").replace("\n", " "), item, depth + 1)
    elif isinstance(value, (list, tuple, set, frozenset, range)):
        yield from listed(key, sorted(value, key=repr) if isinstance(value, (set, frozenset)) else list(value), depth)
    elif isinstance(value, Adjustable):
        yield key, type(value).__name__
    elif dataclasses.is_dataclass(value):
        yield from told(
            key, {f.name: getattr(value, f.name) for f in dataclasses.fields(value)} | said(value), depth + 1
        )


SAYS = ("name", "text", "hovertext", "hovertemplate", "customdata")
"""Parts of a trace that it says, together in one line; so are those of its look, apart from its marks' places."""


def figure(key: str, drawn: go.Figure) -> Iterator[Line]:
    """Yield the places of every trace, its name with hover texts, and its look; the annotations; and the axes."""
    for i, trace in enumerate(drawn.data):
        parts = trace.to_plotly_json()
        for name in ("x", "y", "z"):
            if name in parts:
                yield from told(f"{key}/{i:02}/{name}", parts.pop(name))
        yield from look(f"{key}/{i:02}/says", {name: parts.pop(name) for name in SAYS if name in parts})
        yield from look(f"{key}/{i:02}/look", parts)
    layout = drawn.layout.to_plotly_json()
    layout.pop("template", None)
    yield from told(f"{key}/notes", [note["text"] for note in layout.get("annotations", ())])
    yield from look(f"{key}/layout", layout)


def look(key: str, parts: Mapping[str, Any]) -> Iterator[Line]:
    """Yield nested settings as one sentence."""
    yield from sentence(key, " ".join(f"{path[1:]}={text}" for path, text in told("", parts)))


def listed(key: str, items: list[Any], depth: int) -> Iterator[Line]:
    """Yield a list: of plain values as one line, of equal records by column, and of anything else item by item."""
    items = list(map(read_back, items))
    if all(map(plain, items)):
        yield from values(key, items)
    elif len(items) > 1 and all(isinstance(item, Mapping) and item.keys() == items[0].keys() for item in items):
        for name in items[0]:
            yield from told(f"{key}/{name}", [item[name] for item in items], depth + 1)
    elif all(isinstance(item, (list, tuple, np.ndarray)) and all(map(plain, item)) for item in items):
        yield from values(key, [each for item in items for each in item])
    else:
        for i, item in enumerate(items):
            yield from told(f"{key}/{i:02}", item, depth + 1)


def said(value: Any) -> dict[str, Any]:
    """Return the properties of a result that are texts, numbers or tuples, such as its verdict and its sentence."""
    found: dict[str, Any] = {}
    for name, member in inspect.getmembers_static(type(value)):
        if isinstance(member, (property, cached_property)) and not name.startswith("_"):
            with suppress(*REFUSALS, AttributeError):
                part = getattr(value, name)
                found |= {name: part} if isinstance(part, (str, int, float, tuple)) else {}
    return found


def answered(key: str, make: Callable[[], Any]) -> Iterator[Line]:
    """Yield the lines of an answer, or the sentence of its refusal."""
    try:
        lines = list(told(key, make()))
    except REFUSALS as why:
        lines = [(f"{key}/{part}", text) for part, text in sentence(type(why).__name__, str(why))]
    yield from lines
