"""The multiclass-to-binary wrappers of P1 under their names, and their usual fillings."""

from __future__ import annotations

from calib_core.calibrators.base import CALIBRATORS, Contract
from calib_core.calibrators.histogram import Histogram
from calib_core.calibrators.isotonic import Isotonic
from calib_core.calibrators.reduced import Reduced
from calib_core.calibrators.scaling_binning import ScalingBinning
from calib_core.reductions import ClassWise, Confidence, TopKConfidence, TopKLabel, TopLabel

_TOP = Contract("top-label", keeps_argmax=True, sums_to_one=False, needs_matrix=False)
_TOP_K = Contract("top-k", keeps_argmax=True, sums_to_one=False)
_EACH_CLASS = Contract("per-class", keeps_argmax=False, sums_to_one=False)
_ROWS = Contract("full", keeps_argmax=False, sums_to_one=True)

CALIBRATORS.preset(
    "confidence",
    "Confidence wrapper",
    "One binary map recalibrates the confidence of all rows; the predicted class stays.",
    Reduced,
    reduction=Confidence(),
    normalise=False,
    class_points=(),
    small="pool",
    flags=_TOP,
    reference="P1 Alg. 1",
)
CALIBRATORS.preset(
    "top-label",
    "Top-label wrapper",
    "A binary map of its own recalibrates the confidence of every predicted class; the predicted class stays.",
    Reduced,
    reduction=TopLabel(),
    normalise=False,
    class_points=(),
    flags=_TOP,
    reference="P1 Alg. 2",
)
CALIBRATORS.preset(
    "class-wise",
    "Class-wise wrapper",
    "A binary map of its own recalibrates every class's probability; rows then need not sum to one.",
    Reduced,
    reduction=ClassWise(),
    normalise=False,
    small="pool",
    flags=_EACH_CLASS,
    reference="P1 Alg. 3",
)
CALIBRATORS.preset(
    "normalised",
    "Normalised class-wise wrapper",
    "A binary map of its own recalibrates every class's probability; rows are then divided by their sum.",
    Reduced,
    reduction=ClassWise(),
    normalise=True,
    class_points=(),
    small="pool",
    flags=_ROWS,
    reference="P1 Alg. 4",
)
CALIBRATORS.preset(
    "top-k-confidence",
    "Top-k confidence wrapper",
    "A binary map for each of the k largest probabilities; the ranking of the classes stays.",
    Reduced,
    lift="reduction",
    reduction=TopKConfidence(),
    normalise=False,
    class_points=(),
    small="pool",
    flags=_TOP_K,
    reference="P1 Alg. 7",
)
CALIBRATORS.preset(
    "top-k-label",
    "Top-k label wrapper",
    "A binary map for each of the k largest probabilities and each class; the ranking of the classes stays.",
    Reduced,
    lift="reduction",
    reduction=TopKLabel(),
    normalise=False,
    class_points=(),
    flags=_TOP_K,
    reference="P1 Alg. 6",
)
CALIBRATORS.preset(
    "top-label-hb",
    "Top-label histogram binning",
    "Histogram binning of the confidence within every predicted class, with a distribution-free guarantee.",
    Reduced,
    lift="binary",
    reduction=TopLabel(),
    binary=Histogram(),
    normalise=False,
    class_points=(),
    flags=_TOP,
    reference="P1 Alg. 8",
)
CALIBRATORS.preset(
    "class-wise-hb",
    "Class-wise histogram binning",
    "Histogram binning of every class's probability; rows then need not sum to one.",
    Reduced,
    lift="binary",
    reduction=ClassWise(),
    binary=Histogram(),
    normalise=False,
    small="pool",
    flags=_EACH_CLASS,
    reference="P1 Alg. 9",
)
CALIBRATORS.preset(
    "normalised-hb",
    "Normalised histogram binning",
    "Histogram binning of every class's probability; rows are then divided by their sum.",
    Reduced,
    lift="binary",
    reduction=ClassWise(),
    binary=Histogram(),
    normalise=True,
    class_points=(),
    small="pool",
    flags=_ROWS,
    reference="P1 Alg. 4",
)
CALIBRATORS.preset(
    "confidence-hb",
    "Confidence histogram binning",
    "Histogram binning of the confidence, whatever class was predicted.",
    Reduced,
    lift="binary",
    reduction=Confidence(),
    binary=Histogram(),
    normalise=False,
    class_points=(),
    small="pool",
    flags=_TOP,
    reference="P1 Alg. 1",
)
CALIBRATORS.preset(
    "isotonic-ovr",
    "Isotonic, one-vs-rest",
    "An isotonic map of every class's probability; rows are then divided by their sum.",
    Reduced,
    reduction=ClassWise(),
    binary=Isotonic(),
    normalise=True,
    class_points=(),
    small="pool",
    flags=_ROWS,
    reference="Zadrozny & Elkan 2002",
)
CALIBRATORS.preset(
    "scaling-binning",
    "Scaling-binning",
    "A smooth map of every class's probability, averaged over equally filled bins; rows then need not sum to one.",
    Reduced,
    lift="binary",
    reduction=ClassWise(),
    binary=ScalingBinning(),
    normalise=False,
    class_points=(),
    small="pool",
    flags=_EACH_CLASS,
    # Class-wise as in the paper's main experiments (marginal calibration); its appendix also bins the confidence,
    # which is the confidence wrapper around the same binary part.
    reference="P2 §4.1, §4.3",
)

WRAPPERS = tuple(key for key in CALIBRATORS if CALIBRATORS[key].cls is Reduced)
"""Keys of the multiclass-to-binary wrappers and their usual fillings."""
