"""A laboratory: predictions whose truth is known, and what estimators and calibrators make of samples of them."""

from calib_core.lab.mixtures import Mixture
from calib_core.lab.repeats import LabRun, Line, repeated
from calib_core.lab.true_errors import TrueError, expected, true_error
from calib_core.lab.truths import TRUTHS, Drawn, ExampleOne, JumpingCurve, SigmoidCurve, ThreeClasses, Truth, TruthKind

__all__ = [
    "TRUTHS",
    "Drawn",
    "ExampleOne",
    "JumpingCurve",
    "LabRun",
    "Line",
    "Mixture",
    "SigmoidCurve",
    "ThreeClasses",
    "TrueError",
    "Truth",
    "TruthKind",
    "expected",
    "repeated",
    "true_error",
]
