"""Functions in the Python code that the dashboard copies: read a file as predictions, divide, fit, judge.

Each takes the result of another, so that what a page shows is one expression. In your own program ``Predictions``, a
calibrator's ``fit`` and ``apply``, and ``estimate`` do the same with less.
"""

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
