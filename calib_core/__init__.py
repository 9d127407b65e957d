"""calib_core: find out whether a classifier's probabilities mean what they say."""

from importlib import import_module
from typing import TYPE_CHECKING

from calib_core import (
    binning,
    calibrators,
    choice,
    datasets,
    decisions,
    diagrams,
    estimators,
    exporting,
    guarantees,
    inference,
    lab,
    paper_tables,
    prediction_sets,
    readers,
    reductions,
    score_parts,
    side_by_side,
    slices,
    study,
    uses,
)
from calib_core.binning import BINNINGS
from calib_core.calibrators import BINARY_CALIBRATORS, CALIBRATORS, load_calibrator, with_options
from calib_core.choice import choose
from calib_core.cross_fitting import cross_fitted
from calib_core.division import described, divide, fitted, marked_rows, read_as, recalibrated, three_corners, within
from calib_core.estimators import BANDWIDTHS, ESTIMATORS, KERNELS, SCALES, Estimate, estimate
from calib_core.findings import findings
from calib_core.inference import compare
from calib_core.lab import TRUTHS
from calib_core.lookup import row_table
from calib_core.paper_tables import method_tables
from calib_core.predictions import InputError, Logits, NotAnswerable, Predictions
from calib_core.readers import read_models, read_predictions, read_table
from calib_core.reductions import REDUCTIONS
from calib_core.registry import Recipe, RegistryError
from calib_core.side_by_side import measured
from calib_core.study import evaluate, stacked
from calib_core.three_classes import corners

if TYPE_CHECKING:
    from calib_core import figures as figures

__all__ = [
    "BANDWIDTHS",
    "BINARY_CALIBRATORS",
    "BINNINGS",
    "CALIBRATORS",
    "ESTIMATORS",
    "KERNELS",
    "REDUCTIONS",
    "SCALES",
    "TRUTHS",
    "Estimate",
    "InputError",
    "Logits",
    "NotAnswerable",
    "Predictions",
    "Recipe",
    "RegistryError",
    "binning",
    "calibrators",
    "choice",
    "choose",
    "compare",
    "corners",
    "cross_fitted",
    "datasets",
    "decisions",
    "described",
    "diagrams",
    "divide",
    "estimate",
    "estimators",
    "evaluate",
    "exporting",
    "findings",
    "fitted",
    "guarantees",
    "inference",
    "lab",
    "load_calibrator",
    "marked_rows",
    "measured",
    "method_tables",
    "paper_tables",
    "prediction_sets",
    "read_as",
    "read_models",
    "read_predictions",
    "read_table",
    "readers",
    "recalibrated",
    "reductions",
    "row_table",
    "score_parts",
    "side_by_side",
    "slices",
    "stacked",
    "study",
    "three_corners",
    "uses",
    "with_options",
    "within",
]

__version__ = "0.3.0.dev0"


def __getattr__(name: str) -> object:
    """The figures, when first asked for: they need Plotly (extra `plot`), and nothing else does."""
    if name == "figures":
        return import_module("calib_core.figures")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
