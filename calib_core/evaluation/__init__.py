"""Calibrators fitted on some rows and evaluated on others; what it costs and gains."""

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
    "usefulness",
]


def __getattr__(name: str) -> object:
    """A module of the room, loaded when it is first used."""
    return submodule(__name__, __all__, name)
