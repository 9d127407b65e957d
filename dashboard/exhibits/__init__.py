"""Exhibits: what is shown, one file each. To add one, write its file and import it here."""

from dashboard.exhibits import (
    banded_bins,
    before_and_after,
    bin_apart,
    class_errors,
    class_kernel,
    class_panels,
    classes,
    isotonic_curve,
    kernel_curve,
    reliability,
)
from dashboard.exhibits.exhibit import EXHIBITS, Exhibit, Words

__all__ = [
    "EXHIBITS",
    "Exhibit",
    "Words",
    "banded_bins",
    "before_and_after",
    "bin_apart",
    "class_errors",
    "class_kernel",
    "class_panels",
    "classes",
    "isotonic_curve",
    "kernel_curve",
    "reliability",
]
