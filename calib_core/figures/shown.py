"""Registry of drawing functions by kind of diagram, for `draw` and for notebooks."""

from __future__ import annotations

from collections.abc import Callable
from functools import singledispatch
from typing import Any, TypeVar

import plotly.graph_objects as go

from calib_core._base.diagram import Diagram
from calib_core._base.errors import InputError

Drawing = TypeVar("Drawing", bound=Callable[..., go.Figure])


@singledispatch
def draw(diagram: Diagram, **options: Any) -> go.Figure:
    """Draw any diagram with the function of `calib_core.figures` for its kind, and that function's options.

    >>> import calib_core as cc
    >>> test = cc.Predictions([[0.75, 0.25]] * 4, [0, 0, 0, 1])
    >>> draw(cc.diagrams.reliability(test)).layout.xaxis.title.text
    'confidence'
    """
    raise InputError(f"{type(diagram).__name__} is not a diagram of calib_core.diagrams, so it cannot be drawn")


def draws(kind: type[Diagram]) -> Callable[[Drawing], Drawing]:
    """Register a function for drawing diagrams of this kind."""

    def register(drawing: Drawing) -> Drawing:
        draw.register(kind)(drawing)
        return drawing

    return register
