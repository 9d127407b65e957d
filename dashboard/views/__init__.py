"""The views, each a page of its own; to add one, write a file and import it here."""

from dashboard.navigation import VIEWS, View, view
from dashboard.views import calibrators, classes, data, estimators, reliability, report, simplex

__all__ = [
    "VIEWS",
    "View",
    "calibrators",
    "classes",
    "data",
    "estimators",
    "reliability",
    "report",
    "simplex",
    "view",
]
