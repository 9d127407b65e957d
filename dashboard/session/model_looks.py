"""Look of every model shown: one number, the same in every picture, table and chip; its symbol in running text."""

from __future__ import annotations

import base64
from collections.abc import Iterable
from functools import cache
from typing import Protocol

from calib_core.palette import dark_style, looks, outline, preferred_look, style
from calib_core.registry.registry import Recipe
from dashboard.selection import model_keys

FIRST = ("temperature", "vector", "dirichlet", "class-wise-hb", "isotonic-ovr", "top-label-hb")
"""Calibrators often shown together: their colors differ. All others follow in the registry's order."""


class StyledModel(Protocol):
    """Protocol of objects with a look: a model, recalibrated or not, of one of the files."""

    @property
    def title(self) -> str: ...

    @property
    def recipe(self) -> Recipe: ...

    @property
    def is_base(self) -> bool: ...


def numbered(models: Iterable[tuple[int, StyledModel]]) -> dict[str, int]:
    """Return every model's number by title, from its file's position and calibrator; the first base model is 0.

    A model's number does not depend on the order of the models. It depends on other models only if two would look
    alike. Then the first file's models have precedence over those of files compared with it, and calibrators in the
    order of ``order``.
    """
    liked = sorted((file, _liked(file, model), model.title) for file, model in models)
    return looks((title, number) for _, number, title in liked)


def order() -> tuple[str, ...]:
    """Return the keys of the calibrators in the order of their looks."""
    every = model_keys()
    return (*(key for key in FIRST if key in every), *(key for key in every if key not in FIRST))


def _liked(file: int, model: StyledModel) -> int:
    if model.is_base:
        # Bases of further files use the last colors, where calibrators come last.
        return 0 if not file else max(1, 7 - file)
    keys = order()
    return preferred_look(keys.index(model.recipe.key) + 1 if model.recipe.key in keys else len(keys) + 1)


@cache
def mark(number: int) -> str:
    """Return the Markdown of the symbol of the model with this number in the scene.

    >>> mark(0).startswith("![★](data:image/svg+xml;base64,")
    True
    """
    look = style(number)
    points = " ".join(f"{8 + 7.4 * x:.2f},{8 - 7.4 * y:.2f}" for x, y in outline(look.symbol))
    svg = (
        '<svg xmlns="http://www.w3.org/2000/svg" width="16" height="16" viewBox="0 0 16 16">'
        f'{dark_style(look.colour)}<polygon points="{points}" fill="{look.colour}"/></svg>'
    )
    return f"![{look.glyph}](data:image/svg+xml;base64,{base64.b64encode(svg.encode()).decode()})"
