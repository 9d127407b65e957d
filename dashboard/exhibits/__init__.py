"""Exhibits: what is shown, one file each. To add one, write its file and import it here."""

from dashboard.exhibits import (
    kernel_curve,
    reliability,
)
from dashboard.exhibits.exhibit import EXHIBITS, Exhibit, Words

__all__ = ["EXHIBITS", "Exhibit", "Words", "kernel_curve", "reliability"]
