"""Table of the multiclass-to-binary wrappers of P1 and their usual binary calibrators."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from calib_core.calibrators.base import BINARY_CALIBRATORS, CALIBRATORS, BinaryCalibrator, Contract, MapShape
from calib_core.calibrators.boosting import MonotoneBoosting
from calib_core.calibrators.histogram import Histogram
from calib_core.calibrators.insides import Profile
from calib_core.calibrators.isotonic import CenteredIsotonic, Isotonic, VennAbers
from calib_core.calibrators.reduced import Reduced
from calib_core.calibrators.scaling_binning import ScalingBinning
from calib_core.calibrators.scaling_map import Quadratic
from calib_core.calibrators.spline_maps import CdfSpline, SplineMap
from calib_core.reductions.base import Reduction, scope
from calib_core.reductions.class_wise import ClassWise
from calib_core.reductions.top import Confidence, TopKConfidence, TopKLabel, TopLabel

# Key, title, reference; notion, binary part (None: any), division of rows by their sum; and the caption.
_TABLE: tuple[tuple[tuple[str, str, str, Reduction, BinaryCalibrator | None, bool], str], ...] = (
    (
        ("confidence", "Confidence wrapper", "P1 Alg. 1", Confidence(), None, False),
        "One binary calibrator recalibrates the confidence of all rows; the predicted class does not change.",
    ),
    (
        ("top-label", "Top-label wrapper", "P1 Alg. 2", TopLabel(), None, False),
        "A separate binary calibrator recalibrates the confidence of each predicted class, which does not change.",
    ),
    (
        ("class-wise", "Class-wise wrapper", "P1 Alg. 3", ClassWise(), None, False),
        "A separate binary calibrator recalibrates each class's probability; rows then need not sum to one.",
    ),
    (
        ("normalised", "Normalized class-wise wrapper", "P1 Alg. 4", ClassWise(), None, True),
        "A separate binary calibrator recalibrates each class's probability; rows are then divided by their sum.",
    ),
    (
        ("top-k-confidence", "Top-k confidence wrapper", "P1 Alg. 7", TopKConfidence(), None, False),
        "A binary calibrator for each of the k largest probabilities; the ranking of classes does not change.",
    ),
    (
        ("top-k-label", "Top-k label wrapper", "P1 Alg. 6", TopKLabel(), None, False),
        "A binary calibrator for each of the k largest probabilities and each class; the ranking of classes does "
        "not change.",
    ),
    (
        ("top-label-hb", "Top-label histogram binning", "P1 Alg. 8", TopLabel(), Histogram(), False),
        "Histogram binning of the confidence within every predicted class, with a distribution-free guarantee.",
    ),
    (
        ("class-wise-hb", "Class-wise histogram binning", "P1 Alg. 9", ClassWise(), Histogram(), False),
        "Histogram binning of each class's probability; rows then need not sum to one.",
    ),
    (
        ("normalised-hb", "Normalized histogram binning", "P1 Alg. 4", ClassWise(), Histogram(), True),
        "Histogram binning of each class's probability; rows are then divided by their sum.",
    ),
    (
        ("confidence-hb", "Confidence histogram binning", "P1 Alg. 1", Confidence(), Histogram(), False),
        "Histogram binning of the confidence, whatever the predicted class.",
    ),
    (
        ("isotonic-ovr", "Isotonic, one-vs-rest", "Zadrozny & Elkan 2002", ClassWise(), Isotonic(), True),
        "An isotonic map of each class's probability; rows are then divided by their sum.",
    ),
    (
        (
            "centered-isotonic",
            "Centered isotonic, one-vs-rest",
            "Oron & Flournoy 2017",
            ClassWise(),
            CenteredIsotonic(),
            True,
        ),
        "Lines between the centers of an isotonic map's steps, for each class; rows are then divided by their sum.",
    ),
    (
        # The usual extension to more than two classes; division by the sum invalidates the guarantee of the pairs.
        ("venn-abers", "Venn-ABERS, one-vs-rest", "Vovk et al. 2015", ClassWise(), VennAbers(), True),
        "Each class's probability is between two isotonic fits, with the row itself counted as false and as true; "
        "rows are then divided by their sum.",
    ),
    (
        ("quadratic", "Quadratic map, one-vs-rest", "Berta et al. 2025", ClassWise(), Quadratic(), True),
        "A non-decreasing parabola of each class's log-odds; rows are then divided by their sum.",
    ),
    (
        ("boosting-ovr", "Monotone boosting, one-vs-rest", "Friedman 2001", ClassWise(), MonotoneBoosting(), True),
        "A sum of small trees, non-decreasing in each class's probability; rows are then divided by their sum.",
    ),
    (
        ("spline", "Spline map, one-vs-rest", "Lucena 2018", ClassWise(), SplineMap(), True),
        "A smooth curve of each class's log-odds, chosen by cross-validation; rows are then divided by their sum.",
    ),
    (
        ("cdf-spline", "CDF spline, one-vs-rest", "Gupta et al. 2021", ClassWise(), CdfSpline(), True),
        "Adds to each class's probability the slope of its cumulative error; rows are then divided by their sum.",
    ),
    (
        # Class-wise as in the paper's main experiments (marginal calibration); its appendix also bins the confidence,
        # which is the confidence wrapper around the same binary part.
        ("scaling-binning", "Scaling-binning", "P2 §4.1, §4.3", ClassWise(), ScalingBinning(), False),
        "A smooth map of each class's probability, averaged in equal-mass bins; rows then need not sum to one.",
    ),
)

_FILLED = {
    "confidence": "{} of the confidence",
    "top-label": "{} of every predicted class",
    "class-wise": "{} class by class",
    "normalised": "{} class by class, normalized",
}
"""Titles of wrappers with a chosen binary calibrator."""
_CONTRACTS = {
    "top": Contract("top-label", keeps_argmax=True, sums_to_one=False, needs_matrix=False, keeps_order=True),
    "ranks": Contract("top-k", keeps_argmax=True, sums_to_one=False, keeps_order=True),
    "classes": Contract("per-class", keeps_argmax=False, sums_to_one=False),
}
_ROWS = Contract("full", keeps_argmax=False, sums_to_one=True)

_PROFILES: dict[str, Profile] = {
    "top-label-hb": Profile(
        "binning",
        "Uses a table of frequencies for each predicted class.",
        rows=(0, 100, 0),
        needs_classes=True,
        promises=True,
        first_for=("full", "per-class", "top-label", "top-k"),
        why_first="it can have a distribution-free guarantee, and it changes no predicted class",
        candidate_for=("full", "top-label"),
    ),
    "class-wise-hb": Profile(
        "binning",
        "Uses a table of frequencies for each class.",
        rows=(0, 100, 0),
        promises=True,
        candidate_for=("per-class",),
    ),
    "normalised-hb": Profile(
        "binning", "Uses a table of frequencies for each class, then divides each row by its sum.", rows=(0, 100, 0)
    ),
    "confidence-hb": Profile(
        "binning",
        "Uses one table of frequencies for the confidence of all classes.",
        rows=(500, 0, 0),
        promises=True,
        first_for=("confidence",),
        why_first="it only needs confidences, and it can have a distribution-free guarantee",
        candidate_for=("top-label", "confidence"),
    ),
    "isotonic-ovr": Profile(
        "binning",
        "Fits an increasing staircase for each class.",
        rows=(0, 100, 0),
        first_for=("full", "per-class"),
        why_first="it adapts to the rows and needs no functional form",
        candidate_for=("per-class",),
    ),
    "centered-isotonic": Profile(
        "binning",
        "Fits an increasing staircase for each class, and joins the centers of its steps by lines.",
        rows=(0, 100, 0),
    ),
    "venn-abers": Profile(
        "binning",
        "Fits two increasing staircases for each class, and returns a value between them.",
        rows=(0, 100, 0),
        candidate_for=("full",),
    ),
    "quadratic": Profile(
        "scaling",
        "Fits a parabola of log-odds for each class, then divides each row by its sum.",
        rows=(0, 75, 0),
        candidate_for=("full",),
        most_classes=2,
    ),
    "boosting-ovr": Profile(
        "binning", "Adds up small trees into an increasing staircase for each class.", rows=(0, 200, 0)
    ),
    "spline": Profile(
        "scaling",
        "Fits a smooth curve of log-odds for each class, then divides each row by its sum.",
        rows=(0, 300, 0),
        candidate_for=("full",),
    ),
    "cdf-spline": Profile(
        "binning", "Adds to each class's probability the smooth mean error of similar ones.", rows=(0, 300, 0)
    ),
    "scaling-binning": Profile("binning", "Averages a smooth curve for each class within bins.", rows=(0, 100, 0)),
    "confidence": Profile(
        "advanced",
        "Recalibrates the confidence by one calibrator of your choice, whatever the predicted class.",
        promises=True,
        candidate_for=("top-label", "confidence"),
    ),
    "top-label": Profile(
        "advanced", "Fits a calibrator of your choice for each predicted class.", needs_classes=True, promises=True
    ),
    "class-wise": Profile("advanced", "Fits a calibrator of your choice for each class.", promises=True),
    "normalised": Profile(
        "advanced", "Fits a calibrator of your choice for each class, then divides each row by its sum."
    ),
    "top-k-confidence": Profile(
        "advanced", "Fits a calibrator of your choice for each of the k largest probabilities."
    ),
    "top-k-label": Profile("advanced", "Fits a calibrator of your choice for each rank and class among the k largest."),
}


def _fixed(notion: Reduction, binary: BinaryCalibrator | None, normalise: bool) -> dict[str, Any]:
    """Fixed parameters: for instance, strata that contain all rows are never small."""
    fixed: dict[str, Any] = {"reduction": notion, "normalise": normalise}
    if binary is not None:
        fixed["binary"] = binary
    if not scope(notion).by_class:
        fixed["small"] = "pool"
    per_class = scope(notion).of == "classes" and not normalise
    if not (per_class and (binary is None or "points_per_bin" in binary.get_params())):
        fixed["class_points"] = ()
    return fixed


for (_key, _title, _reference, _notion, _binary, _normalise), _caption in _TABLE:
    _of = scope(_notion).of
    _shape = MapShape() if _binary is None else BINARY_CALIBRATORS.flags(_binary)
    CALIBRATORS.preset(
        _key,
        _title,
        _caption,
        Reduced,
        lift="reduction" if _of == "ranks" else "" if _binary is None else "binary",
        reference=_reference,
        flags=replace(
            _ROWS if _normalise else _CONTRACTS[_of], profile=_PROFILES[_key], bins=_shape.bins, rows=_shape.rows
        ),
        filled=_FILLED.get(_key, ""),
        **_fixed(_notion, _binary, _normalise),
    )

WRAPPERS = tuple(line[0] for line, _ in _TABLE)
"""Keys of the multiclass-to-binary wrappers, with and without a binary calibrator."""


for _key in ("platt", "beta"):
    CALIBRATORS.asides[_key] = (
        "it recalibrates one probability per row, so name its notion too, such as "
        f'{{"key": "confidence", "params": {{"binary": {{"key": "{_key}"}}}}}}'
    )
