"""A repr of one line that a person reads, for results that hold arrays and sentences."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pandas as pd

LONGEST = 160
"""Characters of a result's repr."""
_WORD = 40


class OneLine:
    """A result whose repr is one line: its name and what matters of it, never the numbers of an array.

    A dataclass that inherits from it says ``repr=False``; ``_line`` says what matters, by default every public field:
    numbers to four digits, arrays, frames and tuples by their shape.

    >>> @dataclasses.dataclass(repr=False)
    ... class Curve(OneLine):
    ...     name: str
    ...     error: float
    ...     score: np.ndarray
    ...     truth: np.ndarray
    >>> Curve("cat", 1 / 3, np.zeros(200), np.ones(200))
    Curve(name 'cat', error 0.3333; score, truth of 200)
    """

    def __repr__(self) -> str:
        return f"{type(self).__name__}({_cut(' '.join(self._line().split()), LONGEST - 2 - len(type(self).__name__))})"

    def _line(self) -> str:
        single: list[str] = []
        by_size: dict[str, list[str]] = {}
        for field in dataclasses.fields(self):  # type: ignore[arg-type]  # every heir is a dataclass
            value = getattr(self, field.name)
            if isinstance(value, (np.ndarray, pd.DataFrame, tuple)):
                shape = (len(value),) if isinstance(value, tuple) else value.shape
                size = " x ".join(f"{length:,}" for length in shape)
                by_size.setdefault(size, []).append(field.name)
            elif value is not None and value != "":
                single.append(f"{field.name} {_brief(value)}")
        sized = [f"{', '.join(names)} of {size}" for size, names in by_size.items()]
        return "; ".join([", ".join(single), *sized] if single else sized)


def _brief(value: Any) -> str:
    text = f"{value:.4g}" if isinstance(value, float) else f"{value:,}" if type(value) is int else repr(value)
    return _cut(text, _WORD)


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"
