"""How sure an estimate is: noise floors, tests, intervals, resamples, verdicts; estimates ask here when asked."""

from __future__ import annotations

from calib_core.estimators.base import Estimate, Question
from calib_core.inference.agreement import agreement
from calib_core.inference.baselines import Baseline, Increase, baseline, increase, read_baselines
from calib_core.inference.by_partition import canonical_errors
from calib_core.inference.chain import mean_gap
from calib_core.inference.claimed_rows import claimed_rows, notion_looked_at
from calib_core.inference.event_ratio import EventRatio, event_ratio
from calib_core.inference.every_pair import compare
from calib_core.inference.gate_checks import GateCheck, gate_check
from calib_core.inference.interval_forms import interval
from calib_core.inference.intervals import Interval, clopper_pearson, percentile, pivotal, wilson
from calib_core.inference.inversion import CellGaps, inverted
from calib_core.inference.line_tables import (
    Answer,
    estimate_lines,
    estimates,
    unbinned_bounds,
    unbinned_tests,
    verdicts,
)
from calib_core.inference.margins import MarginVerdict, margin_verdict, not_worse
from calib_core.inference.mean_gap import MeanGap
from calib_core.inference.model_differences import paired_difference
from calib_core.inference.multiple import benjamini_hochberg, benjamini_yekutieli, holm
from calib_core.inference.null import NoiseFloor, noise_floor
from calib_core.inference.paired_result import PairedDifference
from calib_core.inference.per_class import per_class_tests, standing_out
from calib_core.inference.primary import PrimaryLine, deciding, primaries, primary
from calib_core.inference.resampling import bootstrap
from calib_core.inference.result_line import EstimateLine, each_alone, estimate_line, marked, plain_line, unit_of
from calib_core.inference.right_shares import share_ends, share_test
from calib_core.inference.score_tests import TestOfCalibration, kuiper, shown_at_all, spiegelhalter
from calib_core.inference.simulation_tables import coverage_table, group_errors_table, paired_table, rejection_table
from calib_core.inference.skills import skill_differences, skills
from calib_core.inference.together import sharpen
from calib_core.inference.unbinned import UnbinnedBound, unbinned_bound
from calib_core.inference.verdict import Verdict, in_full, on_scale_of, on_tolerance_scale, verdict

__all__ = [
    "Answer",
    "Baseline",
    "CellGaps",
    "EstimateLine",
    "EventRatio",
    "GateCheck",
    "Increase",
    "Interval",
    "MarginVerdict",
    "MeanGap",
    "NoiseFloor",
    "PairedDifference",
    "PrimaryLine",
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
    "kuiper",
    "margin_verdict",
    "marked",
    "mean_gap",
    "noise_floor",
    "not_worse",
    "notion_looked_at",
    "on_scale_of",
    "on_tolerance_scale",
    "paired_difference",
    "paired_table",
    "per_class_tests",
    "percentile",
    "pivotal",
    "plain_line",
    "primaries",
    "primary",
    "read_baselines",
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
    """What estimates are given when they are asked about their certainty."""

    def interval(self, question: Question, level: float, random_state: int) -> Interval:
        return interval(question, level, random_state)

    def noise_floor(self, question: Question, random_state: int) -> NoiseFloor:
        return noise_floor(question, random_state=random_state)

    def verdict(self, estimate: Estimate, eps: float, level: float, ratio: float) -> Verdict:
        return verdict(estimate, eps, level, ratio)


ANSWERS = _Answers()
