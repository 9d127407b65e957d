"""Base class of diagrams: data with a notebook display."""

from __future__ import annotations

from contextlib import suppress
from importlib.util import find_spec
from operator import methodcaller
from typing import Any, ClassVar

import pandas as pd

from calib_core._base.errors import NotAnswerable
from calib_core._base.lazy_modules import provided
from calib_core._base.notebook_display import OneLine, no_formula


class Diagram(OneLine):
    """Frozen data whose `frame` is exactly the numbers drawn.

    As the last line of a notebook cell, it shows its picture where Plotly is installed and there is something to draw.
    Otherwise it shows its frame. ``formula`` is what is drawn, in TeX as KaTeX sets it; it is empty where no curve is
    drawn. ``drawn`` is False where words suffice.
    """

    formula: ClassVar[str] = ""
    drawn: ClassVar[bool] = True

    def frame(self) -> pd.DataFrame:
        """One line per mark, exactly the numbers drawn."""
        raise NotImplementedError

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, Any]:
        # The frame stays beside the picture, for readers of the notebook that have no Plotly.
        bundle = {"text/plain": repr(self), "text/html": no_formula(str(methodcaller("_repr_html_")(self.frame())))}
        picture = self._picture()
        return bundle if picture is None else bundle | picture._repr_mimebundle_()

    def _display_(self) -> Any:
        """Return the picture for marimo, which takes the HTML of a bundle."""
        picture = self._picture()
        return self.frame() if picture is None else picture

    def _picture(self) -> Any:
        """Return the figure; None without Plotly or where there is nothing to draw."""
        if self.drawn and find_spec("plotly") and find_spec("PIL"):
            with suppress(NotAnswerable):
                return provided("picture")(self)
        return None
