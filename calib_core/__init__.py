"""calib_core: find out whether a classifier's probabilities mean what they say."""

from importlib import import_module
from typing import TYPE_CHECKING

from calib_core._base.lazy_modules import PROVIDERS, REGISTRIES, home, keep_old_names, moved_name, renamed

if TYPE_CHECKING:  # what type checkers read; `_FROM` says the same to the interpreter
    from calib_core import (
        arena,
        binning,
        calibrators,
        calls,
        datasets,
        defaults,
        diagrams,
        estimators,
        evaluation,
        exporting,
        guarantees,
        inference,
        judged,
        lab,
        monitoring,
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
    from calib_core.calibrators import BINARY_CALIBRATORS, CALIBRATORS, load_calibrator
    from calib_core.diagrams.matplotlib_display import ReliabilityDisplay
    from calib_core.estimators import ESTIMATORS, Estimate, estimate
    from calib_core.estimators.one_number import brier_score, class_wise_ece, ece, log_loss, mce
    from calib_core.evaluation.choice import choose
    from calib_core.evaluation.cross_fitting import cross_fitted
    from calib_core.evaluation.study import evaluate
    from calib_core.evaluation.update_gains import update_gains
    from calib_core.inference import compare
    from calib_core.monitoring import Watch
    from calib_core.predictions.predictions import InputError, Logits, NotAnswerable, Predictions
    from calib_core.predictions.validation import sampling_weights
    from calib_core.readers import read_models, read_predictions, read_table
    from calib_core.reductions import REDUCTIONS
    from calib_core.registry.registry import Recipe, RegistryError
    from calib_core.slices.findings import findings
    from calib_core.summaries import Summary, read_summary, summarise

__all__ = [
    "BINARY_CALIBRATORS",
    "BINNINGS",
    "CALIBRATORS",
    "ESTIMATORS",
    "REDUCTIONS",
    "Estimate",
    "InputError",
    "Logits",
    "NotAnswerable",
    "Predictions",
    "Recipe",
    "RegistryError",
    "ReliabilityDisplay",
    "Summary",
    "Watch",
    "arena",
    "binning",
    "brier_score",
    "calibrators",
    "calls",
    "choose",
    "class_wise_ece",
    "compare",
    "cross_fitted",
    "datasets",
    "defaults",
    "diagrams",
    "ece",
    "estimate",
    "estimators",
    "evaluate",
    "evaluation",
    "exporting",
    "findings",
    "guarantees",
    "inference",
    "judged",
    "lab",
    "load_calibrator",
    "log_loss",
    "mce",
    "monitoring",
    "palette",
    "papers",
    "planning",
    "predictions",
    "read_models",
    "read_predictions",
    "read_summary",
    "read_table",
    "readers",
    "reductions",
    "risk",
    "sampling_weights",
    "slices",
    "summaries",
    "summarise",
    "update_gains",
]

__version__ = "0.4.0"

_FROM = {
    "binning": ("BINNINGS",),
    "calibrators": ("BINARY_CALIBRATORS", "CALIBRATORS", "load_calibrator"),
    "evaluation.choice": ("choose",),
    "evaluation.cross_fitting": ("cross_fitted",),
    "slices.findings": ("findings",),
    "diagrams.matplotlib_display": ("ReliabilityDisplay",),
    "estimators": ("ESTIMATORS", "Estimate", "estimate"),
    "estimators.one_number": ("brier_score", "class_wise_ece", "ece", "log_loss", "mce"),
    "inference": ("compare",),
    "monitoring": ("Watch",),
    "predictions.predictions": ("InputError", "Logits", "NotAnswerable", "Predictions"),
    "predictions.validation": ("sampling_weights",),
    "readers": ("read_models", "read_predictions", "read_table"),
    "reductions": ("REDUCTIONS",),
    "registry.registry": ("Recipe", "RegistryError"),
    "evaluation.study": ("evaluate",),
    "evaluation.update_gains": ("update_gains",),
    "summaries": ("Summary", "read_summary", "summarise"),
}
"""Module of each public name that is no module itself, loaded on first use."""


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


_MOVED_NAMES = {
    "BANDWIDTHS": "estimators",
    "KERNELS": "estimators",
    "PLANS": "planning",
    "SCALES": "estimators",
    "TRUTHS": "lab",
    "corners": "calls",
    "described": "calls",
    "divide": "calls",
    "fitted": "calls",
    "judged_answers": "judged",
    "judged_gap": "judged",
    "judged_share": "judged",
    "marked_by_people": "judged",
    "marked_rows": "calls",
    "measured": "calls",
    "method_tables": "papers.tables",
    "read_as": "calls",
    "recalibrated": "calls",
    "row_table": "calls",
    "stacked": "calls",
    "tally": "summaries",
    "three_corners": "calls",
    "with_options": "calibrators",
    "within": "calls",
    "worst_column": "calls",
}
"""Names that were here in 0.3, by the room that has them: they warn until 1.0."""


keep_old_names(__name__, _MOVED)

PROVIDERS |= {
    "inference": (f"{__name__}.inference", "ANSWERS"),
    "calibrator text": (f"{__name__}.calibrators.saving", "to_json"),
    "summary": (f"{__name__}.summaries", "summary_of"),
    "picture": (f"{__name__}.figures", "draw"),
}
"""Late bindings, the only ones there are: uses of upper packages by lower ones."""

REGISTRIES |= {
    "BANDWIDTHS": f"{__name__}.estimators",
    "BINARY_CALIBRATORS": f"{__name__}.calibrators",
    "BINNINGS": f"{__name__}.binning",
    "CALIBRATORS": f"{__name__}.calibrators",
    "ESTIMATORS": f"{__name__}.estimators",
    "KERNELS": f"{__name__}.estimators",
    "PLANS": f"{__name__}.planning",
    "REDUCTIONS": f"{__name__}.reductions",
    "SCALES": f"{__name__}.estimators",
    "TRUTHS": f"{__name__}.lab",
}
"""Modules in which a recipe finds its registry before anything of it is loaded."""


def __getattr__(name: str) -> object:
    """A public name, loaded on first use: the import of scikit-learn takes longer than most computations."""
    if name in _MOVED:
        return renamed(f"{__name__}.{name}", f"{__name__}.{_MOVED[name]}")
    if name in _MOVED_NAMES:
        return moved_name(__name__, name, _MOVED_NAMES[name])
    module = home(_FROM, name)
    if module is None and name not in __all__ and name != "figures":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = import_module(f"{__name__}.{module or name}")
    globals()[name] = value = getattr(found, name) if module else found
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__", "figures"]
