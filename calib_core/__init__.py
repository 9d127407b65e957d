"""calib_core: find out whether a classifier's probabilities mean what they say."""

from calib_core import binning, calibrators, datasets, diagrams, estimators, guarantees, inference, reductions
from calib_core.binning import BINNINGS
from calib_core.calibrators import BINARY_CALIBRATORS, CALIBRATORS, load_calibrator
from calib_core.estimators import BANDWIDTHS, ESTIMATORS, KERNELS, Estimate, estimate
from calib_core.predictions import InputError, Logits, NotAnswerable, Predictions
from calib_core.readers import read_predictions
from calib_core.reductions import REDUCTIONS
from calib_core.registry import Recipe, RegistryError
from calib_core.study import evaluate

__all__ = [
    "BANDWIDTHS",
    "BINARY_CALIBRATORS",
    "BINNINGS",
    "CALIBRATORS",
    "ESTIMATORS",
    "KERNELS",
    "REDUCTIONS",
    "Estimate",
    "InputError",
    "Logits",
    "NotAnswerable",
    "Predictions",
    "Recipe",
    "RegistryError",
    "binning",
    "calibrators",
    "datasets",
    "diagrams",
    "estimate",
    "estimators",
    "evaluate",
    "guarantees",
    "inference",
    "load_calibrator",
    "read_predictions",
    "reductions",
]
