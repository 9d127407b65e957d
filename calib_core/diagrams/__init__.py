"""Diagrams: frozen data whose frame() is exactly the numbers drawn; to add one, write a file and import it here."""

from calib_core.diagrams.bands import ReliabilityBands, banded_bins, reliability_bands
from calib_core.diagrams.binary_map import BinaryMap, binary_map
from calib_core.diagrams.calibration_map import CalibrationMap, calibration_map, map_difference, true_map
from calib_core.diagrams.classes import ClassPanels, ClassTable, class_panels, class_table
from calib_core.diagrams.constraints import REPEATS, ConstraintDiagram, constraint, wanted_rates
from calib_core.diagrams.corp import CorpBand, CorpCurve, brier_parts, corp, corp_band
from calib_core.diagrams.curve import BANDS, KERNEL_CURVE, KernelCurve, kernel_curve, kernel_curves
from calib_core.diagrams.error_by_bins import ErrorSweep, error_sweep
from calib_core.diagrams.recalibration import RecalibrationDiagram, canonical_validity, recalibration
from calib_core.diagrams.reliability import ReliabilityDiagram, reliability
from calib_core.diagrams.trade import TradeOff, trade_off
from calib_core.diagrams.validity import ValidityPair, ValidityPlot, validity, validity_pair
from calib_core.diagrams.zoom import BinZoom, bin_rows, zoom

__all__ = [
    "BANDS",
    "KERNEL_CURVE",
    "REPEATS",
    "BinZoom",
    "BinaryMap",
    "CalibrationMap",
    "ClassPanels",
    "ClassTable",
    "ConstraintDiagram",
    "CorpBand",
    "CorpCurve",
    "ErrorSweep",
    "KernelCurve",
    "RecalibrationDiagram",
    "ReliabilityBands",
    "ReliabilityDiagram",
    "TradeOff",
    "ValidityPair",
    "ValidityPlot",
    "banded_bins",
    "bin_rows",
    "binary_map",
    "brier_parts",
    "calibration_map",
    "canonical_validity",
    "class_panels",
    "class_table",
    "constraint",
    "corp",
    "corp_band",
    "error_sweep",
    "kernel_curve",
    "kernel_curves",
    "map_difference",
    "recalibration",
    "reliability",
    "reliability_bands",
    "trade_off",
    "true_map",
    "validity",
    "validity_pair",
    "wanted_rates",
    "zoom",
]
