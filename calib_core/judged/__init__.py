"""Accuracy from answers marked by a judge, and for a few rows by people."""

from calib_core.judged.corrected_mean import judged_gap, judged_share
from calib_core.judged.marked_answers import judged_answers, marked_by_people

__all__ = ["judged_answers", "judged_gap", "judged_share", "marked_by_people"]
