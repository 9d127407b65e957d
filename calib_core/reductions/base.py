"""What a reduction is, and their registry."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from calib_core._arrays import Codes, Float64s
from calib_core.claims import Claims
from calib_core.predictions import Predictions
from calib_core.registry import Registry


class Reduction(Protocol):
    """A notion of calibration: predictions in, binary claims out, stratum by stratum."""

    def split(self, predictions: Predictions) -> Claims:
        """The claims these predictions make; NotAnswerable says why they make none."""


REDUCTIONS: Registry[Reduction] = Registry("REDUCTIONS")


def as_reduction(reduction: str | Reduction) -> Reduction:
    """A reduction given by key or as it is."""
    return REDUCTIONS.make(reduction) if isinstance(reduction, str) else reduction


def row_shares(codes: Codes, n_strata: int, weights: Float64s | None) -> Float64s:
    """Share of the rows (or of their weight) in each stratum."""
    counts = np.bincount(codes, weights, minlength=n_strata)
    return np.asarray(counts / counts.sum(), dtype=np.float64)
