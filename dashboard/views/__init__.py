"""The views, each a page of its own; to add one, write a file and import it here."""

from dashboard.navigation import VIEWS, View, view
from dashboard.views import (
    calibrators,
    classes,
    coverage,
    data,
    estimators,
    levels,
    methods_by_files,
    one_curve,
    overview,
    reliability,
    report,
    simplex,
    slices,
    start,
    tests,
    what_stands_out,
)

__all__ = [
    "VIEWS",
    "View",
    "calibrators",
    "classes",
    "coverage",
    "data",
    "estimators",
    "levels",
    "methods_by_files",
    "one_curve",
    "overview",
    "reliability",
    "report",
    "simplex",
    "slices",
    "start",
    "tests",
    "view",
    "what_stands_out",
]
