"""calib_core: find out whether a classifier's probabilities mean what they say."""

from importlib import import_module
from typing import TYPE_CHECKING

from calib_core._base.lazy_modules import keep_old_names, renamed
from calib_core._base.providers import PROVIDERS

if TYPE_CHECKING:  # what type checkers read; `_FROM` says the same to the interpreter
    from calib_core import (
        binning,
        calibrators,
        datasets,
        defaults,
        diagrams,
        estimators,
        evaluation,
        exporting,
        guarantees,
        inference,
        lab,
        palette,
        papers,
        planning,
        predictions,
        readers,
        reductions,
        risk,
        slices,
        summaries,
    )
    from calib_core import figures as figures
    from calib_core.binning import BINNINGS
    from calib_core.calibrators import BINARY_CALIBRATORS, CALIBRATORS, load_calibrator, with_options
    from calib_core.diagrams.matplotlib_display import ReliabilityDisplay
    from calib_core.estimators import BANDWIDTHS, ESTIMATORS, KERNELS, SCALES, Estimate, estimate
    from calib_core.estimators.one_number import brier_score, class_wise_ece, ece, log_loss, mce
    from calib_core.evaluation.choice import choose
    from calib_core.evaluation.cross_fitting import cross_fitted
    from calib_core.evaluation.model_tables import measured
    from calib_core.evaluation.splitting import (
        described,
        divide,
        fitted,
        marked_rows,
        read_as,
        recalibrated,
        three_corners,
        within,
    )
    from calib_core.evaluation.study import evaluate, stacked
    from calib_core.evaluation.update_gains import update_gains, worst_column
    from calib_core.inference import compare
    from calib_core.judged.corrected_mean import judged_gap, judged_share
    from calib_core.judged.marked_answers import judged_answers, marked_by_people
    from calib_core.lab import TRUTHS
    from calib_core.papers.tables import method_tables
    from calib_core.planning import PLANS
    from calib_core.predictions.predictions import InputError, Logits, NotAnswerable, Predictions
    from calib_core.predictions.row_table import row_table
    from calib_core.predictions.three_classes import corners
    from calib_core.readers import read_models, read_predictions, read_table
    from calib_core.reductions import REDUCTIONS
    from calib_core.registry.registry import Recipe, RegistryError
    from calib_core.slices.findings import findings
    from calib_core.summaries import Summary, read_summary, summarise, tally

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
    "binning",
    "brier_score",
    "calibrators",
    "choose",
    "class_wise_ece",
    "compare",
    "corners",
    "cross_fitted",
    "datasets",
    "defaults",
    "described",
    "diagrams",
    "divide",
    "ece",
    "estimate",
    "estimators",
    "evaluate",
    "evaluation",
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
    "log_loss",
    "marked_by_people",
    "marked_rows",
    "mce",
    "measured",
    "method_tables",
    "palette",
    "papers",
    "planning",
    "predictions",
    "read_as",
    "read_models",
    "read_predictions",
    "read_summary",
    "read_table",
    "readers",
    "recalibrated",
    "reductions",
    "risk",
    "row_table",
    "slices",
    "stacked",
    "summaries",
    "summarise",
    "tally",
    "three_corners",
    "update_gains",
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
    "evaluation.choice": ("choose",),
    "evaluation.cross_fitting": ("cross_fitted",),
    "slices.findings": ("findings",),
    "diagrams.matplotlib_display": ("ReliabilityDisplay",),
    "evaluation.splitting": (
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
    "estimators.one_number": (
        "brier_score",
        "class_wise_ece",
        "ece",
        "log_loss",
        "mce",
    ),
    "inference": ("compare",),
    "judged.marked_answers": (
        "judged_answers",
        "marked_by_people",
    ),
    "judged.corrected_mean": (
        "judged_gap",
        "judged_share",
    ),
    "lab": ("TRUTHS",),
    "predictions.row_table": ("row_table",),
    "papers.tables": ("method_tables",),
    "planning": ("PLANS",),
    "predictions.predictions": (
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
    "registry.registry": (
        "Recipe",
        "RegistryError",
    ),
    "evaluation.model_tables": ("measured",),
    "evaluation.study": (
        "evaluate",
        "stacked",
    ),
    "summaries": (
        "Summary",
        "read_summary",
        "summarise",
        "tally",
    ),
    "predictions.three_classes": ("corners",),
    "evaluation.update_gains": ("update_gains", "worst_column"),
}
"""The module of each public name that is no module itself: it is loaded when it is first asked for."""


_MOVED = {
    "advice": "evaluation.advice",
    "choice": "evaluation.choice",
    "decisions": "evaluation.decisions",
    "doubts": "predictions.plausibility",
    "paper_tables": "papers.tables",
    "prediction_sets": "evaluation.prediction_sets",
    "reproductions": "papers.reproductions",
    "score_parts": "evaluation.score_decomposition",
    "side_by_side": "evaluation.model_tables",
    "study": "evaluation.study",
    "uses": "evaluation.usefulness",
    "readers.delimited": "readers.formats.delimited",
    "readers.text": "readers.text_encoding",
}
"""Modules by the names they had in 0.3, which warn until 1.0."""


keep_old_names(__name__, _MOVED)

PROVIDERS |= {
    "families": (f"{__name__}.registry.registry", "FAMILIES"),
    "inference": (f"{__name__}.inference", "ANSWERS"),
    "calibrator text": (f"{__name__}.calibrators.saving", "to_json"),
    "summary": (f"{__name__}.summaries", "summary_of"),
    "picture": (f"{__name__}.figures", "draw"),
}
"""What lower rooms use of rooms above them: the only late binding there is."""


def __getattr__(name: str) -> object:
    """A public name, loaded when it is first asked for: scikit-learn alone takes longer than most questions."""
    if name in _MOVED:
        return renamed(f"{__name__}.{name}", f"{__name__}.{_MOVED[name]}")
    module = next((each for each, names in _FROM.items() if name in names), None)
    if module is None and name not in __all__ and name != "figures":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = import_module(f"{__name__}.{module or name}")
    globals()[name] = value = getattr(found, name) if module else found
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__", "figures"]
