"""Estimators of calibration error; to add one, write a file and import it here."""

from calib_core.estimators.base import ESTIMATORS, Estimate, Estimated, Estimator, as_estimator, estimate
from calib_core.estimators.binned import Binned
from calib_core.estimators.scores import Accuracy, Brier, LogLoss

__all__ = [
    "ESTIMATORS",
    "Accuracy",
    "Binned",
    "Brier",
    "Estimate",
    "Estimated",
    "Estimator",
    "LogLoss",
    "as_estimator",
    "estimate",
]
