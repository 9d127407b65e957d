"""Estimators of calibration error; to add one, write a file and import it here."""

from calib_core.estimators.base import (
    BY_DEFAULT,
    ESTIMATORS,
    Estimate,
    Estimated,
    Estimator,
    Traits,
    as_estimator,
    by_stratum,
    draws_curve,
    estimate,
    is_score,
    own_bins,
    reads_bins,
    takes_bins,
    titled,
    traits,
)
from calib_core.estimators.binned import Binned, ConvexBinned
from calib_core.estimators.debiased import DebiasedECE, DebiasedL2
from calib_core.estimators.dirichlet_kernel import DirichletKernelError
from calib_core.estimators.kernel_ece import KernelECE
from calib_core.estimators.mixed import MaxOfBins
from calib_core.estimators.score_estimators import Accuracy, Brier, LogLoss
from calib_core.estimators.skce import KernelCalibrationError
from calib_core.estimators.smooth import SmoothECE
from calib_core.estimators.swept_bins import EceSweep, MaxDeviation
from calib_core.estimators.two_bins import TwoBin
from calib_core.smoothing import BANDWIDTHS, KERNELS, SCALES

__all__ = [
    "BANDWIDTHS",
    "BY_DEFAULT",
    "ESTIMATORS",
    "KERNELS",
    "SCALES",
    "Accuracy",
    "Binned",
    "Brier",
    "ConvexBinned",
    "DebiasedECE",
    "DebiasedL2",
    "DirichletKernelError",
    "EceSweep",
    "Estimate",
    "Estimated",
    "Estimator",
    "KernelCalibrationError",
    "KernelECE",
    "LogLoss",
    "MaxDeviation",
    "MaxOfBins",
    "SmoothECE",
    "Traits",
    "TwoBin",
    "as_estimator",
    "by_stratum",
    "draws_curve",
    "estimate",
    "is_score",
    "own_bins",
    "reads_bins",
    "takes_bins",
    "titled",
    "traits",
]
