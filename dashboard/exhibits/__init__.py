"""Exhibits of the dashboard, one file per subject. Add a new one to its subject's file, or import its file here."""

from dashboard.exhibits import (  # noqa: F401
    calibration_maps,
    calibrators,
    classes,
    decisions,
    estimators,
    findings,
    fitted_curves,
    hero,
    lab,
    loaded_data,
    many_experiments,
    pairs,
    papers,
    people_marks,
    plan_answers,
    ranking,
    recommendation,
    reliability,
    risk,
    rows_described,
    single_bin,
    single_class,
    slices,
    tests,
    triangle,
    validity,
    verdict,
    watched_periods,
)
from dashboard.exhibits.exhibit import EXHIBITS, Exhibit, Words, added, broken

__all__ = ["EXHIBITS", "Exhibit", "Words", "added", "broken"]
