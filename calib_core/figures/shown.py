"""Which function draws which diagram: what `draw`, and a diagram in a notebook, go by."""

from __future__ import annotations

from collections.abc import Callable
from functools import singledispatch
from typing import Any, TypeVar

import plotly.graph_objects as go

from calib_core._base.errors import InputError
from calib_core.diagrams.base import Diagram

Drawing = TypeVar("Drawing", bound=Callable[..., go.Figure])


@singledispatch
def draw(diagram: Diagram, **options: Any) -> go.Figure:
    """Draw any diagram: the same as the function of `calib_core.figures` that draws its kind, with its options.

    >>> import calib_core as cc
    >>> test = cc.Predictions([[0.75, 0.25]] * 4, [0, 0, 0, 1])
    >>> draw(cc.diagrams.reliability(test)).layout.xaxis.title.text
    'confidence'
    """
    raise InputError(f"{type(diagram).__name__} is not a diagram of calib_core.diagrams: nothing says how to draw it")


def draws(kind: type[Diagram]) -> Callable[[Drawing], Drawing]:
    """Register a function as the one that draws diagrams of this kind."""

    def register(drawing: Drawing) -> Drawing:
        draw.register(kind)(drawing)
        return drawing

    return register
