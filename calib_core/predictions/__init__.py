"""Predictions of a classifier with their labels, validated once."""

from typing import TYPE_CHECKING

from calib_core._base.errors import InputError, NotAnswerable
from calib_core._base.lazy_modules import submodule
from calib_core.predictions.predictions import Logits, Predictions

if TYPE_CHECKING:
    from calib_core.predictions import plausibility

__all__ = ["InputError", "Logits", "NotAnswerable", "Predictions", "plausibility"]


def __getattr__(name: str) -> object:
    """Load a module of this package on first use."""
    return submodule(__name__, __all__, name)
