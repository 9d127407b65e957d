"""The verdict as a picture: noise floor, tolerance and interval of every model on one axis."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import pandas as pd

from calib_core._base.arrays import Float64s
from calib_core._base.diagram import Diagram
from calib_core.defaults import LEVEL, RATIO, TOLERANCE
from calib_core.inference.verdicts.estimate_line import EstimateLine, estimate_line
from calib_core.inference.verdicts.primary_measure import PrimaryLine, held_against
from calib_core.inference.verdicts.verdict import on_tolerance_scale
from calib_core.results.verdict_table import MISCALIBRATED, TOO_CLOSE, TOO_FEW, WITHIN
from calib_core.text import begun, between, exact_tolerance, listed


@dataclass(frozen=True, eq=False, repr=False)
class VerdictStrip(Diagram):
    """One line per model: arrays are (m,), all errors on the scale of the tolerance ``eps``; NaN where there are none.

    ``low`` to ``high`` is the interval at ``level`` and ``point`` its estimate. ``value`` is the raw value, which noise
    inflates; ``floor`` is the 95 % point of that for calibrated models. ``words`` is the verdict, empty where there is
    none; ``notes`` is then the reason. ``title`` is the error that is judged. For an event, ``ratio`` is that of
    observed to expected events with its interval ``ratio_low`` to ``ratio_high``. Its own tolerance is from 1 /
    ``ratio_limit`` to ``ratio_limit`` (None where nothing is judged by it).
    """

    names: tuple[str, ...]
    words: tuple[str, ...]
    notes: tuple[str, ...]
    low: Float64s
    point: Float64s
    high: Float64s
    value: Float64s
    floor: Float64s
    eps: float
    level: float
    title: str
    ratio: Float64s = field(default_factory=lambda: np.zeros(0))
    ratio_low: Float64s = field(default_factory=lambda: np.zeros(0))
    ratio_high: Float64s = field(default_factory=lambda: np.zeros(0))
    ratio_limit: float | None = None

    @property
    def within_both(self) -> str:
        """Note on which of the two tolerances each model meets; empty with one tolerance."""
        if self.ratio_limit is None:
            return ""
        places: dict[str, list[str]] = {}
        for i, name in enumerate(self.names):
            if np.isfinite(self.ratio_low[i]):
                places.setdefault(self._place(i), []).append(name)
        rule = "a model passes only if its error and its ratio are both within tolerance"
        if len(self.names) == 1:
            return "".join(f"{begun(place)}; {rule}." for place in places)
        lists = [f"{listed(names)}: {place}" for place, names in places.items()]
        return f"{'. '.join(lists)}. {begun(rule)}." if lists else ""

    def _place(self, i: int) -> str:
        """Position of model i relative to both tolerances."""
        error, ratio = self.high[i] < self.eps, self._ratio_within(i)
        beyond = self.low[i] > self.eps, self._ratio_beyond(i)
        if error and ratio:
            return "within both tolerances"
        if all(beyond):
            return "outside both tolerances"
        if any(beyond):
            return f"outside the tolerance of {'the error' if beyond[0] else 'the ratio'}"
        other = "the tolerance of the ratio" if error else "the tolerance of the error"
        return f"not shown to be within {other if error or ratio else 'either tolerance'}"

    def _ratio_within(self, i: int) -> bool:
        limit = float(self.ratio_limit or np.inf)
        return bool(1 / limit < self.ratio_low[i] and self.ratio_high[i] < limit)

    def _ratio_beyond(self, i: int) -> bool:
        limit = float(self.ratio_limit or np.inf)
        return bool(self.ratio_low[i] > limit or self.ratio_high[i] < 1 / limit)

    def frame(self) -> pd.DataFrame:
        """One line per model, exactly the numbers drawn."""
        names = {"model": self.names, "verdict": self.words, "beside": self.notes}
        numbers = {"low": self.low, "point": self.point, "high": self.high}
        numbers |= {"value": self.value, "floor": self.floor}
        frame = pd.DataFrame(names | numbers).assign(eps=self.eps, level=self.level)
        if self.ratio_limit is None:
            return frame
        ratios = {"ratio": self.ratio, "ratio_low": self.ratio_low, "ratio_high": self.ratio_high}
        return frame.assign(**ratios, ratio_limit=self.ratio_limit)


def verdict_strip(
    first: Mapping[str, PrimaryLine], eps: float = TOLERANCE, level: float = LEVEL, ratio: float = RATIO
) -> VerdictStrip:
    """Interval, noise floor and verdict of the line that decides about each model, on the scale of the tolerance.

    Squares are shown as roots and means over classes as a share of their maximum (``on_tolerance_scale``), so that the
    tolerance means the same for all. For an event, the ratio of observed to expected events is shown next to the error,
    with a tolerance from 1 / ``ratio`` to ``ratio``. Both tolerances have to be met. What can mislead: an interval that
    reaches zero also includes errors up to its upper end.

    >>> from calib_core import Predictions
    >>> from calib_core.inference import primaries
    >>> strip = verdict_strip(primaries({"net": Predictions([[0.9, 0.1]] * 100, [0] * 60 + [1] * 40)}))
    >>> strip.words, strip.notes
    (('miscalibrated',), ('22 to 41 %, above the tolerance',))
    """
    first = held_against(first, eps, level, ratio)
    lines = [estimate_line(each.estimate, eps, level, ratio) for each in first.values()]
    scaled = [_scaled(each, line) for each, line in zip(first.values(), lines, strict=True)]
    low, point, high, value, floor = np.array(scaled, dtype=float).reshape(-1, 5).T
    notes = tuple(_note(line, ends, eps) for line, ends in zip(lines, scaled, strict=True))
    title = lines[0].title if lines else ""
    words = tuple(line.verdict or "" for line in lines)
    strip = VerdictStrip(tuple(first), words, notes, low, point, high, value, floor, eps, level, title)
    limit = next((line.ratio_limit for line in lines if line.ratio_limit is not None), None)
    if limit is None:
        return strip
    ratios = [(line.ratio, line.ratio_low, line.ratio_high) for line in lines]
    middle, below, above = np.array(ratios, dtype=float).reshape(-1, 3).T
    return replace(strip, ratio=middle, ratio_low=below, ratio_high=above, ratio_limit=limit)


def _scaled(each: PrimaryLine, line: EstimateLine) -> tuple[float, ...]:
    """Low, point, high, value and floor on the scale of the tolerance."""
    values = (line.low, line.point, line.high, line.value, line.floor)
    return tuple(np.nan if value is None else on_tolerance_scale(each.estimate, value) for value in values)


def _note(line: EstimateLine, ends: tuple[float, ...], eps: float) -> str:
    """Text next to the verdict: the interval and its position."""
    if line.verdict is None:
        return line.note
    text = between(ends[0], ends[2], eps)
    if line.ratio is not None:  # the word may be that of the ratio
        where = "below the" if ends[2] < eps else "above the" if ends[0] > eps else "on both sides of the"
        return f"{text}, {where} tolerance"
    places = {
        WITHIN: "below the tolerance",
        MISCALIBRATED: "above the tolerance",
        TOO_CLOSE: f"includes {exact_tolerance(eps)}",  # the room beside a row is narrow
        TOO_FEW: f"includes {exact_tolerance(eps)}",
    }
    return f"{text}, {places[line.verdict]}"
