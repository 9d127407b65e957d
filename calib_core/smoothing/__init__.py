"""Smoothing of scores, for estimators and calibrators: kernels, bandwidth rules, scales and the grid (P5 §4.4)."""

from calib_core.smoothing.bandwidths import BANDWIDTHS, Bandwidth, CutDeviation, Fixed, Silverman, StandardDeviation
from calib_core.smoothing.kernels import (
    KERNELS,
    BetaKernel,
    Bump,
    Gaussian,
    Kernel,
    Smoothed,
    Spread,
    Triweight,
    local_calibration,
)
from calib_core.smoothing.score_grid import SCALES, Linear, LogOdds, Scale, ScoreGrid
from calib_core.smoothing.simplex_kernel import DirichletKernels

__all__ = [
    "BANDWIDTHS",
    "KERNELS",
    "SCALES",
    "Bandwidth",
    "BetaKernel",
    "Bump",
    "CutDeviation",
    "DirichletKernels",
    "Fixed",
    "Gaussian",
    "Kernel",
    "Linear",
    "LogOdds",
    "Scale",
    "ScoreGrid",
    "Silverman",
    "Smoothed",
    "Spread",
    "StandardDeviation",
    "Triweight",
    "local_calibration",
]
