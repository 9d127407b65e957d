"""What the models on screen say and how they were fitted, by the calls that the screen makes."""

from typing import Any

from calib_core import Predictions
from calib_core.calibrators import Calibrator
from dashboard.session import RESULTS, Model


def judged(model: Model) -> Predictions:
    """A model's test rows."""
    return RESULTS.get(model.predictions)


def fitted(model: Model) -> Calibrator | Any:
    """A model's calibrator, fitted on the calibration rows."""
    return RESULTS.get(model.fitted)
