"""Functions in the Python code that the dashboard copies: read a file as predictions, divide, fit, judge.

Each takes the result of another, so that what a page shows is one expression. In your own program ``Predictions``, a
calibrator's ``fit`` and ``apply``, and ``estimate`` do the same with less.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from calib_core._base.lazy_modules import home

if TYPE_CHECKING:  # what type checkers read; `_FROM` says the same to the interpreter
    from calib_core.evaluation.model_tables import measured
    from calib_core.evaluation.row_flow import row_flow
    from calib_core.evaluation.splitting import (
        described,
        divide,
        fitted,
        marked_rows,
        read_as,
        recalibrated,
        three_corners,
        within,
    )
    from calib_core.evaluation.study import stacked
    from calib_core.evaluation.update_gains import worst_column
    from calib_core.predictions.predictions import row_table
    from calib_core.predictions.three_classes import corners

__all__ = [
    "corners",
    "described",
    "divide",
    "fitted",
    "marked_rows",
    "measured",
    "read_as",
    "recalibrated",
    "row_flow",
    "row_table",
    "stacked",
    "three_corners",
    "within",
    "worst_column",
]

_FROM = {
    "evaluation.model_tables": ("measured",),
    "evaluation.row_flow": ("row_flow",),
    "evaluation.splitting": (
        "described",
        "divide",
        "fitted",
        "marked_rows",
        "read_as",
        "recalibrated",
        "three_corners",
        "within",
    ),
    "evaluation.study": ("stacked",),
    "evaluation.update_gains": ("worst_column",),
    "predictions.predictions": ("row_table",),
    "predictions.three_classes": ("corners",),
}
"""Names by their modules, each loaded on first use: a command that reads a file needs no other."""


def __getattr__(name: str) -> object:
    module = home(_FROM, name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = found = getattr(import_module(f"calib_core.{module}"), name)
    return found
