"""Leaves of results, so that two results of any types can be compared."""

import dataclasses
import inspect
import re
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from calib_core import InputError, NotAnswerable, Recipe
from calib_core.registry.registry import FAMILIES, Choice, Flag, Key, Param, Part, Range

Leaf = tuple[tuple[str, ...], str]


def leaves(answer: Any, *path: str, below: frozenset[int] = frozenset()) -> Iterator[Leaf]:
    """Yield every number, word and array of a result with the path of names that leads to it.

    A fitted calibrator yields its parameters, a table its columns, a diagram its fields and its drawing.

    >>> list(leaves({"level": 0.9, "ends": [1, None]}))
    [(('level',), '0.9'), (('ends', '0'), '1'), (('ends', '1'), 'None')]
    """
    if id(answer) in below:
        return
    below |= {id(answer)}
    if isinstance(answer, np.generic):
        answer = answer.item()
    if answer is None or isinstance(answer, (str, bytes, int, float, complex, Recipe)):
        yield path, repr(answer)
    elif isinstance(answer, np.ndarray):
        yield path, f"{answer.shape} {answer.tolist()}"
    elif isinstance(answer, (pd.DataFrame, pd.Series)):
        for name, column in answer.to_frame().items() if isinstance(answer, pd.Series) else answer.items():
            yield (*path, str(name)), repr(column.tolist())
    elif isinstance(answer, Mapping):
        for name, value in answer.items():
            yield from leaves(value, *path, str(name), below=below)
    elif isinstance(answer, (tuple, list, set, frozenset, Iterator)):
        for i, value in enumerate(sorted(answer, key=repr) if isinstance(answer, (set, frozenset)) else answer):
            yield from leaves(value, *path, str(i), below=below)
    else:
        yield from _of_object(answer, path, below)


def _of_object(answer: Any, path: tuple[str, ...], below: frozenset[int]) -> Iterator[Leaf]:
    yield path, type(answer).__name__
    if callable(frame := getattr(answer, "frame", None)) and not isinstance(answer, type):
        yield from leaves(frame(), *path, "frame()", below=below)
    if dataclasses.is_dataclass(answer):
        kept = {field.name: getattr(answer, field.name) for field in dataclasses.fields(answer)}
        kept |= {name: value for name, value in getattr(answer, "__dict__", {}).items() if name.endswith("_")}
    else:
        kept = dict(getattr(answer, "__dict__", {}))
    if len(path) < 2:
        kept |= _told(answer)
    for name, value in kept.items():
        if not callable(value) and not name.startswith("_"):
            yield from leaves(value, *path, name, below=below)


def _told(answer: Any) -> dict[str, Any]:
    """Return the properties of a result that are words or numbers, such as its verdict and its sentence."""
    found = {}
    for name, made in inspect.getmembers_static(type(answer)):
        if isinstance(made, (property, cached_property)) and not name.startswith("_"):
            with suppress(InputError, NotAnswerable):
                value = getattr(answer, name)
                found |= {name: value} if isinstance(value, (str, int, float, tuple)) else {}
    return found


LAST: deque[tuple[Any, list[Leaf]]] = deque(maxlen=64)
"""The last results with their leaves: one is compared with several others, and with itself asked of counts."""


def leaves_of(answer: Any) -> list[Leaf]:
    """Return the leaves of a result, computed once while it is among the last."""
    for one, found in LAST:
        if one is answer:
            return found
    LAST.append((answer, list(leaves(answer))))
    return LAST[-1][1]


def echoes(answer: Any, name: str) -> list[str]:
    """Return the leaves of a result that repeat an option's own name."""
    return [text for path, text in leaves_of(answer) if path and path[-1] == name]


def beyond(answer: Any, name: str) -> list[Leaf]:
    """Return all other leaves: an option that is repeated but not applied leaves these unchanged."""
    return [leaf for leaf in leaves_of(answer) if not leaf[0] or leaf[0][-1] != name]


def ends(answer: Any) -> dict[tuple[str, ...], str]:
    """Return the ends of its intervals: leaves called low or high, except noise floors and ends of a scale.

    Each line of a column counts: one line whose interval is of another level is easily overlooked among others.

    >>> ends({"low": 0.0, "gap_high": 0.25, "point": 0.1})
    {('gap_high', '0'): '0.25'}
    >>> ends(pd.DataFrame({"low": [0.0, 0.5], "high": [float("nan"), 0.75]}))
    {('low', '1'): '0.5', ('high', '1'): '0.75'}
    """
    named = {path: text for path, text in leaves_of(answer) if path and path[-1].rpartition("_")[2] in ("low", "high")}
    named = {path: text for path, text in named.items() if "noise_floor" not in path}
    return {
        (*path, str(i)): number
        for path, text in named.items()
        for i, number in enumerate(re.findall(r"-?\d[\d.]*(?:e[+-]?\d+)?|nan|inf", re.sub(r"^\([\d, ]*\) ", "", text)))
        if number not in ("0.0", "1.0", "-1.0", "0", "1", "nan", "inf")
    }


def other_value(param: Param) -> Any:
    """Return a value other than the default, from the option's declaration."""
    domain, usual = param.domain, param.default
    if isinstance(domain, Flag):
        return not usual
    if isinstance(domain, (Choice, Key)):
        return next(option for option in domain.options if option != usual)
    if isinstance(domain, Part):
        family = FAMILIES[domain.family]
        return next(made for key in domain.keys if (made := family.make(key)) != usual)
    assert isinstance(domain, Range), f"give {param.name} another value in CASES"
    if usual is None:
        usual = 1
    for value in (2 * usual, usual / 2, usual + 1, domain.low, domain.high):
        value = int(value) if param.integer else value
        if value != param.default and domain.low <= value <= domain.high:
            return value
    raise AssertionError(param)
