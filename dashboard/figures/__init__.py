"""Figures: each builder turns one kind of diagram into one Plotly figure and computes nothing."""

from dashboard.figures.binary_map import draw_binary_map
from dashboard.figures.calibration_map import draw_calibration_map
from dashboard.figures.classes import draw_class_errors, draw_class_panels
from dashboard.figures.constraint import draw_constraint
from dashboard.figures.kernel import draw_kernel
from dashboard.figures.overlay import consistency_bands, corp_band, corp_curve, kernel_band, wilson_intervals
from dashboard.figures.recalibration import draw_recalibration
from dashboard.figures.reliability import draw_reliability
from dashboard.figures.sweep import draw_sweep, draw_trade, draw_validity
from dashboard.figures.zoom import draw_zoom

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
