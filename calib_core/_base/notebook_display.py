"""Display of results: a one-line repr, and a small table of the main facts in notebooks."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from calib_core.text import plain

LONGEST = 160
"""Maximum length of a result's repr."""
_WORD = 40


LONGEST_FACT = 600
"""Maximum length of one fact in a notebook."""
_TABLE = "border-collapse:collapse;margin:.3em 0"
_NAME = "text-align:left;vertical-align:top;font-weight:normal;opacity:.75;padding:.1em 1em .1em 0;white-space:nowrap"
_FACT = "text-align:left;vertical-align:top;padding:.1em 0"


class Shown:
    """A value with a notebook display: its name and its main facts.

    Colors are those of the page, light or dark; all content is plain text, never markup or formulas.
    """

    def _heading(self) -> str:
        """Text next to the class name."""
        return ""

    def _facts(self) -> Mapping[str, object]:
        """Main facts by name; empty values are left out."""
        return {}

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, Any]:
        return {"text/plain": repr(self), "text/html": in_html(type(self).__name__, self._heading(), self._facts())}


def in_html(name: str, heading: str, facts: Mapping[str, object]) -> str:
    """Return a small table of facts under a heading as HTML, with all texts escaped.

    >>> in_html("Net", "<b>x</b>", {})
    '<div class="tex2jax_ignore mathjax_ignore"><strong>Net</strong> &lt;b&gt;x&lt;/b&gt;</div>'
    """
    lines = "".join(
        f'<tr><th scope="row" style="{_NAME}">{plain(what)}</th>'
        f'<td style="{_FACT}">{plain(_cut(str(fact), LONGEST_FACT))}</td></tr>'
        for what, fact in facts.items()
        if fact is not None and fact != ""
    )
    table = f'<table style="{_TABLE}">{lines}</table>' if lines else ""
    beside = f" {plain(_cut(heading, LONGEST_FACT))}" if heading else ""
    return no_formula(f"<strong>{plain(name)}</strong>{beside}{table}")


def no_formula(page: str) -> str:
    """Wrap HTML so that notebooks do not read dollar signs as formulas, whose links could be scripts."""
    return f'<div class="tex2jax_ignore mathjax_ignore">{page}</div>'


class OneLine(Shown):
    """A result with a one-line repr: its name and main facts, never the numbers of an array.

    A dataclass that inherits from it sets ``repr=False``. ``_line`` returns the facts, by default every public field:
    numbers with four digits; arrays, frames and tuples by their shape.

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

    def _heading(self) -> str:
        return "" if self._facts() else self._line()

    def _line(self) -> str:
        single: list[str] = []
        by_size: dict[str, list[str]] = {}
        for field in dataclasses.fields(self):  # type: ignore[arg-type]  # every subclass is a dataclass
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
