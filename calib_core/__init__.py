"""calib_core: find out whether a classifier's probabilities mean what they say."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # what type checkers read; `_FROM` says the same to the interpreter
    from calib_core import (
        advice,
        binning,
        calibrators,
        choice,
        datasets,
        decisions,
        diagrams,
        doubts,
        estimators,
        exporting,
        guarantees,
        inference,
        lab,
        paper_tables,
        planning,
        prediction_sets,
        readers,
        reductions,
        reproductions,
        risk,
        score_parts,
        side_by_side,
        slices,
        study,
        summaries,
        uses,
    )
    from calib_core import figures as figures
    from calib_core.answers_marked import judged_answers, marked_by_people
    from calib_core.binning import BINNINGS
    from calib_core.calibrators import BINARY_CALIBRATORS, CALIBRATORS, load_calibrator, with_options
    from calib_core.choice import choose
    from calib_core.cross_fitting import cross_fitted
    from calib_core.discoveries import findings
    from calib_core.displays import ReliabilityDisplay
    from calib_core.division import described, divide, fitted, marked_rows, read_as, recalibrated, three_corners, within
    from calib_core.estimators import BANDWIDTHS, ESTIMATORS, KERNELS, SCALES, Estimate, estimate
    from calib_core.human_marks import judged_gap, judged_share
    from calib_core.inference import compare
    from calib_core.lab import TRUTHS
    from calib_core.lookup import row_table
    from calib_core.paper_tables import method_tables
    from calib_core.planning import PLANS
    from calib_core.predictions import InputError, Logits, NotAnswerable, Predictions
    from calib_core.readers import read_models, read_predictions, read_table
    from calib_core.reductions import REDUCTIONS
    from calib_core.registry import Recipe, RegistryError
    from calib_core.side_by_side import measured
    from calib_core.study import evaluate, stacked
    from calib_core.summaries import Summary, read_summary, summarise, tally
    from calib_core.three_classes import corners
    from calib_core.updates import update_gains, worst_column

__all__ = [
    "BANDWIDTHS",
    "BINARY_CALIBRATORS",
    "BINNINGS",
    "CALIBRATORS",
    "ESTIMATORS",
    "KERNELS",
    "PLANS",
    "REDUCTIONS",
    "SCALES",
    "TRUTHS",
    "Estimate",
    "InputError",
    "Logits",
    "NotAnswerable",
    "Predictions",
    "Recipe",
    "RegistryError",
    "ReliabilityDisplay",
    "Summary",
    "advice",
    "binning",
    "calibrators",
    "choice",
    "choose",
    "compare",
    "corners",
    "cross_fitted",
    "datasets",
    "decisions",
    "described",
    "diagrams",
    "divide",
    "doubts",
    "estimate",
    "estimators",
    "evaluate",
    "exporting",
    "findings",
    "fitted",
    "guarantees",
    "inference",
    "judged_answers",
    "judged_gap",
    "judged_share",
    "lab",
    "load_calibrator",
    "marked_by_people",
    "marked_rows",
    "measured",
    "method_tables",
    "paper_tables",
    "planning",
    "prediction_sets",
    "read_as",
    "read_models",
    "read_predictions",
    "read_summary",
    "read_table",
    "readers",
    "recalibrated",
    "reductions",
    "reproductions",
    "risk",
    "row_table",
    "score_parts",
    "side_by_side",
    "slices",
    "stacked",
    "study",
    "summaries",
    "summarise",
    "tally",
    "three_corners",
    "update_gains",
    "uses",
    "with_options",
    "within",
    "worst_column",
]

__version__ = "0.3.0.dev0"

_FROM = {
    "binning": ("BINNINGS",),
    "calibrators": (
        "BINARY_CALIBRATORS",
        "CALIBRATORS",
        "load_calibrator",
        "with_options",
    ),
    "choice": ("choose",),
    "cross_fitting": ("cross_fitted",),
    "discoveries": ("findings",),
    "displays": ("ReliabilityDisplay",),
    "division": (
        "described",
        "divide",
        "fitted",
        "marked_rows",
        "read_as",
        "recalibrated",
        "three_corners",
        "within",
    ),
    "estimators": (
        "BANDWIDTHS",
        "ESTIMATORS",
        "Estimate",
        "KERNELS",
        "SCALES",
        "estimate",
    ),
    "inference": ("compare",),
    "answers_marked": (
        "judged_answers",
        "marked_by_people",
    ),
    "human_marks": (
        "judged_gap",
        "judged_share",
    ),
    "lab": ("TRUTHS",),
    "lookup": ("row_table",),
    "paper_tables": ("method_tables",),
    "planning": ("PLANS",),
    "predictions": (
        "InputError",
        "Logits",
        "NotAnswerable",
        "Predictions",
    ),
    "readers": (
        "read_models",
        "read_predictions",
        "read_table",
    ),
    "reductions": ("REDUCTIONS",),
    "registry": (
        "Recipe",
        "RegistryError",
    ),
    "side_by_side": ("measured",),
    "study": (
        "evaluate",
        "stacked",
    ),
    "summaries": (
        "Summary",
        "read_summary",
        "summarise",
        "tally",
    ),
    "three_classes": ("corners",),
    "updates": ("update_gains", "worst_column"),
}
"""The module of each public name that is no module itself: it is loaded when it is first asked for."""


def __getattr__(name: str) -> object:
    """A public name, loaded when it is first asked for: scikit-learn alone takes longer than most questions."""
    module = next((each for each, names in _FROM.items() if name in names), None)
    if module is None and name not in __all__ and name != "figures":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = import_module(f"{__name__}.{module or name}")
    globals()[name] = value = getattr(found, name) if module else found
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__", "figures"]
