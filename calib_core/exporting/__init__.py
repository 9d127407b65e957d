"""Export fitted calibrators for use without this library: as a Python module without dependencies, or other formats.

A calibrator is first described as steps (``program``), which every format then writes in its own language. The export
is run and compared with the calibrator before it is returned, and refused if it differs.
"""

from calib_core._base.arrays import LOG_FLOOR
from calib_core.calibrators.base import CurveMap, Interpolated, LogOddsMap, Map, PiecewiseMap
from calib_core.exporting import nodes
from calib_core.exporting.describing import State, program, recipe_of, steps_of
from calib_core.exporting.nodes import Program
from calib_core.exporting.python import python_source
from calib_core.exporting.trial import ROUNDING, TOLERANCE, ExportTrial, bins_computed, checked, probe_rows

__all__ = [
    "LOG_FLOOR",
    "ROUNDING",
    "TOLERANCE",
    "CurveMap",
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
