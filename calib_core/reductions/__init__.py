"""Notions of calibration as binary claims (P1 Table 1); to add one, write a file and import it here."""

from calib_core.reductions.base import (
    REDUCTIONS,
    Canonical,
    Reduction,
    Scope,
    as_reduction,
    claims_of,
    notions_of,
    scope,
)
from calib_core.reductions.class_wise import ClassSpecific, ClassWise, Event
from calib_core.reductions.top import Confidence, TopKConfidence, TopKLabel, TopLabel

__all__ = [
    "REDUCTIONS",
    "Canonical",
    "ClassSpecific",
    "ClassWise",
    "Confidence",
    "Event",
    "Reduction",
    "Scope",
    "TopKConfidence",
    "TopKLabel",
    "TopLabel",
    "as_reduction",
    "claims_of",
    "notions_of",
    "scope",
]
