"""Evaluation of calibrators on rows on which they were not fitted: errors, gains and side effects."""

from typing import TYPE_CHECKING

from calib_core._base.lazy_modules import submodule

if TYPE_CHECKING:
    from calib_core.evaluation import (
        advice,
        choice,
        decisions,
        model_tables,
        prediction_sets,
        score_decomposition,
        study,
        update_test,
        usefulness,
    )

__all__ = [
    "advice",
    "choice",
    "decisions",
    "model_tables",
    "prediction_sets",
    "score_decomposition",
    "study",
    "update_test",
    "usefulness",
]


def __getattr__(name: str) -> object:
    """Import a module of this package on first use."""
    return submodule(__name__, __all__, name)
