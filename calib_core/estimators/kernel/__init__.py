"""Kernel densities of scores: kernels, bandwidth rules, and the calibration error they give (P5 §4.4-4.5)."""

from calib_core.estimators.kernel.curve_limits import limits
from calib_core.estimators.kernel.ece import KernelECE
from calib_core.smoothing.bandwidths import BANDWIDTHS, Bandwidth, Fixed, Silverman, StandardDeviation
from calib_core.smoothing.beta_kernel import BetaKernel
from calib_core.smoothing.kernels import KERNELS, Gaussian, Kernel, Triweight
from calib_core.smoothing.local import Smoothed, local_calibration
from calib_core.smoothing.score_grid import SCALES, Linear, LogOdds, Scale, ScoreGrid

__all__ = [
    "BANDWIDTHS",
    "KERNELS",
    "SCALES",
    "Bandwidth",
    "BetaKernel",
    "Fixed",
    "Gaussian",
    "Kernel",
    "KernelECE",
    "Linear",
    "LogOdds",
    "Scale",
    "ScoreGrid",
    "Silverman",
    "Smoothed",
    "StandardDeviation",
    "Triweight",
    "limits",
    "local_calibration",
]
