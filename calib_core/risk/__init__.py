"""Calibration of the predicted risk of an event: in the large, as a smooth curve, and in scores."""

from calib_core.inference.intervals.observed_expected import ratio_ends
from calib_core.inference.verdicts.events_needed import EventsNeeded, events_needed
from calib_core.risk.in_the_large import InTheLarge, RatioVerdict, in_the_large, ratio_verdict, scores, summary
from calib_core.risk.multinomial import MultinomialSlopes, multinomial_slopes
from calib_core.risk.smooth_curve import SmoothCurve, smooth_curve

__all__ = [
    "EventsNeeded",
    "InTheLarge",
    "MultinomialSlopes",
    "RatioVerdict",
    "SmoothCurve",
    "events_needed",
    "in_the_large",
    "multinomial_slopes",
    "ratio_ends",
    "ratio_verdict",
    "scores",
    "smooth_curve",
    "summary",
]
