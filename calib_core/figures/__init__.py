"""Plotly figures: `figures.NAME` draws the diagram of `diagrams.NAME` without any computation; needs extra `plot`.

Every function takes a diagram, and most take several by title. The figures are styled for a light page. The record of
a mark is in its customdata.
"""

from importlib.util import find_spec

if not (find_spec("plotly") and find_spec("PIL")):
    raise ImportError('figures need Plotly and Pillow, which are not installed: pip install "calib[plot]"')

from calib_core.figures.aligned_measures import large_lines
from calib_core.figures.arena_panels import leaderboard
from calib_core.figures.arena_sizes import regret_by_size
from calib_core.figures.classes import class_bias, class_curves, class_gaps, class_panels, class_table, class_validity
from calib_core.figures.findings import findings
from calib_core.figures.fitted_numbers import binary_map, fitted_parameters
from calib_core.figures.forest import forest, slice_dots
from calib_core.figures.judged_parts import judged_answers
from calib_core.figures.lab import (
    coverage_map,
    drift_delays,
    error_curves,
    error_distances,
    rejection_map,
    truth_curve,
)
from calib_core.figures.levels import levels, selective, validity, validity_pair
from calib_core.figures.mean_ranks import mean_ranks
from calib_core.figures.movement import movement
from calib_core.figures.overlay import (
    bin_intervals,
    consistency_bands,
    corp,
    corp_band,
    kernel_band,
    kernel_curve,
    reliability_bands,
)
from calib_core.figures.paper import on_paper
from calib_core.figures.plan_curve import constraint, plan_curve
from calib_core.figures.recalibration import calibration_map, recalibration
from calib_core.figures.reliability import reliability
from calib_core.figures.risk_curve import decision_curve, risk_diagram
from calib_core.figures.shown import draw
from calib_core.figures.sites import sites
from calib_core.figures.sweep import error_sweep, temperature_path, trade_off, trade_points
from calib_core.figures.time_strips import over_time
from calib_core.figures.verdict_strip import verdict_strip
from calib_core.figures.zoom import class_bins, models_in_range, zoom, zoom_lines

__all__ = [
    "bin_intervals",
    "binary_map",
    "calibration_map",
    "class_bias",
    "class_bins",
    "class_curves",
    "class_gaps",
    "class_panels",
    "class_table",
    "class_validity",
    "consistency_bands",
    "constraint",
    "corp",
    "corp_band",
    "coverage_map",
    "decision_curve",
    "draw",
    "drift_delays",
    "error_curves",
    "error_distances",
    "error_sweep",
    "findings",
    "fitted_parameters",
    "forest",
    "judged_answers",
    "kernel_band",
    "kernel_curve",
    "large_lines",
    "leaderboard",
    "levels",
    "mean_ranks",
    "models_in_range",
    "movement",
    "on_paper",
    "over_time",
    "plan_curve",
    "recalibration",
    "regret_by_size",
    "rejection_map",
    "reliability",
    "reliability_bands",
    "risk_diagram",
    "selective",
    "sites",
    "slice_dots",
    "temperature_path",
    "trade_off",
    "trade_points",
    "truth_curve",
    "validity",
    "validity_pair",
    "verdict_strip",
    "zoom",
    "zoom_lines",
]
