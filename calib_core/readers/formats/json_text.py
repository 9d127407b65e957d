"""JSON as text: decoded exactly, and what JSON readers usually let pass is refused in words."""

from __future__ import annotations

import io
import json
import math
import re
from collections.abc import Callable, Iterator
from typing import Any

from calib_core.predictions.predictions import InputError
from calib_core.readers import limits
from calib_core.readers.messages import quoted

AS_LINES = 'write one object a line, such as {"probs": [0.7, 0.3], "label": 0}'
"""What to do about text that is no JSON."""


_OPENS, _SPACES = ("{", "["), " \t\n\r"
_SPACE = re.compile(f"[{_SPACES}]*")


class JsonRefusedError(ValueError):
    """Something JSON readers usually let pass; the message says what."""


def lines_of(data: bytes, name: str) -> Iterator[tuple[int, bytes]]:
    """The lines that are not empty, with their numbers; InputError for one that is too long."""
    stream = io.BytesIO(data)
    for number, line in enumerate(iter(lambda: stream.readline(limits.LINE_BYTES + 1), b""), 1):
        if len(line.removesuffix(b"\n")) > limits.LINE_BYTES:
            raise InputError(
                f"{name}, line {number} is longer than {limits.LINE_BYTES >> 20} MB; put one JSON object on a line"
            )
        if text := line.strip():
            yield number, text


def decoder(constant: Callable[[str], Any]) -> json.JSONDecoder:
    """A decoder that refuses keys given twice and numbers too large; ``constant`` answers for NaN and Infinity.

    >>> decoder(as_missing).decode('{"p": [0.1, 1]}')
    {'p': [0.1, 1]}
    """
    return json.JSONDecoder(object_pairs_hook=_pairs, parse_constant=constant, parse_float=_real)


def decoded(text: bytes, where: str, by: json.JSONDecoder) -> Any:
    """The value of a text; InputError in one sentence, which begins with its place, for what is no value.

    >>> decoded(b"[1, 2]", "a.json", json.JSONDecoder())
    [1, 2]
    """
    try:
        plain = text.decode("utf-8")
        if plain[:1] in _OPENS:  # nothing to skip before it
            value, end = by.raw_decode(plain)
            if not plain[end:].strip(_SPACES):
                return value
        return by.decode(plain)
    except (RecursionError, ValueError) as e:
        raise _in_words(e, where) from e


def elements(text: bytes, where: str, by: json.JSONDecoder) -> Iterator[Any]:
    """The values of a list, one by one: all together cost ten times the text. InputError as ``decoded`` has it.

    >>> list(elements(b" [1, {}]", "a.json", json.JSONDecoder()))
    [1, {}]
    """
    plain = text.decode("utf-8")
    place = _behind(plain, plain.index("[") + 1)
    more = plain[place : place + 1] != "]"
    while more:
        try:
            value, place = by.raw_decode(plain, place)
        except (RecursionError, ValueError) as e:
            raise _in_words(e, where) from e
        yield value
        place = _behind(plain, place)
        more = plain[place : place + 1] == ","
        place = _behind(plain, place + more)
    if plain[place : place + 1] != "]" or plain[place + 1 :].strip(_SPACES):
        raise _in_words(ValueError(), where)


def _behind(plain: str, place: int) -> int:
    """The place of what follows spaces."""
    found = _SPACE.match(plain, place)
    return found.end() if found else place


def _in_words(error: Exception, where: str) -> InputError:
    if isinstance(error, JsonRefusedError):
        return InputError(f"{where}: {error}")
    if isinstance(error, RecursionError):
        return InputError(f"{where}: nested too deeply; use one flat object a line")
    what = "an integer has too many digits" if "integer string" in str(error) else "this is not valid JSON"
    return InputError(f"{where}: {what}; {AS_LINES}")


def one_value(text: bytes) -> bool:
    """Is a text one JSON value?

    >>> one_value(b'{"p": 0.5}'), one_value(b'{"p":')
    (True, False)
    """
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def as_missing(name: str) -> None:
    """NaN, Infinity or -Infinity, which are not JSON though Python writes them, in records: no value."""


def as_number(name: str) -> float | None:
    """The same in columns of numbers: infinite ones are such, as logits of impossible classes are.

    >>> as_number("NaN"), as_number("-Infinity")
    (None, -inf)
    """
    return None if name == "NaN" else float(name)


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise JsonRefusedError(f"key {quoted(twice)} is given twice; give each key once")
    return found


def _real(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        raise JsonRefusedError(f"{quoted(text)} is too large for a number")
    return value
