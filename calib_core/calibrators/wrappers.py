"""The multiclass-to-binary wrappers of P1 under their names, and their usual fillings: one table."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from calib_core.calibrators.base import BINARY_CALIBRATORS, CALIBRATORS, BinaryCalibrator, Contract, MapShape
from calib_core.calibrators.histogram import Histogram
from calib_core.calibrators.insides import Profile
from calib_core.calibrators.isotonic import Isotonic, VennAbers
from calib_core.calibrators.reduced import Reduced
from calib_core.calibrators.scaling_binning import ScalingBinning
from calib_core.reductions.base import Reduction, scope
from calib_core.reductions.class_wise import ClassWise
from calib_core.reductions.top import Confidence, TopKConfidence, TopKLabel, TopLabel

# Key, title, reference; notion, binary part (None: any), whether rows are divided by their sum; and the caption.
_TABLE: tuple[tuple[tuple[str, str, str, Reduction, BinaryCalibrator | None, bool], str], ...] = (
    (
        ("confidence", "Confidence wrapper", "P1 Alg. 1", Confidence(), None, False),
        "One binary map recalibrates the confidence of all rows; the predicted class stays.",
    ),
    (
        ("top-label", "Top-label wrapper", "P1 Alg. 2", TopLabel(), None, False),
        "A binary map of its own recalibrates the confidence of every predicted class; the predicted class stays.",
    ),
    (
        ("class-wise", "Class-wise wrapper", "P1 Alg. 3", ClassWise(), None, False),
        "A binary map of its own recalibrates every class's probability; rows then need not sum to one.",
    ),
    (
        ("normalised", "Normalised class-wise wrapper", "P1 Alg. 4", ClassWise(), None, True),
        "A binary map of its own recalibrates every class's probability; rows are then divided by their sum.",
    ),
    (
        ("top-k-confidence", "Top-k confidence wrapper", "P1 Alg. 7", TopKConfidence(), None, False),
        "A binary map for each of the k largest probabilities; the ranking of the classes stays.",
    ),
    (
        ("top-k-label", "Top-k label wrapper", "P1 Alg. 6", TopKLabel(), None, False),
        "A binary map for each of the k largest probabilities and each class; the ranking of the classes stays.",
    ),
    (
        ("top-label-hb", "Top-label histogram binning", "P1 Alg. 8", TopLabel(), Histogram(), False),
        "Histogram binning of the confidence within every predicted class, with a distribution-free guarantee.",
    ),
    (
        ("class-wise-hb", "Class-wise histogram binning", "P1 Alg. 9", ClassWise(), Histogram(), False),
        "Histogram binning of every class's probability; rows then need not sum to one.",
    ),
    (
        ("normalised-hb", "Normalised histogram binning", "P1 Alg. 4", ClassWise(), Histogram(), True),
        "Histogram binning of every class's probability; rows are then divided by their sum.",
    ),
    (
        ("confidence-hb", "Confidence histogram binning", "P1 Alg. 1", Confidence(), Histogram(), False),
        "Histogram binning of the confidence, whatever class was predicted.",
    ),
    (
        ("isotonic-ovr", "Isotonic, one-vs-rest", "Zadrozny & Elkan 2002", ClassWise(), Isotonic(), True),
        "An isotonic map of every class's probability; rows are then divided by their sum.",
    ),
    (
        # The field's way to more than two classes; dividing rows by their sum undoes what the pairs promise.
        ("venn-abers", "Venn-ABERS, one-vs-rest", "Vovk et al. 2015", ClassWise(), VennAbers(), True),
        "Every class's probability lies between two isotonic fits, the row itself counted as false or as true; rows "
        "are then divided by their sum.",
    ),
    (
        # Class-wise as in the paper's main experiments (marginal calibration); its appendix also bins the confidence,
        # which is the confidence wrapper around the same binary part.
        ("scaling-binning", "Scaling-binning", "P2 §4.1, §4.3", ClassWise(), ScalingBinning(), False),
        "A smooth map of every class's probability, averaged over equally filled bins; rows then need not sum to one.",
    ),
)

_FILLED = {
    "confidence": "{} of the confidence",
    "top-label": "{} of every predicted class",
    "class-wise": "{} class by class",
    "normalised": "{} class by class, normalised",
}
"""What wrappers are called once a binary part is chosen for them."""
_CONTRACTS = {
    "top": Contract("top-label", keeps_argmax=True, sums_to_one=False, needs_matrix=False, keeps_order=True),
    "ranks": Contract("top-k", keeps_argmax=True, sums_to_one=False, keeps_order=True),
    "classes": Contract("per-class", keeps_argmax=False, sums_to_one=False),
}
_ROWS = Contract("full", keeps_argmax=False, sums_to_one=True)

_PROFILES: dict[str, Profile] = {
    "top-label-hb": Profile(
        "binning",
        "Gives each predicted class its own table of frequencies.",
        rows=(0, 100, 0),
        needs_classes=True,
        promises=True,
        first_for=("full", "per-class", "top-label", "top-k"),
        why_first="it can carry a guarantee that holds whatever the data, and it changes no prediction",
        candidate_for=("full", "top-label"),
    ),
    "class-wise-hb": Profile(
        "binning",
        "Gives every class its own table of frequencies.",
        rows=(0, 100, 0),
        promises=True,
        candidate_for=("per-class",),
    ),
    "normalised-hb": Profile(
        "binning", "A table of frequencies for every class, then each row divided by its sum.", rows=(0, 100, 0)
    ),
    "confidence-hb": Profile(
        "binning",
        "One table of frequencies for the confidence, whatever the class.",
        rows=(500, 0, 0),
        promises=True,
        first_for=("confidence",),
        why_first="it needs nothing but confidences, and it can carry a guarantee that holds whatever the data",
        candidate_for=("top-label", "confidence"),
    ),
    "isotonic-ovr": Profile(
        "binning",
        "A rising staircase for every class.",
        rows=(0, 100, 0),
        first_for=("full", "per-class"),
        why_first="it bends as the rows ask, and needs no form of curve chosen beforehand",
        candidate_for=("full", "per-class"),
    ),
    "venn-abers": Profile(
        "binning",
        "Two rising staircases for every class, and what lies between them.",
        rows=(0, 100, 0),
    ),
    "scaling-binning": Profile("binning", "A smooth curve for every class, averaged within bins.", rows=(0, 100, 0)),
    "confidence": Profile(
        "advanced",
        "One map of your choice for the confidence, whatever the class.",
        promises=True,
        candidate_for=("top-label", "confidence"),
    ),
    "top-label": Profile(
        "advanced", "A map of your choice for each predicted class.", needs_classes=True, promises=True
    ),
    "class-wise": Profile("advanced", "A map of your choice for every class.", promises=True),
    "normalised": Profile("advanced", "A map of your choice for every class, then each row divided by its sum."),
    "top-k-confidence": Profile("advanced", "A map of your choice for each of the k largest probabilities."),
    "top-k-label": Profile("advanced", "A map of your choice for each rank and class among the k largest."),
}


def _fixed(notion: Reduction, binary: BinaryCalibrator | None, normalise: bool) -> dict[str, Any]:
    """The parameters that are no choice: strata that all hold all rows are never small, and so on."""
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
"""Keys of the multiclass-to-binary wrappers and their usual fillings."""
