"""Calibrators; to add one, write a file and import it here."""

from calib_core.calibrators.base import (
    BINARY_CALIBRATORS,
    CALIBRATORS,
    BinaryCalibrator,
    Calibrator,
    Contract,
    as_calibrator,
)
from calib_core.calibrators.blend import Blend
from calib_core.calibrators.boosting import MonotoneBoosting
from calib_core.calibrators.composed import Composed
from calib_core.calibrators.ensemble_temperature import EnsembleTemperature
from calib_core.calibrators.histogram import EqualWidthHistogram, Histogram, LeceHistogram
from calib_core.calibrators.identity import BinaryIdentity, Identity
from calib_core.calibrators.insides import FAMILY_TITLES, Family, Profile
from calib_core.calibrators.isotonic import CenteredIsotonic, Isotonic, VennAbers
from calib_core.calibrators.kernel_recalibration import KernelRecalibration
from calib_core.calibrators.label_shift import LabelShift, PriorShift, prior_shift
from calib_core.calibrators.linear_maps import Dirichlet, MatrixScaling, VectorScaling
from calib_core.calibrators.meta_cal import MetaCal, MetaCalAccuracy, MetaCalMiscoverage
from calib_core.calibrators.multicalibrated import Multicalibrated
from calib_core.calibrators.neighbours import Lecd, Lece
from calib_core.calibrators.options import Refits, refitted, with_options
from calib_core.calibrators.order_preserving import OrderPreserving
from calib_core.calibrators.reduced import Reduced
from calib_core.calibrators.risk_updates import InterceptUpdate, LogisticRecalibration, RiskUpdate
from calib_core.calibrators.saving import load_calibrator
from calib_core.calibrators.scaling_binning import ScalingBinning
from calib_core.calibrators.scaling_map import (
    PRIOR_ROWS,
    QUADRATIC_SPREAD,
    Beta,
    BinaryTemperature,
    Platt,
    Quadratic,
    ScalingMap,
)
from calib_core.calibrators.shared_process import BinaryKernel, GaussianProcess
from calib_core.calibrators.simplex_binning import SimplexBinning
from calib_core.calibrators.spline_maps import CdfSpline, SplineMap
from calib_core.calibrators.structured import StructuredScaling
from calib_core.calibrators.temperature import Temperature
from calib_core.calibrators.two_decisions import DecisionCalibration
from calib_core.calibrators.wrappers import WRAPPERS

__all__ = [
    "BINARY_CALIBRATORS",
    "CALIBRATORS",
    "FAMILY_TITLES",
    "PRIOR_ROWS",
    "QUADRATIC_SPREAD",
    "WRAPPERS",
    "Beta",
    "BinaryCalibrator",
    "BinaryIdentity",
    "BinaryKernel",
    "BinaryTemperature",
    "Blend",
    "Calibrator",
    "CdfSpline",
    "CenteredIsotonic",
    "Composed",
    "Contract",
    "DecisionCalibration",
    "Dirichlet",
    "EnsembleTemperature",
    "EqualWidthHistogram",
    "Family",
    "GaussianProcess",
    "Histogram",
    "Identity",
    "InterceptUpdate",
    "Isotonic",
    "KernelRecalibration",
    "LabelShift",
    "Lecd",
    "Lece",
    "LeceHistogram",
    "LogisticRecalibration",
    "MatrixScaling",
    "MetaCal",
    "MetaCalAccuracy",
    "MetaCalMiscoverage",
    "MonotoneBoosting",
    "Multicalibrated",
    "OrderPreserving",
    "Platt",
    "PriorShift",
    "Profile",
    "Quadratic",
    "Reduced",
    "Refits",
    "RiskUpdate",
    "ScalingBinning",
    "ScalingMap",
    "SimplexBinning",
    "SplineMap",
    "StructuredScaling",
    "Temperature",
    "VectorScaling",
    "VennAbers",
    "as_calibrator",
    "load_calibrator",
    "prior_shift",
    "refitted",
    "with_options",
]
