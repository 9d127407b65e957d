"""Fitted calibrators written for places where this library is not: a Python module without packages, other formats.

A calibrator is first described in steps (``program``), which every format then writes down in its own words. What
comes out is run beside the calibrator before it is handed out, and refused where it differs.
"""

from calib_core._base.arrays import LOG_FLOOR
from calib_core.calibrators.base import Interpolated, LogOddsMap, Map, PiecewiseMap
from calib_core.exporting import nodes
from calib_core.exporting.describing import State, program, recipe_of, steps_of
from calib_core.exporting.nodes import Program
from calib_core.exporting.python import python_source
from calib_core.exporting.trial import ROUNDING, TOLERANCE, ExportTrial, bins_computed, checked, probe_rows

__all__ = [
    "LOG_FLOOR",
    "ROUNDING",
    "TOLERANCE",
    "ExportTrial",
    "Interpolated",
    "LogOddsMap",
    "Map",
    "PiecewiseMap",
    "Program",
    "State",
    "bins_computed",
    "checked",
    "nodes",
    "probe_rows",
    "program",
    "python_source",
    "recipe_of",
    "steps_of",
]
