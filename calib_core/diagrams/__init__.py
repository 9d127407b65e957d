"""Diagrams: frozen data whose frame() is exactly the numbers drawn; to add one, write a file and import it here."""

from calib_core.diagrams.bins_that_stand_out import (
    ReliabilityBands,
    banded_bins,
    bins_standing_out,
    edges_said,
    headline,
    reliability_bands,
)
from calib_core.diagrams.calibration_map import (
    CalibrationMap,
    calibration_map,
    map_difference,
    map_scale,
    shared_scale,
    true_map,
)
from calib_core.diagrams.class_bias import ClassBias, class_bias
from calib_core.diagrams.class_list import (
    ClassTable,
    StandingOut,
    class_list,
    class_table,
    classes_standing_out,
    ranked_classes,
)
from calib_core.diagrams.corp import CorpBand, CorpCurve, brier_parts, corp, corp_band
from calib_core.diagrams.curve import BANDS, KERNEL_CURVE, KernelCurve, kernel_curve, kernel_curves
from calib_core.diagrams.decision_curve import DecisionCurve, decision_curve
from calib_core.diagrams.error_by_bins import ErrorSweep, error_sweep, swept_estimators, swept_kinds
from calib_core.diagrams.fitted_numbers import BinaryMap, FittedParameters, binary_map, fitted_parameters
from calib_core.diagrams.forest import Forest, forest
from calib_core.diagrams.levels import Levels, levels, models_in_range, rows_in_range
from calib_core.diagrams.local_accuracy import (
    EventWords,
    LocalAccuracy,
    LocalAnswer,
    local_accuracy,
    local_frequency,
    opening,
    updated_frequency,
)
from calib_core.diagrams.movement import Movement, TemperaturePath, movement, temperature_path
from calib_core.diagrams.one_class import ClassBins, class_bins, class_claims, class_confusions, class_rows
from calib_core.diagrams.overall_gap import OverallGap, overall_gap
from calib_core.diagrams.plan_curve import REPEATS, ConstraintDiagram, PlanCurve, constraint, plan_curve, wanted_rates
from calib_core.diagrams.recalibration import (
    RecalibrationDiagram,
    canonical_validity,
    cell_rows,
    recalibration,
    validity_by_cell,
)
from calib_core.diagrams.reconciling import reconciled
from calib_core.diagrams.reliability import ReliabilityDiagram, reliability
from calib_core.diagrams.risk_diagram import LargeLines, RiskDiagram, large_lines, risk_diagram
from calib_core.diagrams.selective import RiskCoverage, selective
from calib_core.diagrams.slice_dots import SliceDots, slice_dots
from calib_core.diagrams.small_diagrams import (
    ClassCurves,
    ClassPanels,
    ClassValidity,
    SlicePanels,
    class_curves,
    class_panels,
    class_validity,
)
from calib_core.diagrams.tolerance_axis import VerdictStrip, verdict_strip
from calib_core.diagrams.trade import TradeOff, TradePoints, plug_in_bound, trade_off, trade_points
from calib_core.diagrams.validity import (
    ValidityPair,
    ValidityPlot,
    validity,
    validity_against,
    validity_of,
    validity_pair,
)
from calib_core.diagrams.zoom import BinZoom, bin_rows, zoom

__all__ = [
    "BANDS",
    "KERNEL_CURVE",
    "REPEATS",
    "BinZoom",
    "BinaryMap",
    "CalibrationMap",
    "ClassBias",
    "ClassBins",
    "ClassCurves",
    "ClassPanels",
    "ClassTable",
    "ClassValidity",
    "ConstraintDiagram",
    "CorpBand",
    "CorpCurve",
    "DecisionCurve",
    "ErrorSweep",
    "EventWords",
    "FittedParameters",
    "Forest",
    "KernelCurve",
    "LargeLines",
    "Levels",
    "LocalAccuracy",
    "LocalAnswer",
    "Movement",
    "OverallGap",
    "PlanCurve",
    "RecalibrationDiagram",
    "ReliabilityBands",
    "ReliabilityDiagram",
    "RiskCoverage",
    "RiskDiagram",
    "SliceDots",
    "SlicePanels",
    "StandingOut",
    "TemperaturePath",
    "TradeOff",
    "TradePoints",
    "ValidityPair",
    "ValidityPlot",
    "VerdictStrip",
    "banded_bins",
    "bin_rows",
    "binary_map",
    "bins_standing_out",
    "brier_parts",
    "calibration_map",
    "canonical_validity",
    "cell_rows",
    "class_bias",
    "class_bins",
    "class_claims",
    "class_confusions",
    "class_curves",
    "class_list",
    "class_panels",
    "class_rows",
    "class_table",
    "class_validity",
    "classes_standing_out",
    "constraint",
    "corp",
    "corp_band",
    "decision_curve",
    "edges_said",
    "error_sweep",
    "fitted_parameters",
    "forest",
    "headline",
    "kernel_curve",
    "kernel_curves",
    "large_lines",
    "levels",
    "local_accuracy",
    "local_frequency",
    "map_difference",
    "map_scale",
    "models_in_range",
    "movement",
    "opening",
    "overall_gap",
    "plan_curve",
    "plug_in_bound",
    "ranked_classes",
    "recalibration",
    "reconciled",
    "reliability",
    "reliability_bands",
    "risk_diagram",
    "rows_in_range",
    "selective",
    "shared_scale",
    "slice_dots",
    "swept_estimators",
    "swept_kinds",
    "temperature_path",
    "trade_off",
    "trade_points",
    "true_map",
    "updated_frequency",
    "validity",
    "validity_against",
    "validity_by_cell",
    "validity_of",
    "validity_pair",
    "verdict_strip",
    "wanted_rates",
    "zoom",
]
