"""Figures: each builder turns one kind of diagram into one Plotly figure and computes nothing."""

from calib_core.figures.binary_map import draw_binary_map
from calib_core.figures.calibration_map import draw_calibration_map
from calib_core.figures.classes import draw_class_errors, draw_class_panels
from calib_core.figures.constraint import draw_constraint
from calib_core.figures.kernel import draw_kernel
from calib_core.figures.overlay import consistency_bands, corp_band, corp_curve, kernel_band, wilson_intervals
from calib_core.figures.recalibration import draw_recalibration
from calib_core.figures.reliability import draw_reliability
from calib_core.figures.sweep import draw_sweep, draw_trade, draw_validity
from calib_core.figures.zoom import draw_zoom

__all__ = [
    "consistency_bands",
    "corp_band",
    "corp_curve",
    "draw_binary_map",
    "draw_calibration_map",
    "draw_class_errors",
    "draw_class_panels",
    "draw_constraint",
    "draw_kernel",
    "draw_recalibration",
    "draw_reliability",
    "draw_sweep",
    "draw_trade",
    "draw_validity",
    "draw_zoom",
    "kernel_band",
    "wilson_intervals",
]
