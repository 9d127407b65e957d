"""Exhibits: what is shown, one file each. To add one, write its file and import it here."""

from dashboard.exhibits import (
    banded_bins,
    before_and_after,
    bin_apart,
    binary_map,
    calibrator_errors,
    calibrator_scores,
    calibrators,
    isotonic_curve,
    kernel_curve,
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
    "banded_bins",
    "before_and_after",
    "bin_apart",
    "binary_map",
    "calibrator_errors",
    "calibrator_scores",
    "calibrators",
    "isotonic_curve",
    "kernel_curve",
    "pairs",
    "promises",
    "rates",
    "reliability",
    "side_effects",
]
