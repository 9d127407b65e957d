"""Exhibits: what is shown, one file each. To add one, write its file and import it here."""

from dashboard.exhibits import (
    estimators,
    line_words,
    notions,
    reliability,
    scores,
    sweep,
    tests,
    trade,
    unbinned,
    validity,
    verdict,
)
from dashboard.exhibits.exhibit import EXHIBITS, Exhibit, Words

__all__ = [
    "EXHIBITS",
    "Exhibit",
    "Words",
    "estimators",
    "line_words",
    "notions",
    "reliability",
    "scores",
    "sweep",
    "tests",
    "trade",
    "unbinned",
    "validity",
    "verdict",
]
