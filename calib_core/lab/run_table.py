"""What a run in the laboratory holds: the lines of its estimators and calibrators, and their summary as a table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from calib_core._base.arrays import Bools, Float64s
from calib_core._base.distributions import binom, norm
from calib_core._base.notebook_display import OneLine
from calib_core.defaults import LEVEL
from calib_core.inference.intervals.elementary import clopper_pearson
from calib_core.lab.true_errors import TrueError

WORST = 0.95
"""The percentile of relative errors that P5 reports."""
SMALLEST = 1e-9
"""A true error below this is none: nothing is large or small beside it."""


@dataclass(frozen=True, eq=False, repr=False)
class Line(OneLine):
    """What one estimator shows in one notion on every draw of one size: ``values``, NaN where ``note`` says why.

    With a ``calibrator`` the values are the true errors that are left after it, and ``true`` the one before.
    ``low`` and ``high`` are the ends of each draw's interval, NaN where none was asked for.
    """

    truth: str
    calibrator: str
    reduction: str
    estimator: str
    n: int
    true: TrueError
    values: Float64s
    low: Float64s
    high: Float64s
    note: str

    @property
    def squared(self) -> Line:
        """Value and truth squared: of a root, the squared error."""
        true = TrueError(self.true.value**2, 2 * self.true.value * self.true.standard_error)
        return replace(self, true=true, values=self.values**2, low=self.low**2, high=self.high**2)

    def inside(self, true: float) -> Bools:
        """Whether the interval of each draw that has one holds this error."""
        known = np.isfinite(self.low + self.high) & np.isfinite(true)
        inside: Bools = np.logical_and(self.low <= true, true <= self.high)[known]
        return inside


@dataclass(frozen=True, eq=False, repr=False)
class LabRun(OneLine):
    """Every line of a run in the laboratory: truths, sizes, notions, estimators, calibrators."""

    lines: tuple[Line, ...]
    level: float = LEVEL

    def frame(self) -> pd.DataFrame:
        """One line for each truth, calibrator, notion, estimator and size.

        ``true`` and its standard error; over the draws that could be answered: the ``mean``, ``bias`` = mean less true,
        ``deviation``, ``worst`` = the 95th percentile of |value - true| / true, ``mse`` = the mean of
        (value - true)^2, and ``share_held``, the share of intervals that hold the true error. Each has the ends of an
        interval for what more draws would show: by the normal law for means (of squares
        not below 0), by order statistics for the percentile, exact for the share. Those of ``worst``, ``mse`` and the
        share are wider by what the true error's own standard error makes of them. What is left after a calibrator has
        no ``bias``, ``worst`` or ``mse``: its ``true`` is the error before. ``worst`` is NaN beside a true error that
        is not told apart from none.
        """
        return pd.DataFrame([_summary(line, self.level) for line in self.lines], columns=list(COLUMNS))

    def squared(self, estimators: Sequence[str]) -> LabRun:
        """The same run with the values of these estimators, and what they are compared with, squared."""
        return replace(self, lines=tuple(line.squared if line.estimator in estimators else line for line in self.lines))

    def draws(self) -> pd.DataFrame:
        """One line for each draw, in the order of ``frame``: the value, and its distance from the true error."""
        names = ("truth", "calibrator", "reduction", "estimator", "n")
        frames = [
            pd.DataFrame(
                {
                    **{name: getattr(line, name) for name in names},
                    "draw": np.arange(len(line.values)),
                    "value": line.values,
                    "off": line.values - line.true.value,
                }
            )
            for line in self.lines
        ]
        return pd.concat(frames, ignore_index=True)


COLUMNS = (
    "truth", "calibrator", "reduction", "estimator", "n", "draws", "true", "true_error", "mean", "mean_low",
    "mean_high", "bias", "deviation", "worst", "worst_low", "worst_high", "mse", "mse_low", "mse_high", "share_held",
    "share_low", "share_high", "note",
)  # fmt: skip


def _summary(line: Line, level: float) -> dict[str, Any]:
    known = line.values[np.isfinite(line.values)]
    beside = known[: 0 if line.calibrator else None]
    doubt = float(norm.isf((1 - level) / 2) * line.true.standard_error)
    relative = len(beside) and line.true.value > max(SMALLEST, doubt)
    return {
        **{name: getattr(line, name) for name in ("truth", "calibrator", "reduction", "estimator", "n")},
        "draws": len(known),
        "true": line.true.value,
        "true_error": line.true.standard_error,
        **_mean("mean", known, level),
        "bias": float(beside.mean() - line.true.value) if len(beside) else np.nan,
        "deviation": float(known.std(ddof=1)) if len(known) > 1 else np.nan,
        **(
            _doubted("worst", lambda true: _worst(np.abs(beside - true) / true, level), line.true.value, doubt)
            if relative
            else {}
        ),
        **_doubted("mse", lambda true: _mean("mse", (beside - true) ** 2, level), line.true.value, doubt),
        **_share(line, level, doubt),
        "note": line.note,
    }


def _doubted(name: str, found: Callable[[float], dict[str, float]], true: float, doubt: float) -> dict[str, float]:
    """A measure with its ends, these wider by what a true error of ``doubt`` less or more would make of it."""
    own = found(true)
    if not own:
        return own
    value = own[name]
    moved = max(abs(found(true + by)[name] - value) for by in (-doubt, doubt)) if doubt else 0.0
    ends = {f"{name}_low": -1, f"{name}_high": 1}
    wider = {end: max(value + sign * float(np.hypot(own[end] - value, moved)), 0.0) for end, sign in ends.items()}
    return {name: value, **{end: at_end if own[end] == own[end] else np.nan for end, at_end in wider.items()}}


def _share(line: Line, level: float, doubt: float) -> dict[str, float]:
    """The share of intervals that hold the true error, its ends those of the least and the most that it can be."""

    def share(true: float) -> dict[str, float]:
        inside = line.inside(true)
        if not len(inside):
            return {}
        low, high = clopper_pearson(*np.atleast_1d(float(inside.sum()), float(len(inside))), level)
        return {"share": float(inside.mean()), "share_low": float(low[0]), "share_high": float(high[0])}

    found = _doubted("share", share, line.true.value, doubt)
    if not found:
        return {}
    return {"share_held": found["share"], "share_low": found["share_low"], "share_high": min(found["share_high"], 1.0)}


def _mean(name: str, values: Float64s, level: float) -> dict[str, float]:
    """A mean over draws and the ends of its interval, by the normal law."""
    if not len(values):
        return {}
    mean = float(values.mean())
    half = float(norm.isf((1 - level) / 2) * values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else np.nan
    return {name: mean, f"{name}_low": mean - half, f"{name}_high": mean + half}


def _worst(relative: Float64s, level: float) -> dict[str, float]:
    """The 95th percentile and its interval by order statistics, NaN where the draws are too few for an end."""
    ordered, n = np.sort(relative), len(relative)
    low, high = (int(binom.ppf(q, n, WORST)) for q in ((1 - level) / 2, (1 + level) / 2))
    ends = {"worst_low": float(ordered[low - 1]) if low > 0 else np.nan}
    ends["worst_high"] = float(ordered[high]) if high < n else np.nan
    return {"worst": float(np.quantile(ordered, WORST)), **ends}
