"""The views, each a page of its own; to add one, write a file and import it here."""

from dashboard.navigation import VIEWS, View, view
from dashboard.views import (
    calibrators,
    classes,
    coverage,
    data,
    estimators,
    one_curve,
    overview,
    reliability,
    report,
    simplex,
    slices,
    start,
    tests,
)

__all__ = [
    "VIEWS",
    "View",
    "calibrators",
    "classes",
    "coverage",
    "data",
    "estimators",
    "one_curve",
    "overview",
    "reliability",
    "report",
    "simplex",
    "slices",
    "start",
    "tests",
    "view",
]
