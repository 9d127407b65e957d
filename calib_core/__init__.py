"""calib_core: find out whether a classifier's probabilities mean what they say."""

from calib_core import (
    binning,
    calibrators,
    datasets,
    diagrams,
    estimators,
    exporting,
    guarantees,
    inference,
    reductions,
)
from calib_core.binning import BINNINGS
from calib_core.calibrators import BINARY_CALIBRATORS, CALIBRATORS, load_calibrator
from calib_core.estimators import BANDWIDTHS, ESTIMATORS, KERNELS, SCALES, Estimate, estimate
from calib_core.inference import compare
from calib_core.predictions import InputError, Logits, NotAnswerable, Predictions
from calib_core.readers import read_predictions
from calib_core.reductions import REDUCTIONS
from calib_core.registry import Recipe, RegistryError
from calib_core.study import evaluate
from calib_core.three_classes import corners

__all__ = [
    "BANDWIDTHS",
    "BINARY_CALIBRATORS",
    "BINNINGS",
    "CALIBRATORS",
    "ESTIMATORS",
    "KERNELS",
    "REDUCTIONS",
    "SCALES",
    "Estimate",
    "InputError",
    "Logits",
    "NotAnswerable",
    "Predictions",
    "Recipe",
    "RegistryError",
    "binning",
    "calibrators",
    "compare",
    "corners",
    "datasets",
    "diagrams",
    "estimate",
    "estimators",
    "evaluate",
    "exporting",
    "guarantees",
    "inference",
    "load_calibrator",
    "read_predictions",
    "reductions",
]

__version__ = "0.3.0.dev0"
