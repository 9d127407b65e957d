"""Uncertainty of estimates: noise floors, tests, intervals, resamples and verdicts, computed on request."""

from __future__ import annotations

from calib_core.estimators.base import Estimate, Question, claimed_rows, notion_looked_at
from calib_core.inference.comparison.model_differences import (
    MarginVerdict,
    compare,
    margin_verdict,
    not_worse,
    paired_difference,
)
from calib_core.inference.comparison.paired_differences import PairedDifference
from calib_core.inference.comparison.skills import skill_differences, skills
from calib_core.inference.gate_baselines import Baseline, Increase, baseline, increase, read_baselines
from calib_core.inference.gate_checks import GateCheck, OpenWarning, gate_check
from calib_core.inference.intervals.elementary import (
    clopper_pearson,
    percentile,
    pivotal,
    share_ends,
    share_test,
    wilson,
)
from calib_core.inference.intervals.error_hierarchy import mean_gap
from calib_core.inference.intervals.interval_methods import interval
from calib_core.inference.intervals.inversion import CellGaps, inverted
from calib_core.inference.intervals.joint_intervals import sharpen
from calib_core.inference.intervals.mean_gap import MeanGap
from calib_core.inference.intervals.random_effects import RandomEffects, random_effects
from calib_core.inference.intervals.row_bootstrap import bootstrap
from calib_core.inference.noise.noise_floor import noise_floor
from calib_core.inference.significance.calibration_tests import (
    UnbinnedBound,
    kuiper,
    shown_at_all,
    spiegelhalter,
    unbinned_bound,
)
from calib_core.inference.significance.class_differences import jointly_off
from calib_core.inference.significance.count_tests import per_class_tests, standing_out
from calib_core.inference.significance.multiple_testing import benjamini_hochberg, benjamini_yekutieli, holm
from calib_core.inference.verdicts.estimate_line import (
    EstimateLine,
    each_alone,
    estimate_line,
    marked,
    measured_in,
    plain_line,
    unit_of,
)
from calib_core.inference.verdicts.estimate_tables import (
    EstimateOrReason,
    canonical_errors,
    coverage_cells,
    coverage_table,
    estimate_lines,
    estimates,
    group_errors_table,
    paired_table,
    rejection_cells,
    rejection_table,
    unbinned_bounds,
    unbinned_tests,
    verdicts,
)
from calib_core.inference.verdicts.other_measures import agreement, other_errors, other_errors_of
from calib_core.inference.verdicts.primary_measure import PrimaryLine, deciding, primaries, primary
from calib_core.inference.verdicts.verdict import event_ratio, on_scale_of, on_tolerance_scale, verdict
from calib_core.results.uncertainty import EventRatio, Interval, NoiseFloor, TestOfCalibration, Verdict
from calib_core.results.verdict_table import in_full

__all__ = [
    "Baseline",
    "CellGaps",
    "EstimateLine",
    "EstimateOrReason",
    "EventRatio",
    "GateCheck",
    "Increase",
    "Interval",
    "MarginVerdict",
    "MeanGap",
    "NoiseFloor",
    "OpenWarning",
    "PairedDifference",
    "PrimaryLine",
    "RandomEffects",
    "TestOfCalibration",
    "UnbinnedBound",
    "Verdict",
    "agreement",
    "baseline",
    "benjamini_hochberg",
    "benjamini_yekutieli",
    "bootstrap",
    "canonical_errors",
    "claimed_rows",
    "clopper_pearson",
    "compare",
    "coverage_cells",
    "coverage_table",
    "deciding",
    "each_alone",
    "estimate_line",
    "estimate_lines",
    "estimates",
    "event_ratio",
    "gate_check",
    "group_errors_table",
    "holm",
    "in_full",
    "increase",
    "interval",
    "inverted",
    "jointly_off",
    "kuiper",
    "margin_verdict",
    "marked",
    "mean_gap",
    "measured_in",
    "noise_floor",
    "not_worse",
    "notion_looked_at",
    "on_scale_of",
    "on_tolerance_scale",
    "other_errors",
    "other_errors_of",
    "paired_difference",
    "paired_table",
    "per_class_tests",
    "percentile",
    "pivotal",
    "plain_line",
    "primaries",
    "primary",
    "random_effects",
    "read_baselines",
    "rejection_cells",
    "rejection_table",
    "share_ends",
    "share_test",
    "sharpen",
    "shown_at_all",
    "skill_differences",
    "skills",
    "spiegelhalter",
    "standing_out",
    "unbinned_bound",
    "unbinned_bounds",
    "unbinned_tests",
    "unit_of",
    "verdict",
    "verdicts",
    "wilson",
]


class _Answers:
    """Functions that compute an estimate's uncertainty on request."""

    def interval(self, question: Question, level: float, random_state: int) -> Interval:
        return interval(question, level, random_state)

    def noise_floor(self, question: Question, random_state: int) -> NoiseFloor:
        return noise_floor(question, random_state=random_state)

    def verdict(self, estimate: Estimate, eps: float, level: float, ratio: float) -> Verdict:
        return verdict(estimate, eps, level, ratio)


ANSWERS = _Answers()
