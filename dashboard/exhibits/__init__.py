"""Exhibits: what is shown, one file each. To add one, write its file and import it here."""

from dashboard.exhibits import (
    calibration_maps,
    canonical_errors,
    canonical_validity,
    cell_rows,
    file,
    reliability,
    rows,
    triangle,
)
from dashboard.exhibits.exhibit import EXHIBITS, Exhibit, Words

__all__ = [
    "EXHIBITS",
    "Exhibit",
    "Words",
    "calibration_maps",
    "canonical_errors",
    "canonical_validity",
    "cell_rows",
    "file",
    "reliability",
    "rows",
    "triangle",
]
