"""What every diagram is: data that shows itself."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any, Protocol, cast

import pandas as pd

from calib_core._repr import OneLine


class Diagram(OneLine):
    """Frozen data whose `frame` is exactly the numbers drawn.

    As the last line of a notebook cell it is its picture, where Plotly is installed, and else its frame.
    """

    def frame(self) -> pd.DataFrame:
        """One line per mark, exactly the numbers drawn."""
        raise NotImplementedError

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, Any]:
        # The frame stays beside the picture, for readers of the notebook that have no Plotly.
        bundle = {"text/plain": repr(self), "text/html": cast(_Html, self.frame())._repr_html_()}
        if find_spec("plotly") and find_spec("PIL"):
            # By name: the figures know the diagrams, not the other way round.
            bundle |= import_module("calib_core.figures").draw(self)._repr_mimebundle_()
        return bundle


class _Html(Protocol):
    def _repr_html_(self) -> str: ...
