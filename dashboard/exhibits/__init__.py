"""Exhibits: what is shown, one file each. To add one, write its file and import it here."""

from dashboard.exhibits import class_errors, class_kernel, class_panels, classes, reliability
from dashboard.exhibits.exhibit import EXHIBITS, Exhibit, Words

__all__ = ["EXHIBITS", "Exhibit", "Words", "class_errors", "class_kernel", "class_panels", "classes", "reliability"]
