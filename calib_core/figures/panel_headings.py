"""What stands above a panel: the model, its error with the interval, and the verdict in a word, with drawn signs."""

from __future__ import annotations

import textwrap
from collections.abc import Hashable, Mapping
from typing import Any, TypeAlias

import pandas as pd

from calib_core.figures.symbol import symbol
from calib_core.figures.verdict_marks import icon
from calib_core.palette import Style
from calib_core.results.verdict_table import in_full
from calib_core.text import between, plain, short_percent

Pieces: TypeAlias = dict[str, list[dict[str, object]]]
"""Annotations and shapes of a layout."""

_LONGEST = 30
_SIGNS, _LETTERS, _LINE, _ABOVE = 18, 13, 16.9, 4
"""Pixels of the column of signs, of the letters, from line to line, and from the picture up to the last line."""


def heading(title: str, look: Style, verdicts: pd.DataFrame | None, x: float, y: float) -> Pieces:
    """An annotation and shapes, as arguments of a layout, whose lower left corner lies there on the paper.

    The title stands alone where nothing was judged.
    """
    names = [f"<b>{plain(line)}</b>" for line in name_lines(title)]
    judged = _judged(title, verdicts)
    word = None if judged is None else judged["verdict"]
    lines = [*names, *([] if judged is None else [_error(judged)]), *([in_full(word)] if word else [])]
    text = {
        "text": "<br>".join(lines), "x": x, "y": y, "xref": "paper", "yref": "paper", "xanchor": "left",
        "yanchor": "bottom", "xshift": _SIGNS, "yshift": _ABOVE, "align": "left", "showarrow": False,
        "font": {"size": _LETTERS},
    }  # fmt: skip
    place: dict[str, Any] = {"xref": "paper", "xanchor": x, "yref": "paper", "yanchor": y}
    first, last = _ABOVE + _LINE * (len(lines) - 0.5), _ABOVE + _LINE / 2
    signs = [
        symbol(look, _SIGNS / 2, first, **place),
        *(icon(word, _SIGNS / 2, last, 6.5, **place) if word else []),
    ]
    return {"annotations": [text], "shapes": signs}


def name_lines(title: str) -> list[str]:
    """A title in lines as long as a panel is wide, two at most.

    >>> name_lines("predictions.csv, Temperature scaling")
    ['predictions.csv, Temperature', 'scaling']
    """
    return textwrap.wrap(title, _LONGEST, max_lines=2, placeholder="…") or [title]


def _judged(title: str, verdicts: pd.DataFrame | None) -> Mapping[Hashable, Any] | None:
    """The line of a model whose error is a share of rows."""
    if verdicts is None:
        return None
    line = next(iter(verdicts[verdicts["model"] == title].to_dict("records")), None)
    return None if line is None or pd.isna(line["point"]) or line["unit"] != "share" else line


def _error(line: Mapping[Hashable, Any]) -> str:
    ends = between(line["low"], line["high"]).removesuffix(" %")
    return f"<b>{short_percent(line['point']).removesuffix(' %')}</b> ({ends}) points off"
