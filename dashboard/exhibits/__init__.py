"""Exhibits: what is shown, one file each. To add one, write its file and import it here."""

from dashboard.exhibits import (
    binary_map,
    calibrator_errors,
    calibrator_scores,
    calibrators,
    pairs,
    promises,
    rates,
    reliability,
    side_effects,
)
from dashboard.exhibits.exhibit import EXHIBITS, Exhibit, Words

__all__ = [
    "EXHIBITS",
    "Exhibit",
    "Words",
    "binary_map",
    "calibrator_errors",
    "calibrator_scores",
    "calibrators",
    "pairs",
    "promises",
    "rates",
    "reliability",
    "side_effects",
]
