"""Predictions of the models on screen and their fits, by the calls that the screen uses."""

from typing import Any

from calib_core import Predictions
from calib_core.calibrators import Calibrator
from dashboard.session import RESULTS, Model


def judged(model: Model) -> Predictions:
    """Return a model's test rows."""
    return RESULTS.get(model.predictions)


def fitted(model: Model) -> Calibrator | Any:
    """Return a model's calibrator, fitted on the calibration rows."""
    return RESULTS.get(model.fitted)
