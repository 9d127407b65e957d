"""Slices of the rows by metadata columns, and calibration errors in them."""

from calib_core.columns.conditions import Condition, Slice, Span, Value, as_slice, columns_of, part
from calib_core.columns.cut import cut
from calib_core.slices.between import BetweenSites, between
from calib_core.slices.characteristics import Characteristics, characteristics
from calib_core.slices.gaps import by_column, table
from calib_core.slices.multicalibration import Multicalibration, multicalibration
from calib_core.slices.panels import panels
from calib_core.slices.scan import SliceScan, scan

__all__ = [
    "BetweenSites",
    "Characteristics",
    "Condition",
    "Multicalibration",
    "Slice",
    "SliceScan",
    "Span",
    "Value",
    "as_slice",
    "between",
    "by_column",
    "characteristics",
    "columns_of",
    "cut",
    "multicalibration",
    "panels",
    "part",
    "scan",
    "table",
]
