"""A laboratory: predictions whose truth is known, and what estimators and calibrators make of samples of them."""

from calib_core.lab.experiments import (
    EXPERIMENTS,
    MEASURES,
    ErrorCurves,
    Experiment,
    Series,
    error_curves,
    experiment,
    measures_of,
)
from calib_core.lab.mixtures import MODELS, Mixture
from calib_core.lab.one_sample import (
    ErrorDistances,
    TruthCurve,
    distance_experiments,
    error_distances,
    sample,
    sample_table,
    truth_curve,
)
from calib_core.lab.repeats import DRAWS, SIZES, LabRun, Line, repeated
from calib_core.lab.true_errors import TrueError, expected, true_error
from calib_core.lab.truths import TRUTHS, Drawn, ExampleOne, JumpingCurve, SigmoidCurve, ThreeClasses, Truth, TruthKind

__all__ = [
    "DRAWS",
    "EXPERIMENTS",
    "MEASURES",
    "MODELS",
    "SIZES",
    "TRUTHS",
    "Drawn",
    "ErrorCurves",
    "ErrorDistances",
    "ExampleOne",
    "Experiment",
    "JumpingCurve",
    "LabRun",
    "Line",
    "Mixture",
    "Series",
    "SigmoidCurve",
    "ThreeClasses",
    "TrueError",
    "Truth",
    "TruthCurve",
    "TruthKind",
    "distance_experiments",
    "error_curves",
    "error_distances",
    "expected",
    "experiment",
    "measures_of",
    "repeated",
    "sample",
    "sample_table",
    "true_error",
    "truth_curve",
]
