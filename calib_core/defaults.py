"""Default values that more than one module needs, in one place."""

from __future__ import annotations

from typing import Final

BINS: Final = 15
"""Number of bins of [0, 1], as in Guo et al. 2017 and P1."""

LEVEL: Final = 0.9
"""Level of intervals."""

ALPHA: Final = 0.1
"""The probability with which a calibrator's guarantee may fail."""

TOLERANCE: Final = 0.02
"""The calibration error that would not matter."""

SIGNIFICANCE: Final = 0.05
"""The p-value up to which an error of any size counts as shown."""

RATIO: Final = 1.25
"""The ratio of observed to expected events that would not matter: from 1 / ``RATIO`` to ``RATIO``."""

SEED: Final = 0
"""Seed of every random step."""

FOLDS: Final = 5
"""Parts of the rows where each is judged by maps fitted on the others."""

JUDGED_FOLDS: Final = 7
"""Random parts of the rows where calibrators are chosen, or all rows judged: with 5, gains of few rows go unseen."""

FEW_VALUES: Final = 12
"""Up to this many distinct numbers of a column are separate values; more are a quantity, divided into ranges."""
